//! Edges: each field of an instruction at its ends.

use super::Mutant;
use super::places::{Registers, edit, edit_instruction, instructions, leaves, offsets, set};
use fastrand::Rng;
use oriole_ptx::ast::{AddressBase, Imm, Instruction, Module, Operand, Span};

/// What offsets and constants are put to: zero and its neighbours, and the ends of the fields that words have ([`widths`]).
fn values() -> Vec<i64> {
    let ends = widths().into_iter().flat_map(|bits| {
        let end = 1i64 << bits;
        [end, end - 1, -end, -end - 1]
    });
    let mut all: Vec<i64> = [0, 1, -1, 4, -4, i64::MIN, i64::MAX].into_iter().chain(ends).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Narrower numbers are chosen from, not counted with; wider ones than this are not of one word.
const BITS: std::ops::RangeInclusive<u32> = 5..=62;

/// Widths of the numbers in instruction words, with and without a sign: those of the ISA data, and of registers.
fn widths() -> Vec<u32> {
    let mut all: Vec<u32> = oriole_isa::number_widths().flat_map(|bits| [bits, bits - 1]).collect();
    all.extend([31, 32]);
    all.retain(|bits| (BITS).contains(bits));
    all.sort_unstable();
    all.dedup();
    all
}

/// What is put to an edge.
enum Field {
    /// The offset of an address, by its number.
    Offset(usize),
    /// A single operand, which becomes a constant.
    Operand(usize),
    /// A register that is read, which gets a constant just ahead.
    Register(String),
    /// All registers that are read.
    Registers,
    /// All elements of all vectors.
    Vectors,
}

/// These edges of every field are tried.
const ALWAYS: [i64; 2] = [0, -1];

/// The module with each field of each instruction of those numbers at two edges and so many others.
pub(super) fn mutants(rng: &mut Rng, module: &Module, focus: &[usize], edges: usize) -> Vec<Mutant> {
    let all = instructions(module);
    let values = values();
    let mut made = Vec::new();
    for &at in focus {
        for field in fields(all[at], module) {
            let chosen = (0..edges).map(|_| values[rng.usize(..values.len())]);
            let edges: Vec<i64> = ALWAYS.into_iter().chain(chosen).collect();
            let edges = if matches!(field, Field::Vectors) { &edges[..1] } else { &edges };
            made.extend(edges.iter().filter_map(|value| mutant(module, at, &field, *value)));
        }
    }
    made
}

fn fields(instruction: &Instruction, module: &Module) -> Vec<Field> {
    let mut copy = instruction.clone();
    let mut all: Vec<Field> = (0..offsets(&mut copy).len()).map(Field::Offset).collect();
    let names = read(instruction, module);
    let leaves = leaves(&mut copy).into_iter().enumerate();
    all.extend(
        leaves
            .filter(|(_, leaf)| matches!(leaf, Operand::Name(_) | Operand::Imm(..)))
            .map(|(at, _)| Field::Operand(at)),
    );
    all.extend(names.into_iter().map(Field::Register));
    all.extend([Field::Registers, Field::Vectors]);
    all
}

/// The registers behind the first operand, and those in addresses.
fn read(instruction: &Instruction, module: &Module) -> Vec<String> {
    let registers = Registers::of(module);
    let mut copy = instruction.clone();
    if !matches!(copy.operands.first(), Some(Operand::Address(_))) && copy.operands.len() > 1 {
        copy.operands.remove(0);
    }
    let bases = copy.operands.iter().filter_map(|operand| match operand.address()?.base {
        AddressBase::Name(name) | AddressBase::Item(_, Some(name)) => Some(name),
        _ => None,
    });
    let mut names: Vec<_> = bases.collect();
    names.extend(leaves(&mut copy).into_iter().filter_map(|leaf| leaf.name()));
    let mut names: Vec<String> = names.into_iter().map(|name| module.text(name).to_owned()).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| registers.ty(name).is_some());
    names
}

fn mutant(module: &Module, at: usize, field: &Field, value: i64) -> Option<Mutant> {
    let mut made = module.clone();
    let constant = Operand::Imm(Imm::S64(value), Span::default());
    let note = match field {
        Field::Offset(number) => {
            edit_instruction(&mut made, at, |instruction| *offsets(instruction)[*number] = value);
            format!("offset {number} is {value}")
        }
        Field::Operand(number) => {
            edit_instruction(&mut made, at, |instruction| *leaves(instruction)[*number] = constant);
            format!("operand {number} is {value}")
        }
        Field::Register(name) => {
            hold(&mut made, at, std::slice::from_ref(name), value)?;
            format!("{name} is {value}")
        }
        Field::Registers => {
            let names = read(instructions(module)[at], module);
            hold(&mut made, at, &names, value)?;
            format!("all registers are {value}")
        }
        Field::Vectors => {
            edit_instruction(&mut made, at, |instruction| fill_vectors(instruction, &constant));
            format!("all vectors are {value}")
        }
    };
    let changed = made != *module && oriole_ptx::load(&oriole_ptx::print(&made)).is_ok();
    changed.then(|| Mutant::of(made, note))
}

/// Where the windows of generic addresses are: what is at an address there that no program can know is each engine's own affair.
const WINDOWS: std::ops::Range<i64> = 1 << 32..1 << 36;

/// Puts a constant into registers ahead of an instruction.
fn hold(module: &mut Module, at: usize, names: &[String], value: i64) -> Option<()> {
    if WINDOWS.contains(&value) {
        return None;
    }
    let registers = Registers::of(module);
    let mut symbols = std::mem::take(&mut module.symbols);
    let sets = names.iter().map(|name| set(&mut symbols, name, registers.ty(name)?, value as u64));
    let sets: Option<Vec<_>> = sets.collect();
    module.symbols = symbols;
    let sets = sets.filter(|sets| !sets.is_empty())?;
    edit(module, at, |statements, place| drop(statements.splice(place..place, sets)));
    Some(())
}

/// Every element of every vector, also of coordinates, becomes a constant.
fn fill_vectors(instruction: &mut Instruction, constant: &Operand) {
    fn fill(operand: &mut Operand, constant: &Operand) {
        match operand {
            Operand::Vector(items, _) => items.iter_mut().for_each(|item| *item = constant.clone()),
            Operand::Address(address) => address.rest.iter_mut().for_each(|item| fill(item, constant)),
            _ => {}
        }
    }
    instruction.operands.iter_mut().for_each(|operand| fill(operand, constant));
}
