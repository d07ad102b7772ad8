//! The opcodes of PTX 9.0: the first word of an instruction.

use std::sync::LazyLock;

use super::table::{NameIndex, name_table};

name_table! {
    /// The first word of an instruction; everything after its first dot is a
    /// [`Modifier`](super::Modifier) (`cp.async.bulk` is `Cp` with `async`, `bulk`).
    pub enum Opcode {
        Abs "abs", Activemask "activemask", Add "add", Addc "addc", Alloca "alloca", And "and",
        Applypriority "applypriority", Atom "atom", Bar "bar", Barrier "barrier", Bfe "bfe",
        Bfi "bfi", Bfind "bfind", Bmsk "bmsk", Bra "bra", Brev "brev", Brkpt "brkpt", Brx "brx",
        Call "call", Clusterlaunchcontrol "clusterlaunchcontrol", Clz "clz", Cnot "cnot",
        Copysign "copysign", Cos "cos", Cp "cp", Createpolicy "createpolicy", Cvt "cvt",
        Cvta "cvta", Discard "discard", Div "div", Dp2a "dp2a", Dp4a "dp4a", Elect "elect",
        Ex2 "ex2", Exit "exit", Fence "fence", Fma "fma", Fns "fns", Getctarank "getctarank",
        Griddepcontrol "griddepcontrol", Isspacep "isspacep", Istypep "istypep", Ld "ld",
        Ldmatrix "ldmatrix", Ldu "ldu", Lg2 "lg2", Lop3 "lop3", Mad "mad", Mad24 "mad24",
        Madc "madc", Mapa "mapa", Match "match", Max "max", Mbarrier "mbarrier", Membar "membar",
        Min "min", Mma "mma", Mov "mov", Movmatrix "movmatrix", Mul "mul", Mul24 "mul24",
        Multimem "multimem", Nanosleep "nanosleep", Neg "neg", Not "not", Or "or",
        Pmevent "pmevent", Popc "popc", Prefetch "prefetch", Prefetchu "prefetchu", Prmt "prmt",
        Rcp "rcp", Red "red", Redux "redux", Rem "rem", Ret "ret", Rsqrt "rsqrt", Sad "sad",
        Selp "selp", Set "set", Setmaxnreg "setmaxnreg", Setp "setp", Shf "shf", Shfl "shfl",
        Shl "shl", Shr "shr", Sin "sin", Slct "slct", Sqrt "sqrt", St "st",
        Stackrestore "stackrestore", Stacksave "stacksave", Stmatrix "stmatrix", Sub "sub",
        Subc "subc", Suld "suld", Suq "suq", Sured "sured", Sust "sust", Szext "szext",
        Tanh "tanh", Tcgen05 "tcgen05", Tensormap "tensormap", Testp "testp", Tex "tex",
        Tld4 "tld4", Trap "trap", Txq "txq", Vabsdiff "vabsdiff", Vabsdiff2 "vabsdiff2",
        Vabsdiff4 "vabsdiff4", Vadd "vadd", Vadd2 "vadd2", Vadd4 "vadd4", Vavrg2 "vavrg2",
        Vavrg4 "vavrg4", Vmad "vmad", Vmax "vmax", Vmax2 "vmax2", Vmax4 "vmax4", Vmin "vmin",
        Vmin2 "vmin2", Vmin4 "vmin4", Vote "vote", Vset "vset", Vset2 "vset2", Vset4 "vset4",
        Vshl "vshl", Vshr "vshr", Vsub "vsub", Vsub2 "vsub2", Vsub4 "vsub4", Wgmma "wgmma",
        Wmma "wmma", Xor "xor",
    }
}

impl Opcode {
    /// The opcode spelled `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Opcode> {
        static INDEX: LazyLock<NameIndex<Opcode>> =
            LazyLock::new(|| NameIndex::new(Opcode::ALL.iter().map(|&op| (op.as_str(), op))));
        INDEX.get(name)
    }

    /// A video instruction, whose operands may be bytes and half-words of registers (`%r1.b0`).
    #[must_use]
    pub const fn is_video(self) -> bool {
        use Opcode::*;
        matches!(
            self,
            Vabsdiff
                | Vabsdiff2
                | Vabsdiff4
                | Vadd
                | Vadd2
                | Vadd4
                | Vavrg2
                | Vavrg4
                | Vmad
                | Vmax
                | Vmax2
                | Vmax4
                | Vmin
                | Vmin2
                | Vmin4
                | Vset
                | Vset2
                | Vset4
                | Vshl
                | Vshr
                | Vsub
                | Vsub2
                | Vsub4
        )
    }
}
