//! What of LLVM IR came or went with a release of LLVM.
//!
//! The one table of it: the printer asks it what an older LLVM knows, and `docs/nvptx-dialects.md` says the same releases.
//! Source: LLVM 15, 20, 22 and 23 were asked whether they take each form; where it came between two of them, the release is what is generally
//! known of LLVM's history.

/// A form of the language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    /// The part of the language.
    pub subject: &'static str,
    /// As it is written.
    pub form: &'static str,
    /// The first release that has it; 0 for what was there before LLVM 15.
    pub since: u32,
    /// The first release that lacks it; 0 where none does.
    pub until: u32,
}

impl Form {
    /// Whether a release has it.
    #[must_use]
    pub const fn is_in(&self, release: u32) -> bool {
        release >= self.since && (self.until == 0 || release < self.until)
    }
}

macro_rules! forms {
    ($($name:ident $subject:literal $form:literal $since:literal..$until:literal)*) => {
        $(
            #[doc = $form]
            pub const $name: Form = Form { subject: $subject, form: $form, since: $since, until: $until };
        )*

        /// All forms, by subject.
        pub const FORMS: &[Form] = &[$($name),*];
    };
}

forms! {
    HEX_DOUBLE "floats" "float 0x3FF8000000000000" 0..0
    HEX_NARROW "floats" "half 0xH3C00" 0..0
    HEX_EXACT "floats" "float f0x3FC00000" 23..0
    INFINITY "floats" "float +inf" 23..0
    NAN "floats" "float +nan(0x1)" 23..0
    ROUNDED "floats" "float 1.1" 23..0
    HEX_INTEGER "constants" "i32 u0x10" 0..0
    SPLAT "constants" "<4 x i32> splat (i32 7)" 19..0
    INRANGE_INDEX "constants" "inrange i64 0" 0..19
    INRANGE_BOUNDS "constants" "inrange(0, 2)" 19..0
    TYPED_POINTERS "types" "i32*" 0..17
    POINTERS "types" "ptr" 15..0
    BYTES "types" "b32" 23..0
    ZEXT_NNEG "flags" "zext nneg" 18..0
    DISJOINT "flags" "or disjoint" 18..0
    FROM_NNEG "flags" "uitofp nneg" 19..0
    TRUNC_WRAP "flags" "trunc nuw nsw" 19..0
    GEP_WRAP "flags" "getelementptr nusw nuw" 19..0
    SAME_SIGN "flags" "icmp samesign" 20..0
    RESIZE_FAST "flags" "fptrunc fast" 20..0
    FROM_FAST "flags" "uitofp fast" 23..0
    WRAPPING_RMW "instructions" "atomicrmw uinc_wrap" 16..0
    SATURATING_RMW "instructions" "atomicrmw usub_cond" 20..0
    MAXIMUM_RMW "instructions" "atomicrmw fmaximum" 21..0
    MAXIMUM_NUMBER_RMW "instructions" "atomicrmw fmaximumnum" 23..0
    ADDRESS "instructions" "ptrtoaddr" 22..0
    EFFECT_WORDS "attributes" "readonly argmemonly" 0..0
    MEMORY "attributes" "memory(argmem: read)" 16..0
    TARGET_MEMORY "attributes" "memory(target_mem0: read)" 22..0
    NO_CAPTURE "attributes" "nocapture" 0..0
    CAPTURES "attributes" "captures(none)" 20..0
    RANGE "attributes" "range(i32 0, 4)" 19..0
    INITIALIZES "attributes" "initializes((0, 4))" 20..0
    DEAD_ON_RETURN "attributes" "dead_on_return" 22..0
    SUBNORMALS_STRING "attributes" "\"denormal-fp-math\"" 0..0
    SUBNORMALS "attributes" "denormal_fpenv(preservesign)" 23..0
    DEBUG_RECORDS "records" "#dbg_value" 19..0
    SIZED_LIFETIMES "intrinsics" "llvm.lifetime.start(i64, ptr)" 0..22
    LIFETIMES "intrinsics" "llvm.lifetime.start(ptr)" 22..0
    MASKED_ARGUMENT "intrinsics" "llvm.masked.load(ptr, i32 4" 0..22
    MASKED_ATTRIBUTE "intrinsics" "llvm.masked.load(ptr align 4" 22..0
    KERNELS "conventions" "ptx_kernel" 0..0
    ANNOTATIONS "conventions" "!nvvm.annotations" 0..0
}
