//! Makes a module smaller while it stays interesting.

use cranelift_entity::EntityRef;
use oriole_nvptx::ir::{BlockId, Body, Constant, InstId, Module, Op, SymbolId, SymbolKind, Type, TypeId, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Attempts after which the module is small enough.
const MAX_ATTEMPTS: usize = 3000;

/// A module as small as could be found for which `interesting` holds, starting from one for which it does.
///
/// Instructions are removed, their results replaced by zeros or by an operand; branches go one way only. What comes out is
/// well formed, but nothing else is promised: `interesting` must see to it that the program still has a result.
pub fn shrink(module: &Module, interesting: &mut dyn FnMut(&Module) -> bool) -> Module {
    let mut search = Search { best: module.clone(), interesting, attempts: 0 };
    loop {
        let before = search.size();
        search.straighten();
        search.remove();
        search.forward();
        search.drop_functions();
        if search.size() == before || search.attempts >= MAX_ATTEMPTS {
            return search.best;
        }
    }
}

struct Search<'a> {
    best: Module,
    interesting: &'a mut dyn FnMut(&Module) -> bool,
    attempts: usize,
}

impl Search<'_> {
    fn size(&self) -> usize {
        self.best.definitions().map(|(_, _, _, body)| body.insts_in_order().count() + 1).sum()
    }

    fn keep_if_interesting(&mut self, candidate: Module) -> bool {
        self.attempts += 1;
        let keep = self.attempts < MAX_ATTEMPTS && (self.interesting)(&candidate);
        if keep {
            self.best = candidate;
        }
        keep
    }

    fn functions(&self) -> Vec<SymbolId> {
        self.best.definitions().map(|(id, ..)| id).collect()
    }

    /// Branches that go one way only.
    fn straighten(&mut self) {
        for function in self.functions() {
            let Some(body) = body(&self.best, function) else { continue };
            for block in body.layout.clone() {
                for target in self.targets(function, block) {
                    let mut candidate = self.best.clone();
                    if go_one_way(&mut candidate, function, block, target) && self.keep_if_interesting(candidate) {
                        break;
                    }
                }
            }
        }
    }

    fn targets(&self, function: SymbolId, block: BlockId) -> Vec<BlockId> {
        match body(&self.best, function) {
            Some(body) if body.layout.contains(&block) => body.successors(block).to_vec(),
            _ => Vec::new(),
        }
    }

    /// Instructions that are not needed, many at once and then fewer.
    fn remove(&mut self) {
        for function in self.functions() {
            let all = removable(&self.best, function);
            let mut step = all.len().next_power_of_two() / 2;
            while step > 0 {
                // From the end: what comes last is read least.
                for chunk in removable(&self.best, function).rchunks(step) {
                    let mut candidate = self.best.clone();
                    replace_by_zero(&mut candidate, function, chunk);
                    self.keep_if_interesting(candidate);
                }
                step /= 2;
            }
        }
    }

    /// Results that an operand of the same type can stand for.
    fn forward(&mut self) {
        for function in self.functions() {
            for inst in removable(&self.best, function) {
                let Some(body) = body(&self.best, function) else { break };
                let Some(result) = body[inst].result.expand() else { continue };
                let mut operands = Vec::new();
                body[inst].op.for_each_value(|value| operands.push(value));
                let same = |value: &Value| {
                    value.local().is_some_and(|id| id != result && body.local_type(id) == body[inst].ty)
                };
                let is_phi = matches!(body[inst].op, Op::Phi(_));
                let operands: Vec<Value> = operands.into_iter().filter(same).filter(|_| !is_phi).collect();
                for operand in operands {
                    let mut candidate = self.best.clone();
                    let map = FxHashMap::from_iter([(result, operand)]);
                    if let Some(body) = body_mut(&mut candidate, function) {
                        body.replace_values(&map);
                        take_out(body, &FxHashSet::from_iter([inst]));
                    }
                    if self.keep_if_interesting(candidate) {
                        break;
                    }
                }
            }
        }
    }

    /// Functions that nothing calls any more.
    fn drop_functions(&mut self) {
        let used: FxHashSet<SymbolId> =
            self.best.definitions().flat_map(|(_, _, _, body)| symbols_of(&self.best, body)).collect();
        let unused: Vec<SymbolId> =
            self.best.symbols.keys().filter(|id| !used.contains(id) && &*self.best.symbols[*id].name != "k").collect();
        let mut candidate = self.best.clone();
        for id in unused {
            if let SymbolKind::Function(function) = &mut candidate.symbols[id].kind {
                function.body = None;
            }
        }
        self.keep_if_interesting(candidate);
    }
}

