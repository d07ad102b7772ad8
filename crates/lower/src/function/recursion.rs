//! Functions that call themselves last: a jump to their start, instead of one more frame at each step.

use crate::error::Lowered;
use crate::function::FnLower;
use oriole_ori::Callee;
use oriole_ori::analysis::TailCall;

/// Makes a loop of calls behind which the function returns what it gets from itself. The arguments are in the registers in which the function has
/// them at its start already. Where a function has variables in memory a call may have their addresses, and keeps its own.
pub(crate) fn to_loop(cx: &mut FnLower<'_, '_>) -> Lowered {
    let Some(own) = cx.number.filter(|_| cx.module.tail_calls && !cx.is_entry()) else { return Ok(()) };
    if cx.func.frame().local_bytes > 0 || cx.func.frame().dynamic {
        return Ok(());
    }
    let itself = Callee::Direct(cx.module.function_symbol(own));
    let is_own = |tail: &TailCall| cx.func[tail.call].call.expand().is_some_and(|site| cx.func[site].callee == itself);
    let blocks = cx.func.layout().iter().filter_map(|block| TailCall::of(&cx.func, *block));
    let found: Vec<TailCall> = blocks.filter(is_own).collect();
    let (Some(start), false) = (cx.func.entry(), found.is_empty()) else { return Ok(()) };
    for tail in found {
        tail.hand_address_on(&mut cx.func);
        cx.func.edit().retain_insts(tail.block, |_, inst| inst != tail.call);
        cx.func.edit().set_succs(tail.block, &[start]);
    }
    // What comes ahead of the code once, such as room for a frame, stands ahead of the loop.
    let entry = cx.new_block()?;
    cx.func.edit().set_succs(entry, &[start]);
    let layout = std::iter::once(entry).chain(cx.func.layout().iter().copied()).collect();
    cx.func.edit().set_layout(layout);
    Ok(())
}
