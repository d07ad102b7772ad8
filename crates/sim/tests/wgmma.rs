//! Products of warpgroups, compiled by ptxas, against products computed here.
//!
//! Matrices are laid out in shared memory as the PTX manual's chapter on `wgmma` shows, the swizzle by the
//! definition of CUTLASS: bits 4 and up of an address are combined with those three places higher. All
//! numbers are small integers, so that every order of additions gives the same result. Needs ptxas in
//! the folder that `ORIOLE_ORACLE` names.

use crate::ptxas;

use oriole_device::{Launch, Memory};
use oriole_sim::{Options, Simulator};

/// Rows of A.
const M: usize = 64;
/// Columns of B.
const N: usize = 48;
/// Bytes of shared memory of each matrix.
const SIDE: usize = 16384;

/// How a matrix is laid out in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    /// Bytes of a row of the swizzle: 16 (none), 32, 64, 128.
    row: usize,
    /// K is not the contiguous dimension.
    transposed: bool,
}

/// K is contiguous.
const fn plain(row: usize) -> Layout {
    Layout { row, transposed: false }
}

/// K is not contiguous.
const fn across(row: usize) -> Layout {
    Layout { row, transposed: true }
}

impl Layout {
    /// Bytes from a block along the contiguous dimension to the next: beyond all blocks along the other.
    fn leading(self) -> usize {
        if self.transposed { 2 * STRIDE } else { 8 * STRIDE }
    }

    /// Bit offset of element `at` along K of line `line`, the elements having `bits` bits.
    fn bit(self, line: usize, at: usize, bits: usize) -> usize {
        // Along the contiguous dimension, and along the other.
        let (along, other) = if self.transposed { (line * bits, at) } else { (at * bits, line) };
        let (byte, bit) = (along / 8, along % 8);
        let (piece, block) = (byte % self.row, byte / self.row);
        let linear = piece + (other % 8) * self.row + (other / 8) * STRIDE + block * self.leading();
        let mask = (self.row / 16 - 1) << 4;
        8 * (linear ^ (linear >> 3 & mask)) + bit
    }

    /// The descriptor of a matrix at `start`.
    fn descriptor(self, start: usize) -> u64 {
        let code = [(16, 0u64), (128, 1), (64, 2), (32, 3)];
        let swizzle = code.iter().find(|(row, _)| *row == self.row).expect("a row of the swizzle").1;
        // Transposed and without swizzle, the strides change places.
        let (leading, stride) = match (self.transposed, self.row) {
            (true, 16) => (STRIDE, self.leading()),
            _ => (self.leading(), STRIDE),
        };
        (start as u64 >> 4) | (leading as u64 >> 4) << 16 | (stride as u64 >> 4) << 32 | swizzle << 62
    }
}

/// Bytes from a block along the other dimension, of eight rows, to the next.
const STRIDE: usize = 1024;

/// One kind of product.
struct Case {
    /// What follows `wgmma.mma_async`, before the operands: types after the shape.
    types: &'static str,
    sparse: bool,
    /// Immediates after the predicate: signs, transposes.
    tail: &'static str,
    element: Element,
    a: Place,
    b: Layout,
    k: usize,
    /// Signs of A and B.
    signs: (i64, i64),
}

/// Where A is.
#[derive(Clone, Copy, Debug)]
enum Place {
    Registers,
    Shared(Layout),
}

/// The type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    F16,
    Bf16,
    Tf32,
    E4m3,
    S8,
    U8,
    B1,
}

impl Element {
    fn bits(self) -> usize {
        match self {
            Element::F16 | Element::Bf16 => 16,
            Element::Tf32 => 32,
            Element::E4m3 | Element::S8 | Element::U8 => 8,
            Element::B1 => 1,
        }
    }

    /// A number from a mixed one.
    fn pick(self, mixed: u64) -> i64 {
        match self {
            Element::S8 => (mixed & 0xff) as i64 - 128,
            Element::U8 => (mixed & 0xff) as i64,
            Element::B1 => (mixed & 1) as i64,
            _ => (mixed % 9) as i64 - 4,
        }
    }

    /// Its bits.
    fn encode(self, value: i64) -> u32 {
        let single = (value as f32).to_bits();
        match self {
            Element::F16 => half(value),
            Element::Bf16 => single >> 16,
            Element::Tf32 => single,
            // 1 sign, 4 exponent bits with bias 7, 3 fraction bits: rebias the high bits of an f32.
            Element::E4m3 if value == 0 => 0,
            Element::E4m3 => single >> 24 & 0x80 | ((single >> 20 & 0x7ff) - (120 << 3)) & 0x7f,
            Element::S8 | Element::U8 => value as u32 & 0xff,
            Element::B1 => value as u32,
        }
    }
}

