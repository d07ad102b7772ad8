//! What stands between the words of a text, and names with a count: as ptxas 13.0.88 has it.

const HEADER: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

fn kernel(before: &str, body: &str, behind: &str) -> String {
    format!(
        "{HEADER}{before}\n.visible .entry k(.param .u64 a)\n{{\n.reg .b32 %r<9>; .reg .b64 %d<9>;\n{body}\nret;\n}}\n{behind}"
    )
}

/// The first error of a module.
fn refusal(text: &str) -> String {
    oriole_ptx::load(text).err().map_or_else(String::new, |errors| errors[0].message.clone())
}

#[track_caller]
fn accepted(text: &str) {
    assert_eq!(refusal(text), "", "{text}");
}

#[track_caller]
fn refused(text: &str, why: &str) {
    let said = refusal(text);
    assert!(said.contains(why), "{said:?} of\n{text}");
}

#[test]
fn blanks() {
    accepted(&kernel("", "add.u32 %r1,\x0c%r2,\r\n%r3;", ""));
    refused(&kernel("", "add.u32 %r1,\x0b%r2,%r3;", ""), "unexpected character");
    accepted(&kernel("", "// \x01 \x7f", ""));
}

#[test]
fn only_ascii_stands_in_comments_and_strings() {
    for text in ["// \u{e9}", "/* \u{e9} */", ".pragma \"\u{e9}\";"] {
        refused(&kernel("", text, ""), "PTX is ASCII");
    }
    refused(&format!("\u{feff}{HEADER}"), "unexpected character");
}

#[test]
fn a_zero_byte_is_no_end() {
    refused(&kernel("", "", "\0"), "unexpected character");
    refused(&kernel("", "// \0", ""), "unexpected character");
    refused(&kernel("", "/* \0 */", ""), "comment is never closed");
}

#[test]
fn statements_are_not_empty() {
    let stray = "found `;`";
    for body in
        [";", "add.u32 %r1,%r2,%r3;;", ".reg .b32 %z;;", "{ ; }", "L: ;", ".pragma \"nounroll\";;", ".loc 1 1 1;"]
    {
        refused(&kernel(".file 1 \"x.cu\"", body, ""), stray);
    }
    for before in [";", ".global .u32 v;;", ".file 1 \"x.cu\";", ".func f();;"] {
        refused(&kernel(before, "", ""), stray);
    }
    refused(&kernel("", "", ";"), stray);
}

#[test]
fn names_with_a_count_declare_variables_of_every_space() {
    for space in ["global", "const", "shared"] {
        accepted(&kernel(&format!(".{space} .u32 v<3>;"), "mov.u64 %d1, v2;", ""));
        refused(&kernel(&format!(".{space} .u32 v<3>;"), "mov.u64 %d1, v3;", ""), "undefined");
        refused(&kernel(&format!(".{space} .u32 v<3>;"), "mov.u64 %d1, v;", ""), "undefined");
    }
    for space in ["global", "shared", "local", "param"] {
        accepted(&kernel("", &format!(".{space} .u32 v<3>; st.{space}.u32 [v1], %r1;"), ""));
    }
    for good in [".global .u32 a, v<3>, b;", ".visible .global .align 16 .v2 .u32 v<0x2>;", ".global .u32 v<0>;"] {
        accepted(&kernel(good, "", ""));
    }
    for bad in [".global .u32 v<3>[4];", ".global .u32 v[4]<3>;", ".global .u32 v<3> = 5;", ".global .u32 v<1+1>;"] {
        assert!(!refusal(&kernel(bad, "", "")).is_empty(), "{bad}");
    }
    refused(&kernel(".global .u32 v<3>; .global .u32 v1;", "", ""), "declared twice");
    refused(&kernel(".global .u32 v<4000000000>;", "", ""), "more than");
    assert!(!refusal(&kernel(".func f(.param .u32 v<3>);", "", "")).is_empty());
}

#[test]
fn counts_and_numbers_of_registers() {
    accepted(&kernel("", ".reg .u32 %z<0x3>; add.u32 %z2, %r1, %r2;", ""));
    refused(&kernel("", ".reg .u32 %z<010>; add.u32 %z8, %r1, %r2;", ""), "undefined register");
}

