//! Memory: buffers by address, each byte with what is known of it.
//!
//! Every buffer lies alone, with room before and behind it, so that an access that leaves its buffer touches nothing.
//! Addresses do not remember which buffer they were made from.

use crate::fault::Fault;
use crate::format::Format;
use crate::value::{Unknown, Value};
use oriole_nvptx::ir::AddressSpace;
use std::collections::BTreeMap;

/// Bytes that all buffers together may have.
const MAX_BYTES: u64 = 1 << 30;

/// Bytes that lie between two buffers at least.
const GAP: u64 = 1 << 12;

/// Where the addresses of each space start among generic addresses; each has `WINDOW_BYTES`.
const WINDOWS: [(AddressSpace, u64); 5] = [
    (AddressSpace::SHARED, 0x0100_0000_0000),
    (AddressSpace::LOCAL, 0x0200_0000_0000),
    (AddressSpace::CONSTANT, 0x0300_0000_0000),
    (AddressSpace::PARAM, 0x0400_0000_0000),
    (AddressSpace::GLOBAL, 0x7000_0000_0000),
];

/// Bytes of a window but that of global memory: its addresses fit 32-bit pointers.
const WINDOW_BYTES: u64 = 1 << 32;

/// What is known of one byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct State(u8);

impl State {
    pub(crate) const KNOWN: State = State(0);

    pub(crate) const fn unknown(why: Unknown) -> State {
        State(why as u8 + 1)
    }

    /// Byte `index` of a NaN that may be any.
    pub(crate) const fn nan(format: Format, index: u8) -> State {
        State(8 + format as u8 * 8 + index)
    }

    /// Why the byte is not known. A part of a NaN is open.
    pub(crate) const fn why(self) -> Option<Unknown> {
        match self.0 {
            0 => None,
            2 => Some(Unknown::Undef),
            3 => Some(Unknown::Poison),
            _ => Some(Unknown::Open),
        }
    }

    /// The format and the number of the byte in it, if it is part of a NaN.
    pub(crate) fn as_nan(self) -> Option<(Format, u8)> {
        let code = self.0.checked_sub(8)?;
        Some((*Format::ALL.get(usize::from(code / 8))?, code % 8))
    }
}

#[derive(Clone, Debug)]
struct Buffer {
    bytes: Vec<u8>,
    states: Vec<State>,
    constant: bool,
}

/// The memory of a device, as one thread sees it.
#[derive(Clone, Debug)]
pub struct Memory {
    /// By their generic addresses.
    buffers: BTreeMap<u64, Buffer>,
    next: [u64; WINDOWS.len()],
    used: u64,
    /// Addresses of the symbols of the module, by their index: those of variables in their own space.
    pub(crate) symbols: Vec<u64>,
}

/// How bytes compare with what a compiled program wrote.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Comparison {
    /// The first byte that differs though its value is known.
    pub differs: Option<usize>,
    /// Bytes that could not be compared, because several values are right.
    pub open: usize,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory { buffers: BTreeMap::new(), next: WINDOWS.map(|(_, start)| start + GAP), used: 0, symbols: Vec::new() }
    }
}

/// The window of a space; generic memory that is made without one is global.
fn window(space: AddressSpace) -> Option<usize> {
    let space = match space {
        AddressSpace::GENERIC => AddressSpace::GLOBAL,
        AddressSpace::SHARED_CLUSTER => AddressSpace::SHARED,
        other => other,
    };
    WINDOWS.iter().position(|&(own, _)| own == space)
}

impl Memory {
    /// Makes a buffer of known bytes and answers its address in `space`; it is aligned to `align` bytes, and to no more.
    ///
    /// # Errors
    ///
    /// A space without memory, or too many bytes.
    pub fn add(&mut self, space: AddressSpace, bytes: &[u8], align: u64) -> Result<u64, Fault> {
        let address = self.reserve(space, bytes.len() as u64, align, false)?;
        if let Some(buffer) = generic(space, address).ok().and_then(|at| self.buffers.get_mut(&at)) {
            buffer.bytes.copy_from_slice(bytes);
            buffer.states.fill(State::KNOWN);
        }
        Ok(address)
    }

