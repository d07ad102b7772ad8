//! Instruction combination: constants are folded, operations simplified and brought into one form.
//!
//! The blocks are walked in reverse post-order, each instruction with the operands that are known by then: first it
//! is asked whether its value is there already ([`simplify`]), then the rules of its kind may rewrite it. What a rule
//! makes is simplified at once. A second walk follows when the first has changed something, for what came back around
//! loops.

mod arithmetic;
mod build;
mod cast;
mod compare;
mod division;
mod float;
mod fold;
mod fold_float;
pub(super) mod fold_int;
mod logic;
mod memory;
mod rewrite;
mod select;
mod simplify;
mod vector;

use build::Builder;
use cranelift_entity::SecondaryMap;
use rewrite::Rewrite;

use super::{Context, Replacements};
use crate::analysis::{Cfg, Intrinsic, intrinsics};
use crate::ir::{Body, InstId, Op, TypeId, Value, ValueId};

/// How often an instruction is rewritten at most before it is taken as it is.
const REWRITES: usize = 8;
/// Walks over the function.
const WALKS: usize = 2;

/// Runs the pass.
pub(super) fn run(body: &mut Body, cx: &mut Context<'_>) -> bool {
    let mut changed = false;
    for _ in 0..WALKS {
        if !walk(body, cx, rewrite) {
            break;
        }
        changed = true;
    }
    changed
}

/// Divisions by constants become multiplications: a pass of its own, since they hide what was divided.
pub(super) fn divisions(body: &mut Body, cx: &mut Context<'_>) -> bool {
    walk(body, cx, |builder, op, ty| match op {
        Op::Binary(kind, flags, args) if kind.is_int_division() => division::expand(builder, *kind, *flags, *args, ty),
        _ => None,
    })
}

type Rules = fn(&mut Builder<'_, '_>, &Op, TypeId) -> Option<Rewrite>;

fn walk(body: &mut Body, cx: &mut Context<'_>, rules: Rules) -> bool {
    let cfg = Cfg::of_reachable(body);
    let uses = body.use_counts();
    let mut same = Replacements::default();
    let mut changed = false;
    for &block in cfg.rpo() {
        let old = std::mem::take(&mut body[block].insts);
        let mut out = Vec::with_capacity(old.len() + 4);
        for inst in old {
            same.rewrite(&mut body[inst].op);
            changed |= visit(body, cx, &uses, &mut out, &mut same, inst, rules);
        }
        body[block].insts = out;
    }
    changed |= same.apply(body);
    changed
}

/// Simplifies one instruction and puts what is left of it to `out`.
fn visit(
    body: &mut Body,
    cx: &mut Context<'_>,
    uses: &SecondaryMap<ValueId, u32>,
    out: &mut Vec<InstId>,
    same: &mut Replacements,
    inst: InstId,
    rules: Rules,
) -> bool {
    let mut changed = false;
    let result = body[inst].result.expand();
    if result.is_none() && !matches!(body[inst].op, Op::Call(_) | Op::Store { .. }) {
        out.push(inst);
        return false;
    }
    for _ in 0..REWRITES {
        // The operation is taken out while rules look at the others: nothing refers to its own instruction.
        let op = std::mem::replace(&mut body[inst].op, Op::Unreachable);
        let ty = body[inst].ty;
        let found = match simplify::simplify(cx, body, &op, ty).filter(|_| result.is_some()) {
            Some(value) => Some(Rewrite::Value(value)),
            None => {
                let mut builder = Builder { body, cx, uses, out, like: inst };
                rules(&mut builder, &op, ty)
            }
        };
        body[inst].op = op;
        match found {
            None => break,
            Some(Rewrite::Op(op)) => {
                body[inst].op = op;
                changed = true;
            }
            Some(Rewrite::Gone) => return true,
            Some(Rewrite::Value(value)) => {
                let Some(result) = result.filter(|&result| value != Value::Local(result)) else { break };
                same.set(result, value);
                // A call may do more than make its value; dead code is not removed here.
                if matches!(body[inst].op, Op::Call(_)) {
                    out.push(inst);
                }
                return true;
            }
        }
    }
    out.push(inst);
    changed
}

/// The rules by kind of instruction.
fn rewrite(builder: &mut Builder<'_, '_>, op: &Op, ty: TypeId) -> Option<Rewrite> {
    use crate::ir::BinaryOp::*;
    match op {
        Op::Binary(kind, flags, args) => match kind {
            Add | Sub | Mul | Shl | LShr | AShr => arithmetic::rewrite(builder, *kind, *flags, *args, ty),
            And | Or | Xor => logic::rewrite(builder, *kind, *flags, *args, ty),
            UDiv | SDiv | URem | SRem => division::rewrite(builder, *kind, *flags, *args, ty),
            FAdd | FSub | FMul | FDiv | FRem => float::rewrite(builder, *kind, *flags, *args, ty),
        },
        Op::FNeg(_, from) => float::negation(builder, *from),
        Op::Cast(kind, _, from) => cast::rewrite(builder, *kind, *from, ty),
        Op::ICmp(predicate, _, args) => compare::rewrite(builder, *predicate, *args),
        Op::FCmp(predicate, flags, args) => compare::float(builder, *predicate, *flags, *args),
        Op::Select(flags, args) => select::rewrite(builder, *flags, *args, ty),
        Op::Gep { source, flags, base, indices } => memory::offset(builder, *source, *flags, *base, indices, ty),
        Op::Call(call) => {
            let intrinsic = intrinsics::called(builder.view(), call)?;
            match intrinsic {
                Intrinsic::Assume
                | Intrinsic::NoAliasScopeDecl
                | Intrinsic::SideEffect
                | Intrinsic::PseudoProbe
                | Intrinsic::InvariantStart
                | Intrinsic::InvariantEnd
                    if ty == TypeId::VOID =>
                {
                    Some(Rewrite::Gone)
                }
                Intrinsic::Expect | Intrinsic::ExpectProbability | Intrinsic::SsaCopy | Intrinsic::Annotation => {
                    call.args.first().map(|&value| Rewrite::Value(value))
                }
                _ => memory::call(builder, call, intrinsic),
            }
        }
        _ => None,
    }
}
