//! The registers that survive calls by convention, and the code of a function that keeps to it.
//!
//! As ptxas 13.0.88 has it (measured on functions with many values live across calls through addresses, and on such callees:
//! what these store at their entry is what callers keep in registers): R2, R16 to R19, R22 to R31, and from R32 on the upper
//! four of every eight. Objects of others that are linked to ours go by it. Of predicates and uniform registers nothing survives but UR36 and UR37, which nobody changes.

use crate::graph::PhysicalSet;
use crate::spill::SpillBytes;
use crate::stack::{SIZES, STACK_POINTER, access};
use oriole_isa::{Arch, Opcode, RegFile, Role};
use oriole_ori::{Callee, Function, Inst, InstFlags, Operand, RegMask};

/// The general registers that survive.
pub(crate) const KEPT: PhysicalSet = {
    // R2, R16-R19, R22-R31, and from R32 on what has bit 2.
    const UPPER: u64 = 0xf0f0_f0f0_f0f0_f0f0;
    [1 << 2 | 0xf << 16 | 0x3ff << 22 | UPPER >> 32 << 32, UPPER, UPPER, UPPER & u64::MAX >> 1]
};

/// All registers that a callee may change of which nothing is known but that it keeps to the convention. The stack pointer is
/// not among them, nor the descriptor of global memory; convergence barriers are saved by the callee.
pub fn changed() -> RegMask {
    let mut mask = RegMask::ALL;
    mask.remove(RegFile::R, 1);
    mask.remove(RegFile::UR, 36);
    mask.remove(RegFile::UR, 37);
    mask.b = 0;
    mask.subtract(&kept());
    mask
}

/// All registers that a function of the run-time system may change, in a linked file. As ptxas 13.0.88 has it (240 values kept across calls of
/// `vprintf`, `malloc`, `free` and `__assertfail`; `oriole-cli/tests/convention.rs` asks with 200): from sm_80 on R2, R16 to R19 and all from R22 on survive,
/// on sm_75 what survives any call; UR36 to UR61 on all.
pub(crate) fn changed_by_system(arch: Arch) -> RegMask {
    /// The first of the general registers that all survive.
    const FIRST_KEPT: u16 = 22;
    /// The uniform registers that survive.
    const KEPT_UNIFORM: std::ops::RangeInclusive<u16> = 36..=61;
    let mut mask = changed();
    if arch >= Arch::Sm80 {
        (FIRST_KEPT..255).for_each(|number| mask.remove(RegFile::R, number));
    }
    KEPT_UNIFORM.for_each(|number| mask.remove(RegFile::UR, number));
    mask
}

/// What survives by convention, as a mask.
pub fn kept() -> RegMask {
    RegMask { r: KEPT, ..RegMask::EMPTY }
}

/// Registers with places for what they hold of a caller's.
#[derive(Default)]
pub(crate) struct Saved {
    /// The first register of a run, how many there are, and where they are kept: bytes in the spill area.
    runs: Vec<(u16, u8, u32)>,
}

impl Saved {
    /// What of `used` the function has to save, with room for it in its frame.
    pub(crate) fn new(func: &mut Function, used: &RegMask) -> Saved {
        let mut mask = *used;
        if func.frame().dynamic {
            mask.insert(RegFile::R, func.frame().base());
        }
        results(func).for_each(|number| mask.remove(RegFile::R, number));
        let mut runs = Vec::new();
        let is_saved = |number: u16| mask.contains(RegFile::R, number) && kept().contains(RegFile::R, number);
        let mut number = 0;
        while number < 255 {
            let whole = |size: u8| number % u16::from(size) == 0 && (number..number + u16::from(size)).all(is_saved);
            match SIZES.iter().find(|(size, _)| whole(*size)) {
                Some((size, _)) => {
                    runs.push((number, *size, func.frame_mut().add_slot(4 * u32::from(*size))));
                    number += u16::from(*size);
                }
                None => number += 1,
            }
        }
        Saved { runs }
    }

    /// Bytes that are stored at each entry, and loaded at each return.
    pub(crate) fn bytes(&self) -> SpillBytes {
        let bytes = self.runs.iter().map(|(_, size, _)| 4 * u32::from(*size)).sum();
        SpillBytes { stores: bytes, loads: bytes }
    }

    /// Whether there is nothing to save.
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The stores, for where the stack pointer has its new value.
    pub(crate) fn stores(&self, func: &Function) -> Vec<Inst> {
        self.each(func, (Opcode::STL, Role::Data, InstFlags::SPILL))
    }

    /// The loads, for where it has the same.
    pub(crate) fn loads(&self, func: &Function) -> Vec<Inst> {
        self.each(func, (Opcode::LDL, Role::D, InstFlags::REFILL))
    }

    fn each(&self, func: &Function, (opcode, role, flag): (Opcode, Role, InstFlags)) -> Vec<Inst> {
        let local = func.frame().local_bytes;
        let inst = |(first, size, offset): &(u16, u8, u32)| -> Option<Inst> {
            let (_, width) = SIZES.into_iter().find(|(known, _)| known == size)?;
            let mut inst = access(opcode, STACK_POINTER, local + offset, width);
            inst.set_role(role, Operand::phys_group(RegFile::R, *first, *size));
            inst.flags |= flag;
            Some(inst)
        };
        self.runs.iter().filter_map(inst).collect()
    }
}

/// Numbers of the general registers in which the function hands over its results.
fn results(func: &Function) -> impl Iterator<Item = u16> {
    let mut numbers = Vec::new();
    for (_, inst) in func.iter_insts() {
        let Some(call) = func[inst].call.expand().filter(|call| func[*call].callee == Callee::Return) else { continue };
        for operand in &func[call].args {
            if let Some((RegFile::R, first, count)) = func.physical(*operand) {
                numbers.extend(first..first + u16::from(count));
            }
        }
    }
    numbers.into_iter()
}
