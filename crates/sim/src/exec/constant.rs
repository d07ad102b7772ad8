//! Loads from constant banks: `LDC`, `ULDC`, `LDCU`.

use super::Unsupported;
use super::memory::{extend, size_of};
use crate::operand::{Dst, Src, operand};
use crate::program::{Effect, Env};
use crate::state::{Lanes, RZ, State, WARP};
use oriole_device::{Access, Space};
use oriole_isa::{Field, Inst, Opcode, Role, Value, ldc_mode, unpack};

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    match inst.opcode {
        Opcode::LDC | Opcode::ULDC | Opcode::LDCU => load(inst).map(Some),
        _ => Ok(None),
    }
}

/// How a register and the numbers in the instruction make a bank and an offset.
#[derive(Clone, Copy)]
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
        Ok(match inst.get(Field::LdcMode) {
            ldc_mode::LINEAR => Split::Linear,
            ldc_mode::IL => Split::Indexed,
            ldc_mode::IS => Split::Segmented,
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

/// A constant bank, at an offset that may depend on a register.
fn load(inst: &Inst) -> Result<Effect, Unsupported> {
    if inst.get(Field::Unpack) != unpack::NONE {
        return Err(Unsupported("LDCU of a texture's header".into()));
    }
    let ((size, signed), split) = (size_of(inst), Split::of(inst)?);
    let (base, to) = (Src::of(inst, Role::Base), Dst::of(inst, Role::D));
    let bank = match operand(inst, Role::Bank).value {
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
