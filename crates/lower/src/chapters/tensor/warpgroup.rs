//! Products of a warpgroup: `wgmma.fence`, `.mma_async`, `.commit_group`, `.wait_group`.
//!
//! The product runs on after its issue, in registers that nothing may touch until `WARPGROUP.DEPBAR` says
//! that it is done. Fences and waits are the program's; where something touches these registers before,
//! slots 85 and 105 of the optimiser add what is missing.

use crate::chapters::tensor::fragment;
use crate::chapters::tensor::product::{Kind, float_type, half_type, int_type, kind_of};
use crate::chapters::warp;
use crate::error::{Lowered, invalid};
use crate::function::{FnLower, operands, ops, sources};
use crate::handler::unknown;
use oriole_isa::Role::{A, C, Count, D, Desc, Meta, MetaId, PA, PD};
use oriole_isa::{Field, GmmaK, GmmaN, Gsb, MaxregOp, MmaAcc, Opcode as Sass, Setting, Vote, Warpgroup};
use oriole_ori::{Inst, Operand, RegType};
use oriole_ptx::ast::{self, Instruction, ScalarType, Shape, Word};

/// The most groups that a wait can leave pending; ptxas 13.0.88 makes greater counts this one.
const MOST_PENDING: u64 = 7;

/// `wgmma`
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    match () {
        () if instruction.has(Word::Fence) => synchronise(cx, Warpgroup::ARRIVE, 0),
        () if instruction.has(Word::CommitGroup) => commit(cx),
        () if instruction.has(Word::WaitGroup) => {
            let pending = operands::operand(instruction, 0)?;
            let count = pending.imm().and_then(|imm| imm.int_bits());
            let count = count.ok_or_else(|| invalid(pending.span(), "the count is a constant"))?;
            synchronise(cx, Warpgroup::DEPBAR, count.min(MOST_PENDING) as u32)
        }
        () => product(cx, instruction),
    }
}

/// `setmaxnreg.inc.sync.aligned.u32 n;`, `.dec`. The loop in which a warp waits for registers is made, or all of this is
/// taken out again, when it is known how many registers each kernel begins with (`oriole_regalloc::RegisterCounts`).
pub(crate) fn change_registers(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let count = operands::operand(instruction, 0)?;
    let number = count.imm().and_then(|imm| imm.int_bits());
    let Some(number) = number.filter(|number| (24..=256).contains(number) && number.is_multiple_of(8)) else {
        return Err(invalid(count.span(), "the number of registers is a multiple of 8 between 24 and 256"));
    };
    let change = if instruction.has(Word::Inc) { MaxregOp::TRY_ALLOC } else { MaxregOp::DEALLOC };
    cx.guard_by_branch()?;
    warp::converge_all(cx)?;
    cx.emit(Sass::USETMAXREG, &[Field::MAXREG_OP.is(change)], &[(A, Operand::imm(number as u32))])?;
    Ok(())
}

fn synchronise(cx: &mut FnLower<'_, '_>, what: Warpgroup, count: u32) -> Lowered {
    cx.emit(Sass::WARPGROUP, &[Field::WARPGROUP.is(what)], &[(Count, Operand::imm(count))])?;
    Ok(())
}

/// Ends a group: the last product of it says so. Where that is not in the block (or there is none), one is added that has
/// no result, as ptxas does.
fn commit(cx: &mut FnLower<'_, '_>) -> Lowered {
    let last = cx.block_so_far().iter().rev().find(|inst| cx.func[**inst].opcode.is_warpgroup_product()).copied();
    if let Some(product) = last.filter(|product| cx.func[*product].get(Field::GSB) != Gsb::GSB0) {
        cx.func.edit().update(product, |inst| inst.mods.set(Field::GSB, Gsb::GSB0));
        return Ok(());
    }
    let fields = [Field::MMA_ACC.is(MmaAcc::F16), Field::GSB.is(Gsb::GSB0)];
    let mut nothing = Inst::neutral(Sass::HGMMA, fields.into_iter().collect());
    nothing.set_role(D, Operand::rz());
    nothing.set_role(C, Operand::rz());
    nothing.set_role(Desc, Operand::urz());
    nothing.set_role(PA, Operand::upt().with_not(true));
    warp::converge_all(cx)?;
    cx.emit_inst(nothing)?;
    Ok(())
}

