//! The text form: `Display` prints a module or function, `FromStr` reads it back. `{:#}` of a function spells the
//! mnemonics as the published opcode table does, letters turned by 13; both spellings are read. The grammar is
//! in `docs/ori.md`; after one round the text stays the same.

mod cursor;
mod parse_function;
mod parse_inst;
mod parse_module;
mod print_function;
mod print_module;

pub use cursor::ParseError;
pub(crate) use print_function::spelled;
pub use print_function::{commented, inst_text, operand_text, reg_name};

use crate::call::{Callee, Clobbers};
use crate::function::{FunctionKind, SymbolPart};
use crate::inst::InstFlags;
use crate::module::{DataRelocKind, Linkage, ObjectKind};
use oriole_isa::{Arch, RegFile};

/// Names of fieldless values in the text form.
struct Names<T: 'static>(&'static [(T, &'static str)]);

impl<T: Copy + PartialEq> Names<T> {
    /// The name; every table is complete, an empty name would show that one is not.
    fn of(&self, value: T) -> &'static str {
        self.0.iter().find(|(v, _)| *v == value).map_or("", |(_, name)| name)
    }

    fn value(&self, name: &str) -> Option<T> {
        self.0.iter().find(|(_, n)| *n == name).map(|(v, _)| *v)
    }
}

/// The target whose names of special registers the text form uses.
const NAMING_ARCH: Arch = Arch::Sm90;

const KINDS: Names<FunctionKind> =
    Names(&[(FunctionKind::Entry, "entry"), (FunctionKind::Device, "device"), (FunctionKind::Internal, "internal")]);

const PARTS: Names<SymbolPart> = Names(&[
    (SymbolPart::Low, "low"),
    (SymbolPart::High, "high"),
    (SymbolPart::Relative, "relative"),
    (SymbolPart::Whole, "whole"),
]);

const LINKAGES: Names<Linkage> = Names(&[
    (Linkage::Internal, "internal"),
    (Linkage::Visible, "visible"),
    (Linkage::Weak, "weak"),
    (Linkage::Common, "common"),
    (Linkage::External, "external"),
]);

const FLAGS: Names<InstFlags> = Names(&[
    (InstFlags::VOLATILE, "volatile"),
    (InstFlags::SPILL, "spill"),
    (InstFlags::REFILL, "refill"),
    (InstFlags::REMAT, "remat"),
    (InstFlags::WORD_AROUND, "word_around"),
    (InstFlags::BIT_SPILL, "bit_spill"),
    (InstFlags::BIT_REFILL, "bit_refill"),
    (InstFlags::BY_MASK, "by_mask"),
    (InstFlags::INVARIANT, "invariant"),
    (InstFlags::UNIFORM, "uniform"),
    (InstFlags::CONTRACTS, "contracts"),
    (InstFlags::MEETING, "meeting"),
    (InstFlags::MEMBERS, "members"),
    (InstFlags::ADDED, "added"),
    (InstFlags::MBARRIER, "mbarrier"),
    (InstFlags::OTHER_KIND, "other_kind"),
]);

const FILES: Names<RegFile> = Names(&[
    (RegFile::R, "R"),
    (RegFile::UR, "UR"),
    (RegFile::P, "P"),
    (RegFile::UP, "UP"),
    (RegFile::B, "B"),
    (RegFile::SB, "SB"),
]);

const OBJECT_KINDS: Names<ObjectKind> =
    Names(&[(ObjectKind::Texture, "texture"), (ObjectKind::Sampler, "sampler"), (ObjectKind::Surface, "surface")]);

const RELOC_KINDS: Names<DataRelocKind> =
    Names(&[(DataRelocKind::Address, "address"), (DataRelocKind::Generic, "generic")]);

fn callee_text(callee: Callee) -> String {
    match callee {
        Callee::Direct(symbol) => symbol.to_string(),
        Callee::Indirect => "indirect".to_owned(),
        Callee::Return => "return".to_owned(),
    }
}

fn clobbers_text(clobbers: &Clobbers) -> String {
    match clobbers {
        Clobbers::ByCallee => "callee".to_owned(),
        Clobbers::Mask(m) => {
            format!("{:x}:{:x}:{:x}:{:x}:{:x}:{:x}:{:x}:{:x}", m.r[0], m.r[1], m.r[2], m.r[3], m.ur, m.p, m.up, m.b)
        }
    }
}
