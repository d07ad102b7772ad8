//! What becomes of `setmaxnreg` in the code.

use super::state::change_of;
use crate::AllocError;
use oriole_isa::{Mods, Opcode, Role};
use oriole_ori::{Block, CallId, Function, Guard, Inst, InstId, Operand, RegType};
use rustc_hash::FxHashSet;

/// Truth table of PLOP3: all three.
const ALL: u32 = 0x80;

/// Where registers are given back begins a block, as what lives on has to be in those that stay. Where some are taken a warp
/// tries until it has them, and what follows is a block that may use them.
/// The same goes for calls of functions that change the number, `calls`: what they leave is there in a block behind them.
pub(super) fn expand(func: &mut Function, calls: &FxHashSet<CallId>) -> Result<(), AllocError> {
    for block in func.layout().to_vec() {
        let mut place = Some((block, 0));
        while let Some((block, from)) = place {
            place = expand_next(func, calls, block, from)?;
        }
    }
    Ok(())
}

/// The first change in `block` from instruction `from` on; gives where the code goes on behind it.
fn expand_next(
    func: &mut Function,
    calls: &FxHashSet<CallId>,
    block: Block,
    from: usize,
) -> Result<Option<(Block, usize)>, AllocError> {
    let insts = func.block_insts(block);
    let is_change = |inst: InstId| {
        change_of(&func[inst]).is_some() || func[inst].call.expand().is_some_and(|call| calls.contains(&call))
    };
    let Some(at) = (from..insts.len()).find(|at| is_change(insts[*at])) else { return Ok(None) };
    let change = insts[at];
    let takes = change_of(&func[change]).is_some_and(|(_, takes)| takes);
    // All threads are there before each try.
    let start = if meets_before(func, insts, at) { at - 1 } else { at };
    let own = func.edit().split_block(block, start)?;
    if !takes {
        return Ok(Some((own, at - start + 1)));
    }
    let rest = func.edit().split_block(own, at - start + 1)?;
    retry(func, own, change, rest)?;
    Ok(Some((rest, 0)))
}

fn meets_before(func: &Function, insts: &[InstId], at: usize) -> bool {
    at.checked_sub(1).is_some_and(|before| func[insts[before]].opcode == Opcode::WARPSYNC)
}

/// Back to the start of the block where no registers were got.
fn retry(func: &mut Function, block: Block, change: InstId, rest: Block) -> Result<(), AllocError> {
    let (got, pred) = (func.new_vreg(RegType::Up)?, func.new_vreg(RegType::P)?);
    func.edit().update(change, |inst| inst.set_role(Role::PD, Operand::reg(got)));
    let mut copy = Inst::neutral(Opcode::PLOP3, Mods::new());
    copy.set_role(Role::PD, Operand::reg(pred));
    copy.set_role(Role::PA, Operand::pt());
    copy.set_role(Role::PB, Operand::pt());
    copy.set_role(Role::PC, Operand::reg(got));
    copy.set_role(Role::Lut, Operand::imm(ALL));
    copy.loc = func[change].loc;
    func.edit().append(block, copy);
    let mut back = Inst::bra(block).guarded(Some(Guard { pred, negated: true }));
    back.loc = func[change].loc;
    func.edit().append(block, back);
    func.edit().set_succs(block, &[block, rest]);
    Ok(())
}

/// Take all changes out, and what brings the threads together for them.
pub(super) fn remove(func: &mut Function) {
    for block in func.layout().to_vec() {
        let insts = func.block_insts(block);
        let changes = (0..insts.len()).filter(|at| change_of(&func[insts[*at]]).is_some());
        let gone: Vec<InstId> = changes
            .flat_map(|at| [Some(insts[at]), meets_before(func, insts, at).then(|| insts[at - 1])])
            .flatten()
            .collect();
        if !gone.is_empty() {
            func.edit().retain_insts(block, |_, inst| !gone.contains(&inst));
        }
    }
}
