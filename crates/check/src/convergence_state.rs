//! What one thread knows of the convergence barriers at a place.

use crate::program::{Condition, Line};
use crate::uniform::Same;
use oriole_isa::{Opcode, OperandFlags, RegFile, Role, Value};

/// Convergence barriers of a warp.
pub(crate) const BARRIERS: usize = 16;

/// `[R1 + n]` among the places that values of barriers are kept in: behind the registers.
const STACK: i64 = 1 << 16;

/// Which threads do something: those for which both hold, of guard and predicate operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Threads([Condition; 2]);

impl Threads {
    const ALL: Threads = Threads([Condition::ALWAYS; 2]);

    fn one(condition: Condition) -> Threads {
        Threads([condition, Condition::ALWAYS])
    }

    /// Not all.
    pub(crate) fn are_some(self) -> bool {
        self != Threads::ALL
    }

    fn are_of_two(self) -> bool {
        self.0.iter().all(|one| one.is_known())
    }

    fn excludes(self, condition: Condition) -> bool {
        self.0.iter().any(|one| one.excludes(condition))
    }

    fn are_about(self, uniform: bool, number: u16) -> bool {
        self.0.iter().any(|one| one.is_about(uniform, number))
    }
}

/// What a barrier may hold, by the paths to a place: a bit for each possibility.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    may: u8,
    /// These threads have been taken out since.
    left: Threads,
}

impl Held {
    /// Nobody: not set, or over.
    pub(crate) const NOBODY: Held = Held { may: 1, left: Threads::ALL };
    /// What it held when the function was called.
    const CALLERS: Held = Held { may: 2, left: Threads::ALL };
    /// This thread and others.
    const THREADS: Held = Held { may: 4, left: Threads::ALL };
    /// Something that was not followed; it is not judged.
    pub(crate) const UNKNOWN: Held = Held { may: 8, left: Threads::ALL };

    /// It holds the thread on some path.
    pub(crate) fn holds(self) -> bool {
        self.may & Held::THREADS.may != 0 && self.may & Held::UNKNOWN.may == 0
    }

    /// It holds the thread on all paths.
    pub(crate) fn certainly_holds(self) -> bool {
        self == Held::THREADS
    }

    /// On some path it does not hold the thread.
    pub(crate) fn may_lack(self) -> bool {
        !self.certainly_holds() && self.may & Held::UNKNOWN.may == 0
    }

    fn join(self, other: Held) -> Held {
        if self.left == other.left {
            return Held { may: self.may | other.may, ..self };
        }
        Held { may: self.flat().may | other.flat().may, left: Threads::ALL }
    }

    /// Without knowing who has been taken out.
    fn flat(self) -> Held {
        let out = if self.left.are_some() { Held::NOBODY.may } else { 0 };
        Held { may: self.may | out, left: Threads::ALL }
    }
}

/// What is known at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// By barrier.
    pub(crate) held: [Held; BARRIERS],
    /// By barrier: those that have been set since it was, and still hold the thread on some path.
    pub(crate) inside: [u16; BARRIERS],
    /// The barriers that have been cleared and not been set since, a bit each.
    pub(crate) cleared: u16,
    /// The barriers that all threads here have left by `BREAK`, and that have not been set since.
    pub(crate) broken: u16,
    /// What registers and places on the stack hold, in order: values of barriers that were moved there.
    notes: Vec<(i64, Held)>,
    /// The registers that have one value in all threads of the warp.
    pub(crate) same: Same,
}

impl Default for State {
    /// At the start of a function.
    fn default() -> Self {
        State {
            held: [Held::CALLERS; BARRIERS],
            inside: [0; BARRIERS],
            cleared: 0,
            broken: 0,
            notes: Vec::new(),
            same: Same::NONE,
        }
    }
}

