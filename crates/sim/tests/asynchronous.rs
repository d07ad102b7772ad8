//! Asynchronous copies, mbarriers and clusters, compiled by ptxas, against what the PTX manual says,
//! computed here. Needs ptxas in the folder that `ORIOLE_ORACLE` names.

use crate::ptxas;

use oriole_device::tensor_map::{Element, Fill, Shape, Swizzle, TensorMap};
use oriole_device::{Launch, Memory};
use oriole_sim::{Options, RunError, Simulator};

/// First words of every module: `k` with parameters, a barrier `bar` and registers.
fn module(arch: &str, params: &str, body: &str) -> String {
    format!(
        ".version 8.7\n.target {arch}\n.address_size 64\n\
         .visible .entry k({params}){{\n\
         .reg .b32 %r<32>;.reg .b64 %d<32>;.reg .pred %p<8>;.reg .b16 %h<4>;.reg .f32 %f<4>;\n\
         .shared .align 8 .b64 bar;.shared .align 1024 .b8 buf[16384];\n\
         mov.u32 %r0,%tid.x;\n{body}\nret;}}\n"
    )
}

/// Waits for the phase of `bar` with the parity in a register or a number; `name` is the label's.
fn wait(name: &str, parity: &str) -> String {
    format!("{name}: mbarrier.try_wait.parity.shared.b64 %p7,[bar],{parity};@!%p7 bra {name};")
}

/// A module that ptxas has compiled; `None`, said aloud, without ptxas.
fn compile(arch: &str, ptx: &str) -> Option<Simulator> {
    let cubin = ptxas::compile(arch, ptx)?;
    Some(Simulator::new(&cubin, Options::default()).expect("a module for a simulated target"))
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
}

/// A launch of a module whose only parameter is a buffer of zeros.
struct Run<'a> {
    arch: &'a str,
    grid: [u32; 3],
    cluster: [u32; 3],
    block: u32,
    bytes: u64,
}

impl Default for Run<'_> {
    fn default() -> Self {
        Run { arch: "sm_90a", grid: [1; 3], cluster: [1; 3], block: 32, bytes: 256 }
    }
}

impl Run<'_> {
    /// The words of the buffer afterwards.
    fn result(&self, body: &str) -> Option<Result<Vec<u32>, RunError>> {
        let simulator =
            compile(self.arch, &module(self.arch, ".param .u64 out", &format!("ld.param.u64 %d0,[out];{body}")))?;
        let mut memory = Memory::new();
        let out = memory.allocate("the result", self.bytes);
        let params = out.to_le_bytes().to_vec();
        let launch =
            Launch { grid: self.grid, cluster: self.cluster, block: [self.block, 1, 1], params, ..Launch::default() };
        let done = simulator.launch("k", &launch, &mut memory);
        Some(done.map(|_| words(&memory.read(out, self.bytes).expect("it is ours"))))
    }

    fn words(&self, body: &str) -> Option<Vec<u32>> {
        self.result(body).map(|result| result.unwrap_or_else(|error| panic!("{error}\n{body}")))
    }

    fn fault(&self, body: &str) -> Option<String> {
        self.result(body).map(|result| result.expect_err("a fault").to_string())
    }
}

/// What a tensor copy does in a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Load,
    Store,
    Add,
}

/// One tensor copy: the tensor holds the numbers of its bytes, shared memory theirs plus 77.
struct Copy {
    map: TensorMap,
    /// Bytes of the tensor.
    size: u64,
    at: [i32; 5],
    offsets: [u16; 3],
    action: Action,
}

/// The byte that stands at position `n` of a buffer.
fn pattern(n: usize, seed: usize) -> u8 {
    (n * 7 + n / 251 + seed) as u8
}

