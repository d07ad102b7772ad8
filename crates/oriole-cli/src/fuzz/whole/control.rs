//! Control flow: two ways, loops, what leaves them, switches and graphs.

use super::super::program::{Condition, Count, Reg};
use super::emit::{Emitter, Frame, Masked};
use super::tree::{Judged, Jump, Shape, Statement, Test, escapes};

fn not(condition: Condition) -> Condition {
    Condition { negated: !condition.negated, ..condition }
}

impl Emitter<'_> {
    pub(super) fn branch(&mut self, test: Test, vote: bool, then: &[Statement], otherwise: &[Statement]) {
        let (other, end) = (self.label(), self.label());
        let condition = self.test(test);
        let together = matches!(test, Test::Uniform { .. }) && self.is_kernel();
        let mask = self.here.mask.clone();
        let masks = match &mask {
            Some(mask) if together => (Some(mask.clone()), Some(mask.clone())),
            Some(mask) if vote => {
                let then = self.ballot(condition, mask);
                let rest = self.mask_register();
                self.line(format_args!("not.b32 {rest}, {then}; and.b32 {rest}, {rest}, {mask};"));
                (Some(then), Some(rest))
            }
            _ => (None, None),
        };
        let uniform = self.here.uniform;
        self.here.uniform &= together;
        let start = self.here.clone();
        self.line(format_args!("@{} bra {other};", not(condition)));
        self.here.mask = masks.0;
        self.inner(then, false);
        let after_then = self.here.clone();
        if !otherwise.is_empty() && !after_then.dead {
            self.line(format_args!("bra {end};"));
        }
        self.line(format_args!("{other}:"));
        self.here = start;
        self.here.mask = masks.1;
        self.inner(otherwise, false);
        let after_other = self.here.clone();
        if !otherwise.is_empty() {
            self.line(format_args!("{end}:"));
        }
        self.meet(&after_then, &after_other);
        self.here.mask = mask;
        self.here.uniform = uniform;
    }

    pub(super) fn counted(&mut self, statement: &Statement) {
        let Statement::Loop { shape, count, vote, body } = statement else { return };
        let counter = self.counter();
        match count {
            Count::Constant(times) => self.line(format_args!("mov.u32 {counter}, {times};")),
            Count::Register(reg, mask) => {
                let reg = self.read(*reg);
                self.line(format_args!("and.b32 {counter}, {reg}, {mask};"));
            }
        }
        let same_rounds = matches!(count, Count::Constant(_)) && escapes(body).is_empty();
        let (mask, uniform) = (self.here.mask.clone(), self.here.uniform);
        let masked = mask.clone().filter(|_| *vote && leaves_directly(body)).map(|mask| self.masked(&mask, &counter));
        self.here.mask = match &masked {
            Some(masked) => Some(masked.mask.clone()),
            None => mask.clone().filter(|_| same_rounds),
        };
        self.here.uniform &= same_rounds;
        let judged = self.tree.judged;
        self.here.carry &= body.iter().all(|inner| keeps_carry(inner, judged));
        let (head, end) = (self.label(), self.label());
        let next = if *shape == Shape::Header { head.clone() } else { self.label() };
        self.here.loops.push(Frame { next: next.clone(), end: end.clone(), masked: masked.clone() });
        let start = self.here.clone();
        self.line(format_args!("{head}:"));
        if *shape != Shape::Until {
            self.round_test(&counter, masked.as_ref(), true, &end);
        }
        if *shape == Shape::Header {
            self.line(format_args!("sub.u32 {counter}, {counter}, 1;"));
        }
        self.inner(body, true);
        if *shape != Shape::Header {
            self.line(format_args!("{next}:"));
            self.line(format_args!("sub.u32 {counter}, {counter}, 1;"));
        }
        match shape {
            Shape::Until => self.round_test(&counter, masked.as_ref(), false, &head),
            Shape::Bottom | Shape::Header => self.line(format_args!("bra {head};")),
        }
        self.line(format_args!("{end}:"));
        self.here = start;
        self.here.loops.pop();
        self.here.mask = mask;
        self.here.uniform = uniform;
    }

    /// The registers with the threads of a loop.
    fn masked(&mut self, mask: &str, counter: &str) -> Masked {
        let register = self.mask_register();
        let flag = format!("%f{}", self.masks);
        self.line(format_args!("mov.b32 {register}, {mask}; setp.ne.u32 {flag}, {counter}, {counter};"));
        Masked { mask: register, flag, continued: false }
    }

    /// Leaves where no rounds are left (`at_top`), or goes back where there are.
    fn round_test(&mut self, counter: &str, masked: Option<&Masked>, at_top: bool, label: &str) {
        let compare = if at_top { "eq" } else { "gt" };
        self.line(format_args!("setp.{compare}.s32 %sp, {counter}, 0;"));
        if let Some(Masked { mask, flag, .. }) = masked {
            let (combine, stays) = if at_top { ("or.pred %sp, %sp,", "!%sp") } else { ("and.pred %sp, %sp,", "%sp") };
            match at_top {
                true => self.line(format_args!("{combine} {flag};")),
                false => self.line(format_args!("not.pred {flag}, {flag}; {combine} {flag}; not.pred {flag}, {flag};")),
            }
            self.line(format_args!("vote.sync.ballot.b32 {mask}, {stays}, {mask};"));
        }
        self.line(format_args!("@%sp bra {label};"));
    }

    /// `break` or `continue`. Says whether the mask is right behind it.
    pub(super) fn leave(&mut self, guard: Option<Condition>, up: usize, ends: bool, direct: bool) -> bool {
        let Some(at) = self.here.loops.len().checked_sub(up + 1) else { return true };
        let frame = self.here.loops[at].clone();
        let mask = self.here.mask.clone();
        let known = mask.zip(frame.masked.clone()).filter(|_| up == 0 && direct);
        let Some((mask, masked)) = known else {
            let target = if ends { &frame.end } else { &frame.next };
            let guard_text = self.guard(guard);
            self.line(format_args!("{guard_text}bra {target};"));
            self.here.dead |= guard.is_none();
            return false;
        };
        let Some(guard) = guard else {
            // All that are here leave.
            match (ends, masked.continued) {
                (true, true) => {
                    self.line(format_args!("setp.eq.u32 {}, 0, 0; bra {};", masked.flag, frame.next));
                }
                (true, false) => self.line(format_args!("bra {};", frame.end)),
                (false, _) => self.line(format_args!("bra {};", frame.next)),
            }
            self.here.dead = true;
            self.here.mask = None;
            return true;
        };
        let guard = self.read_condition(guard);
        let stay = self.ballot(not(guard), &mask);
        match (ends, masked.continued) {
            (true, true) => {
                self.line(format_args!("@{guard} setp.eq.u32 {}, 0, 0; @{guard} bra {};", masked.flag, frame.next))
            }
            (true, false) => {
                self.line(format_args!("mov.b32 {}, {stay}; @{guard} bra {};", masked.mask, frame.end));
            }
            (false, _) => {
                self.line(format_args!("@{guard} bra {};", frame.next));
                if let Some(masked) = &mut self.here.loops[at].masked {
                    masked.continued = true;
                }
            }
        }
        self.here.mask = Some(stay);
        true
    }

    pub(super) fn switch(&mut self, selector: Reg, labels: &[usize], sparse: bool, arms: &[Vec<Statement>]) {
        if arms.is_empty() || labels.is_empty() {
            return;
        }
        let selector = self.read(selector);
        let names: Vec<String> = arms.iter().map(|_| self.label()).collect();
        let end = self.label();
        let (mask, uniform) = (self.here.mask.take(), self.here.uniform);
        self.here.uniform = false;
        let name_of = |label: &usize| names[label % names.len()].as_str();
        match sparse {
            true => {
                for (number, label) in labels.iter().enumerate().skip(1) {
                    // Far from each other, so that no table comes of it.
                    let value = (number as u32).wrapping_mul(0x3d1) & 0xffff;
                    self.line(format_args!(
                        "and.b32 %sw0, {selector}, {}; mul.lo.u32 %sw0, %sw0, 0x3d1;",
                        labels.len().next_power_of_two() - 1
                    ));
                    self.line(format_args!("setp.eq.u32 %sp, %sw0, {value}; @%sp bra {};", name_of(label)));
                }
                self.line(format_args!("bra {};", name_of(&labels[0])));
            }
            false => {
                let table = self.label();
                let list: Vec<&str> = labels.iter().map(name_of).collect();
                self.line(format_args!("and.b32 %sw0, {selector}, {};", labels.len().next_power_of_two() - 1));
                if !labels.len().is_power_of_two() {
                    self.line(format_args!("min.u32 %sw0, %sw0, {};", labels.len() - 1));
                }
                self.line(format_args!("{table}: .branchtargets {};", list.join(", ")));
                self.line(format_args!("brx.idx %sw0, {table};"));
            }
        }
        let start = self.here.clone();
        let mut after: Option<super::emit::Here> = None;
        for (arm, name) in arms.iter().zip(&names) {
            self.line(format_args!("{name}:"));
            self.here = start.clone();
            self.inner(arm, false);
            if !self.here.dead {
                self.line(format_args!("bra {end};"));
            }
            let this = self.here.clone();
            if let Some(before) = &after {
                self.meet(before, &this);
            }
            after = Some(self.here.clone());
        }
        self.line(format_args!("{end}:"));
        self.here.mask = mask;
        self.here.uniform = uniform;
    }

    pub(super) fn graph(&mut self, blocks: &[(Vec<Statement>, Jump)], fuel: u32) {
        let names: Vec<String> = blocks.iter().map(|_| self.label()).collect();
        let end = self.label();
        let counter = self.counter();
        let (mask, uniform) = (self.here.mask.take(), self.here.uniform);
        self.here.uniform = false;
        self.here.carry = false;
        self.line(format_args!("mov.u32 {counter}, {fuel};"));
        let start = self.here.clone();
        let name_of = |block: usize| names.get(block).unwrap_or(&end).as_str();
        for (number, (body, jump)) in blocks.iter().enumerate() {
            self.line(format_args!("{}:", names[number]));
            self.here = start.clone();
            self.inner(body, false);
            if self.here.dead {
                continue;
            }
            if let Some((condition, to)) = jump.taken {
                let condition = self.read_condition(condition);
                match to <= number {
                    // Going back needs fuel.
                    true => {
                        self.line(format_args!("sub.s32 {counter}, {counter}, 1;"));
                        self.line(format_args!("setp.gt.and.s32 %sp, {counter}, 0, {condition};"));
                        self.line(format_args!("@%sp bra {};", name_of(to)));
                    }
                    false => self.line(format_args!("@{condition} bra {};", name_of(to))),
                }
            }
            match jump.otherwise {
                to if to <= number => {
                    self.line(format_args!("sub.s32 {counter}, {counter}, 1;"));
                    self.line(format_args!("setp.gt.s32 %sp, {counter}, 0; @%sp bra {};", name_of(to)));
                    self.line(format_args!("bra {end};"));
                }
                to if to == number + 1 => {}
                to => self.line(format_args!("bra {};", name_of(to))),
            }
        }
        self.line(format_args!("{end}:"));
        self.here = start;
        self.here.mask = mask;
        self.here.uniform = uniform;
    }
}

/// Nothing leaves the body but what stands in it directly and means the loop itself.
fn leaves_directly(body: &[Statement]) -> bool {
    body.iter().all(|statement| match statement {
        Statement::Break { up: 0, .. } | Statement::Continue { up: 0, .. } => true,
        _ => escapes(std::slice::from_ref(statement)).is_empty(),
    })
}

/// A round with this statement leaves the carry flag set.
fn keeps_carry(statement: &Statement, judged: Judged) -> bool {
    !statement.any(&|inner| match inner {
        Statement::Inst { text, .. } => super::emit::loses_carry(text, judged),
        Statement::Call { .. } | Statement::Graph { .. } => true,
        _ => false,
    })
}
