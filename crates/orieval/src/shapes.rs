//! Instructions that rules know: opcodes with their modifiers, sources and results.

use oriole_isa::{Bop, Cmp, Fcmp, Field, FieldType, Mods, Mul, Opcode, Role, Setting, ShiftDir, ShiftType, Sign};
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

/// All combinations of a setting from each list.
fn mods(choices: &[Vec<Setting>]) -> Vec<Mods> {
    choices.iter().fold(vec![Mods::new()], |all, settings| {
        all.iter()
            .flat_map(|mods| {
                settings.iter().map(|setting| {
                    let mut mods = mods.clone();
                    mods.apply(*setting);
                    mods
                })
            })
            .collect()
    })
}

/// The field with each of the values.
fn each<V: FieldType>(field: Field<V>, values: &[V]) -> Vec<Setting> {
    values.iter().map(|value| Setting::of(field, *value)).collect()
}

const ABC: &[Role] = &[Role::A, Role::B, Role::C];
const AB: &[Role] = &[Role::A, Role::B];
const WORD: &[(Role, RegType)] = &[(Role::D, RegType::R)];
const COMPARISON: &[(Role, RegType)] = &[(Role::PD, RegType::P), (Role::PD2, RegType::P)];

/// All of them.
#[must_use]
pub fn shapes() -> Vec<Shape> {
    let shape =
        |opcode, mods, sources, takes, results| Shape { opcode, mods, sources, takes, results, immediates: None };
    let signs = || each(Field::SIGN, Sign::VALUES);
    let compares = || each(Field::CMP, Cmp::VALUES);
    let combines = || each(Field::BOP, Bop::VALUES);
    vec![
        shape(Opcode::ISETP, mods(&[compares(), signs(), combines()]), AB, &[Role::PA], COMPARISON),
        shape(Opcode::ISETP, mods(&[compares(), signs(), each(Field::EX, &[true])]), AB, &[Role::PB], COMPARISON),
        shape(Opcode::FSETP, mods(&[each(Field::FCMP, Fcmp::VALUES), combines()]), AB, &[Role::PA], COMPARISON),
        shape(Opcode::SEL, mods(&[]), AB, &[Role::PA], WORD),
        shape(Opcode::FSEL, mods(&[]), AB, &[Role::PA], WORD),
        shape(Opcode::IMNMX, mods(&[signs()]), AB, &[Role::PA], WORD),
        shape(
            Opcode::IADD3,
            mods(&[each(Field::X, &[false])]),
            ABC,
            &[],
            &[(Role::D, RegType::R), (Role::PD, RegType::P)],
        ),
        shape(
            Opcode::IADD3,
            mods(&[each(Field::X, &[true])]),
            AB,
            &[Role::PA],
            &[(Role::D, RegType::R), (Role::PD, RegType::P)],
        ),
        shape(Opcode::IMAD, mods(&[each(Field::MUL, &[Mul::LO]), signs()]), ABC, &[], WORD),
        shape(Opcode::IMAD, mods(&[each(Field::MUL, &[Mul::WIDE]), signs()]), AB, &[], &[(Role::D, RegType::Pair)]),
        shape(
            Opcode::SHF,
            mods(&[
                each(Field::SHIFT_DIR, ShiftDir::VALUES),
                each(Field::SHIFT_TYPE, ShiftType::VALUES),
                each(Field::HI, &[false, true]),
                each(Field::WRAP, &[false, true]),
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
        shape(Opcode::SGXT, mods(&[signs()]), AB, &[], WORD),
        shape(Opcode::IABS, mods(&[]), &[Role::B], &[], WORD),
        shape(Opcode::POPC, mods(&[]), &[Role::B], &[], WORD),
        shape(Opcode::BREV, mods(&[]), &[Role::B], &[], WORD),
    ]
}
