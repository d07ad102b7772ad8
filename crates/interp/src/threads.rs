//! Where the threads of a warp are: groups that run together, where they meet again, and what they
//! wait for.
//!
//! A group comes apart at a divergent branch, table branch, guarded call or return. The threads note a
//! *meeting point*: the immediate post-dominator of the branch, or the instruction after the call. A
//! group that comes to its innermost meeting point waits there until all threads of the point that have
//! not exited or left the point wait there, and they go on as one group.
//!
//! Meeting is a courtesy, not a promise: threads that wait at a meeting point are let go when those
//! they wait for seem to wait for them (see [`Threads::lose_patience`]). So a thread that holds a lock
//! gets on, as the PTX memory model wants of every thread.

use crate::lanes::lanes_of;
use crate::pc::{NOWHERE, Pc};

/// What a group waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Nothing: it can run.
    Nothing,
    /// The others of its innermost meeting point.
    Meeting,
    /// The threads of this member mask at an instruction of this kind.
    Members(u32),
    /// A barrier of the block.
    Barrier(u8),
    /// The barrier of the cluster.
    Cluster,
}

/// Where a call goes on, and the frame of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The calling function.
    pub(crate) function: u32,
    /// The operation after the call.
    pub(crate) pc: Pc,
    /// First register slot of its frame.
    pub(crate) base: u32,
}

/// Threads that execute together.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// Its threads; never empty.
    pub(crate) mask: u32,
    /// The function that it is in.
    pub(crate) function: u32,
    /// The next operation; while it waits for members or a barrier, the one that it waits at.
    pub(crate) pc: Pc,
    /// First register slot of its frame.
    pub(crate) base: u32,
    /// Its callers, the outermost first.
    pub(crate) calls: Vec<Caller>,
    /// The meeting points that it is to come to, the innermost last.
    points: Vec<u32>,
    /// Where it has to stop for its innermost meeting point, if that is in the running frame.
    pub(crate) stop: Pc,
    /// What it waits for.
    pub(crate) wait: Wait,
}

/// A place where threads meet again.
#[derive(Clone, Debug, Default)]
struct Point {
    /// The threads that are to come; empty: not in use.
    members: u32,
    pc: Pc,
    /// Number of callers there.
    depth: usize,
    /// What those that wait have put up with.
    patience: u64,
}

/// Cost of operations (see `Op::cost`) that threads at a meeting point wait through.
const PATIENCE: u64 = 1 << 16;

/// The threads of one warp.
#[derive(Clone, Debug)]
pub(crate) struct Threads {
    /// Threads that have not exited.
    pub(crate) alive: u32,
    groups: Vec<Group>,
    points: Vec<Point>,
}

impl Threads {
    /// All threads of `mask` at the start of `function`.
    pub(crate) fn new(mask: u32, function: u32) -> Self {
        let group = Group {
            mask,
            function,
            pc: 0,
            base: 0,
            calls: Vec::new(),
            points: Vec::new(),
            stop: NOWHERE,
            wait: Wait::Nothing,
        };
        Threads { alive: mask, groups: vec![group], points: Vec::new() }
    }

    /// The groups.
    pub(crate) fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Group number `at`, which must exist.
    pub(crate) fn group_mut(&mut self, at: usize) -> &mut Group {
        &mut self.groups[at]
    }

    /// The first group from `from` on, round to the start again, that can run.
    pub(crate) fn next_runnable(&self, from: usize) -> Option<usize> {
        let count = self.groups.len();
        (0..count).map(|i| (from + i) % count).find(|&at| self.groups[at].wait == Wait::Nothing)
    }

    /// Splits the threads of `mask` off group `at` to go on at `pc`. `mask` is a proper part of the
    /// group. With `meet`, both parts meet again there, in the running frame.
    pub(crate) fn split(&mut self, at: usize, mask: u32, pc: Pc, meet: Pc) -> usize {
        if meet != NOWHERE {
            self.expect_meeting(at, meet);
        }
        let mut part = self.groups[at].clone();
        part.mask = mask;
        part.pc = pc;
        self.groups[at].mask &= !mask;
        self.groups.push(part);
        self.groups.len() - 1
    }

