//! What the run-time library is for.

/// What the target has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// The number of the target: 90 for `sm_90a`.
    pub arch: u32,
    /// Libraries are linked, which may be libdevice: `llvm.exp.f32` becomes `__nv_expf`.
    pub has_math: bool,
    /// `llvm.fmuladd` is a product and a sum, which round twice.
    pub splits_fmuladd: bool,
}
