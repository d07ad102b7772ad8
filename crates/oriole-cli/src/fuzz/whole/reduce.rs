//! Cuts a tree down while it still shows what it showed. Any tree is a right program, so that nothing has to be
//! checked but that.

use super::super::program::{Count, Operand};
use super::tree::{Cell, Judged, Jump, Place, Shape, Statement, Tree};

/// Tries that a program is worth; each runs all sides.
const TRIES: usize = 4000;

/// The smallest tree found for which `shows` still holds. `tree` itself must show it.
pub(in crate::fuzz) fn reduce(tree: &Tree, shows: impl Fn(&Tree) -> bool) -> Tree {
    let mut reducer = Reducer { best: tree.clone(), tries: TRIES, shows };
    loop {
        let before = reducer.best.clone();
        reducer.launch();
        let mut at = 0;
        while at < count_bodies(&reducer.best) {
            reducer.runs_go(at);
            at += 1;
        }
        let mut at = 0;
        while at < count_bodies(&reducer.best) {
            reducer.statements_get_simpler(at);
            at += 1;
        }
        reducer.kept_registers_go();
        reducer.signatures_get_simpler();
        if reducer.best == before {
            return before;
        }
    }
}

struct Reducer<F> {
    best: Tree,
    tries: usize,
    shows: F,
}

impl<F: Fn(&Tree) -> bool> Reducer<F> {
    fn attempt(&mut self, change: impl FnOnce(&mut Tree)) -> bool {
        let mut candidate = self.best.clone();
        change(&mut candidate);
        if self.tries == 0
            || candidate == self.best
            || candidate.module() == self.best.module() && candidate.plan() == self.best.plan()
        {
            // What prints the same is as good, and smaller.
            let same_text = self.tries > 0 && candidate != self.best;
            if same_text {
                self.best = candidate;
            }
            return same_text;
        }
        self.tries -= 1;
        let better = (self.shows)(&candidate);
        if better {
            self.best = candidate;
        }
        better
    }

    fn launch(&mut self) {
        self.attempt(|tree| tree.cluster = false);
        self.attempt(|tree| tree.blocks = 1);
        self.attempt(|tree| tree.threads = 32);
        self.attempt(|tree| tree.uniform = 0);
        self.attempt(|tree| tree.seed = 1);
        if self.best.judged == Judged::ByOptimised {
            self.attempt(|tree| tree.judged = Judged::ByPlain);
        }
    }

    fn kept_registers_go(&mut self) {
        for at in (0..self.best.kept.len()).rev() {
            self.attempt(|tree| {
                tree.kept.remove(at);
            });
        }
    }

    fn signatures_get_simpler(&mut self) {
        for at in 0..self.best.functions.len() {
            // The functions of the table have one signature.
            let all = if at < self.best.table { 0..self.best.table } else { at..at + 1 };
            self.attempt(|tree| tree.functions[all.clone()].iter_mut().for_each(|f| f.signature.memory = false));
            self.attempt(|tree| tree.functions[all.clone()].iter_mut().for_each(|f| f.signature.warp = false));
            self.attempt(|tree| tree.functions[all.clone()].iter_mut().for_each(|f| f.signature.recursive = false));
        }
    }

    /// Takes runs of statements out of body number `at`, long ones first, from its end to its start.
    fn runs_go(&mut self, at: usize) {
        let length = |tree: &Tree| body(tree, at).map_or(0, Vec::len);
        let mut chunk = length(&self.best);
        while chunk > 0 {
            let mut end = length(&self.best);
            while end > 0 {
                let start = end.saturating_sub(chunk);
                self.attempt(|tree| {
                    if let Some(body) = body_mut(tree, at) {
                        body.drain(start..end);
                    }
                });
                end = start.min(length(&self.best));
            }
            chunk /= 2;
        }
    }

    fn statements_get_simpler(&mut self, at: usize) {
        let mut place = 0;
        while let Some(statement) = body(&self.best, at).and_then(|body| body.get(place)).cloned() {
            let better = simpler(&statement).into_iter().any(|with| {
                self.attempt(|tree| {
                    if let Some(body) = body_mut(tree, at) {
                        body.splice(place..=place, with);
                    }
                })
            });
            place += usize::from(!better);
        }
    }
}

/// All bodies: the functions', the kernel's, each followed by those inside of it.
fn count_bodies(tree: &Tree) -> usize {
    fn inside(body: &[Statement]) -> usize {
        1 + body.iter().flat_map(Statement::bodies).map(|body| inside(body)).sum::<usize>()
    }
    tree.functions.iter().map(|function| inside(&function.body)).sum::<usize>() + inside(&tree.body)
}

fn body(tree: &Tree, at: usize) -> Option<&Vec<Statement>> {
    fn find<'t>(body: &'t Vec<Statement>, left: &mut usize) -> Option<&'t Vec<Statement>> {
        if *left == 0 {
            return Some(body);
        }
        *left -= 1;
        body.iter().flat_map(Statement::bodies).find_map(|inner| find(inner, left))
    }
    let mut left = at;
    let bodies = tree.functions.iter().map(|function| &function.body).chain([&tree.body]);
    bodies.into_iter().find_map(|body| find(body, &mut left))
}

