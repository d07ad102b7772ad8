//! Arguments of calls, late.
//!
//! An argument's register is taken from the copy to the call on. The order ahead of allocation may put copies far ahead of
//! their calls; where registers are few, wide values then find no neighbours in between.

use oriole_isa::Opcode;
use oriole_ori::analysis::Component;
use oriole_ori::{Function, InstId};
use rustc_hash::FxHashSet;

/// Put moves into fixed registers right before the calls at the ends of their blocks.
pub(crate) fn late_arguments(func: &mut Function) {
    for block in func.layout().to_vec() {
        let insts = func.block_insts(block);
        if insts.last().is_none_or(|last| func[*last].call.is_none()) {
            continue;
        }
        let order = with_late_copies(func, insts);
        if order != insts {
            func.edit().reorder(block, 0, &order);
        }
    }
}

/// Instructions of which the last is a call.
fn with_late_copies(func: &Function, insts: &[InstId]) -> Vec<InstId> {
    let mut between = Touched::default();
    let (mut kept, mut late) = (Vec::new(), Vec::new());
    for (place, inst) in insts.iter().enumerate().rev() {
        let may_wait = place + 1 < insts.len() && between.may_pass(func, *inst);
        if may_wait {
            late.push(*inst);
        } else {
            between.add(func, *inst);
            kept.push(*inst);
        }
    }
    kept.reverse();
    late.reverse();
    let call = kept.pop();
    kept.into_iter().chain(late).chain(call).collect()
}

/// Components that are read or written between a copy and the call.
#[derive(Default)]
struct Touched {
    read: FxHashSet<Component>,
    written: FxHashSet<Component>,
}

impl Touched {
    fn add(&mut self, func: &Function, inst: InstId) {
        // What the call reads and writes it does behind the copies.
        if func[inst].call.is_some() {
            return;
        }
        func.for_each_use(inst, |read| self.read.extend(read.components()));
        func.for_each_def(inst, |write| self.written.extend(write.components()));
    }

    /// The instruction moves something into a fixed register, and nothing in between has to do with that, or changes what is copied.
    fn may_pass(&self, func: &Function, inst: InstId) -> bool {
        let data = &func[inst];
        let moves = data.is_machine() && data.opcode == Opcode::MOV && data.guard().is_none();
        let mut free = moves && data.operands[0].as_reg().is_some_and(|to| func[to].is_fixed());
        if free {
            func.for_each_use(inst, |read| free &= !read.components().any(|part| self.written.contains(&part)));
            let touched = |part| self.written.contains(&part) || self.read.contains(&part);
            func.for_each_def(inst, |write| free &= !write.components().any(touched));
        }
        free
    }
}
