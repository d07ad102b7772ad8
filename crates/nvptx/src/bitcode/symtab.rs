//! Names of symbols in files before LLVM 5, which had no string table.

use rustc_hash::FxHashMap;

use super::LazyModule;
use super::codes::symtab;
use super::error::Result;
use super::stream::{Block, BlockHead, Item, Record};

impl LazyModule<'_> {
    /// Reads the module's value symbol table: names by value number.
    pub(super) fn read_symbol_names(&self, head: BlockHead) -> Result<FxHashMap<u64, String>> {
        let mut block = Block::open(self.bytes, head, &self.info);
        let mut record = Record::default();
        let mut names = FxHashMap::default();
        loop {
            match block.next(&mut record)? {
                Item::End => return Ok(names),
                Item::Block(_) => {}
                Item::Record => {
                    let start = match record.code {
                        symtab::ENTRY => 1,
                        // With the place of the body, which the order of bodies gives too.
                        symtab::FNENTRY => 2,
                        _ => continue,
                    };
                    names.insert(record.fields().next("number")?, record.text(start));
                }
            }
        }
    }
}
