//! Operands in brackets: addresses, array elements, textures, tensor memory.

use super::Checker;
use super::operands::{Context, Fits, Problem};
use crate::ast::{
    AddressBase, Imm, Instruction, Modifier, Name, Opcode, Operand, ScalarType, Space, Span, TypeClass, Word,
};
use crate::grammar::{AddressSpace, AddressSpec, Handle, directive};
use crate::scope::{Binding, Register};

/// Instructions whose generic and global addresses ptxas takes in 64-bit registers only; the others widen them, and so does
/// an asynchronous `multimem`.
const WIDE_ADDRESSES: [Opcode; 11] = {
    use Opcode::*;
    [Ld, Ldu, St, Atom, Red, Prefetch, Prefetchu, Mbarrier, Discard, Applypriority, Multimem]
};

impl<'m> Checker<'m> {
    /// Tensor memory has 32-bit addresses, which only registers hold.
    fn tensor_fits(&self, base: AddressBase, span: Span) -> Fits {
        let name = match base {
            AddressBase::Name(name) | AddressBase::Element(name, _) => name,
            AddressBase::Absolute | AddressBase::Item(..) => {
                return Err((span, Problem::Kind { expected: "a 32-bit register" }));
            }
        };
        match self.scopes.lookup(name.sym) {
            Some(Binding::Register(register)) if register.ty.bits() == 32 => Ok(()),
            _ => Err((name.span, Problem::Kind { expected: "a 32-bit register" })),
        }
    }

    /// A texture, sampler or surface: a variable or parameter of that type, or a
    /// register with its handle.
    fn opaque_fits(&self, (base, offset): (AddressBase, i64), span: Span, handle: Handle) -> Fits {
        let expected = handle_words(handle);
        let (AddressBase::Name(name) | AddressBase::Element(name, _), 0) = (base, offset) else {
            return Err((span, Problem::Kind { expected }));
        };
        match self.scopes.lookup(name.sym) {
            Some(Binding::Variable(variable)) if variable.space == Space::Tex && handle == Handle::Texture => Ok(()),
            Some(Binding::Variable(variable)) if !handle.types().contains(&variable.ty) => {
                Err((name.span, Problem::Kind { expected }))
            }
            Some(Binding::Register(register)) if register.ty.bits() != 64 => {
                Err((name.span, Problem::Kind { expected }))
            }
            Some(Binding::Register(_)) if !self.has_handles_in_registers() => Err((
                name.span,
                Problem::Kind { expected: "a variable, whose handle is in no register before PTX 3.1" },
            )),
            _ => Ok(()),
        }
    }

    /// Whether registers may hold handles of textures, samplers and surfaces.
    fn has_handles_in_registers(&self) -> bool {
        let need = directive("handles_in_registers");
        need.is_none_or(|need| need.version <= self.module.version && need.allows(self.target))
    }