fn body_mut(tree: &mut Tree, at: usize) -> Option<&mut Vec<Statement>> {
    fn find<'t>(body: &'t mut Vec<Statement>, left: &mut usize) -> Option<&'t mut Vec<Statement>> {
        if *left == 0 {
            return Some(body);
        }
        *left -= 1;
        body.iter_mut().flat_map(Statement::bodies_mut).find_map(|inner| find(inner, left))
    }
    let mut left = at;
    let bodies = tree.functions.iter_mut().map(|function| &mut function.body).chain([&mut tree.body]);
    bodies.into_iter().find_map(|body| find(body, &mut left))
}

/// Each makes the fields of a statement simpler in one way.
const FIELDS: [fn(&mut Statement); 5] = [
    |statement| match statement {
        Statement::If { vote, .. } | Statement::Loop { vote, .. } => *vote = false,
        Statement::Switch { sparse, .. } => *sparse = false,
        Statement::Graph { fuel, .. } => *fuel = 1,
        Statement::Memory { index, .. } => *index = None,
        Statement::Atomic { cell, .. } => *cell = Cell::Global,
        Statement::Break { up, .. } | Statement::Continue { up, .. } => *up = 0,
        _ => {}
    },
    |statement| match statement {
        Statement::Inst { guard, .. }
        | Statement::Call { guard, .. }
        | Statement::Memory { guard, .. }
        | Statement::Vector { guard, .. }
        | Statement::Carry { guard, .. } => *guard = None,
        Statement::Loop { count, .. } => *count = Count::Constant(1),
        Statement::Switch { labels, .. } => labels.truncate((labels.len() / 2).max(1)),
        _ => {}
    },
    |statement| match statement {
        Statement::Loop { shape, .. } => *shape = Shape::Bottom,
        Statement::Memory { place, .. } => *place = Place::Local,
        _ => {}
    },
    |statement| match statement {
        Statement::Memory { regs, .. } => regs.truncate(1),
        Statement::Loop { count, .. } if *count != Count::Constant(1) => *count = Count::Constant(2),
        _ => {}
    },
    |statement| {
        if let Statement::Memory { offset, .. } = statement {
            *offset = 0;
        }
    },
];

/// What may stand in a statement's place, the simplest first.
fn simpler(statement: &Statement) -> Vec<Vec<Statement>> {
    let mut all: Vec<Vec<Statement>> = statement.bodies().into_iter().cloned().collect();
    let mut changed = |change: &dyn Fn(&mut Statement)| {
        let mut simpler = statement.clone();
        change(&mut simpler);
        if simpler != *statement {
            all.push(vec![simpler]);
        }
    };
    FIELDS.iter().for_each(|change| changed(change));
    simpler_parts(statement, &mut changed);
    all
}

/// Makes one part of a statement simpler, or takes it away: an operand, an arm, a block.
fn simpler_parts(statement: &Statement, changed: &mut impl FnMut(&dyn Fn(&mut Statement))) {
    match statement {
        Statement::Inst { operands, .. } => {
            for at in 0..operands.len() {
                changed(&|statement| {
                    if let Statement::Inst { operands, .. } = statement
                        && let Operand::Integer(value) = &mut operands[at].0
                    {
                        *value &= 1;
                    }
                });
            }
        }
        Statement::Switch { arms, .. } => {
            for at in 0..arms.len() {
                changed(&|statement| {
                    if let Statement::Switch { arms, .. } = statement
                        && arms.len() > 1
                    {
                        arms.remove(at);
                    }
                });
            }
        }
        Statement::Graph { blocks, .. } => {
            for at in 0..blocks.len() {
                changed(&|statement| {
                    if let Statement::Graph { blocks, .. } = statement {
                        blocks[at].1 = Jump { taken: None, otherwise: at + 1 };
                    }
                });
                changed(&|statement| {
                    if let Statement::Graph { blocks, .. } = statement {
                        without_block(blocks, at);
                    }
                });
            }
        }
        _ => {}
    }
}

/// Takes a block out; jumps to it go to the next.
fn without_block(blocks: &mut Vec<(Vec<Statement>, Jump)>, at: usize) {
    blocks.remove(at);
    for (_, jump) in blocks {
        let moved = |to: usize| if to > at { to - 1 } else { to };
        jump.taken = jump.taken.map(|(condition, to)| (condition, moved(to)));
        jump.otherwise = moved(jump.otherwise);
    }
}

#[cfg(test)]
mod tests {
    use super::super::generate::tree;
    use super::*;

    /// Whatever the reason, nothing but the reason is left.
    #[test]
    fn one_statement_is_left_where_one_is_at_fault() {
        let is = |statement: &Statement| matches!(statement, Statement::Inst { text, .. } if text.starts_with("mad"));
        let shows = |tree: &Tree| tree.body.iter().any(|statement| statement.any(&is));
        let mut seen = 0;
        for seed in 0..60 {
            let large = tree("k", seed, 90, 40, Judged::Alone);
            if shows(&large) {
                let small = reduce(&large, shows);
                assert_eq!(
                    (small.body.len(), small.kept.len(), small.threads, small.blocks),
                    (1, 0, 32, 1),
                    "{small:?}"
                );
                seen += 1;
            }
        }
        assert!(seen > 10, "{seen} programs had the instruction");
    }
}
