//! `ldmatrix`, `stmatrix` and `movmatrix`, compiled by ptxas, against the tables of the PTX manual. Needs ptxas in the folder that `ORIOLE_ORACLE` names.

use crate::ptxas;

use oriole_device::{Launch, Memory};
use oriole_sim::{Options, Simulator};

/// Threads of a warp, each with a row of 16 bytes.
const WARP: usize = 32;

/// Runs a kernel whose threads have `%i0` to `%i3` from the input and leave `%o0` to `%o3`; `body` works on the row of
/// shared memory at `%s`.
fn run(arch: &str, body: &str, input: &[u8]) -> Option<Vec<u8>> {
    let ptx = format!(
        ".version 8.8\n.target {arch}\n.address_size 64\n.shared .align 128 .b8 v[512];\n\
         .visible .entry k(.param .u64 in,.param .u64 out) {{\n\
         .reg .b32 %i<4>,%o<4>,%t,%s;.reg .b64 %p,%q;\n\
         mov.u32 %t,%tid.x;ld.param.u64 %p,[in];mad.wide.u32 %p,%t,16,%p;ld.param.u64 %q,[out];mad.wide.u32 %q,%t,16,%q;\n\
         mov.u32 %s,v;mad.lo.u32 %s,%t,16,%s;mov.b32 %o0,0;mov.b32 %o1,0;mov.b32 %o2,0;mov.b32 %o3,0;\n\
         ld.global.v4.b32 {{%i0,%i1,%i2,%i3}},[%p];\n{body}\nst.global.v4.b32 [%q],{{%o0,%o1,%o2,%o3}};ret;\n}}\n"
    );
    let cubin = ptxas::compile(arch, &ptx)?;
    let simulator = Simulator::new(&cubin, Options::default()).expect("a module");
    let mut memory = Memory::new();
    let (from, to) = (memory.allocate_with("in", input), memory.allocate("out", 512));
    let params = [from, to].iter().flat_map(|address| address.to_le_bytes()).collect();
    let launch = Launch { grid: [1; 3], block: [WARP as u32, 1, 1], params, ..Launch::default() };
    simulator.launch("k", &launch, &mut memory).unwrap_or_else(|error| panic!("{body}: {error}"));
    Some(memory.read(to, 512).expect("it is allocated"))
}

/// Bytes that are all different in their row and mixed between rows.
fn bytes() -> Vec<u8> {
    (0..512u32).map(|n| (n.wrapping_mul(0x9e37_79b1) >> 13) as u8 ^ n as u8).collect()
}

/// The row and byte of shared memory that byte `b` of register `r` of a thread holds.
type Table = fn(lane: usize, r: usize, b: usize) -> (usize, usize);

/// Matrix `r` has rows `8 r` to `8 r + 7`: a thread has two halves of row `lane / 4`.
fn rows(lane: usize, r: usize, b: usize) -> (usize, usize) {
    (8 * r + lane / 4, 2 * (2 * (lane % 4) + b / 2) + b % 2)
}

/// Transposed: a thread has two halves of column `lane / 4`.
fn columns(lane: usize, r: usize, b: usize) -> (usize, usize) {
    (8 * r + 2 * (lane % 4) + b / 2, 2 * (lane / 4) + b % 2)
}

/// Transposed, sixteen rows of sixteen bytes: a thread has four bytes of column `lane / 4` in one register, of the
/// column eight on in the next. What `mma` takes as two B of 32 rows and 8 columns, each in rows of 16 bytes.
fn tall(lane: usize, r: usize, b: usize) -> (usize, usize) {
    (16 * (r / 2) + 4 * (lane % 4) + b, lane / 4 + 8 * (r % 2))
}

/// Transposed, eight rows of sixteen bytes, each a column of a matrix whose rows are those of the sums of `mma`: a thread
/// has two bytes of row `lane / 4` and two of the row eight on.
fn short(lane: usize, r: usize, b: usize) -> (usize, usize) {
    (8 * r + 2 * (lane % 4) + b % 2, lane / 4 + 8 * (b / 2))
}

/// `count` registers as PTX lists them.
fn list(name: &str, count: usize) -> String {
    (0..count).map(|n| format!("%{name}{n}")).collect::<Vec<_>>().join(",")
}

