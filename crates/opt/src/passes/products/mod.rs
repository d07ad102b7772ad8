//! Slots 85, 87 and 105: products of warpgroups, which go on after their issue in registers that nothing may touch.
//!
//! Fences and waits are the program's. Slot 85 adds those that it lacks; slot 87 holds the registers of a product up to
//! the wait by which it is done, so that allocation gives them to nobody else; slot 105 looks once more at what
//! allocation has made of it.

mod fixup;
mod flow;

use crate::{Changed, Context, PhaseError};
use fixup::{Cause, fix};
use flow::{Cells, Finding, Flow, Products, step};
use oriole_isa::{Arch, Role};
use oriole_ori::analysis::Analyses;
use oriole_ori::{Block, Function, Inst, InstId, Operand};

/// Slot 85: waits before what touches registers of unfinished products, fences behind what writes registers of products.
pub(crate) fn propagate(
    func: &mut Function,
    context: &Context,
    analyses: &mut Analyses,
) -> Result<Changed, PhaseError> {
    Ok(Changed::when(fix(func, context.arch, Cells::of_components, Cause::Program, analyses)))
}

/// Slot 105: the same on the registers that allocation has chosen, for those that it has moved or given to others.
pub fn settle_products(func: &mut Function, arch: Arch) -> Changed {
    let mut analyses = Analyses::default();
    Changed::when(fix(func, arch, |_| Cells::Physical, Cause::Allocation, &mut analyses))
}

/// Slot 87: the registers of a product are held up to the wait by which it is done.
pub(crate) fn hold(func: &mut Function, _: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    let Some(products) = Products::of(func, Cells::of_components) else { return Ok(Changed::No) };
    let cfg = analyses.cfg(func);
    let flow = Flow::new(func, &products, &cfg);
    let mut holds: Vec<(Block, usize, Vec<Operand>)> = Vec::new();
    for &block in cfg.rpo() {
        let Some(mut state) = flow.start(block) else { continue };
        for (at, &inst) in func.block_insts(block).iter().enumerate() {
            step(func, &products, inst, &mut state, &mut |_, finding| {
                if let Finding::Done(done) = finding {
                    holds.push((
                        block,
                        at + 1,
                        registers(func, done.iter().map(|product| products.all[*product].inst)),
                    ));
                }
            });
        }
    }
    holds.retain(|(.., held)| !held.is_empty());
    for (block, at, held) in holds.iter().rev() {
        let id = func.edit().add(Inst::hold(held));
        func.edit().place(*block, *at, &[id]);
    }
    Ok(Changed::when(!holds.is_empty()))
}

/// The registers of products, each once.
fn registers(func: &Function, products: impl Iterator<Item = InstId>) -> Vec<Operand> {
    let mut held = Vec::new();
    for product in products {
        let data = &func[product];
        let named = [Role::D, Role::C, Role::A].into_iter().filter_map(|role| data.position(role));
        for operand in named.map(|at| data.operands[at].plain()) {
            if operand.as_reg().is_some() && !held.contains(&operand) {
                held.push(operand);
            }
        }
    }
    held
}
