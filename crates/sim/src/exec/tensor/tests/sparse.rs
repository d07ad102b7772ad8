//! Products with a sparse A and with scales, against products of the whole matrices.

use super::{Stream, execute, fetch, from_single, half, load, row, single, warp};
use crate::lanes::WARP;
use oriole_isa::Arch;

/// One kind of sparse product.
struct Sparse {
    text: &'static str,
    k: usize,
    bits: usize,
    encode: fn(i64) -> u64,
    /// The thread of four that holds the metadata of a column, and the first of their bits, for rows `g` and `g + 8`: what
    /// the manual's figures show.
    holder: fn(usize, bool) -> (usize, usize),
    integers: bool,
}

/// Sources: A in R8, B in R24, C in R32, metadata in R60.
const CASES: &[Sparse] = &[
    Sparse {
        text: "HMMA.SP.16816.F32 R48, R8, R24, R32, R60, 0x2",
        k: 16,
        bits: 16,
        encode: half,
        holder: |column, upper| (2, column + if upper { 16 } else { 0 }),
        integers: false,
    },
    Sparse {
        text: "HMMA.SP.16832.F32 R48, R8, R24, R32, R60, 0x1",
        k: 32,
        bits: 16,
        encode: half,
        holder: |column, upper| (2 + column / 16, column % 16 + if upper { 16 } else { 0 }),
        integers: false,
    },
    Sparse {
        text: "HMMA.SP.1688.F32.TF32 R48, R8, R24, R32, R60, 0x3",
        k: 8,
        bits: 32,
        encode: single,
        holder: |column, upper| (3, 2 * column + if upper { 16 } else { 0 }),
        integers: false,
    },
    Sparse {
        text: "HMMA.SP.16816.F32.TF32 R48, R8, R24, R32, R60, 0x0",
        k: 16,
        bits: 32,
        encode: single,
        holder: |column, upper| (column / 8, 2 * (column % 8) + if upper { 16 } else { 0 }),
        integers: false,
    },
    Sparse {
        text: "IMMA.SP.16832.S8.S8 R48, R8.ROW, R24.COL, R32, R60, 0x1",
        k: 32,
        bits: 8,
        encode: |value| value as u8 as u64,
        holder: |column, upper| (2 + usize::from(upper), column),
        integers: true,
    },
    Sparse {
        text: "IMMA.SP.16864.S8.S8 R48, R8.ROW, R24.COL, R32, R60, 0x0",
        k: 64,
        bits: 8,
        encode: |value| value as u8 as u64,
        holder: |column, upper| (usize::from(upper) + column / 32 * 2, column % 32),
        integers: true,
    },
    Sparse {
        text: "IMMA.SP.168128.S4.S4 R48, R8.ROW, R24.COL, R32, R60, 0x0",
        k: 128,
        bits: 4,
        encode: |value| value as u64 & 15,
        holder: |column, upper| (usize::from(upper) + column / 64 * 2, column % 64 / 2),
        integers: true,
    },
];

/// The columns of a chunk that are stored, and their four bits: two of four columns, two of four pairs of them, or one of
/// two.
fn chosen(bits: usize, stream: &mut Stream) -> (Vec<usize>, u32) {
    let (low, high) = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)][stream.below(6) as usize];
    let code = (low | high << 2) as u32;
    match bits {
        32 => [(vec![0], 0b0100), (vec![1], 0b1110)][stream.below(2) as usize].clone(),
        4 => (vec![2 * low, 2 * low + 1, 2 * high, 2 * high + 1], code),
        _ => (vec![low, high], code),
    }
}

#[test]
fn metadata_choose_columns() {
    for case in CASES {
        let mut stream = Stream(case.k as u64 + case.bits as u64);
        let chunk = if case.bits == 32 {
            2
        } else if case.bits == 4 {
            8
        } else {
            4
        };
        let mut state = warp(Arch::Sm80);
        let mut metadata = [0u32; WARP];
        let mut a = vec![vec![0i64; case.k]; 16];
        let mut stored = vec![Vec::new(); 16];
        for line in 0..16 {
            for first in (0..case.k).step_by(chunk) {
                let (columns, code) = chosen(case.bits, &mut stream);
                for column in columns {
                    a[line][first + column] = stream.below(15) - 7;
                    stored[line].push(a[line][first + column]);
                }
                let (thread, bit) = (case.holder)(first, line >= 8);
                metadata[4 * (line % 8) + thread] |= code << bit;
            }
        }
        let b: Vec<Vec<i64>> = (0..case.k).map(|_| (0..8).map(|_| stream.below(15) - 7).collect()).collect();
        state.set_r(60, &metadata);
        let each = 32 / case.bits;
        for lane in 0..WARP {
            let (g, t) = (lane / 4, lane % 4);
            // The stored elements are those of a dense A of half the columns.
            let of_a: Vec<u64> = (0..16 * case.k / 2 / WARP)
                .map(|i| {
                    let column = t * each + i % each + i / each / 2 * 4 * each;
                    (case.encode)(stored[row(g, i / each % 2 == 1)][column])
                })
                .collect();
            let of_b: Vec<u64> = (0..case.k * 8 / WARP)
                .map(|i| (case.encode)(b[t * each + i % each + i / each * 4 * each][g]))
                .collect();
            load(&mut state, 8, lane, case.bits, &of_a);
            load(&mut state, 24, lane, case.bits, &of_b);
        }
        execute(&mut state, case.text);
        for lane in 0..WARP {
            for i in 0..4 {
                let (line, column) = (row(lane / 4, i >= 2), lane % 4 * 2 + (i & 1));
                let expected: i64 = (0..case.k).map(|k| a[line][k] * b[k][column]).sum();
                let bits = fetch(&state, 48, lane, 32, i);
                let got = if case.integers { i64::from(bits as i32) } else { from_single(bits) };
                assert_eq!(got, expected, "{}: row {line}, column {column}", case.text);
            }
        }
    }
}

