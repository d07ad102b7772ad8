//! Reading functions.

use super::cursor::{Cursor, ParseError, Result};
use super::parse_inst::{inst, operand, register, register_name};
use super::{KINDS, PARTS};
use crate::call::{CallSite, Callee, Clobbers};
use crate::entity::{Block, CallId, SymRef, Symbol, VReg};
use crate::function::{Function, FunctionKind, JumpTable, Param, SymbolPart};
use crate::operand::{MAX_INDEX, Operand};
use crate::reg::{RegMask, VRegData, VRegFlags};
use smallvec::SmallVec;
use std::str::FromStr;

/// Numbered lines that are not empty and not comments.
pub(super) type Lines<'a> = std::iter::Peekable<Box<dyn Iterator<Item = (usize, &'a str)> + 'a>>;

pub(super) fn lines(text: &str) -> Lines<'_> {
    let numbered = text.lines().enumerate().map(|(i, line)| (i + 1, line.split("//").next().unwrap_or("").trim_end()));
    let all: Box<dyn Iterator<Item = (usize, &str)>> = Box::new(numbered.filter(|(_, line)| !line.trim().is_empty()));
    all.peekable()
}

impl FromStr for Function {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Function> {
        let mut lines = lines(text);
        let func = function(&mut lines)?;
        match lines.next() {
            None => Ok(func),
            Some((line, text)) => Cursor::new(text, line).error("nothing more expected after .end"),
        }
    }
}

/// From `.function` to `.end`.
pub(super) fn function(lines: &mut Lines<'_>) -> Result<Function> {
    let Some((number, text)) = lines.next() else { return Cursor::new("", 1).error("expected .function") };
    let mut c = Cursor::new(text, number);
    c.expect(".function")?;
    let kind = function_kind(&mut c)?;
    let mut func = Function::new(c.word()?, kind);
    c.expect_end()?;
    let mut block = None;
    let mut last = number;
    for (number, text) in lines {
        last = number;
        let mut c = Cursor::new(text, number);
        if c.eat(".end") {
            c.expect_end()?;
            check_blocks(&func, &c)?;
            return Ok(func);
        }
        if c.eat(".") {
            directive(&mut c, &mut func)?;
        } else if text.starts_with("bix") {
            block = Some(block_header(&mut c, &mut func)?);
        } else {
            let Some(block) = block else { return c.error("instruction before the first block") };
            let inst = inst(&mut c, &mut func)?;
            func.edit().append(block, inst);
        }
    }
    Cursor::new("", last).error("expected .end")
}

fn function_kind(c: &mut Cursor<'_>) -> Result<FunctionKind> {
    let start = c.clone();
    match KINDS.value(c.name()?) {
        Some(kind) => Ok(kind),
        None => start.error("expected entry, device or internal"),
    }
}

/// `bix3: -> bix1, bix2`.
fn block_header(c: &mut Cursor<'_>, func: &mut Function) -> Result<Block> {
    let start = c.clone();
    let block = c.entity("bix", Block::from_u32)?;
    c.expect(":")?;
    reserve(func, block);
    if func.layout().contains(&block) {
        return start.error(format!("block {block} is defined twice"));
    }
    func.edit().place_block_last(block);
    if c.eat("->") {
        let mut succs: SmallVec<[Block; 2]> = SmallVec::new();
        loop {
            let succ = c.entity("bix", Block::from_u32)?;
            reserve(func, succ);
            succs.push(succ);
            if !c.eat(",") {
                break;
            }
        }
        func.edit().set_succs(block, &succs);
    }
    c.expect_end()?;
    Ok(block)
}

/// Make the block exist, with all of lower number.
fn reserve(func: &mut Function, block: Block) {
    // The number is within the limit of blocks, as the cursor has seen.
    while !func.blocks().is_valid(block) && func.edit().new_detached_block().is_ok() {}
}

