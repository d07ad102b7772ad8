//! Where the threads of a warp are: groups that run together, and what they wait for.
//!
//! From Volta on each thread has its own program counter. Threads with the same one that were not
//! separated form a *group* and execute together. Groups come apart at divergent branches and join
//! again at `BSYNC` and `WARPSYNC`.
//!
//! A convergence barrier `B<n>` is kept per thread: the set of threads that it waits for there.
//! `BSSY` sets it to the threads that execute it together, `BREAK` takes threads out, exited threads
//! do not count. Threads that go through the same region at different times so have barriers that
//! do not disturb each other.

use crate::lanes::{Mask, WARP, lanes_of, mask_where};

/// Number of convergence barriers.
const CONVERGENCE_BARRIERS: usize = 16;

/// What a group waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Nothing: it can run.
    Nothing,
    /// `BSYNC B<n>`.
    Convergence(u8),
    /// `WARPSYNC`.
    WarpSync,
    /// `WARPSYNC.COLLECTIVE`.
    Collective,
    /// A barrier of the block.
    Barrier(u8),
    /// The barrier of the cluster.
    Cluster,
    /// The end of a phase of the mbarrier at this shared address (byte 3: the block in the cluster).
    Phase(u32),
    /// So many registers that other warps of the block give back (`setmaxnreg`).
    Registers(u32),
}

impl Wait {
    /// The group stays at its instruction and looks again and again.
    pub(crate) fn is_retried(self) -> bool {
        matches!(self, Wait::Phase(_) | Wait::Registers(_))
    }
}

/// Threads that execute together.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// Its threads; never empty.
    pub(crate) mask: Mask,
    /// Code address of the next instruction; while it waits, of the one after the wait.
    pub(crate) pc: u64,
    /// What it waits for.
    pub(crate) wait: Wait,
    /// Cycle in which its next instruction may issue.
    pub(crate) cycle: u64,
    /// Its next instruction has been issued already and is only tried again.
    pub(crate) retries: bool,
}

/// The threads of one warp.
#[derive(Clone, Debug)]
pub(crate) struct Threads {
    /// Threads that have not exited.
    pub(crate) alive: Mask,
    groups: Vec<Group>,
    current: usize,
    /// Element `[b][t]`: the threads that thread `t` waits for at `BSYNC B<b>`.
    participants: Box<[[Mask; WARP]; CONVERGENCE_BARRIERS]>,
    /// The threads that each thread waits for at the `WARPSYNC` that it has reached.
    warpsync: [Mask; WARP],
    /// Where each thread goes on after the `ENDCOLLECTIVE` of the collective that it has begun.
    collective: [Option<u64>; WARP],
}

impl Threads {
    /// The threads in `mask`, all at `pc`.
    pub(crate) fn new(mask: Mask, pc: u64) -> Self {
        Threads {
            alive: mask,
            groups: vec![Group { mask, pc, wait: Wait::Nothing, cycle: 0, retries: false }],
            current: 0,
            participants: Box::new([[0; WARP]; CONVERGENCE_BARRIERS]),
            warpsync: [0; WARP],
            collective: [None; WARP],
        }
    }

    /// The group that runs, `None` if all threads have exited.
    pub(crate) fn group(&self) -> Option<&Group> {
        self.groups.get(self.current)
    }

    /// The group that runs.
    pub(crate) fn group_mut(&mut self) -> Option<&mut Group> {
        self.groups.get_mut(self.current)
    }

    /// All groups.
    pub(crate) fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Makes the next group after the current one that can run the current one. `false` if there is
    /// none.
    pub(crate) fn rotate(&mut self) -> bool {
        let count = self.groups.len();
        let next = (1..=count).map(|step| (self.current + step) % count.max(1));
        match next.into_iter().find(|&at| self.groups[at].wait == Wait::Nothing) {
            Some(at) => {
                self.current = at;
                true
            }
            None => false,
        }
    }

    /// The `taken` threads of the current group go to `target`, the others to `next`. The others
    /// stay the current group where there are any. Returns whether the group came apart.
    pub(crate) fn branch(&mut self, taken: Mask, target: u64, next: u64) -> bool {
        let Some(group) = self.groups.get_mut(self.current) else { return false };
        let taken = taken & group.mask;
        if taken == 0 {
            group.pc = next;
            return false;
        }
        if taken == group.mask {
            group.pc = target;
            return false;
        }
        group.mask &= !taken;
        group.pc = next;
        let cycle = group.cycle;
        self.groups.push(Group { mask: taken, pc: target, wait: Wait::Nothing, cycle, retries: false });
        true
    }