impl Copy {
    /// Bytes of the box in shared memory.
    fn box_bytes(&self) -> usize {
        let map = &self.map;
        let elements = match map.shape {
            Shape::Tile(sizes) => {
                let steps = |i: usize| if i == 0 { sizes[0] } else { sizes[i].div_ceil(map.element_strides[i]) };
                (0..map.rank).map(steps).product()
            }
            Shape::Im2col { channels, pixels, .. } => channels * pixels,
        };
        (elements * map.element.bytes()) as usize
    }

    fn ptx(&self) -> String {
        let rank = self.map.rank;
        let coordinates: Vec<String> = self.at[..rank].iter().map(i32::to_string).collect();
        let moves: String = coordinates.iter().enumerate().map(|(i, c)| format!("mov.b32 %r{},{c};", 10 + i)).collect();
        let list = (0..rank).map(|i| format!("%r{}", 10 + i)).collect::<Vec<_>>().join(",");
        let im2col = matches!(self.map.shape, Shape::Im2col { .. });
        let offsets: Vec<String> = self.offsets[..rank.saturating_sub(2)].iter().map(u16::to_string).collect();
        let (mode, out_mode) = if im2col { (".im2col", ".im2col_no_offs") } else { (".tile", ".tile") };
        let offsets = if im2col { format!(",{{{}}}", offsets.join(",")) } else { String::new() };
        let bytes = self.box_bytes();
        let copy = match self.action {
            Action::Load => format!(
                "@%p0 mbarrier.arrive.expect_tx.shared.b64 _,[bar],{bytes};\
                 @%p0 cp.async.bulk.tensor.{rank}d.shared::cluster.global{mode}.mbarrier::complete_tx::bytes \
                 [buf],[%d1,{{{list}}}],[bar]{offsets};{}",
                wait("W", "0")
            ),
            Action::Store => format!(
                "@%p0 cp.async.bulk.tensor.{rank}d.global.shared::cta{out_mode}.bulk_group [%d1,{{{list}}}],[buf];\
                 cp.async.bulk.commit_group;cp.async.bulk.wait_group 0;"
            ),
            Action::Add => format!(
                "@%p0 cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.add{out_mode}.bulk_group [%d1,{{{list}}}],[buf];\
                 cp.async.bulk.commit_group;cp.async.bulk.wait_group 0;"
            ),
        };
        // The buffer goes to shared memory first and comes back afterwards.
        let walk = |name: &str, step: &str| {
            format!(
                "mov.u32 %r1,%r0;{name}: shl.b32 %r2,%r1,2;mov.u32 %r3,buf;add.u32 %r3,%r3,%r2;\
                     cvt.u64.u32 %d2,%r2;add.u64 %d2,%d0,%d2;{step}add.u32 %r1,%r1,32;\
                     setp.lt.u32 %p1,%r1,4096;@%p1 bra {name};"
            )
        };
        module(
            "sm_90a",
            ".param .u64 out,.param .align 64 .b8 map[128]",
            &format!(
                "ld.param.u64 %d0,[out];mov.b64 %d1,map;cvta.param.u64 %d1,%d1;setp.eq.u32 %p0,%r0,0;{moves}\
                 @%p0 mbarrier.init.shared.b64 [bar],1;{}fence.proxy.async;bar.sync 0;{copy}bar.sync 0;{}",
                walk("A", "ld.global.u32 %r4,[%d2];st.shared.u32 [%r3],%r4;"),
                walk("B", "ld.shared.u32 %r4,[%r3];st.global.u32 [%d2],%r4;"),
            ),
        )
    }

