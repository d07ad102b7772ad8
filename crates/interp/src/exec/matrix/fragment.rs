//! Which lane and register holds which element (PTX manual, "Matrix fragments for mma").
//!
//! Lane 4 g + t belongs to group g, thread t. Registers of A and B hold as many elements along K as fit.

/// Lanes of a group.
const GROUP: usize = 4;

/// The row and the first column in K of register `register` of A, whose registers hold `elements`
/// each; `tall`: 16 rows, not 8.
pub(super) fn a(lane: usize, register: usize, elements: usize, tall: bool) -> (usize, usize) {
    let (group, thread) = (lane / GROUP, lane % GROUP);
    let (lower, step) = if tall { (register % 2, register / 2) } else { (0, register) };
    (group + 8 * lower, (thread + GROUP * step) * elements)
}

/// The first row in K and the column of register `register` of B.
pub(super) fn b(lane: usize, register: usize, elements: usize) -> (usize, usize) {
    ((lane % GROUP + GROUP * register) * elements, lane / GROUP)
}

/// Row and column of element `index` of C and D.
pub(super) fn c(lane: usize, index: usize) -> (usize, usize) {
    (lane / GROUP + 8 * (index / 2), 2 * (lane % GROUP) + index % 2)
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
