//! The words of LLVM assembly that the reader knows, found by one hash look-up.

/// Makes [`Word`] from one list. The order matters where [`Word::is_attribute`] and the tables of
/// operations count on it.
macro_rules! words {
    ($($variant:ident $text:literal),+ $(,)?) => {
        /// A word of LLVM assembly.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
        #[repr(u16)]
        pub(super) enum Word {
            /// Not a word that the reader knows.
            Unknown,
            $($variant),+
        }

        /// Every word with its spelling, in order; the first stands for [`Word::Unknown`].
        const WORDS: &[(Word, &str)] = &[(Word::Unknown, ""), $((Word::$variant, $text)),+];
    };
}

words! {
    // Binary operations, in the order of `BinaryOp::ALL`.
    Add "add", Sub "sub", Mul "mul", UDiv "udiv", SDiv "sdiv", URem "urem", SRem "srem", Shl "shl", LShr "lshr",
    AShr "ashr", And "and", Or "or", Xor "xor", FAdd "fadd", FSub "fsub", FMul "fmul", FDiv "fdiv", FRem "frem",
    // Conversions, in the order of `CastOp::ALL`.
    Trunc "trunc", ZExt "zext", SExt "sext", FpTrunc "fptrunc", FpExt "fpext", FpToUi "fptoui", FpToSi "fptosi",
    UiToFp "uitofp", SiToFp "sitofp", PtrToInt "ptrtoint", IntToPtr "inttoptr", Bitcast "bitcast",
    AddrSpaceCast "addrspacecast",
    // Other operations.
    PtrToAddr "ptrtoaddr", FNeg "fneg", ICmp "icmp", FCmp "fcmp", Select "select", Freeze "freeze", Load "load",
    Store "store", Alloca "alloca", GetElementPtr "getelementptr", CmpXchg "cmpxchg", AtomicRmw "atomicrmw",
    Fence "fence", ExtractValue "extractvalue", InsertValue "insertvalue", ExtractElement "extractelement",
    InsertElement "insertelement", ShuffleVector "shufflevector", Phi "phi", Call "call", Tail "tail",
    MustTail "musttail", NoTail "notail", VaArg "va_arg", Ret "ret", Br "br", Switch "switch",
    IndirectBr "indirectbr", Unreachable "unreachable", Invoke "invoke", LandingPad "landingpad", Resume "resume",
    CatchSwitch "catchswitch", CatchRet "catchret", CatchPad "catchpad", CleanupRet "cleanupret",
    CleanupPad "cleanuppad", CallBr "callbr",
    // Flags of operations.
    Nuw "nuw", Nsw "nsw", Exact "exact", Disjoint "disjoint", NNeg "nneg", SameSign "samesign", NNan "nnan",
    NInf "ninf", Nsz "nsz", Arcp "arcp", Contract "contract", Afn "afn", Reassoc "reassoc", Fast "fast",
    InBounds "inbounds", Nusw "nusw", InRange "inrange",
    // Types.
    Void "void", Half "half", BFloat "bfloat", Float "float", Double "double", Fp128 "fp128", X86Fp80 "x86_fp80",
    PpcFp128 "ppc_fp128", Ptr "ptr", Label "label", Metadata "metadata", Token "token", X86Amx "x86_amx",
    X86Mmx "x86_mmx", Opaque "opaque", Type "type", Target "target", VScale "vscale", X "x",
    // Values.
    True "true", False "false", Null "null", None "none", Undef "undef", Poison "poison",
    ZeroInitializer "zeroinitializer", C "c", Asm "asm", BlockAddress "blockaddress",
    DsoLocalEquivalent "dso_local_equivalent", NoCfi "no_cfi", PtrAuth "ptrauth", Splat "splat",
    // Words inside instructions.
    Volatile "volatile", Atomic "atomic", SyncScope "syncscope", To "to", SideEffect "sideeffect",
    IntelDialect "inteldialect", Unwind "unwind", SwiftError "swifterror", AddrSpace "addrspace",
    // Linkage and what else stands before `global` and functions.
    Private "private", Internal "internal", Weak "weak", WeakOdr "weak_odr", LinkOnce "linkonce",
    LinkOnceOdr "linkonce_odr", Common "common", AvailableExternally "available_externally", Appending "appending",
    ExternWeak "extern_weak", External "external", DllImport "dllimport", DllExport "dllexport",
    DsoLocal "dso_local", DsoPreemptable "dso_preemptable", Default "default", Hidden "hidden",
    Protected "protected", UnnamedAddr "unnamed_addr", LocalUnnamedAddr "local_unnamed_addr",
    ThreadLocal "thread_local", ExternallyInitialized "externally_initialized", Global "global",
    Constant "constant", Alias "alias", IFunc "ifunc", Section "section", Partition "partition", Comdat "comdat",
    CodeModel "code_model", Gc "gc", Prefix "prefix", Prologue "prologue", Personality "personality",
    Ccc "ccc", FastCc "fastcc", ColdCc "coldcc", PtxKernel "ptx_kernel", PtxDevice "ptx_device", Cc "cc",
    // Top-level words.
    Define "define", Declare "declare", SourceFilename "source_filename", Triple "triple", DataLayout "datalayout",
    Module "module", Attributes "attributes", UseListOrder "uselistorder", UseListOrderBb "uselistorder_bb",
    Distinct "distinct",
    // Attributes, from `align` to the end.
    Align "align", AlignStack "alignstack", Dereferenceable "dereferenceable", ByVal "byval", SRet "sret",
    InAlloca "inalloca", Range "range", Memory "memory", Captures "captures", ArgMemOnly "argmemonly",
    InaccessibleMemOnly "inaccessiblememonly", InaccessibleMemOrArgMemOnly "inaccessiblemem_or_argmemonly",
    Convergent "convergent", NoInline "noinline", AlwaysInline "alwaysinline", NoReturn "noreturn",
    WillReturn "willreturn", NoUnwind "nounwind", OptNone "optnone", Speculatable "speculatable",
    NoRecurse "norecurse", Cold "cold", SignExt "signext", ZeroExt "zeroext", NoAlias "noalias",
    NoCapture "nocapture", ReadOnly "readonly", WriteOnly "writeonly", ReadNone "readnone", NonNull "nonnull",
    NoUndef "noundef", Returned "returned", DenormalFpEnv "denormal_fpenv",
    NoIpa "noipa",
}

