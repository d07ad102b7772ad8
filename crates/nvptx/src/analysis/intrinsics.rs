//! LLVM's intrinsics that passes know the meaning of. Selection has its own, longer table.

use super::View;
use crate::ir::Call;

macro_rules! intrinsics {
    ($($variant:ident $name:literal),+ $(,)?) => {
        /// An intrinsic function whose meaning passes use.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Intrinsic { $(#[doc = concat!("`llvm.", $name, "`")] $variant),+ }

        impl Intrinsic {
            /// The intrinsic of a function's full name, with or without types at its end.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Intrinsic> {
                match stem(name.strip_prefix("llvm.")?) { $($name => Some(Intrinsic::$variant),)+ _ => None }
            }
        }
    };
}

intrinsics! {
    Abs "abs", SMin "smin", SMax "smax", UMin "umin", UMax "umax",
    Ctpop "ctpop", Ctlz "ctlz", Cttz "cttz", BSwap "bswap", BitReverse "bitreverse", FShl "fshl", FShr "fshr",
    UAddSat "uadd.sat", SAddSat "sadd.sat", USubSat "usub.sat", SSubSat "ssub.sat",
    UAddOverflow "uadd.with.overflow", SAddOverflow "sadd.with.overflow",
    USubOverflow "usub.with.overflow", SSubOverflow "ssub.with.overflow",
    UMulOverflow "umul.with.overflow", SMulOverflow "smul.with.overflow",
    FAbs "fabs", CopySign "copysign", Floor "floor", Ceil "ceil", Trunc "trunc", Rint "rint",
    NearbyInt "nearbyint", Round "round", RoundEven "roundeven", Sqrt "sqrt", Fma "fma", FMulAdd "fmuladd",
    MinNum "minnum", MaxNum "maxnum", Minimum "minimum", Maximum "maximum",
    MemCpy "memcpy", MemMove "memmove", MemSet "memset", MemCpyInline "memcpy.inline", MemSetInline "memset.inline",
    LifetimeStart "lifetime.start", LifetimeEnd "lifetime.end", InvariantStart "invariant.start",
    InvariantEnd "invariant.end", Assume "assume", Expect "expect", ExpectProbability "expect.with.probability",
    IsConstant "is.constant", ObjectSize "objectsize", DbgDeclare "dbg.declare", DbgValue "dbg.value",
    DbgLabel "dbg.label", DbgAssign "dbg.assign", NoAliasScopeDecl "experimental.noalias.scope.decl",
    SideEffect "sideeffect", PseudoProbe "pseudoprobe", Annotation "annotation", PtrAnnotation "ptr.annotation",
    LaunderInvariant "launder.invariant.group", StripInvariant "strip.invariant.group", SsaCopy "ssa.copy",
    PtrMask "ptrmask", Trap "trap", StackSave "stacksave", StackRestore "stackrestore",
    TidX "nvvm.read.ptx.sreg.tid.x", TidY "nvvm.read.ptx.sreg.tid.y", TidZ "nvvm.read.ptx.sreg.tid.z",
    NTidX "nvvm.read.ptx.sreg.ntid.x", NTidY "nvvm.read.ptx.sreg.ntid.y", NTidZ "nvvm.read.ptx.sreg.ntid.z",
    CtaIdX "nvvm.read.ptx.sreg.ctaid.x", CtaIdY "nvvm.read.ptx.sreg.ctaid.y", CtaIdZ "nvvm.read.ptx.sreg.ctaid.z",
    NCtaIdX "nvvm.read.ptx.sreg.nctaid.x", NCtaIdY "nvvm.read.ptx.sreg.nctaid.y",
    NCtaIdZ "nvvm.read.ptx.sreg.nctaid.z", LaneId "nvvm.read.ptx.sreg.laneid",
    WarpSize "nvvm.read.ptx.sreg.warpsize", Ldg "nvvm.ldg.global.i", LdgF "nvvm.ldg.global.f",
    LdgP "nvvm.ldg.global.p",
}

impl Intrinsic {
    /// True for what says something about the program, and touches no memory.
    #[must_use]
    pub const fn is_remark(self) -> bool {
        matches!(
            self,
            Intrinsic::Assume
                | Intrinsic::InvariantStart
                | Intrinsic::InvariantEnd
                | Intrinsic::NoAliasScopeDecl
                | Intrinsic::DbgDeclare
                | Intrinsic::DbgValue
                | Intrinsic::DbgLabel
                | Intrinsic::DbgAssign
                | Intrinsic::SideEffect
                | Intrinsic::PseudoProbe
        )
    }
}

/// The intrinsic that a call names.
#[must_use]
pub fn called(view: View<'_>, call: &Call) -> Option<Intrinsic> {
    Intrinsic::from_name(&view.callee(call)?.name)
}

/// The name without the types that overloaded intrinsics carry: `ctpop.i32` is `ctpop`.
fn stem(name: &str) -> &str {
    let mut rest = name;
    while let Some((before, last)) = rest.rsplit_once('.') {
        if !is_type(last) {
            break;
        }
        rest = before;
    }
    rest
}

