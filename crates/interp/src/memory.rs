//! Loads and stores of every space.

use crate::env::Env;
use crate::local_memory::LocalMemory;
use crate::space::{Data, Place, RANK_SHIFT, SHARED_MASK};
use oriole_device::{Access, AddressError, FaultKind};

/// The range of `size` bytes at `address` in a memory of `length` bytes, aligned to their size.
fn range(address: u64, size: u32, length: usize) -> Result<std::ops::Range<usize>, AddressError> {
    let end = address.checked_add(u64::from(size)).filter(|&end| end <= length as u64);
    let end = end.ok_or(AddressError::Outside(None))?;
    if !address.is_multiple_of(u64::from(size)) {
        return Err(AddressError::Misaligned);
    }
    // Both are at most `length`, which is a host size.
    Ok(address as usize..end as usize)
}

/// Loads `size` bytes (a power of two up to 32), aligned to their size.
pub(crate) fn load(env: &Env<'_>, local: &LocalMemory, place: Place, size: u32) -> Result<Data, FaultKind> {
    let slice = |bytes: &[u8], address| range(address, size, bytes.len()).map(|range| Data::of_bytes(&bytes[range]));
    let loaded = match place {
        Place::Global(address) => load_global(env, address, size),
        Place::Shared(address) => slice(&env.cluster.shared[env.block.rank], address),
        Place::Cluster(address) => {
            let shared = env.cluster.shared.get((address >> RANK_SHIFT) as usize);
            shared.map_or(Err(AddressError::Outside(None)), |shared| slice(shared, address & SHARED_MASK))
        }
        Place::Local(address) => slice(local.bytes(), address),
        Place::Constant(address) => slice(env.resources.constants, address),
        Place::Parameter(address) => slice(&env.resources.launch.params, address),
    };
    loaded.map_err(|error| place.fault(Access::Read, size, error))
}

fn load_global(env: &Env<'_>, address: u64, size: u32) -> Result<Data, AddressError> {
    let allocation = env.resources.memory.check(address, size)?;
    let mut data = Data::default();
    if size <= 4 {
        data.0[0] = u64::from(allocation.load(address, size));
        return Ok(data);
    }
    for at in (0..size).step_by(8) {
        let word = |at: u32| u64::from(allocation.load(address + u64::from(at), 4));
        data.0[at as usize / 8] = word(at) | word(at + 4) << 32;
    }
    Ok(data)
}

/// Stores `size` bytes (a power of two up to 32), aligned to their size; `access` is for messages.
pub(crate) fn store(
    env: &mut Env<'_>,
    local: &mut LocalMemory,
    place: Place,
    size: u32,
    data: Data,
    access: Access,
) -> Result<(), FaultKind> {
    let write = |bytes: &mut [u8], address| {
        let range = range(address, size, bytes.len())?;
        bytes[range].copy_from_slice(&data.bytes()[..size as usize]);
        Ok(())
    };
    let stored = match place {
        Place::Global(address) => store_global(env, address, size, data),
        Place::Shared(address) => write(&mut env.cluster.shared[env.block.rank], address),
        Place::Cluster(address) => {
            let shared = env.cluster.shared.get_mut((address >> RANK_SHIFT) as usize);
            shared.map_or(Err(AddressError::Outside(None)), |shared| write(shared, address & SHARED_MASK))
        }
        Place::Local(address) => write(local.bytes_mut(), address),
        Place::Constant(_) | Place::Parameter(_) => Err(AddressError::Outside(None)),
    };
    stored.map_err(|error| place.fault(access, size, error))
}

fn store_global(env: &Env<'_>, address: u64, size: u32, data: Data) -> Result<(), AddressError> {
    let allocation = env.resources.memory.check(address, size)?;
    if size <= 4 {
        allocation.store(address, size, data.0[0] as u32);
        return Ok(());
    }
    for at in (0..size).step_by(4) {
        let word = data.0[at as usize / 8] >> (8 * (at % 8));
        allocation.store(address + u64::from(at), 4, word as u32);
    }
    Ok(())
}