/// The bits of a small integer as `f16`.
fn half(value: i64) -> u32 {
    let single = (value as f32).to_bits();
    if value == 0 { 0 } else { single >> 16 & 0x8000 | ((single >> 13 & 0x3ffff) - (112 << 10)) & 0x7fff }
}

/// An integer that `f16` bits stand for.
fn from_half(bits: u32) -> i64 {
    let magnitude = if bits & 0x7fff == 0 { 0.0 } else { f32::from_bits((bits & 0x7fff) << 13) * 2f32.powi(112) };
    if bits & 0x8000 != 0 { -magnitude as i64 } else { magnitude as i64 }
}

/// A mixed stream of numbers.
struct Stream(u64);

impl Stream {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 ^ self.0 >> 31) >> 8
    }
}

/// Writes `bits` bits at a bit offset.
fn put(memory: &mut [u8], at: usize, bits: usize, value: u32) {
    for n in 0..bits {
        let (byte, bit) = ((at + n) / 8, (at + n) % 8);
        memory[byte] = memory[byte] & !(1 << bit) | ((value >> n & 1) as u8) << bit;
    }
}

impl Case {
    /// Columns of A that are stored.
    fn stored(&self) -> usize {
        if self.sparse { self.k / 2 } else { self.k }
    }

    fn d_registers(&self) -> usize {
        if self.types.starts_with(".f16") { N / 4 } else { N / 2 }
    }

    /// The kernel: shared memory, then the fragments of A, the metadata and C are loaded; D takes C's place.
    fn ptx(&self) -> String {
        let list = |name: &str, count: usize| (0..count).map(|n| format!("%{name}{n}")).collect::<Vec<_>>().join(",");
        let loads = |name: &str, count: usize, base: &str| -> String {
            (0..count).map(|n| format!("ld.global.b32 %{name}{n},[%{base}+{}];\n", 4 * n)).collect()
        };
        let count = self.d_registers();
        let stores: String = (0..count).map(|n| format!("st.global.b32 [%pc+{}],%d{n};\n", 4 * n)).collect();
        let copies: String = (0..2 * SIDE / 128 / 16)
            .map(|n| {
                format!(
                    "ld.global.v4.b32 {{%x0,%x1,%x2,%x3}},[%pi+{0}];\nst.shared.v4.b32 [%s+{0}],{{%x0,%x1,%x2,%x3}};\n",
                    16 * n
                )
            })
            .collect();
        let (sp, meta) = if self.sparse { (".sp", "%m0,0,") } else { ("", "") };
        let a = match self.a {
            Place::Registers => format!("{{{}}}", list("a", 4)),
            Place::Shared(_) => "%da".into(),
        };
        format!(
            ".version 8.3\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 s[{size}];\n\
             .visible .entry k(.param .u64 in,.param .u64 frag,.param .u64 c,.param .u64 da,.param .u64 db)\n\
             .reqntid 128,1,1 {{\n\
             .reg .b32 %t,%s,%b,%x<4>,%a<4>,%m<1>,%d<{count}>;.reg .b64 %pi,%pf,%pc,%da,%db,%b64;.reg .pred %p;\n\
             mov.u32 %t,%tid.x;ld.param.u64 %pi,[in];ld.param.u64 %pf,[frag];ld.param.u64 %pc,[c];\n\
             mad.wide.u32 %pi,%t,{share},%pi;mad.wide.u32 %pf,%t,20,%pf;mad.wide.u32 %pc,%t,{bytes},%pc;\n\
             mov.u32 %b,s;mad.lo.u32 %s,%t,{share},%b;\n{copies}{fragments}ld.global.b32 %m0,[%pf+16];\n{start}\
             shr.u32 %b,%b,4;cvt.u64.u32 %b64,%b;ld.param.u64 %da,[da];ld.param.u64 %db,[db];\n\
             add.u64 %da,%da,%b64;add.u64 %db,%db,%b64;setp.ne.u64 %p,%db,0;\n\
             fence.proxy.async;bar.sync 0;wgmma.fence.sync.aligned;\n\
             wgmma.mma_async{sp}.sync.aligned.m64n{N}k{k}{types} {{{d}}},{a},%db,{meta}%p{tail};\n\
             wgmma.commit_group.sync.aligned;wgmma.wait_group.sync.aligned 0;\n{stores}ret;\n}}\n",
            size = 2 * SIDE,
            share = 2 * SIDE / 128,
            bytes = 4 * count,
            fragments = loads("a", 4, "pf"),
            start = loads("d", count, "pc"),
            k = self.k,
            types = self.types,
            d = list("d", count),
            tail = self.tail,
        )
    }
}

