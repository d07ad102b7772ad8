//! Instruction modifiers: the dotted words after the opcode.

use std::fmt;
use std::sync::LazyLock;

use super::name::{Sym, SymbolTable};
use super::table::{NameIndex, name_table};
use super::types::{CmpOp, Rounding, ScalarType, Scope, Semantics, Space, VectorLen};

name_table! {
    /// A modifier that belongs to none of the typed vocabularies. Names that
    /// start with a digit get a `D` in front (`D1d` is `.1d`).
    pub enum Word {
        D128x128b "128x128b", D128x256b "128x256b", D16x128b "16x128b", D16x256b "16x256b",
        D16x32bx2 "16x32bx2", D16x64b "16x64b", D1d "1d", D2d "2d", D2dms "2dms",
        D32x128b "32x128b", D32x32b "32x32b", D3d "3d", D4d "4d", D4x256b "4x256b", D5d "5d",
        D64x128b "64x128b", L1 "L1", L1EvictFirst "L1::evict_first", L1EvictLast "L1::evict_last",
        L1EvictNormal "L1::evict_normal", L1EvictUnchanged "L1::evict_unchanged",
        L1NoAllocate "L1::no_allocate", L2 "L2", L2128B "L2::128B", L2256B "L2::256B",
        L264B "L2::64B", L2CacheHint "L2::cache_hint", L2EvictFirst "L2::evict_first",
        L2EvictLast "L2::evict_last", L2EvictNormal "L2::evict_normal",
        L2EvictUnchanged "L2::evict_unchanged", NaN "NaN", A "a", A1d "a1d", A2d "a2d",
        A2dms "a2dms", Abs "abs", AccF16 "acc::f16", AccF32 "acc::f32", Acube "acube", Add "add",
        AddrMode0 "addr_mode_0", AddrMode1 "addr_mode_1", AddrMode2 "addr_mode_2", Alias "alias",
        Aligned "aligned", All "all", Alloc "alloc", And "and", Any "any", Approx "approx",
        ArraySize "array_size", Arrive "arrive", ArriveDrop "arrive_drop", Ashift "ashift",
        Async "async", AsyncGeneric "async::generic", B "b", B4e "b4e", Ballot "ballot",
        Base "base", Bfly "bfly", Block16 "block16", Block32 "block32", BlockScale "block_scale",
        BoxDim "box_dim", Bulk "bulk", BulkGroup "bulk_group", C "c", Ca "ca", Cas "cas", Cc "cc",
        Cg "cg", ChannelDataType "channel_data_type", ChannelOrder "channel_order", Clamp "clamp",
        Col "col", CollectorADiscard "collector::a::discard", CollectorAFill "collector::a::fill",
        CollectorALastuse "collector::a::lastuse", CollectorAUse "collector::a::use",
        CollectorB0Discard "collector::b0::discard", CollectorB0Fill "collector::b0::fill",
        CollectorB0Lastuse "collector::b0::lastuse", CollectorB0Use "collector::b0::use",
        CollectorB1Discard "collector::b1::discard", CollectorB1Fill "collector::b1::fill",
        CollectorB1Lastuse "collector::b1::lastuse", CollectorB1Use "collector::b1::use",
        CollectorB2Discard "collector::b2::discard", CollectorB2Fill "collector::b2::fill",
        CollectorB2Lastuse "collector::b2::lastuse", CollectorB2Use "collector::b2::use",
        CollectorB3Discard "collector::b3::discard", CollectorB3Fill "collector::b3::fill",
        CollectorB3Lastuse "collector::b3::lastuse", CollectorB3Use "collector::b3::use",
        Commit "commit", CommitGroup "commit_group", CompleteTx "complete_tx", Cp "cp",
        CpFenceproxy "cp_fenceproxy", CpMask "cp_mask", Cs "cs", CtaGroup1 "cta_group::1",
        CtaGroup2 "cta_group::2", Cube "cube", Cv "cv", Cvt "cvt", D "d", Dealloc "dealloc",
        Dec "dec", Depth "depth", Down "down", Ecl "ecl", Ecr "ecr", ElementStride "element_stride",
        Elemtype "elemtype", Exch "exch", ExpectTx "expect_tx", F4e "f4e", Fence "fence",
        FenceAfterThreadSync "fence::after_thread_sync",
        FenceBeforeThreadSync "fence::before_thread_sync", FillMode "fill_mode",
        FilterMode "filter_mode", Finite "finite",
        ForceUnnormalizedCoords "force_unnormalized_coords", Fractional "fractional", Ftz "ftz",
        Full "full", G "g", GetFirstCtaid "get_first_ctaid", GetFirstCtaidX "get_first_ctaid::x",
        GetFirstCtaidY "get_first_ctaid::y", GetFirstCtaidZ "get_first_ctaid::z", Gl "gl",
        GlobalAddress "global_address", GlobalDim "global_dim", GlobalStride "global_stride",
        Grad "grad", Height "height", Hi "hi", Idx "idx", Im2col "im2col", Im2colW "im2col::w",
        Im2colW128 "im2col::w::128", Im2colNoOffs "im2col_no_offs", Inc "inc", Infinite "infinite",
        Init "init", InterleaveLayout "interleave_layout", Inval "inval", IsCanceled "is_canceled",
        KindF16 "kind::f16", KindF8f6f4 "kind::f8f6f4", KindI8 "kind::i8", KindMxf4 "kind::mxf4",
        KindMxf4nvf4 "kind::mxf4nvf4", KindMxf8f6f4 "kind::mxf8f6f4", KindTf32 "kind::tf32", L "l",
        LaunchDependents "launch_dependents", Ld "ld", LdReduce "ld_reduce", Level "level", Lo "lo",
        Load "load", Lock "lock", Lu "lu", Mask "mask", Max "max", Mbarrier "mbarrier",
        MbarrierArriveOne "mbarrier::arrive::one",
        MbarrierCompleteTxBytes "mbarrier::complete_tx::bytes", MbarrierInit "mbarrier_init",
        MemoryLayout "memory_layout", Min "min", Mma "mma", MmaAsync "mma_async",
        MulticastCluster "multicast::cluster", MulticastClusterAll "multicast::cluster::all",
        Nc "nc", NoComplete "noComplete", Noftz "noftz", Noinc "noinc", Normal "normal",
        NormalizedCoords "normalized_coords", Notanumber "notanumber",
        NumMipmapLevels "num_mipmap_levels", NumSamples "num_samples", Number "number", Oob "oob",
        Or "or", P "p", Pack "pack", Pack16b "pack::16b", Parity "parity",
        PendingCount "pending_count", Po "po", Popc "popc", Prefetch "prefetch", Proxy "proxy",
        QueryCancel "query_cancel", R "r", Range "range", Rank "rank", Rc16 "rc16", Rc8 "rc8",
        Read "read", Red "red", Reduce "reduce", RelinquishAllocPermit "relinquish_alloc_permit",
        Relu "relu", Replace "replace", Row "row", Sat "sat", Satfinite "satfinite",
        ScaleVec1X "scale_vec::1X", ScaleVec2X "scale_vec::2X", ScaleVec4X "scale_vec::4X",
        Shift "shift", Shiftamt "shiftamt", Shr15 "shr15", Shr7 "shr7", Sp "sp",
        SpOrderedMetadata "sp::ordered_metadata", St "st", Store "store", Subnormal "subnormal",
        SwizzleAtomicity "swizzle_atomicity", SwizzleMode "swizzle_mode", Sync "sync",
        SyncRestrictSharedCluster "sync_restrict::shared::cluster",
        SyncRestrictSharedCta "sync_restrict::shared::cta", Tensor "tensor", Tensormap "tensormap",
        TensormapGeneric "tensormap::generic", TestWait "test_wait", Tile "tile",
        TileGather4 "tile::gather4", TileScatter4 "tile::scatter4", To "to", Trans "trans",
        Trap "trap", TryCancel "try_cancel", TryWait "try_wait", Uni "uni", Unpack16b "unpack::16b",
        Up "up", Wait "wait", WaitLd "wait::ld", WaitSt "wait::st", WaitAll "wait_all",
        WaitGroup "wait_group", Warp "warp", Warpx20123 "warpx2::01_23", Warpx20213 "warpx2::02_13",
        Warpx4 "warpx4", Wb "wb", Wide "wide", Width "width", Wrap "wrap", Ws "ws", Wt "wt",
        X1 "x1", X128 "x128", X16 "x16", X2 "x2", X32 "x32", X4 "x4", X64 "x64", X8 "x8", Xor "xor",
        Xorsign "xorsign", Zero "zero",
    }
}