/// Every block that something names must be defined.
fn check_blocks(func: &Function, c: &Cursor<'_>) -> Result<()> {
    let mut defined = cranelift_entity::EntitySet::new();
    defined.extend(func.layout().iter().copied());
    let succs = func.layout().iter().flat_map(|b| func.succs(*b).iter().copied());
    let named = func.iter_insts().flat_map(|(_, i)| func[i].operands.iter().filter_map(|o| o.as_block()));
    match succs.chain(named).find(|b| !defined.contains(*b)) {
        Some(block) => c.error(format!("block {block} is used but not defined")),
        None => Ok(()),
    }
}

fn directive(c: &mut Cursor<'_>, func: &mut Function) -> Result<()> {
    let start = c.clone();
    let name = c.name()?;
    let a = func.attributes_mut();
    match name {
        "maxntid" => a.maxntid = Some([c.number()?, c.number()?, c.number()?]),
        "reqntid" => a.reqntid = Some([c.number()?, c.number()?, c.number()?]),
        "cluster" => a.cluster = Some([c.number()?, c.number()?, c.number()?]),
        "language" => a.languages.push(c.number()?),
        "minnctapersm" => a.minnctapersm = Some(c.number()?),
        "maxnreg" => a.maxnreg = Some(c.number()?),
        "minperctamemory" => a.min_per_cta_memory = Some(c.number()?),
        "maxclusterrank" => a.max_cluster_rank = Some(c.number()?),
        "barriers" => a.barriers = c.number()?,
        "shared_bytes" => a.shared_bytes = c.number()?,
        "explicitcluster" => a.explicit_cluster = true,
        "noreturn" => a.noreturn = true,
        "tensor_memory" => a.tensor_memory = true,
        "tensor_blocks" => a.tensor_blocks = Some(c.number()?),
        "tensor_book" => a.tensor_book = true,
        "replaces_tensor_map" => a.replaces_tensor_map = true,
        "nounroll" => a.no_unroll.push(c.entity("bix", Block::from_u32)?),
        "param" => {
            let name = c.word()?.to_owned();
            let (offset, size, align) = (c.keyed("offset")?, c.keyed("size")?, c.keyed("align")?);
            let hidden = !c.is_done() && c.word()? == "hidden";
            func.add_param(Param { name, offset, size, align, hidden });
        }
        "frame" => {
            func.frame_mut().local_bytes = c.keyed("local")?;
            func.frame_mut().spill_bytes = c.keyed("spill")?;
            func.frame_mut().align = c.keyed("align")?;
            func.frame_mut().dynamic = !c.is_done() && c.word()? == "dynamic";
        }
        "jumptable" => {
            let mut table = JumpTable { offset: c.keyed("offset")?, targets: Vec::new() };
            while !c.is_done() {
                table.targets.push(c.number()?);
            }
            func.jump_tables_mut().push(table);
        }
        "literals" => {
            func.literals_mut().base = c.keyed("base")?;
            while !c.is_done() {
                let value = c.number()?;
                func.literals_mut().values.push(value);
            }
        }
        "reg" => declare(c, func)?,
        "values" => func.edit().set_first_value(Some(VReg::from_u32(c.number()?))),
        "livein" => {
            while !c.is_done() {
                let reg = register(c, func)?;
                func.edit().add_live_in(reg);
            }
        }
        "symref" => symref(c, func)?,
        "call" => call(c, func)?,
        _ => return start.error(format!("unknown directive '.{name}'")),
    }
    c.expect_end()
}

