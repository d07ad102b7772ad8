//! PTX before 3.0, as it is read: in the words of PTX 3.0 for sm_20. What each means was seen in ptxas 13.0.88's code.

use oriole_ptx::{load, print};

/// The lines of what a module is read as.
fn read(text: &str) -> Vec<String> {
    let module = load(text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    print(&module).lines().map(|line| line.trim().to_owned()).collect()
}

/// What one instruction is read as.
fn instruction(version: &str, target: &str, text: &str) -> String {
    let (list, body) = match version < "1.4" {
        true => ("", ".param .u64 p;"),
        false => ("(.param .u64 p)", ""),
    };
    let module = format!(
        ".version {version}\n.target {target}\n.entry k {list}\n{{\n{body}\n.reg .f32 %f<5>; .reg .f64 %d<5>; \
         .reg .pred %p; .reg .u32 %r;\n{text};\nexit;\n}}\n"
    );
    let lines = read(&module);
    let end = lines.iter().position(|line| line == "exit;").unwrap();
    lines[end - 1].clone()
}

#[test]
fn arithmetic_says_what_it_meant() {
    let cases = [
        ("1.3", "sm_13", "div.f32 %f1, %f2, %f3", "div.approx.ftz.f32"),
        ("1.3", "sm_13", "div.f64 %d1, %d2, %d3", "div.f64.rn"),
        ("1.0", "sm_10", "sqrt.f64 %d1, %d2", "sqrt.f64.rn"),
        ("1.0", "sm_10", "ex2.f32 %f1, %f2", "ex2.f32.approx.ftz"),
        ("1.4", "sm_13", "add.f32 %f1, %f2, %f3", "add.f32.ftz"),
        ("1.4", "sm_13", "mad.f32 %f1, %f2, %f3, %f4", "mad.f32.rn.ftz"),
        ("2.3", "sm_20", "mad.f32 %f1, %f2, %f3, %f4", "mad.f32.rn"),
        ("8.8", "sm_12", "mul.f32 %f1, %f2, %f3", "mul.f32.ftz"),
        ("2.0", "sm_20", "add.f32 %f1, %f2, %f3", "add.f32"),
        ("1.4", "sm_13", "cvt.f64.f32 %d1, %f2", "cvt.f64.f32"),
        ("1.5", "sm_13", "cvt.f64.f32 %d1, %f2", "cvt.f64.f32.ftz"),
        ("1.4", "sm_13", "mov.f32 %f1, %f2", "mov.f32"),
        ("1.4", "sm_10, map_f64_to_f32", "add.f64 %d1, %d2, %d3", "add.f64"),
        ("1.4", "sm_10", "slct.f64.f32 %d1, %d2, %d3, %f1", "slct.f64.f32.ftz"),
    ];
    for (version, target, text, head) in cases {
        let mut wanted: Vec<&str> = head.split('.').collect();
        let said = instruction(version, target, text);
        let mut found: Vec<&str> = said.split(' ').next().unwrap().split('.').collect();
        // The order of modifiers says nothing.
        wanted.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, wanted, "{text} of {version} for {target}");
    }
}

#[test]
fn declarations_move_to_where_they_are_today() {
    let lines = read(
        ".version 1.3\n.target sm_10, map_f64_to_f32\n.tex .u64 picture;\n.reg .u32 %g<2>;\n.local .align 4 .b8 own[8];\n\
         .local .u32 other;\n@@DWARF .byte 1\n.entry k\n{\n.param .u64 p;\n.reg .u32 %r;\nld.local.u32 %r, [own];\n\
         mov.u32 %g1, %r;\nexit;\n}\n",
    );
    let has = |text: &str| lines.iter().any(|line| line.contains(text));
    assert!(
        has(".global .texref picture;") && has(".local .align 4 .b8 own[8];") && has(".reg .u32 %g<2>;"),
        "{lines:?}"
    );
    assert!(!has("other") && !has("DWARF") && !has("map_f64_to_f32"), "{lines:?}");
    assert!(has(".param .u64 p)"), "{lines:?}");
}

