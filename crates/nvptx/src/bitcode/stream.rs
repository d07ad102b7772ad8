//! The bitstream container: blocks, records and abbreviations.
//!
//! A stream is a tree of blocks. A block holds blocks and records; a record is
//! a code and a list of numbers, written plainly or by an abbreviation that
//! gives each operand's encoding. Abbreviations are defined in the block itself
//! or, for all blocks of a kind, in the BLOCKINFO block.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::bits::Bits;
use super::codes;
use super::error::{Error, Result};
use oriole_checkpoint::checkpoint;

const END_BLOCK: u64 = 0;
const ENTER_SUBBLOCK: u64 = 1;
const DEFINE_ABBREV: u64 = 2;
const UNABBREV_RECORD: u64 = 3;
const FIRST_ABBREV: u64 = 4;

/// Encoding of one operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Encoding {
    Literal(u64),
    Fixed(u32),
    Vbr(u32),
    Char6,
}

/// What may end an abbreviation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tail {
    None,
    Array(Encoding),
    Blob,
}

/// The encodings of a record's operands, the code first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Abbreviation {
    scalars: Vec<Encoding>,
    tail: Tail,
}

/// Abbreviations that the BLOCKINFO block gives to all blocks of an id.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockInfo {
    abbreviations: FxHashMap<u64, Vec<Arc<Abbreviation>>>,
}

/// Where a block lies: enough to read it later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BlockHead {
    /// What kind of block it is.
    pub(super) id: u32,
    width: u32,
    start: u64,
    end: u64,
}

impl BlockHead {
    /// The number of bits of its content.
    pub(super) fn bits(&self) -> u64 {
        self.end - self.start
    }

    /// An error at the start of the block.
    pub(super) fn fault(&self, what: impl Into<String>) -> Error {
        Error { place: codes::block_name(self.id), ..Error::new(self.start, what) }
    }
}

/// A record; kept and filled anew for each one that is read.
#[derive(Clone, Debug, Default)]
pub(super) struct Record<'a> {
    /// The id of the block that it is in.
    pub(super) block: u32,
    /// What it says.
    pub(super) code: u32,
    /// Its position.
    pub(super) at: u64,
    /// Its operands.
    pub(super) ops: Vec<u64>,
    /// The bytes at its end, if it was abbreviated with a blob.
    pub(super) blob: &'a [u8],
}

impl Record<'_> {
    /// An error about this record.
    pub(super) fn fault(&self, what: impl Into<String>) -> Error {
        let place = format!("{} {}", codes::block_name(self.block), codes::record_name(self.block, self.code));
        Error { place, ..Error::new(self.at, what) }
    }

    /// The operands, one after the other.
    pub(super) fn fields(&self) -> Fields<'_> {
        Fields { record: self, at: 0 }
    }

    /// The operands from `start` on as characters.
    pub(super) fn text(&self, start: usize) -> String {
        text(self.ops.get(start..).unwrap_or_default())
    }
}

/// Characters, one per number; what is not UTF-8 becomes U+FFFD.
pub(super) fn text(chars: &[u64]) -> String {
    let bytes: Vec<u8> = chars.iter().map(|&char| char as u8).collect();
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// A walk over a record's operands.
#[derive(Clone, Copy)]
pub(super) struct Fields<'r> {
    /// The record.
    pub(super) record: &'r Record<'r>,
    at: usize,
}

impl<'r> Fields<'r> {
    /// The next operand, called `what` when it is missing.
    pub(super) fn next(&mut self, what: &str) -> Result<u64> {
        self.opt().ok_or_else(|| self.record.fault(format!("no operand for the {what}")))
    }

    /// The next operand, which fits 32 bits.
    pub(super) fn next_u32(&mut self, what: &str) -> Result<u32> {
        let value = self.next(what)?;
        u32::try_from(value).map_err(|_| self.record.fault(format!("{value} is too large for the {what}")))
    }

    /// The next operand, if there is one.
    pub(super) fn opt(&mut self) -> Option<u64> {
        let value = self.record.ops.get(self.at).copied();
        self.at += usize::from(value.is_some());
        value
    }

    /// The number of operands left.
    pub(super) fn left(&self) -> usize {
        self.record.ops.len() - self.at
    }

    /// The operands left.
    pub(super) fn rest(&mut self) -> &'r [u64] {
        let start = std::mem::replace(&mut self.at, self.record.ops.len());
        &self.record.ops[start..]
    }

    /// A count and as many operands.
    pub(super) fn counted(&mut self, what: &str) -> Result<&'r [u64]> {
        let count = self.next(what)?;
        let start = self.at;
        if count > self.left() as u64 {
            return Err(self.record.fault(format!("{count} operands announced for the {what}, {} left", self.left())));
        }
        self.at += count as usize;
        Ok(&self.record.ops[start..self.at])
    }
}