/// The sixteen elements of `bits` bits at the start of a row.
fn unpacked(row: &[u8], bits: usize) -> Vec<u8> {
    let element = |n: usize| (0..bits).map(|i| (row[(n * bits + i) / 8] >> ((n * bits + i) % 8) & 1) << i).sum();
    (0..16).map(element).collect()
}

#[test]
fn matrices_are_loaded() {
    let cases: [(&str, &str, usize, usize, Table); 12] = [
        ("sm_80", "m8n8.x1.shared.b16", 1, 8, rows),
        ("sm_80", "m8n8.x2.shared.b16", 2, 8, rows),
        ("sm_90", "m8n8.x4.shared.b16", 4, 8, rows),
        ("sm_80", "m8n8.x1.trans.shared.b16", 1, 8, columns),
        ("sm_90", "m8n8.x4.trans.shared.b16", 4, 8, columns),
        ("sm_100a", "m8n16.x2.shared.b8x16.b6x16_p32", 2, 6, rows),
        ("sm_100a", "m8n16.x4.shared.b8x16.b4x16_p64", 4, 4, rows),
        ("sm_100a", "m16n16.x1.trans.shared.b8", 2, 8, tall),
        ("sm_100a", "m16n16.x2.trans.shared.b8", 4, 8, tall),
        ("sm_100a", "m16n16.x1.trans.shared.b8x16.b6x16_p32", 2, 6, tall),
        ("sm_120a", "m16n16.x2.trans.shared.b8x16.b4x16_p64", 4, 4, tall),
        ("sm_120a", "m8n8.x2.trans.shared.b16", 2, 8, columns),
    ];
    let input = bytes();
    for (arch, form, count, bits, table) in cases {
        let body = format!(
            "st.shared.v4.b32 [%s],{{%i0,%i1,%i2,%i3}};bar.warp.sync -1;ldmatrix.sync.aligned.{form} {{{}}},[%s];",
            list("o", count)
        );
        let Some(output) = run(arch, &body, &input) else { return };
        let rows: Vec<Vec<u8>> = input.chunks(16).map(|row| unpacked(row, bits)).collect();
        for lane in 0..WARP {
            for n in 0..4 * count {
                let (row, byte) = table(lane, n / 4, n % 4);
                assert_eq!(output[16 * lane + n], rows[row][byte], "{form}: thread {lane}, byte {n}");
            }
        }
    }
}

#[test]
fn matrices_are_stored() {
    let cases: [(&str, &str, usize, Table); 6] = [
        ("sm_90", "m8n8.x1.shared.b16", 1, rows),
        ("sm_90", "m8n8.x4.shared.b16", 4, rows),
        ("sm_90", "m8n8.x2.trans.shared.b16", 2, columns),
        ("sm_90", "m8n8.x4.trans.shared.b16", 4, columns),
        ("sm_100a", "m16n8.x1.trans.shared.b8", 1, short),
        ("sm_100a", "m16n8.x4.trans.shared.b8", 4, short),
    ];
    let input = bytes();
    for (arch, form, count, table) in cases {
        let body = format!(
            "st.shared.v4.b32 [%s],{{%o0,%o1,%o2,%o3}};bar.warp.sync -1;stmatrix.sync.aligned.{form} [%s],{{{}}};\n\
             bar.warp.sync -1;ld.shared.v4.b32 {{%o0,%o1,%o2,%o3}},[%s];",
            list("i", count)
        );
        let Some(output) = run(arch, &body, &input) else { return };
        let mut expected = vec![0u8; 512];
        for lane in 0..WARP {
            for n in 0..4 * count {
                let (row, byte) = table(lane, n / 4, n % 4);
                expected[16 * row + byte] = input[16 * lane + n];
            }
        }
        assert_eq!(output, expected, "{form}");
    }
}

#[test]
fn a_matrix_is_transposed() {
    let input = bytes();
    let body = "movmatrix.sync.aligned.m8n8.trans.b16 %o0,%i0;";
    let Some(output) = run("sm_80", body, &input) else { return };
    // Element (row, column) of a fragment: two bytes of thread 4 row + column / 2.
    let at = |row: usize, column: usize| 16 * (4 * row + column / 2) + 2 * (column % 2);
    for row in 0..8 {
        for column in 0..8 {
            assert_eq!(output[at(row, column)..][..2], input[at(column, row)..][..2], "row {row}, column {column}");
        }
    }
}