    /// Each of the `taken` threads of the current group goes to its own target, the others to
    /// `next`. Returns whether the group came apart.
    pub(crate) fn scatter(&mut self, taken: Mask, targets: &[u64; WARP], next: u64) -> bool {
        let Some(group) = self.group() else { return false };
        let mut rest = taken & group.mask;
        let mut apart = rest != group.mask && rest != 0;
        // The first round also moves the threads that do not jump; each later one takes its own
        // threads from the group of those still to be sent.
        if rest == 0 {
            return self.branch(0, next, next);
        }
        if rest != group.mask {
            self.branch(rest, next, next);
            self.current = self.groups.len() - 1;
        }
        while rest != 0 {
            let target = targets[rest.trailing_zeros() as usize];
            let same = rest & mask_where(|lane| targets[lane] == target);
            rest &= !same;
            apart |= self.branch(same, target, next);
        }
        apart
    }

    /// The threads of `lanes` exit.
    pub(crate) fn exit(&mut self, lanes: Mask, next: u64) {
        self.alive &= !lanes;
        if let Some(group) = self.groups.get_mut(self.current) {
            group.mask &= !lanes;
            group.pc = next;
        }
        self.drop_empty();
        self.release_converged();
    }

    /// `BSSY B<n>`: the current group will meet at `BSYNC B<n>`.
    pub(crate) fn set_convergence(&mut self, barrier: u8, participants: Mask, lanes: Mask) {
        let slots = &mut self.participants[usize::from(barrier) % CONVERGENCE_BARRIERS];
        for lane in lanes_of(lanes) {
            slots[lane] = participants;
        }
    }

    /// The threads that `lane` will wait for at `BSYNC B<n>`.
    pub(crate) fn convergence(&self, barrier: u8, lane: usize) -> Mask {
        self.participants[usize::from(barrier) % CONVERGENCE_BARRIERS][lane]
    }

    /// `BREAK B<n>`: `lanes` will not come to `BSYNC B<n>`.
    pub(crate) fn break_out(&mut self, barrier: u8, lanes: Mask) {
        let slots = &mut self.participants[usize::from(barrier) % CONVERGENCE_BARRIERS];
        for lane in lanes_of(lanes) {
            // Threads that wait for the same ones; others, of an outer call, have other sets.
            let together = slots[lane];
            for participants in slots.iter_mut().filter(|participants| **participants == together) {
                *participants &= !lanes;
            }
        }
        self.release_converged();
    }

    /// `BSYNC B<n>`: the `lanes` of the current group wait for their participants; the others go on.
    pub(crate) fn converge(&mut self, barrier: u8, lanes: Mask, next: u64) {
        self.suspend(lanes, Wait::Convergence(barrier), next);
        self.release_converged();
    }

    /// `WARPSYNC`: the `lanes` of the current group wait until the threads in their masks have come. With
    /// `exclusive`, threads of different masks go on as different groups.
    pub(crate) fn warp_sync(&mut self, lanes: Mask, masks: &[Mask; WARP], exclusive: bool, next: u64) {
        if exclusive {
            self.suspend_by_mask(lanes, masks, Wait::WarpSync, next);
        } else {
            self.suspend(lanes, Wait::WarpSync, next);
            lanes_of(lanes).for_each(|lane| self.warpsync[lane] = masks[lane]);
        }
        self.release_converged();
    }

    /// Splits the `lanes` of the current group by their masks and lets them wait for these.
    fn suspend_by_mask(&mut self, lanes: Mask, masks: &[Mask; WARP], wait: Wait, next: u64) {
        let mut left = lanes;
        while left != 0 {
            let first = masks[left.trailing_zeros() as usize];
            let together = left & mask_where(|lane| masks[lane] == first);
            self.suspend(together, wait, next);
            lanes_of(together).for_each(|lane| self.warpsync[lane] = first);
            left &= !together;
        }
    }

    /// `WARPSYNC.COLLECTIVE`: the `lanes` of the current group wait until the threads in their masks have come to one, and go on
    /// with these as one group; `target` is where they part.
    pub(crate) fn begin_collective(&mut self, lanes: Mask, masks: &[Mask; WARP], target: u64, next: u64) {
        self.suspend_by_mask(lanes, masks, Wait::Collective, next);
        lanes_of(lanes).for_each(|lane| self.collective[lane] = Some(target));
        self.release_converged();
    }

