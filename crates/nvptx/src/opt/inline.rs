//! Inlining of device functions, callees before callers.
//!
//! A callee must have a body that is surely the one that runs, must not be the caller, and must be wanted (`alwaysinline`)
//! or small. What has been inlined is not looked at again for calls: it has been through the pipeline itself.

use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

use super::edit::{remove_unreachable, rename_incoming};
use super::{Context, Replacements, intrinsic};
use crate::ir::{
    BlockId, Body, Call, FnFlags, Function, InstId, Linkage, Module, Op, Subnormals, SymbolId, Tail, TypeId, Value,
    ValueId,
};

/// Instructions of a callee that is inlined without being asked for: LLVM's limit for NVPTX, 11 times 225 at 5 each.
const SMALL: usize = 495;
/// The same for a function that nobody else can call.
const SMALL_INTERNAL: usize = 2000;
/// Instructions from which a caller takes no more than what it must.
const LARGE: usize = 20_000;
/// Instructions beyond which a caller takes nothing at all: functions that call each other twice grow like powers of two.
const LARGEST: usize = 40_000;

/// Instructions by which inlining may make a module of `before` instructions larger.
pub(super) const fn room(before: usize) -> usize {
    100_000 + 4 * before
}

/// Runs the pass.
pub(super) fn run(body: &mut Body, cx: &mut Context<'_>) -> bool {
    let mut size = body.insts_in_order().count();
    let mut changed = false;
    let mut at = 0;
    while at < body.layout.len() {
        let block = body.layout[at];
        at += 1;
        let found = body[block].insts.iter().position(|&inst| wanted(body, cx, inst, size));
        let Some(index) = found else { continue };
        let inst = body[block].insts[index];
        let Op::Call(call) = body[inst].op.clone() else { continue };
        let Some(callee) = cx.view(body).callee_id(&call) else { continue };
        let Some(inlined) = cx.module.symbols[callee].function().and_then(|function| function.body.clone()) else {
            continue;
        };
        let (after, count) =
            Inliner { body, cx, call: &call, inst, callee, inlined: &inlined }.inline(block, index, at);
        // What follows the call is the next block to look at.
        at = body.layout.iter().position(|&block| block == after).unwrap_or(at);
        size += count;
        cx.room = cx.room.saturating_sub(count);
        changed = true;
    }
    if changed {
        // Behind a callee that does not return nothing is reached.
        remove_unreachable(body);
    }
    changed
}

/// True for a call that is to be inlined.
fn wanted(body: &Body, cx: &Context<'_>, inst: InstId, size: usize) -> bool {
    let view = cx.view(body);
    let Some(call) = view.call(inst) else { return false };
    let Some(callee) = view.callee_id(call).filter(|&callee| callee != cx.symbol) else { return false };
    let symbol = &cx.module.symbols[callee];
    let Some(function) = symbol.function() else { return false };
    let Some(inlined) = function.body.as_deref() else { return false };
    let flags = function.attributes.function | call.attributes.function;
    if flags.intersects(FnFlags::NO_INLINE | FnFlags::OPT_NONE)
        || matches!(symbol.linkage, Linkage::Weak | Linkage::ExternWeak)
        || !agree_on_subnormals(cx, function)
        || !fits(cx.module, body, call, function, inlined)
    {
        return false;
    }
    let count = inlined.insts_in_order().count();
    if flags.contains(FnFlags::ALWAYS_INLINE) {
        return size + count <= LARGEST && count <= cx.room;
    }
    let limit = if symbol.linkage == Linkage::Internal { SMALL_INTERNAL } else { SMALL };
    cx.options.level >= 2 && size < LARGE && count <= limit.min(cx.room)
}

/// True when the callee's operations may become the caller's: a function has one mode.
fn agree_on_subnormals(cx: &Context<'_>, callee: &Function) -> bool {
    let caller = cx.module.symbols[cx.symbol].function().map(Function::subnormals).unwrap_or_default();
    matches!(callee.subnormals(), mode if mode == caller || mode == Subnormals::OfCaller)
}