#[test]
fn sections_hold_numbers_and_places() {
    let section = |entries: &str| kernel("", "La:", &format!(".section .debug_info {{ {entries} }}"));
    for good in
        ["a: .b32 1 b: .b32 b-a", ".b64 La", ".b32 .debug_str+4", ".b8 -128, 255", ".b16 - 32768", ".b32 0x100000000"]
    {
        accepted(&section(good));
    }
    for bad in
        ["a: .b16 a", "a: .b8 a-a", ".b8 256", ".b8 -129", ".b16 65536", ".b8 1+1", ".b8 (1)", ".b8 WARP_SZ", ".b8 +1"]
    {
        assert!(!refusal(&section(bad)).is_empty(), "{bad}");
    }
    for bad in ["a: .b32 a-1", ".b32 .debug_str-4", "a: .b8 1;", "a: a: .b8 1"] {
        assert!(!refusal(&section(bad)).is_empty(), "{bad}");
    }
    assert!(!refusal(&kernel("", "", ".section foo { .b8 1 }")).is_empty());
    let older = |version: &str, entries: &str| {
        section(entries).replace(".version 9.0", &format!(".version {version}")).replace("sm_90", "sm_75")
    };
    refused(&older("6.5", "a: .b32 1"), "needs PTX 7.0");
    refused(&older("7.4", "a: .b32 1 b: .b32 b-a"), "needs PTX 7.5");
    refused(&older("7.4", ".b32 -1"), "needs PTX 7.5");
    accepted(&older("7.4", ".b64 0xffffffffffffffff"));
}

#[test]
fn inlined_code_names_a_place_that_stood_before() {
    let module = |body: &str| kernel(".file 1 \"x.cu\"", body, ".section .debug_str { $L0: .b8 0 }");
    let inlined = ".loc 1 2 2, function_name $L0, inlined_at 1 1 1";
    accepted(&module(&format!(".loc 1 1 1\n{inlined}")));
    accepted(&module(&format!("{{\n.loc 1 1 1\n}}\n{inlined}")));
    refused(&module(inlined), "stands before");
    refused(&module(&format!("{inlined}\n.loc 1 1 1")), "stands before");
    refused(&module(&format!(".loc 1 1 1\n{}", inlined.replace("$L0", "$L9"))), "no label of a section");
}

#[test]
fn a_target_for_debuggers_has_what_they_read() {
    let debug = |behind: &str| kernel("", "", behind).replace("sm_90", "sm_90, debug");
    refused(&debug(""), "without debug information");
    accepted(&debug(".section .debug_info { .b8 0 }"));
}

#[test]
fn types_and_directives_of_later_versions() {
    let older = |version: &str, before: &str, body: &str| {
        kernel(before, body, "").replace(".version 9.0", &format!(".version {version}"))
    };
    for (before, body) in [("", ".reg .b128 %q;"), (".global .b128 g;", ""), (".func f(.reg .b128 x);", "")] {
        refused(&older("8.2", before, body), "needs PTX 8.3");
        accepted(&older("8.3", before, body));
    }
    for directive in [".abi_preserve 4", ".abi_preserve_control 4"] {
        let prototype = format!("P: .callprototype _ (.param .b32 x) {directive};");
        refused(&older("8.8", "", &prototype), "needs PTX 9.0");
        accepted(&older("9.0", "", &prototype));
        refused(&older("9.0", "", &prototype).replace("sm_90", "sm_75"), "needs the target");
    }
    for (directive, most) in [("abi_preserve", 239), ("abi_preserve_control", 11)] {
        accepted(&kernel(&format!(".func f() .{directive} {most} {{ ret; }}"), "", ""));
        refused(&kernel(&format!(".func f() .{directive} {} {{ ret; }}", most + 1), "", ""), "at most");
    }
    assert!(!refusal(&kernel("", "P: .callprototype _ () .maxntid 32;", "")).is_empty());
    assert!(!refusal(&kernel("", "P: .callprototype f ();", "")).is_empty());
    assert!(!refusal(&kernel("", "P: .callprototype (.param .b32 y) _ () .noreturn;", "")).is_empty());
}
