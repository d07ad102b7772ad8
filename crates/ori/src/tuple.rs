//! The pool of a function's tuples: the values of its wide operands in SSA form.

use crate::entity::VReg;
use crate::operand::TupleRef;

/// Values that a pool may hold: the operand's place has 24 bits.
const MAX_VALUES: usize = 1 << 24;

/// Values one after the other; operands name stretches of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tuples(Vec<VReg>);

impl Tuples {
    /// The values of a tuple; nothing where the place does not exist.
    pub(crate) fn get(&self, tuple: TupleRef) -> &[VReg] {
        let start = tuple.start as usize;
        self.0.get(start..start + tuple.len()).unwrap_or(&[])
    }

    /// A tuple of these values. A pool that is full gives the tuple of none, which the verifier refuses.
    pub(crate) fn add(&mut self, values: &[VReg]) -> TupleRef {
        if self.0.len() + values.len() > MAX_VALUES {
            return TupleRef { start: 0, len: 0 };
        }
        let tuple = TupleRef { start: self.0.len() as u32, len: values.len() as u8 };
        self.0.extend_from_slice(values);
        tuple
    }

    /// Whether a tuple of any width might find no room.
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() + usize::from(u8::MAX) > MAX_VALUES
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
