//! The product of sm_70: four of shape 8x8x4 at once, each of two groups of four threads.
//!
//! sm_75 has it in steps; later targets compute it with shuffles and scalar arithmetic in a routine of the
//! library, which adds up as ptxas's does.

use crate::chapters::calls;
use crate::chapters::tensor::fragment;
use crate::chapters::tensor::product::{Factors, Product};
use crate::error::Lowered;
use crate::function::FnLower;
use oriole_isa::Role::{A, B, C, D};
use oriole_isa::{Field, HmmaC, MmaAcc, MmaOrder, MmaStep, Opcode as Sass};
use oriole_ori::Operand;
use oriole_ptx::ast::{Instruction, Modifier, ScalarType, Word};

/// How A and B are spread over the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Orders {
    /// A by columns.
    pub(super) a_by_columns: bool,
    /// B by columns.
    pub(super) b_by_columns: bool,
}

impl Orders {
    /// The two of `.row` and `.col` that an instruction names.
    pub(super) fn of(instruction: &Instruction) -> Orders {
        let mut named = instruction.modifiers.iter().filter_map(|modifier| match modifier {
            Modifier::Word(Word::Row) => Some(false),
            Modifier::Word(Word::Col) => Some(true),
            _ => None,
        });
        let a_by_columns = named.next().unwrap_or(false);
        Orders { a_by_columns, b_by_columns: named.next().unwrap_or(true) }
    }
}

/// 32-bit words of C and D of a type.
pub(crate) fn accumulator_words(ty: ScalarType) -> usize {
    if ty == ScalarType::F16 { 4 } else { 8 }
}

/// The words of D.
pub(crate) fn multiply(
    cx: &mut FnLower<'_, '_>,
    product: &Product,
    c_type: ScalarType,
    orders: Orders,
    factors: Factors<'_>,
) -> Lowered<Vec<Operand>> {
    if Sass::HMMA_884.exists_on(cx.arch()) {
        return in_steps(cx, product, c_type, orders, factors);
    }
    let a = if orders.a_by_columns { transposed(cx, factors.a)? } else { factors.a.to_vec() };
    let b = if orders.b_by_columns { factors.b.to_vec() } else { transposed(cx, factors.b)? };
    let (single, widened) = (product.d != ScalarType::F16, c_type == ScalarType::F16);
    let c = if single && widened {
        calls::call_library(cx, "__oriole_mma884_widen", factors.c)?
    } else {
        factors.c.to_vec()
    };
    let routine = if single { "__oriole_mma884_f32" } else { "__oriole_mma884_f16" };
    calls::call_library(cx, routine, &[a, b, c].concat())
}

/// A factor by rows where it was by columns, or the other way.
fn transposed(cx: &mut FnLower<'_, '_>, words: &[Operand]) -> Lowered<Vec<Operand>> {
    calls::call_library(cx, "__oriole_mma884_transpose", words)
}

/// Two registers of D by each instruction.
fn in_steps(
    cx: &mut FnLower<'_, '_>,
    product: &Product,
    c_type: ScalarType,
    orders: Orders,
    factors: Factors<'_>,
) -> Lowered<Vec<Operand>> {
    let (a, b) = (fragment::together(cx, factors.a)?, fragment::together(cx, factors.b)?);
    let order = |by_columns| if by_columns { MmaOrder::COL } else { MmaOrder::ROW };
    let steps = accumulator_words(product.d) / 2;
    let mut result = Vec::new();
    for step in 0..steps {
        // Halves of C that become singles of D serve two steps.
        let first = (step * factors.c.len() / steps) & !1;
        let c = fragment::together(cx, &factors.c[first..first + 2])?;
        let (d, words) = fragment::fresh(cx, 2)?;
        let mods = [
            Field::MMA_ACC.is(if product.d == ScalarType::F16 { MmaAcc::F16 } else { MmaAcc::F32 }),
            Field::HMMA_C.is(if c_type == ScalarType::F16 { HmmaC::F16 } else { HmmaC::F32 }),
            Field::MMA_STEP.is(MmaStep::from_code(step as u8)),
            Field::ORDER_A.is(order(orders.a_by_columns)),
            Field::ORDER_B.is(order(orders.b_by_columns)),
        ];
        cx.emit(Sass::HMMA_884, &mods, &[(D, d), (A, a), (B, b), (C, c)])?;
        result.extend(words);
    }
    Ok(result)
}
