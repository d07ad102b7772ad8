//! Helper lanes: the lanes of a quad that have no thread here, while `BMOV.PQUAD` lets them execute so that
//! a texture instruction finds the coordinates of whole quads.

use crate::lanes::{Lanes, Mask, lanes_of};
use crate::state::{RZ, State};

/// The helper lanes of the group that runs, and what their registers held before.
#[derive(Debug, Default)]
pub(crate) struct HelperLanes {
    lanes: Mask,
    registers: Vec<Lanes>,
    predicates: Vec<Mask>,
}

impl HelperLanes {
    /// The lanes without a thread in `group` of all quads that have one in it.
    pub(crate) fn of_quads(group: Mask, state: &State) -> Self {
        let any = (group | group >> 1 | group >> 2 | group >> 3) & 0x1111_1111;
        let lanes = (any * 15) & !group;
        if lanes == 0 {
            return HelperLanes::default();
        }
        let registers = (0..RZ).map(|n| *state.r(n)).collect();
        HelperLanes { lanes, registers, predicates: (0..7).map(|n| state.p(n)).collect() }
    }

    /// The lanes.
    pub(crate) fn lanes(&self) -> Mask {
        self.lanes
    }

    /// Ends their work: their registers are again what they were.
    pub(crate) fn dismiss(&mut self, state: &mut State) {
        let active = std::mem::replace(&mut state.active, self.lanes);
        for (n, values) in self.registers.iter().enumerate() {
            for lane in lanes_of(self.lanes) {
                state.set_lane(n, lane, values[lane]);
            }
        }
        for (n, &value) in self.predicates.iter().enumerate() {
            state.set_p(n, value);
        }
        state.active = active;
        *self = HelperLanes::default();
    }
}