    /// Element numbers in dimension 0 of the row of the box, and the coordinates of the others.
    fn row(&self, number: usize) -> [i64; 5] {
        let map = &self.map;
        let mut at = self.at.map(i64::from);
        match map.shape {
            Shape::Tile(sizes) => {
                let mut rest = number;
                for i in 1..map.rank {
                    let count = sizes[i].div_ceil(map.element_strides[i]) as usize;
                    at[i] += (rest % count) as i64 * i64::from(map.element_strides[i]);
                    rest /= count;
                }
            }
            Shape::Im2col { lower, upper, .. } => {
                // Positions of the bounding box from the first one on, as mixed-radix numbers.
                let spatial = map.rank - 2;
                let stride = |i: usize| i64::from(map.element_strides[1 + i]);
                let size = |i: usize| {
                    let span = map.dims[1 + i] as i64 + i64::from(upper[i]) - i64::from(lower[i]);
                    (span + stride(i) - 1) / stride(i)
                };
                let (mut position, mut weight) = (number as i64, 1);
                for i in 0..spatial {
                    position += (at[1 + i] - i64::from(lower[i])) / stride(i) * weight;
                    weight *= size(i);
                }
                for i in 0..spatial {
                    at[1 + i] = i64::from(lower[i]) + position % size(i) * stride(i) + i64::from(self.offsets[i]);
                    position /= size(i);
                }
                at[map.rank - 1] += position;
            }
        }
        at
    }

    /// Where the byte `n` of the box is in shared memory, and where it comes from in the tensor.
    fn byte(&self, n: usize) -> (usize, Option<usize>) {
        let map = &self.map;
        let width = map.element.bytes() as usize;
        let row_bytes = match map.shape {
            Shape::Tile(sizes) => sizes[0] as usize * width,
            Shape::Im2col { channels, .. } => channels as usize * width,
        };
        let (line, unit) = (n / 128, n / 16 % 8);
        let unit = match map.swizzle {
            Swizzle::None => unit,
            Swizzle::B32 => unit ^ (line % 2),
            Swizzle::B64 => unit ^ (line % 4),
            Swizzle::B128 => unit ^ (line % 8),
        };
        let mut at = self.row(n / row_bytes);
        at[0] += (n % row_bytes / width) as i64;
        let inside = (0..map.rank).all(|i| (0..map.dims[i] as i64).contains(&at[i]));
        let source = inside.then(|| {
            let far: usize = (1..map.rank).map(|i| at[i] as usize * map.strides[i - 1] as usize).sum();
            far + at[0] as usize * width + n % width
        });
        (line * 128 + unit * 16 + n % 16, source)
    }

    fn check(&self) {
        let Some(simulator) = compile("sm_90a", &self.ptx()) else { return };
        let mut memory = Memory::new();
        let tensor: Vec<u8> = (0..self.size as usize).map(|n| pattern(n, 0)).collect();
        let shared: Vec<u8> = (0..16384).map(|n| pattern(n, 77)).collect();
        let (source, out) = (memory.allocate_with("the tensor", &tensor), memory.allocate_with("shared", &shared));
        let map = TensorMap { address: source, ..self.map };
        let mut params = out.to_le_bytes().to_vec();
        // ptxas places it so that it is aligned in the constant bank.
        params.resize(simulator.parameters("k").expect("the kernel")[1].offset as usize, 0);
        params.extend(map.encode().expect("a proper map"));
        let launch = Launch { block: [32, 1, 1], params, ..Launch::default() };
        simulator.launch("k", &launch, &mut memory).unwrap_or_else(|error| panic!("{error}"));
        let (mut in_shared, mut in_tensor) = (shared.clone(), tensor.clone());
        let fill = if map.fill == Fill::Nan { map.element.nan().to_le_bytes() } else { [0; 8] };
        let width = map.element.bytes() as usize;
        let mut moved = 0;
        for n in 0..self.box_bytes() {
            let (to, from) = self.byte(n);
            moved += usize::from(from.is_some());
            match (self.action, from) {
                (Action::Load, from) => in_shared[to] = from.map_or(fill[n % width], |from| tensor[from]),
                (Action::Store, Some(from)) => in_tensor[from] = shared[to],
                (Action::Add, Some(from)) if n % width == 0 => {
                    let word = |bytes: &[u8], at: usize| words(&bytes[at..at + 4])[0];
                    let sum = word(&tensor, from).wrapping_add(word(&shared, to));
                    in_tensor[from..from + 4].copy_from_slice(&sum.to_le_bytes());
                }
                _ => {}
            }
        }
        assert!(moved > 0, "the test moves nothing");
        let label = format!("{:?} of {map:?} at {:?}", self.action, self.at);
        assert!(memory.read(out, 16384).expect("it is ours") == in_shared, "shared memory after {label}");
        assert!(memory.read(source, self.size).expect("it is ours") == in_tensor, "the tensor after {label}");
    }
}

