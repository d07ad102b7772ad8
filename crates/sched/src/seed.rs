//! Orders beside the usual one, for who looks for a faster: instructions are ranked by heights that are off by chance.
//!
//! Among the orders that the tables take to be as good one may be better by the caches, or for the warps together. A seed names one of
//! them, the same each time. It is eight numbers, so that a search can change the order of some blocks and keep that of the others: a
//! loop has few blocks.

/// Which order is taken: for blocks with the number `n` byte `n` modulo 8. Where that is zero it is the usual one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderSeed(pub u64);

/// Blocks whose order one byte decides are so far apart.
const BYTES: u64 = 8;
/// By the last two bits of a byte: a height is off by so many binary places less than it has, at most, and by two cycles in any case.
const PRECISION: [u32; 4] = [1, 3, 5, 7];
/// So that those of the same height change places too.
const LEAST: u32 = 2;

impl OrderSeed {
    /// Make the heights of a block's instructions (in cycles to its end) greater by chance.
    pub(crate) fn disturb(self, block: u64, heights: &mut [u32]) {
        let byte = self.0 >> (8 * (block % BYTES)) & 0xff;
        if byte == 0 {
            return;
        }
        let precision = PRECISION[byte as usize % PRECISION.len()];
        let mut state = byte << 32 | block;
        for height in heights {
            let most = LEAST + (*height >> precision);
            *height = height.saturating_add((split_mix(&mut state) % u64::from(most + 1)) as u32);
        }
    }
}

/// The next number of Steele, Lea and Flood's SplitMix64 (2014): what a seed means must never change.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::{OrderSeed, split_mix};

    #[test]
    fn the_generator_is_split_mix() {
        // The first numbers of Vigna's splitmix64.c from 1234567.
        let mut state = 1_234_567;
        let numbers: Vec<u64> = (0..3).map(|_| split_mix(&mut state)).collect();
        assert_eq!(numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn a_byte_decides_the_heights_of_its_blocks_alone() {
        let usual = [1, 7, 40, 40, 300, 2000, u32::MAX];
        let of = |seed: u64, block: u64| {
            let mut heights = usual;
            OrderSeed(seed).disturb(block, &mut heights);
            heights
        };
        let seed = 0x0500;
        for block in 0..32 {
            assert_eq!(of(seed, block) == usual, block % 8 != 1, "block {block}");
            assert_eq!(of(seed, block), of(seed, block), "block {block}");
            assert!(of(seed, block).iter().zip(usual).all(|(new, old)| *new >= old), "block {block}");
        }
        assert_ne!(of(seed, 1), of(seed, 9));
        assert_ne!(of(seed, 1), of(0x0600, 1));
    }
}