/// True when the body can be copied into a caller.
fn fits(module: &Module, body: &Body, call: &Call, function: &Function, inlined: &Body) -> bool {
    let same = call.args.len() == function.params.len()
        && call.args.iter().zip(&function.params).all(|(&arg, param)| body.type_of(arg, &module.constants) == param.ty)
        && call.signature == function.signature;
    let entry = inlined.layout.first();
    same && !function.varargs
        && call.tail != Tail::Must
        && inlined.insts_in_order().all(|(block, inst)| match &inlined[inst].op {
            Op::Alloca { count, .. } => entry == Some(&block) && count.constant().is_some(),
            Op::IndirectBr(..) | Op::VaArg(_) => false,
            Op::Call(call) => call.tail != Tail::Must,
            _ => true,
        })
}

/// The blocks that returned, and what.
type Returns = Vec<(BlockId, Option<Value>)>;

struct Inliner<'a, 'm> {
    body: &'a mut Body,
    cx: &'a mut Context<'m>,
    call: &'a Call,
    inst: InstId,
    callee: SymbolId,
    inlined: &'a Body,
}

impl Inliner<'_, '_> {
    /// Splits `block` at the call and puts the callee between. Answers the block behind, and how much was added.
    fn inline(mut self, block: BlockId, index: usize, place: usize) -> (BlockId, usize) {
        let after = self.body.make_block();
        let rest = self.body[block].insts.split_off(index + 1);
        self.body[block].insts.pop();
        self.body[after].insts = rest;
        for to in self.body.successors(after) {
            rename_incoming(self.body, to, block, after);
        }
        let args = self.arguments(block);
        let (blocks, returns, count) = self.copy(&args, after);
        let jump = self.cx.make(self.body, Op::Br(blocks[0]), TypeId::VOID, self.inst);
        self.body[block].insts.push(jump);
        self.body.layout.splice(place..place, blocks.into_iter().chain([after]));
        self.result(after, returns);
        (after, count)
    }

    /// The arguments; those that are passed by value as copies in the frame.
    fn arguments(&mut self, block: BlockId) -> Vec<Value> {
        let params = match self.cx.module.symbols[self.callee].function() {
            Some(function) => function.params.clone(),
            None => Vec::new(),
        };
        let mut args = Vec::with_capacity(params.len());
        for (&arg, param) in self.call.args.iter().zip(&params) {
            let Some(ty) = param.attributes.by_val else {
                args.push(arg);
                continue;
            };
            let module = &self.cx.module;
            let (size, own) = (module.layout.size(&module.types, ty), module.layout.align(&module.types, ty));
            let align = param.attributes.align.max(own);
            let count = self.cx.int(TypeId::I32, 1);
            let slot = self.cx.make(self.body, Op::Alloca { element: ty, count, align }, TypeId::PTR, self.inst);
            let to: Value = self.body.result(slot).into();
            let operands = [to, arg, self.cx.int(TypeId::I64, size.into()), self.cx.int(TypeId::I1, 0)];
            let copy = intrinsic::call(self.cx, "llvm.memcpy.p0.p0.i64", TypeId::VOID, self.body, &operands);
            let copy = self.cx.make(self.body, copy, TypeId::VOID, self.inst);
            self.body[block].insts.push(copy);
            self.add_slot(slot);
            args.push(to);
        }
        args
    }

    fn add_slot(&mut self, slot: InstId) {
        let entry = self.body.layout[0];
        self.body[entry].insts.insert(0, slot);
    }

