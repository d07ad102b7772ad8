//! Properties of the engine on words and texts near the golden ones.

use oriole_isa::{
    Arch, DecodeError, EncodeError, Field, Illegal, Inst, Kinds, Opcode, Operand, OperandFlags, ParseError, RegFile,
    Rnd, Role, Value, Width, control_fault, decode, encode, legal, parse,
};

/// Sample words of each target.
const SAMPLES: [(Arch, &str); 11] = [
    (Arch::Sm50, include_str!("data/vectors/sm_50.tsv")),
    (Arch::Sm61, include_str!("data/vectors/sm_61.tsv")),
    (Arch::Sm70, include_str!("data/vectors/sm_70.tsv")),
    (Arch::Sm75, include_str!("data/vectors/sm_75.tsv")),
    (Arch::Sm80, include_str!("data/vectors/sm_80.tsv")),
    (Arch::Sm86, include_str!("data/vectors/sm_86.tsv")),
    (Arch::Sm89, include_str!("data/vectors/sm_89.tsv")),
    (Arch::Sm90, include_str!("data/vectors/sm_90.tsv")),
    (Arch::Sm90, include_str!("data/vectors/sm_90a.tsv")),
    (Arch::Sm100, include_str!("data/vectors/sm_100a.tsv")),
    (Arch::Sm120, include_str!("data/vectors/sm_120a.tsv")),
];

/// xorshift64*: the same numbers in every run.
fn random(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d)
}

fn rows(text: &str) -> impl Iterator<Item = (u128, u64, &str)> {
    text.lines().map(|line| {
        let cells: Vec<&str> = line.splitn(3, '\t').collect();
        let word = u128::from_str_radix(cells[0], 16).expect("hexadecimal");
        (word, u64::from_str_radix(cells[1], 16).expect("hexadecimal"), cells[2])
    })
}

/// The instruction encodes to the word that it was decoded from, unless that has a forbidden control word.
fn assert_comes_back(inst: &Inst, arch: Arch, pc: u64, word: u128) {
    let back = match control_fault(inst, arch) {
        Some(fault) => Err(EncodeError::Control { mnemonic: inst.opcode.name(), fault }),
        None => Ok(word),
    };
    assert_eq!(encode(inst, arch, pc), back, "{arch} {word:032x} {}", inst.display(arch));
}

/// Whatever decodes encodes to the very same word: no bit is ignored.
#[test]
fn flipped_words_decode_to_themselves_or_not_at_all() {
    let mut decoded = 0;
    for (arch, text) in SAMPLES {
        for (word, pc, _) in rows(text) {
            for bit in 0..128 {
                let flipped = word ^ 1 << bit;
                if let Ok(inst) = decode(flipped, arch, pc) {
                    decoded += 1;
                    assert_comes_back(&inst, arch, pc, flipped);
                }
            }
        }
    }
    assert!(decoded > 10_000, "only {decoded} words decoded");
}

/// The same for words of which nothing but the opcode bits is golden, and for words that are all random.
/// Their texts are made too: printing has no bad input.
#[test]
fn random_words_decode_to_themselves_or_not_at_all() {
    let mut state = 1;
    let mut decoded = 0;
    for (arch, text) in SAMPLES {
        let width = if arch.word_format().is_bundled() { 85 } else { 128 };
        for (word, pc, _) in rows(text) {
            for round in 0..40 {
                let noise = u128::from(random(&mut state)) << 64 | u128::from(random(&mut state));
                let noise = noise & (u128::MAX >> (128 - width));
                // All bits, or about one in four, eight …; the opcode stays in three rounds of four.
                let sparse = (0..round % 5)
                    .fold(noise, |noise, _| noise & u128::from(random(&mut state)).wrapping_mul(1 << 64 | 1));
                let opcode = if width == 85 { 0xfff0 << 48 } else { 0xfff };
                let changed = if round % 4 == 0 { word ^ sparse } else { word ^ (sparse & !opcode) };
                if let Ok(inst) = decode(changed, arch, pc) {
                    decoded += 1;
                    assert!(!inst.display(arch).to_string().is_empty());
                    assert_comes_back(&inst, arch, pc, changed);
                }
            }
        }
    }
    assert!(decoded > 10_000, "only {decoded} words decoded");
}

/// Texts with a character missing or doubled give an instruction or an error.
#[test]
fn mangled_texts_do_not_panic() {
    for (arch, text) in SAMPLES {
        for (_, _, line) in rows(text).step_by(5) {
            for at in 0..line.len() {
                let mut shorter = line.to_owned();
                let removed = shorter.remove(at);
                let _ = parse(&shorter, arch, &|_| Some(0));
                shorter.insert_str(at, &format!("{removed}{removed}"));
                let _ = parse(&shorter, arch, &|_| None);
            }
        }
    }
}

/// What one target prints and another one lacks is refused there.
#[test]
fn targets_differ() {
    let bf16 = "F2F.F32.BF16 R1, R2";
    let on = |arch| parse(bf16, arch, &|_| None).ok().and_then(|inst| encode(&inst, arch, 0).ok());
    assert!(on(Arch::Sm90).is_some());
    assert_eq!(on(Arch::Sm80), None);
    assert_eq!(parse("VIMNMX R0, R1, R2, PT", Arch::Sm80, &|_| None), Err(ParseError::Mnemonic("VIMNMX".to_owned())));
    assert!(parse("VIMNMX R0, R1, R2, PT", Arch::Sm90, &|_| None).is_ok());
}

