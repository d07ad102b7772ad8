//! Loads from constant banks: `LDC`, `ULDC`, `LDCU`.

use super::memory::{extend, size_of};
use crate::effect::{Effect, Env, Unsupported};
use crate::halt::Halt;
use crate::lanes::{Lanes, WARP};
use crate::operand::{Dst, Src, operand};
use crate::state::{RZ, State};
use oriole_device::{Access, FaultKind, Space};
use oriole_isa::{Field, Inst, LdcMode, Opcode, Role, Unpack, Value};

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    match inst.opcode {
        Opcode::LDC | Opcode::ULDC | Opcode::LDCU => load(inst).map(Some),
        _ => Ok(None),
    }
}

/// How a register and the numbers in the instruction make a bank and an offset.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Split {
    /// The register is added to the offset.
    Linear,
    /// The sum of register and offset has the bank in its upper half, which is added to the instruction's.
    Indexed,
    /// The halves of the register are added to bank and offset, each for itself.
    Segmented,
}

impl Split {
    fn of(inst: &Inst) -> Result<Self, Unsupported> {
        Ok(match inst.get(Field::LDC_MODE) {
            LdcMode::LINEAR => Split::Linear,
            LdcMode::IL => Split::Indexed,
            LdcMode::IS => Split::Segmented,
            _ => return Err(Unsupported("LDC.ISL".into())),
        })
    }

    /// The bank and the offset in it.
    #[inline]
    fn place(self, bank: usize, offset: u32, register: u32) -> (usize, usize) {
        let sum = register.wrapping_add(offset);
        match self {
            Split::Linear => (bank, sum as usize),
            Split::Indexed => (bank + (sum >> 16) as usize, (sum & 0xffff) as usize),
            Split::Segmented => (bank + (register >> 16) as usize, (sum & 0xffff) as usize),
        }
    }
}

/// The fault of a read past the end of a constant bank.
pub(crate) fn outside(address: u64, size: u32) -> FaultKind {
    FaultKind::IllegalAddress { space: Space::Constant, access: Access::Read, address, size, nearest: None }
}

/// A constant bank, at an offset that may depend on a register.
fn load(inst: &Inst) -> Result<Effect, Unsupported> {
    if inst.get(Field::UNPACK) != Unpack::NONE {
        return Err(Unsupported("LDCU of a texture's header".into()));
    }
    let ((size, signed), split) = (size_of(inst), Split::of(inst)?);
    let (base, to) = (Src::of(inst, Role::Base), Dst::of(inst, Role::D));
    // Beside a register the offset is signed, but for LDCU: in object files ptxas adds 0x8000 to the index of a table of
    // branches and takes it away here.
    let has_base = matches!(operand(inst, Role::Base).value, Value::Reg(file, number) if file.zero() != Some(number));
    let is_signed = has_base && split == Split::Linear && inst.opcode != Opcode::LDCU;
    let bank = match operand(inst, Role::Bank).value {
        Value::Const { bank, offset } if is_signed => Some((usize::from(bank), offset as i16 as u32)),
        Value::Const { bank, offset } => Some((usize::from(bank), u32::from(offset))),
        Value::ConstBindless { .. } => None,
        other => return Err(Unsupported(format!("a constant bank given as {other:?}"))),
    };
    // All lanes read one place, unless it depends on a vector register.
    let is_same = matches!(base.register(), None | Some(RZ));
    Ok(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let bases = base.bits(state);
        let place = |lane: usize| bank.map(|(bank, offset)| split.place(bank, offset, bases[lane]));
        if let (Some(log), Some(_)) = (env.log.as_deref_mut(), bank) {
            let address = |lane| place(lane).map_or(0, |(bank, at)| (bank as u64) << 32 | at as u64);
            log.push(Space::Constant, Access::Read, size, state.active, std::array::from_fn(address));
        }
        // What the driver keeps in bank 0 is not all known; the code reads it at fixed places.
        let is_known = |bank: usize| bank != 0 || !is_same;
        let mut lanes = if is_same { state.active & state.active.wrapping_neg() } else { state.active };
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize % WARP;
            lanes &= lanes - 1;
            if let Some((bank, at)) = place(lane)
                && is_known(bank)
                && !state.constants.holds(bank, at, size)
            {
                return Err(Halt::fault(lane, outside(at as u64, size)));
            }
        }
        let fetch = |lane: usize, word: usize| {
            let Some((bank, at)) = place(lane) else { return 0 };
            match size {
                1 => u32::from(state.constants.byte(bank, at)),
                2 => u32::from(state.constants.byte(bank, at)) | u32::from(state.constants.byte(bank, at + 1)) << 8,
                _ => state.constants.word(bank, at + 4 * word),
            }
        };
        if is_same {
            let lane = state.first_active();
            let words: [u32; 4] =
                std::array::from_fn(|word| if 4 * word < size as usize { fetch(lane, word) } else { 0 });
            to.set_scalar(state, if signed { extend(words[0], size) } else { words[0] });
            for (n, &word) in words.iter().enumerate().take(size as usize / 4).skip(1) {
                to.following(n).set_scalar(state, word);
            }
            return Ok(());
        }
        let words: [Lanes; 4] = match size {
            8 => [
                std::array::from_fn(|lane| fetch(lane, 0)),
                std::array::from_fn(|lane| fetch(lane, 1)),
                [0; WARP],
                [0; WARP],
            ],
            16 => [0, 1, 2, 3].map(|word| std::array::from_fn(|lane| fetch(lane, word))),
            _ => [std::array::from_fn(|lane| fetch(lane, 0)), [0; WARP], [0; WARP], [0; WARP]],
        };
        let low = if signed { words[0].map(|value| extend(value, size)) } else { words[0] };
        to.set(state, &low);
        for (n, word) in words.iter().enumerate().take(size as usize / 4).skip(1) {
            to.following(n).set(state, word);
        }
        Ok(())
    }))
}
