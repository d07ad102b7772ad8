//! What a launch leaves, as far as two codes of one program have to agree in it.

use blake3::Hash;
use oriole_device::{Allocation, Heap, Memory};
use std::sync::atomic::Ordering;

/// What it has printed, and all memory that is not the kernel's own.
#[derive(PartialEq, Eq)]
pub(super) struct Left {
    printed: Vec<u8>,
    /// Arguments and variables of the module: names, and hashes of the contents.
    memory: Vec<(String, Hash)>,
}

impl Left {
    /// By a launch that came to its end.
    pub(super) fn by(memory: &Memory, printed: &[u8]) -> Left {
        // Which of the kernel's threads comes first with `malloc` is a matter of time.
        let compared = memory.allocations().iter().filter(|piece| piece.name() != Heap::NAME);
        let memory = compared.map(|piece| (piece.name().to_owned(), hash(piece))).collect();
        Left { printed: printed.to_owned(), memory }
    }

    /// Where this is something else; `None` where it is the same.
    pub(super) fn difference(&self, expected: &Left) -> Option<String> {
        if self.printed != expected.printed {
            return Some("it prints something else".to_owned());
        }
        if self.memory.len() != expected.memory.len() {
            return Some("it has other variables".to_owned());
        }
        let differs = self.memory.iter().zip(&expected.memory).find(|(own, expected)| own != expected);
        differs.map(|((own, _), _)| format!("it leaves something else in {own}"))
    }
}

fn hash(piece: &Allocation) -> Hash {
    let words = piece.words().iter().map(|word| word.load(Ordering::Relaxed).to_le_bytes());
    blake3::hash(words.collect::<Vec<_>>().as_flattened())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A memory with two arguments, and the heap.
    fn left(first: u8, second: u8, heap: u8, printed: &[u8]) -> Left {
        let mut memory = Memory::new();
        for (name, byte) in [("argument 0", first), ("argument 1", second), (Heap::NAME, heap)] {
            memory.allocate_with(name, &[0, 0, 0, 0, byte]);
        }
        Left::by(&memory, printed)
    }

    #[test]
    fn every_byte_counts_but_those_of_the_heap() {
        let expected = left(1, 2, 3, b"line\n");
        let difference = |left: Left| left.difference(&expected);
        assert_eq!(difference(left(1, 2, 3, b"line\n")), None);
        assert_eq!(difference(left(1, 2, 9, b"line\n")), None);
        assert_eq!(difference(left(9, 2, 3, b"line\n")).as_deref(), Some("it leaves something else in argument 0"));
        assert_eq!(difference(left(1, 9, 3, b"line\n")).as_deref(), Some("it leaves something else in argument 1"));
        assert_eq!(difference(left(1, 2, 3, b"")).as_deref(), Some("it prints something else"));
        assert_eq!(difference(Left::by(&Memory::new(), b"line\n")).as_deref(), Some("it has other variables"));
    }
}
