//! What LLVM 23 writes in another way than the releases before it: both writings are the same module.

use oriole_nvptx::ir::Subnormals;
use oriole_nvptx::text::dialect::{self, FORMS, Form};
use oriole_nvptx::text::{parse, print, print_for};

/// A constant as LLVM 23 writes it, and as LLVM 22 does. Source: what LLVM 23 makes of each when it reads and writes it (`opt -S`); the bits of
/// decimals are those that `printf` of C gives for them.
const CONSTANTS: &[(&str, &str)] = &[
    ("float f0x3FB8AA3B", "float 0x3FF7154760000000"),
    ("double f0xBE5AE5F12CB0D246", "double 0xBE5AE5F12CB0D246"),
    ("half f0x3C01", "half 0xH3C01"),
    ("bfloat f0x3F81", "bfloat 0xR3F81"),
    ("float +inf", "float 0x7FF0000000000000"),
    ("double -inf", "double 0xFFF0000000000000"),
    ("half -inf", "half 0xHFC00"),
    ("bfloat +inf", "bfloat 0xR7F80"),
    ("float +qnan", "float 0x7FF8000000000000"),
    ("float -qnan", "float 0xFFF8000000000000"),
    ("double +qnan", "double 0x7FF8000000000000"),
    ("float +nan(0x1)", "float 0x7FF8000020000000"),
    ("half -nan(0x3)", "half 0xHFE03"),
    ("float +snan(0x1)", "float 0x7FF0000020000000"),
    ("bfloat -snan(0x2)", "bfloat 0xRFF82"),
    ("float -8.78", "float 0xC0218F5C20000000"),
    ("float 1.1", "float 0x3FF19999A0000000"),
    ("float -8.780000e+01", "float 0xC055F33340000000"),
    ("half 1.000980e+00", "half 0xH3C01"),
    ("bfloat 1.1", "bfloat 0xR3F8D"),
    ("double 0.1", "double 0x3FB999999999999A"),
    ("b32 5", "i32 5"),
    ("<2 x b8> <b8 1, b8 2>", "<2 x i8> <i8 1, i8 2>"),
];

fn printed(text: &str) -> String {
    print(&parse(text, "t.ll").unwrap_or_else(|error| panic!("{}", error.render(text))))
}

#[test]
fn constants_of_llvm_23_are_those_of_llvm_22() {
    for (new, old) in CONSTANTS {
        let [new_text, old_text] = [new, old].map(|constant| printed(&format!("@x = global {constant}\n")));
        assert_eq!(new_text, old_text, "{new}");
    }
}

#[test]
fn byte_types_are_integers_that_bitcast_takes_to_pointers() {
    let new = "define ptr @f(ptr %p, float %x) {\n  %a = bitcast ptr %p to b64\n  %b = bitcast b64 %a to ptr\n  \
               %c = bitcast float %x to b32\n  store b32 %c, ptr %b\n  ret ptr %b\n}\n";
    let old = "define ptr @f(ptr %p, float %x) {\n  %a = ptrtoint ptr %p to i64\n  %b = inttoptr i64 %a to ptr\n  \
               %c = bitcast float %x to i32\n  store i32 %c, ptr %b\n  ret ptr %b\n}\n";
    assert_eq!(printed(new), printed(old));
    // Of an integer it stays wrong.
    let wrong = parse("define ptr @f(i64 %a) {\n  %b = bitcast i64 %a to ptr\n  ret ptr %b\n}\n", "t.ll");
    assert!(wrong.is_err_and(|error| error.message().contains("`bitcast` does not go from `i64` to `ptr`")));
}

/// Source: which products LLVM 23 writes with `.ftz` for these attributes.
#[test]
fn denormal_fpenv_says_what_becomes_of_subnormals() {
    for (attribute, subnormals) in [
        ("denormal_fpenv(float: preservesign)", Subnormals::Flushed),
        ("denormal_fpenv(preservesign)", Subnormals::Flushed),
        ("denormal_fpenv(preservesign|ieee)", Subnormals::Flushed),
        ("denormal_fpenv(ieee, float: preservesign)", Subnormals::Flushed),
        ("denormal_fpenv(dynamic, float: positivezero|preservesign)", Subnormals::Kept),
        ("denormal_fpenv(ieee)", Subnormals::Kept),
        ("denormal_fpenv(float: dynamic)", Subnormals::OfCaller),
    ] {
        for text in [
            format!("define void @f() {attribute} {{\n  ret void\n}}\n"),
            format!("define void @f() #0 {{\n  ret void\n}}\nattributes #0 = {{ {attribute} }}\n"),
        ] {
            let module = parse(&text, "t.ll").unwrap_or_else(|error| panic!("{}", error.render(&text)));
            let (_, _, function, _) = module.definitions().next().expect("a function");
            assert_eq!(function.subnormals(), subnormals, "{attribute}");
            assert!(module.warnings.is_empty());
        }
    }
}

