//! `.debug_frame`: where the frames of callers are, for debuggers (64-bit DWARF 3).
//!
//! Common entries by where return addresses are, and an entry for each function, as ptxas 13.0.88 writes them. gimli, which writes line tables here,
//! has no numbers of registers as large as NVIDIA's.

use crate::reloc;
use crate::spec::{FunctionSpec, RelocSpec};
use crate::unwind::{Place, ReturnAddress, Unwind, UnwindRow, UnwindRule};

/// Marks 64-bit DWARF in front of a length.
const DWARF64: u32 = 0xffff_ffff;
/// Where a common entry would name its section: all ones.
const CIE_ID: u64 = u64::MAX;
const DWARF_VERSION: u8 = 3;
/// Offsets in the tables count 4 bytes of code and -4 bytes of stack.
const CODE_ALIGN: u32 = 4;
const STACK_ALIGN: u32 = 4;
/// -4 as signed LEB128.
const DATA_ALIGN: u8 = 0x7c;
/// No register holds the return address.
const NO_RETURN_REGISTER: u32 = u32::MAX;

const DW_CFA_ADVANCE_LOC4: u8 = 0x04;
const DW_CFA_OFFSET_EXTENDED: u8 = 0x05;
const DW_CFA_UNDEFINED: u8 = 0x07;
const DW_CFA_SAME_VALUE: u8 = 0x08;
const DW_CFA_REGISTER: u8 = 0x09;
const DW_CFA_DEF_CFA: u8 = 0x0c;
const DW_CFA_VAL_EXPRESSION: u8 = 0x16;

const DW_OP_ADDR: u8 = 0x03;
const DW_OP_CONSTU: u8 = 0x10;
const DW_OP_MINUS: u8 = 0x1c;
const DW_OP_PLUS: u8 = 0x22;
const DW_OP_BREGX: u8 = 0x92;
const DW_OP_DEREF_SIZE: u8 = 0x94;
/// Bytes of a return address that counts from the start of its section.
const OFFSET_BYTES: u8 = 4;

/// DWARF number of R0: NVIDIA puts the kind of register into the high bits.
const R0: u32 = 0x0500_0000;
const STACK_POINTER: u32 = R0 + 1;
const ZERO_REGISTER: u32 = R0 + 255;
/// The column of a return address that is computed: no general register has this number.
const COMPUTED_ADDRESS: u32 = R0 + 256;

/// Entries are padded with zeros (no operation) to a multiple of this.
const ENTRY_ALIGN: usize = 8;
/// Byte offset of the function's address from the start of its entry.
const ADDRESS_OFFSET: usize = 20;

/// The section and its relocations.
pub(super) fn debug_frame(functions: &[FunctionSpec]) -> (Vec<u8>, Vec<RelocSpec>) {
    let mut section = Section::default();
    for function in functions {
        let end = function.inner_functions.iter().map(|inner| inner.offset).min();
        let size = end.map_or(function.code.len() as u64, u64::from);
        section.function(&function.name, 0, size, &function.unwind);
        for inner in &function.inner_functions {
            section.function(&function.name, inner.offset, inner.size.into(), &inner.unwind);
        }
    }
    (section.bytes, section.relocations)
}

/// What has been written.
#[derive(Default)]
struct Section {
    bytes: Vec<u8>,
    relocations: Vec<RelocSpec>,
    /// Column of return addresses, and where the common entry with it is.
    common: Vec<(u32, u64)>,
}

impl Section {
    /// The entry of a function at this byte offset in a section, which is named by its first function.
    fn function(&mut self, section: &str, offset: u32, size: u64, unwind: &Unwind) {
        let column = column(unwind.return_address);
        let known = self.common.iter().find(|(known, _)| *known == column).map(|(_, at)| *at);
        let common = known.unwrap_or_else(|| self.common_entry(column, unwind.return_address));
        let mut body = Body { bytes: common.to_le_bytes().to_vec(), addresses: Vec::new() };
        // The address of the function is a relocation with an addend.
        body.address(offset);
        body.bytes.extend_from_slice(&size.to_le_bytes());
        if let ReturnAddress::InSection(register) = unwind.return_address {
            body.computed_address(Place::Register(register));
        }
        let mut reached = 0;
        for row in &unwind.rows {
            body.row(row, unwind.return_address, &mut reached);
        }
        let start = self.bytes.len() + size_of::<u32>() + size_of::<u64>();
        let address = |(at, addend): (usize, u32)| RelocSpec {
            offset: (start + at) as u32,
            kind: &reloc::R64,
            symbol: section.to_owned(),
            addend: addend.into(),
        };
        self.relocations.extend(body.addresses.into_iter().map(address));
        debug_assert_eq!(start + size_of::<u64>() - self.bytes.len(), ADDRESS_OFFSET);
        entry(&mut self.bytes, &body.bytes);
    }