/// Twice the numbers of `e2m1`, by their code.
const E2M1: [i64; 8] = [0, 1, 2, 3, 4, 6, 8, 12];

/// A number of `e2m1`: its code, and twice its value.
fn e2m1(stream: &mut Stream) -> (u64, i64) {
    let (code, negative) = (stream.below(8) as usize, stream.below(2) == 1);
    (code as u64 | u64::from(negative) << 3, if negative { -E2M1[code] } else { E2M1[code] })
}

#[test]
fn blocks_are_scaled() {
    // Text, columns of A, bits of an element, scales per row, whether scales are `ue4m3`.
    let cases = [
        ("QMMA.SF.16832.F32.E2M1.E2M1.E8 R48, R8, R24, R32, R60, R61, UR4", 32, 8, 1, false),
        ("OMMA.SF.16864.F32.E2M1.E2M1.E8 R48, R8, R24, R32, R60, R61, UR4", 64, 4, 2, false),
        ("OMMA.SF.16864.F32.E2M1.E2M1.UE4M3.4X R48, R8, R24, R32, R60, R61, UR4", 64, 4, 4, true),
    ];
    for (text, k, bits, blocks, fractional) in cases {
        let mut stream = Stream(k as u64 + blocks as u64);
        let mut state = warp(Arch::Sm120);
        let mut line = |count: usize| -> Vec<Vec<(u64, i64)>> {
            (0..count).map(|_| (0..k).map(|_| e2m1(&mut stream)).collect()).collect()
        };
        let (a, b) = (line(16), line(8));
        // Scales of one, two or three, or powers of two of them.
        let mut scales = |count: usize| -> Vec<Vec<i64>> {
            (0..count).map(|_| (0..blocks).map(|_| stream.below(3) + 1).collect()).collect()
        };
        let (of_a, of_b) = (scales(16), scales(8));
        let code = |scale: i64| if fractional { [0x38, 0x40, 0x44][scale as usize - 1] } else { 127 + scale as u32 };
        let value = |scale: i64| if fractional { scale } else { 1 << scale };
        // A's scales are in threads 2 and 3 of four, B's in thread 1; where one or two bytes hold them, from byte 2 on.
        let first = if blocks == 4 { 0 } else { 2 };
        state.set_ur(4, first | 1 << 2 | first << 3 | 1 << 5);
        let word = |scales: &[i64]| {
            scales.iter().enumerate().fold(0, |word, (n, &scale)| word | code(scale) << (8 * (first as usize + n)))
        };
        for g in 0..8 {
            state.set_lane(60, 4 * g + 2, word(&of_a[g]));
            state.set_lane(60, 4 * g + 3, word(&of_a[g + 8]));
            state.set_lane(61, 4 * g + 1, word(&of_b[g]));
        }
        // A byte has its number of four bits in the middle.
        let place = |(code, _): (u64, i64)| if bits == 8 { code << 2 } else { code };
        let each = 32 / bits;
        for lane in 0..WARP {
            let (g, t) = (lane / 4, lane % 4);
            let column = |i: usize, stack: usize| t * each + i % each + i / each / stack * 4 * each;
            let of_a: Vec<u64> = (0..k / 2).map(|i| place(a[row(g, i / each % 2 == 1)][column(i, 2)])).collect();
            let of_b: Vec<u64> = (0..k / 4).map(|i| place(b[g][column(i, 1)])).collect();
            load(&mut state, 8, lane, bits, &of_a);
            load(&mut state, 24, lane, bits, &of_b);
        }
        execute(&mut state, text);
        for lane in 0..WARP {
            for i in 0..4 {
                let (line, column) = (row(lane / 4, i >= 2), lane % 4 * 2 + (i & 1));
                let product = |n: usize| {
                    let block = n * blocks / k;
                    a[line][n].1 * b[column][n].1 * value(of_a[line][block]) * value(of_b[column][block])
                };
                let expected = (0..k).map(product).sum::<i64>() as f64 / 4.0;
                let got = f64::from(f32::from_bits(state.lane(48 + i, lane)));
                assert_eq!(got, expected, "{text}: row {line}, column {column}");
            }
        }
    }
}
