//! `.debug_frame`: where a function's stack frame is, for debuggers (64-bit DWARF 3).
//!
//! One common entry, then one entry per function: the frame lies at R1 plus the frame's size.

use crate::reloc;
use crate::spec::{FunctionSpec, RelocSpec};

/// Marks 64-bit DWARF in front of a length.
const DWARF64: u32 = 0xffff_ffff;
/// Where the common entry would name its section: all ones.
const CIE_ID: u64 = u64::MAX;
const DWARF_VERSION: u8 = 3;
/// Offsets in the tables count 4 bytes of code and -4 bytes of stack.
const CODE_ALIGN: u8 = 4;
const DATA_ALIGN: u8 = 0x7c;
/// No register holds the return address.
const NO_RETURN_REGISTER: u32 = u32::MAX;

const DW_CFA_DEF_CFA: u8 = 0x0c;
const DW_CFA_SAME_VALUE: u8 = 0x08;

/// DWARF number of R0: NVIDIA puts the kind of register into the high bits.
const R0: u32 = 0x0500_0000;
const STACK_POINTER: u32 = R0 + 1;
const ZERO_REGISTER: u32 = R0 + 255;

/// Entries are padded with zeros (no operation) to a multiple of this.
const ENTRY_ALIGN: usize = 8;

/// Byte offset of the function's address from the start of its entry.
const ADDRESS_OFFSET: usize = 20;

/// The section and its relocations.
pub(super) fn debug_frame(functions: &[FunctionSpec]) -> (Vec<u8>, Vec<RelocSpec>) {
    let mut bytes = Vec::new();
    let mut relocations = Vec::new();
    if functions.is_empty() {
        return (bytes, relocations);
    }
    entry(&mut bytes, &common());
    for function in functions {
        let mut body = 0u64.to_le_bytes().to_vec();
        body.extend_from_slice(&0u64.to_le_bytes());
        body.extend_from_slice(&(function.code.len() as u64).to_le_bytes());
        define_frame(&mut body, function.frame_size);
        relocations.push(RelocSpec {
            offset: (bytes.len() + ADDRESS_OFFSET) as u32,
            kind: &reloc::R64,
            symbol: function.name.clone(),
            addend: 0,
        });
        entry(&mut bytes, &body);
    }
    (bytes, relocations)
}

/// What all functions have in common.
fn common() -> Vec<u8> {
    let mut body = CIE_ID.to_le_bytes().to_vec();
    body.extend_from_slice(&[DWARF_VERSION, 0, CODE_ALIGN, DATA_ALIGN]);
    uleb128(&mut body, NO_RETURN_REGISTER);
    define_frame(&mut body, 0);
    for register in [ZERO_REGISTER, STACK_POINTER] {
        body.push(DW_CFA_SAME_VALUE);
        uleb128(&mut body, register);
    }
    body
}

fn define_frame(body: &mut Vec<u8>, frame_size: u32) {
    body.push(DW_CFA_DEF_CFA);
    uleb128(body, STACK_POINTER);
    uleb128(body, frame_size);
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