    /// Copies the callee's blocks; returns become branches to `after`.
    fn copy(&mut self, args: &[Value], after: BlockId) -> (Vec<BlockId>, Returns, usize) {
        let inlined = self.inlined;
        let mut values: SecondaryMap<ValueId, Option<Value>> = SecondaryMap::new();
        values.resize(inlined.value_count());
        for (&param, &arg) in inlined.params.iter().zip(args) {
            values[param] = Some(arg);
        }
        let mut blocks: SecondaryMap<BlockId, BlockId> = SecondaryMap::with_default(after);
        let list: Vec<BlockId> = inlined.layout.iter().map(|_| self.body.make_block()).collect();
        for (&from, &to) in inlined.layout.iter().zip(&list) {
            blocks[from] = to;
        }
        let mut copies = Vec::new();
        for (block, inst) in inlined.insts_in_order() {
            let source = &inlined[inst];
            let copy = self.body.make_inst(source.op.clone(), source.ty);
            self.body[copy].loc = if source.loc.is_some() { source.loc } else { self.body[self.inst].loc };
            if let (Some(old), Some(new)) = (source.result.expand(), self.body[copy].result.expand()) {
                values[old] = Some(new.into());
            }
            if let Some(attached) = inlined.attachments.get(&inst) {
                self.body.attachments.insert(copy, attached.clone());
            }
            copies.push((blocks[block], copy));
        }
        let mut returns = Vec::new();
        for &(block, copy) in &copies {
            let op = &mut self.body[copy].op;
            op.for_each_value_mut(|value| {
                if let Some(new) = value.local().and_then(|id| values[id]) {
                    *value = new;
                }
            });
            op.for_each_successor_mut(|to| *to = blocks[*to]);
            match op {
                Op::Phi(incoming) => incoming.iter_mut().for_each(|(from, _)| *from = blocks[*from]),
                Op::Call(call) => call.tail = Tail::None,
                Op::Ret(value) => {
                    returns.push((block, *value));
                    *op = Op::Br(after);
                }
                Op::Alloca { .. } => {
                    self.add_slot(copy);
                    continue;
                }
                _ => {}
            }
            self.body[block].insts.push(copy);
        }
        (list, returns, copies.len())
    }

    /// What the call's result is now.
    fn result(&mut self, after: BlockId, returns: Returns) {
        let Some(result) = self.body[self.inst].result.expand() else { return };
        let ty = self.body[self.inst].ty;
        let incoming: SmallVec<[(BlockId, Value); 2]> =
            returns.into_iter().filter_map(|(block, value)| Some((block, value?))).collect();
        let value = match incoming.as_slice() {
            [] => self.cx.poison(ty),
            [(_, single)] => *single,
            _ => {
                let phi = self.cx.make(self.body, Op::Phi(incoming), ty, self.inst);
                self.body[after].insts.insert(0, phi);
                self.body.result(phi).into()
            }
        };
        let mut uses = Replacements::default();
        uses.set(result, value);
        uses.apply(self.body);
    }
}

/// The functions that have bodies, callees before their callers where calls do not go in circles.
pub(super) fn callees_first(module: &Module) -> Vec<SymbolId> {
    let mut seen: SecondaryMap<SymbolId, bool> = SecondaryMap::new();
    let mut order = Vec::new();
    for (root, ..) in module.definitions() {
        if seen[root] {
            continue;
        }
        seen[root] = true;
        let mut stack = vec![(root, calls_of(module, root))];
        while let Some((symbol, calls)) = stack.last_mut() {
            match calls.pop() {
                Some(next) if !seen[next] => {
                    seen[next] = true;
                    stack.push((next, calls_of(module, next)));
                }
                Some(_) => {}
                None => {
                    order.push(*symbol);
                    stack.pop();
                }
            }
        }
    }
    order
}

/// The functions with bodies that a function calls directly.
fn calls_of(module: &Module, symbol: SymbolId) -> Vec<SymbolId> {
    let Some(view) = crate::analysis::View::of(module, symbol) else { return Vec::new() };
    let calls = view.body.insts_in_order().filter_map(|(_, inst)| view.callee_id(view.call(inst)?));
    calls.filter(|&callee| module.symbols[callee].is_definition()).collect()
}
