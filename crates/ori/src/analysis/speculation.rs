//! Slot 27: which instructions may be executed where the program would not have executed them.
//!
//! An instruction in a block to which not all ways lead may stand at the end of a block that dominates it if nothing but its
//! results tells. Who asks sees to it that it reads the same there, memory included. Never: what writes, waits, branches, or depends on which
//! threads execute it together (atomics, barriers, votes, shuffles), what is volatile or guarded, and what writes a uniform register: threads
//! that have gone another way may hold it. Loads: where each thread that comes to the end of that block has accessed the bytes (it is one thread's
//! own way that counts, so it does not matter which threads the branch parts), or where they are the kernel's own.

use super::accesses::{Base, address, is_load, role};
use super::cfg::DomTree;
use crate::entity::{Block, InstId};
use crate::function::{Function, FunctionKind};
use crate::operand::{Operand, OperandKind};
use oriole_isa::{Arch, Opcode, RegFile, Role, Space};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::ops::Range;
use std::rc::Rc;

/// Accesses to one base that are looked at for one load.
const MOST: usize = 64;

/// The answers for a function in SSA form: they hold while its accesses keep their blocks, or blocks become one.
pub struct Speculation {
    arch: Arch,
    dominators: Rc<DomTree>,
    /// By base: where memory is accessed without a guard.
    accesses: FxHashMap<Base, SmallVec<[Access; 2]>>,
}

/// Bytes from a base on, which a block accesses.
struct Access {
    block: Block,
    bytes: Range<i64>,
}

impl Speculation {
    /// Look through the function for what it accesses.
    pub fn new(func: &Function, arch: Arch, dominators: Rc<DomTree>) -> Speculation {
        let mut accesses: FxHashMap<Base, SmallVec<[Access; 2]>> = FxHashMap::default();
        // What is called may give memory back.
        if func.call_sites().is_empty() {
            for (block, id) in func.iter_insts() {
                let inst = &func[id];
                if let Some((base, bytes)) = address(func, inst).filter(|_| inst.guard().is_none()) {
                    accesses.entry(base).or_default().push(Access { block, bytes });
                }
            }
        }
        Speculation { arch, dominators, accesses }
    }

    /// Whether the instruction may be executed at the end of `block`, which dominates it.
    pub fn may_execute(&self, func: &Function, inst: InstId, block: Block) -> bool {
        Self::is_harmless(func, inst, self.arch) || self.is_valid(func, inst, block)
    }

    /// Whether it may be executed anywhere: it computes from its operands alone, and faults nowhere. (A constant bank does at
    /// a place that is computed, or behind a handle; what stands at a fixed place was put there.)
    pub fn is_harmless(func: &Function, inst: InstId, arch: Arch) -> bool {
        let data = &func[inst];
        let may_fault = |operand: &Operand| matches!(operand.kind(), OperandKind::ConstBindless { .. });
        let is_indexed = data.opcode == Opcode::LDC && role(data, Role::Base) != Some(OperandKind::Rz);
        writes_own_values(func, inst)
            && data.depends_on_operands_alone(arch)
            && !is_indexed
            && !data.operands.iter().any(may_fault)
    }

    /// Whether it is a load of what every thread at the end of `block` may load.
    fn is_valid(&self, func: &Function, inst: InstId, block: Block) -> bool {
        if !is_load(func, inst) {
            return false;
        }
        let Some((base, bytes)) = address(func, &func[inst]) else { return false };
        if self.is_own(func, &base, &bytes) {
            return true;
        }
        // Within what is accessed at once, at a multiple of its own size from there: as aligned as that.
        let size = bytes.end - bytes.start;
        let covers = |access: &Access| {
            let within = access.bytes.start <= bytes.start && bytes.end <= access.bytes.end;
            within && (bytes.start - access.bytes.start) % size == 0 && self.dominators.dominates(access.block, block)
        };
        self.accesses.get(&base).is_some_and(|accesses| accesses.iter().take(MOST).any(covers))
    }

    /// Whether the bytes are of the kernel's variables in shared memory, or of the function's frame.
    fn is_own(&self, func: &Function, base: &Base, bytes: &Range<i64>) -> bool {
        let (none, size) = (base.base.is_empty() && base.uniform.is_empty(), bytes.end - bytes.start);
        let whole = match base.space {
            Space::Shared if none && !base.of_frame && func.kind() == FunctionKind::Entry => {
                i64::from(self.arch.sm().shared_base)..i64::from(func.attributes().shared_bytes)
            }
            // Its start is aligned as the frame is.
            Space::Local if none && base.of_frame && size <= i64::from(func.frame().align) => {
                0..i64::from(func.frame().local_bytes)
            }
            _ => return false,
        };
        bytes.start % size == 0 && whole.start <= bytes.start && bytes.end <= whole.end
    }
}

/// Whether all that the instruction writes are values in registers that each thread has for itself.
pub(super) fn writes_own_values(func: &Function, inst: InstId) -> bool {
    let data = &func[inst];
    let mut own = data.is_machine() && !data.writes_partly() && data.call.is_none();
    let mut written = false;
    func.for_each_def(inst, |write| {
        written = true;
        own &= func.is_value(write.reg) && matches!(func[write.reg].file(), RegFile::R | RegFile::P);
    });
    own && written && data.defs().all(|(_, operand)| !matches!(operand.kind(), OperandKind::Phys { .. }))
}
