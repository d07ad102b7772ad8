//! What the ISA text states of opcodes, against what they do here.

use super::warp;
use crate::flow::Flow;
use crate::hostile_tests::Random;
use crate::instruction::Action;
use crate::state::State;
use oriole_isa::{Arch, Exit, Field, Inst, Kinds, Opcode, Operand, OperandFlags, RegFile, Role, Setting, Swap, Value};
use std::collections::BTreeSet;

/// Random forms of each opcode.
const FORMS: u32 = 400;

/// A random form whose registers are aligned, one operand's apart from another's; `None` if it has other operands than
/// registers and immediates.
fn form(opcode: Opcode, random: &mut Random) -> Option<Inst> {
    let mut inst = random.inst(opcode);
    for (at, spec) in opcode.signature().iter().enumerate() {
        let number = match inst.operands[at].value {
            Value::Reg(RegFile::R | RegFile::UR, _) => 4 * at as u16,
            Value::Reg(RegFile::P | RegFile::UP, _) => at as u16 % 7,
            Value::Imm(_) => 0,
            _ => return None,
        };
        if let Value::Reg(_, register) = &mut inst.operands[at].value {
            *register = number;
        }
        if let Some(neutral) = spec.neutral.filter(|_| random.below(2) == 0) {
            inst.operands[at] = neutral;
        }
    }
    Some(inst)
}

/// A warp with random registers.
fn random_state(random: &mut Random) -> State {
    let mut state = warp(Arch::Sm120);
    for n in 0..64 {
        let word = |random: &mut Random| if random.below(4) == 0 { 0 } else { random.below(1 << 32) as u32 };
        state.set_r(n, &std::array::from_fn(|_| word(random)));
        state.set_ur(n.min(60), word(random));
    }
    for n in 0..7 {
        state.set_p(n, random.below(1 << 32) as u32);
        state.set_up(n, random.below(2) == 0);
    }
    state
}

/// The registers that the instruction leaves; `None` if it is not computed here.
fn outcome(inst: &Inst, seed: u64) -> Option<(Vec<u32>, Vec<u32>)> {
    let compute = super::super::arithmetic(inst).ok()??;
    let mut state = random_state(&mut Random(seed));
    compute(&mut state);
    let words = (0..64).flat_map(|n| state.r(n).iter().copied().chain([state.ur(n.min(60))]).collect::<Vec<_>>());
    let predicates = (0..7).flat_map(|n| [state.p(n), u32::from(state.up(n))]);
    Some((words.collect(), predicates.collect()))
}

/// Whether the signature has the operand in this place.
fn may_be(inst: &Inst, at: usize) -> bool {
    let (spec, operand) = (&inst.opcode.signature()[at], inst.operands[at]);
    spec.kinds.contains(Kinds::of(operand.value)) && operand.flags.bits() & !spec.flags.bits() == 0
}

/// The form with two operands exchanged, and with what `swap` says; `None` where that forbids it.
fn exchange(inst: &Inst, a: usize, b: usize, swap: Swap) -> Option<Inst> {
    let mut new = inst.clone();
    new.operands.swap(a, b);
    let at = |role| inst.opcode.position(role);
    match swap {
        Swap::Plain => {}
        Swap::None => return None,
        Swap::MinMax => {
            let names = inst.opcode.destinations() & inst.opcode.predicates();
            let neutral = |place: usize| inst.opcode.signature()[place].neutral == Some(inst.operands[place]);
            return (0..inst.operands.len()).all(|place| names >> place & 1 == 0 || neutral(place)).then_some(new);
        }
        Swap::Choice => {
            let choice = &mut new.operands[at(Role::PA)?];
            choice.flags = OperandFlags::from_bits(choice.flags.bits() ^ OperandFlags::NOT.bits());
        }
        Swap::Compare(_) if inst.get(Field::EX) || inst.get(Field::X) => return None,
        Swap::Compare(field) => new.mods.apply(Setting::raw(field, field.turned(inst.raw(field))?)),
        Swap::Table => {
            let (first, _) = inst.opcode.commuting().next()?;
            // Bit 4a + 2b + c of a table is the result for the input bits a, b, c.
            let (a, b) = (2 - (a - first), 2 - (b - first));
            for lut in [Role::Lut, Role::Lut2].into_iter().filter_map(at) {
                let Value::Imm(table) = inst.operands[lut].value else { return None };
                let moved = |index: usize| index & !(1 << a | 1 << b) | (index >> a & 1) << b | (index >> b & 1) << a;
                let turned = (0..8).fold(0, |new, index| new | (table >> moved(index) & 1) << index);
                new.operands[lut] = Operand::imm(turned);
            }
        }
    }
    Some(new)
}

