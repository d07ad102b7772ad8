//! Reading instructions and operands.

use super::cursor::{Cursor, Result};
use super::{FILES, FLAGS, NAMING_ARCH};
use crate::entity::{Block, CallId, SymRef, VReg};
use crate::function::{Function, SourceLoc};
use crate::inst::{Guard, Inst, InstKind};
use crate::operand::{ImmKind, Operand, Piece};
use crate::published::opcodes;
use crate::reg::RegType;
use oriole_isa::{Control, FieldId, Mods, Opcode, Setting, special_registers};

/// One instruction: guard, mnemonic, modifiers, operands, notes.
pub(super) fn inst(c: &mut Cursor<'_>, func: &mut Function) -> Result<Inst> {
    let guard = if c.eat("@") { Some(guard(c, func)?) } else { None };
    let start = c.clone();
    let name = c.dotted_name()?;
    let Some(opcode) = opcodes::spelled(name) else {
        return start.error(format!("unknown instruction '{name}'"));
    };
    let mods = mods(c)?;
    let mut operands = Vec::new();
    while !c.is_done() && !c.rest().starts_with(';') {
        if !operands.is_empty() {
            c.expect(",")?;
        }
        operands.push(operand(c, func)?);
    }
    let mut inst = Inst::new(opcode, mods, &operands).guarded(guard);
    while c.eat(";") {
        note(c, func, &mut inst)?;
    }
    c.expect_end()?;
    Ok(inst)
}

fn guard(c: &mut Cursor<'_>, func: &Function) -> Result<Guard> {
    let negated = c.eat("!");
    Ok(Guard { pred: register(c, func)?, negated })
}

fn mods(c: &mut Cursor<'_>) -> Result<Mods> {
    let mut mods = Mods::new();
    if !c.eat("{") {
        return Ok(mods);
    }
    loop {
        let start = c.clone();
        let name = c.name()?;
        let Some(field) = FieldId::from_name(name) else { return start.error(format!("unknown modifier '{name}'")) };
        c.expect("=")?;
        mods.apply(Setting::raw(field, mod_value(c, field)?));
        if !c.eat(",") {
            break;
        }
    }
    c.expect("}")?;
    Ok(mods)
}

fn mod_value(c: &mut Cursor<'_>, field: FieldId) -> Result<u8> {
    if c.eat("#") {
        return c.number();
    }
    let start = c.clone();
    let name = c.dotted_name()?;
    match field.value_named(name) {
        Some(value) => Ok(value),
        None => start.error(format!("modifier '{}' has no value '{name}'", field.name())),
    }
}

fn note(c: &mut Cursor<'_>, func: &mut Function, inst: &mut Inst) -> Result<()> {
    if c.eat("control=") {
        inst.control = control(c)?;
    } else if c.eat("at=") {
        let file = c.number()?;
        c.expect(":")?;
        let line = c.number()?;
        c.expect(":")?;
        let column = c.number()?;
        inst.loc = func.source_loc(SourceLoc { file, line, column }).into();
    } else {
        let start = c.clone();
        let name = c.name()?;
        match (name, FLAGS.value(name)) {
            ("phi", _) => (inst.kind, inst.opcode) = (InstKind::Phi, Opcode::NOP),
            ("hold", _) => (inst.kind, inst.opcode) = (InstKind::Hold, Opcode::NOP),
            ("undef", _) => (inst.kind, inst.opcode) = (InstKind::Undef, Opcode::NOP),
            (_, Some(flag)) => inst.flags |= flag,
            (_, None) => {
                *c = start;
                inst.call = c.entity("call", CallId::from_u32)?.into();
            }
        }
    }
    Ok(())
}

fn control(c: &mut Cursor<'_>) -> Result<Control> {
    let wait_mask = c.number()?;
    c.expect(":")?;
    let read_scoreboard = c.number()?;
    c.expect(":")?;
    let write_scoreboard = c.number()?;
    c.expect(":")?;
    let stay = c.number::<u8>()? != 0;
    c.expect(":")?;
    Ok(Control { stall: c.number()?, stay, write_scoreboard, read_scoreboard, wait_mask, ..Control::NONE })
}

/// A virtual register `%R3`; it must be declared with that type.
pub(super) fn register(c: &mut Cursor<'_>, func: &Function) -> Result<VReg> {
    let start = c.clone();
    let (reg_type, reg) = register_name(c)?;
    match func.regs().get(reg) {
        Some(data) if data.reg_type == reg_type => Ok(reg),
        _ => start.error(format!("register %{}{} is not declared", reg_type, reg.as_u32())),
    }
}

