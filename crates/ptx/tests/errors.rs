//! Every kind of error, with the module that has it and the exact message.

use oriole_ptx::diag::SourceMap;

/// Puts statements into a kernel with a few registers.
fn kernel(body: &str) -> String {
    format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 in)\n{{\n.reg .pred %p<2>;\n.reg .b32 %r<5>;\n.reg .f32 %f<3>;\n.reg .b64 %rd<3>;\n\
         {body}\nret;\n}}\n"
    )
}

fn messages(text: &str) -> String {
    match oriole_ptx::load(text) {
        Ok(_) => "no error".to_owned(),
        Err(errors) => SourceMap::new("k.ptx", text).render_all(&errors),
    }
}

fn snapshot(name: &str, text: &str) {
    insta::with_settings!({description => text, omit_expression => true}, {
        insta::assert_snapshot!(name, messages(text));
    });
}

#[test]
fn syntax() {
    let cases = [
        ("unknown_instruction", kernel("ad.s32 %r1, %r2, %r3;\nfrobnicate %r1;")),
        ("missing_semicolon", kernel("add.s32 %r1, %r2, %r3\nadd.s32 %r1, %r1, %r1;")),
        ("missing_operand", kernel("add.s32 %r1, , %r3;\nadd.s32 %r1, %r2, %r3;")),
        ("all_in_one_go", kernel("ad.s32 %r1, %r2, %r3;\nmov.b32 {%r1 %r2}, %rd1;\nst.global.u32 [%rd1, %r1;\nld.u32 %r1, [];")),
        ("bad_constant", kernel("mov.u32 %r1, 0x;\nmov.u32 %r1, 09;\nmov.f32 %f1, 0f3F80;\nmov.u64 %rd1, 99999999999999999999;")),
        ("constant_expression", kernel("mov.u32 %r1, 5 / (3 - 3);\nmov.u32 %r1, ~1.5;\nmov.u32 %r1, (1 + ;")),
        ("malformed_call", kernel("call (%r1), 5, (%r2);")),
        ("syntax_and_names", kernel("add.s32 %r1, %r9, %r2;\nad.s32 %r1, %r2, %r3;\nadd.s32 %r1, %rd1, %r2;")),
        ("register_part", kernel("mov.b32 %r1, %r2.q;")),
        ("directive", kernel(".frob 1;\n.maxntid 5;")),
        ("unreadable", kernel("mov.u32 %r1, \u{1}\u{2}\u{e9}5;\n/* never closed")),
        ("declarations", ".version 9.0\n.target sm_90\n.global .align 3 .b32 a;\n.global b;\n.global .b32 c[-1];\n.entry k( { }\n.frob;\n".to_owned()),
        ("no_version", ".target sm_90\n.entry k() { ret; }\n".to_owned()),
        ("header", ".version nine\n.target 90\n.address_size 48\n".to_owned()),
        ("function_directives", ".version 9.0\n.target sm_90\n.entry k() .maxnreg 1.5 { ret; }\n.func f() .frob { ret; }\n".to_owned()),
        ("empty", String::new()),
    ];
    for (name, text) in cases {
        snapshot(name, &text);
    }
}

#[test]
fn names() {
    let cases = [
        ("undefined_register", kernel("add.s32 %r1, %r2, %r9;\nadd.s32 %q1, %r1, %q1;\nadd.s32 %r1, %q1, 1;")),
        ("unknown_modifier", kernel("add.foo.s32 %r1, %r2, %r3;\nst.golbal.u32 [%rd1], %r1;")),
        ("undefined_label", kernel("$L_loop:\n@%p1 bra $L_lop;")),
        ("undefined_variable", kernel("ld.param.u64 %rd1, [ni];")),
        ("undefined_function", kernel("call sqrt, (%f1);")),
        ("duplicate_label", kernel("L:\nadd.s32 %r1, %r1, 1;\nL:\nbra L;")),
        ("duplicate_register", kernel(".reg .b32 %r2;\n.reg .f32 %f<9>;\n.reg .b32 in;")),
        (
            "duplicate_function",
            ".version 9.0\n.target sm_90\n.global .b32 a;\n.global .b64 a;\n.func f() { ret; }\n.func f() { ret; }\n"
                .to_owned(),
        ),
        (
            "other_function",
            ".version 9.0\n.target sm_90\n.func f(.param .b32 a) {\n.reg .b32 %r<3>;\nL: ret;\n}\n\
             .func g() {\n.reg .pred %p;\n@%p bra L;\nld.param.b32 %r1, [a];\nret;\n}\n"
                .to_owned(),
        ),
        (
            "later_in_the_block",
            kernel("mov.u32 %late, 5;\n.reg .b32 %late;\n{\n.reg .b32 %inner;\n}\nmov.u32 %inner, 5;"),
        ),
        ("inner_label", kernel("bra L;\n{\nL: ret;\n}")),
        ("initial_value", ".version 9.0\n.target sm_90\n.global .u64 table[2] = {generic(tabel), 0};\n".to_owned()),
    ];
    for (name, text) in cases {
        snapshot(name, &text);
    }
}

