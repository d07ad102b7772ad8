//! What all accesses to surfaces have: the surface, its geometry, coordinates, and what an access outside does.

use crate::chapters::turns::by_value;
use crate::chapters::unknown;
use crate::error::{Lowered, invalid, unsupported};
use crate::function::{Binding, FnLower, Place};
use oriole_isa::Role::{A, Bank, D, Handle, Slot, UHandle};
use oriole_isa::{Field, Mods, Opcode as Sass, RegFile, evict, mem_size, surf_clamp, surf_dim, surf_mem, surf_size};
use oriole_ori::{Inst, Operand, RegType};
use oriole_ptx::ast::{self, Address, AddressBase, Instruction, Name, Word};

/// The shapes of surfaces: SASS's number, coordinates with the layer of an array, whether that is the first of them.
/// PTX gives three coordinates as four, of which the last is not used.
const GEOMETRIES: [(Word, u8, usize, bool); 5] = [
    (Word::D1d, surf_dim::D1, 1, false),
    (Word::D2d, surf_dim::D2, 2, false),
    (Word::D3d, surf_dim::D3, 3, false),
    (Word::A1d, surf_dim::D1_ARRAY, 2, true),
    (Word::A2d, surf_dim::D2_ARRAY, 3, true),
];

/// What an access outside of the surface does.
const BOUNDARIES: [(Word, u8); 3] =
    [(Word::Trap, surf_clamp::TRAP), (Word::Clamp, surf_clamp::NEAR), (Word::Zero, surf_clamp::IGN)];

/// Cache operators that go past the multiprocessor's cache. The others do not change the order of accesses.
const UNCACHED: [Word; 3] = [Word::Cg, Word::Cv, Word::Wt];

/// The instruction of an access, but for data and surface.
pub(super) fn inst(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    opcode: Sass,
    surface: &Address,
) -> Lowered<Inst> {
    let geometry = GEOMETRIES.iter().find(|(word, ..)| instruction.has(*word));
    let boundary = BOUNDARIES.iter().find(|(word, _)| instruction.has(*word));
    let (Some(&(_, dim, count, layered)), Some(&(_, clamp))) = (geometry, boundary) else {
        return Err(unknown(cx, instruction));
    };
    let mut mods: Mods = [(Field::SurfDim, dim), (Field::SurfClamp, clamp)].into_iter().collect();
    mods.set(Field::SurfMem, strength(cx, instruction, opcode));
    if instruction.has(Word::Cs) {
        mods.set(Field::Evict, evict::EF);
    }
    // The first coordinate counts bytes, or texels.
    mods.set(Field::SurfBa, u8::from(instruction.has(Word::B)));
    let mut inst = Inst::neutral(opcode, mods);
    inst.set_role(A, coordinates(cx, surface, count, layered)?);
    Ok(inst)
}

/// Ordering and scope of an access: that of the multiprocessor's cache, or of all that sees the memory.
fn strength(cx: &FnLower<'_, '_>, instruction: &Instruction, opcode: Sass) -> u8 {
    let uncached = opcode == Sass::SURED || UNCACHED.iter().any(|word| instruction.has(*word));
    match () {
        () if uncached => surf_mem::STRONG_SYS,
        () if cx.has_with(opcode, Field::SurfMem, surf_mem::STRONG_CTA) => surf_mem::STRONG_CTA,
        () => surf_mem::STRONG_SM,
    }
}

/// The coordinates in consecutive registers, an array's layer last.
fn coordinates(cx: &mut FnLower<'_, '_>, surface: &Address, count: usize, layered: bool) -> Lowered<Operand> {
    let elements: Vec<&ast::Operand> = surface.rest.iter().flat_map(ast::Operand::elements).take(count).collect();
    if elements.len() != count {
        return Err(invalid(
            surface.span,
            format!("the surface needs {count} coordinates, {} are given", elements.len()),
        ));
    }
    let mut words = elements.into_iter().map(|element| cx.src(element)).collect::<Lowered<Vec<Operand>>>()?;
    if layered {
        words.rotate_left(1);
    }
    if let [single] = words.as_slice() {
        return cx.in_reg(*single);
    }
    let group = match RegType::of_width(RegFile::R, count as u8) {
        Some(RegType::Group) | None => {
            let made = cx.func.new_group(count as u8, (count as u8).next_power_of_two());
            cx.built(made)?
        }
        Some(reg_type) => cx.temp_of(reg_type)?,
    };
    for (k, word) in words.into_iter().enumerate() {
        cx.mov(Operand::comp(group, k as u8), word)?;
    }
    Ok(Operand::reg(group))
}

