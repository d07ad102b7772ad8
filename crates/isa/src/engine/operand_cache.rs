//! Where operands stay for the instructions behind (`.reuse`).

use super::fit::find_form;
use super::table::Place;
use crate::access::Register;
use crate::{Arch, Inst, Opcode, OperandFlags, Pipe, RegFile, Value};
use smallvec::SmallVec;

/// A source that the operand cache may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cached {
    /// Which place of the word, 0 to 3: A, B, C and a fourth.
    pub(crate) place: u8,
    /// The general register, the first of a pair.
    pub(crate) register: Register,
    /// How many registers.
    pub(crate) width: u16,
    /// It stays for those behind.
    pub(crate) stays: bool,
}

impl Cached {
    /// It reads a register of the bank (the even or the odd ones) of the other one's first.
    pub(crate) fn meets(&self, other: &Cached) -> bool {
        self.place == other.place && (self.width > 1 || (self.register.number() ^ other.register.number()) & 1 == 0)
    }

    /// It reads the other one's first register.
    pub(crate) fn reads(&self, other: &Cached) -> bool {
        let first = self.register.number();
        (first..first + self.width).contains(&other.register.number())
    }
}

impl Opcode {
    /// The operand cache (`.reuse`) that it has, by a pipe that stands for all that share it. So it is in ptxas's code: what arithmetic of
    /// 32 bits keeps is found by such (or by `CREDUX`), what doubles keep by doubles, and what matrix products keep by matrix products: for 2,200
    /// registers a read by others of another register in the same place stands between.
    pub fn operand_cache(self) -> Option<Pipe> {
        match self.info().pipe {
            Pipe::Alu | Pipe::Fma | Pipe::Xu => Some(Pipe::Alu),
            pipe @ (Pipe::Fp64 | Pipe::Tensor) => Some(pipe),
            _ => None,
        }
    }
}

/// The general registers that the instruction reads through the operand cache; `RZ` is none.
pub(crate) fn cached(inst: &Inst, arch: Arch) -> SmallVec<[Cached; 4]> {
    let Ok(form) = find_form(inst, arch, None) else { return SmallVec::new() };
    let first = arch.word_format().reuse();
    let places = form.slots.iter().zip(&inst.operands).enumerate();
    places
        .filter(|(_, (slot, _))| slot.flags.contains(OperandFlags::REUSE))
        .filter_map(|(at, (slot, operand))| match operand.value {
            Value::Reg(RegFile::R, number) if !matches!(slot.place, Place::Nowhere) => {
                let register = Register::new(RegFile::R, number)?;
                let stays = operand.flags.contains(OperandFlags::REUSE);
                Some(Cached { place: slot.reuse.wrapping_sub(first), register, width: inst.width(at).into(), stays })
            }
            _ => None,
        })
        .collect()
}
