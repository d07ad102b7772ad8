//! What LLVM 23 writes in another way than the releases before it: both writings are the same module.

use oriole_nvptx::ir::Subnormals;
use oriole_nvptx::text::{parse, print};

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
