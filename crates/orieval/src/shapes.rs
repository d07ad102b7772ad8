//! Instructions that rules know: opcodes with their modifiers, sources and results.

use oriole_isa::{Field, Mods, Opcode, Role, bop, cmp, fcmp, mul, shift_dir, shift_type, sign};
use oriole_ori::RegType;

/// An opcode with the modifiers and operand kinds that are tried.
pub struct Shape {
    /// The mnemonic.
    pub opcode: Opcode,
    /// The choices of its modifiers.
    pub mods: Vec<Mods>,
    /// Words that it reads.
    pub sources: &'static [Role],
    /// Predicates that it takes, of which all four choices are tried.
    pub takes: &'static [Role],
    /// Results: words, pairs or predicates.
    pub results: &'static [(Role, RegType)],
    /// Values of immediate operands.
    pub immediates: Option<(Role, Vec<u32>)>,
}

fn mods(fields: &[(Field, &[u8])]) -> Vec<Mods> {
    fields.iter().fold(vec![Mods::new()], |all, (field, values)| {
        all.iter()
            .flat_map(|mods| {
                values.iter().map(|value| {
                    let mut mods = mods.clone();
                    mods.set(*field, *value);
                    mods
                })
            })
            .collect()
    })
}

const SIGNS: &[u8] = &[sign::U32, sign::S32];
const ABC: &[Role] = &[Role::A, Role::B, Role::C];
const AB: &[Role] = &[Role::A, Role::B];
const WORD: &[(Role, RegType)] = &[(Role::D, RegType::R)];
const COMPARISON: &[(Role, RegType)] = &[(Role::PD, RegType::P), (Role::PD2, RegType::P)];

/// All of them.
#[must_use]
pub fn shapes() -> Vec<Shape> {
    let shape =
        |opcode, mods, sources, takes, results| Shape { opcode, mods, sources, takes, results, immediates: None };
    let compares: Vec<u8> = (cmp::F..=cmp::T).collect();
    let float_compares: Vec<u8> = (fcmp::F..=fcmp::T).collect();
    let combines = &[bop::AND, bop::OR, bop::XOR][..];
    let shifts = &[shift_type::S64, shift_type::U64, shift_type::S32, shift_type::U32][..];
    vec![
        shape(
            Opcode::ISETP,
            mods(&[(Field::Cmp, &compares), (Field::Sign, SIGNS), (Field::Bop, combines)]),
            AB,
            &[Role::PA],
            COMPARISON,
        ),
        shape(
            Opcode::ISETP,
            mods(&[(Field::Cmp, &compares), (Field::Sign, SIGNS), (Field::Ex, &[1])]),
            AB,
            &[Role::PB],
            COMPARISON,
        ),
        shape(
            Opcode::FSETP,
            mods(&[(Field::Fcmp, &float_compares), (Field::Bop, combines)]),
            AB,
            &[Role::PA],
            COMPARISON,
        ),
        shape(Opcode::SEL, mods(&[]), AB, &[Role::PA], WORD),
        shape(Opcode::FSEL, mods(&[]), AB, &[Role::PA], WORD),
        shape(Opcode::IMNMX, mods(&[(Field::Sign, SIGNS)]), AB, &[Role::PA], WORD),
        shape(Opcode::IADD3, mods(&[(Field::X, &[0])]), ABC, &[], &[(Role::D, RegType::R), (Role::PD, RegType::P)]),
        shape(
            Opcode::IADD3,
            mods(&[(Field::X, &[1])]),
            AB,
            &[Role::PA],
            &[(Role::D, RegType::R), (Role::PD, RegType::P)],
        ),
        shape(Opcode::IMAD, mods(&[(Field::Mul, &[mul::LO]), (Field::Sign, SIGNS)]), ABC, &[], WORD),
        shape(
            Opcode::IMAD,
            mods(&[(Field::Mul, &[mul::WIDE]), (Field::Sign, SIGNS)]),
            AB,
            &[],
            &[(Role::D, RegType::Pair)],
        ),
        shape(
            Opcode::SHF,
            mods(&[
                (Field::ShiftDir, &[shift_dir::L, shift_dir::R]),
                (Field::ShiftType, shifts),
                (Field::Hi, &[0, 1]),
                (Field::Wrap, &[0, 1]),
            ]),
            ABC,
            &[],
            WORD,
        ),
        Shape {
            immediates: Some((Role::Shift, vec![0, 1, 4, 31])),
            ..shape(Opcode::LEA, mods(&[]), AB, &[], &[(Role::D, RegType::R), (Role::PD, RegType::P)])
        },
        Shape {
            immediates: Some((Role::Lut, (0..=255).collect())),
            ..shape(Opcode::LOP3, mods(&[]), ABC, &[], &[(Role::D, RegType::R), (Role::PD, RegType::P)])
        },
        shape(Opcode::PRMT, mods(&[]), ABC, &[], WORD),
        shape(Opcode::SGXT, mods(&[(Field::Sign, SIGNS)]), AB, &[], WORD),
        shape(Opcode::IABS, mods(&[]), &[Role::B], &[], WORD),
        shape(Opcode::POPC, mods(&[]), &[Role::B], &[], WORD),
        shape(Opcode::BREV, mods(&[]), &[Role::B], &[], WORD),
    ]
}