/// A matrix shape such as `.m16n8k16`; `k` is 0 in `.m8n8`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shape {
    /// Rows.
    pub m: u16,
    /// Columns.
    pub n: u16,
    /// Depth, or 0 when the shape names none.
    pub k: u16,
}

/// One modifier of an instruction. A spelling maps to the same modifier
/// whatever the opcode: `.lo` and `.hi` are always [`Word`]s (also as
/// comparisons; [`Instruction::cmp`](super::Instruction::cmp) knows), and
/// `.cluster` is always a [`Scope`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Modifier {
    /// `.f32`, `.b64`, `.pred`…
    Type(ScalarType),
    /// `.global`, `.shared::cta`…
    Space(Space),
    /// `.v2`, `.v4`, `.v8`
    Vector(VectorLen),
    /// `.rn`, `.rzi`…
    Rounding(Rounding),
    /// `.eq`, `.ltu`, `.nan`… but `.lo` and `.hi` are [`Word`]s
    Cmp(CmpOp),
    /// `.cta`, `.gpu`…
    Scope(Scope),
    /// `.relaxed`, `.acquire`, `.volatile`…
    Semantics(Semantics),
    /// `.m16n8k16`…
    Shape(Shape),
    /// any other modifier of PTX 9.0
    Word(Word),
    /// a word that PTX 9.0 does not have
    Other(Sym),
}

