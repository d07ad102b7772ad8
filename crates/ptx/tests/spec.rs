//! What the build script makes of `spec/*.grammar`: the names and the faults.

#[path = "../build/mod.rs"]
mod build;

use build::{Made, make};

/// Vocabularies and a set for the cases, as the first file; its lines count from 1.
const WORDS: &str =
    "type 32 unsigned u32\ntype 1 predicate pred\nspace global\ncomparison eq lo\nword lo\nset RND = rn rz(7.8)\n";

fn made(chapter: &str) -> Result<Made, String> {
    make(&[("words".to_owned(), WORDS.to_owned()), ("chapter".to_owned(), chapter.to_owned())])
}

/// The variants of an enum with their texts.
fn members(made: &Made, name: &str) -> Vec<String> {
    let (_, rest) = made.names.split_once(&format!("pub enum {name} {{\n")).unwrap();
    let (body, _) = rest.split_once("    }\n").unwrap();
    body.lines().map(|line| line.trim().trim_end_matches(',').to_owned()).collect()
}

#[test]
fn a_name_stands_in_one_place() {
    let made = made("instr frob.deep \"A new one.\"\n  frob.deep{.L2::evict_first}.u32  =T T\n").unwrap();
    assert_eq!(members(&made, "Opcode"), ["Frob \"frob\""]);
    // Neither sets nor types are words, and of the sets only what a form has.
    assert_eq!(members(&made, "Word"), ["L2EvictFirst \"L2::evict_first\"", "Deep \"deep\""]);
}

#[test]
fn a_plain_word_is_no_member_of_a_vocabulary() {
    let made = made("instr mul.lo \"Low half.\"\n  mul.lo.eq.u32  =T T\n").unwrap();
    assert_eq!(members(&made, "CmpOp"), ["Eq \"eq\"", "Lo \"lo\""]);
    assert_eq!(members(&made, "Word"), ["Lo \"lo\""]);
    assert!(made.names.contains("Modifier::Cmp(CmpOp::Eq)"));
    assert!(made.names.contains("Modifier::Word(Word::Lo)"));
    assert!(!made.names.contains("Modifier::Cmp(CmpOp::Lo)"));
}

#[test]
fn variants_are_told_apart() {
    let made = made(
        "instr a.2d a.w2::01_23 a.noComplete a.b6_p3 \"Names.\"\n  a.2d\n  a.w2::01_23\n  a.noComplete\n  a.b6_p3\n",
    );
    let expected = ["D2d \"2d\"", "B6P3 \"b6_p3\"", "NoComplete \"noComplete\"", "W201_23 \"w2::01_23\""];
    assert_eq!(members(&made.unwrap(), "Word"), expected);
}

#[test]
fn equal_lists_share_their_place() {
    let made = made("instr a b \"Two.\"\n  a.RND.u32  =T T\n  b.RND.u32  =T T\n").unwrap();
    assert!(made.tables.contains("static CHOICE_POOL: [Choice; 3]"), "{}", made.tables);
    assert!(made.tables.contains("static FORM_POOL: [Form; 1]"), "{}", made.tables);
    assert!(made.tables.contains("static INSTRUCTIONSPEC_POOL: [InstructionSpec; 2]"), "{}", made.tables);
}

#[test]
fn faults_name_their_line() {
    let form = |line: &str| format!("instr a \"Summary.\"\n{line}\n");
    let cases = [
        ("instr a\n".to_owned(), "chapter:1: an instruction needs a summary in quotes"),
        ("never u32\n".to_owned(), "chapter:1: a rule before the first instruction"),
        ("instr a \"1\"\n  a\ninstr a \"2\"\n".to_owned(), "chapter:3: `a` is defined twice"),
        ("instr a \"1\"\n".to_owned(), "`a` has no form"),
        ("instr a_b a::b \"1\"\n  a_b\n  a::b\n".to_owned(), "`a::b` and `a_b` would both be one variant of `Opcode`"),
        (
            "type 32 huge x\n".to_owned(),
            "chapter:1: a type needs its class: predicate, unsigned, signed, bits, float, opaque",
        ),
        ("space u32\n".to_owned(), "chapter:1: `u32` is in a vocabulary already"),
        ("set RND = rn\n".to_owned(), "chapter:1: the set `RND` is defined twice"),
        ("special wide tid\n".to_owned(), "chapter:1: no width `wide`"),
        ("target 9.9 gtx\n".to_owned(), "chapter:1: no target `gtx`"),
        (form("  b.u32 T"), "chapter:2: `b.u32` belongs to no instruction opened here"),
        (form("  a.ROUNDING.u32 T"), "chapter:2: no set `ROUNDING`"),
        (form("  a.x-y T"), "chapter:2: no modifier `x-y`"),
        (form("  a{.rn T"), "chapter:2: `{` without `}`"),
        (form("  a.u32 f8"), "chapter:2: no type `f8`"),
        (form("  a.u32 [heap]"), "chapter:2: no state space `heap`"),
        (form("  a.u32 T="), "chapter:2: no operand flag `=`"),
        (form("  a.u32 T(1)"), "chapter:2: a range is `low..high`"),
        (form("  a.u32 {T:q}"), "chapter:2: no number `q`"),
        (form("  a.u32 T @ 8"), "chapter:2: no target `8`"),
        (form("  a.u32 T/odd"), "chapter:2: `odd` stands in no form before this line"),
        (form("  a.u32\n  only u32 rn"), "chapter:3: `only A with B`"),
        (form("  a.u32\n  never u32 + odd"), "chapter:3: `odd` stands in no form before this line"),
    ];
    for (text, expected) in cases {
        assert_eq!(made(&text).unwrap_err(), expected, "{text}");
    }
}