    /// Makes group `at` meet at `pc` of the running frame, unless it is alone or is to do so already.
    pub(crate) fn expect_meeting(&mut self, at: usize, pc: Pc) {
        let group = &self.groups[at];
        if group.mask.count_ones() < 2 || group.stop == pc {
            return;
        }
        let point = Point { members: group.mask, pc, depth: group.calls.len(), patience: 0 };
        let id = match self.points.iter().position(|point| point.members == 0) {
            Some(free) => {
                self.points[free] = point;
                free
            }
            None => {
                self.points.push(point);
                self.points.len() - 1
            }
        };
        self.groups[at].points.push(id as u32);
        self.renew_stop(at);
    }

    /// Works out again where group `at` has to stop, after a call, return or change of its points.
    pub(crate) fn renew_stop(&mut self, at: usize) {
        let group = &mut self.groups[at];
        let point = group.points.last().map(|&id| &self.points[id as usize]);
        group.stop = point.filter(|point| point.depth == group.calls.len()).map_or(NOWHERE, |point| point.pc);
    }

    /// Group `at` has come to its innermost meeting point. Gives the number of the group that goes on,
    /// which may be another one now, or `None` if it has to wait.
    pub(crate) fn arrive(&mut self, at: usize) -> Option<usize> {
        let point = *self.groups[at].points.last()?;
        self.groups[at].wait = Wait::Meeting;
        self.try_meet(point)
    }

    /// Joins the groups that wait at a point if all members do.
    fn try_meet(&mut self, point: u32) -> Option<usize> {
        let waits = |group: &Group| group.wait == Wait::Meeting && group.points.last() == Some(&point);
        let here = self.groups.iter().filter(|group| waits(group)).fold(0, |mask, group| mask | group.mask);
        if here == 0 || here != self.points[point as usize].members {
            return None;
        }
        let first = self.groups.iter().position(waits)?;
        let mut at = 0;
        self.groups.retain(|group| {
            let keep = at == first || !waits(group);
            at += 1;
            keep
        });
        self.points[point as usize].members = 0;
        let group = &mut self.groups[first];
        group.mask = here;
        group.points.pop();
        group.wait = Wait::Nothing;
        self.renew_stop(first);
        Some(first)
    }

    /// The threads of `mask`, all of one group, leave all of its points that are deeper than `depth`
    /// callers, because they return from there; with `None` all points, because they exit.
    fn leave_points(&mut self, mask: u32, points: &[u32], depth: Option<usize>) {
        for &id in points.iter().rev() {
            let point = &mut self.points[id as usize];
            if depth.is_some_and(|depth| point.depth <= depth) {
                break;
            }
            point.members &= !mask;
            self.try_meet(id);
        }
    }

    /// The threads of `mask`, all of group `at`, exit. Numbers of groups change.
    pub(crate) fn exit(&mut self, at: usize, mask: u32) {
        self.alive &= !mask;
        let points = self.groups[at].points.clone();
        self.groups[at].mask &= !mask;
        if self.groups[at].mask == 0 {
            self.groups.remove(at);
        }
        self.leave_points(mask, &points, None);
    }

    /// Group `at` returns from its function to its caller, which it must have. Numbers of groups
    /// change; gives the group's.
    pub(crate) fn leave_function(&mut self, at: usize) -> Option<(usize, Caller)> {
        let group = &mut self.groups[at];
        let caller = group.calls.pop()?;
        let (mask, depth) = (group.mask, group.calls.len());
        (group.function, group.pc, group.base) = (caller.function, caller.pc, caller.base);
        let points = group.points.clone();
        let kept = points.iter().take_while(|&&id| self.points[id as usize].depth <= depth).count();
        self.groups[at].points.truncate(kept);
        self.leave_points(mask, &points, Some(depth));
        let at = self.groups.iter().position(|group| group.mask & mask != 0)?;
        self.renew_stop(at);
        Some((at, caller))
    }