impl State {
    /// The state of the threads for which the condition holds.
    pub(crate) fn under(&self, condition: Condition) -> State {
        let mut state = self.clone();
        for barrier in 0..BARRIERS {
            let left = state.held[barrier].left;
            if left.are_some() && left == Threads::one(condition) {
                state.set(barrier, Held::NOBODY);
            } else if left.excludes(condition) {
                state.held[barrier].left = Threads::ALL;
            }
        }
        state
    }

    /// These threads jump, if they are those for which a guard and a predicate hold; the state is that of those who jump, or of the others.
    pub(crate) fn part(&mut self, threads: Threads, jumps: bool) {
        if !threads.are_of_two() {
            return;
        }
        for barrier in 0..BARRIERS {
            match self.held[barrier].left == threads {
                true if jumps => self.set(barrier, Held::NOBODY),
                true => self.held[barrier].left = Threads::ALL,
                false => {}
            }
        }
    }

    /// These threads leave the function: whoever they are that have been taken out of a barrier, it holds none of them. What the others know.
    pub(crate) fn returned(&mut self, threads: Threads) -> [Held; BARRIERS] {
        let before = self.held;
        for held in self.held.iter_mut().filter(|held| held.left.are_some() && held.left == threads) {
            held.left = Threads::ALL;
        }
        let leaves = |held: Held| if held.left.are_some() && held.left == threads { Held::NOBODY } else { held };
        before.map(leaves)
    }

    /// Add what another path brings; whether that is new.
    pub(crate) fn join(&mut self, other: &State) -> bool {
        let before = self.clone();
        for barrier in 0..BARRIERS {
            self.held[barrier] = self.held[barrier].join(other.held[barrier]);
            self.inside[barrier] |= other.inside[barrier];
        }
        self.cleared &= other.cleared;
        self.broken &= other.broken;
        self.same = self.same.and(other.same);
        let theirs = |place: i64| other.notes.iter().find(|(at, _)| *at == place).map(|(_, held)| *held);
        self.notes = before.notes.iter().filter_map(|(at, held)| Some((*at, held.join(theirs(*at)?)))).collect();
        *self != before
    }

    /// The barriers that are not as the function found them.
    pub(crate) fn changed(&self) -> u16 {
        let is_changed = |held: Held| held.may & (Held::NOBODY.may | Held::THREADS.may) != 0;
        (0..BARRIERS).filter(|at| is_changed(self.held[*at])).fold(0, |mask, at| mask | 1 << at)
    }

    /// The barrier is given another value.
    pub(crate) fn set(&mut self, barrier: usize, held: Held) {
        self.held[barrier] = held;
        self.cleared &= !(1 << barrier);
        self.broken &= !(1 << barrier);
        self.inside[barrier] = 0;
        self.inside.iter_mut().for_each(|inside| *inside &= !(1 << barrier));
    }

    /// The barrier is set to the threads that are here.
    pub(crate) fn begin(&mut self, barrier: usize) {
        self.set(barrier, Held::THREADS);
        for other in (0..BARRIERS).filter(|other| *other != barrier) {
            if self.held[other].holds() {
                self.inside[other] |= 1 << barrier;
            }
        }
    }

    /// These threads leave the barrier.
    pub(crate) fn leave(&mut self, barrier: usize, threads: Threads) {
        let held = self.held[barrier];
        if !threads.are_some() {
            self.set(barrier, Held::NOBODY);
        } else if !held.left.are_some() {
            self.held[barrier].left = threads;
        } else {
            self.held[barrier].may |= Held::NOBODY.may;
        }
    }

    /// What was moved to the register from a barrier.
    pub(crate) fn note(&self, register: u16) -> Option<Held> {
        self.read(i64::from(register))
    }

    /// The register is given the value of a barrier.
    pub(crate) fn write_note(&mut self, register: u16, held: Held) {
        self.write(i64::from(register), Some(held));
    }

    fn read(&self, place: i64) -> Option<Held> {
        self.notes.iter().find(|(at, _)| *at == place).map(|(_, held)| *held)
    }