/// A tensor of that type whose rows follow each other, tiled.
fn tensor(element: Element, dims: &[u64], sizes: &[u32]) -> Copy {
    let at = |i: usize| dims.get(i).copied().unwrap_or(1);
    let mut strides = [0; 4];
    let mut stride = (at(0) * u64::from(element.bytes())).next_multiple_of(16);
    for i in 1..dims.len() {
        strides[i - 1] = stride;
        stride *= at(i);
    }
    let map = TensorMap {
        address: 0,
        element,
        rank: dims.len(),
        dims: std::array::from_fn(at),
        strides,
        shape: Shape::Tile(std::array::from_fn(|i| sizes.get(i).copied().unwrap_or(1))),
        element_strides: [1; 5],
        swizzle: Swizzle::None,
        fill: Fill::Zero,
    };
    Copy { map, size: stride, at: [0; 5], offsets: [0; 3], action: Action::Load }
}

#[test]
fn tiles_of_every_rank_in_and_out_of_bounds() {
    let tile = |element, dims: &[u64], sizes: &[u32], at: [i32; 5]| Copy { at, ..tensor(element, dims, sizes) };
    tile(Element::F32, &[100], &[64], [50, 0, 0, 0, 0]).check();
    tile(Element::U8, &[64, 20], &[48, 9], [-5, -3, 0, 0, 0]).check();
    tile(Element::F16, &[24, 10, 6], &[16, 4, 3], [16, 8, 4, 0, 0]).check();
    tile(Element::F64, &[6, 5, 4, 3], &[4, 3, 2, 2], [1, 1, 3, -1, 0]).check();
    tile(Element::U16, &[16, 3, 4, 3, 3], &[8, 2, 2, 2, 2], [8, 1, 3, 0, 1]).check();
    let mut nan = tile(Element::F16, &[24, 10], &[16, 8], [-8, 5, 0, 0, 0]);
    nan.map.fill = Fill::Nan;
    nan.check();
    let mut sparse = tile(Element::U32, &[16, 20, 9], &[8, 7, 5], [4, 1, 2, 0, 0]);
    sparse.map.element_strides = [1, 3, 2, 1, 1];
    sparse.check();
}

#[test]
fn swizzled_tiles() {
    for (swizzle, width) in [(Swizzle::B32, 16), (Swizzle::B64, 32), (Swizzle::B128, 64)] {
        let mut tile = tensor(Element::F16, &[96, 40], &[width, 32]);
        tile.map.swizzle = swizzle;
        tile.at = [40, 12, 0, 0, 0];
        tile.check();
        Copy { action: Action::Store, ..tile }.check();
    }
}

#[test]
fn tiles_go_back_and_are_added() {
    for action in [Action::Store, Action::Add] {
        let mut tile = tensor(Element::S32, &[20, 10, 5], &[12, 4, 3]);
        (tile.at, tile.action) = ([13, -2, 3, 0, 0], action);
        tile.check();
    }
}

