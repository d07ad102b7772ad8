//! How symbols are seen from outside, and how functions are called.

/// Linkage of a symbol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Linkage {
    /// `external`, or none written
    #[default]
    External,
    /// `private`, `internal`
    Internal,
    /// `weak`, `weak_odr`, `linkonce`, `linkonce_odr`
    Weak,
    /// `linkonce`, `linkonce_odr`: as weak, and may be dropped when not used
    LinkOnce,
    /// `common`
    Common,
    /// `available_externally`: only for inlining
    AvailableExternally,
    /// `appending`: `llvm.used` and its like
    Appending,
    /// `extern_weak`
    ExternWeak,
}

/// Visibility of a symbol. PTX has no word for it; kept for linking.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Visibility {
    /// none written
    #[default]
    Default,
    /// `hidden`
    Hidden,
    /// `protected`
    Protected,
}

/// `ccc`, `ptx_kernel`…
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CallingConvention {
    /// `ccc`, or none written
    #[default]
    C,
    /// `fastcc`
    Fast,
    /// `coldcc`
    Cold,
    /// `ptx_kernel` (`cc 71`)
    PtxKernel,
    /// `ptx_device` (`cc 72`)
    PtxDevice,
    /// `cc n`: another number
    Other(u32),
}