/// Type prefix and number of `%R3`.
pub(super) fn register_name(c: &mut Cursor<'_>) -> Result<(RegType, VReg)> {
    c.expect("%")?;
    let start = c.clone();
    let name = c.name()?;
    let split = name.find(|ch: char| ch.is_ascii_digit()).unwrap_or(name.len());
    let (prefix, digits) = name.split_at(split);
    match (RegType::from_prefix(prefix), digits.parse::<u32>()) {
        (Some(reg_type), Ok(number)) => Ok((reg_type, VReg::from_u32(number))),
        _ => start.error(format!("'%{name}' is no register")),
    }
}

/// One operand with its flags.
pub(super) fn operand(c: &mut Cursor<'_>, func: &mut Function) -> Result<Operand> {
    let neg = c.eat("-");
    let not = c.eat("!") || c.eat("~");
    let abs = c.eat("|");
    let plain = plain_operand(c, func)?;
    if abs {
        c.expect("|")?;
    }
    let reuse = c.eat(".reuse");
    Ok(plain.with_neg(neg).with_not(not).with_abs(abs).with_reuse(reuse))
}

fn plain_operand(c: &mut Cursor<'_>, func: &mut Function) -> Result<Operand> {
    if c.rest().starts_with('%') {
        let reg = register(c, func)?;
        return Ok(piece(c, reg)?.unwrap_or(Operand::reg(reg)));
    }
    if c.eat("<") {
        let mut values = Vec::new();
        while !c.eat(">") {
            values.push(register(c, func)?);
        }
        return if values.len() < 2 || values.len() > 255 {
            c.error("a tuple has 2 to 255 values")
        } else {
            Ok(func.tuple(&values))
        };
    }
    if c.eat("s:") {
        return Ok(Operand::imm_signed(c.number()?));
    }
    if c.eat("h:") {
        return Ok(Operand::imm_of(c.number()?, ImmKind::High));
    }
    if c.eat("c[") {
        let bank = c.number()?;
        return Ok(Operand::cbank(bank, offset(c)?));
    }
    if c.eat("cx[") {
        let handle = register(c, func)?;
        return Ok(Operand::cbank_bindless(handle, offset(c)?));
    }
    if c.rest().starts_with(|ch: char| ch.is_ascii_digit()) {
        return Ok(Operand::imm(c.number()?));
    }
    named_operand(c)
}

/// `][offset]` of a constant.
fn offset(c: &mut Cursor<'_>) -> Result<u32> {
    c.expect("][")?;
    let start = c.clone();
    let offset: u32 = c.number()?;
    if offset as usize >= crate::operand::MAX_INDEX {
        return start.error("constant offset out of range");
    }
    c.expect("]")?;
    Ok(offset)
}

/// `.first` or `.first:count`, but not `.reuse`.
fn piece(c: &mut Cursor<'_>, reg: VReg) -> Result<Option<Operand>> {
    let rest = c.rest();
    if !rest.strip_prefix('.').is_some_and(|r| r.starts_with(|ch: char| ch.is_ascii_digit())) {
        return Ok(None);
    }
    c.expect(".")?;
    let first = c.number()?;
    let count = if c.eat(":") { c.number()? } else { 1 };
    let piece = Piece { first, count };
    Ok(Some(Operand::piece(reg, piece.first, piece.count)))
}

fn named_operand(c: &mut Cursor<'_>) -> Result<Operand> {
    let start = c.clone();
    let name = c.dotted_name_without(".reuse")?;
    let fixed = [
        ("_", Operand::NONE),
        ("RZ", Operand::rz()),
        ("URZ", Operand::urz()),
        ("PT", Operand::pt()),
        ("UPT", Operand::upt()),
        ("undef", Operand::undef()),
    ];
    if let Some((_, operand)) = fixed.iter().find(|(n, _)| *n == name) {
        return Ok(*operand);
    }
    if let Some(number) = special_registers::parse(name, NAMING_ARCH) {
        return Ok(Operand::special(number));
    }
    let split = name.find(|ch: char| ch.is_ascii_digit()).unwrap_or(name.len());
    let (prefix, digits) = name.split_at(split);
    let Ok(number) = digits.parse::<u32>() else { return start.error(format!("'{name}' is no operand")) };
    if number as usize >= crate::operand::MAX_INDEX {
        return start.error("number out of range");
    }
    match (prefix, FILES.value(prefix)) {
        ("SB", _) => Ok(Operand::scoreboard(u8::try_from(number).or_else(|_| start.error("scoreboard out of range"))?)),
        (_, Some(file)) => {
            let count = if c.eat(":") { c.number()? } else { 1 };
            let number = u16::try_from(number).or_else(|_| start.error("register out of range"))?;
            Ok(Operand::phys_group(file, number, count))
        }
        ("bix", _) => Ok(Operand::block(Block::from_u32(number))),
        ("ref", _) => Ok(Operand::symbol(SymRef::from_u32(number))),
        _ => start.error(format!("'{name}' is no operand")),
    }
}
