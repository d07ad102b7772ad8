//! What a launch leaves, as far as two codes of one program have to agree in it.

use blake3::Hash;
use oriole_cubin::{Cubin, SectionKind};
use oriole_device::{Allocation, Heap, Memory};
use oriole_sim::{Options, Simulator};
use std::sync::atomic::Ordering;

/// What it has printed, and each piece of memory that was there before it.
#[derive(PartialEq, Eq)]
pub(super) struct Left {
    printed: Vec<u8>,
    /// By name: the contents' hash; of variables of the module that of the words that have changed.
    memory: Vec<(String, Hash)>,
}

impl Left {
    /// By a launch of that code that came to its end.
    pub(super) fn by(memory: &Memory, printed: &[u8], cubin: &Cubin) -> Left {
        let initial = initial_variables(cubin);
        let bound = memory.allocations().iter().filter(|piece| !is_heap(piece));
        let memory = bound.map(|piece| (piece.name().to_owned(), hash(piece, &initial))).collect();
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

/// The heap is the kernel's own: which of its threads comes first with `malloc` is a matter of time.
fn is_heap(piece: &Allocation) -> bool {
    piece.name() == Heap::NAME
}

/// The module's variables before a launch. What is in them may be places in the code, which another code has elsewhere.
fn initial_variables(cubin: &Cubin) -> Memory {
    let mut memory = Memory::new();
    let is_variable = |kind: &SectionKind| matches!(kind, SectionKind::Global | SectionKind::GlobalInit);
    if cubin.sections.iter().any(|section| is_variable(&section.kind) && section.size > 0)
        && let Ok(simulator) = Simulator::new(cubin, Options::default())
    {
        simulator.place_variables(&mut memory);
    }
    memory
}

fn hash(piece: &Allocation, initial: &Memory) -> Hash {
    let initial = initial.find(piece.base());
    let mut bytes = Vec::new();
    for (at, word) in (0u32..).zip(piece.words()) {
        let word = word.load(Ordering::Relaxed);
        match initial.and_then(|initial| initial.words().get(at as usize)) {
            None => bytes.extend(word.to_le_bytes()),
            Some(before) if before.load(Ordering::Relaxed) == word => {}
            Some(_) => bytes.extend([at, word].map(u32::to_le_bytes).as_flattened()),
        }
    }
    blake3::hash(&bytes)
}
