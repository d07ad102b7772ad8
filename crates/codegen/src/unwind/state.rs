//! What is known at a place of the code: what registers and words of the frame hold of the caller's.

use oriole_cubin::Place;
use oriole_isa::{Field, Guard, Inst, MemSize, Mul, Opcode, OperandFlags, RegFile, Role, Value};
use oriole_ori::RegMask;
use smallvec::SmallVec;

/// General registers.
const REGISTERS: usize = 256;
/// The stack pointer.
const STACK_POINTER: u16 = 1;
/// Reads as zero.
const ZERO: u16 = 255;
/// Bytes of a register.
const WORD: i64 = 4;

/// What a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// Nothing that matters here.
    Other,
    /// What the register of this number held in the caller.
    Entry(u16),
    /// The address of the caller's frame, less this number of bytes.
    Frame(i64),
}

/// The state between two instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    registers: [Held; REGISTERS],
    /// Words of the frame, by bytes below the caller's.
    words: SmallVec<[(i64, u16); 8]>,
    /// What registers hold where a predicate is true, or false.
    pending: SmallVec<[(Guard, u16, Held); 4]>,
}

impl State {
    /// At the function's first instruction. `followed`: the registers whose contents of the caller matter.
    pub(super) fn at_entry(followed: &[u16]) -> State {
        let mut registers = [Held::Other; REGISTERS];
        for number in followed {
            registers[usize::from(*number)] = Held::Entry(*number);
        }
        registers[usize::from(STACK_POINTER)] = Held::Frame(0);
        State { registers, words: SmallVec::new(), pending: SmallVec::new() }
    }

    /// Where what a register held in the caller is.
    pub(super) fn place(&self, number: u16) -> Place {
        let holds = |held: &Held| *held == Held::Entry(number);
        if holds(&self.registers[usize::from(number)]) {
            return Place::Same;
        }
        if let Some((below, _)) = self.words.iter().find(|(_, entry)| *entry == number) {
            return Place::Below(*below as u32);
        }
        let other = self.registers.iter().position(holds);
        other.map_or(Place::Lost, |other| Place::Register(other as u16))
    }

    /// A register, and how many bytes above what it holds the caller's frame is.
    pub(super) fn frame(&self) -> Option<(u16, u32)> {
        let from = |number: usize| match self.registers[number] {
            Held::Frame(below) => Some((number as u16, u32::try_from(below).ok()?)),
            Held::Other | Held::Entry(_) => None,
        };
        from(usize::from(STACK_POINTER)).or_else(|| (0..REGISTERS).find_map(from))
    }

    /// Keeps what holds on another path too. Whether that changes anything.
    pub(super) fn meet(&mut self, other: &State) -> bool {
        let mut changed = false;
        for (held, others) in self.registers.iter_mut().zip(&other.registers) {
            if held != others && *held != Held::Other {
                (*held, changed) = (Held::Other, true);
            }
        }
        let before = self.words.len();
        self.words.retain(|word| other.words.contains(word));
        changed | (self.words.len() != before)
    }

    /// On the path on which this guard holds.
    pub(super) fn where_holds(&self, guard: Option<Guard>) -> State {
        let mut state = self.clone();
        for (_, number, held) in self.pending.iter().filter(|(under, ..)| Some(*under) == guard) {
            state.registers[usize::from(*number)] = *held;
        }
        state.pending.clear();
        state
    }

    /// Behind an instruction; `changed` are the registers that the function changes which it calls. Whether anything is different.
    pub(super) fn step(&mut self, inst: &Inst, changed: impl FnOnce() -> RegMask) -> bool {
        match inst.opcode {
            Opcode::CALL => self.call(&changed()),
            Opcode::STL => self.store(inst),
            Opcode::LDL => self.load(inst),
            _ => match self.moved(inst) {
                Some((to, held)) => self.put(inst.guard, to, held),
                None => self.overwrite(inst),
            },
        }
    }

    fn call(&mut self, changed: &RegMask) -> bool {
        let mut different = false;
        for number in (0..ZERO).filter(|number| *number != STACK_POINTER && changed.contains(RegFile::R, *number)) {
            different |= self.put(Guard::ALWAYS, number, Held::Other);
        }
        self.pending.clear();
        different
    }

    /// A register gets something under a guard.
    fn put(&mut self, guard: Guard, to: u16, held: Held) -> bool {
        let slot = &mut self.registers[usize::from(to)];
        self.pending.retain(|(_, number, _)| *number != to);
        if *slot == held || to == ZERO {
            return false;
        }
        let before = std::mem::replace(slot, if guard == Guard::ALWAYS { held } else { Held::Other });
        if guard != Guard::ALWAYS {
            let otherwise = Guard { negated: !guard.negated, ..guard };
            self.pending.extend([(guard, to, held), (otherwise, to, before)]);
        }
        true
    }

