//! Loads and stores of `.param` variables that live in registers, and of kernel parameters at
//! constant places.

use crate::chapters::memory::access::{Shape, byte_selector, insert_selector, value_words};
use crate::error::{Lowered, invalid};
use crate::function::place::is_parameter;
use crate::function::scope::{Binding, ParamVar};
use crate::function::{FnLower, bindings, destinations, ops};
use oriole_ori::{Operand, RegType};
use oriole_ptx::ast::{self, Address, AddressBase, Instruction};

/// What a parameter access reads or writes.
pub(crate) enum Words {
    /// The registers of a parameter of a device function or of a call.
    Registers(ParamVar),
    /// Constant bank 0 from this byte on.
    Bank(u32),
}

impl Words {
    /// The operand of the 32 bits that have byte `at`, and the number of this byte in them.
    fn at(&self, at: u32) -> Option<(Operand, u32)> {
        match self {
            Words::Registers(param) => param.words.get((at / 4) as usize).map(|word| (Operand::reg(*word), at % 4)),
            Words::Bank(base) => {
                let at = in_bank(*base, at);
                Some((Operand::cbank(0, at & !3), at % 4))
            }
        }
    }
}

/// The words that a parameter access goes to; `None` where it goes to memory.
pub(crate) fn words_at(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    address: &Address,
) -> Lowered<Option<Words>> {
    let (true, AddressBase::Name(name)) = (is_parameter(instruction.space()), address.base) else { return Ok(None) };
    Ok(match bindings::binding(cx, name)? {
        Some(Binding::Param(param)) => Some(Words::Registers(param.clone())),
        Some(Binding::KernelParam(offset)) => Some(Words::Bank(*offset)),
        _ => None,
    })
}

/// `ld.param` from words.
pub(crate) fn load(
    cx: &mut FnLower<'_, '_>,
    shape: &Shape,
    operand: &ast::Operand,
    words: &Words,
    address: &Address,
) -> Lowered {
    let results = crate::chapters::memory::access::elements(shape, operand)?;
    let bytes = shape.ty.bytes();
    for (index, result) in results.iter().enumerate() {
        if matches!(result, ast::Operand::Sink(_)) {
            continue;
        }
        let at = match words {
            Words::Registers(_) => checked(address, index as u32 * bytes)?,
            Words::Bank(_) => (address.offset as u32).wrapping_add(index as u32 * bytes),
        };
        load_element(cx, shape, result, words, at)?;
    }
    Ok(())
}

/// One element, at byte `at` of the words.
fn load_element(cx: &mut FnLower<'_, '_>, shape: &Shape, result: &ast::Operand, words: &Words, at: u32) -> Lowered {
    let (to, _) = bindings::register(cx, result)?;
    let components = cx.func[to].components;
    let part = |k: u8| if components == 1 { Operand::reg(to) } else { Operand::comp(to, k) };
    let bytes = shape.ty.bytes();
    if let (Words::Bank(base), 8, RegType::Pair) = (words, bytes, cx.func[to].reg_type)
        && in_bank(*base, at).is_multiple_of(8)
    {
        return ops::read_constant64(cx, to, 0, in_bank(*base, at));
    }
    if bytes >= 4 {
        for k in 0..(bytes / 4).min(u32::from(components)) {
            let (word, _) = word_at(cx, words, at.wrapping_add(4 * k))?;
            ops::mov(cx, part(k as u8), word)?;
        }
    } else {
        let (word, byte) = word_at(cx, words, at)?;
        let word = ops::in_reg(cx, word)?;
        ops::prmt(cx, part(0), word, byte_selector(shape.ty, byte), Operand::rz())?;
    }
    let words = (bytes / 4).max(1) as u8;
    if words < components {
        destinations::fill(cx, to, words, shape.ty.is_signed())?;
    }
    Ok(())
}

/// `st.param` to words.
pub(crate) fn store(
    cx: &mut FnLower<'_, '_>,
    shape: &Shape,
    operand: &ast::Operand,
    words: &Words,
    address: &Address,
) -> Lowered {
    let Words::Registers(param) = words else {
        return Err(invalid(address.span, "a kernel's parameters cannot be written"));
    };
    let values = crate::chapters::memory::access::elements(shape, operand)?;
    let at = checked(address, 0)?;
    let data = value_words(cx, shape, &values)?;
    if at % 4 != 0 || (shape.bytes() < 4 && at.saturating_add(shape.bytes()) < param.size) {
        let ((to, byte), from) = (word_at(cx, words, at)?, data.first().copied().unwrap_or(Operand::rz()));
        let from = ops::in_reg(cx, from)?;
        let narrow = Shape { ty: narrow_type(shape.bytes()), count: 1 };
        return ops::prmt(cx, to, to, insert_selector(narrow.ty, byte), from);
    }
    for (k, value) in data.into_iter().enumerate() {
        let (to, _) = word_at(cx, words, at.saturating_add(4 * k as u32))?;
        ops::mov(cx, to, value)?;
    }
    Ok(())
}

/// The byte of the bank that is `at` bytes from `base`. Places beyond the parameters count modulo the bank's size, as in
/// ptxas's code.
fn in_bank(base: u32, at: u32) -> u32 {
    base.wrapping_add(at) & 0xffff
}

fn narrow_type(bytes: u32) -> ast::ScalarType {
    if bytes == 1 { ast::ScalarType::B8 } else { ast::ScalarType::B16 }
}

fn word_at(cx: &FnLower<'_, '_>, words: &Words, at: u32) -> Lowered<(Operand, u32)> {
    words.at(at).ok_or_else(|| invalid(cx.span, "the access lies outside of the parameter"))
}

/// Byte offset of an access, `add` bytes into it.
fn checked(address: &Address, add: u32) -> Lowered<u32> {
    let at = u32::try_from(address.offset).ok().and_then(|at| at.checked_add(add));
    at.ok_or_else(|| invalid(address.span, "the access lies outside of the parameter"))
}