    /// `ENDCOLLECTIVE`: each of the `lanes` goes on where its own `WARPSYNC.COLLECTIVE` says.
    pub(crate) fn end_collective(&mut self, lanes: Mask, next: u64) {
        let targets: [u64; WARP] = std::array::from_fn(|lane| self.collective[lane].unwrap_or(next));
        self.scatter(lanes, &targets, next);
        lanes_of(lanes).for_each(|lane| self.collective[lane] = None);
    }

    /// The `lanes` of the current group wait at barrier `id` of the block.
    pub(crate) fn wait_at_barrier(&mut self, id: u8, lanes: Mask, next: u64) {
        self.suspend(lanes, Wait::Barrier(id), next);
    }

    /// The `lanes` of the current group wait at the barrier of the cluster.
    pub(crate) fn wait_for_cluster(&mut self, lanes: Mask, next: u64) {
        self.suspend(lanes, Wait::Cluster, next);
    }

    /// The current group will try its instruction again.
    pub(crate) fn retry(&mut self) {
        if let Some(group) = self.groups.get_mut(self.current) {
            group.retries = true;
        }
    }

    /// The current group stays at its instruction until what it waits for has come.
    pub(crate) fn wait_and_retry(&mut self, wait: Wait) {
        if let Some(group) = self.groups.get_mut(self.current) {
            group.wait = wait;
            group.retries = true;
        }
    }

    /// Lets all groups that stay at their instructions look again.
    pub(crate) fn retry_waits(&mut self) {
        for group in self.groups.iter_mut().filter(|group| group.wait.is_retried()) {
            group.wait = Wait::Nothing;
        }
    }

    /// What the threads that wait for `wait` (a barrier of the block or of the cluster) wait for has
    /// come.
    pub(crate) fn release_barrier(&mut self, wait: Wait) {
        self.release(|group| if group.wait == wait { group.mask } else { 0 });
    }

    /// Lets threads go on that wait at warp synchronisations for others, without these. `false` if there are none.
    pub(crate) fn go_on_without_absent(&mut self) -> bool {
        let is_stuck = |group: &Group| matches!(group.wait, Wait::WarpSync | Wait::Collective);
        let any = self.groups.iter().any(is_stuck);
        self.release(|group| if is_stuck(group) { group.mask } else { 0 });
        any
    }

    /// Lets threads go on that wait at a `BSYNC` and that others wait for at a warp synchronisation: nobody else can run. `false` if there are none.
    ///
    /// An H200 does so: six programs of ptxas's in which each side waits for the other end there, with the right results (docs/silicon.md).
    pub(crate) fn go_on_where_named(&mut self) -> bool {
        let at = |is: fn(Wait) -> bool| {
            self.groups.iter().filter(move |group| is(group.wait)).fold(0, |all, g| all | g.mask)
        };
        let synchronising = at(|wait| matches!(wait, Wait::WarpSync | Wait::Collective));
        let named = lanes_of(synchronising).fold(0, |all, lane| all | self.warpsync[lane]);
        let converging = at(|wait| matches!(wait, Wait::Convergence(_)));
        let freed = named & converging;
        if freed == 0 {
            return false;
        }
        let waits: Vec<(u8, Mask)> = self
            .groups
            .iter()
            .filter_map(|group| match group.wait {
                Wait::Convergence(barrier) => Some((barrier, group.mask & freed)),
                _ => None,
            })
            .collect();
        self.release(|group| if matches!(group.wait, Wait::Convergence(_)) { group.mask & freed } else { 0 });
        // Who comes to the barrier later does not wait for them.
        for (barrier, lanes) in waits {
            self.break_out(barrier, lanes);
        }
        true
    }

    /// Splits `lanes` off the current group and lets them wait; the rest of the group, if any, goes
    /// on at `next` as the current group.
    fn suspend(&mut self, lanes: Mask, wait: Wait, next: u64) {
        let Some(group) = self.groups.get_mut(self.current) else { return };
        group.pc = next;
        if lanes == 0 {
            return;
        }
        if lanes == group.mask {
            group.wait = wait;
            return;
        }
        group.mask &= !lanes;
        let cycle = group.cycle;
        self.groups.push(Group { mask: lanes, pc: next, wait, cycle, retries: false });
    }