impl Modifier {
    /// The modifier spelled `name` (without its dot), unless it is unknown.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Modifier> {
        static INDEX: LazyLock<NameIndex<Modifier>> = LazyLock::new(|| NameIndex::new(all()));
        INDEX.get(name).or_else(|| parse_shape(name).map(Modifier::Shape))
    }

    /// The names of all modifiers but the shapes.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        all().map(|(name, _)| name)
    }

    /// Writes the modifier with its leading dot.
    pub fn write(self, symbols: &SymbolTable, out: &mut impl fmt::Write) -> fmt::Result {
        let text = match self {
            Modifier::Type(value) => value.as_str(),
            Modifier::Space(value) => value.as_str(),
            Modifier::Vector(value) => value.as_str(),
            Modifier::Rounding(value) => value.as_str(),
            Modifier::Cmp(value) => value.as_str(),
            Modifier::Scope(value) => value.as_str(),
            Modifier::Semantics(value) => value.as_str(),
            Modifier::Word(value) => value.as_str(),
            Modifier::Other(sym) => symbols.text(sym),
            Modifier::Shape(Shape { m, n, k: 0 }) => return write!(out, ".m{m}n{n}"),
            Modifier::Shape(Shape { m, n, k }) => return write!(out, ".m{m}n{n}k{k}"),
        };
        out.write_char('.')?;
        out.write_str(text)
    }
}

/// Every modifier of the tables; words come first so that `.lo` is a word.
fn all() -> impl Iterator<Item = (&'static str, Modifier)> {
    let words = Word::ALL.iter().map(|&v| (v.as_str(), Modifier::Word(v)));
    let types = ScalarType::ALL.iter().map(|&v| (v.as_str(), Modifier::Type(v)));
    let spaces = Space::ALL.iter().map(|&v| (v.as_str(), Modifier::Space(v)));
    let vectors = VectorLen::ALL.iter().map(|&v| (v.as_str(), Modifier::Vector(v)));
    let rounding = Rounding::ALL.iter().map(|&v| (v.as_str(), Modifier::Rounding(v)));
    let cmp = CmpOp::ALL.iter().map(|&v| (v.as_str(), Modifier::Cmp(v)));
    let scopes = Scope::ALL.iter().map(|&v| (v.as_str(), Modifier::Scope(v)));
    let semantics = Semantics::ALL.iter().map(|&v| (v.as_str(), Modifier::Semantics(v)));
    words.chain(types).chain(spaces).chain(vectors).chain(rounding).chain(cmp).chain(scopes).chain(semantics)
}

/// Reads `m16n8k16` or `m8n8`.
fn parse_shape(name: &str) -> Option<Shape> {
    let (m, rest) = name.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k').map_or((rest, None), |(n, k)| (n, Some(k)));
    let size = |text: &str| {
        let plain = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
        if plain { text.parse::<u16>().ok() } else { None }
    };
    Some(Shape { m: size(m)?, n: size(n)?, k: k.map_or(Some(0), size)? })
}
