//! How long the values of a stretch of code live, and how many registers of each file that takes.

use crate::code::{ByRegister, Op};
use crate::survey::Stretch;
use crate::values::Values;
use oriole_isa::RegFile;
use oriole_ori::InstId;

/// The file that a value takes room in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    General,
    Predicate,
    Uniform,
    UniformPredicate,
    /// None that is counted.
    None,
}

impl Class {
    pub(crate) fn of(file: RegFile) -> Class {
        match file {
            RegFile::R => Class::General,
            RegFile::P => Class::Predicate,
            RegFile::UR => Class::Uniform,
            RegFile::UP => Class::UniformPredicate,
            RegFile::B | RegFile::SB => Class::None,
        }
    }
}

/// What a general register counts that is missing, where one of another file counts one.
const GENERAL_FOR_OTHERS: i32 = 8;
/// One of so many registers.
const FOR_RANKS: i32 = 8;

/// Registers by [`Class`], but for those of none: as many files as the processor has room for side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts(pub(crate) [i32; Class::None as usize]);

impl Counts {
    pub(crate) fn add(&mut self, class: Class, count: i32) {
        if let Some(own) = self.0.get_mut(class as usize) {
            *own += count;
        }
    }

    pub(crate) fn plus(mut self, other: Counts) -> Counts {
        self.0.iter_mut().zip(other.0).for_each(|(count, more)| *count += more);
        self
    }

    /// Some of the general registers less, which are left to what stands first in an order that needs few.
    pub(crate) fn less_for_ranks(mut self) -> Counts {
        self.0[Class::General as usize] -= self.0[Class::General as usize] / FOR_RANKS;
        self
    }

    /// So many general registers more.
    pub(crate) fn with_more(mut self, general: i32) -> Counts {
        let count = &mut self.0[Class::General as usize];
        *count = count.saturating_add(general);
        self
    }

    /// Of general registers there are as many, but for a wide value.
    pub(crate) fn is_near(self, limit: Counts) -> bool {
        const WIDE: i32 = 4;
        self.0[Class::General as usize] > limit.0[Class::General as usize].saturating_sub(WIDE)
    }

    /// There are far more general registers than these.
    pub(crate) fn is_low(self) -> bool {
        const LOW: i32 = 128;
        self.0[Class::General as usize] <= LOW
    }

    /// Of general registers there are more than twice as many.
    pub(crate) fn is_far_above(self, limit: Counts) -> bool {
        self.0[Class::General as usize] > limit.0[Class::General as usize].saturating_mul(2)
    }

    pub(crate) fn max(mut self, other: Counts) -> Counts {
        self.0.iter_mut().zip(other.0).for_each(|(count, more)| *count = more.max(*count));
        self
    }

    /// In no file more than `limit`.
    pub(crate) fn is_within(self, limit: Counts) -> bool {
        self.0.iter().zip(limit.0).all(|(count, limit)| *count <= limit)
    }

    /// By how many it is above `limit`, all files together; a general register, which leaves for memory, counts as several
    /// others, for which there are these.
    pub(crate) fn excess(self, limit: Counts) -> i32 {
        let above = |class: usize| self.0[class].saturating_sub(limit.0[class]).max(0);
        let general = above(Class::General as usize).saturating_mul(GENERAL_FOR_OTHERS - 1);
        (0..Class::None as usize).map(above).sum::<i32>().saturating_add(general)
    }

    /// Less by as much as `peak` is above `bound`.
    pub(crate) fn less(mut self, peak: Counts, bound: Counts) -> Counts {
        for ((count, peak), bound) in self.0.iter_mut().zip(peak.0).zip(bound.0) {
            *count = (*count).saturating_sub(peak.saturating_sub(bound).max(0));
        }
        self
    }

    /// By how much each may grow beside what is `there`. Where one is above the limit, it may stay as it is.
    pub(crate) fn room(self, there: Counts) -> Counts {
        Counts(std::array::from_fn(|class| self.0[class].saturating_sub(there.0[class]).max(0)))
    }

    /// None grows by more than there is [`Counts::room`]. Without a branch: it is asked of each candidate of each list.
    #[inline]
    pub(crate) fn fits(self, room: Counts) -> bool {
        (0..Class::None as usize).fold(true, |fits, class| fits & (self.0[class] <= room.0[class]))
    }
}

/// A value: what a component holds from one write to the next.
#[derive(Clone, Copy)]
struct Value {
    class: Class,
    /// How many instructions that read it have not issued yet, and the exclusive or of these: of a single one that is it.
    readers: u32,
    rest: u32,
    /// It is needed after the stretch.
    lives_on: bool,
}

/// The values of a stretch, while its instructions issue one after the other.
#[derive(Clone)]
pub(crate) struct Lives {
    values: Vec<Value>,
    /// What the instructions read, and what they write, one behind the other.
    reads: Vec<u32>,
    writes: Vec<u32>,
    /// By instruction: where its entries end.
    ends: Vec<(u32, u32)>,
    /// By instruction that has not issued: by how much the registers in use grow if it issues now.
    changes: Vec<Counts>,
    /// Registers in use.
    pub(crate) live: Counts,
}

impl Lives {
    /// The values of a stretch before its first instruction. `current` is for its use alone.
    pub(crate) fn new(
        values: &Values<'_>,
        stretch: &Stretch,
        ops: &[Op<InstId>],
        current: &mut ByRegister<Option<u32>>,
    ) -> Self {
        // There are no more, but for what guarded writes may keep.
        let (reads, writes) = (values.accesses.uses.len(), values.accesses.defs.len());
        let mut lives = Lives {
            values: Vec::with_capacity(reads + writes),
            reads: Vec::with_capacity(reads),
            writes: Vec::with_capacity(writes),
            ends: Vec::with_capacity(ops.len()),
            changes: Vec::new(),
            live: stretch.live,
        };
        for op in ops {
            lives.read(values, op, current);
        }
        for reg in &stretch.live_out {
            if let Some(value) = *current.get(*reg) {
                lives.values[value as usize].lives_on = true;
            }
        }
        current.forget(|value| *value = None);
        lives.count_changes();
        lives
    }

