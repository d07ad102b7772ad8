//! What a driver would not load: a linked cubin whose headers and records contradict each other, or the hardware.

use crate::model::{Cubin, FileKind, Function, Section, SectionKind};
use crate::notes::{CUINFO, Note, TKINFO, TKINFO_VERSION};
use crate::target::{ABI_VERSION_NEW, OSABI_CUDA_NEW, is_new_layout};
use crate::write::TEXT_ALIGN;
use object::elf;
use oriole_isa::Arch;
use std::fmt;
use std::ops::Range;

/// `e_ident[EI_OSABI]` of the older layout (CUDA 12 and before).
const OSABI_CUDA_OLD: u8 = 0x33;

/// Registers that a thread can have: number 255 is the one that is zero.
const MOST_REGISTERS: u32 = 255;

/// Barriers that a block has.
const MOST_BARRIERS: u32 = 16;

/// Where the type stands in a note, behind the sizes of its name and contents.
const NOTE_TYPE: Range<usize> = 8..12;
/// Where the layout's version stands in the note about the tool.
const TOOL_LAYOUT: Range<usize> = 24..28;

/// Why a driver would not load a cubin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The function that it is about; none for the file.
    pub function: Option<String>,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.function {
            Some(function) => write!(f, "function '{function}': {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl Cubin {
    /// Everything for which a driver would not load the file. Files that are still to be linked have nothing of it.
    pub fn refusals(&self) -> Vec<Refusal> {
        if self.kind != FileKind::Executable {
            return Vec::new();
        }
        let of_file = self.file_refusal().into_iter().chain(self.note_refusals());
        let of_file = of_file.map(|reason| Refusal { function: None, reason });
        let of_function = |function: &Function| {
            let refusal = |reason| Refusal { function: Some(function.name.clone()), reason };
            self.function_refusals(function).into_iter().flatten().map(refusal).collect::<Vec<_>>()
        };
        of_file.chain(self.functions.iter().flat_map(of_function)).collect()
    }

    fn file_refusal(&self) -> Option<String> {
        let is_new = is_new_layout(self.e_flags, self.abi_version);
        let expected = if is_new { OSABI_CUDA_NEW } else { OSABI_CUDA_OLD };
        (self.os_abi != expected).then(|| {
            let (found, version) = (self.os_abi, self.abi_version);
            format!("the file is for OS ABI {found:#x}; CUDA's with version {version} is {expected:#x}")
        })
    }

    /// The notes that the driver looks for and does not find: 580.159 on an H200 says "device kernel image is invalid" where a
    /// file of the newer layout has none, or another note there.
    fn note_refusals(&self) -> Vec<String> {
        if self.abi_version < ABI_VERSION_NEW {
            return Vec::new();
        }
        let missing = |Note { section, kind }| format!("section '{section}' with a note of type {kind} is missing");
        let Some(tool) = self.note(TKINFO) else { return vec![missing(TKINFO)] };
        let needs_target = tool.get(TOOL_LAYOUT) == Some(&TKINFO_VERSION.to_le_bytes()[..]);
        let lacks_target = needs_target && self.note(CUINFO).is_none();
        lacks_target.then(|| missing(CUINFO)).into_iter().collect()
    }

    /// The bytes of the section that holds a note.
    pub(crate) fn note(&self, note: Note) -> Option<&[u8]> {
        let is_note = |section: &&Section| {
            section.name == note.section
                && section.sh_type == elf::SHT_NOTE.0
                && section.data.get(NOTE_TYPE) == Some(&note.kind.to_le_bytes()[..])
        };
        self.sections.iter().find(is_note).map(|section| &section.data[..])
    }

    fn function_refusals(&self, function: &Function) -> [Option<String>; 5] {
        [
            self.registers_refusal(function),
            self.block_refusal(function),
            (function.barriers > MOST_BARRIERS)
                .then(|| format!("it uses {} barriers; a block has {MOST_BARRIERS}", function.barriers)),
            self.parameters_refusal(function),
            self.text_refusal(function),
        ]
    }

    fn registers_refusal(&self, function: &Function) -> Option<String> {
        let count = function.registers;
        (count > MOST_REGISTERS)
            .then(|| format!("it asks for {count} registers; a thread has {MOST_REGISTERS} at most"))
    }

    /// A block of the shape that the kernel asks for needs more registers than a multiprocessor has.
    fn block_refusal(&self, function: &Function) -> Option<String> {
        let shape = function.limits.required_threads?;
        let sm = Arch::of_capability(self.target.sm)?.sm();
        let threads = shape.iter().try_fold(1u32, |all, size| all.checked_mul(*size))?;
        let warps = threads.div_ceil(sm.warp_size);
        let fit = sm.warps_by_registers(function.registers.min(MOST_REGISTERS));
        (warps > fit).then(|| {
            let count = function.registers;
            format!("a block of {threads} threads with {count} registers each does not fit on a multiprocessor")
        })
    }

    fn parameters_refusal(&self, function: &Function) -> Option<String> {
        let area = function.param_area.filter(|area| area.size > 0)?;
        let mut banks = self.constant_banks_of(function).filter(|bank| bank.bank == area.bank);
        let size = banks.find(|bank| bank.function.is_some()).map_or(0, |bank| bank.size);
        let end = u64::from(area.base) + u64::from(area.size);
        (size < end).then(|| format!("constant bank {} has {size} bytes; the parameters end at {end}", area.bank))
    }

    fn text_refusal(&self, function: &Function) -> Option<String> {
        let text = self.sections.get(function.section).filter(|section| section.kind == SectionKind::Text)?;
        let flags = (elf::SHF_ALLOC | elf::SHF_EXECINSTR).0;
        if text.sh_flags & flags != flags {
            return Some(format!("section '{}' is not marked as code that is loaded", text.name));
        }
        let is_aligned = text.align.is_power_of_two() && text.align >= TEXT_ALIGN;
        (!is_aligned).then(|| format!("section '{}' is aligned to {}, not to {TEXT_ALIGN}", text.name, text.align))
    }
}