#[test]
fn errors_name_what_is_wrong() {
    assert!(matches!(decode(0, Arch::Sm90, 0), Err(DecodeError::Opcode(0))));
    // FADD with bit 101 set, which nothing uses.
    let fadd = 0x003f_de00_0000_0100_8000_0000_ff00_7221;
    assert!(decode(fadd, Arch::Sm90, 0).is_ok());
    assert_eq!(decode(fadd | 1 << 101, Arch::Sm90, 0), Err(DecodeError::Reserved(0x221)));
    assert_eq!(parse("FOO R1", Arch::Sm90, &|_| None), Err(ParseError::Mnemonic("FOO".to_owned())));
    assert!(matches!(parse("FADD R1, R2", Arch::Sm90, &|_| None), Err(ParseError::Syntax { mnemonic: "FADD", .. })));
    assert!(matches!(parse("@UP0 FADD R1, R2, R3", Arch::Sm90, &|_| None), Err(ParseError::Guard(_))));
}

#[test]
fn legality_names_the_operand() {
    let mut inst = Inst::new(Opcode::FADD);
    let [d, a, b] = [Role::D, Role::A, Role::B].map(|role| Opcode::FADD.position(role).expect("FADD has it"));
    inst.operands[d] = Operand::reg(RegFile::R, 1);
    inst.operands[a] = Operand::reg(RegFile::R, 2);
    inst.operands[b] = Operand::imm(0x3f80_0000);
    assert_eq!(legal(&inst, Arch::Sm90), Ok(()));
    inst.operands[b] = inst.operands[b].with(OperandFlags::NEG);
    assert_eq!(legal(&inst, Arch::Sm90), Err(Illegal::Operand(b)), "immediates have no sign bit");
    inst.operands[b] = Operand::reg(RegFile::R, 3);
    inst.operands[a] = Operand::imm(0);
    assert_eq!(legal(&inst, Arch::Sm90), Err(Illegal::Operand(a)));
    inst.operands.pop();
    assert_eq!(legal(&inst, Arch::Sm90), Err(Illegal::Count));
    let error = encode(&inst, Arch::Sm90, 0);
    assert!(matches!(error, Err(EncodeError::Illegal { mnemonic: "FADD", .. })));
}

/// The published numbers and names of the opcode table.
#[test]
fn published_numbers_and_names() {
    let known = [
        (Opcode::IADD3, 3, "VNQQ3"),
        (Opcode::ISETP, 7, "VFRGC"),
        (Opcode::FADD, 12, "SNQQ"),
        (Opcode::FMUL, 13, "SZHY"),
        (Opcode::MOV, 19, "ZBI"),
        (Opcode::MUFU, 31, "ZHSH"),
    ];
    for (opcode, number, name) in known {
        assert_eq!(opcode.ori_number(), Some(number));
        assert_eq!(opcode.rot13_name(), name);
        assert_eq!(Opcode::from_name(opcode.name()), Some(opcode));
    }
    // The table of encoding categories in the published register model (docs/sources.md).
    let categories = [(Opcode::IADD3, 489), (Opcode::ISETP, 59), (Opcode::MUFU, 501), (Opcode::DMMA, 515)];
    assert!(categories.into_iter().all(|(opcode, number)| opcode.category() == Some((number, number))));
    assert_eq!(Opcode::LDG.category(), Some((449, 456)));
    assert_eq!(Opcode::from_name("NOSUCH"), None);
}

#[test]
fn widths_follow_modifiers() {
    let mut inst = Inst::new(Opcode::IMAD);
    let d = Opcode::IMAD.position(Role::D).expect("IMAD writes D");
    assert_eq!(inst.width(d), 1);
    inst.mods.set(Field::MUL, oriole_isa::Mul::WIDE);
    assert_eq!(inst.width(d), 2);
    assert_eq!(Inst::new(Opcode::DADD).width(0), 2);
    assert!(matches!(Opcode::DADD.signature()[0].width, Width::Fixed(2)));
}

/// Defaults are the unprinted values, and normalising drops them.
#[test]
fn normalise_drops_defaults() {
    let mut inst = Inst::new(Opcode::FADD);
    inst.mods.set(Field::RND, Rnd::RN);
    assert_ne!(inst, Inst::new(Opcode::FADD));
    inst.normalise();
    assert_eq!(inst, Inst::new(Opcode::FADD));
    assert_eq!(inst.get(Field::RND), Rnd::RN);
}

/// Every neutral operand is of a kind that the signature allows.
#[test]
fn neutral_operands_fit_their_signature() {
    for opcode in Opcode::ALL {
        for spec in opcode.signature() {
            if let Some(neutral) = spec.neutral {
                let kind = Kinds::of(neutral.value);
                let fits = spec.kinds.contains(kind) || neutral.value == Value::None;
                assert!(fits, "{} {}", opcode.name(), spec.role.name());
            }
        }
    }
}
