//! The threads of a warp, by number and as masks.

/// Threads of a warp.
pub(crate) const WARP: usize = 32;

/// The lanes of a mask, the lowest first.
pub(crate) fn lanes_of(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}
