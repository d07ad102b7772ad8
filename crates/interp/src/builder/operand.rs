//! Operands: what names and constants stand for.

use super::{Builder, FramePlace, Location};
use crate::arith::Unsupported;
use crate::initial;
use crate::layout::{self, Home};
use crate::operand::{Destination, Source};
use crate::space::{Named, PARAMETER_WINDOW};
use oriole_ptx::ast::{AddressBase, Name, Operand, ScalarType, Selector, Space, Variable};
use oriole_ptx::scope::{Binding, Register};
use smallvec::SmallVec;

/// One value of an operand.
enum Leaf<'o> {
    /// A register or an element of a vector register.
    Register(Register, u8),
    /// Anything else that is one value.
    Operand(&'o Operand),
}

/// The bits of a register of `bits` bits, up to 64.
fn mask_of(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

impl<'m> Builder<'_, 'm> {
    /// Takes an operand apart into its values.
    fn leaves<'o>(&self, operand: &'o Operand, leaves: &mut Vec<Leaf<'o>>) {
        match operand {
            Operand::Vector(items, _) => items.iter().for_each(|item| self.leaves(item, leaves)),
            Operand::Pair(pair) => pair.iter().for_each(|item| self.leaves(item, leaves)),
            Operand::Name(name) => match self.scopes.lookup(name.sym) {
                Some(Binding::Register(register)) => {
                    let count = register.vector.map_or(1, |vector| vector.len() as u8);
                    leaves.extend((0..count).map(|element| Leaf::Register(register, element)));
                }
                _ => leaves.push(Leaf::Operand(operand)),
            },
            _ => leaves.push(Leaf::Operand(operand)),
        }
    }

    fn slot(&mut self, register: Register, element: u8) -> u32 {
        let next = self.next_slot;
        let slot = *self.slots.entry((register.id, element)).or_insert(next);
        if slot == next {
            self.next_slot += if register.ty.bits() > 64 { 2 } else { 1 };
        }
        slot
    }

    /// The slot of a guard.
    pub(crate) fn predicate(&mut self, name: Name) -> u32 {
        match self.scopes.lookup(name.sym) {
            Some(Binding::Register(register)) => self.slot(register, 0),
            // The checker lets nothing else through.
            _ => 0,
        }
    }

    /// A register read as a value of type `ty`.
    pub(crate) fn register_source(&mut self, register: Register, element: u8, ty: ScalarType) -> Source {
        let slot = self.slot(register, element);
        match register.ty.bits() > 64 && ty.bits() > 64 {
            true => Source::Wide(slot),
            false => Source::Register { slot, mask: mask_of(ty.bits().min(register.ty.bits())) },
        }
    }

    /// A register that a value of type `ty` is written to.
    pub(crate) fn register_destination(&mut self, register: Register, element: u8, ty: ScalarType) -> Destination {
        let slot = self.slot(register, element);
        if register.ty.bits() > 64 {
            return Destination::Wide { slot, bits: ty.bits().min(128) as u8, signed: ty.is_signed() };
        }
        let (bits, mask) = (ty.bits().min(64) as u8, mask_of(register.ty.bits()));
        Destination::Register { slot, bits, signed: ty.is_signed(), mask }
    }

    fn leaf_source(&mut self, leaf: &Leaf<'_>, ty: ScalarType) -> Result<Source, Unsupported> {
        let operand = match leaf {
            Leaf::Register(register, element) => return Ok(self.register_source(*register, *element, ty)),
            Leaf::Operand(operand) => *operand,
        };
        Ok(match operand {
            Operand::Imm(imm, _) => Source::Constant(initial::constant(*imm, ty)),
            Operand::Sink(_) => Source::Constant(0),
            Operand::Special { reg, part, .. } => {
                let part = part.and_then(Selector::element).unwrap_or(0) as u8;
                Source::Special(*reg, part, mask_of(ty.bits()))
            }
            Operand::Neg(inner, _) => self.source(inner, ty)?,
            Operand::Not(inner, _) => match self.source(inner, ScalarType::Pred)? {
                Source::Register { slot, .. } => Source::Not(slot),
                Source::Constant(bits) => Source::Constant(bits ^ 1),
                _ => return Err(Unsupported("the complement of this operand".to_owned())),
            },
            Operand::Part(name, selector) => match self.scopes.lookup(name.sym) {
                Some(Binding::Register(register)) => {
                    let element = selector.element().unwrap_or(0) as u8;
                    self.register_source(register, element, ty)
                }
                _ => return Err(self.unknown(*name)),
            },
            Operand::Name(name) => self.named_address(*name, 0)?,
            Operand::Offset { name, offset, element } => {
                if let Some(Binding::Register(register)) = self.scopes.lookup(name.sym) {
                    return Ok(self.sum(register, *offset, ty.bits(), 1));
                }
                let unit = match self.scopes.lookup(name.sym) {
                    Some(Binding::Variable(variable)) if *element => i64::from(variable.ty.bytes()),
                    _ => 1,
                };
                self.named_address(*name, offset.wrapping_mul(unit))?
            }
            Operand::Address(_) | Operand::Vector(..) | Operand::List(..) | Operand::Pair(_) => {
                return Err(Unsupported("this form of an operand".to_owned()));
            }
        })
    }

    /// The sum of a register and a constant, cut to `bits` bits, times `scale`.
    fn sum(&mut self, register: Register, constant: i64, bits: u32, scale: u64) -> Source {
        let slot = self.slot(register, 0);
        Source::Affine { slot, mask: mask_of(bits.min(register.ty.bits())), add: constant as u64, scale }
    }

    fn leaf_destination(&mut self, leaf: &Leaf<'_>, ty: ScalarType) -> Result<Destination, Unsupported> {
        match leaf {
            Leaf::Register(register, element) => Ok(self.register_destination(*register, *element, ty)),
            Leaf::Operand(Operand::Sink(_)) => Ok(Destination::Sink),
            Leaf::Operand(Operand::Part(name, selector)) => match self.scopes.lookup(name.sym) {
                Some(Binding::Register(register)) => {
                    let element = selector.element().unwrap_or(0) as u8;
                    Ok(self.register_destination(register, element, ty))
                }
                _ => Err(self.unknown(*name)),
            },
            Leaf::Operand(_) => Err(Unsupported("a result that goes to no register".to_owned())),
        }
    }

    fn unknown(&self, name: Name) -> Unsupported {
        Unsupported(format!("'{}' in this place", self.module.text(name)))
    }

    /// Whether an operand is a predicate register.
    pub(crate) fn is_predicate(&self, operand: &Operand) -> bool {
        let register = operand.name().and_then(|name| self.scopes.lookup(name.sym));
        matches!(register, Some(Binding::Register(register)) if register.ty == ScalarType::Pred)
    }

    /// The one value of an operand of type `ty`.
    pub(crate) fn source(&mut self, operand: &Operand, ty: ScalarType) -> Result<Source, Unsupported> {
        match &self.sources(operand, ty)?[..] {
            [source] => Ok(*source),
            _ => Err(Unsupported("a vector in place of one value".to_owned())),
        }
    }

    /// The one register that an operand names for a result of type `ty`.
    pub(crate) fn destination(&mut self, operand: &Operand, ty: ScalarType) -> Result<Destination, Unsupported> {
        match &self.destinations(operand, ty)?[..] {
            [destination] => Ok(*destination),
            _ => Err(Unsupported("a vector in place of one value".to_owned())),
        }
    }

    /// All values of an operand, each of type `ty`.
    pub(crate) fn sources(&mut self, operand: &Operand, ty: ScalarType) -> Result<SmallVec<[Source; 4]>, Unsupported> {
        let mut leaves = Vec::new();
        self.leaves(operand, &mut leaves);
        leaves.iter().map(|leaf| self.leaf_source(leaf, ty)).collect()
    }

    /// All registers of an operand, each for a result of type `ty`.
    pub(crate) fn destinations(
        &mut self,
        operand: &Operand,
        ty: ScalarType,
    ) -> Result<SmallVec<[Destination; 4]>, Unsupported> {
        let mut leaves = Vec::new();
        self.leaves(operand, &mut leaves);
        leaves.iter().map(|leaf| self.leaf_destination(leaf, ty)).collect()
    }

    /// The values of several operands, each with its type; `None` if their numbers differ.
    pub(crate) fn typed_sources(
        &mut self,
        operands: &[Operand],
        types: &[ScalarType],
    ) -> Option<Result<SmallVec<[Source; 4]>, Unsupported>> {
        if let ([Operand::Special { reg, part: None, .. }], [_, _, ..]) = (operands, types) {
            // All components of a special register.
            let component = |(part, ty): (usize, &ScalarType)| Source::Special(*reg, part as u8, mask_of(ty.bits()));
            return Some(Ok(types.iter().enumerate().map(component).collect()));
        }
        let mut leaves = Vec::new();
        operands.iter().for_each(|operand| self.leaves(operand, &mut leaves));
        let pairs = leaves.iter().zip(types);
        (leaves.len() == types.len()).then(|| pairs.map(|(leaf, &ty)| self.leaf_source(leaf, ty)).collect())
    }

    /// The registers of an operand, each with its type; `None` if their numbers differ.
    pub(crate) fn typed_destinations(
        &mut self,
        operand: &Operand,
        types: &[ScalarType],
    ) -> Option<Result<SmallVec<[Destination; 2]>, Unsupported>> {
        let mut leaves = Vec::new();
        self.leaves(operand, &mut leaves);
        let pairs = leaves.iter().zip(types);
        (leaves.len() == types.len()).then(|| pairs.map(|(leaf, &ty)| self.leaf_destination(leaf, ty)).collect())
    }

    /// The address of a variable (in its own space) or function, plus some bytes.
    fn named_address(&mut self, name: Name, offset: i64) -> Result<Source, Unsupported> {
        match self.scopes.lookup(name.sym) {
            Some(Binding::Variable(variable)) => self.variable(variable, offset as u64, false),
            Some(Binding::Function(_) | Binding::Alias(..)) => {
                let number = self.numbers.get(&name.sym).ok_or_else(|| self.unknown(name))?;
                Ok(Source::Constant(layout::function_address(*number).into()))
            }
            _ => Err(self.unknown(name)),
        }
    }

    /// The address of a variable plus some bytes, in its own space or generic. Parameters have generic
    /// addresses only.
    fn variable(&mut self, variable: &Variable, offset: u64, generic: bool) -> Result<Source, Unsupported> {
        let name = variable.name.ok_or_else(|| Unsupported("a variable without a name".to_owned()))?;
        let key = layout::key(name);
        if let Some(&FramePlace { offset: place, .. }) = self.frame.get(&key) {
            let generic = generic || variable.space != Space::Local;
            return Ok(Source::Frame { offset: place.wrapping_add(offset as u32), generic });
        }
        if let Some(&place) = self.parameters.get(&key) {
            let address = (PARAMETER_WINDOW + u64::from(place)).wrapping_add(offset);
            return Ok(Source::Constant(address.into()));
        }
        match self.layout.homes.get(&key) {
            Some(Home::DynamicShared) => Ok(Source::Shared { offset, dynamic: true, generic }),
            Some(Home::Shared(start)) => {
                Ok(Source::Shared { offset: offset.wrapping_add(*start), dynamic: false, generic })
            }
            Some(Home::Object(number)) => Ok(Source::Object(*number)),
            Some(home) => {
                let (own, whole) = home.addresses().ok_or_else(|| self.unknown(name))?;
                Ok(Source::Constant(if generic { whole } else { own }.wrapping_add(offset).into()))
            }
            None => Err(Unsupported(format!("the variable '{}' of another module", self.module.text(name)))),
        }
    }

    /// `array[register+elements]`.
    fn item(&mut self, array: Name, index: Option<Name>, elements: i64, space: Named) -> Result<Location, Unsupported> {
        let Some(Binding::Variable(variable)) = self.scopes.lookup(array.sym) else { return Err(self.unknown(array)) };
        let bytes = u64::from(variable.ty.bytes());
        let generic = space == Named::Generic;
        let Some(index) = index else {
            let base = self.variable(variable, (elements as u64).wrapping_mul(bytes), generic)?;
            return Ok(Location { base, offset: 0, index: None, space });
        };
        let Some(Binding::Register(register)) = self.scopes.lookup(index.sym) else { return Err(self.unknown(index)) };
        let base = self.variable(variable, 0, generic)?;
        Ok(Location { base, offset: 0, index: Some(self.sum(register, elements, 64, bytes)), space })
    }

    /// The memory that `[…]` names, in the space of the instruction.
    pub(crate) fn location(&mut self, operand: &Operand, space: Option<Space>) -> Result<Location, Unsupported> {
        let address = operand.address().ok_or_else(|| Unsupported("an operand that is no address".to_owned()))?;
        let named = Named::of(space).ok_or_else(|| Unsupported("memory of this space".to_owned()))?;
        let offset = address.offset as u64;
        let register = |builder: &mut Self, register: Register, element| {
            let base = builder.register_source(register, element, ScalarType::U64);
            Location { base, offset, index: None, space: named }
        };
        Ok(match address.base {
            AddressBase::Absolute => Location { base: Source::Constant(0), offset, index: None, space: named },
            AddressBase::Element(name, selector) => match self.scopes.lookup(name.sym) {
                Some(Binding::Register(found)) => register(self, found, selector.element().unwrap_or(0) as u8),
                _ => return Err(self.unknown(name)),
            },
            AddressBase::Name(name) => match self.scopes.lookup(name.sym) {
                Some(Binding::Register(found)) => register(self, found, 0),
                Some(Binding::Variable(variable)) => {
                    let base = self.variable(variable, offset, named == Named::Generic)?;
                    Location { base, offset: 0, index: None, space: named }
                }
                _ => return Err(self.unknown(name)),
            },
            AddressBase::Item(array, index) => self.item(array, index, address.offset, named)?,
        })
    }
}