#[test]
fn pixels_in_the_order_of_a_convolution() {
    let image = |dims: &[u64], lower, upper, at, offsets| {
        let mut copy = tensor(Element::F16, dims, &[]);
        copy.map.shape = Shape::Im2col { lower, upper, channels: 16, pixels: 40 };
        (copy.at, copy.offsets) = (at, offsets);
        copy
    };
    // A 3x3 filter with a border of one, at its offset (2, 1), from the middle of the first image on.
    let filter = image(&[24, 9, 7, 3], [-1, -1, 0], [-1, -1, 0], [8, 3, 2, 0, 0], [2, 1, 0]);
    filter.check();
    let mut steps = image(&[16, 9, 7, 3], [-1, -1, 0], [-1, -1, 0], [0, 1, -1, 0, 0], [0, 2, 0]);
    steps.map.element_strides = [1, 2, 2, 1, 1];
    steps.check();
    image(&[16, 40, 3], [-2, 0, 0], [1, 0, 0], [0, 30, 1, 0, 0], [3, 0, 0]).check();
    image(&[16, 4, 5, 3, 2], [0, -1, 0], [0, -1, -1], [0, 2, 1, 1, 0], [1, 2, 0]).check();
    Copy { action: Action::Store, offsets: [0; 3], ..filter }.check();
}

#[test]
fn mbarriers_count_arrivals_phases_and_bytes() {
    // 32 threads arrive; the third phase lacks two who have left; one waits for bytes.
    let body = format!(
        "setp.eq.u32 %p0,%r0,0;@%p0 mbarrier.init.shared.b64 [bar],32;bar.sync 0;mul.wide.u32 %d1,%r0,4;add.u64 %d1,%d0,%d1;\
         mbarrier.arrive.shared.b64 %d2,[bar];mbarrier.pending_count.b64 %r1,%d2;st.global.u32 [%d1],%r1;{}\
         mbarrier.test_wait.parity.shared.b64 %p1,[bar],1;selp.u32 %r2,1,0,%p1;\
         setp.lt.u32 %p2,%r0,2;@%p2 mbarrier.arrive_drop.shared.b64 %d2,[bar];@!%p2 mbarrier.arrive.shared.b64 %d2,[bar];{}\
         @%p2 bra END;setp.eq.u32 %p3,%r0,2;@%p3 mbarrier.expect_tx.relaxed.cta.shared.b64 [bar],48;\
         mbarrier.arrive.shared.b64 %d2,[bar];mbarrier.pending_count.b64 %r1,%d2;\
         mbarrier.test_wait.shared.b64 %p1,[bar],%d2;selp.u32 %r3,1,0,%p1;shl.b32 %r3,%r3,1;or.b32 %r2,%r2,%r3;\
         bar.warp.sync 0xfffffffc;@%p3 mbarrier.complete_tx.relaxed.cta.shared.b64 [bar],48;{}\
         shl.b32 %r2,%r2,8;or.b32 %r1,%r1,%r2;st.global.u32 [%d1+128],%r1;END:",
        wait("A", "0"),
        wait("B", "1"),
        wait("C", "0"),
    );
    let Some(words) = (Run { ..Run::default() }).words(&body) else { return };
    let mut first = words[..32].to_vec();
    first.sort_unstable();
    assert_eq!(first, (1..=32).collect::<Vec<u32>>(), "each arrival finds another count");
    assert_eq!(words[32..34], [0, 0], "two have left");
    let mut third: Vec<u32> = words[34..64].iter().map(|word| word & 0xff).collect();
    third.sort_unstable();
    assert_eq!(third, (1..=30).collect::<Vec<u32>>(), "and are not waited for");
    // Parity 1 is not over in phase 1; the state is not over while bytes are missing.
    assert!(words[34..64].iter().all(|word| word >> 8 == 0), "{:x?}", &words[34..64]);
}

#[test]
fn copies_of_threads_arrive_at_mbarriers() {
    for arch in ["sm_80", "sm_90"] {
        for (way, count) in [("", 32), (".noinc", 64)] {
            let body = format!(
                "setp.eq.u32 %p0,%r0,0;@%p0 mbarrier.init.shared.b64 [bar],{count};bar.sync 0;\
                 mov.u32 %r1,buf;shl.b32 %r2,%r0,2;add.u32 %r1,%r1,%r2;cvt.u64.u32 %d1,%r2;add.u64 %d1,%d0,%d1;\
                 st.global.u32 [%d1],%r0;cp.async.ca.shared.global [%r1],[%d1],4;\
                 cp.async.mbarrier.arrive{way}.shared.b64 [bar];mbarrier.arrive.shared.b64 %d2,[bar];\
                 W: mbarrier.test_wait.shared.b64 %p1,[bar],%d2;@!%p1 bra W;\
                 xor.b32 %r2,%r2,124;mov.u32 %r1,buf;add.u32 %r1,%r1,%r2;ld.shared.u32 %r3,[%r1];st.global.u32 [%d1+128],%r3;"
            );
            let Some(words) = (Run { arch, ..Run::default() }).words(&body) else { return };
            assert_eq!(words[32..], (0..32).rev().collect::<Vec<u32>>(), "{arch} {way}");
        }
    }
}