    /// An operand that must be an address, as the form says.
    pub(super) fn address_fits(&self, context: &Context<'_>, operand: &'m Operand, spec: AddressSpec) -> Fits {
        let (base, offset, rest, span) = match operand {
            Operand::Address(address) => (address.base, address.offset, address.rest.len(), address.span),
            _ => return Err((operand.span(), Problem::Brackets)),
        };
        if !(usize::from(spec.rest.0)..=usize::from(spec.rest.1)).contains(&rest) {
            return Err((span, Problem::Inside));
        }
        let wanted = match spec.space {
            AddressSpace::Any => return Ok(()),
            AddressSpace::Tensor => return self.tensor_fits(base, span),
            AddressSpace::Fabric => return self.handle_fits(operand),
            AddressSpace::TensorMap => return self.place_in_tensor_fits(context.instruction, operand),
            AddressSpace::Opaque(handle) => {
                self.coordinates_fit(context.instruction, operand)?;
                return self.opaque_fits((base, offset), span, handle);
            }
            AddressSpace::Is(space) => Some(space),
            AddressSpace::Nth(n) => context.instruction.spaces().nth(usize::from(n)),
        };
        let name = match base {
            AddressBase::Absolute if wanted == Some(Space::Local) => return Ok(()),
            AddressBase::Absolute => return Err((span, Problem::Absolute)),
            AddressBase::Element(name, _) | AddressBase::Name(name) => name,
            AddressBase::Item(array, index) => {
                self.item_fits(array, index)?;
                array
            }
        };
        match (self.scopes.lookup(name.sym), wanted) {
            (Some(Binding::Register(register)), _)
                if register.ty.bits() == 32
                    && !matches!(register.ty.class(), TypeClass::Float | TypeClass::Predicate)
                    && matches!(context.instruction.space(), None | Some(Space::Global))
                    && self.module.address_size == 64
                    && WIDE_ADDRESSES.contains(&context.instruction.opcode)
                    && !(context.instruction.opcode == Opcode::Multimem && context.instruction.has(Word::Async)) =>
            {
                Err((name.span, Problem::BaseSize { register, name }))
            }
            (Some(Binding::Register(Register { vector: Some(_), .. })), _) if matches!(base, AddressBase::Name(_)) => {
                Err((name.span, Problem::Kind { expected: "an address in a single register" }))
            }
            // Generic addresses reach neither constants nor parameters.
            (Some(Binding::Variable(variable)), None) if matches!(variable.space, Space::Const | Space::Param) => {
                Err((name.span, Problem::NotGeneric { found: variable.space }))
            }
            (Some(Binding::Variable(variable)), Some(wanted)) if !same_space(wanted, variable.space) => {
                Err((name.span, Problem::Space { wanted, found: variable.space }))
            }
            _ => Ok(()),
        }
    }

    /// `[endpoint, offset]`: a register of 32 bits, and such of 64 bits.
    fn handle_fits(&self, operand: &'m Operand) -> Fits {
        let Some(address) = operand.address() else { return Err((operand.span(), Problem::Brackets)) };
        let (AddressBase::Name(endpoint), 0) = (address.base, address.offset) else {
            return Err((address.span, Problem::Kind { expected: "a 32-bit register" }));
        };
        self.name_is_register(endpoint, &[32], "a 32-bit register")?;
        address.rest.iter().try_for_each(|offset| self.register_of(offset, &[64], "a 64-bit register").map(|_| ()))
    }

    /// `array[…]`: an array, and an index in a register of 32 or 64 bits.
    fn item_fits(&self, array: Name, index: Option<Name>) -> Fits {
        match self.scopes.lookup(array.sym) {
            Some(Binding::Variable(variable)) if !variable.dims.is_empty() => {}
            _ => return Err((array.span, Problem::NotArray)),
        }
        let Some(index) = index else { return Ok(()) };
        match self.scopes.lookup(index.sym) {
            Some(Binding::Register(register)) if register.vector.is_none() && register.ty.bits() >= 32 => Ok(()),
            _ => Err((index.span, Problem::Index)),
        }
    }

    /// As many coordinates as the tensor has dimensions; five for four rows of a plane.
    fn place_in_tensor_fits(&self, instruction: &Instruction, operand: &'m Operand) -> Fits {
        let wanted = match () {
            () if instruction.has(Word::TileGather4) || instruction.has(Word::TileScatter4) => Some(5),
            () => tensor_dimensions(instruction),
        };
        if instruction.opcode == Opcode::Fabric {
            self.map_of_fabric_fits(operand)?;
        }
        let inside = operand.address().map(|address| &address.rest[..]).unwrap_or_default();
        let (Some(wanted), Some((last, replaced))) = (wanted, inside.split_last()) else { return Ok(()) };
        self.replacement_fits(instruction, wanted, replaced)?;
        let found = match last {
            Operand::Vector(items, _) => items.len(),
            Operand::Name(name) => match self.scopes.lookup(name.sym) {
                Some(Binding::Register(Register { vector: Some(vector), .. })) => vector.len(),
                _ => return Err((name.span, Problem::Kind { expected: "coordinates in braces" })),
            },
            other => return Err((other.span(), Problem::Kind { expected: "coordinates in braces" })),
        };
        if found != wanted {
            return Err((last.span(), Problem::Coordinates { found, wanted }));
        }
        last.elements().iter().try_for_each(|item| self.coordinate_fits(item, ScalarType::S32, false))
    }

