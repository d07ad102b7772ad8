//! Where threads that part at a branch meet again: its immediate post-dominator.
//!
//! Threads that exit or trap are not waited for, so their ways count only where there is no return; nor
//! does a guarded return, whose threads meet the others behind the call.

use crate::code::{Action, Op};
use crate::pc::{NOWHERE, Pc};

/// A graph of operations: where control can go from each.
struct Graph {
    successors: Vec<Vec<Pc>>,
    predecessors: Vec<Vec<Pc>>,
}

/// Sets the meeting points of all branches.
pub(super) fn set_meeting_points(ops: &mut [Op<'_>]) {
    let parts = |op: &Op<'_>| match &op.action {
        Action::Branch { .. } => op.guard.is_some(),
        Action::BranchTable { .. } => true,
        _ => false,
    };
    if !ops.iter().any(parts) {
        return;
    }
    let post_dominators = post_dominators(ops);
    for (op, found) in ops.iter_mut().zip(post_dominators) {
        if let Action::Branch { meet, .. } | Action::BranchTable { meet, .. } = &mut op.action {
            *meet = found;
        }
    }
}

fn successors(at: Pc, op: &Op<'_>) -> Vec<Pc> {
    let mut to = match &op.action {
        Action::Branch { target, .. } => vec![*target],
        Action::BranchTable { targets, .. } => targets.clone(),
        Action::Return | Action::Exit | Action::Trap => Vec::new(),
        _ => return vec![at + 1],
    };
    if op.guard.is_some() {
        to.push(at + 1);
    }
    to
}

impl Graph {
    fn new(ops: &[Op<'_>]) -> Graph {
        let successors: Vec<Vec<Pc>> = (0..).zip(ops).map(|(at, op)| successors(at, op)).collect();
        let mut predecessors = vec![Vec::new(); ops.len()];
        for (from, to) in (0..).zip(&successors) {
            to.iter().for_each(|&to| predecessors[to as usize].push(from));
        }
        Graph { successors, predecessors }
    }

    /// The operations that can be reached from the start.
    fn reachable(&self) -> Vec<bool> {
        let mut seen = vec![false; self.successors.len()];
        let mut open = vec![0];
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut seen[at as usize], true) {
                open.extend(&self.successors[at as usize]);
            }
        }
        seen
    }

    /// The operations from which an end can be reached, those before their predecessors (postorder of
    /// the reversed graph, turned round).
    fn backwards_from(&self, ends: &[Pc]) -> Vec<Pc> {
        let mut order = Vec::new();
        let mut seen = vec![false; self.predecessors.len()];
        for &end in ends {
            let mut open = vec![(end, 0)];
            seen[end as usize] = true;
            while let Some((at, next)) = open.last_mut() {
                match self.predecessors[*at as usize].get(*next) {
                    Some(&before) => {
                        *next += 1;
                        if !std::mem::replace(&mut seen[before as usize], true) {
                            open.push((before, 0));
                        }
                    }
                    None => {
                        order.push(*at);
                        open.pop();
                    }
                }
            }
        }
        order.reverse();
        order
    }
}

/// The operations at which threads end that others wait for.
fn ends(ops: &[Op<'_>], reachable: &[bool]) -> Vec<Pc> {
    let of = |wanted: fn(&Action) -> bool| -> Vec<Pc> {
        let ends =
            (0..).zip(ops).filter(|(at, op)| reachable[*at as usize] && op.guard.is_none() && wanted(&op.action));
        ends.map(|(at, _)| at).collect()
    };
    let returns = of(|action| matches!(action, Action::Return));
    if returns.is_empty() { of(|action| matches!(action, Action::Exit | Action::Trap)) } else { returns }
}

/// The immediate post-dominator of each operation; [`NOWHERE`] where that is the end of the function.
///
/// The algorithm of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm", 2001) on the
/// reversed graph.
fn post_dominators(ops: &[Op<'_>]) -> Vec<Pc> {
    let graph = Graph::new(ops);
    let ends = ends(ops, &graph.reachable());
    let order = graph.backwards_from(&ends);
    // Ranks in `order`; the end of the function, which follows all ends, has rank 0.
    let mut rank = vec![usize::MAX; ops.len()];
    (1..).zip(&order).for_each(|(number, &at)| rank[at as usize] = number);
    const UNKNOWN: usize = usize::MAX;
    let mut dominator = vec![UNKNOWN; order.len() + 1];
    dominator[0] = 0;
    let mut changed = true;
    while changed {
        changed = false;
        for (number, &at) in (1..).zip(&order) {
            let after = graph.successors[at as usize].iter().map(|&to| rank[to as usize]);
            let after = after.filter(|&to| to != usize::MAX && dominator[to] != UNKNOWN);
            let end = ends.contains(&at).then_some(0);
            let meet = |a, b| intersect(&dominator, a, b);
            let new = end.into_iter().chain(after).reduce(meet).unwrap_or(UNKNOWN);
            if dominator[number] != new {
                dominator[number] = new;
                changed = true;
            }
        }
    }
    let place = |at: usize| match rank[at] {
        usize::MAX => NOWHERE,
        number => match dominator[number] {
            0 | UNKNOWN => NOWHERE,
            found => order[found - 1],
        },
    };
    (0..ops.len()).map(place).collect()
}

fn intersect(dominator: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        match a > b {
            true => a = dominator[a],
            false => b = dominator[b],
        }
    }
    a
}