/// [`Field::SurfSize`] of an access to so many bytes.
pub(super) fn size(bytes: u32) -> u8 {
    match bytes {
        1 => surf_size::U8,
        2 => surf_size::U16,
        8 => surf_size::B64,
        16 => surf_size::B128,
        _ => surf_size::B32,
    }
}

/// Emits the access: to the surface that a variable or parameter names, or a handle in a register.
pub(super) fn emit(cx: &mut FnLower<'_, '_>, mut inst: Inst, surface: &Address) -> Lowered {
    let uniform = !cx.reads_constants();
    match number(cx, surface)? {
        Number::Register(word) if uniform => by_value(cx, &[word], |cx, word, guard| {
            inst.set_guard(guard);
            with_uniform(cx, inst, word)
        }),
        Number::Register(word) => {
            inst.set_role(Handle, word);
            cx.emit_inst(inst).map(drop)
        }
        Number::Constant(offset) if uniform => {
            let word = Operand::reg(cx.temp_of(RegType::Ur)?);
            load_uniform(cx, word, offset)?;
            with_uniform(cx, inst, word)
        }
        Number::Constant(offset) => {
            inst.set_role(Bank, Operand::imm(0));
            inst.set_role(Slot, Operand::imm(offset / 4));
            cx.emit_inst(inst).map(drop)
        }
    }
}

/// `to`, a uniform register = the word at an offset of constant bank 0.
pub(in crate::chapters) fn load_uniform(cx: &mut FnLower<'_, '_>, to: Operand, offset: u32) -> Lowered {
    let load = if cx.has(Sass::LDCU) { Sass::LDCU } else { Sass::ULDC };
    cx.emit(load, &[(Field::MemSize, mem_size::B32)], &[(D, to), (Bank, Operand::cbank(0, offset))])?;
    Ok(())
}

/// Emits the access with the surface's number in a uniform register.
fn with_uniform(cx: &mut FnLower<'_, '_>, mut inst: Inst, number: Operand) -> Lowered {
    inst.set_role(UHandle, number);
    if !cx.func.is_legal(&inst, cx.arch()) {
        // A number to be added, up to sm_90.
        inst.set_role(Slot, Operand::imm(0));
    }
    cx.emit_inst(inst).map(drop)
}

/// Where the number of a surface is.
pub(super) enum Number {
    /// In a register: the low word of a handle. Threads may have different ones.
    Register(Operand),
    /// At this byte offset of constant bank 0.
    Constant(u32),
}

/// The number of the surface in brackets: of a variable, of a parameter that holds a handle, or a handle.
pub(super) fn number(cx: &mut FnLower<'_, '_>, surface: &Address) -> Lowered<Number> {
    let handle = match surface.base {
        AddressBase::Name(name) => match cx.binding(name)? {
            Some(Binding::Reg(_)) => ast::Operand::Name(name),
            _ => return named(cx, name),
        },
        AddressBase::Element(name, selector) => ast::Operand::Part(name, selector),
        AddressBase::Absolute => return Err(invalid(surface.span, "a surface has no address")),
    };
    Ok(Number::Register(cx.src64(&handle)?.lo))
}

fn named(cx: &mut FnLower<'_, '_>, name: Name) -> Lowered<Number> {
    match cx.place(name)? {
        Place::KernelParam(offset) => Ok(Number::Constant(offset)),
        Place::Object(symbol) => Ok(Number::Constant(cx.module.object_slot(&[symbol]))),
        _ => Err(unsupported(name.span, format!("the surface '{}'", cx.text(name)))),
    }
}