    /// Of the threads that wait at a warp synchronisation, those whose mask is complete: they wait for the threads of their mask
    /// at a synchronisation with the same mask, not at any.
    fn complete(&self, waiting: Mask) -> Mask {
        let (mut free, mut rest) = (0, waiting);
        while let Some(first) = lanes_of(rest).next() {
            let mask = self.warpsync[first] & self.alive;
            let same = mask_where(|lane| rest >> lane & 1 != 0 && self.warpsync[lane] & self.alive == mask);
            free |= if mask & !same == 0 { same } else { 0 };
            rest &= !same;
        }
        free
    }

    /// Lets all threads go on whose convergence barrier or warp synchronisation is complete.
    fn release_converged(&mut self) {
        let at = |wait: Wait| self.groups.iter().filter(|g| g.wait == wait).fold(0, |mask, g| mask | g.mask);
        let alive = self.alive;
        let mut free = self.complete(at(Wait::WarpSync)) | self.complete(at(Wait::Collective));
        for group in &self.groups {
            let Wait::Convergence(barrier) = group.wait else { continue };
            let waiting = at(group.wait);
            let expected = |lane: usize| self.convergence(barrier, lane) & alive;
            free |= mask_where(|lane| {
                // Threads that wait at the same register in an inner call wait for others.
                let together = lanes_of(waiting).filter(|&other| expected(other) == expected(lane));
                let missing = together.fold(expected(lane), |missing, other| missing & !(1 << other));
                group.mask >> lane & 1 != 0 && missing == 0
            });
        }
        if free == 0 {
            return;
        }
        self.release(|group| match group.wait {
            Wait::Convergence(_) | Wait::WarpSync | Wait::Collective => group.mask & free,
            _ => 0,
        });
    }

    /// Lets the threads that `free` gives of each group go on, and joins those that have waited for
    /// the same threads and go on at the same place, or in a collective, whose code is the same at all of its places.
    fn release(&mut self, free: impl Fn(&Group) -> Mask) {
        let mut released: Vec<(Mask, Group)> = Vec::new();
        for at in 0..self.groups.len() {
            let mask = free(&self.groups[at]);
            if mask == 0 {
                continue;
            }
            let mut together = self.met_by(self.groups[at].wait, mask);
            let group = &mut self.groups[at];
            group.mask &= !mask;
            let mut joined = Group { mask, ..*group };
            // Threads of one mask are together after a warp synchronisation, and with them those that came with any of them.
            released.retain(|(other, known)| {
                let same_place = known.pc == joined.pc || joined.wait == Wait::Collective;
                let same_threads = match joined.wait {
                    Wait::WarpSync | Wait::Collective => *other & together != 0,
                    _ => *other == together,
                };
                let joins = same_threads && same_place && known.wait == joined.wait;
                if joins {
                    together |= other;
                    joined = Group {
                        mask: joined.mask | known.mask,
                        pc: known.pc,
                        cycle: joined.cycle.max(known.cycle),
                        ..joined
                    };
                }
                !joins
            });
            released.push((together, joined));
        }
        if released.is_empty() {
            return;
        }
        let current_is_gone = self.group().is_none_or(|group| group.mask == 0);
        let at = self.groups.len();
        self.groups.extend(released.into_iter().map(|(_, group)| Group { wait: Wait::Nothing, ..group }));
        if current_is_gone {
            self.current = at;
        }
        self.drop_empty();
    }

    /// The threads that those in `mask` have waited for at `wait`; the barriers of a block do not join threads.
    pub(crate) fn met_by(&self, wait: Wait, mask: Mask) -> Mask {
        let of_lane = |lane: usize| match wait {
            Wait::Convergence(barrier) => self.convergence(barrier, lane),
            Wait::WarpSync | Wait::Collective => self.warpsync[lane],
            _ => 0,
        };
        lanes_of(mask).fold(mask, |all, lane| all | of_lane(lane) & self.alive)
    }

