//! Fused multiply-add of whole warps, by the processor's instruction where it has one: the library
//! function that the compiler falls back to takes a hundred times as long.

use crate::state::{WARP, map3};

/// `a * b + c` in each lane, rounded once to nearest.
pub(super) fn singles(a: &[f32; WARP], b: &[f32; WARP], c: &[f32; WARP]) -> [f32; WARP] {
    #[cfg(target_arch = "x86_64")]
    if x86::available() {
        // SAFETY: the processor has the instructions that the function is compiled to.
        return unsafe { x86::singles(a, b, c) };
    }
    map3(a, b, c, f32::mul_add)
}

/// `a * b + c` in each lane, rounded once to nearest.
pub(super) fn doubles(a: &[f64; WARP], b: &[f64; WARP], c: &[f64; WARP]) -> [f64; WARP] {
    #[cfg(target_arch = "x86_64")]
    if x86::available() {
        // SAFETY: as above.
        return unsafe { x86::doubles(a, b, c) };
    }
    map3(a, b, c, f64::mul_add)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{WARP, map3};

    /// The processor has what the functions of this module are compiled to.
    pub(super) fn available() -> bool {
        std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2")
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn singles(a: &[f32; WARP], b: &[f32; WARP], c: &[f32; WARP]) -> [f32; WARP] {
        map3(a, b, c, |a, b, c| a.mul_add(b, c))
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn doubles(a: &[f64; WARP], b: &[f64; WARP], c: &[f64; WARP]) -> [f64; WARP] {
        map3(a, b, c, |a, b, c| a.mul_add(b, c))
    }
}