/// A product of a warpgroup: kind of the elements, the instruction, columns of A in it and their code.
const PRODUCTS: [(Kind, Sass, u16, GmmaK); 5] = [
    (Kind::Half, Sass::HGMMA, 16, GmmaK::K16),
    (Kind::Tf32, Sass::HGMMA, 8, GmmaK::K8),
    (Kind::Float8, Sass::QGMMA, 32, GmmaK::K32),
    (Kind::Byte, Sass::IGMMA, 32, GmmaK::K32),
    (Kind::Bit, Sass::BGMMA, 256, GmmaK::K256),
];

/// Codes of twice as many columns, for a sparse A.
const SPARSE_K: [(u16, GmmaK); 3] = [(16, GmmaK::K16), (32, GmmaK::K32), (64, GmmaK::K64)];

/// The operands after D, A and B.
struct Rest<'i> {
    /// Register and selector of a sparse A.
    sparsity: Option<(&'i ast::Operand, u32)>,
    /// Whether D counts as C, else C is zero.
    keep: Option<&'i ast::Operand>,
    /// Signs of A and B, transposition of those in shared memory.
    switches: Vec<i64>,
}

impl<'i> Rest<'i> {
    fn of(operands: &'i [ast::Operand], sparse: bool) -> Option<Rest<'i>> {
        let (sparsity, operands) = match (sparse, operands) {
            (true, [metadata, selector, rest @ ..]) => {
                let number = u32::try_from(selector.imm()?.int_bits()?).ok().filter(|number| *number < 4)?;
                (Some((metadata, number)), rest)
            }
            (true, _) => return None,
            (false, rest) => (None, rest),
        };
        let (keep, operands) = operands.split_first().map_or((None, operands), |(first, rest)| (Some(first), rest));
        let switches = operands.iter().map(|operand| Some(operand.imm()?.int_bits()? as i64)).collect::<Option<_>>()?;
        Some(Rest { sparsity, keep, switches })
    }

    /// The fields that the switches set; A in registers is not transposed.
    fn fields(&self, in_registers: bool) -> Vec<Setting> {
        let signs = self.switches.iter().take(2).zip([Field::GMMA_NEG_A, Field::GMMA_NEG_B]);
        let transposed: &[Field<bool>] =
            if in_registers { &[Field::GMMA_TNSP_B] } else { &[Field::GMMA_TNSP_A, Field::GMMA_TNSP_B] };
        let orders = self.switches.iter().skip(2).zip(transposed.iter().copied());
        signs.map(|(value, field)| field.is(*value < 0)).chain(orders.map(|(v, f)| f.is(*v != 0))).collect()
    }
}

/// `wgmma.mma_async{.sp}.sync.aligned.shape.dtype.atype.btype d, a, b-desc{, meta, selector}, scale-d, …;`
fn product(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let types: Vec<ScalarType> = instruction.types().collect();
    let ([d_type, a_type, b_type], [d, a, b, rest @ ..]) = (types.as_slice(), instruction.operands.as_slice()) else {
        return Err(unknown(cx, instruction));
    };
    let (Some(shape), Some(kind)) = (instruction.shape(), kind_of(*a_type)) else {
        return Err(unknown(cx, instruction));
    };
    let sparse = instruction.has(Word::Sp);
    let rest = Rest::of(rest, sparse).ok_or_else(|| unknown(cx, instruction))?;
    let (opcode, k) = instruction_of(kind, shape, sparse).ok_or_else(|| unknown(cx, instruction))?;
    let in_registers = matches!(a, ast::Operand::Vector(..));
    let mut fields = vec![
        Field::GMMA_N.is(GmmaN::from_code((shape.n / 8).saturating_sub(1) as u8)),
        Field::GMMA_K.is(k),
        Field::MMA_SP.is(sparse),
        Field::MMA_ACC.is(if *d_type == ScalarType::F16 { MmaAcc::F16 } else { MmaAcc::F32 }),
        Field::HMMA_TYPE.is(half_type(*a_type)),
        Field::INT_A.is(int_type(*a_type)),
        Field::INT_B.is(int_type(*b_type)),
        Field::FLOAT_A.is(float_type(*a_type)),
        Field::FLOAT_B.is(float_type(*b_type)),
        Field::SAT.is(instruction.has(Word::Satfinite)),
    ];
    fields.extend(rest.fields(in_registers));
    fields.retain(|setting| opcode.has_field(setting.field()));
    let roles: &[_] = if in_registers { &[A, C, D] } else { &[C, D] };
    // A's sign is its register's where it is in registers.
    let negative_a = in_registers && fields.contains(&Field::GMMA_NEG_A.is(true));
    fields.retain(|setting| !(in_registers && setting.field() == Field::GMMA_NEG_A.id()));
    let no_descriptors = [(Desc, Operand::urz())];
    let inst = fragment::form_with(cx, opcode, fields.into_iter().collect(), roles, &no_descriptors);
    let mut inst = inst.ok_or_else(|| unknown(cx, instruction))?;
    warp::converge_all(cx)?;
    if in_registers {
        let words = fragment::words(cx, a, ScalarType::B32, 4)?;
        inst.set_role(A, fragment::together(cx, &words)?.with_neg(negative_a));
    }
    inst.set_role(Desc, descriptors(cx, (!in_registers).then_some(a), b)?);
    inst.set_role(PA, kept(cx, rest.keep)?);
    if let Some((metadata, selector)) = rest.sparsity {
        let metadata = sources::src(cx, metadata)?;
        inst.set_role(Meta, ops::in_reg(cx, metadata)?);
        inst.set_role(MetaId, Operand::imm(selector));
    }
    let count = usize::from(shape.n) * if *d_type == ScalarType::F16 { 1 } else { 2 } / 4;
    let words = fragment::words(cx, d, *d_type, count)?;
    let (sum, places) = fragment::fresh(cx, count)?;
    for (place, word) in places.iter().zip(words) {
        ops::mov(cx, *place, word)?;
    }
    inst.set_role(C, sum);
    inst.set_role(D, sum);
    cx.emit_inst(inst)?;
    fragment::deliver(cx, d, *d_type, &places)
}

/// The instruction of a product of this shape, and the code of its K.
fn instruction_of(kind: Kind, shape: Shape, sparse: bool) -> Option<(Sass, GmmaK)> {
    let (_, opcode, k, code) = PRODUCTS.iter().find(|(known, ..)| *known == kind)?;
    let code = if sparse { SPARSE_K.iter().find(|(known, _)| *known == 2 * k)?.1 } else { *code };
    let columns = if sparse { 2 * k } else { *k };
    (shape.m == 64 && shape.k == columns && shape.n.is_multiple_of(8) && (8..=256).contains(&shape.n))
        .then_some((*opcode, code))
}

/// The descriptors of A (where it is in shared memory) and B in four uniform registers.
fn descriptors(cx: &mut FnLower<'_, '_>, a: Option<&ast::Operand>, b: &ast::Operand) -> Lowered<Operand> {
    let all = cx.temp_of(RegType::UrQuad)?;
    for (first, descriptor) in [(0, a), (2, Some(b))] {
        let halves = match descriptor {
            Some(descriptor) => {
                let wide = sources::src64(cx, descriptor)?;
                [ops::in_reg(cx, wide.lo)?, ops::in_reg(cx, wide.hi)?]
            }
            None => [Operand::rz(); 2],
        };
        for (k, half) in (first..).zip(halves) {
            cx.emit(Sass::R2UR, &[], &[(D, Operand::comp(all, k)), (A, half)])?;
        }
    }
    Ok(Operand::reg(all))
}

/// Whether D counts as C, as a uniform predicate: the threads agree on it.
pub(crate) fn kept(cx: &mut FnLower<'_, '_>, keep: Option<&ast::Operand>) -> Lowered<Operand> {
    let Some(keep) = keep else { return Ok(Operand::upt()) };
    if let Some(bits) = keep.imm().and_then(|imm| imm.int_bits()) {
        return Ok(Operand::upt().with_not(bits == 0));
    }
    let pred = sources::pred(cx, keep)?;
    let uniform = Operand::reg(cx.temp_of(RegType::Up)?);
    cx.emit(Sass::VOTEU, &[Field::VOTE.is(Vote::ANY)], &[(PD, uniform), (oriole_isa::Role::PA, pred)])?;
    Ok(uniform)
}
