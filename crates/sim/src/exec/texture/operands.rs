//! The words that a texture instruction has besides its results, in their order over two groups of registers,
//! and the handle of what it reads.

use crate::effect::{Env, Unsupported};
use crate::halt::Halt;
use crate::lanes::{Lanes, Mask};
use crate::operand::{Dst, Src, operand};
use crate::state::{RZ, State};
use oriole_device::FaultKind;
use oriole_device::texture::{Image, Sampler};
use oriole_isa::{Field, Inst, OperandFlags, Role, TexDim, TexMask, Value};

/// The registers that hold the words of an instruction, in order.
#[derive(Clone, Debug)]
pub(super) struct Words {
    registers: Vec<usize>,
    next: usize,
}

impl Words {
    /// `first` words from `A` on, then `second` from `B` on; with `.SCR` both groups share them, half each.
    pub(super) fn of(inst: &Inst, first: usize, second: usize) -> Self {
        let total = first + second;
        let first = if inst.get(Field::TEX_SCR) { total.div_ceil(2) } else { first };
        let from = |role: Role, count: usize| {
            let base = Src::of(inst, role).register().unwrap_or(RZ);
            (0..count).map(move |n| if base == RZ { RZ } else { base + n })
        };
        Words { registers: from(Role::A, first).chain(from(Role::B, total - first)).collect(), next: 0 }
    }

    /// The register of the next word; `RZ` after the last.
    pub(super) fn take(&mut self) -> usize {
        let register = self.registers.get(self.next).copied().unwrap_or(RZ);
        self.next += 1;
        register
    }

    /// The registers of the next `N` words, of which there are `count`; `RZ` for the others.
    pub(super) fn take_some<const N: usize>(&mut self, count: usize) -> [usize; N] {
        std::array::from_fn(|n| if n < count { self.take() } else { RZ })
    }
}

/// The axes of a [`TexDim`]: coordinates, whether there is a layer before them, whether they are a direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axes {
    /// Coordinates.
    pub(super) count: usize,
    /// A layer stands before them.
    pub(super) layered: bool,
    /// They are a direction, for a cube.
    pub(super) cube: bool,
}

impl Axes {
    /// Those of `inst`.
    pub(super) fn of(inst: &Inst) -> Self {
        let dim = inst.get(Field::TEX_DIM);
        let count = match dim {
            TexDim::D1 | TexDim::ARRAY_1D => 1,
            TexDim::D2 | TexDim::ARRAY_2D => 2,
            _ => 3,
        };
        let layered = matches!(dim, TexDim::ARRAY_1D | TexDim::ARRAY_2D | TexDim::ARRAY_CUBE);
        Axes { count, layered, cube: matches!(dim, TexDim::CUBE | TexDim::ARRAY_CUBE) }
    }
}

/// Where the handle of a texture or surface is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Handle {
    /// In a register, of each thread its own.
    Register(usize),
    /// In a word of a constant bank.
    Constant { bank: usize, offset: usize },
    /// In a uniform register; in the next one, with textures, the number of a sampler or 0.
    Uniform { source: Src, sampler: bool },
}

impl Handle {
    /// The handle of a bindless instruction in the next word, or else where the other operands say.
    pub(super) fn of_texture(inst: &Inst, words: &mut Words) -> Result<Self, Unsupported> {
        let bindless = inst.get(Field::TEX_B);
        match Handle::elsewhere(inst)? {
            None if bindless => Ok(Handle::Register(words.take())),
            Some(handle) if !bindless => Ok(handle),
            _ => Err(Unsupported(format!("{} with two handles or none", inst.opcode.name()))),
        }
    }

    /// The handle of a surface.
    pub(super) fn of_surface(inst: &Inst) -> Result<Self, Unsupported> {
        let register = Src::of(inst, Role::Handle).register();
        match (register, Handle::elsewhere(inst)?) {
            (Some(register), None) => Ok(Handle::Register(register)),
            (None, Some(handle)) => Ok(handle),
            _ => Err(Unsupported(format!("{} with two handles or none", inst.opcode.name()))),
        }
    }

    /// A handle in a constant bank or in uniform registers.
    fn elsewhere(inst: &Inst) -> Result<Option<Self>, Unsupported> {
        if operand(inst, Role::Slot2).value != Value::None {
            return Err(Unsupported(format!("{} with separate slots", inst.opcode.name())));
        }
        let number = |role| match operand(inst, role).value {
            Value::Imm(number) => Some(number as usize),
            _ => None,
        };
        let uniform = operand(inst, Role::UHandle);
        Ok(match (number(Role::Bank), number(Role::Slot), uniform.value) {
            (Some(bank), Some(slot), Value::None) => Some(Handle::Constant { bank, offset: slot.saturating_mul(4) }),
            (None, _, Value::Reg(..)) if uniform.flags == OperandFlags::empty() => {
                let sampler = inst.opcode.position(Role::Handle).is_none();
                Some(Handle::Uniform { source: Src::of(inst, Role::UHandle), sampler })
            }
            _ => None,
        })
    }

    /// The image and the sampler that the handle of one lane names.
    pub(super) fn object<'a>(
        self,
        state: &State,
        env: &Env<'a>,
        lane: usize,
    ) -> Result<(&'a Image, &'a Sampler), Halt> {
        let (handle, sampler) = match self {
            Handle::Register(n) => (state.lane(n, lane), 0),
            Handle::Constant { bank, offset } => (state.constants.word(bank, offset), 0),
            Handle::Uniform { source, sampler } => {
                let pair = source.wide_scalar(state);
                (pair as u32, if sampler { (pair >> 32) as u32 } else { 0 })
            }
        };
        let missing = || FaultKind::Misuse(format!("no texture or surface has the handle {handle:#x}"));
        let objects = env.spaces.resources.objects;
        objects.lookup(handle, sampler).ok_or_else(|| Halt::fault(lane, missing()))
    }
}

/// The registers of the results: two to each of two destinations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Results {
    first: Dst,
    second: Dst,
    mask: TexMask,
}

impl Results {
    /// The destinations of `inst`, and the components that it asks for.
    pub(super) fn of(inst: &Inst) -> Self {
        let mask = inst.get(Field::TEX_MASK);
        Results { first: Dst::of(inst, Role::D), second: Dst::of(inst, Role::D2), mask }
    }

    /// Component `n` is asked for.
    fn takes(&self, n: usize) -> bool {
        self.mask.code() & (TexMask::R.code() << n) != 0
    }

    /// Writes the components that are asked for, each in a register.
    pub(super) fn write(&self, state: &mut State, components: &[Lanes; 4]) {
        let wanted = (0..4).filter(|n| self.takes(*n));
        for (place, n) in wanted.enumerate() {
            let to = if place < 2 { self.first } else { self.second };
            to.following(place % 2).set(state, &components[n]);
        }
    }

    /// Writes the components that are asked for, two in a register.
    pub(super) fn write_halves(&self, state: &mut State, components: &[Lanes; 4]) {
        let mut words: [Option<Lanes>; 2] = [None; 2];
        for (place, n) in (0..4).filter(|n| self.takes(*n)).enumerate() {
            let word = words[place / 2].get_or_insert([0; 32]);
            for (word, half) in word.iter_mut().zip(components[n]) {
                *word |= half << (16 * (place % 2));
            }
        }
        for (to, word) in [self.first, self.second].into_iter().zip(words) {
            if let Some(word) = word {
                to.set(state, &word);
            }
        }
    }
}

/// A predicate of all lanes: whether a texel was not there, which never is so.
pub(super) const MISSING: Mask = 0;