#[test]
fn attributes_that_are_not_known_are_a_warning() {
    let module = parse("define void @f(ptr noalias frob(3) %p) cold quux noduplicate {\n  ret void\n}\n", "t.ll");
    let warnings = module.expect("a module").warnings;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("`frob`") && warnings[1].contains("`quux`"), "{warnings:?}");
}

/// A module with each form. Source: those that LLVM took (`text/dialect.rs` says which).
const EXAMPLES: &[(&str, &str)] = &[
    ("float 0x3FF8000000000000", "@x = global float 0x3FF8000000000000"),
    ("half 0xH3C00", "@x = global half 0xH3C00"),
    ("float f0x3FC00000", "@x = global float f0x3FC00000"),
    ("float +inf", "@x = global float +inf"),
    ("float +nan(0x1)", "@x = global float +nan(0x1)"),
    ("float 1.1", "@x = global float 1.1"),
    ("i32 u0x10", "@x = global i32 u0x10"),
    ("<4 x i32> splat (i32 7)", "@x = global <4 x i32> splat (i32 7)"),
    (
        "inrange i64 0",
        "@g = global [4 x i8] zeroinitializer\n@x = global ptr getelementptr inbounds ([4 x i8], ptr @g, inrange i64 0, i64 1)",
    ),
    (
        "inrange(0, 2)",
        "@g = global [4 x i8] zeroinitializer\n@x = global ptr getelementptr inbounds inrange(0, 2) ([4 x i8], ptr @g, i64 0, i64 1)",
    ),
    ("i32*", "define void @f(i32* %p) {\n  ret void\n}"),
    ("ptr", "define void @f(ptr %p) {\n  ret void\n}"),
    ("b32", "define void @f(b32 %p) {\n  ret void\n}"),
    ("zext nneg", "define i64 @f(i32 %a) {\n  %r = zext nneg i32 %a to i64\n  ret i64 %r\n}"),
    ("or disjoint", "define i32 @f(i32 %a) {\n  %r = or disjoint i32 %a, 1\n  ret i32 %r\n}"),
    ("uitofp nneg", "define float @f(i32 %a) {\n  %r = uitofp nneg i32 %a to float\n  ret float %r\n}"),
    ("trunc nuw nsw", "define i8 @f(i32 %a) {\n  %r = trunc nuw nsw i32 %a to i8\n  ret i8 %r\n}"),
    (
        "getelementptr nusw nuw",
        "define ptr @f(ptr %a) {\n  %r = getelementptr nusw nuw i8, ptr %a, i64 1\n  ret ptr %r\n}",
    ),
    ("icmp samesign", "define i1 @f(i32 %a) {\n  %r = icmp samesign ult i32 %a, 4\n  ret i1 %r\n}"),
    ("fptrunc fast", "define float @f(double %a) {\n  %r = fptrunc fast double %a to float\n  ret float %r\n}"),
    ("uitofp fast", "define float @f(i32 %a) {\n  %r = uitofp fast i32 %a to float\n  ret float %r\n}"),
    (
        "atomicrmw uinc_wrap",
        "define i32 @f(ptr %a) {\n  %r = atomicrmw uinc_wrap ptr %a, i32 4 seq_cst\n  ret i32 %r\n}",
    ),
    (
        "atomicrmw usub_cond",
        "define i32 @f(ptr %a) {\n  %r = atomicrmw usub_cond ptr %a, i32 4 seq_cst\n  ret i32 %r\n}",
    ),
    (
        "atomicrmw fmaximum",
        "define float @f(ptr %a) {\n  %r = atomicrmw fmaximum ptr %a, float 4.0 seq_cst\n  ret float %r\n}",
    ),
    (
        "atomicrmw fmaximumnum",
        "define float @f(ptr %a) {\n  %r = atomicrmw fmaximumnum ptr %a, float 4.0 seq_cst\n  ret float %r\n}",
    ),
    ("ptrtoaddr", "define i64 @f(ptr %a) {\n  %r = ptrtoaddr ptr %a to i64\n  ret i64 %r\n}"),
    ("readonly argmemonly", "define void @f() readonly argmemonly {\n  ret void\n}"),
    ("memory(argmem: read)", "define void @f() memory(argmem: read) {\n  ret void\n}"),
    ("memory(target_mem0: read)", "define void @f() memory(target_mem0: read) {\n  ret void\n}"),
    ("nocapture", "define void @f(ptr nocapture %p) {\n  ret void\n}"),
    ("captures(none)", "define void @f(ptr captures(none) %p) {\n  ret void\n}"),
    ("range(i32 0, 4)", "define void @f(i32 range(i32 0, 4) %p) {\n  ret void\n}"),
    ("initializes((0, 4))", "define void @f(ptr initializes((0, 4)) %p) {\n  ret void\n}"),
    ("dead_on_return", "define void @f(ptr dead_on_return %p) {\n  ret void\n}"),
    ("\"denormal-fp-math\"", "define void @f() \"denormal-fp-math\"=\"preserve-sign,preserve-sign\" {\n  ret void\n}"),
    ("denormal_fpenv(preservesign)", "define void @f() denormal_fpenv(preservesign) {\n  ret void\n}"),
    (
        "#dbg_value",
        "define void @f(i32 %a) {\n    #dbg_value(i32 %a, !1, !DIExpression(), !2)\n  ret void\n}\n!0 = !{}\n!1 = !{}\n!2 = !{}",
    ),
    (
        "llvm.lifetime.start(i64, ptr)",
        "declare void @llvm.lifetime.start.p0(i64, ptr)\ndefine void @f() {\n  %a = alloca i32\n  \
         call void @llvm.lifetime.start.p0(i64 4, ptr %a)\n  ret void\n}",
    ),
    (
        "llvm.lifetime.start(ptr)",
        "declare void @llvm.lifetime.start.p0(ptr)\ndefine void @f() {\n  %a = alloca i32\n  \
         call void @llvm.lifetime.start.p0(ptr %a)\n  ret void\n}",
    ),
    (
        "llvm.masked.load(ptr, i32 4",
        "declare <2 x i32> @llvm.masked.load.v2i32.p0(ptr, i32, <2 x i1>, <2 x i32>)\n\
         define <2 x i32> @f(ptr %p, <2 x i1> %m) {\n  \
         %r = call <2 x i32> @llvm.masked.load.v2i32.p0(ptr %p, i32 4, <2 x i1> %m, <2 x i32> poison)\n  ret <2 x i32> %r\n}",
    ),
    (
        "llvm.masked.load(ptr align 4",
        "declare <2 x i32> @llvm.masked.load.v2i32.p0(ptr, <2 x i1>, <2 x i32>)\n\
         define <2 x i32> @f(ptr %p, <2 x i1> %m) {\n  \
         %r = call <2 x i32> @llvm.masked.load.v2i32.p0(ptr align 4 %p, <2 x i1> %m, <2 x i32> poison)\n  ret <2 x i32> %r\n}",
    ),
    ("ptx_kernel", "define ptx_kernel void @f() {\n  ret void\n}"),
    (
        "!nvvm.annotations",
        "define void @f() {\n  ret void\n}\n!nvvm.annotations = !{!0}\n!0 = !{ptr @f, !\"kernel\", i32 1}",
    ),
];

