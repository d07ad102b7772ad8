//! Operations, predicates and flags of instructions.

spelled! {
    /// A binary operation on integers, floats or vectors of them.
    pub enum BinaryOp {
        Add "add", Sub "sub", Mul "mul", UDiv "udiv", SDiv "sdiv", URem "urem", SRem "srem",
        Shl "shl", LShr "lshr", AShr "ashr", And "and", Or "or", Xor "xor",
        FAdd "fadd", FSub "fsub", FMul "fmul", FDiv "fdiv", FRem "frem",
    }
}

impl BinaryOp {
    /// True for the operations on floating-point numbers.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, BinaryOp::FAdd | BinaryOp::FSub | BinaryOp::FMul | BinaryOp::FDiv | BinaryOp::FRem)
    }

    /// True when the operands may be exchanged.
    #[must_use]
    pub const fn is_commutative(self) -> bool {
        use BinaryOp::*;
        matches!(self, Add | Mul | And | Or | Xor | FAdd | FMul)
    }

    /// True for division and remainder of integers, which may trap: they must not be executed
    /// where the program does not.
    #[must_use]
    pub const fn is_int_division(self) -> bool {
        matches!(self, BinaryOp::UDiv | BinaryOp::SDiv | BinaryOp::URem | BinaryOp::SRem)
    }
}

spelled! {
    /// A conversion.
    pub enum CastOp {
        Trunc "trunc", ZExt "zext", SExt "sext", FpTrunc "fptrunc", FpExt "fpext", FpToUi "fptoui", FpToSi "fptosi",
        UiToFp "uitofp", SiToFp "sitofp", PtrToInt "ptrtoint", IntToPtr "inttoptr", Bitcast "bitcast",
        AddrSpaceCast "addrspacecast",
    }
}

spelled! {
    /// How `icmp` compares.
    pub enum IntPredicate {
        Eq "eq", Ne "ne", Ugt "ugt", Uge "uge", Ult "ult", Ule "ule", Sgt "sgt", Sge "sge", Slt "slt", Sle "sle",
    }
}

impl IntPredicate {
    /// `a < b` for `a >= b`.
    #[must_use]
    pub const fn inverse(self) -> IntPredicate {
        use IntPredicate::*;
        match self {
            Eq => Ne,
            Ne => Eq,
            Ugt => Ule,
            Uge => Ult,
            Ult => Uge,
            Ule => Ugt,
            Sgt => Sle,
            Sge => Slt,
            Slt => Sge,
            Sle => Sgt,
        }
    }

    /// Compares integers of `bits` bits, zero-extended.
    #[must_use]
    pub const fn holds(self, a: u128, b: u128, bits: u32) -> bool {
        use IntPredicate::*;
        let unused = 128 - bits;
        let (x, y) = ((a << unused) as i128 >> unused, (b << unused) as i128 >> unused);
        match self {
            Eq => a == b,
            Ne => a != b,
            Ugt => a > b,
            Uge => a >= b,
            Ult => a < b,
            Ule => a <= b,
            Sgt => x > y,
            Sge => x >= y,
            Slt => x < y,
            Sle => x <= y,
        }
    }

    /// `b < a` for `a > b`.
    #[must_use]
    pub const fn swapped(self) -> IntPredicate {
        use IntPredicate::*;
        match self {
            Eq => Eq,
            Ne => Ne,
            Ugt => Ult,
            Uge => Ule,
            Ult => Ugt,
            Ule => Uge,
            Sgt => Slt,
            Sge => Sle,
            Slt => Sgt,
            Sle => Sge,
        }
    }

    /// True for `sgt`, `sge`, `slt`, `sle`.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self, IntPredicate::Sgt | IntPredicate::Sge | IntPredicate::Slt | IntPredicate::Sle)
    }
}

spelled! {
    /// How `fcmp` compares: `o…` is false when an operand is a NaN, `u…` true.
    pub enum FloatPredicate {
        False "false", Oeq "oeq", Ogt "ogt", Oge "oge", Olt "olt", Ole "ole", One "one", Ord "ord",
        Ueq "ueq", Ugt "ugt", Uge "uge", Ult "ult", Ule "ule", Une "une", Uno "uno", True "true",
    }
}