    /// All that the instruction writes holds something else.
    fn overwrite(&mut self, inst: &Inst) -> bool {
        let mut different = false;
        let destinations = inst.opcode.destinations();
        for (at, operand) in inst.operands.iter().enumerate().filter(|(at, _)| destinations >> at & 1 != 0) {
            match operand.value {
                Value::Reg(RegFile::R, first) if first != ZERO => {
                    for number in (first..ZERO).take(inst.width(at).into()) {
                        different |= self.put(inst.guard, number, Held::Other);
                    }
                }
                Value::Reg(RegFile::P, number) => {
                    self.pending.retain(|(guard, ..)| u16::from(guard.predicate) != number);
                }
                _ => {}
            }
        }
        different
    }

    /// What an instruction puts into one register, if that is a register's value plus a constant.
    fn moved(&self, inst: &Inst) -> Option<(u16, Held)> {
        let operand = |role: Role| inst.opcode.position(role).map(|at| inst.operands[at]);
        let summands = match inst.opcode {
            Opcode::MOV => [Role::B].as_slice(),
            Opcode::IADD3 => &[Role::A, Role::B, Role::C],
            Opcode::IMAD => &[Role::C],
            _ => return None,
        };
        if inst.get(Field::X) {
            return None;
        }
        let is_zero = |role: Role| operand(role).is_some_and(|o| o.value == Value::Reg(RegFile::R, ZERO));
        let is_sum = inst.get(Field::MUL) == Mul::LO && is_zero(Role::A) && is_zero(Role::B);
        if inst.opcode == Opcode::IMAD && !is_sum {
            return None;
        }
        let Value::Reg(RegFile::R, to) = operand(Role::D)?.value else { return None };
        let (mut from, mut constant) = (None, 0i64);
        for summand in summands.iter().filter_map(|role| operand(*role)) {
            match summand.value {
                _ if summand.flags.without(OperandFlags::REUSE) != OperandFlags::empty() => return None,
                Value::Imm(value) => constant += i64::from(value as u32 as i32),
                Value::Reg(RegFile::R, ZERO) | Value::None => {}
                Value::Reg(RegFile::R, number) if from.is_none() => from = Some(number),
                _ => return None,
            }
        }
        let held = match self.registers[usize::from(from?)] {
            Held::Frame(below) => Held::Frame(below - constant),
            Held::Entry(entry) if constant == 0 => Held::Entry(entry),
            Held::Entry(_) | Held::Other => Held::Other,
        };
        Some((to, held))
    }

    /// How many bytes below the caller's frame an access is, the first register that it names, and how many.
    fn access(&self, inst: &Inst, data: Role) -> Option<(i64, u16, u16)> {
        let value = |role: Role| inst.opcode.position(role).map(|at| inst.operands[at].value);
        let Some(Value::Reg(RegFile::R, base)) = value(Role::Base) else { return None };
        let Some(Value::Reg(RegFile::R, first)) = value(data) else { return None };
        let Held::Frame(below) = self.registers[usize::from(base)] else { return None };
        let offset = match value(Role::Offset) {
            Some(Value::Imm(offset)) => offset as i64,
            Some(Value::None) | None => 0,
            Some(_) => return None,
        };
        let words = match inst.get(Field::MEM_SIZE) {
            MemSize::B32 => 1,
            MemSize::B64 => 2,
            MemSize::B128 => 4,
            _ => 0,
        };
        Some((below - offset, first, words))
    }

    fn store(&mut self, inst: &Inst) -> bool {
        let Some((below, first, words)) = self.access(inst, Role::Data) else { return false };
        let before = self.words.clone();
        // Less than a word takes the one that it is in.
        let end = below - WORD * i64::from(words.max(1));
        self.words.retain(|(place, _)| *place <= end || *place - WORD >= below);
        if inst.guard == Guard::ALWAYS {
            for (number, place) in (first..ZERO).zip((0..i64::from(words)).map(|word| below - WORD * word)) {
                if let Held::Entry(entry) = self.registers[usize::from(number)] {
                    self.words.push((place, entry));
                }
            }
        }
        self.words != before
    }

    fn load(&mut self, inst: &Inst) -> bool {
        let Some((below, first, words)) = self.access(inst, Role::D) else { return self.overwrite(inst) };
        let mut different = false;
        for (number, place) in (first..ZERO).zip((0..i64::from(words.max(1))).map(|word| below - WORD * word)) {
            let word = self.words.iter().find(|(known, _)| *known == place).filter(|_| words > 0);
            different |= self.put(inst.guard, number, word.map_or(Held::Other, |(_, entry)| Held::Entry(*entry)));
        }
        different
    }
}
