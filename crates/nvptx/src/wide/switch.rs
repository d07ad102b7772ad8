//! `switch` on more than 64 bits, as comparisons.

use cranelift_entity::packed_option::PackedOption;

use super::LIMB;
use crate::ir::{BlockId, Body, InstFlags, IntPredicate, MetaId, Module, Op, SymbolId, TypeId, Value};

/// Up to so many cases are tried one after the other; more are halved.
const MOST_IN_A_ROW: usize = 4;

/// One `switch`.
struct Search<'a> {
    module: &'a mut Module,
    body: &'a mut Body,
    value: Value,
    ty: TypeId,
    bits: u32,
    default: BlockId,
    loc: PackedOption<MetaId>,
    /// Where each block that was made goes: from, to.
    edges: Vec<(BlockId, BlockId)>,
}

/// Replaces each such `switch` of a function.
pub(super) fn compare(module: &mut Module, symbol: SymbolId) {
    let Some(mut body) = module.symbols[symbol].function_mut().and_then(|function| function.body.take()) else {
        return;
    };
    for block in body.layout.clone() {
        let Some(inst) = body.terminator(block) else { continue };
        let Op::Switch { value, default, cases } = &body[inst].op else { continue };
        let ty = body.type_of(*value, &module.constants);
        let Some(bits) = module.types.int_bits(ty).filter(|&bits| bits > LIMB) else { continue };
        let (value, default, mut cases) = (*value, *default, cases.clone());
        let loc = body[inst].loc;
        cases.sort_by_key(|(case, _)| *case);
        body[block].insts.pop();
        let mut search = Search { module, body: &mut body, value, ty, bits, default, loc, edges: Vec::new() };
        search.among(block, &cases);
        let edges = search.edges;
        move_edges(&mut body, block, &edges);
    }
    if let Some(function) = module.symbols[symbol].function_mut() {
        function.body = Some(body);
    }
}

impl Search<'_> {
    /// Finds the case among `cases` at the end of `block`.
    fn among(&mut self, block: BlockId, cases: &[(u128, BlockId)]) {
        if cases.len() > MOST_IN_A_ROW {
            let (low, high) = cases.split_at(cases.len() / 2);
            let next = [self.next_to(block), self.next_to(block)];
            self.branch(block, IntPredicate::Ult, high[0].0, next);
            self.among(next[0], low);
            return self.among(next[1], high);
        }
        match cases {
            [] => self.finish(block, Op::Br(self.default)),
            [(case, to), rest @ ..] => {
                let next = if rest.is_empty() { self.default } else { self.next_to(block) };
                if next == *to {
                    return self.finish(block, Op::Br(next));
                }
                self.branch(block, IntPredicate::Eq, *case, [*to, next]);
                if !rest.is_empty() {
                    self.among(next, rest);
                }
            }
        }
    }

    fn branch(&mut self, block: BlockId, predicate: IntPredicate, case: u128, to: [BlockId; 2]) {
        let case = self.module.constants.int(self.ty, self.bits, case);
        let compare = Op::ICmp(predicate, InstFlags::empty(), [self.value, case.into()]);
        let compare = self.body.push(block, compare, TypeId::I1);
        self.body[compare].loc = self.loc;
        let condition = self.body.result(compare);
        self.finish(block, Op::CondBr(condition.into(), to));
    }

    fn finish(&mut self, block: BlockId, op: Op) {
        op.for_each_successor(|next| self.edges.push((block, next)));
        let inst = self.body.push(block, op, TypeId::VOID);
        self.body[inst].loc = self.loc;
    }

    /// A new block behind `block`.
    fn next_to(&mut self, block: BlockId) -> BlockId {
        let made = self.body.make_block();
        let at = self.body.layout.iter().position(|&other| other == block).map_or(self.body.layout.len(), |at| at + 1);
        self.body.layout.insert(at, made);
        made
    }
}

/// Tells the `phi`s where what came from `origin` comes from now.
fn move_edges(body: &mut Body, origin: BlockId, edges: &[(BlockId, BlockId)]) {
    let mut targets: Vec<BlockId> = edges.iter().map(|&(_, to)| to).collect();
    targets.sort_unstable();
    targets.dedup();
    for target in targets {
        for at in 0..body[target].insts.len() {
            let inst = body[target].insts[at];
            let Op::Phi(incoming) = &mut body[inst].op else { break };
            let Some(place) = incoming.iter().position(|(from, _)| *from == origin) else { continue };
            let (_, value) = incoming[place];
            incoming.retain(|(from, _)| *from != origin);
            let mut from: Vec<BlockId> = edges.iter().filter(|(_, to)| *to == target).map(|&(from, _)| from).collect();
            from.dedup();
            incoming.extend(from.into_iter().map(|from| (from, value)));
        }
    }
}
