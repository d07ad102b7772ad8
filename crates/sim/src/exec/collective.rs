//! Instructions that look at the registers of other lanes: shuffles, votes, matches, reductions.
//!
//! They see the lanes that execute them together. A shuffle from a lane that does not gives zero.

use super::Unsupported;
use crate::operand::{Dst, PredSrc, Src};
use crate::program::Effect;
use crate::state::{Mask, State, WARP, lanes_of};
use oriole_isa::{Inst, Role};

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    let _ = inst;
    Ok(None)
}

/// How `SHFL` finds the lane to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shuffle {
    Index,
    Up,
    Down,
    Butterfly,
}

/// The lane that `lane` reads, and whether it is in the segment; as the PTX manual describes `shfl`:
/// `clamp` holds the last lane in bits 0–4 and the segment mask in bits 8–12.
fn source_lane(mode: Shuffle, lane: u32, by: u32, clamp: u32) -> (u32, bool) {
    let (by, segment, last) = (by & 31, clamp >> 8 & 31, clamp & 31);
    let most = (lane & segment) | (last & !segment);
    let least = lane & segment;
    let (from, inside) = match mode {
        Shuffle::Up => {
            let from = lane.wrapping_sub(by) as i32;
            (from, from >= most as i32)
        }
        Shuffle::Down => ((lane + by) as i32, lane + by <= most),
        Shuffle::Butterfly => ((lane ^ by) as i32, lane ^ by <= most),
        Shuffle::Index => {
            let from = least | (by & !segment);
            (from as i32, from <= most)
        }
    };
    // Outside of the segment a lane reads its own value; inside, `from` is a lane.
    if inside { (from as u32 & 31, true) } else { (lane, false) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The clamp operand that `__shfl_*_sync` passes for a width.
    fn clamp(width: u32, up: bool) -> u32 {
        (32 - width) << 8 | if up { 0 } else { 31 }
    }

    #[test]
    fn shuffles_stay_in_their_segment() {
        assert_eq!(source_lane(Shuffle::Up, 5, 2, clamp(32, true)), (3, true));
        assert_eq!(source_lane(Shuffle::Up, 1, 2, clamp(32, true)), (1, false));
        assert_eq!(source_lane(Shuffle::Up, 9, 2, clamp(8, true)), (9, false));
        assert_eq!(source_lane(Shuffle::Down, 5, 2, clamp(8, false)), (7, true));
        assert_eq!(source_lane(Shuffle::Down, 6, 2, clamp(8, false)), (6, false));
        assert_eq!(source_lane(Shuffle::Butterfly, 6, 16, clamp(32, false)), (22, true));
        assert_eq!(source_lane(Shuffle::Butterfly, 6, 8, clamp(8, false)), (6, false));
        assert_eq!(source_lane(Shuffle::Index, 13, 3, clamp(8, false)), (11, true));
        assert_eq!(source_lane(Shuffle::Index, 13, 11, clamp(8, false)), (11, true));
    }
}