#[test]
fn operands() {
    let cases = [
        ("register_size", kernel("add.s32 %r1, %rd1, %r2;\nmul.wide.u32 %r1, %r1, %r1;")),
        ("register_kind", kernel("add.f32 %f1, %f2, %p1;\nadd.s32 %f1, %r1, %r2;\nadd.s32 %p1, %r1, %r2;")),
        ("constant_kind", kernel("add.f32 %f1, %f2, 1;\nadd.s32 %r1, %r2, 1.0;\nadd.s32 5, %r1, %r2;")),
        ("guard", kernel("@%r1 mov.u32 %r1, 5;")),
        ("address", kernel("ld.global.u32 %r1, [%f1];\nld.global.u32 %r1, [%p1];")),
        ("load_store", kernel("ld.global.u64 %r1, [%rd1];\nst.global.f32 [%rd1], %rd2;\nst.global.u32 [%rd1], %f1;")),
        ("brackets", kernel("ld.global.u32 %r1, %rd1;\nst.global.u32 %rd1, %r1;")),
        (
            "kernel_signature",
            ".version 9.0\n.target sm_90\n.entry (.param .b32 r) k(.reg .b32 a) { ret; }\n".to_owned(),
        ),
        ("vector_length", kernel("ld.global.v2.u32 {%r1, %r2, %r3}, [%rd1];")),
        ("operand_count", kernel("add.s32 %r1, %r2;\nmov.u32 %r1, %r2, %r3;\nsetp.eq.s32 %p1, %r1;")),
        ("setp", kernel("setp.lt.s32 %r1, %r2, %r3;\nselp.b32 %r1, %r2, %r3, %r4;")),
        ("convert", kernel("cvt.u64.u32 %r1, %r2;\ncvt.rn.f32.s32 %f1, %f2;")),
        ("branch", kernel("bra in;\nbrx.idx %r1, L;\nL:\ncall in, (%r1);\ncall %rd1, (%r1);")),
        ("register_type", kernel(".reg .bf16 %h<3>;")),
    ];
    for (name, text) in cases {
        snapshot(name, &text);
    }
}

/// A line of a megabyte is quoted in part, with its true column.
#[test]
fn long_line() {
    let text =
        kernel(&format!("{}ad.s32 %r1, %r1, 1;{}", "add.s32 %r1, %r1, 1; ".repeat(25_000), " bra L;".repeat(75_000)));
    let shown = messages(&text);
    assert!(shown.contains("k.ptx:10:525001"), "{shown}");
    assert!(shown.len() < 2000, "{} bytes", shown.len());
}

/// Every line and column is right, also after characters of several bytes.
#[test]
fn places() {
    let text = kernel("// \u{20ac}\u{20ac}\nmov.u32 /* \u{20ac} */ %r1, %x;");
    assert!(messages(&text).contains("k.ptx:11:22"), "{}", messages(&text));
}

/// Colours are added for a terminal only.
#[test]
fn colours() {
    let text = kernel("bra L;");
    let errors = oriole_ptx::load(&text).unwrap_err();
    let map = SourceMap::new("k.ptx", &text);
    assert!(!map.render(&errors[0]).contains('\u{1b}'));
    assert!(map.render_coloured(&errors[0]).contains('\u{1b}'));
}

/// A file cannot send commands to the terminal that shows its errors.
#[test]
fn control_characters() {
    let text = kernel("bra \u{1b}[2J;\r");
    assert!(!messages(&text).contains(['\u{1b}', '\r']));
}
