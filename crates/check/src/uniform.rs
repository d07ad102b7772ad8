//! Registers that have one value in all threads of a warp, as far as the instructions that wrote them tell.
//!
//! Values of instructions whose sources are constants, uniform registers or such registers themselves, and votes. A register that diverged
//! threads wrote differently is taken for one of these too where each of the writes would be: what is built on this says less than it might,
//! never more.

use crate::program::{Condition, Line};
use oriole_isa::access::Register;
use oriole_isa::{Arch, Effects, Opcode, RegFile, Value, special_registers};

/// Words of a set of registers, each at the bit of its [`Register::index`].
const WORDS: usize = Register::COUNT.div_ceil(64);

/// A set of registers and predicates of single threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Same([u64; WORDS]);

impl Same {
    /// None of them.
    pub(crate) const NONE: Same = Same([0; WORDS]);

    /// Registers that belong to single threads.
    fn place(register: Register) -> Option<usize> {
        matches!(register.file(), RegFile::R | RegFile::P).then(|| register.index())
    }

    fn has(self, place: usize) -> bool {
        self.0[place / 64] >> (place % 64) & 1 == 1
    }

    fn put(&mut self, place: usize, is_in: bool) {
        let bit = 1 << (place % 64);
        self.0[place / 64] = self.0[place / 64] & !bit | if is_in { bit } else { 0 };
    }

    /// Those that are in both.
    pub(crate) fn and(self, other: Same) -> Same {
        Same(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    /// Those that are not in the other.
    pub(crate) fn without(self, other: Same) -> Same {
        Same(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    /// Add the registers that an instruction writes.
    pub(crate) fn add_written(&mut self, line: &Line) {
        line.touches
            .writes
            .iter()
            .filter_map(|touch| Same::place(touch.register))
            .for_each(|place| self.put(place, true));
    }

    /// Add those of the other; whether one is new.
    pub(crate) fn add(&mut self, other: Same) -> bool {
        let before = *self;
        *self = Same(std::array::from_fn(|word| self.0[word] | other.0[word]));
        *self != before
    }

    /// All threads that are here decide alike about a condition.
    pub(crate) fn decides(self, condition: Condition) -> bool {
        condition.is_uniform()
            || (0..7)
                .filter(|number| condition.is_about(false, *number))
                .filter_map(|number| Register::new(RegFile::P, number))
                .any(|predicate| self.has(predicate.index()))
    }

    /// What an instruction makes of it.
    pub(crate) fn step(&mut self, line: &Line, arch: Arch) {
        let is_same = |register: Register| Same::place(register).is_none_or(|place| self.has(place));
        let from_same =
            tells_no_thread_apart(line, arch) && line.touches.reads.iter().all(|touch| is_same(touch.register));
        let gives = from_same || line.inst.opcode == Opcode::VOTE;
        let guarded = line.guard.is_known();
        for place in line.touches.writes.iter().filter_map(|touch| Same::place(touch.register)) {
            let kept = !guarded || self.has(place) && self.decides(line.guard);
            self.put(place, gives && kept);
        }
    }
}

/// The results of the instruction depend on its sources alone, or on what is the same for all threads of the warp.
fn tells_no_thread_apart(line: &Line, arch: Arch) -> bool {
    let inst = &line.inst;
    let is_shared = |number| {
        special_registers::by_number(number, arch).is_some_and(|register| register.shared_by().is_warp_uniform())
    };
    let specials = inst.operands.iter().all(|operand| match operand.value {
        Value::Special(number) => is_shared(number),
        _ => true,
    });
    let effects = inst.opcode.info().effects;
    let reads_memory = effects.contains(Effects::READS_MEMORY) && inst.opcode != Opcode::LDC;
    let exchanges = matches!(inst.opcode, Opcode::SHFL | Opcode::MATCH | Opcode::ELECT | Opcode::MOVM);
    specials && !reads_memory && !exchanges
}