#[test]
fn functions_get_what_they_share() {
    let lines = read(
        ".version 1.4\n.target sm_13\n.reg .u32 count;\n.reg .pred odd;\n.local .align 4 .b8 own[8];\n\
         .func (.reg .u32 r) f (.reg .u32 x)\n{\nld.local.u32 r, [own+4];\n@odd add.u32 count, count, x;\nret;\n}\n\
         .func plain\n{\nret;\n}\n\
         .entry k\n{\n.reg .u32 count, %r;\nmov.u32 count, 1;\ncall (%r), f, (count);\ncall plain;\nexit;\n}\n",
    );
    let has = |text: &str| lines.iter().any(|line| line.contains(text));
    assert!(lines.iter().zip(&lines[1..]).any(|pair| pair == (&".reg .u32 x,".into(), &".reg .u64 at$shared".into())));
    assert!(has("call (%r), f, (count, at$shared);") && has("call plain;"), "{lines:?}");
    // The kernel's own register of the same name is another one.
    assert!(has("mov.u32 count, 1;") && has("@odd$shared add.u32 count$shared, count$shared, x;"), "{lines:?}");
    assert!(has(".local .align 16 .b8 memory$shared[48];"), "{lines:?}");
}

#[test]
fn modules_as_nvcc_wrote_them_are_taken_and_refused_as_by_ptxas() {
    let mut modules = include_str!("data/former.txt").split("\n== ");
    let head = modules.next().unwrap_or_default();
    let pairs = head.lines().find_map(|line| line.strip_prefix("pairs: ")).expect("pairs");
    let pairs: Vec<(&str, &str)> = pairs.split("; ").filter_map(|pair| pair.split_once(' ')).collect();
    let (mut taken, mut refused, mut wrong) = (0, 0, Vec::new());
    for module in modules {
        let mut parts = module.splitn(3, '\n');
        let [title, verdicts, text] = [(); 3].map(|()| parts.next().unwrap_or_default());
        let verdicts: Vec<&str> = verdicts.split(' ').collect();
        assert_eq!(verdicts.len(), pairs.len(), "{title}");
        for (&(version, target), verdict) in pairs.iter().zip(verdicts) {
            let found = load(&format!(".version {version}\n.target {target}\n{text}"));
            *if verdict == "ok" { &mut taken } else { &mut refused } += 1;
            if found.is_ok() != (verdict == "ok") {
                wrong.push(format!("{title} of {version} for {target}: ptxas says {verdict}; {:?}", found.err()));
            }
        }
    }
    assert!(taken > 400 && refused > 200, "{taken} {refused}");
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_is_read_can_be_read_again() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    let mut read = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("former_")) {
            continue;
        }
        let module =
            load(&std::fs::read_to_string(&path).unwrap()).unwrap_or_else(|errors| panic!("{path:?}: {errors:?}"));
        let text = print(&module);
        let again = load(&text).unwrap_or_else(|errors| panic!("{path:?}: {errors:?}\n{text}"));
        assert_eq!(print(&again), text, "{path:?}");
        read += 1;
    }
    assert!(read >= 60, "{read}");
}