impl FloatPredicate {
    /// The negation.
    #[must_use]
    pub const fn inverse(self) -> FloatPredicate {
        use FloatPredicate::*;
        match self {
            False => True,
            Oeq => Une,
            Ogt => Ule,
            Oge => Ult,
            Olt => Uge,
            Ole => Ugt,
            One => Ueq,
            Ord => Uno,
            Ueq => One,
            Ugt => Ole,
            Uge => Olt,
            Ult => Oge,
            Ule => Ogt,
            Une => Oeq,
            Uno => Ord,
            True => False,
        }
    }

    /// The predicate for exchanged operands.
    #[must_use]
    pub const fn swapped(self) -> FloatPredicate {
        use FloatPredicate::*;
        match self {
            Ogt => Olt,
            Oge => Ole,
            Olt => Ogt,
            Ole => Oge,
            Ugt => Ult,
            Uge => Ule,
            Ult => Ugt,
            Ule => Uge,
            same => same,
        }
    }
}

spelled! {
    /// Memory ordering of atomic operations; plain accesses have [`Ordering::NotAtomic`].
    pub enum Ordering {
        NotAtomic "notatomic", Unordered "unordered", Monotonic "monotonic", Acquire "acquire", Release "release",
        AcqRel "acq_rel", SeqCst "seq_cst",
    }
}

spelled! {
    /// The operation of `atomicrmw`.
    pub enum RmwOp {
        Xchg "xchg", Add "add", Sub "sub", And "and", Nand "nand", Or "or", Xor "xor", Max "max", Min "min",
        UMax "umax", UMin "umin", FAdd "fadd", FSub "fsub", FMax "fmax", FMin "fmin", FMaximum "fmaximum",
        FMinimum "fminimum", FMaximumNum "fmaximumnum", FMinimumNum "fminimumnum", UIncWrap "uinc_wrap",
        UDecWrap "udec_wrap", USubCond "usub_cond", USubSat "usub_sat",
    }
}

impl RmwOp {
    /// True for operations on floats and vectors of them.
    #[must_use]
    pub const fn is_float(self) -> bool {
        use RmwOp::*;
        matches!(self, FAdd | FSub | FMax | FMin | FMaximum | FMinimum | FMaximumNum | FMinimumNum)
    }
}

/// `syncscope("…")`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SyncScope {
    /// none, or `""`: all of the system
    #[default]
    System,
    /// `"device"`, `"agent"`
    Device,
    /// `"cluster"`
    Cluster,
    /// `"block"`, `"workgroup"`
    Block,
    /// `"singlethread"`
    Thread,
}

bitflags::bitflags! {
    /// `nsw`, `contract` and the like.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct InstFlags: u16 {
        /// `nuw`
        const NUW = 1;
        /// `nsw`
        const NSW = 1 << 1;
        /// `exact`
        const EXACT = 1 << 2;
        /// `disjoint` of `or`: no bit is 1 in both operands
        const DISJOINT = 1 << 3;
        /// `nneg` of `zext` and `uitofp`: the operand is not negative
        const NNEG = 1 << 4;
        /// `samesign` of `icmp`: both operands have the same sign bit
        const SAME_SIGN = 1 << 5;
        /// `nnan`
        const NO_NANS = 1 << 6;
        /// `ninf`
        const NO_INFS = 1 << 7;
        /// `nsz`: the sign of a zero does not matter
        const NO_SIGNED_ZEROS = 1 << 8;
        /// `arcp`: division may become multiplication by the reciprocal
        const ALLOW_RECIPROCAL = 1 << 9;
        /// `contract`: may be fused with its neighbour
        const CONTRACT = 1 << 10;
        /// `afn`: an approximation will do
        const APPROX_FUNC = 1 << 11;
        /// `reassoc`
        const REASSOC = 1 << 12;
        /// `fast`: all of the above
        const FAST = 0x7F << 6;
    }
}

bitflags::bitflags! {
    /// Flags of `getelementptr`.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct GepFlags: u8 {
        /// `inbounds`
        const INBOUNDS = 1;
        /// `nusw`
        const NUSW = 1 << 1;
        /// `nuw`
        const NUW = 1 << 2;
    }
}
