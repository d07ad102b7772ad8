//! What the devices of a target have.

use oriole_isa::Arch;

/// The device that stands for a target: what a multiprocessor holds, from the documents of the architecture, and the chip
/// that the cycle model takes.
///
/// ```
/// let device = oriole::Device::of("sm_90a").expect("a target of Oriole's");
/// assert_eq!((device.registers_per_sm, device.warps_per_sm), (65536, 64));
/// assert!(oriole::Device::of("sm_20").is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Device {
    /// Registers of 32 bits of a multiprocessor.
    pub registers_per_sm: u32,
    /// Registers that a thread can have.
    pub registers_per_thread: u32,
    /// Warps that a multiprocessor holds at a time.
    pub warps_per_sm: u32,
    /// Threads of one block.
    pub threads_per_block: u32,
    /// Shared memory of a multiprocessor in bytes.
    pub shared_per_sm: u32,
    /// Most shared memory of one block in bytes.
    pub shared_per_block: u32,
    /// The chip of the cycle model; `None` where the target has none.
    pub chip: Option<Chip>,
}

/// A chip as a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chip {
    /// Its name.
    pub name: &'static str,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Published boost clock in MHz.
    pub clock_mhz: u32,
}

impl Device {
    /// That of a target such as `sm_90a`; `None` if Oriole knows no such target.
    pub fn of(target: &str) -> Option<Device> {
        let target = oriole_codegen::target(target).ok()?;
        let arch = Arch::of_capability(target.sm)?;
        let sm = arch.sm();
        let chip = |chip: &oriole_isa::chip::Chip| Chip {
            name: chip.name,
            multiprocessors: chip.sms,
            clock_mhz: chip.clock_mhz,
        };
        Some(Device {
            registers_per_sm: sm.registers,
            registers_per_thread: sm.max_registers_per_thread,
            warps_per_sm: sm.max_warps,
            threads_per_block: sm.max_threads_per_cta,
            shared_per_sm: sm.shared_memory,
            shared_per_block: sm.max_shared_per_cta,
            chip: arch.chip().map(chip),
        })
    }
}