#[test]
fn what_ptxas_refuses_is_refused() {
    let module = |version: &str, target: &str, before: &str, list: &str, body: &str| {
        format!(
            ".version {version}\n.target {target}\n{before}\n.entry k {list}\n{{\n.reg .f32 %f<5>; .reg .u32 %r<5>; .reg .pred %p<3>;\n{body}\nexit;\n}}\n"
        )
    };
    let refused = [
        ("1.3", "sm_13", "", "(.param .u64 p)", ""),
        ("1.4", "sm_13", "", "", ".param .u64 p;"),
        ("1.5", "sm_13", ".tex .u32 t;", "", ""),
        ("1.4", "sm_13", ".tex .s32 t;", "", ""),
        ("3.0", "sm_20", ".reg .u32 r;", "", ""),
        ("3.0", "sm_20", ".local .u32 l;", "", ""),
        ("2.2", "sm_20", ".const[0] .u32 c;", "", ""),
        ("2.0", "sm_20", "@@DWARF .byte 1", "", ""),
        ("2.0", "sm_13", ".func (.param .u32 r) f (.param .u32 a) { ret; }", "", ""),
        ("1.4", "sm_13, map_f64_to_f32", "", "", ""),
        ("2.2", "sm_20", ".address_size 64", "", ""),
        // Banks of constants.
        ("1.4", "sm_13", ".extern .const[2] .b32 c[];", "", ""),
        ("2.2", "sm_20", ".extern .const[2] .b32 c[];", "", ""),
        ("2.1", "sm_20", ".extern .const[11] .b32 c[];", "", ""),
        ("2.1", "sm_20", ".extern .const[2] .b32 c[4];", "", ""),
        ("2.1", "sm_20", ".const[2] .b32 c[4];", "", ""),
        ("2.1", "sm_20", ".visible .const[2] .b32 c[];", "", ""),
        ("2.1", "sm_20", ".extern .const[0] .b32 c[];", "", ""),
        ("1.4", "sm_13", ".extern .const .b32 c[];", "", ""),
        ("1.4", "sm_13", "", "(.param .u64 p)", "ld.const[1].u32 %r1, [%r2];"),
        ("2.1", "sm_20", "", "", "ld.const[11].u32 %r1, [%r2];"),
        // Without a calling convention.
        ("2.1", "sm_20", ".reg .u32 g; .func f { call f; ret; }", "", "call f;"),
        ("1.4", "sm_13", ".reg .u32 g; .func f; .func h { call f; ret; } .func f { call h; ret; }", "", "call f;"),
        (
            "2.1",
            "sm_20",
            ".local .u32 g; .func f (.param .u32 x) { ret; }",
            "",
            ".reg .u64 a; .param .u32 z; pr: .callprototype _ (.param .u32 x); mov.u64 a, f; call a, (z), pr;",
        ),
        ("1.4", "sm_13", "", "", "div.f32 %f1, %f2, %f3;"),
        ("1.3", "sm_13", "", "", "div.approx.f32 %f1, %f2, %f3;"),
        ("4.0", "sm_20", "", "", "mad.f32 %f1, %f2, %f3, %f4;"),
        ("1.4", "sm_13", "", "", "mad.rn.f32 %f1, %f2, %f3, %f4;"),
        ("1.2", "sm_11", "", "", "vote.all.pred %p1, %p2;"),
        ("2.0", "sm_13", "", "", "popc.b32 %r1, %r2;"),
        ("1.3", "sm_13", "", "", "add.ftz.f32 %f1, %f2, %f3;"),
        ("2.3", "sm_20", "", "", "bar.sync;"),
        ("2.3", "sm_20", "", "", "lop3.b32 %r1, %r2, %r3, %r4, 128;"),
    ];
    for (version, target, before, list, body) in refused {
        let text = module(version, target, before, list, body);
        assert!(load(&text).is_err(), "{text}");
    }
    // More than are passed.
    let many: String = (0..257).map(|number| format!("mov.u32 g{number}, 0; ")).collect();
    let many = module("1.4", "sm_13", &format!(".reg .u32 g<300>; .func f {{ {many} ret; }}"), "", "call f;");
    assert!(load(&many).is_err());
    let taken = [
        ("2.3", "sm_20", "", "(.param .u64 p)", "mad.f32 %f1, %f2, %f3, %f4;"),
        (
            "2.1",
            "sm_20",
            ".extern .const[10] .align 16 .b8 c[], d[][4], e[0];",
            "",
            "ld.const[10].v2.u32 {%r1, %r2}, [c+8];",
        ),
        (
            "1.5",
            "sm_13",
            ".extern .const[1] .b32 c[];",
            "(.param .u64 p)",
            "ld.const.u32 %r1, [c]; ld.const[3].u32 %r1, [c];",
        ),
        ("2.1", "sm_20", ".extern .const[0] .b32 c[4];", "", "ld.const[0].u32 %r1, [c];"),
        ("2.1", "sm_20", ".func f { call f; ret; }", "", "call f;"),
        ("2.1", "sm_20", ".reg .u32 g<5>; .local .u32 l; .func f { st.local.u32 [l], g3; ret; }", "", "call f;"),
    ];
    for (version, target, before, list, body) in taken {
        let text = module(version, target, before, list, body);
        assert!(load(&text).is_ok(), "{:?}\n{text}", load(&text));
    }
}
