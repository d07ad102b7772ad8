//! Registers of one warp: what arithmetic instructions read and write.

use crate::constant::ConstantBanks;
use crate::identity::WarpIdentity;
use crate::lanes::{Lanes, Mask, WARP, WideLanes, lanes_of, map, map2};
use oriole_device::OutOfMemory;
use std::sync::Arc;
use zerocopy::FromZeros;

/// Number of `RZ`.
pub(crate) const RZ: usize = 255;
/// Number of `URZ`.
pub(crate) const URZ: usize = 255;
/// Number of `PT` and `UPT`.
pub(crate) const PT: usize = 7;

/// The vector registers, each at the start of a line of the host's cache.
#[derive(FromZeros)]
#[repr(align(64))]
struct Registers([Lanes; 256]);

/// The architectural registers of one warp, kept register by register ("structure of arrays").
///
/// `RZ`, `URZ`, `PT` and `UPT` are ordinary elements that the setters never touch, so that readers
/// need no special case.
pub(crate) struct State {
    r: Box<Registers>,
    p: [Mask; 8],
    ur: [u32; 256],
    up: [bool; 8],
    /// Lanes that execute the instruction at hand: its group's threads, less those that the guard
    /// switches off. Never zero while an instruction executes.
    pub(crate) active: Mask,
    /// Constant banks of the launch.
    pub(crate) constants: Arc<ConstantBanks>,
    /// Block and thread numbers.
    pub(crate) identity: WarpIdentity,
    /// The return address registers `Rpc`, which code uses to keep 64 bits aside.
    pub(crate) return_address: WideLanes,
    /// Warp instructions issued so far; what the clock registers count.
    pub(crate) clock: u64,
}

impl State {
    /// Bytes of the vector registers, which lie apart.
    pub(crate) const REGISTER_BYTES: usize = size_of::<Registers>();

    /// Registers of a fresh warp: all zero.
    ///
    /// # Errors
    /// The host has no room for them.
    pub(crate) fn new(constants: Arc<ConstantBanks>, identity: WarpIdentity) -> Result<Self, OutOfMemory> {
        let registers = Registers::new_box_zeroed();
        let mut state = State {
            r: registers.map_err(|_| OutOfMemory::Host(Self::REGISTER_BYTES as u64))?,
            p: [0; 8],
            ur: [0; 256],
            up: [false; 8],
            active: 0,
            return_address: [0; WARP],
            constants,
            identity,
            clock: 0,
        };
        state.p[PT] = Mask::MAX;
        state.up[PT] = true;
        Ok(state)
    }

    /// All lanes of `R<n>`.
    #[inline(always)]
    pub(crate) fn r(&self, n: usize) -> &Lanes {
        &self.r.0[n & 255]
    }

    /// `N` registers from `R<n>` on, all lanes; `None` if they are not all registers that keep what is
    /// written to them.
    #[inline(always)]
    pub(crate) fn group<const N: usize>(&self, n: usize) -> Option<&[Lanes; N]> {
        self.r.0[..RZ].get(n..)?.first_chunk()
    }

    /// The same to be written; the caller sees to it that inactive lanes keep their values.
    #[inline(always)]
    pub(crate) fn group_mut<const N: usize>(&mut self, n: usize) -> Option<&mut [Lanes; N]> {
        self.r.0[..RZ].get_mut(n..)?.first_chunk_mut()
    }

    /// `R<n>` of one lane.
    pub(crate) fn lane(&self, n: usize, lane: usize) -> u32 {
        self.r.0[n & 255][lane]
    }

    /// The pair `R<n>`, `R<n+1>` of all lanes; zero for `RZ`.
    #[inline(always)]
    pub(crate) fn r_wide(&self, n: usize) -> WideLanes {
        if n == RZ {
            return [0; WARP];
        }
        let (low, high) = (self.r(n), self.r(n + 1));
        map2(low, high, |low, high| u64::from(low) | u64::from(high) << 32)
    }

    /// The pair `R<n>`, `R<n+1>` of one lane; zero for `RZ`.
    pub(crate) fn lane_wide(&self, n: usize, lane: usize) -> u64 {
        if n == RZ {
            return 0;
        }
        u64::from(self.lane(n, lane)) | u64::from(self.lane(n + 1, lane)) << 32
    }

    /// Write `R<n>` in the active lanes. A write to `RZ` is dropped.
    #[inline(always)]
    pub(crate) fn set_r(&mut self, n: usize, value: &Lanes) {
        if n >= RZ {
            return;
        }
        let register = &mut self.r.0[n];
        if self.active == Mask::MAX {
            *register = *value;
            return;
        }
        // Without branches, so that it is a vector operation too.
        for lane in 0..WARP {
            let written = (self.active >> lane & 1).wrapping_neg();
            register[lane] = value[lane] & written | register[lane] & !written;
        }
    }

    /// Write the pair `R<n>`, `R<n+1>` in the active lanes. A write to `RZ` is dropped.
    #[inline(always)]
    pub(crate) fn set_r_wide(&mut self, n: usize, value: &WideLanes) {
        if n == RZ {
            return;
        }
        self.set_r(n, &map(value, |v| v as u32));
        self.set_r(n + 1, &map(value, |v| (v >> 32) as u32));
    }

    /// Write `R<n>` in one lane. A write to `RZ` is dropped.
    pub(crate) fn set_lane(&mut self, n: usize, lane: usize, value: u32) {
        if n < RZ {
            self.r.0[n][lane] = value;
        }
    }

    /// `P<n>` as a mask of lanes.
    pub(crate) fn p(&self, n: usize) -> Mask {
        self.p[n & 7]
    }

    /// Write `P<n>` in the active lanes. A write to `PT` is dropped.
    pub(crate) fn set_p(&mut self, n: usize, value: Mask) {
        if n < PT {
            self.p[n] = (self.p[n] & !self.active) | (value & self.active);
        }
    }

    /// `UR<n>`.
    pub(crate) fn ur(&self, n: usize) -> u32 {
        self.ur[n & 255]
    }

    /// The pair `UR<n>`, `UR<n+1>`; zero for `URZ`.
    pub(crate) fn ur_wide(&self, n: usize) -> u64 {
        if n == URZ {
            return 0;
        }
        u64::from(self.ur(n)) | u64::from(self.ur(n + 1)) << 32
    }

    /// Write `UR<n>`. A write to `URZ` is dropped.
    pub(crate) fn set_ur(&mut self, n: usize, value: u32) {
        if n < URZ {
            self.ur[n] = value;
        }
    }

    /// Write the pair `UR<n>`, `UR<n+1>`. A write to `URZ` is dropped.
    pub(crate) fn set_ur_wide(&mut self, n: usize, value: u64) {
        if n < URZ {
            self.set_ur(n, value as u32);
            self.set_ur(n + 1, (value >> 32) as u32);
        }
    }

    /// `UP<n>`.
    pub(crate) fn up(&self, n: usize) -> bool {
        self.up[n & 7]
    }

    /// Write `UP<n>`. A write to `UPT` is dropped.
    pub(crate) fn set_up(&mut self, n: usize, value: bool) {
        if n < PT {
            self.up[n] = value;
        }
    }

    /// The lowest active lane.
    pub(crate) fn first_active(&self) -> usize {
        (self.active.trailing_zeros() as usize).min(WARP - 1)
    }

    /// The active lanes, lowest first.
    pub(crate) fn active_lanes(&self) -> impl Iterator<Item = usize> + use<> {
        lanes_of(self.active)
    }
}