fn is_type(part: &str) -> bool {
    let digits = match part.as_bytes() {
        [b'b', b'f', rest @ ..] | [b'i' | b'f' | b'p' | b'v' | b'a', rest @ ..] => rest,
        _ => return part.starts_with("sl_") || part.starts_with("s_"),
    };
    digits.first().is_some_and(u8::is_ascii_digit)
}

/// True for the intrinsics that compute their result from their arguments alone, whatever the module says about
/// them: neither memory, nor other threads, nor anything that could go wrong.
#[must_use]
pub fn is_pure_name(name: &str) -> bool {
    let Some(name) = name.strip_prefix("llvm.") else { return false };
    if let Some(name) = name.strip_prefix("nvvm.") {
        return is_pure_nvvm(name);
    }
    const EXACT: &[&str] = &[
        "abs",
        "smin",
        "smax",
        "umin",
        "umax",
        "ctpop",
        "ctlz",
        "cttz",
        "bswap",
        "bitreverse",
        "fshl",
        "fshr",
        "fabs",
        "copysign",
        "floor",
        "ceil",
        "trunc",
        "rint",
        "nearbyint",
        "round",
        "roundeven",
        "sqrt",
        "fma",
        "fmuladd",
        "minnum",
        "maxnum",
        "minimum",
        "maximum",
        "minimumnum",
        "maximumnum",
        "sin",
        "cos",
        "tan",
        "exp",
        "exp2",
        "exp10",
        "log",
        "log2",
        "log10",
        "pow",
        "powi",
        "canonicalize",
        "is.fpclass",
        "is.constant",
        "expect",
        "expect.with.probability",
        "objectsize",
        "ptrmask",
        "scmp",
        "ucmp",
        "lround",
        "llround",
        "lrint",
        "llrint",
        "ldexp",
        "ssa.copy",
        "annotation",
        "fptosi.sat",
        "fptoui.sat",
        "convert.to.fp16",
        "convert.from.fp16",
    ];
    let stem = stem(name);
    EXACT.contains(&stem)
        || stem.ends_with(".sat")
        || stem.ends_with(".with.overflow")
        || stem.starts_with("vector.reduce.")
        || stem.starts_with("vector.extract")
        || stem.starts_with("vector.insert")
}

/// `llvm.nvvm.*`: arithmetic, conversions and the special registers that do not change while a thread runs.
fn is_pure_nvvm(name: &str) -> bool {
    if let Some(register) = name.strip_prefix("read.ptx.sreg.") {
        let changing = ["clock", "globaltimer", "pm", "activemask", "smid", "warpid", "nsmid", "dynamic_smem"];
        return !changing.iter().any(|other| register.starts_with(other));
    }
    const ARITHMETIC: &[&str] = &[
        "abs", "add", "bitcast", "brev", "ceil", "clz", "cos", "d2", "dp2a", "dp4a", "div", "ex2", "f2", "fabs", "ff2",
        "ff", "floor", "fma", "fmax", "fmin", "fneg", "fns", "i2", "idp2a", "idp4a", "lg2", "ll2", "lohi", "max",
        "min", "mul", "mul24", "mulhi", "neg", "popc", "prmt", "rcp", "rotate", "round", "rsqrt", "sad", "saturate",
        "sin", "sqrt", "sub", "swap", "tanh", "testp", "trunc", "ui2", "ull2", "e4m3x2", "e5m2x2", "e2m1x2", "e2m3x2",
        "e3m2x2", "ue8m0x2", "bf16x2", "bf2h", "h2f", "isspacep", "ptr", "bfe", "bfi", "shf", "lop3",
    ];
    let word = name.split('.').next().unwrap_or(name);
    ARITHMETIC.iter().any(|&known| word == known || (known.ends_with('2') && word.starts_with(known)))
        || name.starts_with("cvt.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_and_without_types() {
        assert_eq!(Intrinsic::from_name("llvm.ctpop.i32"), Some(Intrinsic::Ctpop));
        assert_eq!(Intrinsic::from_name("llvm.memcpy.p0.p4.i64"), Some(Intrinsic::MemCpy));
        assert_eq!(Intrinsic::from_name("llvm.fma.v2bf16"), Some(Intrinsic::Fma));
        assert_eq!(Intrinsic::from_name("llvm.uadd.with.overflow.i64"), Some(Intrinsic::UAddOverflow));
        assert_eq!(Intrinsic::from_name("llvm.nvvm.read.ptx.sreg.tid.x"), Some(Intrinsic::TidX));
        assert_eq!(Intrinsic::from_name("ctpop"), None);
    }

    #[test]
    fn what_is_pure() {
        for name in ["llvm.umax.i8", "llvm.nvvm.mulhi.ui", "llvm.nvvm.d2i.rz", "llvm.nvvm.read.ptx.sreg.ntid.y"] {
            assert!(is_pure_name(name), "{name}");
        }
        for name in
            ["llvm.nvvm.barrier0", "llvm.nvvm.shfl.sync.idx.i32", "llvm.nvvm.read.ptx.sreg.clock", "llvm.trap", "x"]
        {
            assert!(!is_pure_name(name), "{name}");
        }
    }
}
