//! Reading modules.

use super::cursor::{Cursor, ParseError, Result};
use super::parse_function::{Lines, function, lines};
use super::{LINKAGES, OBJECT_KINDS, RELOC_KINDS};
use crate::entity::{FuncId, Symbol};
use crate::module::{DataReloc, DataRelocKind, Module, Object, ObjectSlot, SymbolData, SymbolKind, Variable};
use crate::space::MemSpace;
use std::str::FromStr;

impl FromStr for Module {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Module> {
        let mut lines = lines(text);
        let Some((number, first)) = lines.next() else { return Cursor::new("", 1).error("expected .module") };
        let mut c = Cursor::new(first, number);
        c.expect(".module")?;
        let arch = c.word()?.parse().or_else(|e: oriole_isa::UnknownArch| c.error(e.to_string()))?;
        c.expect_end()?;
        let mut module = Module::new(arch);
        while let Some(&(number, line)) = lines.peek() {
            item(&mut lines, &mut module, &mut Cursor::new(line, number))?;
        }
        check_symbols(&module)?;
        Ok(module)
    }
}

fn item(lines: &mut Lines<'_>, module: &mut Module, c: &mut Cursor<'_>) -> Result<()> {
    if c.rest().starts_with(".function") {
        module.functions.push(function(lines)?);
        return Ok(());
    }
    lines.next();
    if c.eat(".file") {
        module.files.push(c.rest().to_owned());
        return Ok(());
    }
    if c.eat(".independent") {
        module.independent_samplers = true;
    } else if c.eat(".symbol") {
        symbol(c, module)?;
    } else if c.eat(".bank") {
        let bank = c.number()?;
        module.const_banks.insert(bank, bytes(c)?);
    } else if c.eat(".address") {
        module.address_table.push(c.entity("sym", Symbol::from_u32)?);
    } else if c.eat(".callable") {
        module.function_table.push(c.entity("sym", Symbol::from_u32)?);
    } else if c.eat(".slot") {
        let mut slot = ObjectSlot { offset: c.number()?, objects: Default::default() };
        while !c.is_done() {
            slot.objects.push(c.entity("sym", Symbol::from_u32)?);
        }
        module.object_slots.push(slot);
    } else {
        return c.error("expected .file, .independent, .symbol, .bank, .address, .callable, .slot or .function");
    }
    c.expect_end()
}

fn symbol(c: &mut Cursor<'_>, module: &mut Module) -> Result<()> {
    let start = c.clone();
    let symbol = c.entity("sym", Symbol::from_u32)?;
    if symbol.as_u32() as usize != module.symbols.len() {
        return start.error(format!("symbols are numbered in order: {} comes next", module.symbols.len()));
    }
    let name = c.word()?.to_owned();
    let start = c.clone();
    let Some(linkage) = LINKAGES.value(c.name()?) else { return start.error("unknown linkage") };
    let start = c.clone();
    let kind = match c.name()? {
        "function" => SymbolKind::Function(c.entity("fn", FuncId::from_u32)?),
        "external" => SymbolKind::ExternalFunction,
        "variable" => SymbolKind::Variable(variable(c)?),
        "driver" => SymbolKind::DriverValue,
        "object" => SymbolKind::Object(object(c)?),
        _ => return start.error("expected function, external, driver, variable or object"),
    };
    module.symbols.push(SymbolData { name, linkage, kind });
    Ok(())
}

fn object(c: &mut Cursor<'_>) -> Result<Object> {
    let start = c.clone();
    let Some(kind) = OBJECT_KINDS.value(c.name()?) else { return start.error("expected texture, sampler or surface") };
    let modes = c.keyed("modes")?;
    let unnormalized = if c.is_done() { None } else { Some(c.keyed::<u8>("unnormalized")? != 0) };
    Ok(Object { kind, modes, unnormalized })
}

fn variable(c: &mut Cursor<'_>) -> Result<Variable> {
    let start = c.clone();
    let Some(space) = MemSpace::from_name(c.name()?) else { return start.error("unknown memory space") };
    let (size, align) = (c.keyed("size")?, c.keyed("align")?);
    let mut v = Variable { space, size, align, init: Vec::new(), relocs: Vec::new(), offset: None };
    while !c.is_done() {
        if c.eat("offset=") {
            v.offset = Some(c.number()?);
        } else if c.eat("init=") {
            v.init = bytes(c)?;
        } else {
            c.expect("reloc")?;
            v.relocs.push(reloc(c)?);
        }
    }
    Ok(v)
}

fn reloc(c: &mut Cursor<'_>) -> Result<DataReloc> {
    let (offset, size) = (c.number()?, c.number()?);
    let symbol = c.entity("sym", Symbol::from_u32)?;
    let addend = c.number()?;
    let start = c.clone();
    let name = c.name()?;
    let byte = name.strip_prefix("byte").and_then(|n| n.parse().ok()).map(DataRelocKind::Byte);
    match RELOC_KINDS.value(name).or(byte) {
        Some(kind) => Ok(DataReloc { offset, size, symbol, addend, kind }),
        None => start.error("expected address, generic or byteN"),
    }
}

/// `x` and pairs of hexadecimal digits.
fn bytes(c: &mut Cursor<'_>) -> Result<Vec<u8>> {
    let start = c.clone();
    let digits = c.name()?.strip_prefix('x').unwrap_or("?");
    let pairs = digits.as_bytes().chunks(2);
    let decoded = pairs.map(|pair| std::str::from_utf8(pair).ok().and_then(|p| u8::from_str_radix(p, 16).ok()));
    match decoded.collect() {
        Some(bytes) if digits.len() % 2 == 0 => Ok(bytes),
        _ => start.error("expected x and pairs of hexadecimal digits"),
    }
}

/// Every symbol and function that something names must exist.
fn check_symbols(module: &Module) -> Result<()> {
    let known = |symbol: &Symbol| module.symbols.is_valid(*symbol);
    let refs = module.functions.values().flat_map(|f| f.symbol_refs().values().map(|r| &r.symbol));
    let relocs = module.symbols.values().flat_map(|s| match &s.kind {
        SymbolKind::Variable(v) => v.relocs.as_slice(),
        _ => &[],
    });
    let slots = module.object_slots.iter().flat_map(|slot| &slot.objects);
    let tables = module.address_table.iter().chain(&module.function_table).chain(slots);
    let mut named = refs.chain(relocs.map(|r| &r.symbol)).chain(tables);
    if let Some(symbol) = named.find(|s| !known(s)) {
        return Cursor::new("", 1).error(format!("{symbol} is used but not defined"));
    }
    let missing = |s: &&SymbolData| matches!(s.kind, SymbolKind::Function(id) if !module.functions.is_valid(id));
    match module.symbols.values().find(missing) {
        Some(s) => Cursor::new("", 1).error(format!("symbol '{}' names a function that is not there", s.name)),
        None => Ok(()),
    }
}
