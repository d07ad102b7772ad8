//! One value per thread of a warp, and what is done lane by lane.

/// Threads of a warp.
pub(crate) const WARP: usize = 32;
/// One 32-bit value per thread of a warp; element `i` belongs to lane `i`.
pub(crate) type Lanes = [u32; WARP];
/// One 64-bit value per thread of a warp.
pub(crate) type WideLanes = [u64; WARP];
/// One bit per thread of a warp.
pub(crate) type Mask = u32;

/// The lanes whose bit is set in `mask`, lowest first.
pub(crate) fn lanes_of(mask: Mask) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (lane < WARP).then_some(lane)
    })
}

/// `f` of each lane.
#[inline(always)]
pub(crate) fn map<A: Copy, T: Copy + Default>(a: &[A; WARP], f: impl Fn(A) -> T) -> [T; WARP] {
    by_lane(|i| f(a[i]))
}

/// `f` of each lane of two sources.
#[inline(always)]
pub(crate) fn map2<A: Copy, B: Copy, T: Copy + Default>(
    a: &[A; WARP],
    b: &[B; WARP],
    f: impl Fn(A, B) -> T,
) -> [T; WARP] {
    by_lane(|i| f(a[i], b[i]))
}

/// `f` of each lane of three sources.
#[inline(always)]
pub(crate) fn map3<A: Copy, B: Copy, C: Copy, T: Copy + Default>(
    a: &[A; WARP],
    b: &[B; WARP],
    c: &[C; WARP],
    f: impl Fn(A, B, C) -> T,
) -> [T; WARP] {
    by_lane(|i| f(a[i], b[i], c[i]))
}

/// `f` of the number of each lane. Unlike [`std::array::from_fn`] it is a plain loop, which becomes
/// vector operations.
#[inline(always)]
pub(crate) fn by_lane<T: Copy + Default>(f: impl Fn(usize) -> T) -> [T; WARP] {
    let mut value = [T::default(); WARP];
    for (lane, value) in value.iter_mut().enumerate() {
        *value = f(lane);
    }
    value
}

/// The lanes for which `f` holds.
#[inline(always)]
pub(crate) fn mask_where(f: impl Fn(usize) -> bool) -> Mask {
    (0..WARP).fold(0, |mask, lane| mask | Mask::from(f(lane)) << lane)
}
