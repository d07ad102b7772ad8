//! Which lane and register holds which element (PTX manual, "Matrix fragments for mma").
//!
//! Lane 4 g + t belongs to group g, thread t. Registers of A and B hold as many elements along K as fit.
//! Greater matrices, which only `wmma` has, are worked off in blocks of 16 rows and 8 columns; the manual leaves
//! their order open, and this is the one of ptxas's code.

/// Lanes of a group.
const GROUP: usize = 4;

/// How many registers, of `elements` each, lie side by side along K.
fn steps(k: usize, elements: usize) -> usize {
    (k / (GROUP * elements)).max(1)
}

/// The row and the first column in K of register `register` of A, whose registers hold `elements` each. Registers
/// that are left over repeat the matrix.
pub(super) fn a(lane: usize, register: usize, elements: usize, [rows, k]: [usize; 2]) -> (usize, usize) {
    let (group, thread) = (lane / GROUP, lane % GROUP);
    let (blocks, steps) = (rows.div_ceil(8).clamp(1, 2), steps(k, elements));
    let (lower, step, below) = (register % blocks, register / blocks % steps, register / (blocks * steps));
    (group + 8 * lower + 16 * (below % rows.div_ceil(16).max(1)), (thread + GROUP * step) * elements)
}

/// The first row in K and the column of register `register` of B.
pub(super) fn b(lane: usize, register: usize, elements: usize, [k, columns]: [usize; 2]) -> (usize, usize) {
    let steps = steps(k, elements);
    let block = register / steps % columns.div_ceil(8).max(1);
    ((lane % GROUP + GROUP * (register % steps)) * elements, lane / GROUP + 8 * block)
}

/// Row and column of element `index` of C and D.
pub(super) fn c(lane: usize, index: usize, rows: usize) -> (usize, usize) {
    let (pair, blocks) = (index / 2, rows.div_ceil(8).max(1));
    (lane / GROUP + 8 * (pair % blocks), 2 * (lane % GROUP) + index % 2 + 8 * (pair / blocks))
}

/// Volta's `.m8n8k4`: four products at once, each by four lanes of the lower and four of the upper half
/// of the warp.
pub(super) mod quads {
    /// Which of the products a lane takes part in.
    pub(in super::super) fn product(lane: usize) -> usize {
        lane % 16 / 4
    }

    /// The row that a lane has in its half of the matrix, whose upper lanes come after the lower.
    fn own(lane: usize) -> usize {
        lane % 4 + 4 * (lane / 16)
    }

    /// Place of element `index` across and along K in A (row, K) or B (column, K); `strided`: A `.col`,
    /// B `.row`.
    pub(in super::super) fn factor(lane: usize, index: usize, strided: bool) -> (usize, usize) {
        if strided { (index + 4 * (lane / 16), lane % 4) } else { (own(lane), index) }
    }

    /// Row and column of element `index` of C and D, `f32` or `f16`.
    pub(in super::super) fn c(lane: usize, index: usize, single: bool) -> (usize, usize) {
        if single {
            ((lane & 1) + (index & 2) + 4 * (lane / 16), (index & 4) + (lane & 2) + (index & 1))
        } else {
            (own(lane), index)
        }
    }
}
