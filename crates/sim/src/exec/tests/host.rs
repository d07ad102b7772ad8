//! The two versions of a kernel, for the host's instructions and for any processor.

use super::Warp;
use crate::exec::host::{Kernel, compute};
use crate::lanes::{Mask, map3};
use crate::state::State;
use oriole_isa::Arch;

/// `R3 = R0 * R1 + R2`, fused.
struct Fused;

impl Kernel for Fused {
    #[inline(always)]
    fn run(&self, state: &mut State) {
        let fused = |a: u32, b: u32, c: u32| {
            let [a, b, c] = [a, b, c].map(f32::from_bits);
            // The sign of a NaN is up to the host.
            Some(a.mul_add(b, c)).filter(|v| !v.is_nan()).map_or(0, f32::to_bits)
        };
        let value = map3(state.r(0), state.r(1), state.r(2), fused);
        state.set_r(3, &value);
    }
}

#[test]
fn both_versions_give_the_same_bits() {
    let mut seed = 0x9e37_79b9u32;
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed ^ seed >> 15
    };
    for round in 0..200 {
        let lanes: [_; 3] = std::array::from_fn(|_| std::array::from_fn(|_| next()));
        let warp = || {
            let mut warp = Warp::new(Arch::Sm80).with(0, lanes[0]).with(1, lanes[1]).with(2, lanes[2]);
            warp.state.active = if round % 2 == 0 { Mask::MAX } else { 0x8000_f00f };
            warp
        };
        let (mut plain, mut fast) = (warp(), warp());
        Fused.run(&mut plain.state);
        compute(Fused)(&mut fast.state);
        assert_eq!(plain.state.r(3), fast.state.r(3), "{lanes:?}");
    }
}