fn body(module: &Module, function: SymbolId) -> Option<&Body> {
    module.symbols[function].function()?.body.as_deref()
}

fn body_mut(module: &mut Module, function: SymbolId) -> Option<&mut Body> {
    module.symbols[function].function_mut()?.body.as_deref_mut()
}

/// Symbols that instructions name as operands.
fn symbols_of(module: &Module, body: &Body) -> Vec<SymbolId> {
    let mut found = Vec::new();
    for (_, inst) in body.insts_in_order() {
        body[inst].op.for_each_value(|value| {
            if let Some(Constant::Symbol(_, id)) = value.constant().map(|id| &module.constants[id]) {
                found.push(*id);
            }
        });
    }
    found
}

/// Instructions that zeros can stand for: all but terminators and those whose result has no zero.
fn removable(module: &Module, function: SymbolId) -> Vec<InstId> {
    let Some(body) = body(module, function) else { return Vec::new() };
    let fits = |inst: &InstId| !body[*inst].op.is_terminator() && !matches!(module.types[body[*inst].ty], Type::Token);
    body.insts_in_order().map(|(_, inst)| inst).filter(fits).collect()
}

fn zero(module: &mut Module, ty: TypeId) -> Value {
    let constant = match &module.types[ty] {
        Type::Int(_) => Constant::Int(ty, 0),
        Type::Pointer(_) => Constant::Null(ty),
        other if module.types.is_float(ty) && !matches!(other, Type::OtherFloat(_)) => Constant::Float(ty, 0),
        _ => Constant::Zero(ty),
    };
    module.constants.intern(constant).into()
}

fn replace_by_zero(module: &mut Module, function: SymbolId, insts: &[InstId]) {
    let Some(own) = body(module, function) else { return };
    let results: Vec<_> = insts.iter().filter_map(|&inst| Some((own[inst].result.expand()?, own[inst].ty))).collect();
    let map: FxHashMap<_, _> = results.into_iter().map(|(result, ty)| (result, zero(module, ty))).collect();
    if let Some(body) = body_mut(module, function) {
        body.replace_values(&map);
        take_out(body, &insts.iter().copied().collect());
    }
}

fn take_out(body: &mut Body, insts: &FxHashSet<InstId>) {
    for block in body.layout.clone() {
        body[block].insts.retain(|inst| !insts.contains(inst));
    }
}

/// Makes a block end with a plain branch; blocks that are not reached any more go. False if it does so already.
fn go_one_way(module: &mut Module, function: SymbolId, block: BlockId, target: BlockId) -> bool {
    let Some(body) = body_mut(module, function) else { return false };
    let Some(end) = body.terminator(block) else { return false };
    if matches!(body[end].op, Op::Br(_)) {
        return false;
    }
    body[end].op = Op::Br(target);
    let mut reached = vec![false; body.block_count()];
    let mut open = vec![body.layout[0]];
    while let Some(next) = open.pop() {
        if !std::mem::replace(&mut reached[next.index()], true) {
            open.extend(body.successors(next));
        }
    }
    body.layout.retain(|block| reached[block.index()]);
    let predecessors = body.predecessors();
    let layout = body.layout.clone();
    for block in layout {
        for inst in body[block].insts.clone() {
            if let Op::Phi(incoming) = &mut body[inst].op {
                incoming.retain(|(from, _)| reached[from.index()] && predecessors[block].contains(from));
            }
        }
    }
    true
}
