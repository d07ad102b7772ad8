//! Reading source operands.

use crate::error::{Lowered, invalid};
use crate::function::handle::Handle;
use crate::function::operands::{Wide, word};
use crate::function::place::Place;
use crate::function::{FnLower, bindings, ops, place, special};
use oriole_ori::{Operand, RegType, VReg};
use oriole_ptx::ast::{self, Address, AddressBase, Imm, Name, ScalarType};

/// A source of up to 32 bits: a register, an integer or float constant (as its 32 bits), a
/// special register, the address of a shared, constant or local variable.
pub(crate) fn src(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<Operand> {
    match operand {
        ast::Operand::Imm(imm, _) => Ok(word(imm_bits32(*imm))),
        ast::Operand::Special { .. } => special::special32(cx, operand),
        ast::Operand::Name(name) => match bindings::named_register(cx, *name)? {
            Some(register) => of_type(cx, operand, register, RegType::R),
            None => place::address32(cx, *name, 0),
        },
        ast::Operand::Offset { .. } => {
            let (name, offset) = bindings::name_and_offset(cx, operand)?;
            if bindings::is_register(cx, name)? {
                register_sum(cx, name, offset)
            } else {
                place::address32(cx, name, offset)
            }
        }
        ast::Operand::Sink(_) => Ok(Operand::rz()),
        _ => src_register(cx, operand, RegType::R),
    }
}

/// A source of type f32: as [`src`], constants of any form rounded to f32.
pub(crate) fn src_f32(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<Operand> {
    match operand {
        ast::Operand::Imm(imm, _) => Ok(word(imm.to_f32_bits())),
        _ => src(cx, operand),
    }
}

/// A 64-bit source: a register, a constant (sign-extended as written), an address.
pub(crate) fn src64(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<Wide> {
    match operand {
        ast::Operand::Imm(imm, _) => Ok(wide_constant(imm_bits64(*imm))),
        ast::Operand::Special { .. } => special::special64(cx, operand),
        ast::Operand::Name(name) => {
            if bindings::is_register(cx, *name)? {
                Ok(Wide::of_pair(pair_register(cx, operand)?))
            } else {
                place::address64(cx, *name, 0)
            }
        }
        ast::Operand::Offset { .. } => {
            let (name, offset) = bindings::name_and_offset(cx, operand)?;
            if bindings::is_register(cx, name)? {
                register_sum64(cx, name, offset)
            } else {
                place::address64(cx, name, offset)
            }
        }
        _ => Ok(Wide::of_pair(pair_register(cx, operand)?)),
    }
}

/// A source of type f64: as [`src64`], constants of any form converted to f64.
pub(crate) fn src_f64(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<Wide> {
    match operand {
        ast::Operand::Imm(imm, _) => Ok(wide_constant(imm.to_f64_bits())),
        _ => src64(cx, operand),
    }
}

/// A predicate source: `%p`, `!%p`, or a constant.
pub(crate) fn pred(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<Operand> {
    match operand {
        ast::Operand::Not(inner, _) => Ok(pred(cx, inner)?.not()),
        ast::Operand::Imm(imm, _) => Ok(Operand::pt().with_not(imm.int_bits() == Some(0))),
        ast::Operand::Special { .. } => special::special_pred(cx, operand),
        _ => src_register(cx, operand, RegType::P),
    }
}

/// The low 32 bits of an integer register plus a constant.
fn register_sum(cx: &mut FnLower<'_, '_>, name: Name, constant: i64) -> Lowered<Operand> {
    let (reg, _) = bindings::register(cx, &ast::Operand::Name(name))?;
    let base = if cx.func[reg].components == 1 { Operand::reg(reg) } else { Operand::lo(reg) };
    ops::moved(cx, base, constant as u32)
}

/// A 64-bit integer register plus a constant.
fn register_sum64(cx: &mut FnLower<'_, '_>, name: Name, constant: i64) -> Lowered<Wide> {
    let pair = pair_register(cx, &ast::Operand::Name(name))?;
    let sum = cx.temp64()?;
    ops::add64(cx, sum, Wide::of_pair(pair), Wide::of_bits(constant as u64))?;
    Ok(Wide::of_pair(sum))
}

/// The register of an operand, which must be of the type `wanted`.
fn src_register(cx: &mut FnLower<'_, '_>, operand: &ast::Operand, wanted: RegType) -> Lowered<Operand> {
    let register = bindings::register(cx, operand)?;
    of_type(cx, operand, register, wanted)
}

/// The register, with its declared type, of an operand that must be of the type `wanted`. Loads, stores and conversions
/// take wider registers, of which the low word counts; the checker refuses them elsewhere.
fn of_type(
    cx: &FnLower<'_, '_>,
    operand: &ast::Operand,
    (reg, ty): (VReg, ScalarType),
    wanted: RegType,
) -> Lowered<Operand> {
    match (cx.func[reg].reg_type, wanted) {
        (found, wanted) if found == wanted => return Ok(Operand::reg(reg)),
        (RegType::Pair | RegType::Quad, RegType::R) => return Ok(Operand::comp(reg, 0)),
        _ => {}
    }
    let needed = if wanted == RegType::P { "a predicate" } else { "up to 32 bits" };
    Err(invalid(operand.span(), format!("a register of type .{ty} stands where {needed} is needed")))
}

/// A 64-bit register; the lower half of one of 128 bits.
pub(crate) fn pair_register(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<VReg> {
    let (reg, ty) = bindings::register(cx, operand)?;
    match cx.func[reg].reg_type {
        RegType::Pair => return Ok(reg),
        RegType::Quad => {
            let low = cx.temp64()?;
            ops::mov(cx, Operand::lo(low), Operand::comp(reg, 0))?;
            ops::mov(cx, Operand::hi(low), Operand::comp(reg, 1))?;
            return Ok(low);
        }
        _ => {}
    }
    Err(invalid(operand.span(), format!("a register of type .{ty} stands where 64 bits are needed")))
}

/// A 128-bit register; a temporary with a constant, of whose 64 bits the sign goes no further, as with ptxas.
pub(crate) fn quad_register(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<VReg> {
    if let ast::Operand::Imm(imm, _) = operand {
        let quad = cx.temp_of(RegType::Quad)?;
        let bits = imm_bits64(*imm);
        for (k, bits) in [bits as u32, (bits >> 32) as u32, 0, 0].into_iter().enumerate() {
            ops::mov(cx, Operand::comp(quad, k as u8), word(bits))?;
        }
        return Ok(quad);
    }
    let (reg, ty) = bindings::register(cx, operand)?;
    if cx.func[reg].reg_type == RegType::Quad {
        return Ok(reg);
    }
    Err(invalid(operand.span(), format!("a register of type .{ty} stands where 128 bits are needed")))
}

// ---- textures, samplers, surfaces ----

/// What stands first in the brackets of a texture or surface instruction.
pub(crate) fn handle_of_base(cx: &mut FnLower<'_, '_>, address: &Address) -> Lowered<Handle> {
    match address.base {
        AddressBase::Name(name) => handle_of(cx, &ast::Operand::Name(name)),
        AddressBase::Element(name, part) => handle_of(cx, &ast::Operand::Part(name, part)),
        AddressBase::Absolute | AddressBase::Item(..) => {
            Err(invalid(address.span, "a texture, sampler or surface is needed here"))
        }
    }
}

/// A texture, sampler or surface: a name, or a 64-bit register or parameter.
pub(crate) fn handle_of(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<Handle> {
    let place = match operand {
        ast::Operand::Name(name) if !bindings::is_register(cx, *name)? => Some(place::of(cx, *name)?),
        _ => None,
    };
    Ok(match place {
        Some(Place::Object(symbol)) => Handle::Name(symbol),
        // A parameter that holds a handle.
        Some(Place::KernelParam(offset)) => Handle::Word(Operand::cbank(0, offset)),
        _ => Handle::Word(src64(cx, operand)?.lo),
    })
}

// ---- constants ----

/// A 64-bit constant.
fn wide_constant(bits: u64) -> Wide {
    Wide::of_halves(word(bits as u32), word((bits >> 32) as u32))
}

/// The 32 bits of a constant: of an integer the lower ones.
fn imm_bits32(imm: Imm) -> u32 {
    match imm {
        Imm::F32(bits) => bits,
        other => imm_bits64(other) as u32,
    }
}

/// The bits of a constant.
fn imm_bits64(imm: Imm) -> u64 {
    match imm {
        Imm::S64(value) => value as u64,
        Imm::U64(value) => value,
        Imm::F32(bits) => u64::from(bits),
        Imm::F64(bits) => bits,
    }
}
