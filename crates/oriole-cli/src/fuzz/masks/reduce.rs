//! Cutting a program down while it still shows what it showed: any tree is a right program.

use super::tree::{LANES, Mask, Statement, Tree};

/// The smallest tree found for which `shows` still holds. `tree` itself must show it.
pub(in crate::fuzz) fn reduce(tree: &Tree, shows: impl Fn(&Tree) -> bool) -> Tree {
    let mut best = tree.clone();
    loop {
        let candidates = fewer_threads(&best)
            .into_iter()
            .chain(smaller_bodies(&best.body).into_iter().map(|body| Tree { body, ..best.clone() }));
        let Some(better) = candidates.filter(|candidate| *candidate != best).find(&shows) else { return best };
        best = better;
    }
}

fn fewer_threads(tree: &Tree) -> Option<Tree> {
    (tree.threads > LANES).then(|| Tree { threads: LANES, input: tree.input.clone(), ..tree.clone() })
}

/// The bodies with one statement less, or with a simpler one; large cuts first.
fn smaller_bodies(body: &[Statement]) -> Vec<Vec<Statement>> {
    let mut all = Vec::new();
    let mut chunk = body.len();
    while chunk > 0 {
        for start in (0..body.len()).step_by(chunk).rev() {
            let end = (start + chunk).min(body.len());
            all.push([&body[..start], &body[end..]].concat());
        }
        chunk /= 2;
    }
    for (at, statement) in body.iter().enumerate() {
        for simpler in simpler(statement) {
            all.push([&body[..at], &simpler[..], &body[at + 1..]].concat());
        }
    }
    all
}

/// What may stand in a statement's place.
fn simpler(statement: &Statement) -> Vec<Vec<Statement>> {
    let mut all: Vec<Vec<Statement>> = statement.bodies().into_iter().cloned().collect();
    match statement {
        Statement::If { condition, then, otherwise } => {
            let with = |then, otherwise| vec![Statement::If { condition: *condition, then, otherwise }];
            all.extend(smaller_bodies(then).into_iter().map(|then| with(then, otherwise.clone())));
            all.extend(smaller_bodies(otherwise).into_iter().map(|otherwise| with(then.clone(), otherwise)));
        }
        Statement::Loop { count, body } => {
            all.extend(smaller_bodies(body).into_iter().map(|body| vec![Statement::Loop { count: *count, body }]));
        }
        Statement::Across { exchange, .. } => {
            all.push(vec![Statement::Exchange { exchange: *exchange, guard: None, call: false }]);
        }
        Statement::Exchange { exchange, guard, call } => {
            let mut with = |exchange, guard, call| all.push(vec![Statement::Exchange { exchange, guard, call }]);
            if guard.is_some() || *call {
                with(*exchange, None, false);
            }
            for mask in [Mask::Here, Mask::Tile(16)] {
                if exchange.mask != mask && exchange.mask != Mask::Here {
                    with(super::tree::Exchange { mask, ..*exchange }, *guard, *call);
                }
            }
        }
        Statement::Mix { .. } | Statement::Exit(_) => {}
    }
    all
}
