//! Bytes to [`Cubin`].

mod functions;
mod tables;

pub(crate) use functions::{PARAM_SIZE_SHIFT, STO_CUDA_ENTRY};
pub use tables::takes_no_space;
pub(crate) use tables::{STO_CUDA_SHARED, STT_CUDA_OBJECT};

use crate::error::CubinError;
use crate::model::{ConstantBank, Cubin, Function, Section, SectionKind, Symbol, SymbolKind, Variable};
use crate::nvinfo;

/// The constant bank of `.const` variables.
const VARIABLE_BANK: u32 = 3;

impl Cubin {
    /// Bytes of local memory at fixed addresses, from 0 on, that a function has which ptxas has compiled without ABI: one that calls a
    /// function with two results in registers. Others have a stack.
    pub fn absolute_local_of(&self, function: &Function) -> u32 {
        let name = format!(".nv.local.{}", function.name);
        let section = self.sections.iter().find(|section| section.kind == SectionKind::Local && section.name == name);
        section.map_or(0, |section| u32::try_from(section.size).unwrap_or(u32::MAX))
    }

    /// Reads a cubin. Any bytes are safe to give: damage is an error, never a panic.
    pub fn parse(bytes: &[u8]) -> Result<Cubin, CubinError> {
        let (tables, mut budget) = tables::read(bytes)?;
        let info = match tables.sections.iter().find(|s| s.name == ".nv.info") {
            Some(section) => nvinfo::decode(&section.data, section.file_offset)?,
            None => Vec::new(),
        };
        let functions = functions::collect(&tables, &info, &mut budget)?;
        let calls = functions::CallGraph::read(&tables)?;
        Ok(Cubin {
            target: tables.target,
            kind: tables.kind,
            e_flags: tables.e_flags,
            abi_version: tables.abi_version,
            os_abi: tables.os_abi,
            constant_banks: constant_banks(&tables.sections),
            globals: variables(&tables.sections, &tables.symbols, |kind| {
                matches!(kind, SectionKind::Global | SectionKind::GlobalInit)
            }),
            constants: variables(&tables.sections, &tables.symbols, |kind| {
                matches!(kind, SectionKind::Constant { bank: VARIABLE_BANK })
            }),
            calls: calls.direct,
            address_taken: calls.address_taken,
            indirect_callers: calls.indirect,
            functions,
            info,
            sections: tables.sections,
            symbols: tables.symbols,
            relocations: tables.relocations,
        })
    }

    /// The kernel called `name`.
    pub fn kernel(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|f| f.is_kernel && f.name == name)
    }

    /// All kernels, in the order of their symbols.
    pub fn kernels(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(|f| f.is_kernel)
    }

    /// The code of a function, as it stands in the file.
    pub fn code(&self, function: &Function) -> &[u8] {
        let data = self.sections.get(function.section).map_or(&[][..], |s| &s.data);
        let start = usize::try_from(function.offset).unwrap_or(usize::MAX);
        let size = usize::try_from(function.size).unwrap_or(usize::MAX);
        data.get(start..start.saturating_add(size)).unwrap_or(&[])
    }

    /// The constant banks that code of `function`'s section sees: those of the module and those
    /// of the kernel that owns the section.
    pub fn constant_banks_of<'a>(&'a self, function: &'a Function) -> impl Iterator<Item = &'a ConstantBank> {
        let owner = self.sections.get(function.section).and_then(|s| s.name.strip_prefix(".text."));
        self.constant_banks.iter().filter(move |b| b.function.is_none() || b.function.as_deref() == owner)
    }
}

fn constant_banks(sections: &[Section]) -> Vec<ConstantBank> {
    let banks = sections.iter().enumerate().filter_map(|(index, section)| {
        let SectionKind::Constant { bank } = section.kind else { return None };
        let rest = section.name.strip_prefix(".nv.constant")?;
        let function = rest.split_once('.').map(|(_, name)| name.to_owned());
        Some(ConstantBank { bank, section: index, function, size: section.size })
    });
    banks.collect()
}

/// The variables in sections of the wanted kinds, in the order of their symbols.
fn variables(sections: &[Section], symbols: &[Symbol], wanted: fn(&SectionKind) -> bool) -> Vec<Variable> {
    let found = symbols.iter().enumerate().filter_map(|(index, symbol)| {
        let section = symbol.section?;
        let is_object = symbol.kind == SymbolKind::Object;
        let variable =
            || Variable { name: symbol.name.clone(), symbol: index, section, offset: symbol.value, size: symbol.size };
        (is_object && wanted(&sections.get(section)?.kind)).then(variable)
    });
    found.collect()
}