    /// Removes groups without threads; the current one stays current, or its successor becomes it.
    fn drop_empty(&mut self) {
        let before_current = self.groups.iter().take(self.current).filter(|group| group.mask != 0).count();
        self.groups.retain(|group| group.mask != 0);
        self.current = if before_current < self.groups.len() { before_current } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masks(threads: &Threads) -> Vec<(Mask, u64, Wait)> {
        let mut groups: Vec<_> = threads.groups().iter().map(|g| (g.mask, g.pc, g.wait)).collect();
        groups.sort_by_key(|group| group.0);
        groups
    }

    /// Half of the threads wait where they meet the others, who wait for them at a warp synchronisation.
    #[test]
    fn who_is_named_goes_on_where_all_wait() {
        let mut threads = Threads::new(0xff, 0);
        threads.set_convergence(0, 0xff, 0xff);
        threads.branch(0x0f, 0x100, 0x10);
        threads.converge(0, 0xf0, 0x200);
        assert!(threads.rotate());
        threads.warp_sync(0x0f, &[0xff; WARP], true, 0x110);
        assert!(!threads.rotate(), "nobody can run");
        assert!(threads.go_on_where_named());
        assert_eq!(masks(&threads), [(0x0f, 0x110, Wait::WarpSync), (0xf0, 0x200, Wait::Nothing)]);
        assert!(!threads.go_on_where_named());
        assert!(threads.rotate());
        threads.exit(0xf0, 0x210);
        assert_eq!(masks(&threads), [(0x0f, 0x110, Wait::Nothing)]);
        // Nobody waits for those that have gone.
        threads.converge(0, 0x0f, 0x200);
        assert_eq!(masks(&threads), [(0x0f, 0x200, Wait::Nothing)]);
    }

    #[test]
    fn an_if_comes_apart_and_joins() {
        let mut threads = Threads::new(0xff, 0);
        threads.set_convergence(0, 0xff, 0xff);
        assert!(threads.branch(0x0f, 100, 16));
        assert_eq!(masks(&threads), [(0x0f, 100, Wait::Nothing), (0xf0, 16, Wait::Nothing)]);
        threads.converge(0, 0xf0, 200);
        assert!(threads.rotate());
        assert_eq!(threads.group().map(|g| g.mask), Some(0x0f));
        threads.converge(0, 0x0f, 200);
        assert_eq!(masks(&threads), [(0xff, 200, Wait::Nothing)]);
    }

    #[test]
    fn exited_and_broken_threads_are_not_waited_for() {
        let mut threads = Threads::new(0xf, 0);
        threads.set_convergence(1, 0xf, 0xf);
        threads.branch(0x3, 100, 16);
        threads.converge(1, 0xc, 32);
        assert!(threads.rotate());
        threads.break_out(1, 0x1);
        threads.branch(0x1, 300, 116);
        threads.exit(0x2, 132);
        assert_eq!(masks(&threads), [(0x1, 300, Wait::Nothing), (0xc, 32, Wait::Nothing)]);
    }

    #[test]
    fn an_inner_call_has_its_own_instance_of_a_barrier() {
        // Two of four threads call a function that uses B0 too, and come back.
        let mut threads = Threads::new(0xf, 0);
        threads.set_convergence(0, 0xf, 0xf);
        threads.branch(0x3, 1000, 16);
        threads.converge(0, 0xc, 32);
        assert!(threads.rotate());
        let saved: Vec<Mask> = (0..2).map(|lane| threads.convergence(0, lane)).collect();
        threads.set_convergence(0, 0x3, 0x3);
        threads.branch(0x1, 1100, 1016);
        threads.converge(0, 0x2, 1200);
        assert!(threads.rotate());
        threads.converge(0, 0x1, 1200);
        assert_eq!(masks(&threads), [(0x3, 1200, Wait::Nothing), (0xc, 32, Wait::Convergence(0))]);
        for (lane, mask) in saved.into_iter().enumerate() {
            threads.set_convergence(0, mask, 1 << lane);
        }
        threads.converge(0, 0x3, 32);
        assert_eq!(masks(&threads), [(0xf, 32, Wait::Nothing)]);
    }

    #[test]
    fn warpsync_waits_for_the_named_threads_only() {
        let mut threads = Threads::new(0xf, 0);
        threads.branch(0x3, 100, 16);
        threads.warp_sync(0xc, &[0x6; WARP], false, 32);
        assert_eq!(masks(&threads)[1].2, Wait::WarpSync);
        assert!(threads.rotate());
        threads.branch(0x2, 32 - 16, 116);
        assert!(threads.rotate());
        threads.warp_sync(0x2, &[0x6; WARP], false, 32);
        assert_eq!(masks(&threads), [(0x1, 116, Wait::Nothing), (0xe, 32, Wait::Nothing)]);
    }

    #[test]
    fn who_waits_for_absent_threads_can_go_on_without_them() {
        let mut threads = Threads::new(0xf, 0);
        threads.branch(0x3, 100, 16);
        threads.warp_sync(0xc, &[0xf; WARP], false, 32);
        assert!(threads.rotate());
        threads.wait_at_barrier(0, 0x3, 116);
        assert!(!threads.rotate(), "nobody can run");
        assert!(threads.go_on_without_absent());
        assert!(!threads.go_on_without_absent(), "those at the barrier stay");
        assert_eq!(masks(&threads), [(0x3, 116, Wait::Barrier(0)), (0xc, 32, Wait::Nothing)]);
    }

    #[test]
    fn an_exclusive_warpsync_parts_threads_by_their_masks() {
        let mut threads = Threads::new(0xf, 0);
        let by_parity: [Mask; WARP] = std::array::from_fn(|lane| if lane % 2 == 0 { 0x5 } else { 0xa });
        threads.branch(0x1, 100, 16);
        threads.warp_sync(0xe, &by_parity, true, 32);
        let waiting = [(0x1, 100, Wait::Nothing), (0x4, 32, Wait::WarpSync), (0xa, 32, Wait::Nothing)];
        assert_eq!(masks(&threads), waiting);
        assert!(threads.rotate());
        while threads.group().is_some_and(|group| group.mask != 0x1) {
            assert!(threads.rotate());
        }
        threads.warp_sync(0x1, &by_parity, true, 32);
        assert_eq!(masks(&threads), [(0x5, 32, Wait::Nothing), (0xa, 32, Wait::Nothing)]);
    }

    #[test]
    fn indirect_jumps_scatter() {
        let mut threads = Threads::new(0xff, 0);
        let targets: [u64; WARP] = std::array::from_fn(|lane| 1000 + 16 * (lane as u64 % 3));
        assert!(threads.scatter(0x3f, &targets, 16));
        let expected = [
            (0b001_001, 1000, Wait::Nothing),
            (0b010_010, 1016, Wait::Nothing),
            (0b100_100, 1032, Wait::Nothing),
            (0xc0, 16, Wait::Nothing),
        ];
        assert_eq!(masks(&threads), expected);
    }

    #[test]
    fn rotation_visits_all_and_joins_none() {
        let mut threads = Threads::new(0x7, 0);
        threads.branch(0x1, 100, 16);
        threads.branch(0x2, 100, 16);
        let mut visited = Vec::new();
        for _ in 0..3 {
            assert!(threads.rotate());
            visited.extend(threads.group().map(|group| group.mask));
        }
        assert_eq!(visited, [0x1, 0x2, 0x4]);
    }

    #[test]
    fn a_deadlock_has_nothing_to_rotate_to() {
        let mut threads = Threads::new(0x3, 0);
        threads.set_convergence(0, 0x3, 0x3);
        threads.branch(0x1, 100, 16);
        threads.converge(0, 0x2, 32);
        assert!(threads.rotate());
        threads.wait_at_barrier(0, 0x1, 116);
        assert!(!threads.rotate());
        threads.release_barrier(Wait::Barrier(0));
        assert!(threads.rotate());
    }

    #[test]
    fn members_of_a_collective_meet_from_two_places() {
        let mut threads = Threads::new(0xf, 0);
        threads.branch(0x3, 100, 16);
        threads.begin_collective(0xc, &[0xf; WARP], 64, 32);
        assert!(threads.rotate());
        threads.begin_collective(0x3, &[0xf; WARP], 164, 116);
        let together = threads.group().map(|group| group.mask);
        assert_eq!(together, Some(0xf));
        threads.end_collective(0xf, 48);
        assert_eq!(masks(&threads), [(0x3, 164, Wait::Nothing), (0xc, 64, Wait::Nothing)]);
    }

    #[test]
    fn a_collective_takes_masks_apart() {
        let mut threads = Threads::new(0xf, 0);
        let halves: [Mask; WARP] = std::array::from_fn(|lane| if lane < 2 { 0x3 } else { 0xc });
        threads.begin_collective(0xf, &halves, 64, 16);
        assert_eq!(masks(&threads), [(0x3, 16, Wait::Nothing), (0xc, 16, Wait::Nothing)]);
    }

    #[test]
    fn members_are_together_behind_warpsync_whoever_they_came_with() {
        // Lanes 0 and 2 come first, 1 and 3 later; 0 and 1 have one mask, 2 and 3 another.
        let mut threads = Threads::new(0xf, 0);
        let halves: [Mask; WARP] = std::array::from_fn(|lane| if lane < 2 { 0x3 } else { 0xc });
        threads.branch(0xa, 0, 0);
        threads.warp_sync(0x5, &halves, false, 16);
        assert!(threads.rotate());
        threads.warp_sync(0xa, &halves, false, 16);
        assert_eq!(masks(&threads), [(0xf, 16, Wait::Nothing)]);
    }
}
