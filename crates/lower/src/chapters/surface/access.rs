//! What all accesses to surfaces have: the surface, its geometry, coordinates, and what an access outside does.

use crate::chapters::tensor::fragment::fresh;
use crate::error::{Lowered, invalid};
use crate::function::FnLower;
use crate::function::handle::{ENTRY_BYTES, Handle, with_uniform};
use crate::handler::unknown;
use oriole_isa::Role::{A, Bank, Slot, UHandle};
use oriole_isa::{Field, Mods, Opcode as Sass, Role, evict, surf_clamp, surf_dim, surf_mem, surf_size};
use oriole_ori::{Inst, Operand};
use oriole_ptx::ast::{self, Address, Instruction, Word};

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
pub(crate) fn inst(
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
    // Not RZ for all of them: ptxas takes registers of zeros.
    let (group, places) = fresh(cx, count)?;
    for (place, word) in places.into_iter().zip(words) {
        cx.mov(place, word)?;
    }
    Ok(group)
}

/// [`Field::SurfSize`] of an access to so many bytes.
pub(crate) fn size(bytes: u32) -> u8 {
    match bytes {
        1 => surf_size::U8,
        2 => surf_size::U16,
        8 => surf_size::B64,
        16 => surf_size::B128,
        _ => surf_size::B32,
    }
}

/// Emits the access to the surface in brackets.
pub(crate) fn emit(cx: &mut FnLower<'_, '_>, mut inst: Inst, surface: &Address) -> Lowered {
    let handle = Handle::of_base(cx, surface)?;
    match handle {
        _ if cx.sm().bank0.samplers_apart => {
            return with_uniform(cx, &[Some(handle)], |cx, number, guard| {
                inst.set_role(UHandle, number);
                // Some targets have a number there besides, which is added.
                if !cx.func.is_legal(&inst, cx.arch()) {
                    inst.set_role(Slot, Operand::imm(0));
                }
                inst.set_guard(guard);
                cx.emit_inst(inst).map(drop)
            });
        }
        Handle::Name(symbol) => {
            inst.set_role(Bank, Operand::imm(0));
            inst.set_role(Slot, Operand::imm(cx.module.object_slot(&[symbol]) / ENTRY_BYTES));
        }
        Handle::Word(_) => inst.set_role(Role::Handle, handle.word(cx)?),
    }
    cx.emit_inst(inst).map(drop)
}