    /// Makes a buffer of `undef` bytes.
    pub(crate) fn reserve(&mut self, space: AddressSpace, size: u64, align: u64, constant: bool) -> Result<u64, Fault> {
        let index = window(space).ok_or_else(|| Fault::unsupported(format!("memory of address space {}", space.0)))?;
        self.used = self.used.saturating_add(size);
        if self.used > MAX_BYTES || align > 1 << 20 {
            return Err(Fault::limit("memory"));
        }
        let align = align.max(1).next_power_of_two();
        // An odd multiple, so that what relies on a larger alignment is found.
        let start = self.next[index].next_multiple_of(2 * align) + align;
        self.next[index] = start + size + GAP;
        if space != AddressSpace::GLOBAL
            && self.next[index] - WINDOWS[index].1 > WINDOW_BYTES - 2 * GAP
            && index + 1 < WINDOWS.len()
        {
            return Err(Fault::limit("addresses"));
        }
        let size = size as usize;
        let states = vec![State::unknown(Unknown::Undef); size];
        self.buffers.insert(start, Buffer { bytes: vec![0; size], states, constant });
        Ok(from_generic(space, start))
    }

    /// Makes a buffer read-only.
    pub(crate) fn protect(&mut self, space: AddressSpace, address: u64) {
        if let Some(buffer) = generic(space, address).ok().and_then(|at| self.buffers.get_mut(&at)) {
            buffer.constant = true;
        }
    }

    /// Ends a buffer's life.
    pub(crate) fn free(&mut self, space: AddressSpace, address: u64) {
        if let Some(buffer) = generic(space, address).ok().and_then(|at| self.buffers.remove(&at)) {
            self.used -= buffer.bytes.len() as u64;
        }
    }

    /// True when `address` lies in the buffer that `base` lies in, or at its end.
    pub(crate) fn same_buffer(&self, space: AddressSpace, base: u64, address: u64) -> bool {
        let (Ok(base), Ok(address)) = (generic(space, base), generic(space, address)) else { return false };
        let Some((&start, buffer)) = self.buffers.range(..=base).next_back() else { return false };
        let end = start + buffer.bytes.len() as u64;
        base <= end && (start..=end).contains(&address)
    }

    fn find(&self, space: AddressSpace, address: u64, len: u64) -> Result<(u64, usize), Fault> {
        let at = generic(space, address)?;
        let found = self.buffers.range(..=at).next_back();
        let inside = found.filter(|(start, buffer)| at - *start + len <= buffer.bytes.len() as u64);
        let outside = || Fault::undefined(format!("{len} bytes at {address:#x} of space {} are not there", space.0));
        inside.map(|(&start, _)| (start, (at - start) as usize)).ok_or_else(outside)
    }

    /// `len` bytes and what is known of them.
    pub(crate) fn read(&self, space: AddressSpace, address: u64, len: u64) -> Result<(&[u8], &[State]), Fault> {
        let (start, at) = self.find(space, address, len)?;
        let (buffer, range) = (&self.buffers[&start], at..at + len as usize);
        Ok((&buffer.bytes[range.clone()], &buffer.states[range]))
    }

    /// Puts bytes and what is known of them.
    pub(crate) fn write(
        &mut self,
        space: AddressSpace,
        address: u64,
        bytes: &[u8],
        states: &[State],
    ) -> Result<(), Fault> {
        let (start, at) = self.find(space, address, bytes.len() as u64)?;
        let buffer = self.buffers.get_mut(&start).ok_or_else(|| Fault::undefined("no such buffer"))?;
        if buffer.constant {
            return Err(Fault::undefined(format!("a constant at {address:#x} is written")));
        }
        buffer.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        buffer.states[at..at + bytes.len()].copy_from_slice(states);
        Ok(())
    }

    /// The `len` bytes at an address of global memory; those that are not known read as 0.
    ///
    /// # Errors
    ///
    /// When they are not there.
    pub fn bytes(&self, address: u64, len: u64) -> Result<&[u8], Fault> {
        self.read(AddressSpace::GLOBAL, address, len).map(|(bytes, _)| bytes)
    }

