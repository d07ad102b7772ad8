//! What selection is told.

/// What selection is told.
#[derive(Clone, Debug)]
pub struct Options {
    /// The number of the target: 90 for `sm_90a`.
    pub arch: u32,
    /// `sm_90a` rather than `sm_90`.
    pub arch_specific: bool,
    /// The PTX version that instructions may need.
    pub ptx_version: (u32, u32),
    /// `-O` level: at 0 nothing is fused.
    pub level: u8,
    /// Which products and sums are fused (`--fp-contract`).
    pub fp_contract: FpContract,
    /// Subnormals of `float` are flushed to zero (`--ftz`).
    pub ftz: bool,
    /// Division of `float` is correctly rounded (`--prec-div`).
    pub prec_div: bool,
    /// The square root of `float` is correctly rounded (`--prec-sqrt`).
    pub prec_sqrt: bool,
}

/// Which products and sums of floats become one operation that rounds once. The IR decides with its `contract` flags, as in
/// LLVM; front ends such as rustc's and Julia's do not set them, and rely on two roundings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FpContract {
    /// None; `llvm.fmuladd` is a product and a sum.
    Off,
    /// Those whose product and sum both say `contract`, and `llvm.fmuladd`.
    #[default]
    On,
    /// All, whatever the IR says: as nvcc's `-fmad=true` and libNVVM's `-fma=1`.
    Fast,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            arch: 80,
            arch_specific: false,
            ptx_version: (9, 0),
            level: 2,
            fp_contract: FpContract::default(),
            ftz: false,
            prec_div: true,
            prec_sqrt: true,
        }
    }
}
