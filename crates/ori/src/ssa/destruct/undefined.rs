//! MovPhis that pass nothing on but undefined values.

use crate::entity::VReg;
use crate::function::Function;
use crate::operand::OperandKind;
use rustc_hash::{FxHashMap, FxHashSet};

/// The results of MovPhis that no defined value reaches: their inputs are undefined, or are such results themselves, as around a
/// loop.
pub(super) fn phis(func: &Function) -> FxHashSet<VReg> {
    let phis = || func.layout().iter().flat_map(|&block| func.phis(block).iter().copied());
    let takes_undefined = |phi| func.phi_inputs(phi).any(|(input, _)| input.kind() == OperandKind::Undef);
    if !phis().any(takes_undefined) {
        // What is undefined around a loop came into it.
        return FxHashSet::default();
    }
    let mut undefined: FxHashSet<VReg> = phis().filter_map(|phi| func[phi].operands[0].as_reg()).collect();
    let mut readers: FxHashMap<VReg, Vec<VReg>> = FxHashMap::default();
    let mut defined = Vec::new();
    for phi in phis() {
        let Some(result) = func[phi].operands[0].as_reg() else { continue };
        for (input, _) in func.phi_inputs(phi) {
            match input.as_reg().filter(|reg| undefined.contains(reg)) {
                Some(input) => readers.entry(input).or_default().push(result),
                None if input.kind() == OperandKind::Undef => {}
                None => defined.push(result),
            }
        }
    }
    while let Some(value) = defined.pop() {
        if undefined.remove(&value) {
            defined.extend(readers.remove(&value).unwrap_or_default());
        }
    }
    undefined
}
