//! Source lines of LLVM assembly in PTX.

use oriole_nvptx::driver::{self, Options};

use super::build::ptxas_takes;

const SOURCE: &str = r#"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @k(ptr %out, i32 %n) !dbg !5 {
  %double = add i32 %n, %n, !dbg !8
  %square = mul i32 %double, %double, !dbg !9
  store i32 %square, ptr %out, !dbg !11
  ret void
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !1, emissionKind: KIND)
!1 = !DIFile(filename: "a.cu", directory: "/src")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DIFile(filename: "/inc/b.h", directory: "/src")
!4 = !DISubroutineType(types: !{})
!5 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 10, type: !4, unit: !0)
!6 = distinct !DISubprogram(name: "sq", linkageName: "_Z2sqi", scope: !3, file: !3, line: 3, type: !4, unit: !0)
!7 = distinct !DILocation(line: 12, column: 9, scope: !5)
!8 = !DILocation(line: 11, column: 5, scope: !5)
!9 = !DILocation(line: 4, column: 12, scope: !10, inlinedAt: !7)
!10 = distinct !DILexicalBlock(scope: !6, line: 3, column: 1)
!11 = !DILocation(line: 12, column: 5, scope: !5)
"#;

fn lines(kind: &str, options: &Options) -> (String, Vec<String>) {
    let module = driver::read(SOURCE.replace("KIND", kind).as_bytes(), "a.ll").expect("LLVM assembly");
    let output = driver::compile(module, &[], options).expect("PTX");
    let text = oriole_ptx::print(&output.module);
    assert!(oriole_ptx::load(&text).is_ok(), "{text}");
    let about =
        |line: &str| [".version", ".file", "\t.loc", "$L__info", ".b8"].iter().any(|word| line.starts_with(word));
    let found = text.lines().filter(|line| about(line)).map(|line| line.trim().to_owned()).collect();
    (text, found)
}

#[test]
fn inlined_code_names_its_function_and_call() {
    let (text, found) = lines("DebugDirectivesOnly", &Options { level: 0, ..Options::default() });
    assert_eq!(
        found,
        [
            ".version 7.2",
            ".file 1 \"/src/a.cu\"",
            ".file 2 \"/inc/b.h\"",
            ".loc 1 10 0",
            ".loc 1 11 5",
            ".loc 1 12 9",
            ".loc 2 4 12, function_name $L__info_string0, inlined_at 1 12 9",
            ".loc 1 12 5",
            "$L__info_string0:",
            ".b8 95, 90, 50, 115, 113, 105, 0",
        ]
    );
    ptxas_takes(&text);
}

#[test]
fn lines_come_when_they_are_asked_for() {
    let options = Options { level: 0, ..Options::default() };
    assert_eq!(lines("NoDebug", &options).1, [".version 7.0"]);
    let asked = Options { line_info: true, ptx_version: Some((7, 1)), ..options };
    let (text, found) = lines("NoDebug", &asked);
    // Before PTX 7.2 there is nothing to say that code was inlined.
    assert_eq!(found[3..], [".loc 1 10 0", ".loc 1 11 5", ".loc 2 4 12", ".loc 1 12 5"], "{text}");
    ptxas_takes(&text);
}