/// `%G3 group=12/4 physical=8 fixed slot=16`.
fn declare(c: &mut Cursor<'_>, func: &mut Function) -> Result<()> {
    let start = c.clone();
    let (reg_type, reg) = register_name(c)?;
    if reg.as_u32() as usize != func.regs().len() {
        return start.error(format!("registers are declared in order: number {} comes next", func.regs().len()));
    }
    let mut data = VRegData::new(reg_type);
    if reg_type.is_group() {
        let components = c.keyed("group")?;
        c.expect("/")?;
        data = VRegData::group_of(reg_type, components, c.number()?);
    }
    while !c.is_done() {
        let key = c.clone();
        match c.name()? {
            "physical" => data.physical = Some(value(c)?),
            "fixed" => data.flags |= VRegFlags::FIXED,
            "spilled" => data.flags |= VRegFlags::SPILLED,
            "slot" => data.spill_slot = Some(value(c)?),
            "home" => data.home = value(c)?,
            _ => return key.error("expected physical, fixed, spilled, slot or home"),
        }
    }
    func.add_vreg(data).or_else(|e| start.error(e.to_string()))?;
    Ok(())
}

fn value<T: TryFrom<i128>>(c: &mut Cursor<'_>) -> Result<T> {
    c.expect("=")?;
    c.number()
}

/// `ref0 sym3 +8 low`.
fn symref(c: &mut Cursor<'_>, func: &mut Function) -> Result<()> {
    let start = c.clone();
    let reference = c.entity("ref", SymRef::from_u32)?;
    let symbol = c.entity("sym", Symbol::from_u32)?;
    let addend = c.number()?;
    let part = symbol_part(c)?;
    match func.symbol_operand(symbol, addend, part) {
        Ok(operand) if operand == Operand::symbol(reference) => Ok(()),
        Ok(_) => start.error("symbol references are numbered in order, each once"),
        Err(e) => start.error(e.to_string()),
    }
}

fn symbol_part(c: &mut Cursor<'_>) -> Result<SymbolPart> {
    let start = c.clone();
    match PARTS.value(c.name()?) {
        Some(part) => Ok(part),
        None => start.error("expected low, high, relative or whole"),
    }
}

/// `call0 sym3 (args) -> (results) clobbers`.
fn call(c: &mut Cursor<'_>, func: &mut Function) -> Result<()> {
    let start = c.clone();
    let id = c.entity("call", CallId::from_u32)?;
    if id.as_u32() as usize != func.call_sites().len() || func.call_sites().len() >= MAX_INDEX {
        return start.error(format!("call sites are numbered in order: {} comes next", func.call_sites().len()));
    }
    let callee = if c.eat("indirect") {
        Callee::Indirect
    } else if c.eat("return") {
        Callee::Return
    } else {
        Callee::Direct(c.entity("sym", Symbol::from_u32)?)
    };
    let args = operands(c, func)?;
    c.expect("->")?;
    let results = operands(c, func)?;
    let clobbers = if c.eat("callee") { Clobbers::ByCallee } else { Clobbers::Mask(mask(c)?) };
    func.edit().add_site(CallSite { callee, args, results, clobbers });
    Ok(())
}

fn operands(c: &mut Cursor<'_>, func: &mut Function) -> Result<Vec<Operand>> {
    let mut list = Vec::new();
    c.expect("(")?;
    while !c.eat(")") {
        if !list.is_empty() {
            c.expect(",")?;
        }
        list.push(operand(c, func)?);
    }
    Ok(list)
}

fn mask(c: &mut Cursor<'_>) -> Result<RegMask> {
    let start = c.clone();
    let mut words = [0u128; 8];
    for (i, word) in words.iter_mut().enumerate() {
        if i > 0 {
            c.expect(":")?;
        }
        *word = c.hex()?;
    }
    let [r0, r1, r2, r3, ur, p, up, b] = words;
    let general = [r0, r1, r2, r3].map(u64::try_from);
    match (general, u8::try_from(p), u8::try_from(up), u16::try_from(b)) {
        ([Ok(r0), Ok(r1), Ok(r2), Ok(r3)], Ok(p), Ok(up), Ok(b)) => Ok(RegMask { r: [r0, r1, r2, r3], ur, p, up, b }),
        _ => start.error("register mask out of range"),
    }
}