    /// Group `at` has run for `cost`: those who wait for it count that. Lets those go whose patience
    /// is at an end.
    pub(crate) fn lose_patience(&mut self, at: usize, cost: u64) {
        let Some(group) = self.groups.get(at) else { return };
        for id in group.points.clone() {
            let point = &mut self.points[id as usize];
            point.patience += cost;
            if point.patience > PATIENCE {
                point.patience = 0;
                self.release(id);
            }
        }
    }

    /// Lets all go that wait at meeting points; whether there are any.
    pub(crate) fn release_all(&mut self) -> bool {
        let waiting: Vec<u32> =
            self.groups.iter().filter(|g| g.wait == Wait::Meeting).flat_map(|g| g.points.last().copied()).collect();
        waiting.iter().for_each(|&id| self.release(id));
        !waiting.is_empty()
    }

    /// Lets the groups go that wait at a point: they are no members of it any more.
    fn release(&mut self, id: u32) {
        for at in 0..self.groups.len() {
            let group = &mut self.groups[at];
            if group.wait == Wait::Meeting && group.points.last() == Some(&id) {
                group.wait = Wait::Nothing;
                group.points.pop();
                self.points[id as usize].members &= !group.mask;
                self.renew_stop(at);
            }
        }
    }

    /// Whether some group waits for members of its warp.
    pub(crate) fn waits_for_members(&self) -> bool {
        self.groups.iter().any(|group| matches!(group.wait, Wait::Members(_)))
    }

    /// Joins groups that stand at one place of one frame, as threads that have just executed the same
    /// synchronising instruction together do: `mask` holds them. Meeting points that not all have in
    /// common are given up.
    pub(crate) fn join(&mut self, mask: u32) {
        let mut first = 0;
        while first < self.groups.len() {
            let mut other = first + 1;
            while other < self.groups.len() && self.groups[first].mask & mask != 0 {
                if self.groups[other].mask & mask != 0 && self.groups[first].stands_with(&self.groups[other]) {
                    self.merge(first, other);
                } else {
                    other += 1;
                }
            }
            first += 1;
        }
    }

    /// The threads of `mask` have all come that their groups waited for: they go on, behind the
    /// instruction if it is `done`, and those at one place together.
    pub(crate) fn resume(&mut self, mask: u32, done: bool) {
        for group in self.groups.iter_mut().filter(|group| group.mask & mask != 0) {
            group.wait = Wait::Nothing;
            group.pc += Pc::from(done);
        }
        self.join(mask);
    }

    fn merge(&mut self, first: usize, other: usize) {
        let group = self.groups.remove(other);
        let common = self.groups[first].points.iter().zip(&group.points).take_while(|(a, b)| a == b).count();
        let given_up = self.groups[first].points.split_off(common);
        let mask = self.groups[first].mask;
        self.groups[first].mask |= group.mask;
        self.renew_stop(first);
        for (mask, points) in [(mask, &given_up[..]), (group.mask, &group.points[common..])] {
            for &id in points {
                self.points[id as usize].members &= !mask;
                self.try_meet(id);
            }
        }
    }

    /// The groups that wait for `wait`.
    pub(crate) fn waiting_for(&self, wait: Wait) -> Vec<usize> {
        (0..self.groups.len()).filter(|&at| self.groups[at].wait == wait).collect()
    }

    /// The group that a thread is in.
    pub(crate) fn group_of(&self, lane: usize) -> Option<usize> {
        self.groups.iter().position(|group| group.mask >> lane & 1 != 0)
    }

    /// Threads for the fault of a group.
    pub(crate) fn first_lane(mask: u32) -> usize {
        lanes_of(mask).next().unwrap_or(0)
    }
}

impl Group {
    fn stands_with(&self, other: &Group) -> bool {
        (self.function, self.pc, self.base, self.wait) == (other.function, other.pc, other.base, other.wait)
            && self.calls == other.calls
    }
}