#[test]
fn blocks_of_a_cluster_reach_each_other() {
    // 2x2 blocks: each stores its number with its right neighbour, sends it to the next one by an
    // asynchronous store that an mbarrier counts, and counts itself at the first one.
    let body = format!(
        "setp.eq.u32 %p0,%r0,0;mov.u32 %r1,%cluster_ctarank;mov.u32 %r2,%cluster_nctarank;\
         mov.u32 %r3,%ctaid.x;mov.u32 %r4,%ctaid.y;mad.lo.u32 %r3,%r4,4,%r3;\
         mov.u32 %r5,buf;mov.u32 %r6,0;@%p0 st.shared.u32 [buf+8],%r6;\
         @%p0 mbarrier.init.shared.b64 [bar],1;@%p0 mbarrier.arrive.expect_tx.shared.b64 _,[bar],4;\
         barrier.cluster.arrive.aligned;barrier.cluster.wait.aligned;\
         add.u32 %r7,%r1,1;rem.u32 %r7,%r7,%r2;mapa.shared::cluster.u32 %r8,%r5,%r7;\
         add.u32 %r9,%r1,2;rem.u32 %r9,%r9,%r2;mapa.shared::cluster.u32 %r10,%r5,%r9;mov.u32 %r11,bar;\
         mapa.shared::cluster.u32 %r11,%r11,%r9;mapa.shared::cluster.u32 %r12,%r5,0;\
         @%p0 st.shared::cluster.u32 [%r8],%r3;\
         @%p0 st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r10+4],%r3,[%r11];\
         red.shared::cluster.add.u32 [%r12+8],1;{}\
         barrier.cluster.arrive.release;barrier.cluster.wait.acquire;\
         mul.wide.u32 %d1,%r3,16;add.u64 %d1,%d0,%d1;\
         ld.shared.u32 %r13,[buf];ld.shared.u32 %r14,[buf+4];ld.shared.u32 %r15,[buf+8];\
         getctarank.shared::cluster.u32 %r16,%r8;mov.u32 %r17,%cluster_ctaid.x;shl.b32 %r17,%r17,8;or.b32 %r16,%r16,%r17;\
         mov.u32 %r17,%clusterid.y;shl.b32 %r17,%r17,16;or.b32 %r16,%r16,%r17;\
         @%p0 st.global.v4.u32 [%d1],{{%r13,%r14,%r15,%r16}};",
        wait("A", "0")
    );
    let run = Run { grid: [4, 4, 1], cluster: [2, 2, 1], block: 64, ..Run::default() };
    let Some(words) = run.words(&body) else { return };
    let number = |cluster: [u32; 2], rank: u32| (2 * cluster[1] + rank / 2) * 4 + 2 * cluster[0] + rank % 2;
    for (x, y, rank) in (0..2).flat_map(|x| (0..2).flat_map(move |y| (0..4).map(move |rank| (x, y, rank)))) {
        let at = 4 * number([x, y], rank) as usize;
        let counted = if rank == 0 { 4 * 64 } else { 0 };
        let places = ((rank + 1) % 4) | ((rank % 2) << 8) | (y << 16);
        let expected = [number([x, y], (rank + 3) % 4), number([x, y], (rank + 2) % 4), counted, places];
        assert_eq!(words[at..at + 4], expected, "cluster {x},{y}, block {rank}");
    }
}