/// What comes next in a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Item {
    /// A block; reading goes on behind it.
    Block(BlockHead),
    /// A record, which was put where the caller said.
    Record,
    /// The end of the block.
    End,
}

/// A block while it is read.
#[derive(Clone, Debug)]
pub(super) struct Block<'a> {
    bits: Bits<'a>,
    id: u32,
    width: u32,
    abbreviations: Vec<Arc<Abbreviation>>,
    /// Operands that take no bits, such as literals, may still be read: one per bit of the block, so that
    /// what a block unpacks to is bounded by its length.
    free_operands: u64,
}

impl<'a> Block<'a> {
    /// The outermost level of a stream behind its magic number.
    pub(super) fn top(bytes: &'a [u8], magic_bytes: u64) -> Block<'a> {
        let mut bits = Bits::new(bytes);
        bits.go_to(magic_bytes * 8);
        Block { bits, id: codes::TOP, width: 2, abbreviations: Vec::new(), free_operands: 0 }
    }

    /// A block of this stream.
    pub(super) fn open(bytes: &'a [u8], head: BlockHead, info: &BlockInfo) -> Block<'a> {
        Block {
            bits: Bits::new(bytes).range(head.start, head.end),
            id: head.id,
            width: head.width,
            abbreviations: info.abbreviations.get(&u64::from(head.id)).cloned().unwrap_or_default(),
            free_operands: head.bits(),
        }
    }

    /// The number of bits left.
    pub(super) fn bits_left(&self) -> u64 {
        self.bits.left()
    }

    /// Reads on to the next block, record or end.
    pub(super) fn next(&mut self, record: &mut Record<'a>) -> Result<Item> {
        loop {
            checkpoint(8);
            if self.id == codes::TOP && self.bits.left() < 32 {
                return Ok(Item::End);
            }
            let at = self.bits.at();
            match self.bits.read(self.width)? {
                END_BLOCK if self.id == codes::TOP => return Err(Error::new(at, "END_BLOCK outside of blocks")),
                END_BLOCK => return Ok(Item::End),
                ENTER_SUBBLOCK => return self.block_head().map(Item::Block),
                DEFINE_ABBREV => {
                    let abbreviation = self.abbreviation()?;
                    self.abbreviations.push(Arc::new(abbreviation));
                }
                abbrev => {
                    *record = Record { block: self.id, code: 0, at, ops: std::mem::take(&mut record.ops), blob: &[] };
                    record.ops.clear();
                    if abbrev == UNABBREV_RECORD {
                        self.plain_record(record)?;
                    } else {
                        self.abbreviated_record((abbrev - FIRST_ABBREV) as usize, record)?;
                    }
                    return Ok(Item::Record);
                }
            }
        }
    }

    fn block_head(&mut self) -> Result<BlockHead> {
        let at = self.bits.at();
        let id = self.bits.vbr(8)?;
        let width = self.bits.vbr(4)?;
        self.bits.align32();
        let words = self.bits.read(32)?;
        let start = self.bits.at();
        let end = start + words * 32;
        let id = u32::try_from(id).map_err(|_| Error::new(at, format!("block id {id}")))?;
        if !(2..=32).contains(&width) {
            return Err(Error::new(at, format!("abbreviation ids of {width} bits")));
        }
        if words * 32 > self.bits.left() {
            return Err(Error::new(at, format!("{} goes beyond what encloses it", codes::block_name(id))));
        }
        self.bits.go_to(end);
        Ok(BlockHead { id, width: width as u32, start, end })
    }

    fn plain_record(&mut self, record: &mut Record<'a>) -> Result<()> {
        let code = self.bits.vbr(6)?;
        record.code = code_of(code, record.at)?;
        let count = self.bits.vbr(6)?;
        if count > self.bits.left() / 6 {
            return Err(record.fault(format!("{count} operands are more than the block has room for")));
        }
        for _ in 0..count {
            record.ops.push(self.bits.vbr(6)?);
        }
        Ok(())
    }

    fn abbreviated_record(&mut self, index: usize, record: &mut Record<'a>) -> Result<()> {
        let Some(abbreviation) = self.abbreviations.get(index).cloned() else {
            let what = format!("abbreviation {} is not defined in {}", index + 4, codes::block_name(self.id));
            return Err(Error::new(record.at, what));
        };
        let Some((&code, scalars)) = abbreviation.scalars.split_first() else {
            return Err(Error::new(record.at, "an abbreviation whose code is an array or blob"));
        };
        record.code = code_of(self.scalar(code)?, record.at)?;
        for &encoding in scalars {
            let value = self.scalar(encoding)?;
            record.ops.push(value);
        }
        match abbreviation.tail {
            Tail::None => {}
            Tail::Array(encoding) => {
                let count = self.bits.vbr(6)?;
                if count > self.bits.left() {
                    return Err(record.fault(format!("{count} elements are more than the block has room for")));
                }
                for _ in 0..count {
                    let value = self.scalar(encoding)?;
                    record.ops.push(value);
                }
            }
            Tail::Blob => {
                let len = self.bits.vbr(6)?;
                self.bits.align32();
                record.blob = self.bits.bytes(len)?;
                self.bits.align32();
            }
        }
        Ok(())
    }

    #[inline]
    fn scalar(&mut self, encoding: Encoding) -> Result<u64> {
        match encoding {
            Encoding::Fixed(width) => self.bits.read(width),
            Encoding::Vbr(width) => self.bits.vbr(width),
            Encoding::Char6 => {
                const CHARS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
                Ok(u64::from(CHARS[self.bits.read(6)? as usize]))
            }
            Encoding::Literal(value) => {
                let Some(left) = self.free_operands.checked_sub(1) else {
                    return Err(Error::new(self.bits.at(), "more literal operands than the block has bits"));
                };
                self.free_operands = left;
                Ok(value)
            }
        }
    }

    fn abbreviation(&mut self) -> Result<Abbreviation> {
        let at = self.bits.at();
        let count = self.bits.vbr(5)?;
        let mut abbreviation = Abbreviation { scalars: Vec::new(), tail: Tail::None };
        let mut read = 0;
        while read < count {
            read += 1;
            match self.operand(at)? {
                Ok(encoding) => abbreviation.scalars.push(encoding),
                Err(ARRAY) if read + 1 == count => {
                    read += 1;
                    match self.operand(at)? {
                        Ok(element) if !matches!(element, Encoding::Literal(_)) => {
                            abbreviation.tail = Tail::Array(element);
                        }
                        _ => return Err(Error::new(at, "an abbreviation with an array of literals, arrays or blobs")),
                    }
                }
                Err(BLOB) if read == count => abbreviation.tail = Tail::Blob,
                Err(_) => return Err(Error::new(at, "an abbreviation with an array or blob that is not its last")),
            }
        }
        Ok(abbreviation)
    }

    /// One operand of an abbreviation: a scalar encoding, or the number of an encoding that is none.
    fn operand(&mut self, at: u64) -> Result<std::result::Result<Encoding, u64>> {
        if self.bits.read(1)? == 1 {
            return Ok(Ok(Encoding::Literal(self.bits.vbr(8)?)));
        }
        let encoding = self.bits.read(3)?;
        Ok(match encoding {
            FIXED | VBR => match self.bits.vbr(5)? {
                0 => Ok(Encoding::Literal(0)),
                width @ 1..=64 if encoding == FIXED => Ok(Encoding::Fixed(width as u32)),
                width @ 2..=32 => Ok(Encoding::Vbr(width as u32)),
                width => return Err(Error::new(at, format!("an abbreviation with operands of {width} bits"))),
            },
            CHAR6 => Ok(Encoding::Char6),
            ARRAY | BLOB => Err(encoding),
            _ => return Err(Error::new(at, format!("an abbreviation with encoding {encoding}"))),
        })
    }
}

const FIXED: u64 = 1;
const VBR: u64 = 2;
const ARRAY: u64 = 3;
const CHAR6: u64 = 4;
const BLOB: u64 = 5;

fn code_of(code: u64, at: u64) -> Result<u32> {
    u32::try_from(code).map_err(|_| Error::new(at, format!("record code {code}")))
}

impl BlockInfo {
    /// Reads a BLOCKINFO block.
    pub(super) fn read(&mut self, bytes: &[u8], head: BlockHead) -> Result<()> {
        const SETBID: u32 = 1;
        let mut block = Block::open(bytes, head, &BlockInfo::default());
        let mut record = Record::default();
        let mut current = None;
        loop {
            let item = block.next(&mut record)?;
            // What was defined since the last record belongs to the block that it named.
            if !block.abbreviations.is_empty() {
                let Some(id) = current else {
                    return Err(head.fault("an abbreviation for no block"));
                };
                self.abbreviations.entry(id).or_default().append(&mut block.abbreviations);
            }
            match item {
                Item::Record if record.code == SETBID => current = Some(record.fields().next("block id")?),
                Item::Record => {}
                Item::Block(_) => return Err(head.fault("a block within BLOCKINFO")),
                Item::End => return Ok(()),
            }
        }
    }
}
