//! Pieces that only compute on numbers and are no part of the interface: the files are taken as they are.

#[path = "../src/passes/general/bits.rs"]
mod bits;
#[path = "../src/passes/synchronise/tree.rs"]
mod tree;
#[expect(dead_code)]
#[path = "../src/passes/general/truth.rs"]
mod truth;

use bits::{extend, permute};
use tree::Tree;
use truth::{apply, exchange, fixed, inverted};

#[test]
fn tables_agree_with_words() {
    let words = [0x1234_5678, 0x9abc_def0, 0x0f1e_2d3c];
    for table in 0..=255_u8 {
        let swapped = apply(exchange(table, 0, 2), [words[2], words[1], words[0]]);
        assert_eq!(apply(table, words), swapped);
        assert_eq!(apply(inverted(table, 1), words), apply(table, [words[0], !words[1], words[2]]));
        assert_eq!(apply(fixed(table, 2, true), words), apply(table, [words[0], words[1], u32::MAX]));
        assert_eq!(apply(fixed(table, 0, false), words), apply(table, [0, words[1], words[2]]));
    }
}

#[test]
fn bytes_and_signs_are_chosen() {
    assert_eq!(permute(0x4433_2211, 0x3210, 0x8877_6655), 0x4433_2211);
    assert_eq!(permute(0x4433_2211, 0x7654, 0x8877_6655), 0x8877_6655);
    assert_eq!(permute(0x0000_0080, 0x8880, 0), 0xffff_ff80);
    assert_eq!(permute(0x0000_fe01, 0x9910, 0), 0xffff_fe01);
}

#[test]
fn extension_of_no_bits_and_all_bits() {
    assert_eq!(extend(0xffff_ffff, 0, true), 0);
    assert_eq!(extend(0x8000_0001, 32, true), 0x8000_0001);
    assert_eq!(extend(0x80, 8, true), 0xffff_ff80);
    assert_eq!(extend(0x180, 8, false), 0x80);
}

/// Every answer on random trees, against walking up parent by parent.
#[test]
fn ancestors_are_those_that_a_walk_finds() {
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..50 {
        let count = random.u32(2..80);
        let mut tree = Tree::new(count as usize, 0);
        for node in 1..count {
            tree.hang(node, random.u32(node.saturating_sub(4)..node));
        }
        let line = |mut node: u32| {
            let mut line = vec![node];
            while node != 0 {
                node = tree.parent(node);
                line.push(node);
            }
            line
        };
        for a in 0..count {
            for b in 0..count {
                let (of_a, of_b) = (line(a), line(b));
                assert_eq!(tree.is_above(a, b), of_b.contains(&a));
                assert_eq!(Some(&tree.common(a, b)), of_a.iter().find(|node| of_b.contains(node)));
            }
        }
    }
}