/// Slots of the hash table: a power of two, about four times the number of words.
const SLOTS: usize = 1024;

/// [`WORDS`] by hash, with linear probing; 0 is an empty slot.
static TABLE: [u16; SLOTS] = table();

const fn table() -> [u16; SLOTS] {
    let mut table = [0; SLOTS];
    let mut at = 1;
    while at < WORDS.len() {
        let mut slot = hash(WORDS[at].1.as_bytes());
        while table[slot] != 0 {
            slot = (slot + 1) % SLOTS;
        }
        table[slot] = at as u16;
        at += 1;
    }
    table
}

/// The slot where a word is looked for first.
const fn hash(text: &[u8]) -> usize {
    let mut key = 0;
    let mut at = 0;
    while at < text.len() && at < 8 {
        key |= (text[at] as u64) << (8 * at);
        at += 1;
    }
    mix(key, text)
}

/// Mixes the first eight bytes, the last and the length.
const fn mix(key: u64, text: &[u8]) -> usize {
    let last = if text.is_empty() { 0 } else { text[text.len() - 1] as u64 };
    let mixed = (key ^ (last << 40) ^ (text.len() as u64)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> (64 - SLOTS.trailing_zeros())) as usize
}

impl Word {
    /// The word that the first `len` bytes of `rest` spell.
    pub(super) fn find(rest: &[u8], len: usize) -> Word {
        let text = &rest[..len];
        // Eight bytes at a time, where there are as many.
        let mut slot = match rest.first_chunk() {
            Some(chunk) if len >= 8 => mix(u64::from_le_bytes(*chunk), text),
            Some(chunk) => mix(u64::from_le_bytes(*chunk) & ((1 << (8 * len)) - 1), text),
            None => hash(text),
        };
        loop {
            match TABLE[slot] {
                0 => return Word::Unknown,
                at => {
                    let (word, spelling) = WORDS[usize::from(at)];
                    if spelling.as_bytes() == text {
                        return word;
                    }
                }
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    /// The spelling; empty for [`Word::Unknown`].
    pub(super) fn as_str(self) -> &'static str {
        WORDS[self as usize].1
    }

    /// True for attributes and for words that the reader does not know: where an attribute may
    /// stand, those are attributes too.
    pub(super) fn is_attribute(self) -> bool {
        self >= Word::Align || self == Word::Unknown
    }

    /// The member of `all`, a list in the order of the words from `first`, that this word names.
    pub(super) fn among<T: Copy>(self, first: Word, all: &[T]) -> Option<T> {
        all.get((self as usize).checked_sub(first as usize)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{BinaryOp, CastOp};

    #[test]
    fn every_word_is_found_by_its_spelling() {
        for &(word, text) in &WORDS[1..] {
            for rest in ["", " ", "(i32 noundef %x)"] {
                let rest = format!("{text}{rest}");
                assert_eq!(Word::find(rest.as_bytes(), text.len()), word, "{text}");
            }
            assert_eq!(word.as_str(), text);
        }
        assert_eq!(Word::find(b"frobnicate", 10), Word::Unknown);
        assert_eq!(Word::find(b"addition", 3), Word::Add);
        assert_eq!(Word::find(b"", 0), Word::Unknown);
    }

    #[test]
    fn lists_of_operations_have_the_order_of_the_words() {
        for &op in BinaryOp::ALL {
            let word = Word::find(op.as_str().as_bytes(), op.as_str().len());
            assert_eq!(word.among(Word::Add, BinaryOp::ALL), Some(op));
        }
        for &op in CastOp::ALL {
            let word = Word::find(op.as_str().as_bytes(), op.as_str().len());
            assert_eq!(word.among(Word::Trunc, CastOp::ALL), Some(op));
        }
        assert_eq!(Word::Trunc.among(Word::Add, BinaryOp::ALL), None);
    }
}
