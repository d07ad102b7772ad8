//! Registers that are to be read in the place of others.

use cranelift_entity::PrimaryMap;

use crate::machine::{Function, VReg};

/// For each register the one that is read in its place: itself at first.
#[derive(Clone, Debug)]
pub struct Renaming {
    names: PrimaryMap<VReg, VReg>,
    changed: bool,
}

impl Renaming {
    /// Each register by its own name.
    #[must_use]
    pub fn new(function: &Function) -> Renaming {
        Renaming { names: function.regs.keys().collect(), changed: false }
    }

    /// From now on `new` is read in the place of `old`, whose name must not be that of `new` already.
    pub fn set(&mut self, old: VReg, new: VReg) {
        let new = self.of(new);
        debug_assert!(new != old, "a register is not read in its own place");
        self.names[old] = new;
        self.changed = true;
    }

    /// What is read in the place of a register.
    pub fn of(&mut self, reg: VReg) -> VReg {
        let mut end = reg;
        while self.names[end] != end {
            end = self.names[end];
        }
        let mut at = reg;
        while self.names[at] != end {
            at = std::mem::replace(&mut self.names[at], end);
        }
        end
    }

    /// Gives everything that is read its new name; true when there was one. What is written keeps its
    /// name: it is read no more.
    pub fn apply(mut self, function: &mut Function) -> bool {
        if !self.changed {
            return false;
        }
        for &block in &function.layout {
            let content = &mut function.blocks[block];
            for (_, value) in content.phis.iter_mut().flat_map(|phi| &mut phi.incoming) {
                value.for_each_vreg_mut(&mut |reg| *reg = self.of(*reg));
            }
            for inst in &mut content.insts {
                self.apply_to_uses(inst);
            }
            content.terminator.used_mut().into_iter().for_each(|reg| *reg = self.of(*reg));
        }
        true
    }

    /// Gives what an instruction reads its new name.
    pub fn apply_to_uses(&mut self, inst: &mut crate::machine::Inst) {
        if let Some((guard, _)) = &mut inst.guard {
            *guard = self.of(*guard);
        }
        for operand in &mut inst.operands[usize::from(inst.defs)..] {
            operand.for_each_vreg_mut(&mut |reg| *reg = self.of(*reg));
        }
    }
}
