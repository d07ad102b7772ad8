//! Within a block: who is read last gives its place away, and is tested again ahead of its reader.

use super::{MOST, NEAR, Writes, is_predicate, repeat};
use crate::AllocError;
use oriole_ori::analysis::Flow;
use oriole_ori::{Block, Function, InstId, VReg};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A predicate that has a place.
struct Held {
    /// As the block called it.
    reg: VReg,
    /// As it is called now: the result of the test that was repeated last.
    now: VReg,
}

/// One way through a block.
pub(super) struct Walk<'a> {
    writes: &'a Writes,
    block: Block,
    /// By predicate: the places of its readers in the block, the last first; beyond the end for what others read.
    readers: FxHashMap<VReg, Vec<u32>>,
    /// The tests that may be repeated, by what they give.
    tests: FxHashMap<VReg, InstId>,
    held: Vec<Held>,
}

/// The place of who reads behind the block.
const BEHIND: u32 = u32::MAX;

impl<'a> Walk<'a> {
    pub(super) fn new(func: &Function, flow: &Flow, writes: &'a Writes, block: Block) -> Self {
        let mut readers: FxHashMap<VReg, Vec<u32>> = FxHashMap::default();
        for (reg, _) in flow.live.main_live_out(block).filter(|(reg, _)| is_predicate(func, *reg)) {
            readers.entry(reg).or_default().push(BEHIND);
        }
        let insts = func.block_insts(block);
        for (&inst, at) in insts.iter().zip(0..insts.len() as u32).rev() {
            func.for_each_use(inst, |read| {
                let places = is_predicate(func, read.reg).then(|| readers.entry(read.reg).or_default());
                places.into_iter().filter(|places| places.last() != Some(&at)).for_each(|places| places.push(at));
            });
        }
        let live_in = flow.live.main_live_in(block).map(|(reg, _)| reg).filter(|reg| is_predicate(func, *reg));
        let held = live_in.map(|reg| Held { reg, now: reg }).collect();
        Walk { writes, block, readers, tests: FxHashMap::default(), held }
    }

    /// Whether something is repeated.
    pub(super) fn run(mut self, func: &mut Function) -> Result<bool, AllocError> {
        let old = func.edit().take_insts(self.block);
        let (mut new, count) = (Vec::with_capacity(old.len()), old.len());
        for (inst, at) in old.into_iter().zip(0..) {
            let mut read: SmallVec<[VReg; 4]> = SmallVec::new();
            func.for_each_use(inst, |mention| read.push(mention.reg));
            read.retain(|reg| self.readers.contains_key(reg));
            for &reg in &read {
                new.extend(self.come_back(func, reg, at, &read)?);
            }
            let names: SmallVec<[(VReg, VReg); 7]> = self.held.iter().map(|held| (held.reg, held.now)).collect();
            if names.iter().any(|(reg, now)| reg != now && read.contains(reg)) {
                let renamed = |reg: VReg| names.iter().find(|(old, _)| *old == reg).map_or(reg, |(_, now)| *now);
                func.edit().rename_regs(inst, |reg, is_def| if is_def { reg } else { renamed(reg) });
            }
            self.forget(at, &read);
            let mut given: SmallVec<[VReg; 2]> = SmallVec::new();
            func.for_each_def(inst, |write| given.push(write.reg));
            for reg in given {
                if self.next(reg).is_some() && !self.held.iter().any(|held| held.reg == reg) {
                    self.make_room(at, &[]);
                    self.held.push(Held { reg, now: reg });
                }
            }
            if let Some(test) = self.writes.repeatable(func, inst) {
                self.tests.insert(test.gives, inst);
            }
            new.push(inst);
        }
        let changed = new.len() > count;
        func.edit().set_insts(self.block, new);
        Ok(changed)
    }

    /// The test that gives a predicate once more, if it has given its place away.
    fn come_back(
        &mut self,
        func: &mut Function,
        reg: VReg,
        at: u32,
        read: &[VReg],
    ) -> Result<Option<InstId>, AllocError> {
        let test = self.tests.get(&reg).copied();
        let Some(test) = test.filter(|_| !self.held.iter().any(|held| held.reg == reg)) else { return Ok(None) };
        self.make_room(at, read);
        let (again, now) = repeat(func, test, reg)?;
        self.held.push(Held { reg, now });
        Ok(Some(again))
    }

    /// The place of who reads a predicate next.
    fn next(&self, reg: VReg) -> Option<u32> {
        self.readers.get(&reg)?.last().copied()
    }

    /// Who has no reader behind a place has no place of its own.
    fn forget(&mut self, at: u32, read: &[VReg]) {
        for reg in read {
            let places = self.readers.get_mut(reg);
            places.and_then(|places| places.pop_if(|place| *place <= at));
        }
        let readers = &self.readers;
        self.held.retain(|held| readers.get(&held.reg).is_some_and(|places| !places.is_empty()));
    }

    /// Where all places are taken, who is read last gives its own away, if it can come back.
    fn make_room(&mut self, at: u32, needed: &[VReg]) {
        if self.held.len() < MOST {
            return;
        }
        let leaves = |held: &Held| {
            let last = self.readers.get(&held.reg).is_some_and(|places| places.first() == Some(&BEHIND));
            let next = self.next(held.reg).filter(|next| *next > at + NEAR);
            let can = self.tests.contains_key(&held.reg) && !last && !needed.contains(&held.reg);
            next.filter(|_| can)
        };
        let farthest = (0..self.held.len()).filter_map(|k| Some((leaves(&self.held[k])?, k))).max();
        if let Some((_, k)) = farthest {
            self.held.swap_remove(k);
        }
    }
}