/// Compiles by ptxas and runs with strict checking off; returns the accumulators.
fn run(ptx: &str, shared: &[u8], fragments: &[u8], start: &[u8], descriptors: [u64; 2]) -> Option<Vec<u8>> {
    let cubin = ptxas::compile("sm_90a", ptx)?;
    let simulator = Simulator::new(&cubin, Options::default()).expect("a module for sm_90a");
    let mut memory = Memory::new();
    let buffers = [shared, fragments, start].map(|bytes| memory.allocate_with("data", bytes));
    let params = buffers.iter().chain(&descriptors).flat_map(|word| word.to_le_bytes()).collect();
    let launch = Launch { grid: [1; 3], block: [128, 1, 1], params, ..Launch::default() };
    simulator.launch("k", &launch, &mut memory).unwrap_or_else(|error| panic!("{error}"));
    Some(memory.read(buffers[2], start.len() as u64).expect("it is allocated"))
}

/// Row and column of accumulator `n` of a thread: the manual's figure of the D fragment.
fn accumulator(thread: usize, n: usize) -> (usize, usize) {
    let (warp, lane) = (thread / 32, thread % 32);
    (16 * warp + lane / 4 + if n & 2 != 0 { 8 } else { 0 }, 8 * (n / 4) + 2 * (lane % 4) + (n & 1))
}

/// Checks one case; false if there is no ptxas.
fn check(case: &Case) -> bool {
    let (bits, k, stored) = (case.element.bits(), case.k, case.stored());
    let mut stream = Stream(case.types.bytes().map(u64::from).sum::<u64>() + k as u64);
    let mut numbers = |count: usize| (0..count).map(|_| case.element.pick(stream.next())).collect::<Vec<i64>>();
    let (a, b) = (numbers(M * stored), numbers(k * N));
    // C is a float for floats.
    let c: Vec<i64> = (0..M * N).map(|n| (n * 7 % 23) as i64 - 11).collect();
    let mut shared = vec![0u8; 2 * SIDE];
    let mut fragments = vec![0u8; 128 * 20];
    for row in 0..M {
        for at in 0..stored {
            let value = case.element.encode(a[row * stored + at]);
            match case.a {
                Place::Shared(layout) => put(&mut shared, layout.bit(row, at, bits), bits, value),
                Place::Registers => {
                    // The manual's figure: 32 bits of a row to a thread, the second half of a row two registers on.
                    let (each, half) = (32 / bits, stored / 2);
                    let thread = 32 * (row / 16) + 4 * (row % 8) + at % half / each;
                    let register = (row % 16) / 8 + 2 * (at / half);
                    put(&mut fragments, 8 * (20 * thread + 4 * register) + at % each * bits, bits, value);
                }
            }
        }
    }
    for column in 0..N {
        for at in 0..k {
            let value = case.element.encode(b[at * N + column]);
            put(&mut shared, 8 * SIDE + case.b.bit(column, at, bits), bits, value);
        }
    }
    // A sparse A: elements 2 n and 2 n + 1 that are stored stand in columns of the n-th four.
    let mut full = vec![0i64; M * k];
    for row in 0..M {
        if !case.sparse {
            full[row * k..][..k].copy_from_slice(&a[row * k..][..k]);
            continue;
        }
        for chunk in 0..k / 4 {
            let (low, high) = [(0, 1), (1, 3), (0, 2), (2, 3), (0, 3), (1, 2)][(row + 5 * chunk) % 6];
            full[row * k + 4 * chunk + low] = a[row * stored + 2 * chunk];
            full[row * k + 4 * chunk + high] = a[row * stored + 2 * chunk + 1];
            let code = (low | high << 2) as u32;
            // Of 16-bit elements, threads 0 and 1 of four hold 16 columns each of rows g and g + 8; of 8-bit elements,
            // threads 0 to 3 hold 32 columns of row g or g + 8.
            let (thread, bit) = match bits {
                16 => (chunk / 4, 16 * (row % 16 / 8) + 4 * (chunk % 4)),
                _ => (row % 16 / 8 + 2 * (chunk / 8), 4 * (chunk % 8)),
            };
            let thread = 32 * (row / 16) + 4 * (row % 8) + thread;
            put(&mut fragments, 8 * (20 * thread + 16) + bit, 4, code);
        }
    }
    let halves = case.types.starts_with(".f16");
    let floats = case.types.starts_with(".f");
    let encode = |value: i64| match (halves, floats) {
        (true, _) => half(value),
        (false, true) => (value as f32).to_bits(),
        (false, false) => value as u32,
    };
    let (per, width) = if halves { (2, 16) } else { (1, 32) };
    let count = per * case.d_registers();
    let mut start = vec![0u8; 128 * 4 * case.d_registers()];
    for thread in 0..128 {
        for n in 0..count {
            let (row, column) = accumulator(thread, n);
            put(&mut start, width * (count * thread + n), width, encode(c[row * N + column]));
        }
    }
    let a_layout = if let Place::Shared(layout) = case.a { layout } else { plain(16) };
    let descriptors = [a_layout.descriptor(0), case.b.descriptor(SIDE)];
    let Some(result) = run(&case.ptx(), &shared, &fragments, &start, descriptors) else { return false };
    for thread in 0..128 {
        for n in 0..count {
            let (row, column) = accumulator(thread, n);
            let product: i64 = (0..k).map(|at| full[row * k + at] * b[at * N + column]).sum();
            let expected = case.signs.0 * case.signs.1 * product + c[row * N + column];
            let at = width / 8 * (count * thread + n);
            let word =
                u32::from_le_bytes(std::array::from_fn(|byte| if byte < width / 8 { result[at + byte] } else { 0 }));
            let got = match (halves, floats) {
                (true, _) => from_half(word),
                (false, true) => f32::from_bits(word) as i64,
                (false, false) => i64::from(word as i32),
            };
            assert_eq!(
                got, expected,
                "{}{}, A {:?}, B {:?}: row {row} column {column}",
                case.types, case.tail, case.a, case.b
            );
        }
    }
    true
}