fn example(form: &Form) -> &'static str {
    let found = EXAMPLES.iter().find(|(own, _)| *own == form.form);
    found.unwrap_or_else(|| panic!("no example of `{}`", form.form)).1
}

#[test]
fn all_forms_of_the_table_are_read() {
    for form in FORMS {
        let module = parse(example(form), "t.ll").unwrap_or_else(|error| panic!("{}", error.render(example(form))));
        assert!(module.warnings.is_empty(), "{form:?}: {:?}", module.warnings);
    }
}

/// What came later is left out for older tools.
#[test]
fn older_releases_get_what_they_know() {
    for (form, word) in [
        (dialect::ZEXT_NNEG, "nneg"),
        (dialect::DISJOINT, "disjoint"),
        (dialect::FROM_NNEG, "nneg"),
        (dialect::TRUNC_WRAP, "nuw nsw"),
        (dialect::GEP_WRAP, "nusw nuw"),
        (dialect::SAME_SIGN, "samesign"),
        (dialect::RESIZE_FAST, "fast"),
        (dialect::FROM_FAST, "fast"),
        (dialect::RANGE, "range("),
    ] {
        let module = parse(example(&form), "t.ll").unwrap_or_else(|error| panic!("{}", error.render(example(&form))));
        for release in 17..=24 {
            let text = print_for(&module, release);
            assert_eq!(text.contains(word), release >= form.since, "{form:?} for {release}:\n{text}");
            assert!(parse(&text, "t.ll").is_ok(), "{text}");
        }
    }
    let lifetimes = parse(example(&dialect::LIFETIMES), "t.ll").unwrap_or_else(|error| panic!("{error}"));
    for release in 17..=24 {
        assert_eq!(print_for(&lifetimes, release).contains("i64 -1, ptr"), release < dialect::SIZED_LIFETIMES.until);
    }
}

/// The page says the same releases as the table of the code, in the same order.
#[test]
fn the_page_has_the_table() {
    let page = include_str!("../../../../docs/nvptx-dialects.md");
    let mut subject = "";
    let mut rows = Vec::new();
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            subject = title;
        }
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        if let &[form, since, until, reader, printer] = cells.as_slice()
            && let Some(form) = form.strip_prefix('`').and_then(|form| form.strip_suffix('`'))
        {
            assert!(!reader.is_empty() && !printer.is_empty(), "{line}");
            rows.push((subject.to_lowercase(), form, since, until));
        }
    }
    let number = |release: u32| if release == 0 { "–".to_owned() } else { release.to_string() };
    let expected: Vec<_> = FORMS.iter().map(|form| (form, number(form.since), number(form.until))).collect();
    let expected: Vec<_> = expected
        .iter()
        .map(|(form, since, until)| (form.subject.to_owned(), form.form, since.as_str(), until.as_str()))
        .collect();
    assert_eq!(rows, expected);
}
