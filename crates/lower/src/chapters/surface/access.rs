//! What all accesses to surfaces have: the surface, its geometry, coordinates, and what an access outside does.

use crate::chapters::tensor::fragment::put;
use crate::error::{Lowered, invalid};
use crate::function::handle::{ENTRY_BYTES, Handle, with_uniform};
use crate::function::{FnLower, sources};
use crate::handler::unknown;
use oriole_isa::Role::{A, Bank, Slot, UHandle};
use oriole_isa::{Evict, Field, Mods, Opcode as Sass, Role, SurfClamp, SurfDim, SurfMem, SurfSize};
use oriole_ori::{Inst, Operand};
use oriole_ptx::ast::{self, Address, Instruction, Word};

/// The shapes of surfaces: SASS's number, coordinates with the layer of an array, whether that is the first of them.
/// PTX gives three coordinates as four, of which the last is not used.
const GEOMETRIES: [(Word, SurfDim, usize, bool); 5] = [
    (Word::D1d, SurfDim::D1, 1, false),
    (Word::D2d, SurfDim::D2, 2, false),
    (Word::D3d, SurfDim::D3, 3, false),
    (Word::A1d, SurfDim::D1_ARRAY, 2, true),
    (Word::A2d, SurfDim::D2_ARRAY, 3, true),
];

/// What an access outside of the surface does.
const BOUNDARIES: [(Word, SurfClamp); 3] =
    [(Word::Trap, SurfClamp::TRAP), (Word::Clamp, SurfClamp::NEAR), (Word::Zero, SurfClamp::IGN)];

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
    let mut mods: Mods = [Field::SURF_DIM.is(dim), Field::SURF_CLAMP.is(clamp)].into_iter().collect();
    mods.set(Field::SURF_MEM, strength(cx, instruction, opcode));
    if instruction.has(Word::Cs) {
        mods.set(Field::EVICT, Evict::EF);
    }
    // The first coordinate counts bytes, or texels.
    mods.set(Field::SURF_BA, instruction.has(Word::B));
    let mut inst = Inst::neutral(opcode, mods);
    let words = coordinates(cx, surface, count, layered)?;
    put(cx, &mut inst, A, &words)?;
    Ok(inst)
}

/// Ordering and scope of an access: that of the multiprocessor's cache, or of all that sees the memory.
fn strength(cx: &FnLower<'_, '_>, instruction: &Instruction, opcode: Sass) -> SurfMem {
    let uncached = opcode == Sass::SURED || UNCACHED.iter().any(|word| instruction.has(*word));
    match () {
        () if uncached => SurfMem::STRONG_SYS,
        () if cx.has_with(opcode, Field::SURF_MEM.is(SurfMem::STRONG_CTA)) => SurfMem::STRONG_CTA,
        () => SurfMem::STRONG_SM,
    }
}

/// The coordinates, an array's layer last.
fn coordinates(cx: &mut FnLower<'_, '_>, surface: &Address, count: usize, layered: bool) -> Lowered<Vec<Operand>> {
    let elements: Vec<&ast::Operand> = surface.rest.iter().flat_map(ast::Operand::elements).take(count).collect();
    if elements.len() != count {
        return Err(invalid(
            surface.span,
            format!("the surface needs {count} coordinates, {} are given", elements.len()),
        ));
    }
    let mut words = elements.into_iter().map(|element| sources::src(cx, element)).collect::<Lowered<Vec<Operand>>>()?;
    if layered {
        words.rotate_left(1);
    }
    Ok(words)
}

/// [`Field::SURF_SIZE`] of an access to so many bytes.
pub(crate) fn size(bytes: u32) -> SurfSize {
    match bytes {
        1 => SurfSize::U8,
        2 => SurfSize::U16,
        8 => SurfSize::B64,
        16 => SurfSize::B128,
        _ => SurfSize::B32,
    }
}

/// Emits the access to the surface in brackets.
pub(crate) fn emit(cx: &mut FnLower<'_, '_>, mut inst: Inst, surface: &Address) -> Lowered {
    let handle = sources::handle_of_base(cx, surface)?;
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
