//! Records that list instructions of a function for tools which change code.

use crate::nvinfo::{Attribute, number};
use crate::spec::{Exchange, FunctionSpec, HalfWord, MaskRegister, MbarrierAccess};

/// Words of one record about loads of which not all is read: whole pairs, as many as its 16-bit size has room for.
const UNUSED_WORDS: usize = 2 * (u16::MAX as usize / 8);

/// A register's number as DWARF has it: the kind in the top byte.
const DWARF_R: u32 = 0x0500_0000;
const DWARF_UR: u32 = 0x0b00_0000;

/// No register has the mask.
const NO_REGISTER: u32 = u32::MAX;

/// No register has the address.
const NO_ADDRESS: u8 = u8::MAX;

/// `NUM_MBARRIERS` where a loop initialises mbarriers.
const UNKNOWN_COUNT: u16 = u16::MAX;

/// The byte behind the kind and the scale in the last word of an mbarrier's instruction: 1 in all that ptxas writes.
const MBARRIER_FLAGS: u32 = 1 << 8;

/// By code: what the base register of an mbarrier's address counts.
const SCALES: [u8; 4] = [1, 4, 8, 16];

/// Appends what there is.
pub(super) fn push(records: &mut Vec<Attribute>, function: &FunctionSpec) {
    if !function.added_exchanges.is_empty() {
        records.push(Attribute::words(number::INT_WARP_WIDE_INSTR_OFFSETS, &function.added_exchanges));
    }
    if !function.exchanges.is_empty() {
        let masks: Vec<u32> = function.exchanges.iter().map(mask).collect();
        let offsets: Vec<u32> = function.exchanges.iter().map(|exchange| exchange.offset).collect();
        records.push(Attribute::words(number::COOP_GROUP_MASK_REGIDS, &masks));
        records.push(Attribute::words(number::COOP_GROUP_INSTR_OFFSETS, &offsets));
    }
    if !function.half_words.is_empty() {
        let words: Vec<u32> = function.half_words.iter().flat_map(half_word).collect();
        records.push(Attribute::words(number::ATOM16_EMUL_INSTR_REG_MAP, &words));
    }
    if !function.unused_bytes.is_empty() {
        let words: Vec<u32> = function.unused_bytes.iter().flat_map(|&(offset, used)| [offset, used]).collect();
        // A record holds 65,535 bytes at most.
        let parts = words.chunks(UNUSED_WORDS);
        records.extend(parts.map(|part| Attribute::words(number::UNUSED_LOAD_BYTE_OFFSET, part)));
    }
    if !function.copies_ignoring_bounds.is_empty() {
        let offsets = &function.copies_ignoring_bounds;
        records.push(Attribute::words(number::IGNOREOOB_CP_ASYNC_BULK_INSTR_OFFSETS, offsets));
    }
    if let Some(mbarriers) = &function.mbarriers {
        let words: Vec<u32> = mbarriers.accesses.iter().flat_map(access).collect();
        records.push(Attribute::words(number::MBARRIER_INSTR_OFFSETS, &words));
        records.push(Attribute::half(number::NUM_MBARRIERS, mbarriers.initialised.unwrap_or(UNKNOWN_COUNT)));
    }
}

fn mask(exchange: &Exchange) -> u32 {
    match exchange.mask {
        Some(MaskRegister::Thread(register)) => DWARF_R | u32::from(register),
        Some(MaskRegister::Uniform(register)) => DWARF_UR | u32::from(register),
        None => NO_REGISTER,
    }
}

fn half_word(access: &HalfWord) -> [u32; 2] {
    [access.offset, u32::from(access.address.unwrap_or(NO_ADDRESS))]
}

fn access(access: &MbarrierAccess) -> [u32; 4] {
    let scale = SCALES.iter().position(|scale| *scale == access.scale).unwrap_or(0) as u32;
    let how = access.kind as u32 | scale << 4 | MBARRIER_FLAGS | u32::from(access.uniform_base) << 16;
    [access.at, u32::from(access.base), access.offset as u32, how]
}