    /// A tensor map beside a handle of the fabric: a register holds its address. Of variables ptxas takes shared ones alone, where no
    /// map can be.
    fn map_of_fabric_fits(&self, operand: &'m Operand) -> Fits {
        let Some(address) = operand.address() else { return Err((operand.span(), Problem::Brackets)) };
        let (AddressBase::Name(map), 0) = (address.base, address.offset) else {
            return Err((address.span, Problem::Kind { expected: "a 64-bit register" }));
        };
        self.name_is_register(map, &[64], "a 64-bit register").map(|_| ())
    }

    /// What replaces a tensor map of so many dimensions: the address, or an endpoint of the fabric, an offset and, of a copy that is
    /// counted, that of the counter; the sizes, in registers of one type; the lower words of the strides, one less, and the upper bits
    /// of all.
    fn replacement_fits(&self, instruction: &Instruction, rank: usize, replaced: &'m [Operand]) -> Fits {
        let is_handle = instruction.opcode == Opcode::Fabric;
        let offsets = 1 + usize::from(is_handle && instruction.has(Word::CountedBytes));
        let Some((handle, shape)) = replaced.split_at_checked(usize::from(is_handle) + offsets) else { return Ok(()) };
        let (endpoint, offsets) = handle.split_at(usize::from(is_handle));
        endpoint.iter().try_for_each(|endpoint| self.register_of(endpoint, &[32], "a 32-bit register").map(|_| ()))?;
        offsets.iter().try_for_each(|offset| self.register_of(offset, &[64], "a 64-bit register").map(|_| ()))?;
        let [sizes, strides @ ..] = shape else { return Ok(()) };
        let first = self.registers_of(sizes, rank, &[8, 16], "a register of 8 or 16 bits")?;
        self.registers_of(sizes, rank, &[first], "a register as wide as the others")?;
        let [lower, upper] = strides else { return Ok(()) };
        self.registers_of(lower, rank - 1, &[32], "a 32-bit register")?;
        self.register_of(upper, &[16], "a 16-bit register").map(|_| ())
    }

    /// Registers in braces, `wanted` of them; gives the width of the first.
    fn registers_of(
        &self,
        operand: &'m Operand,
        wanted: usize,
        widths: &[u32],
        expected: &'static str,
    ) -> Result<u32, (Span, Problem)> {
        let Operand::Vector(items, span) = operand else {
            return Err((operand.span(), Problem::Kind { expected: "registers in braces" }));
        };
        if items.len() != wanted {
            return Err((*span, Problem::Length { found: items.len(), wanted }));
        }
        let mut first = None;
        for item in items {
            let width = self.register_of(item, widths, expected)?;
            first.get_or_insert(width);
        }
        Ok(first.unwrap_or_default())
    }

    /// An integer register of one of these widths; gives it.
    fn register_of(
        &self,
        operand: &'m Operand,
        widths: &[u32],
        expected: &'static str,
    ) -> Result<u32, (Span, Problem)> {
        match operand.name() {
            Some(name) => self.name_is_register(name, widths, expected),
            None => Err((operand.span(), Problem::Kind { expected })),
        }
    }

    /// The name of an integer register of one of these widths; gives it.
    fn name_is_register(&self, name: Name, widths: &[u32], expected: &'static str) -> Result<u32, (Span, Problem)> {
        match self.scopes.lookup(name.sym) {
            Some(Binding::Register(register))
                if register.vector.is_none()
                    && !matches!(register.ty.class(), TypeClass::Float | TypeClass::Predicate)
                    && widths.contains(&register.ty.bits()) =>
            {
                Ok(register.ty.bits())
            }
            _ => Err((name.span, Problem::Kind { expected })),
        }
    }

