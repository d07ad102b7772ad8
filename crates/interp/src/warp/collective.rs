//! Instructions in which threads of a warp meet: exchanges under a member mask, instructions for the whole warp.

use super::{Next, Warp};
use crate::code::{Action, Function, WarpAction};
use crate::collective::{Collective, exchange};
use crate::env::{Env, Halt};
use crate::lanes::lanes_of;
use crate::threads::{Group, Threads, Wait};
use oriole_device::FaultKind;
use smallvec::SmallVec;

impl Warp {
    /// A collective instruction of the threads `active` of group `at`.
    pub(crate) fn collective(
        &mut self,
        functions: &[Function<'_>],
        at: usize,
        op: &Collective,
        active: u32,
    ) -> Result<Next, Halt> {
        let alive = self.threads.alive;
        let Group { pc, base, .. } = self.threads.groups()[at];
        let Some(members) = &op.members else {
            exchange(&mut self.state, &[(active, base, op)]);
            self.threads.group_mut(at).pc = pc + 1;
            return Ok(Next::Go(at));
        };
        let lane = Threads::first_lane(active);
        let mask = self.state.get(members, lane) as u32;
        let same = lanes_of(active).filter(|&lane| self.state.get(members, lane) as u32 == mask);
        let together = same.fold(0, |mask, lane| mask | 1 << lane);
        if let Some(lane) = lanes_of(together & !mask).next() {
            let rule = format!("lane {lane} executes an instruction for the threads {mask:#010x}");
            return Err(Halt { lane, kind: FaultKind::Misuse(rule) });
        }
        if together == active && mask & alive == active {
            exchange(&mut self.state, &[(active, base, op)]);
            self.threads.group_mut(at).pc = pc + 1;
            return Ok(Next::Go(at));
        }
        self.part_inactive(at, active);
        if together != active {
            // Threads with another mask execute the instruction by themselves.
            self.threads.split(at, active & !together, pc, pc + 1);
        }
        self.threads.group_mut(at).wait = Wait::Members(mask);
        self.gather(functions, at)
    }

    /// An instruction for the whole warp: runs when all its living threads are there.
    pub(crate) fn together(
        &mut self,
        env: &mut Env<'_>,
        functions: &[Function<'_>],
        at: usize,
        run: &WarpAction,
        active: u32,
    ) -> Result<Next, Halt> {
        if active == self.threads.alive {
            run(&mut self.state, env, active)?;
            self.threads.group_mut(at).pc += 1;
            return Ok(Next::Go(at));
        }
        self.part_inactive(at, active);
        self.threads.group_mut(at).wait = Wait::Members(u32::MAX);
        self.gather(functions, at)
    }

    /// Lets the instruction happen that group `at` waits at, if all that it waits for are there.
    pub(crate) fn gather(&mut self, functions: &[Function<'_>], at: usize) -> Result<Next, Halt> {
        let alive = self.threads.alive;
        let own = &self.threads.groups()[at];
        let Wait::Members(mask) = own.wait else { return Ok(Next::Leave) };
        let action = |group: &Group| &functions[group.function as usize].ops[group.pc as usize].action;
        let belongs = |group: &&Group| {
            group.wait == own.wait
                && match (action(own), action(group)) {
                    (Action::Collective(a), Action::Collective(b)) => a.kind == b.kind,
                    _ => (group.function, group.pc) == (own.function, own.pc),
                }
        };
        let here: Vec<&Group> = self.threads.groups().iter().filter(belongs).collect();
        let present = here.iter().fold(0, |all, group| all | group.mask);
        if present != mask & alive {
            return Ok(Next::Leave);
        }
        let parts: SmallVec<[(u32, u32, &Collective); 4]> = here
            .iter()
            .filter_map(|group| match action(group) {
                Action::Collective(op) => Some((group.mask, group.base, &**op)),
                _ => None,
            })
            .collect();
        let is_exchange = !parts.is_empty();
        if is_exchange {
            exchange(&mut self.state, &parts);
        }
        self.threads.resume(present, is_exchange);
        Ok(self.threads.group_of(Threads::first_lane(present)).map_or(Next::Leave, Next::Go))
    }

    /// Gathers again those that wait: threads that they waited for may have exited. Whether any go on.
    pub(crate) fn gather_again(&mut self, functions: &[Function<'_>]) -> bool {
        let waits = |group: &Group| matches!(group.wait, Wait::Members(_));
        let waiting = self.threads.groups().iter().filter(|group| waits(group)).map(|group| group.mask);
        let lanes: Vec<usize> = waiting.map(Threads::first_lane).collect();
        let gathered = lanes.into_iter().filter_map(|lane| {
            let at = self.threads.group_of(lane)?;
            matches!(self.gather(functions, at), Ok(Next::Go(_))).then_some(())
        });
        gathered.count() > 0
    }
}
