//! Ahead of the order: in blocks where more predicates are live than there are, tests are repeated ahead of who reads them.
//!
//! A predicate that goes to a general register costs an instruction to go there and one for each time that it comes back; a
//! comparison of registers that live anyway costs one, too, and needs no register. Belady's rule says which: who is read last
//! gives its place away. Bits of a scan's tree, each of which is asked on the way up and on the way down, are such: across blocks, each
//! block that reads them tests once more.

mod across;
mod within;

use crate::AllocError;
use oriole_isa::{CodeOrder, Effects, RegFile};
use oriole_ori::analysis::Flow;
use oriole_ori::{Block, Function, InstId, OperandKind, SecondaryMap, VReg};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use within::Walk;

/// Predicates that are live at a time, at most; one stays for what allocation needs itself.
const MOST: usize = 6;
/// Whose next reader is nearer keeps its place.
const NEAR: u32 = 8;

/// Repeat what pays. `flow` may hold what is known of the function's flow; gives what is known then.
///
/// # Errors
/// There is no name left for a register.
pub fn retest(func: &mut Function, flow: Option<Flow>) -> Result<Option<Flow>, AllocError> {
    let predicates = func.regs().keys().filter(|reg| is_predicate(func, *reg)).count();
    if predicates <= MOST {
        return Ok(flow);
    }
    let mut flow = flow.unwrap_or_else(|| Flow::new(func));
    let none = FxHashSet::default();
    let is_crowded = |func: &Function, flow: &Flow, block: &Block| most_live(func, flow, *block, &none) > MOST;
    if !func.layout().iter().any(|block| is_crowded(func, &flow, block)) {
        return Ok(Some(flow));
    }
    let writes = Writes::new(func);
    if across::retest(func, &flow, &writes)? {
        flow = Flow::new(func);
    }
    let crowded: Vec<Block> = func.layout().iter().copied().filter(|block| is_crowded(func, &flow, block)).collect();
    let mut changed = false;
    for block in crowded {
        changed |= Walk::new(func, &flow, &writes, block).run(func)?;
    }
    Ok((!changed).then_some(flow))
}

fn is_predicate(func: &Function, reg: VReg) -> bool {
    func[reg].file() == RegFile::P
}

/// A test once more, to be placed, and the predicate that it gives in place of one.
fn repeat(func: &mut Function, test: InstId, reg: VReg) -> Result<(InstId, VReg), AllocError> {
    let now = func.new_vreg_like(reg)?;
    let again = func[test].clone();
    let again = func.edit().add(again);
    func.edit().rename_regs(again, |named, is_def| if is_def && named == reg { now } else { named });
    Ok((again, now))
}

/// The most predicates that are live at a time in a block, where some do not live beyond their last reader in it.
fn most_live(func: &Function, flow: &Flow, block: Block, leaving: &FxHashSet<VReg>) -> usize {
    let out = flow.live.main_live_out(block).map(|(reg, _)| reg);
    let mut live: FxHashSet<VReg> = out.filter(|reg| is_predicate(func, *reg) && !leaving.contains(reg)).collect();
    let mut most = live.len();
    for inst in func.block_insts(block).iter().rev() {
        func.for_each_def(*inst, |write| {
            if !write.conditional {
                live.remove(&write.reg);
            }
        });
        func.for_each_use(*inst, |read| {
            if is_predicate(func, read.reg) {
                live.insert(read.reg);
            }
        });
        most = most.max(live.len());
    }
    most
}

/// How often each register is written.
struct Writes(SecondaryMap<VReg, u32>);

/// A test that can be repeated.
struct Test {
    /// The predicate that it gives, and nothing else does.
    gives: VReg,
    /// What it reads, each written once.
    reads: SmallVec<[VReg; 2]>,
}

impl Writes {
    fn new(func: &Function) -> Self {
        let mut writes = SecondaryMap::new();
        for (_, inst) in func.iter_insts() {
            func.for_each_def(inst, |write| writes[write.reg] += 1);
        }
        Writes(writes)
    }

    /// A test that can be repeated behind it, at least in its block: it reads nothing that is written elsewhere, too.
    fn repeatable(&self, func: &Function, inst: InstId) -> Option<Test> {
        let data = &func[inst];
        let plain = data.is_machine() && data.guard().is_none() && data.opcode.info().effects == Effects::NONE;
        if !plain || data.opcode.order() != CodeOrder::Free {
            return None;
        }
        let (mut given, mut reads) = (SmallVec::<[VReg; 2]>::new(), SmallVec::<[VReg; 2]>::new());
        func.for_each_def(inst, |write| given.push(write.reg));
        func.for_each_use(inst, |read| reads.push(read.reg));
        let fixed = |reg: &VReg| func[*reg].file() == RegFile::R && func[*reg].components == 1 && self.0[*reg] == 1;
        let virtuals = data.operands.iter().all(|operand| !matches!(operand.kind(), OperandKind::Phys { .. }));
        let &[gives] = &given[..] else { return None };
        let once = is_predicate(func, gives) && self.0[gives] == 1;
        (once && virtuals && reads.iter().all(fixed)).then_some(Test { gives, reads })
    }
}
