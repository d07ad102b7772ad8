//! The registers that an operand names, one or several side by side.

use super::Function;
use crate::entity::VReg;
use crate::error::BuildError;
use crate::operand::{Operand, TupleRef};
use smallvec::SmallVec;

impl Function {
    /// The values of a tuple, the lowest word first.
    #[inline]
    pub fn tuple_values(&self, tuple: TupleRef) -> &[VReg] {
        self.tuples.get(tuple)
    }

    /// The operand that names these values side by side, the lowest word first; a single one by itself.
    pub fn tuple(&mut self, values: &[VReg]) -> Operand {
        match values {
            [] => Operand::NONE,
            [value] => Operand::reg(*value),
            _ => Operand::tuple(self.tuples.add(values)),
        }
    }

    /// The registers that an operand names: one, the values of a tuple, or none.
    #[inline]
    pub fn named(&self, operand: Operand) -> SmallVec<[VReg; 4]> {
        match (operand.as_reg(), operand.as_tuple()) {
            (Some(reg), _) => SmallVec::from_slice(&[reg]),
            (_, Some(tuple)) => SmallVec::from_slice(self.tuple_values(tuple)),
            _ => SmallVec::new(),
        }
    }

    /// Call `visit` for each register that an operand names.
    #[inline]
    pub fn for_each_named(&self, operand: Operand, mut visit: impl FnMut(VReg)) {
        if let Some(reg) = operand.as_reg() {
            visit(reg);
        } else if let Some(tuple) = operand.as_tuple() {
            self.tuple_values(tuple).iter().for_each(|reg| visit(*reg));
        }
    }

    /// The first of the registers that an operand names.
    #[inline]
    pub fn first_named(&self, operand: Operand) -> Option<VReg> {
        match operand.as_tuple() {
            Some(tuple) => self.tuple_values(tuple).first().copied(),
            None => operand.as_reg(),
        }
    }

    /// Whether the pool of tuples has room for more.
    ///
    /// # Errors
    /// [`BuildError::TooManyRegisters`] where it has not.
    pub fn check_tuples(&self) -> Result<(), BuildError> {
        if self.tuples.is_full() {
            return Err(BuildError::TooManyRegisters { function: self.name().to_owned() });
        }
        Ok(())
    }
}
