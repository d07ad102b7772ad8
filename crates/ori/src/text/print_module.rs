//! Printing modules.

use super::{LINKAGES, OBJECT_KINDS, RELOC_KINDS};
use crate::module::{DataReloc, DataRelocKind, Module, Object, SymbolData, SymbolKind, Variable};
use std::fmt::{self, Display, Formatter};

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, ".module {}", self.arch)?;
        for file in &self.files {
            writeln!(f, ".file {file}")?;
        }
        if self.independent_samplers {
            writeln!(f, ".independent")?;
        }
        for (symbol, data) in self.symbols.iter() {
            write!(f, ".symbol {symbol} {} {} ", data.name, LINKAGES.of(data.linkage))?;
            print_kind(f, data)?;
        }
        for (bank, bytes) in &self.const_banks {
            writeln!(f, ".bank {bank} {}", hex(bytes))?;
        }
        for symbol in &self.address_table {
            writeln!(f, ".address {symbol}")?;
        }
        for symbol in &self.function_table {
            writeln!(f, ".callable {symbol}")?;
        }
        for slot in &self.object_slots {
            write!(f, ".slot {}", slot.offset)?;
            slot.objects.iter().try_for_each(|symbol| write!(f, " {symbol}"))?;
            writeln!(f)?;
        }
        for func in self.functions.values() {
            write!(f, "{func}")?;
        }
        Ok(())
    }
}

fn print_kind(f: &mut Formatter<'_>, data: &SymbolData) -> fmt::Result {
    match &data.kind {
        SymbolKind::Function(id) => writeln!(f, "function {id}"),
        SymbolKind::ExternalFunction => writeln!(f, "external"),
        SymbolKind::DriverValue => writeln!(f, "driver"),
        SymbolKind::Object(object) => print_object(f, *object),
        SymbolKind::Variable(variable) => print_variable(f, variable),
    }
}

fn print_object(f: &mut Formatter<'_>, object: Object) -> fmt::Result {
    write!(f, "object {} modes={}", OBJECT_KINDS.of(object.kind), object.modes)?;
    if let Some(unnormalized) = object.unnormalized {
        write!(f, " unnormalized={}", u8::from(unnormalized))?;
    }
    writeln!(f)
}

fn print_variable(f: &mut Formatter<'_>, v: &Variable) -> fmt::Result {
    write!(f, "variable {} size={} align={}", v.space.name(), v.size, v.align)?;
    if let Some(offset) = v.offset {
        write!(f, " offset={offset}")?;
    }
    if !v.init.is_empty() {
        write!(f, " init={}", hex(&v.init))?;
    }
    for DataReloc { offset, size, symbol, addend, kind } in &v.relocs {
        write!(f, " reloc {offset} {size} {symbol} {addend:+} ")?;
        match kind {
            DataRelocKind::Byte(n) => write!(f, "byte{n}")?,
            _ => write!(f, "{}", RELOC_KINDS.of(*kind))?,
        }
    }
    writeln!(f)
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold("x".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
