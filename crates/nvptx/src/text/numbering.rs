//! The numbers that LLVM gives to values and blocks without a name.

use cranelift_entity::SecondaryMap;

use crate::ir::{BlockId, Body, ValueId};

/// Numbers of values and blocks without a name, in the order of the text: parameters, then each
/// block and the results in it.
pub(super) struct Numbers {
    values: SecondaryMap<ValueId, u32>,
    blocks: SecondaryMap<BlockId, u32>,
}

impl Numbers {
    pub(super) fn new(body: &Body) -> Numbers {
        let mut numbers = Numbers {
            values: SecondaryMap::with_capacity(body.value_count()),
            blocks: SecondaryMap::with_capacity(body.block_count()),
        };
        let mut next = 0u32..;
        for &param in &body.params {
            if !body.value_names.contains_key(&param) {
                numbers.values[param] = next.next().unwrap_or(u32::MAX);
            }
        }
        for &block in &body.layout {
            if !body.block_names.contains_key(&block) {
                numbers.blocks[block] = next.next().unwrap_or(u32::MAX);
            }
            for &inst in &body[block].insts {
                let result = body[inst].result.expand();
                if let Some(id) = result.filter(|id| !body.value_names.contains_key(id)) {
                    numbers.values[id] = next.next().unwrap_or(u32::MAX);
                }
            }
        }
        numbers
    }

    /// The number of a value without a name.
    pub(super) fn value(&self, id: ValueId) -> u32 {
        self.values[id]
    }

    /// The number of a block without a name.
    pub(super) fn block(&self, id: BlockId) -> u32 {
        self.blocks[id]
    }
}
