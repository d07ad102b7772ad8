//! Calls of the library in the place of instructions.

use rustc_hash::FxHashMap;

use super::expand::is_expanded;
use super::rules;
use super::target::Target;
use super::template::Instance;
use super::writer::Writer;
use crate::analysis::View;
use crate::ir::{InstId, Module, SymbolId};
use crate::opt::{Context, Options, Replacements};

/// Rewrites one function; what it needs is added to `needed` by name. True if something was written out.
pub(super) fn function(
    module: &mut Module,
    symbol: SymbolId,
    target: Target,
    needed: &mut FxHashMap<String, Instance>,
) -> bool {
    let Some(mut body) = module.symbols[symbol].function_mut().and_then(|function| function.body.take()) else {
        return false;
    };
    let mut changed = false;
    let options = Options::default();
    let mut cx = Context { module, symbol, kernel: None, options: &options, room: 0 };
    let mut replacements = Replacements::default();
    for at in 0..body.layout.len() {
        let block = body.layout[at];
        let old = std::mem::take(&mut body[block].insts);
        let mut insts = Vec::with_capacity(old.len());
        for inst in old {
            let sized = !is_too_long(cx.view(&body), inst);
            let expanded = sized && is_expanded(cx.view(&body), inst, target);
            let request = if expanded || !sized { None } else { rules::request(cx.view(&body), inst, target) };
            let mut writer = Writer { cx: &mut cx, body: &mut body, insts: &mut insts, inst, needed };
            let written = match &request {
                Some(request) => Some(writer.write(request)),
                None if expanded => writer.expand(),
                None => None,
            };
            changed |= expanded && written.is_some();
            match written {
                Some(value) => {
                    if let (Some(result), Some(value)) = (body[inst].result.expand(), value) {
                        replacements.set(result, value);
                    }
                }
                None => insts.push(inst),
            }
            changed |= request.as_ref().is_some_and(|request| request.instance.is_none());
            needed.extend(request.and_then(|request| Some((request.function, request.instance?))));
        }
        body[block].insts = insts;
    }
    replacements.apply(&mut body);
    if let Some(function) = module.symbols[symbol].function_mut() {
        function.body = Some(body);
    }
    changed
}

/// The longest vectors that are written out lane by lane; selection says what is wrong with longer ones.
const MAX_LANES: u32 = 4096;

/// True for instructions on longer vectors.
fn is_too_long(view: View<'_>, inst: InstId) -> bool {
    let is_long = |ty| view.module.types.as_vector(ty).is_some_and(|(_, lanes)| lanes > MAX_LANES);
    let mut long = is_long(view.body[inst].ty);
    view.body[inst].op.for_each_value(|value| long |= is_long(view.ty(value)));
    long
}