    /// Compares the bytes at an address of global memory with those that another execution left there.
    ///
    /// # Errors
    ///
    /// When there are not so many bytes.
    pub fn compare(&self, address: u64, other: &[u8]) -> Result<Comparison, Fault> {
        let (bytes, states) = self.read(AddressSpace::GLOBAL, address, other.len() as u64)?;
        let mut result = Comparison::default();
        let mut at = 0;
        while at < bytes.len() {
            let (same, len) = match states[at].why() {
                None => (bytes[at] == other[at], 1),
                Some(_) => match whole_nan(&states[at..]) {
                    Some((format, len)) => {
                        let found = other[at..at + len].iter().rev().fold(0, |all, &byte| all << 8 | u128::from(byte));
                        (format.is_nan(found), len)
                    }
                    None => {
                        result.open += 1;
                        (true, 1)
                    }
                },
            };
            if !same {
                result.differs.get_or_insert(at);
            }
            at += len;
        }
        Ok(result)
    }
}

impl Memory {
    /// Compares `len` bytes of global memory with those in another memory: what is known here must be known there.
    pub(crate) fn refined_by(&self, address: u64, other: &Memory, there: u64, len: u64) -> Result<Comparison, Fault> {
        let (bytes, states) = self.read(AddressSpace::GLOBAL, address, len)?;
        let (other_bytes, other_states) = other.read(AddressSpace::GLOBAL, there, len)?;
        let mut result = Comparison::default();
        for at in 0..bytes.len() {
            let same = match states[at].as_nan() {
                // Any NaN of the format refines it, so a known one does: compared as bytes below.
                Some(_) => other_states[at] == states[at] || other_states[at].why().is_none(),
                None if states[at].why().is_some() => {
                    result.open += 1;
                    true
                }
                None => other_states[at].why().is_none() && bytes[at] == other_bytes[at],
            };
            if !same {
                result.differs.get_or_insert(at);
            }
        }
        let known = self.compare(address, other_bytes)?;
        result.differs = result.differs.into_iter().chain(known.differs).min();
        Ok(result)
    }
}

/// The format of the NaN whose bytes `states` starts with, and its length.
pub(crate) fn whole_nan(states: &[State]) -> Option<(Format, usize)> {
    let (format, 0) = states.first()?.as_nan()? else { return None };
    let len = format.bits() as usize / 8;
    let whole = (0..len).all(|at| states.get(at).and_then(|state| state.as_nan()) == Some((format, at as u8)));
    whole.then_some((format, len))
}

/// The generic address of an address in `space`.
pub(crate) fn generic(space: AddressSpace, address: u64) -> Result<u64, Fault> {
    if matches!(space, AddressSpace::GENERIC | AddressSpace::GLOBAL) {
        return Ok(address);
    }
    let index = window(space).ok_or_else(|| Fault::unsupported(format!("address space {}", space.0)))?;
    let fits = address < WINDOW_BYTES;
    fits.then(|| WINDOWS[index].1 + address)
        .ok_or_else(|| Fault::undefined(format!("{address:#x} is no address of space {}", space.0)))
}

/// The address in `space` of a generic address that lies there.
fn from_generic(space: AddressSpace, address: u64) -> u64 {
    match window(space) {
        Some(index) if !matches!(space, AddressSpace::GENERIC | AddressSpace::GLOBAL) => {
            address.wrapping_sub(WINDOWS[index].1)
        }
        _ => address,
    }
}

/// `addrspacecast`: what does not lie in the space asked for has no address there.
pub(crate) fn cast_address(from: AddressSpace, to: AddressSpace, address: u64) -> Value {
    if address == 0 {
        return Value::Bits(0);
    }
    let Ok(common) = generic(from, address) else { return Value::POISON };
    let result = from_generic(to, common);
    let specific = !matches!(to, AddressSpace::GENERIC | AddressSpace::GLOBAL);
    if specific && result >= WINDOW_BYTES { Value::POISON } else { Value::Bits(u128::from(result)) }
}
