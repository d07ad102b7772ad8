//! Tail calls: what a function calls last returns to the function's own caller.
//!
//! The call gets the return address that the function has itself, and hands it on with its results. So the function has neither an address to
//! keep meanwhile nor a frame. The RET behind the call stays: it says what the function returns, to whoever reads the code, though no thread
//! gets there. A call under a divergent branch is none: the threads of the warp would meet behind the caller's call, not here.

use oriole_isa::{Effects, Opcode, Role};
use oriole_ori::analysis::{Cfg, TailCall};
use oriole_ori::{CallSite, Function, FunctionKind, InstId, Operand, SecondaryMap, VReg};

/// Makes tail calls of those for whose site `is_allowed`. Whether there were any.
pub(crate) fn put(func: &mut Function, is_allowed: impl Fn(&CallSite) -> bool) -> bool {
    let frame = func.frame();
    if func.kind() == FunctionKind::Entry || frame.local_bytes > 0 || frame.dynamic {
        return false;
    }
    let mut found: Vec<TailCall> = func.layout().iter().filter_map(|block| TailCall::of(func, *block)).collect();
    if found.is_empty() {
        return false;
    }
    let cfg = Cfg::new(func);
    // The RET is to be nobody else's.
    found.retain(|tail| {
        let site = func[tail.call].call.expand();
        cfg.single_pred(tail.end) == Some(tail.block) && site.is_some_and(|site| is_allowed(&func[site]))
    });
    found.iter().for_each(|tail| hand_on(func, tail));
    if !found.is_empty() {
        remove_unread(func, &found);
    }
    !found.is_empty()
}

/// Gives the call the function's own return address, and takes it back for the RET.
fn hand_on(func: &mut Function, tail: &TailCall) {
    tail.hand_address_on(func);
    let address = Operand::reg(tail.address);
    func.edit().update_call(tail.call, |site| site.results.push(address));
    func.edit().retain_insts(tail.end, |func, inst| func[inst].opcode == Opcode::RET);
    if let Some(ret) = func.block_insts(tail.end).last().copied() {
        func.edit().update(ret, |inst| inst.set_role(Role::Base, address));
    }
}

/// Removes what has computed return addresses for calls that need none of their own.
fn remove_unread(func: &mut Function, tails: &[TailCall]) {
    let mut reads: SecondaryMap<VReg, u32> = SecondaryMap::new();
    for (_, inst) in func.iter_insts() {
        func.for_each_use(inst, |read| reads[read.reg] += 1);
    }
    for block in func.layout().to_vec().into_iter().rev() {
        // What the call reads is written right ahead of it.
        let tail = tails.iter().find(|tail| tail.block == block);
        let given = tail.map_or(0, |tail| tail.own.len() + 1);
        let mut overwritten = tail.map(|tail| tail.address);
        let mut unread: Vec<InstId> = Vec::new();
        for inst in func.block_insts(block).iter().rev().skip(given) {
            let mut is_read = !is_removable(func, *inst);
            func.for_each_def(*inst, |write| is_read |= reads[write.reg] > 0 && overwritten != Some(write.reg));
            if !is_read {
                unread.push(*inst);
                func.for_each_use(*inst, |read| reads[read.reg] -= 1);
            }
            func.for_each_use(*inst, |read| overwritten = overwritten.filter(|address| *address != read.reg));
        }
        if !unread.is_empty() {
            func.edit().retain_insts(block, |_, inst| !unread.contains(&inst));
        }
    }
}

/// Whether the instruction does nothing but compute.
fn is_removable(func: &Function, inst: InstId) -> bool {
    let data = &func[inst];
    data.is_machine() && !data.opcode.info().effects.intersects(Effects::WANTED) && data.defs().next().is_some()
}