/// Exchanges of operands that the text allows, over random forms and registers, change no result.
#[test]
fn commuting_operands_commute() {
    let mut random = Random(11);
    let mut tried = BTreeSet::new();
    for opcode in Opcode::ALL {
        for seed in 0..FORMS {
            let Some(inst) = form(opcode, &mut random) else { continue };
            for (a, b) in opcode.commuting() {
                let Some(other) = exchange(&inst, a, b, opcode.swap()) else { continue };
                if !may_be(&other, a) || !may_be(&other, b) || inst.width(a) != other.width(b) {
                    continue;
                }
                let seed = u64::from(seed) << 32;
                let (Some(one), Some(other)) = (outcome(&inst, seed), outcome(&other, seed)) else { continue };
                tried.insert(opcode.name());
                assert!(one == other, "{opcode:?}, operands {a} and {b}: {inst:?}");
            }
        }
    }
    let stated = Opcode::ALL.into_iter().filter(|opcode| opcode.commuting().next().is_some());
    let modelled = stated.filter(|opcode| Arch::MODELLED.iter().any(|&arch| opcode.exists_on(arch)));
    let untried: Vec<&str> = modelled.map(Opcode::name).filter(|name| !tried.contains(name)).collect();
    assert!(untried.is_empty(), "never computed: {untried:?}");
}

/// Where the text allows no exchange of two sources, one changes a result.
#[test]
fn operands_that_do_not_commute_are_told_apart() {
    let mut random = Random(12);
    let mut open = BTreeSet::new();
    for opcode in Opcode::ALL.into_iter().filter(|opcode| opcode.swap() == Swap::None) {
        let (Some(a), Some(b)) = (opcode.position(Role::A), opcode.position(Role::B)) else { continue };
        for seed in 0..FORMS {
            let Some(inst) = form(opcode, &mut random) else { continue };
            let Some(other) = exchange(&inst, a, b, Swap::Plain) else { continue };
            if !may_be(&other, a) || !may_be(&other, b) {
                continue;
            }
            let seed = u64::from(seed) << 32;
            let (Some(one), Some(other)) = (outcome(&inst, seed), outcome(&other, seed)) else { continue };
            open.insert(opcode.name());
            if one != other {
                open.remove(opcode.name());
                break;
            }
        }
    }
    assert!(open.is_empty(), "they seem to commute: {open:?}");
}

/// Jumps, ends and nothing else leave a block.
#[test]
fn exits_are_what_jumps_and_ends() {
    let mut random = Random(13);
    for opcode in Opcode::ALL {
        for _ in 0..FORMS {
            let inst = Inst { guard: oriole_isa::Guard::ALWAYS, ..random.inst(opcode) };
            let Ok(Some(Action::Flow(flow))) = crate::exec::flow::compile(&inst, 0) else { continue };
            let exit = match *flow {
                // The callee comes back.
                _ if opcode == Opcode::CALL => Exit::No,
                Flow::Branch { .. } | Flow::Nowhere { .. } => Exit::Branch,
                Flow::Relative { .. } => Exit::Indirect,
                Flow::Jump { .. } | Flow::Exit(_) => Exit::Leave,
                _ => Exit::No,
            };
            assert_eq!(opcode.exit(), exit, "{inst:?}");
        }
    }
}