#[test]
fn a_multicast_reaches_the_blocks_of_its_mask() {
    // Block 2 sends 64 bytes to blocks 1 and 3, each of which expects them; then 1 copies its own to 0.
    let body = format!(
        "setp.eq.u32 %p0,%r0,0;mov.u32 %r1,%cluster_ctarank;mul.wide.u32 %d1,%r1,64;add.u64 %d1,%d0,%d1;\
         shl.b32 %r2,%r0,2;mov.u32 %r3,buf;add.u32 %r3,%r3,%r2;cvt.u64.u32 %d2,%r2;add.u64 %d2,%d0,%d2;\
         setp.lt.u32 %p1,%r0,16;mov.u32 %r4,0;@%p1 st.shared.u32 [%r3],%r4;add.u32 %r5,%r0,1000;\
         setp.eq.u32 %p2,%r1,2;and.pred %p3,%p1,%p2;@%p3 st.global.u32 [%d2+256],%r5;\
         @%p0 mbarrier.init.shared.b64 [bar],1;@%p0 mbarrier.arrive.expect_tx.shared.b64 _,[bar],64;bar.sync 0;\
         barrier.cluster.arrive.aligned;barrier.cluster.wait.aligned;\
         and.pred %p3,%p0,%p2;mov.u16 %h0,10;add.u64 %d3,%d0,256;mov.u32 %r6,buf;mov.u32 %r7,bar;\
         @%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r6],[%d3],64,[%r7],%h0;\
         and.b32 %r8,%r1,1;setp.eq.u32 %p4,%r8,0;@%p4 bra SKIP;{}SKIP:\
         setp.eq.u32 %p5,%r1,1;and.pred %p5,%p5,%p0;mov.u32 %r9,0;mapa.shared::cluster.u32 %r10,%r6,%r9;mapa.shared::cluster.u32 %r11,%r7,%r9;\
         @%p5 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r10],[%r6],64,[%r11];\
         setp.ne.u32 %p6,%r1,0;@%p6 bra SKIP2;{}SKIP2:\
         barrier.cluster.arrive;barrier.cluster.wait;\
         ld.shared.u32 %r12,[%r3];cvt.u64.u32 %d4,%r2;add.u64 %d4,%d1,%d4;@%p1 st.global.u32 [%d4],%r12;",
        wait("A", "0"),
        wait("B", "0"),
    );
    let run = Run { grid: [4, 1, 1], cluster: [4, 1, 1], bytes: 512, ..Run::default() };
    let Some(words) = run.words(&body) else { return };
    let sent: Vec<u32> = (1000..1016).collect();
    assert_eq!([&words[..16], &words[16..32], &words[48..64]], [&sent[..]; 3]);
    assert_eq!(words[32..48], [0; 16], "block 2 is not in the mask");
}

#[test]
fn reductions_in_bulk() {
    let body = "setp.eq.u32 %p0,%r0,0;mov.u32 %r1,buf;shl.b32 %r2,%r0,2;add.u32 %r1,%r1,%r2;cvt.u64.u32 %d1,%r2;add.u64 %d1,%d0,%d1;\
         cvt.rn.f32.u32 %f0,%r0;st.shared.f32 [%r1],%f0;mov.f32 %f1,0f3F000000;st.global.f32 [%d1],%f1;\
         sub.u32 %r3,%r0,16;st.shared.u32 [%r1+128],%r3;mov.u32 %r4,3;st.global.u32 [%d1+128],%r4;bar.sync 0;\
         fence.proxy.async;mov.u32 %r5,buf;add.u32 %r6,%r5,128;add.u64 %d2,%d0,128;\
         @%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%d0],[%r5],128;\
         @%p0 cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s32 [%d2],[%r6],128;\
         cp.async.bulk.commit_group;cp.async.bulk.wait_group 0;";
    let Some(words) = Run::default().words(body) else { return };
    let sums: Vec<f32> = words[..32].iter().map(|&word| f32::from_bits(word)).collect();
    assert_eq!(sums, (0..32u8).map(|n| f32::from(n) + 0.5).collect::<Vec<f32>>());
    let least: Vec<i32> = words[32..].iter().map(|&word| word as i32).collect();
    assert_eq!(least, (-16..16).map(|n| n.min(3)).collect::<Vec<i32>>());
}