    fn read(&mut self, values: &Values<'_>, op: &Op<InstId>, current: &mut ByRegister<Option<u32>>) {
        let (at, start) = (self.ends.len() as u32, self.reads.len());
        // What may keep its old value reads it.
        let kept = values.accesses.defs(op).iter().filter(|_| op.guarded).map(|def| def.reg);
        for reg in values.accesses.uses(op).iter().map(|read| read.reg).chain(kept) {
            let all = &mut self.values;
            let value = *current.touch(reg).get_or_insert_with(|| add(all, values.class(reg)));
            if !self.reads[start..].contains(&value) {
                self.reads.push(value);
                self.values[value as usize].read_by(at);
            }
        }
        for def in values.accesses.defs(op).iter().filter(|_| !op.guarded) {
            let value = add(&mut self.values, values.class(def.reg));
            *current.touch(def.reg) = Some(value);
            self.writes.push(value);
        }
        self.ends.push((self.reads.len() as u32, self.writes.len() as u32));
    }

    /// The same without the general registers of what is not read again in the stretch: where there are not enough, that is
    /// what leaves.
    pub(crate) fn until_last_read(mut self) -> Self {
        let general = |value: &&mut Value| value.class == Class::General;
        self.values.iter_mut().filter(general).for_each(|value| value.lives_on = false);
        let mut before = vec![true; self.values.len()];
        self.writes.iter().for_each(|value| before[*value as usize] = false);
        let read =
            before.into_iter().zip(&self.values).filter(|(before, value)| *before && value.class == Class::General);
        self.live.0[Class::General as usize] = read.count() as i32;
        self.count_changes();
        self
    }

    /// How many values there are.
    pub(crate) fn values(&self) -> usize {
        self.values.len()
    }

    /// Whether the value is needed after the stretch.
    pub(crate) fn lives_on(&self, value: u32) -> bool {
        self.values[value as usize].lives_on
    }

    pub(crate) fn class(&self, value: u32) -> Class {
        self.values[value as usize].class
    }

    /// The values that an instruction reads, and those that it writes.
    pub(crate) fn entries(&self, at: u32) -> (&[u32], &[u32]) {
        let start = at.checked_sub(1).map_or((0, 0), |before| self.ends[before as usize]);
        let end = self.ends[at as usize];
        (&self.reads[start.0 as usize..end.0 as usize], &self.writes[start.1 as usize..end.1 as usize])
    }

    /// By how much the registers in use grow if instruction `at` issues now.
    pub(crate) fn change(&self, at: u32) -> Counts {
        self.changes[at as usize]
    }

    /// Before the first instruction has issued.
    fn count_changes(&mut self) {
        self.changes = (0..self.ends.len() as u32).map(|at| self.counted(at)).collect();
    }

    fn counted(&self, at: u32) -> Counts {
        let mut change = Counts::default();
        let (reads, writes) = self.entries(at);
        for value in reads.iter().map(|value| self.values[*value as usize]) {
            if value.readers == 1 && !value.lives_on {
                change.add(value.class, -1);
            }
        }
        for value in writes.iter().map(|value| self.values[*value as usize]) {
            if value.readers > 0 || value.lives_on {
                change.add(value.class, 1);
            }
        }
        change
    }

    /// Instruction `at` issues.
    pub(crate) fn issue(&mut self, at: u32) {
        self.live = self.live.plus(self.change(at));
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before as usize].0);
        for value in &self.reads[start as usize..self.ends[at as usize].0 as usize] {
            let value = &mut self.values[*value as usize];
            value.readers -= 1;
            value.rest ^= at;
            if value.readers == 1 && !value.lives_on {
                // The one that is left takes it out of use.
                self.changes[value.rest as usize].add(value.class, -1);
            }
        }
    }
}

impl Value {
    fn new(class: Class, lives_on: bool) -> Self {
        Value { class, readers: 0, rest: 0, lives_on }
    }

    fn read_by(&mut self, at: u32) {
        self.readers += 1;
        self.rest ^= at;
    }
}

#[cfg(test)]
impl Lives {
    /// A stretch by what its instructions read and write. Of the values there is the class, and whether they live on.
    pub(crate) fn of(values: &[(Class, bool)], insts: &[(Vec<u32>, Vec<u32>)]) -> Lives {
        let mut lives = Lives {
            values: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            ends: Vec::new(),
            changes: Vec::new(),
            live: Counts::default(),
        };
        lives.values.extend(values.iter().map(|&(class, lives_on)| Value::new(class, lives_on)));
        for (at, (reads, writes)) in (0..).zip(insts) {
            reads.iter().for_each(|value| lives.values[*value as usize].read_by(at));
            lives.reads.extend(reads);
            lives.writes.extend(writes);
            lives.ends.push((lives.reads.len() as u32, lives.writes.len() as u32));
        }
        for value in (0..lives.values.len()).filter(|value| !lives.writes.contains(&(*value as u32))) {
            lives.live.add(lives.values[value].class, 1);
        }
        lives.count_changes();
        lives
    }
}

fn add(values: &mut Vec<Value>, class: Class) -> u32 {
    values.push(Value::new(class, false));
    values.len() as u32 - 1
}
