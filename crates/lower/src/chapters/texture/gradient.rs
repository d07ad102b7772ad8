//! The level of detail that derivatives ask for, computed: TXD takes no volumes and cubes, and compares nothing.

use crate::chapters::float32;
use crate::chapters::texture::access::dimension;
use crate::chapters::texture::coordinates::{Geometry, Place, maximum, on_cube, product, to_single};
use crate::error::Lowered;
use crate::function::handle::Handle;
use crate::function::{FnLower, ops};
use crate::handler::unknown;
use oriole_isa::Role::{A, B, C, D};
use oriole_isa::{Mufu, Opcode as Sass, TexMask};
use oriole_ori::Operand;
use oriole_ptx::ast::Instruction;

/// 0.5
const HALF: u32 = 0x3f00_0000;

/// `log2` of the longer of the two steps, in texels of the first level: coordinates from 0 to 1 span the texture.
///
/// On a cube a step is the distance, on the surface of the cube from -1 to 1, of the places that the direction
/// and the direction after the step meet.
pub(crate) fn level(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    texture: Handle,
    (geometry, place): (Geometry, &Place),
    steps: &[Vec<Operand>],
) -> Lowered<Operand> {
    let mut scales = Vec::new();
    for axis in [TexMask::R, TexMask::G, TexMask::B].into_iter().take(geometry.axes) {
        // Faces are squares.
        let component = if geometry.cube { TexMask::R } else { axis };
        let size = dimension(cx, texture, Operand::rz(), component)?;
        let size = to_single(cx, size, false)?;
        scales.push(if geometry.cube { product(cx, size, Operand::imm(HALF))? } else { size });
    }
    let mut longest: Option<Operand> = None;
    for step in steps {
        if step.len() < geometry.axes {
            return Err(unknown(cx, instruction));
        }
        let step = if geometry.cube { step_on_cube(cx, place, step)? } else { step.clone() };
        let length = squared(cx, &step, &scales)?;
        longest = Some(match longest {
            Some(other) => maximum(cx, length, other)?,
            None => length,
        });
    }
    let logarithm = cx.temp()?;
    float32::mufu(cx, Mufu::LG2, logarithm, longest.unwrap_or(Operand::rz()))?;
    product(cx, logarithm, Operand::imm(HALF))
}

/// What a step of a direction is on the surface of the cube.
fn step_on_cube(cx: &mut FnLower<'_, '_>, place: &Place, step: &[Operand]) -> Lowered<Vec<Operand>> {
    let mut moved = Vec::new();
    for (from, by) in place.direction.iter().zip(step) {
        let (from, to) = (ops::in_reg(cx, *from)?, cx.temp()?);
        cx.emit(Sass::FADD, &[], &[(D, to), (A, from), (B, *by)])?;
        moved.push(to);
    }
    let moved = on_cube(cx, &moved)?;
    let differences = moved.into_iter().zip(&place.axes).map(|(to, from)| {
        let difference = cx.temp()?;
        cx.emit(Sass::FADD, &[], &[(D, difference), (A, to), (B, from.neg())])?;
        Ok(difference)
    });
    differences.collect()
}

/// The squared length of a step in texels.
fn squared(cx: &mut FnLower<'_, '_>, step: &[Operand], scales: &[Operand]) -> Lowered<Operand> {
    let mut sum = Operand::rz();
    for (component, scale) in step.iter().zip(scales) {
        let texels = product(cx, *component, *scale)?;
        let next = cx.temp()?;
        cx.emit(Sass::FFMA, &[], &[(D, next), (A, texels), (B, texels), (C, sum)])?;
        sum = next;
    }
    Ok(sum)
}