#[test]
fn misuse_is_named() {
    let faults = |body: &str, parts: &[&str]| {
        let Some(text) = Run::default().fault(body) else { return };
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    };
    let init = "setp.eq.u32 %p0,%r0,0;@%p0 mbarrier.init.shared.b64 [bar],2;bar.sync 0;";
    faults(&wait("W", "0"), &["mbarrier at shared address", "is not initialised"]);
    let endless = format!("{init}@%p0 mbarrier.arrive.expect_tx.shared.b64 _,[bar],128;{}", wait("W", "0"));
    faults(&endless, &["deadlock", "waits for 1 of 2 arrivals and 128 bytes in a phase of parity 0", "threads 0-31"]);
    faults(&format!("{init}mbarrier.arrive.shared.b64 %d1,[bar],3;"), &["3 arrivals when it waits for 2"]);
    let beyond = format!(
        "{init}mov.u32 %r1,buf;mov.u32 %r2,bar;\
         @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1],[%d0],512,[%r2];"
    );
    faults(&beyond, &["illegal address", "0 bytes past the end of the result (256 bytes"]);
    let text = (Run { grid: [3, 1, 1], cluster: [3, 1, 1], ..Run::default() }).fault(
        "mov.u32 %r1,%cluster_ctarank;setp.eq.u32 %p0,%r1,1;@%p0 bra END;barrier.cluster.arrive;barrier.cluster.wait;\
         ret;END: bar.sync 0;bar.sync 1,64;",
    );
    let Some(text) = text else { return };
    assert!(text.contains("the barrier of the cluster, where 64 threads have arrived"), "{text}");
    assert!(text.contains("block 1 of the cluster"), "{text}");
}

/// `st.bulk` clears so many bytes and no more.
#[test]
fn zeros_in_bulk() {
    let body = "mov.u32 %r1,buf;mad.lo.u32 %r2,%r0,4,%r1;mov.u32 %r3,7;st.shared.u32 [%r2],%r3;bar.sync 0;
        setp.eq.u32 %p0,%r0,0;cvt.u64.u32 %d1,%r1;add.u64 %d1,%d1,16;@%p0 st.bulk.weak.shared::cta [%d1],64,0;bar.sync 0;
        ld.shared.u32 %r4,[%r2];mad.wide.u32 %d2,%r0,4,%d0;st.global.u32 [%d2],%r4;";
    let Some(found) = (Run { arch: "sm_100a", bytes: 128, ..Run::default() }).words(body) else { return };
    let expected: Vec<u32> = (0..32).map(|word| if (4..20).contains(&word) { 0 } else { 7 }).collect();
    assert_eq!(found, expected);
}

/// Without several shapes of clusters the first record of constant bank 0 counts, whatever the cluster's size.
#[test]
fn shapes_of_clusters_on_sm_100() {
    let body =
        "mov.u32 %r1,%cluster_nctaid.x;mov.u32 %r2,%cluster_nctarank;mov.u32 %r3,%nclusterid.x;mov.u32 %r4,%ctaid.x;
        mad.wide.u32 %d1,%r4,16,%d0;st.global.v4.u32 [%d1],{%r1,%r2,%r3,%r4};";
    let run = Run { arch: "sm_100a", grid: [8, 1, 1], cluster: [4, 1, 1], bytes: 128, ..Run::default() };
    let Some(found) = run.words(body) else { return };
    let expected: Vec<u32> = (0..8).flat_map(|block| [4, 4, 2, block]).collect();
    assert_eq!(found, expected);
}