    fn write(&mut self, place: i64, held: Option<Held>) {
        self.notes.retain(|(at, _)| *at != place);
        if let Some(held) = held {
            self.notes.push((place, held));
            self.notes.sort_by_key(|(at, _)| *at);
        }
    }

    /// An instruction that is about no barrier: values are copied, and what is overwritten is forgotten.
    pub(crate) fn registers(&mut self, line: &Line) {
        let copies: Vec<(i64, Option<Held>)> =
            copies(line).into_iter().map(|(to, from)| (to, self.read(from))).collect();
        for touch in &line.touches.writes {
            let number = touch.register.number();
            match touch.register.file() {
                RegFile::R => {
                    self.write(i64::from(number), None);
                    // The stack pointer: places on the stack have other names now.
                    if number == 1 {
                        self.notes.retain(|(at, _)| *at < STACK);
                    }
                }
                file @ (RegFile::P | RegFile::UP) => self.forget(file == RegFile::UP, number),
                _ => {}
            }
        }
        copies.into_iter().for_each(|(to, held)| self.write(to, held));
    }

    /// A predicate changes: who has been taken out under it is not known any more.
    fn forget(&mut self, uniform: bool, number: u16) {
        let about = |held: &&mut Held| held.left.are_about(uniform, number);
        let notes = self.notes.iter_mut().map(|(_, held)| held);
        self.held.iter_mut().chain(notes).filter(about).for_each(|held| *held = held.flat());
    }
}

/// The threads for which a `BSYNC`, `BREAK` or `RET` does something.
pub(crate) fn threads(line: &Line) -> Threads {
    let inst = &line.inst;
    let predicate = inst.opcode.position(Role::PA).and_then(|at| inst.operands.get(at));
    let predicate = match predicate.map(|operand| (operand.value, operand.flags)) {
        Some((Value::Reg(file @ (RegFile::P | RegFile::UP), number), flags)) => {
            Condition::new(file == RegFile::UP, number as u8, flags.contains(OperandFlags::NOT))
        }
        _ => Condition::ALWAYS,
    };
    match line.guard.is_known() {
        true => Threads([line.guard, predicate]),
        false => Threads::one(predicate),
    }
}

/// Places of single words that an instruction copies: to, from.
fn copies(line: &Line) -> Vec<(i64, i64)> {
    let inst = &line.inst;
    let value = |role: Role| inst.opcode.position(role).and_then(|at| inst.operands.get(at)).map(|o| o.value);
    let register = |role: Role| match value(role) {
        Some(Value::Reg(RegFile::R, number)) if number != 255 => Some(i64::from(number)),
        _ => None,
    };
    let slot = || match (register(Role::Base), value(Role::Offset)) {
        (Some(1), Some(Value::Imm(offset))) => Some(STACK + i64::from(offset as i32)),
        _ => None,
    };
    let words = |role: Role| inst.opcode.position(role).map_or(0, |at| i64::from(inst.width(at)));
    let run = |to: Option<i64>, to_step: i64, from: Option<i64>, from_step: i64, count: i64| match (to, from) {
        (Some(to), Some(from)) => (0..count).map(|k| (to + k * to_step, from + k * from_step)).collect(),
        _ => Vec::new(),
    };
    if line.guard.is_known() {
        return Vec::new();
    }
    let is_zero = |role: Role| value(role) == Some(Value::Reg(RegFile::R, 255));
    match inst.opcode {
        Opcode::MOV => run(register(Role::D), 1, register(Role::B), 1, 1),
        Opcode::IMAD if is_zero(Role::A) && is_zero(Role::B) => run(register(Role::D), 1, register(Role::C), 1, 1),
        Opcode::STL => run(slot(), 4, register(Role::Data), 1, words(Role::Data)),
        Opcode::LDL => run(register(Role::D), 1, slot(), 4, words(Role::D)),
        _ => Vec::new(),
    }
}