    /// The types of coordinates, but for the number of a layer. ptxas looks at none of them where a register without a type is
    /// among them, and takes integers for numbers.
    fn coordinate_types_fit(&self, instruction: &Instruction, items: &'m [Operand]) -> Fits {
        let layers = [Word::A1d, Word::A2d, Word::Acube].iter().any(|word| instruction.has(*word));
        self.neighbours_agree(&items[usize::from(layers)..])?;
        let untyped = items.iter().any(|item| match item.name().and_then(|name| self.scopes.lookup(name.sym)) {
            Some(Binding::Register(register)) => register.ty.class() == TypeClass::Bits,
            _ => false,
        });
        let surface = matches!(instruction.opcode, Opcode::Suld | Opcode::Sust | Opcode::Sured);
        let ty = instruction.types().nth(1).filter(|_| !surface).unwrap_or(ScalarType::S32);
        for (at, item) in items.iter().enumerate() {
            let wanted = if layers && at == 0 { ScalarType::U32 } else { ty };
            let looks = !untyped || (wanted.is_float() && matches!(item, Operand::Imm(..)));
            if looks {
                self.coordinate_fits(item, wanted, wanted.is_float())?;
            }
        }
        Ok(())
    }

    /// One coordinate: an integer, or a single-precision number; `mixed`: either.
    fn coordinate_fits(&self, item: &'m Operand, wanted: ScalarType, mixed: bool) -> Fits {
        match item {
            Operand::Imm(imm, span) => {
                let float = matches!(imm, Imm::F32(_) | Imm::F64(_));
                if float == wanted.is_float() { Ok(()) } else { Err((*span, Problem::Constant { wanted, float })) }
            }
            Operand::Name(name) => match self.scopes.lookup(name.sym) {
                Some(Binding::Register(register)) if register.vector.is_none() => {
                    let class = register.ty.class();
                    let kind = class == TypeClass::Bits || (class == TypeClass::Float) == wanted.is_float() || mixed;
                    if kind && register.ty.bits() == 32 {
                        return Ok(());
                    }
                    Err((name.span, Problem::Register { wanted, wider: false, result: false, register }))
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// The coordinates are as many as the geometry has, up to the next power of
    /// two.
    fn coordinates_fit(&self, instruction: &Instruction, operand: &'m Operand) -> Fits {
        let least = instruction.modifiers.iter().find_map(|modifier| match modifier {
            Modifier::Word(Word::D1d) => Some(1),
            Modifier::Word(Word::D2d | Word::A1d) => Some(2),
            Modifier::Word(Word::D3d | Word::A2d | Word::Cube | Word::Acube | Word::D2dms | Word::A2dms) => Some(4),
            _ => None,
        });
        let last = operand.address().and_then(|address| address.rest.last());
        match (least, last) {
            (Some(least), Some(Operand::Vector(items, span)))
                if items.len() < least || ![1, 2, 4].contains(&items.len()) =>
            {
                Err((*span, Problem::Length { found: items.len(), wanted: least }))
            }
            (Some(_), Some(Operand::Vector(items, _))) => self.coordinate_types_fit(instruction, items),
            (Some(least), Some(Operand::Name(name))) => match self.scopes.lookup(name.sym) {
                Some(Binding::Register(Register { vector: Some(vector), .. })) if vector.len() < least => {
                    Err((name.span, Problem::Length { found: vector.len(), wanted: least }))
                }
                Some(Binding::Register(Register { vector: None, .. })) if least > 1 => {
                    Err((name.span, Problem::Kind { expected: "coordinates in braces" }))
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

/// The dimensions of the tensor that an instruction names.
pub(super) fn tensor_dimensions(instruction: &Instruction) -> Option<usize> {
    const WORDS: [Word; 5] = [Word::D1d, Word::D2d, Word::D3d, Word::D4d, Word::D5d];
    WORDS.iter().position(|word| instruction.has(*word)).map(|at| at + 1)
}

/// The type of variable that an operand in brackets must have, in words.
fn handle_words(handle: Handle) -> &'static str {
    match handle {
        Handle::Texture => "a `.texref` or a 64-bit handle",
        Handle::Sampler => "a `.samplerref` or a 64-bit handle",
        Handle::Surface => "a `.surfref` or a 64-bit handle",
        Handle::TextureOrSampler => "a `.texref`, a `.samplerref` or a 64-bit handle",
    }
}

/// True if a variable in space `found` can stand where an instruction says
/// `wanted`.
pub(super) fn same_space(wanted: Space, found: Space) -> bool {
    let general = |space| match space {
        Space::SharedCta | Space::SharedCluster => Space::Shared,
        Space::ParamEntry | Space::ParamFunc => Space::Param,
        other => other,
    };
    general(wanted) == general(found)
}
