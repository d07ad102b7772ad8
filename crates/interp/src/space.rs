//! Address spaces: the windows of generic addresses, where an address leads, and what is found there.

use oriole_device::{Access, AddressError, FaultKind, Space};
use oriole_ptx::ast;

/// Generic address of shared address 0; a 4 GiB window, of which bits 24 and up name the block in its
/// cluster.
pub(crate) const SHARED_WINDOW: u64 = 0x1_0000_0000;
/// Generic address of local address 0.
pub(crate) const LOCAL_WINDOW: u64 = 0x2_0000_0000;
/// Generic address of the module's first `.const` variable.
pub(crate) const CONSTANT_WINDOW: u64 = 0x3_0000_0000;
/// Generic address of the kernel's first parameter, which is its address in `.param` space too.
pub(crate) const PARAMETER_WINDOW: u64 = 0x3_0100_0000;
/// Size of each window but the shared one.
pub(crate) const WINDOW: u64 = 1 << 24;
/// Bits of a shared address from which on the rank of the block in its cluster stands.
pub(crate) const RANK_SHIFT: u32 = 24;
/// Shared addresses of one block.
pub(crate) const SHARED_MASK: u64 = (1 << RANK_SHIFT) - 1;

/// An address space as an instruction names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// Any, by address. `.param` addresses are generic ones.
    Generic,
    /// Global only.
    Global,
    /// Shared memory of the block only.
    Shared,
    /// Shared memory of the blocks of the cluster only.
    SharedCluster,
    /// Local only.
    Local,
    /// `.const` only.
    Constant,
}

/// Where an address leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Global memory.
    Global(u64),
    /// The block's shared memory.
    Shared(u64),
    /// Shared memory of a block of the cluster, whose rank stands in the bits from [`RANK_SHIFT`] on.
    Cluster(u64),
    /// The thread's local memory.
    Local(u64),
    /// The module's constants.
    Constant(u64),
    /// The kernel's parameters.
    Parameter(u64),
}

impl Named {
    /// The space that an instruction names; none is generic.
    pub(crate) fn of(space: Option<ast::Space>) -> Option<Named> {
        use ast::Space::*;
        Some(match space {
            None | Some(Param | ParamEntry | ParamFunc) => Named::Generic,
            Some(Global) => Named::Global,
            Some(Shared | SharedCta) => Named::Shared,
            Some(SharedCluster) => Named::SharedCluster,
            Some(Local) => Named::Local,
            Some(Const) => Named::Constant,
            Some(Reg | Sreg | Tex) => return None,
        })
    }

    /// Where `address` of this space leads.
    #[inline]
    pub(crate) fn place(self, address: u64) -> Place {
        match self {
            Named::Global => Place::Global(address),
            Named::Shared => Place::Shared(address & SHARED_MASK),
            Named::SharedCluster => Place::Cluster(address & 0xffff_ffff),
            Named::Local => Place::Local(address & 0xffff_ffff),
            Named::Constant => Place::Constant(address & 0xffff_ffff),
            Named::Generic => Place::of_generic(address),
        }
    }

    /// Generic address of address 0 of this space.
    pub(crate) fn window(self) -> u64 {
        match self {
            Named::Generic | Named::Global => 0,
            Named::Shared | Named::SharedCluster => SHARED_WINDOW,
            Named::Local => LOCAL_WINDOW,
            Named::Constant => CONSTANT_WINDOW,
        }
    }
}

impl Place {
    /// Where a generic address leads.
    #[inline]
    pub(crate) fn of_generic(address: u64) -> Place {
        match address {
            SHARED_WINDOW..LOCAL_WINDOW => Place::Cluster(address - SHARED_WINDOW),
            LOCAL_WINDOW..CONSTANT_WINDOW if address < LOCAL_WINDOW + WINDOW => Place::Local(address - LOCAL_WINDOW),
            CONSTANT_WINDOW..PARAMETER_WINDOW => Place::Constant(address - CONSTANT_WINDOW),
            PARAMETER_WINDOW.. if address < PARAMETER_WINDOW + WINDOW => Place::Parameter(address - PARAMETER_WINDOW),
            _ => Place::Global(address),
        }
    }

    /// The space and the address in it, for messages.
    fn named(self) -> (Space, u64) {
        match self {
            Place::Global(address) => (Space::Global, address),
            Place::Shared(address) | Place::Cluster(address) => (Space::Shared, address),
            Place::Local(address) => (Space::Local, address),
            Place::Constant(address) | Place::Parameter(address) => (Space::Constant, address),
        }
    }

    /// The fault of an access to it.
    pub(crate) fn fault(self, access: Access, size: u32, error: AddressError) -> FaultKind {
        let (space, address) = self.named();
        match error {
            AddressError::Outside(nearest) => FaultKind::IllegalAddress { space, access, address, size, nearest },
            AddressError::Misaligned => FaultKind::Misaligned { space, access, address, size },
        }
    }
}

/// Up to 32 bytes of memory, little-endian; bytes beyond those accessed are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Data(
    /// As words of 64 bits.
    pub(crate) [u64; 4],
);

impl Data {
    /// The most bytes that one access has.
    pub(crate) const BYTES: usize = 32;

    /// The element of `size` bytes (1, 2, 4, 8 or 16) number `index`.
    #[inline]
    pub(crate) fn element(&self, index: usize, size: u32) -> u128 {
        let at = index * size as usize;
        if size == 16 {
            return u128::from(self.0[at / 8]) | u128::from(self.0[at / 8 + 1]) << 64;
        }
        let bits = self.0[at / 8] >> (8 * (at % 8));
        u128::from(if size == 8 { bits } else { bits & ((1 << (8 * size)) - 1) })
    }

    /// Puts an element there; its place must be zero before.
    #[inline]
    pub(crate) fn set(&mut self, index: usize, size: u32, value: u128) {
        let at = index * size as usize;
        if size >= 8 {
            self.0[at / 8] = value as u64;
            if size == 16 {
                self.0[at / 8 + 1] = (value >> 64) as u64;
            }
            return;
        }
        self.0[at / 8] |= (value as u64 & ((1 << (8 * size)) - 1)) << (8 * (at % 8));
    }

    /// These bytes, and zeros behind them.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Data {
        let mut data = Data::default();
        for (word, chunk) in data.0.iter_mut().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..chunk.len()].copy_from_slice(chunk);
            *word = u64::from_le_bytes(whole);
        }
        data
    }

    /// All 32 bytes.
    pub(crate) fn bytes(&self) -> [u8; Data::BYTES] {
        let mut bytes = [0; Data::BYTES];
        for (chunk, word) in bytes.chunks_mut(8).zip(self.0) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}
