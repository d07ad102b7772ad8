//! `.override::…` of copies of tensors: the address, the sizes and the strides that stand in the brackets instead of those of the
//! tensor map. Source: code of ptxas 13.5.37.

use crate::chapters::asynchronous::fabric;
use crate::chapters::asynchronous::tensor::dimensions;
use crate::error::Lowered;
use crate::function::ops::lut;
use crate::function::{FnLower, ops, sources};
use crate::handler::unknown;
use oriole_isa::{Field, Opcode as Sass};
use oriole_ori::Operand;
use oriole_ptx::ast::{self, Address, Instruction, Opcode, Word};

/// What replaces the tensor map.
#[derive(Debug, Default)]
pub(super) struct Override {
    /// The words of the tensor's address, and of that of a counter.
    pub(super) address: Vec<Operand>,
    pub(super) shape: Option<TensorShape>,
}

/// Sizes and strides. The box begins where the tensor does: nothing has coordinates.
#[derive(Debug)]
pub(super) struct TensorShape {
    /// Sizes, four bytes a word.
    pub(super) sizes: Vec<Operand>,
    /// The upper four bits of all strides, then the lower words of each.
    pub(super) strides: Vec<Operand>,
}

impl Override {
    /// What stands in the brackets of `tensor`: `[map{, address}{, {sizes}{, {lower}, upper}}, {coordinates}]`. Instead of the
    /// address there may be a handle of the fabric: `endpoint, offset{, counter}`.
    pub(super) fn of(cx: &mut FnLower<'_, '_>, instruction: &Instruction, tensor: &Address) -> Lowered<Override> {
        if !instruction.has(Word::OverrideGlobalAddress) {
            return Ok(Override::default());
        }
        if !cx.has_with(Sass::UTMALDG, Field::TENSOR_ADDRESS.is(true)) {
            return Err(unknown(cx, instruction));
        }
        let is_handle = instruction.opcode == Opcode::Fabric;
        let count = 1 + usize::from(is_handle) + usize::from(instruction.has(Word::CountedBytes));
        let Some((address, rest)) = tensor.rest.split_at_checked(count) else { return Err(unknown(cx, instruction)) };
        let address = match address {
            [endpoint, offsets @ ..] if is_handle => fabric::handle_words(cx, endpoint, offsets)?,
            [address, ..] => {
                let address = sources::src64(cx, address)?;
                vec![address.lo, address.hi]
            }
            [] => return Err(unknown(cx, instruction)),
        };
        let shape = match rest {
            [_] => None,
            [sizes, _] => Some(shape(cx, instruction, sizes, None)?),
            [sizes, lower, upper, _] => Some(shape(cx, instruction, sizes, Some((lower, upper)))?),
            _ => return Err(unknown(cx, instruction)),
        };
        Ok(Override { address, shape })
    }
}

fn shape(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    sizes: &ast::Operand,
    strides: Option<(&ast::Operand, &ast::Operand)>,
) -> Lowered<TensorShape> {
    let (.., rank) = dimensions(cx, instruction)?;
    let lower = strides.map(|(lower, _)| lower.elements()).unwrap_or_default();
    if sizes.elements().len() != rank || lower.len() + 1 != rank {
        return Err(unknown(cx, instruction));
    }
    let sizes = sizes.elements().chunks(4).map(|sizes| bytes(cx, sizes)).collect::<Lowered<_>>()?;
    let upper = strides.map(|(_, upper)| upper);
    let strides = upper.into_iter().chain(lower).map(|stride| sources::src(cx, stride)).collect::<Lowered<_>>()?;
    Ok(TensorShape { sizes, strides })
}

/// The low bytes of up to four operands in one word.
fn bytes(cx: &mut FnLower<'_, '_>, operands: &[ast::Operand]) -> Lowered<Operand> {
    let mut values = [Operand::rz(); 4];
    for (value, operand) in values.iter_mut().zip(operands) {
        let given = sources::src(cx, operand)?;
        *value = ops::in_reg(cx, given)?;
    }
    if operands.len() == 1 {
        let low = cx.temp()?;
        ops::lop3(cx, low, values[0], Operand::imm(0xff), Operand::rz(), lut::AND)?;
        return Ok(low);
    }
    let mut pairs = [Operand::rz(); 2];
    for (pair, [low, high]) in pairs.iter_mut().zip([[values[0], values[1]], [values[2], values[3]]]) {
        if low.is_zero() && high.is_zero() {
            continue;
        }
        *pair = cx.temp()?;
        ops::prmt(cx, *pair, low, 0x0040, high)?;
    }
    let word = cx.temp()?;
    ops::prmt(cx, word, pairs[0], 0x5410, pairs[1])?;
    Ok(word)
}
