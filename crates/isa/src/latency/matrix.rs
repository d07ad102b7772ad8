//! The classes of matrix products' results: one per shape, sparsity and kind of type.

use super::table::Earlier;
use crate::{FieldId, Inst, Opcode};

/// What `spec/latency/matrix.tsv` says of an opcode.
struct Shapes {
    opcode: Opcode,
    /// The fields that tell classes apart, and how many values each has.
    fields: &'static [(FieldId, u8)],
    /// The class at each combination of values, the last field counting fastest.
    classes: &'static [Earlier],
}

include!(concat!(env!("OUT_DIR"), "/latency_matrix.rs"));

/// The class of all matrix products without their own: as long as the longest of the others.
const ANY: Earlier = Earlier::Mma;

/// The class of the product's result.
pub(super) fn class(inst: &Inst) -> Earlier {
    let Some(shapes) = SHAPES.iter().find(|shapes| shapes.opcode == inst.opcode) else { return ANY };
    let place = shapes.fields.iter().try_fold(0, |place, (field, count)| {
        let value = inst.raw(*field);
        (value < *count).then(|| place * usize::from(*count) + usize::from(value))
    });
    place.map_or(ANY, |place| shapes.classes[place])
}
