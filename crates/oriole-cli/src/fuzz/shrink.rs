//! Cutting a program down while it still shows what it showed.

use super::program::{Count, Operand, Program, Statement};

/// Tries that a program is worth; each runs all sides.
const TRIES: usize = 3000;

/// The smallest program found for which `shows` still holds. `program` itself must show it.
pub(crate) fn shrink(program: &Program, shows: impl Fn(&Program) -> bool) -> Program {
    let mut best = program.clone();
    let mut tries = TRIES;
    let mut attempt = |candidate: Program, best: &mut Program| {
        if tries == 0 || candidate == *best {
            return false;
        }
        tries -= 1;
        let better = shows(&candidate);
        if better {
            *best = candidate;
        }
        better
    };
    loop {
        let before = best.clone();
        launch_is_cut_down(&mut best, &mut attempt);
        for body in 0..=best.functions.len() {
            let mut chunk = body_of(&best, body).len();
            while chunk > 0 {
                runs_go(&mut best, body, chunk, &mut attempt);
                chunk /= 2;
            }
            statements_get_simpler(&mut best, body, &mut attempt);
        }
        if best == before {
            return best;
        }
    }
}

type Attempt<'a> = dyn FnMut(Program, &mut Program) -> bool + 'a;

/// Body number `at`: the functions', then the kernel's.
fn body_of(program: &Program, at: usize) -> &Vec<Statement> {
    program.functions.get(at).unwrap_or(&program.body)
}

fn body_of_mut(program: &mut Program, at: usize) -> &mut Vec<Statement> {
    match at < program.functions.len() {
        true => &mut program.functions[at],
        false => &mut program.body,
    }
}

fn launch_is_cut_down(best: &mut Program, attempt: &mut Attempt<'_>) {
    let smaller = Program { blocks: 1, ..best.clone() };
    attempt(smaller, best);
    let smaller = Program { threads: 32, ..best.clone() };
    attempt(smaller, best);
    let smaller = Program { uniform: 0, ..best.clone() };
    attempt(smaller, best);
}

/// Takes out runs of `chunk` statements, from the end of a body to its start.
fn runs_go(best: &mut Program, body: usize, chunk: usize, attempt: &mut Attempt<'_>) {
    let mut end = body_of(best, body).len();
    while end > 0 {
        let start = end.saturating_sub(chunk);
        let mut candidate = best.clone();
        body_of_mut(&mut candidate, body).drain(start..end);
        attempt(candidate, best);
        end = start.min(body_of(best, body).len());
    }
}

/// Replaces each statement by a simpler one, or by what is inside of it.
fn statements_get_simpler(best: &mut Program, body: usize, attempt: &mut Attempt<'_>) {
    let mut at = 0;
    while let Some(statement) = body_of(best, body).get(at) {
        let mut replaced = false;
        for simpler in simpler(statement) {
            let mut candidate = best.clone();
            body_of_mut(&mut candidate, body).splice(at..=at, simpler);
            if attempt(candidate, best) {
                replaced = true;
                break;
            }
        }
        at += usize::from(!replaced);
    }
}

/// What may stand in a statement's place.
fn simpler(statement: &Statement) -> Vec<Vec<Statement>> {
    match statement {
        Statement::If { condition, then, otherwise } => {
            let mut all = vec![then.clone(), otherwise.clone()];
            all.extend(simpler_bodies(then, |then| Statement::If {
                condition: *condition,
                then,
                otherwise: otherwise.clone(),
            }));
            all.extend(simpler_bodies(otherwise, |otherwise| Statement::If {
                condition: *condition,
                then: then.clone(),
                otherwise,
            }));
            all
        }
        Statement::Loop { count, body } => {
            let mut all = vec![body.clone()];
            if *count != Count::Constant(1) {
                all.push(vec![Statement::Loop { count: Count::Constant(1), body: body.clone() }]);
            }
            all.extend(simpler_bodies(body, |body| Statement::Loop { count: *count, body }));
            all
        }
        Statement::Switch { selector, arms } => {
            let mut all: Vec<Vec<Statement>> = arms.clone();
            for (number, arm) in arms.iter().enumerate() {
                all.extend(simpler_bodies(arm, |body| {
                    let mut arms = arms.clone();
                    arms[number] = body;
                    Statement::Switch { selector: *selector, arms }
                }));
            }
            all
        }
        Statement::Inst { text, operands, guard, finish } => {
            let inst = |operands, guard| vec![Statement::Inst { text: text.clone(), operands, guard, finish: *finish }];
            let mut all = Vec::new();
            if guard.is_some() {
                all.push(inst(operands.clone(), None));
            }
            for (number, (operand, _)) in operands.iter().enumerate() {
                if let Operand::Integer(value) = operand
                    && *value > 1
                {
                    let mut operands = operands.clone();
                    operands[number].0 = Operand::Integer(value & 1);
                    all.push(inst(operands, *guard));
                }
            }
            all
        }
        _ => Vec::new(),
    }
}

/// A body without one of its statements, or with one of them simpler.
fn simpler_bodies<'b>(
    body: &'b [Statement],
    around: impl Fn(Vec<Statement>) -> Statement + 'b,
) -> impl Iterator<Item = Vec<Statement>> + 'b {
    let changes = body.iter().enumerate().flat_map(|(at, statement)| {
        let gone = std::iter::once(Vec::new());
        gone.chain(simpler(statement)).map(move |with| (at, with))
    });
    changes.map(move |(at, with)| {
        let mut changed = body.to_vec();
        changed.splice(at..=at, with);
        vec![around(changed)]
    })
}

#[cfg(test)]
mod tests {
    use super::super::generate::{Limits, program};
    use super::*;

    fn mentions(body: &[Statement], opcode: &str) -> bool {
        body.iter().any(|statement| match statement {
            Statement::Inst { text, .. } => text.starts_with(opcode),
            Statement::If { then, otherwise, .. } => mentions(then, opcode) || mentions(otherwise, opcode),
            Statement::Loop { body, .. } => mentions(body, opcode),
            Statement::Switch { arms, .. } => arms.iter().any(|arm| mentions(arm, opcode)),
            _ => false,
        })
    }

    /// Whatever the reason, nothing but the reason is left.
    #[test]
    fn one_statement_is_left_where_one_is_at_fault() {
        let limits = Limits { target: 90, statements: 60 };
        let shows = |program: &Program| mentions(&program.body, "mad");
        let mut seen = 0;
        for seed in 0..40 {
            let large = program("k", seed, limits);
            if shows(&large) {
                let small = shrink(&large, shows);
                assert_eq!((small.size(), small.threads, small.blocks), (1, 32, 1), "{small:?}");
                seen += 1;
            }
        }
        assert!(seen > 10, "{seen} programs had the instruction");
    }
}
