//! Wide loads of which not all is read: tools that look for reads of unwritten memory must not report what nobody looks at.

use super::placed::{BYTES, Code, label};
use oriole_isa::access::Touches;
use oriole_isa::{Guard, Inst, Opcode, RegFile, Role, Value};
use rustc_hash::FxHashMap;

/// Bytes of a register.
const REGISTER_BYTES: u32 = 4;

/// A set of general registers, a bit each.
type Registers = [u128; 2];

/// What an instruction does to general registers.
#[derive(Clone, Copy)]
struct Step {
    reads: Registers,
    /// In all threads.
    writes: Registers,
    next: Next,
}

/// Where control goes.
#[derive(Clone, Copy)]
enum Next {
    On,
    To(u32),
    Either(u32),
    Nowhere,
    /// Elsewhere: any register may be read there.
    Unknown,
}

/// The loads of 64 and 128 bits from global, shared and generic memory of which something is read and something is not: byte offset,
/// and the bytes that are read, a bit each.
pub(super) fn unused_bytes(code: &Code<'_>, opcodes: &[(u32, Opcode)]) -> Vec<(u32, u32)> {
    let mut steps = Steps { code, known: FxHashMap::default() };
    let loads = opcodes.iter().filter(|(_, opcode)| matches!(opcode, Opcode::LDG | Opcode::LDS | Opcode::LD));
    let used = |&(offset, opcode): &(u32, Opcode)| {
        let inst = code.at(offset)?;
        let at = opcode.position(Role::D)?;
        let (first, count) = match inst.operands.get(at)?.value {
            Value::Reg(RegFile::R, number) if RegFile::R.zero() != Some(number) => (number, inst.width(at) as u16),
            _ => return None,
        };
        // Loads of 256 bits ptxas does not list.
        if !matches!(count, 2 | 4) {
            return None;
        }
        let loaded = (first..first + count).fold([0; 2], with);
        let read = steps.read_of(offset + BYTES as u32, loaded);
        let bytes = |n: u16| ((1 << REGISTER_BYTES) - 1) << (u32::from(n) * REGISTER_BYTES);
        let used = (0..count).filter(|n| has(read, first + n)).fold(0, |mask, n| mask | bytes(n));
        (read != loaded && used != 0).then_some((offset, used))
    };
    loads.filter_map(used).collect()
}

/// The instructions that have been looked at.
struct Steps<'c> {
    code: &'c Code<'c>,
    known: FxHashMap<u32, Step>,
}

impl Steps<'_> {
    /// Those of the registers that may be read from `start` on before they are written.
    fn read_of(&mut self, start: u32, registers: Registers) -> Registers {
        let mut read = [0; 2];
        let mut seen: FxHashMap<u32, Registers> = FxHashMap::default();
        let mut work = vec![(start, registers)];
        while let Some((offset, mut live)) = work.pop() {
            let before = seen.entry(offset).or_insert([0; 2]);
            live = minus(live, or(*before, read));
            if live == [0; 2] {
                continue;
            }
            *before = or(*before, live);
            let step = self.at(offset);
            read = or(read, and(live, step.reads));
            live = minus(live, step.writes);
            let next = offset + BYTES as u32;
            match step.next {
                Next::On => work.push((next, live)),
                Next::To(to) => work.push((to, live)),
                Next::Either(to) => work.extend([(next, live), (to, live)]),
                Next::Nowhere => {}
                Next::Unknown => read = or(read, live),
            }
        }
        read
    }

    fn at(&mut self, offset: u32) -> Step {
        let code = self.code;
        *self.known.entry(offset).or_insert_with(|| match code.at(offset) {
            Some(inst) => step(&inst, code),
            None => Step { reads: [0; 2], writes: [0; 2], next: Next::Unknown },
        })
    }
}

fn step(inst: &Inst, code: &Code<'_>) -> Step {
    let touches = Touches::of(inst, code.arch);
    let of = |touches: &[oriole_isa::access::Touch]| {
        let general = touches.iter().map(|touch| touch.register).filter(|register| register.file() == RegFile::R);
        general.map(|register| register.number()).fold([0; 2], with)
    };
    let always = inst.guard == Guard::ALWAYS;
    let writes = if always { of(&touches.writes) } else { [0; 2] };
    Step { reads: of(&touches.reads), writes, next: next(inst, always) }
}

fn next(inst: &Inst, always: bool) -> Next {
    match inst.opcode {
        Opcode::BRA => {
            let condition = Opcode::BRA.position(Role::PA).and_then(|at| inst.operands.get(at));
            let holds = |value: Value| matches!(value, Value::Reg(file @ (RegFile::P | RegFile::UP), n) if file.zero() == Some(n));
            let taken = always
                && condition.is_none_or(|condition| {
                    holds(condition.value) && condition.flags == oriole_isa::OperandFlags::empty()
                });
            match label(inst) {
                Some(to) if taken => Next::To(to),
                Some(to) => Next::Either(to),
                None => Next::Unknown,
            }
        }
        Opcode::EXIT if always => Next::Nowhere,
        Opcode::CALL | Opcode::RET | Opcode::BRX | Opcode::BRXU | Opcode::JMP | Opcode::JMX | Opcode::BREAK => {
            Next::Unknown
        }
        _ => Next::On,
    }
}

fn with(set: Registers, number: u16) -> Registers {
    or(set, if number < 128 { [1 << number, 0] } else { [0, 1 << (number - 128)] })
}

fn has(set: Registers, number: u16) -> bool {
    and(set, with([0; 2], number)) != [0; 2]
}

fn or(a: Registers, b: Registers) -> Registers {
    [a[0] | b[0], a[1] | b[1]]
}

fn and(a: Registers, b: Registers) -> Registers {
    [a[0] & b[0], a[1] & b[1]]
}

fn minus(a: Registers, b: Registers) -> Registers {
    [a[0] & !b[0], a[1] & !b[1]]
}