/// Checks cases, as long as there is a ptxas.
fn check_all(cases: impl IntoIterator<Item = Case>) {
    for case in cases {
        if !check(&case) {
            return;
        }
    }
}

/// `f32` sums of `f16` products, K contiguous, no signs.
fn halves(a: Place, b: Layout) -> Case {
    let transposed = |layout: Layout| u8::from(layout.transposed);
    let tail: &'static str = match (a, transposed(b)) {
        (Place::Registers, 0) => ",1,1,0",
        (Place::Registers, _) => ",1,1,1",
        (Place::Shared(a), b) => {
            [[",1,1,0,0", ",1,1,0,1"], [",1,1,1,0", ",1,1,1,1"]][usize::from(transposed(a))][usize::from(b)]
        }
    };
    Case { types: ".f32.f16.f16", sparse: false, tail, element: Element::F16, a, b, k: 16, signs: (1, 1) }
}

#[test]
fn halves_in_every_layout() {
    let layouts = [16, 32, 64, 128].into_iter().flat_map(|row| [plain(row), across(row)]);
    check_all(layouts.clone().map(|layout| halves(Place::Shared(layout), plain(128))));
    check_all(layouts.map(|layout| halves(Place::Registers, layout)));
}

#[test]
fn other_types() {
    let shared = Place::Shared(plain(128));
    let of = |types, tail, element, k| Case {
        types,
        sparse: false,
        tail,
        element,
        a: shared,
        b: plain(64),
        k,
        signs: (1, 1),
    };
    check_all([
        of(".f32.bf16.bf16", ",1,1,0,0", Element::Bf16, 16),
        of(".f16.f16.f16", ",1,1,0,0", Element::F16, 16),
        of(".f32.tf32.tf32", ",1,1", Element::Tf32, 8),
        of(".f32.e4m3.e4m3", ",1,1", Element::E4m3, 32),
        of(".s32.s8.s8", "", Element::S8, 32),
        of(".s32.u8.u8", "", Element::U8, 32),
        of(".s32.b1.b1.and.popc", "", Element::B1, 256),
        Case { a: Place::Registers, ..of(".s32.s8.s8", "", Element::S8, 32) },
        Case { a: Place::Registers, ..of(".f32.e4m3.e4m3", ",1,1", Element::E4m3, 32) },
        Case { a: Place::Registers, ..of(".s32.b1.b1.and.popc", "", Element::B1, 256) },
    ]);
}

#[test]
fn signs() {
    let with = |tail, signs, a| Case { tail, signs, ..halves(a, plain(32)) };
    check_all([
        with(",-1,1,0,0", (-1, 1), Place::Shared(plain(32))),
        with(",1,-1,0,0", (1, -1), Place::Shared(plain(32))),
        with(",-1,-1,0,0", (-1, -1), Place::Shared(plain(32))),
        with(",-1,1,0", (-1, 1), Place::Registers),
    ]);
}

#[test]
fn sparse_a() {
    let halves = |a| Case {
        types: ".f32.f16.f16",
        sparse: true,
        tail: if matches!(a, Place::Registers) { ",1,1,0" } else { ",1,1,0,0" },
        element: Element::F16,
        a,
        b: plain(128),
        k: 32,
        signs: (1, 1),
    };
    let bytes = Case { types: ".s32.s8.s8", tail: "", element: Element::S8, k: 64, ..halves(Place::Shared(plain(64))) };
    let registers = Case {
        a: Place::Registers,
        types: ".s32.s8.s8",
        tail: "",
        element: Element::S8,
        k: 64,
        ..halves(Place::Registers)
    };
    check_all([halves(Place::Shared(plain(128))), halves(Place::Registers), bytes, registers]);
}
