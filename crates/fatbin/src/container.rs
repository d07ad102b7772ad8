//! The files in which people hold device code.

use crate::entry::Entry;
use crate::error::{FatbinError, Reason};
use crate::module::{Linkage, Module};
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection};
use oriole_cubin::{Cubin, Target};

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// A cubin: one image.
    Cubin,
    /// A fatbinary, as `nvcc -fatbin` makes it.
    Fatbinary,
    /// An ELF file for the host: an executable, a shared library, an object.
    Host,
    /// An archive of objects.
    Archive,
}

impl Form {
    /// What the first bytes say; nothing for PTX, LLVM IR and all else.
    pub fn of(bytes: &[u8]) -> Option<Form> {
        if Module::is_fatbinary(bytes) {
            return Some(Form::Fatbinary);
        }
        if bytes.starts_with(ARCHIVE) {
            return Some(Form::Archive);
        }
        if !bytes.starts_with(ELF) {
            return None;
        }
        let machine = bytes.get(MACHINE..MACHINE + 2);
        Some(if machine == Some(&EM_CUDA.to_le_bytes()) { Form::Cubin } else { Form::Host })
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Form::Cubin => "cubin",
            Form::Fatbinary => "fatbinary",
            Form::Host => "host file",
            Form::Archive => "archive",
        }
    }
}

const ELF: &[u8] = b"\x7fELF";
const ARCHIVE: &[u8] = b"!<arch>\n";
/// Where `e_machine` and `e_flags` of a 64-bit ELF file are, and the ABI's version.
const MACHINE: usize = 18;
const FLAGS: usize = 48;
const ABI_VERSION: usize = 8;
/// `e_machine` of CUDA.
const EM_CUDA: u16 = object::elf::EM_CUDA.0;

/// The sections with fatbinaries, in the order in which cuobjdump lists them.
const SECTIONS: [(&str, Linkage); 2] = [(".nv_fatbin", Linkage::Loaded), ("__nv_relfatbin", Linkage::Relocatable)];

/// The device code in a file.
#[derive(Clone, Debug)]
pub struct Container<'a> {
    /// What the file is.
    pub form: Form,
    /// The fatbinaries in it: of each host file first those that a driver loads.
    pub modules: Vec<Module<'a>>,
}

impl<'a> Container<'a> {
    /// Read a file. `None` if it is none of these ([`Form::of`]).
    ///
    /// # Errors
    /// The file is damaged, or an archive without its members ("thin").
    pub fn read(bytes: &'a [u8]) -> Result<Option<Container<'a>>, FatbinError> {
        let Some(form) = Form::of(bytes) else { return Ok(None) };
        let modules = match form {
            Form::Cubin => vec![cubin(bytes)?],
            Form::Fatbinary => Module::read_all(bytes, 0)?,
            Form::Host => host(bytes, 0, None)?,
            Form::Archive => archive(bytes)?,
        };
        Ok(Some(Container { form, modules }))
    }

    /// The fatbinaries that cuobjdump shows: of each host file those that a driver loads, or where it has none those for a linker; with
    /// `all` both.
    pub fn shown(&self, all: bool) -> impl Iterator<Item = &Module<'a>> {
        let is_loaded = |module: &&Module<'a>| module.linkage == Linkage::Loaded;
        let members: Vec<&Option<String>> =
            self.modules.iter().filter(is_loaded).map(|module| &module.member).collect();
        self.modules
            .iter()
            .filter(move |module| all || module.linkage == Linkage::Loaded || !members.contains(&&module.member))
    }
}

/// A cubin as the only entry of a fatbinary. Of one that is damaged the header says enough.
fn cubin(bytes: &[u8]) -> Result<Module<'_>, FatbinError> {
    let there = bytes.len();
    let needed = FLAGS + 4;
    let flags = bytes.get(FLAGS..needed).and_then(|flags| flags.try_into().ok()).map(u32::from_le_bytes);
    let short = Reason::Short { what: "header of the ELF file", needed: needed as u64, there };
    let flags = flags.ok_or_else(|| FatbinError::new(0, short))?;
    let by_header = Target::from_e_flags(flags, bytes[ABI_VERSION]);
    let target = Cubin::parse(bytes).map_or(by_header, |cubin| cubin.target);
    Ok(Module { range: 0..there, entries: vec![Entry::of_cubin(bytes, target)], ..Module::default() })
}

/// The fatbinaries of a host file, which is at `offset` of the file that is read.
fn host<'a>(bytes: &'a [u8], offset: usize, member: Option<&str>) -> Result<Vec<Module<'a>>, FatbinError> {
    let refused =
        |error: object::Error| FatbinError::new(offset, Reason::Host { form: "ELF file", error: error.to_string() });
    let file = object::File::parse(bytes).map_err(refused)?;
    let mut modules = Vec::new();
    for (name, linkage) in SECTIONS {
        let is_named = |section: &object::Section<'_, '_>| section.name_bytes().is_ok_and(|own| own == name.as_bytes());
        for section in file.sections().filter(is_named) {
            let start = section.file_range().map_or(0, |(start, _)| start as usize);
            let found = Module::read_all(section.data().map_err(refused)?, offset.saturating_add(start))?;
            let placed = |module| Module { member: member.map(str::to_owned), linkage, ..module };
            modules.extend(found.into_iter().map(placed));
        }
    }
    Ok(modules)
}

fn archive(bytes: &[u8]) -> Result<Vec<Module<'_>>, FatbinError> {
    let refused =
        |error: object::Error| FatbinError::new(0, Reason::Host { form: "archive", error: error.to_string() });
    let file = ArchiveFile::parse(bytes).map_err(refused)?;
    let mut modules = Vec::new();
    for member in file.members() {
        let member = member.map_err(refused)?;
        let data = member.data(bytes).map_err(refused)?;
        if Form::of(data) == Some(Form::Host) {
            let name = String::from_utf8_lossy(member.name());
            modules.extend(host(data, member.file_range().0 as usize, Some(&name))?);
        }
    }
    Ok(modules)
}