    /// Writes the common entry of that column, and says where it is.
    fn common_entry(&mut self, column: u32, address: ReturnAddress) -> u64 {
        let at = self.bytes.len() as u64;
        let mut body = CIE_ID.to_le_bytes().to_vec();
        body.extend_from_slice(&[DWARF_VERSION, 0, CODE_ALIGN as u8, DATA_ALIGN]);
        uleb128(&mut body, column);
        define_frame(&mut body, STACK_POINTER, 0);
        let both_words = [column, column.wrapping_add(1)];
        let words = if let ReturnAddress::Absolute(_) = address { &both_words[..] } else { &[] };
        for &register in [ZERO_REGISTER, STACK_POINTER].iter().chain(words) {
            body.push(DW_CFA_SAME_VALUE);
            uleb128(&mut body, register);
        }
        entry(&mut self.bytes, &body);
        self.common.push((column, at));
        at
    }
}

/// The column of return addresses.
fn column(address: ReturnAddress) -> u32 {
    match address {
        ReturnAddress::None => NO_RETURN_REGISTER,
        ReturnAddress::Absolute(register) => R0 + u32::from(register),
        ReturnAddress::InSection(_) => COMPUTED_ADDRESS,
    }
}

/// An entry that is written, without its length.
struct Body {
    bytes: Vec<u8>,
    /// Where addresses of the section's code are, with what is added to its start.
    addresses: Vec<(usize, u32)>,
}

impl Body {
    /// Appends an address of code.
    fn address(&mut self, offset: u32) {
        self.addresses.push((self.bytes.len(), offset));
        self.bytes.extend_from_slice(&0u64.to_le_bytes());
    }

    /// Appends a row. `reached`: the offset of the row before.
    fn row(&mut self, row: &UnwindRow, address: ReturnAddress, reached: &mut u32) {
        if row.offset > *reached {
            self.bytes.push(DW_CFA_ADVANCE_LOC4);
            self.bytes.extend_from_slice(&((row.offset - *reached) / CODE_ALIGN).to_le_bytes());
            *reached = row.offset;
        }
        match row.rule {
            UnwindRule::Frame { register, bytes } => define_frame(&mut self.bytes, R0 + u32::from(register), bytes),
            UnwindRule::Register { register, place } if address == ReturnAddress::InSection(register) => {
                self.computed_address(if place == Place::Same { Place::Register(register) } else { place });
            }
            UnwindRule::Register { register, place } => self.register(R0 + u32::from(register), place),
        }
    }

    fn register(&mut self, register: u32, place: Place) {
        let opcode = match place {
            Place::Same => DW_CFA_SAME_VALUE,
            Place::Register(_) => DW_CFA_REGISTER,
            Place::Below(_) => DW_CFA_OFFSET_EXTENDED,
            Place::Lost => DW_CFA_UNDEFINED,
        };
        self.bytes.push(opcode);
        uleb128(&mut self.bytes, register);
        match place {
            Place::Register(other) => uleb128(&mut self.bytes, R0 + u32::from(other)),
            Place::Below(bytes) => uleb128(&mut self.bytes, bytes / STACK_ALIGN),
            Place::Same | Place::Lost => {}
        }
    }

    /// The return address: the start of the section plus what is there. The expression begins with the caller's frame.
    fn computed_address(&mut self, place: Place) {
        if place == Place::Lost {
            return self.register(COMPUTED_ADDRESS, place);
        }
        let mut offset = Vec::new();
        match place {
            Place::Below(bytes) => {
                offset.push(DW_OP_CONSTU);
                uleb128(&mut offset, bytes);
                offset.extend([DW_OP_MINUS, DW_OP_DEREF_SIZE, OFFSET_BYTES]);
            }
            Place::Register(register) => {
                offset.push(DW_OP_BREGX);
                uleb128(&mut offset, R0 + u32::from(register));
                offset.push(0);
            }
            Place::Same | Place::Lost => {}
        }
        self.bytes.push(DW_CFA_VAL_EXPRESSION);
        uleb128(&mut self.bytes, COMPUTED_ADDRESS);
        let length = offset.len() + size_of::<u64>() + 2;
        uleb128(&mut self.bytes, length as u32);
        self.bytes.extend(offset);
        self.bytes.push(DW_OP_ADDR);
        self.address(0);
        self.bytes.push(DW_OP_PLUS);
    }
}

fn define_frame(body: &mut Vec<u8>, register: u32, bytes: u32) {
    body.push(DW_CFA_DEF_CFA);
    uleb128(body, register);
    uleb128(body, bytes);
}

/// Appends an entry with its length.
fn entry(bytes: &mut Vec<u8>, body: &[u8]) {
    let header = size_of::<u32>() + size_of::<u64>();
    let length = (header + body.len()).next_multiple_of(ENTRY_ALIGN) - header;
    bytes.extend_from_slice(&DWARF64.to_le_bytes());
    bytes.extend_from_slice(&(length as u64).to_le_bytes());
    bytes.extend_from_slice(body);
    bytes.resize(bytes.len() + length - body.len(), 0);
}

fn uleb128(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}
