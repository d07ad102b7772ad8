//! Truth tables of three inputs, as numbers.
//!
//! Bit `4a + 2b + c` of a table is the result for the input bits a, b, c.
// Numbers alone: `tests/numbers.rs` takes this file as it is.

/// The tables of the inputs.
pub(super) const INPUTS: [u8; 3] = [0xf0, 0xcc, 0xaa];
/// How far apart the results for 0 and 1 of an input are.
const STRIDE: [u32; 3] = [4, 2, 1];

/// The table where input `k` always has the value `bit`.
pub(super) fn fixed(table: u8, k: usize, bit: bool) -> u8 {
    let (ones, stride) = (INPUTS[k], STRIDE[k]);
    if bit {
        let kept = table & ones;
        kept | kept >> stride
    } else {
        let kept = table & !ones;
        kept | kept << stride
    }
}

/// Whether the result depends on input `k`.
pub(super) fn depends(table: u8, k: usize) -> bool {
    fixed(table, k, false) != fixed(table, k, true)
}

/// The table with input `k` inverted.
pub(super) fn inverted(table: u8, k: usize) -> u8 {
    compose(table, std::array::from_fn(|i| if i == k { !INPUTS[i] } else { INPUTS[i] }))
}

/// The table for inputs `a` and `b` exchanged.
pub(super) fn exchange(table: u8, a: usize, b: usize) -> u8 {
    let mut inputs = INPUTS;
    inputs.swap(a, b);
    compose(table, inputs)
}

/// The table whose inputs are themselves tables.
pub(super) fn compose(table: u8, inputs: [u8; 3]) -> u8 {
    (0..8).fold(0, |result, index| {
        let bit = |k: usize| u32::from(inputs[k] >> index & 1) * STRIDE[k];
        let at = bit(0) + bit(1) + bit(2);
        result | (table >> at & 1) << index
    })
}

/// A table applied bit by bit to words.
pub(super) fn apply(table: u8, words: [u32; 3]) -> u32 {
    (0..8).filter(|index| table >> index & 1 == 1).fold(0, |result, index| {
        let input = |k: usize| if index & STRIDE[k] != 0 { words[k] } else { !words[k] };
        result | (input(0) & input(1) & input(2))
    })
}

/// The position of the only input that the table depends on; 3 where it depends on none.
pub(super) fn only_input(table: u8) -> Option<usize> {
    let mut needed = (0..3).filter(|k| depends(table, *k));
    let first = needed.next();
    if needed.next().is_some() { None } else { Some(first.unwrap_or(3)) }
}
