//! Special registers as operands, and how each is read.

use crate::error::{Lowered, invalid, unsupported};
use crate::function::operands::Wide;
use crate::function::{FnLower, destinations, ops, word_ops};
use oriole_isa::Role::{A, B, Bank, Base, C, D};
use oriole_isa::{Arch, Bank0, ClusterBank0, Cmp, Cs2rSize, Field, Ifmt, Opcode as Sass, RndInt, special_registers};
use oriole_ori::{Inst, InstFlags, Operand, VReg};
use oriole_ptx::ast::{self, Selector, Span, SpecialReg};

/// How a special register is read.
enum Source {
    /// By S2R or CS2R, from the hardware register of that number.
    Hardware(u8),
    /// 32 bits of constant bank 0.
    Bank(u16),
    /// A constant.
    Value(u32),
}

/// A 32-bit special register as a source.
pub(crate) fn special32(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<Operand> {
    let ast::Operand::Special { reg, part, span } = operand else {
        return Err(invalid(operand.span(), "a special register is needed here"));
    };
    match *reg {
        SpecialReg::Clock64 | SpecialReg::Globaltimer => Ok(special64(cx, operand)?.lo),
        SpecialReg::TotalSmemSize => total_shared(cx),
        SpecialReg::ClockHi => Ok(clock_pair(cx, special_number("%clock", cx.arch(), *span)?)?.hi),
        SpecialReg::Gridid => Ok(special64(cx, operand)?.lo),
        SpecialReg::Warpid => warp_id(cx),
        SpecialReg::Clusterid => cluster_id(cx, part.unwrap_or(Selector::X), *span),
        SpecialReg::ClusterCtaid => block_bank_or(cx, part.unwrap_or(Selector::X), *span),
        SpecialReg::AggrSmemSize => cluster_shared(cx, *span),
        SpecialReg::ReservedSmemOffsetBegin | SpecialReg::ReservedSmemOffset0 if reserves_behind(cx.arch()) => {
            total_shared(cx)
        }
        SpecialReg::ReservedSmemOffsetCap if reserves_behind(cx.arch()) => hardware_register(cx, "SR_SMEMSZ"),
        reg => {
            let source = source_of(cx.arch(), reg, part.unwrap_or(Selector::X), *span)?;
            read_source(cx, source)
        }
    }
}

/// A 64-bit special register as a source.
pub(crate) fn special64(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<Wide> {
    let ast::Operand::Special { reg, span, .. } = operand else {
        return Err(invalid(operand.span(), "a special register is needed here"));
    };
    match reg {
        SpecialReg::Clock64 => clock_pair(cx, special_number("%clock", cx.arch(), *span)?),
        SpecialReg::Globaltimer => clock_pair(cx, special_number("%globaltimer_lo", cx.arch(), *span)?),
        SpecialReg::Gridid => {
            let pair = cx.temp64()?;
            let at = bank0(cx).grid_id;
            ops::read_constant64(cx, pair, 0, u32::from(at))?;
            Ok(Wide::of_pair(pair))
        }
        SpecialReg::CurrentGraphExec => graph_exec(cx),
        SpecialReg::Perctamemoryoffset => memory_of_block(cx, *span),
        reg if reg.as_str().ends_with("_64") => {
            let name = format!("%{}", reg.as_str().trim_end_matches("_64"));
            clock_pair(cx, special_number(&name, cx.arch(), *span)?)
        }
        _ => Ok(Wide::of_halves(special32(cx, operand)?, Operand::rz())),
    }
}

/// A special register that is a predicate.
pub(crate) fn special_pred(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<Operand> {
    let ast::Operand::Special { reg: SpecialReg::IsExplicitCluster, .. } = operand else {
        return Err(invalid(operand.span(), "a predicate is needed here"));
    };
    explicit_cluster(cx)
}

/// Whether the launch says that its blocks form clusters.
pub(crate) fn explicit_cluster(cx: &mut FnLower<'_, '_>) -> Lowered<Operand> {
    let Some(cluster) = &bank0(cx).cluster else { return Ok(Operand::pt().not()) };
    let word = read_source(cx, Source::Bank(cluster.explicit))?;
    let pred = cx.temp_pred()?;
    ops::is_nonzero(cx, pred, word)?;
    Ok(pred)
}

/// `mov.v4.u32 {…}, %tid;`
pub(crate) fn special_vector(cx: &mut FnLower<'_, '_>, items: &[ast::Operand], from: &ast::Operand) -> Lowered {
    let ast::Operand::Special { reg, span, .. } = from else {
        return Err(invalid(from.span(), "a special register is needed here"));
    };
    for (item, part) in items.iter().zip([Selector::X, Selector::Y, Selector::Z, Selector::W]) {
        if matches!(item, ast::Operand::Sink(_)) {
            continue;
        }
        let value = match part {
            Selector::W => Operand::rz(),
            part => special32(cx, &ast::Operand::Special { reg: *reg, part: Some(part), span: *span })?,
        };
        let to = destinations::dst(cx, item)?;
        ops::mov(cx, to, value)?;
    }
    Ok(())
}

fn bank0(cx: &FnLower<'_, '_>) -> &'static Bank0 {
    &cx.arch().sm().bank0
}

fn read_source(cx: &mut FnLower<'_, '_>, source: Source) -> Lowered<Operand> {
    let temp = cx.temp()?;
    match source {
        Source::Hardware(number) => s2r(cx, temp, number)?,
        Source::Bank(offset) => read_bank0(cx, temp, offset)?,
        Source::Value(bits) => return Ok(if bits == 0 { Operand::rz() } else { Operand::imm(bits) }),
    }
    Ok(temp)
}

/// `to` = the 32 bits at `offset` of constant bank 0, of the block's shape of clusters.
fn read_bank0(cx: &mut FnLower<'_, '_>, to: Operand, offset: u16) -> Lowered {
    let record = bank0(cx).shape_record.as_ref().filter(|record| record.contains(&offset));
    let Some(record) = record else { return ops::read_constant(cx, to, 0, u32::from(offset)) };
    let (shape, below) = (hardware_register(cx, "SR_CgaSize")?, cx.temp()?);
    let step = Operand::imm_signed(-i32::from(record.end - record.start));
    cx.emit(Sass::IMAD, &[], &[(D, below), (A, shape), (B, step), (C, Operand::rz())])?;
    cx.emit(Sass::LDC, &[], &[(D, to), (Base, below), (Bank, Operand::cbank(0, u32::from(offset)))])?;
    Ok(())
}

/// The number of the special register that SASS calls `name`.
pub(crate) fn hardware_number(cx: &FnLower<'_, '_>, name: &str) -> Lowered<u8> {
    let register = special_registers::by_name(name, cx.arch());
    register.map(|r| r.number).ok_or_else(|| unsupported(cx.span, format!("what needs {name}")))
}

/// A fresh register with the value of the special register that SASS calls `name`.
pub(crate) fn hardware_register(cx: &mut FnLower<'_, '_>, name: &str) -> Lowered<Operand> {
    let number = hardware_number(cx, name)?;
    let value = cx.temp()?;
    s2r(cx, value, number)?;
    Ok(value)
}

/// `to` = the special register of that number.
pub(crate) fn s2r(cx: &mut FnLower<'_, '_>, to: Operand, number: u8) -> Lowered {
    let register = special_registers::by_number(number, cx.arch());
    if register.is_some_and(|r| r.coupled) {
        let mut inst = Inst::neutral(Sass::CS2R, [Field::CS2R_SIZE.is(Cs2rSize::X32)].into_iter().collect());
        inst.set_role(D, to);
        inst.set_role(A, Operand::special(number));
        if !special_registers::is_constant(number, cx.arch()) {
            inst.flags |= InstFlags::VOLATILE;
        }
        cx.emit_inst(inst)?;
        return Ok(());
    }
    cx.emit(Sass::S2R, &[], &[(D, to), (A, Operand::special(number))])?;
    Ok(())
}

/// Two consecutive special registers, read at once.
fn clock_pair(cx: &mut FnLower<'_, '_>, number: u8) -> Lowered<Wide> {
    let pair: VReg = cx.temp64()?;
    let mut inst = Inst::neutral(Sass::CS2R, [Field::CS2R_SIZE.is(Cs2rSize::X64)].into_iter().collect());
    inst.set_role(D, Operand::reg(pair));
    inst.set_role(A, Operand::special(number));
    inst.flags |= InstFlags::VOLATILE;
    cx.emit_inst(inst)?;
    Ok(Wide::of_pair(pair))
}

/// `%warpid`: bits 8–14 of the virtual identity.
fn warp_id(cx: &mut FnLower<'_, '_>) -> Lowered<Operand> {
    let identity = hardware_register(cx, "SR_VIRTID")?;
    let warp = cx.temp()?;
    ops::prmt(cx, warp, identity, 0x4441, Operand::rz())?;
    let masked = cx.temp()?;
    ops::lop3(cx, masked, warp, Operand::imm(0x7f), Operand::rz(), crate::function::ops::lut::AND)?;
    Ok(masked)
}

/// `%total_smem_size`: what the block has, less what the system takes.
fn total_shared(cx: &mut FnLower<'_, '_>) -> Lowered<Operand> {
    let all = hardware_register(cx, "SR_SMEMSZ")?;
    let Some(reserved) = bank0(cx).reserved_shared_size else { return Ok(all) };
    let reserved = read_source(cx, Source::Bank(reserved))?;
    let rest = cx.temp()?;
    ops::add(cx, rest, all, reserved.neg())?;
    Ok(rest)
}

/// The system's part of a block's shared memory lies behind the program's: where it lies below, from sm_90 on, its places
/// are constants.
fn reserves_behind(arch: Arch) -> bool {
    arch.sm().shared_base == 0
}

/// What clusters add to the launch's constants.
fn cluster(cx: &FnLower<'_, '_>, span: Span) -> Lowered<&'static ClusterBank0> {
    let missing = || unsupported(span, format!("a register of clusters on {}", cx.arch()));
    bank0(cx).cluster.as_ref().ok_or_else(missing)
}

/// `%clusterid`: the block's number times the reciprocal of the cluster's size, truncated.
fn cluster_id(cx: &mut FnLower<'_, '_>, part: Selector, span: Span) -> Lowered<Operand> {
    let reciprocal = cluster(cx, span)?.nctaid_reciprocal[axis_of(part)];
    let block = read_source(cx, source_of(cx.arch(), SpecialReg::Ctaid, part, span)?)?;
    let (number, quotient, id) = (cx.temp()?, cx.temp()?, cx.temp()?);
    cx.emit(Sass::I2FP, &[Field::SRC_INT.is(Ifmt::U32)], &[(D, number), (B, block)])?;
    let factor = read_source(cx, Source::Bank(reciprocal))?;
    cx.emit(Sass::FMUL, &[], &[(D, quotient), (A, number), (B, factor)])?;
    let fields = [Field::DST_INT.is(Ifmt::U32), Field::RND_INT.is(RndInt::TRUNC), Field::NTZ.is(true)];
    cx.emit(Sass::F2I, &fields, &[(D, id), (B, quotient)])?;
    Ok(id)
}

/// `%cluster_ctaid`: the block's number less that of its cluster's first block.
fn block_bank_or(cx: &mut FnLower<'_, '_>, part: Selector, span: Span) -> Lowered<Operand> {
    let size = cluster(cx, span)?.nctaid[axis_of(part)];
    let cluster = cluster_id(cx, part, span)?;
    let block = read_source(cx, source_of(cx.arch(), SpecialReg::Ctaid, part, span)?)?;
    let size = read_source(cx, Source::Bank(size))?;
    let (first, place) = (cx.temp()?, cx.temp()?);
    cx.emit(Sass::IMAD, &[], &[(D, first), (A, cluster), (B, size), (C, Operand::rz())])?;
    ops::add(cx, place, block, first.neg())?;
    Ok(place)
}

/// `%aggr_smem_size`: the block's shared memory, at most what the launch says.
fn cluster_shared(cx: &mut FnLower<'_, '_>, span: Span) -> Lowered<Operand> {
    let limit = cluster(cx, span)?.aggregate_shared_limit;
    let own = hardware_register(cx, "SR_SMEMSZ")?;
    let limit = read_source(cx, Source::Bank(limit))?;
    let (below, least) = (cx.temp_pred()?, cx.temp()?);
    ops::isetp(cx, below, Cmp::LT, false, own, limit)?;
    ops::sel(cx, least, below, own, limit)?;
    Ok(least)
}

fn graph_exec(cx: &mut FnLower<'_, '_>) -> Lowered<Wide> {
    let Some(cluster) = &bank0(cx).cluster else { return Ok(Wide::of_bits(0)) };
    let pair = cx.temp64()?;
    ops::read_constant64(cx, pair, 0, u32::from(cluster.graph_exec))?;
    Ok(Wide::of_pair(pair))
}

/// `%perctamemoryoffset`: of the memory of all blocks that of this one's place on its multiprocessor.
fn memory_of_block(cx: &mut FnLower<'_, '_>, span: Span) -> Lowered<Wide> {
    /// Bits of SR_VIRTID with the block's place on the multiprocessor: where, how many, where in the place's number.
    const PLACE: [(u32, u32, u32); 2] = [(16, 0xf, 0), (29, 0x3, 4)];
    let missing = || unsupported(span, format!("memory of blocks on {}", cx.arch()));
    let [all, size] = bank0(cx).per_cta_memory.ok_or_else(missing)?;
    let identity = hardware_register(cx, "SR_VIRTID")?;
    let sm = hardware_register(cx, "SR_VIRTUALSMID")?;
    let first = cx.temp()?;
    let slots = cx.arch().sm().per_cta_slots;
    ops::multiply_add(cx, first, sm, Operand::imm(slots), Operand::rz())?;
    let mut number = first;
    for (at, mask, weight) in PLACE {
        let (shifted, bits, sum) = (cx.temp()?, cx.temp()?, cx.temp()?);
        word_ops::shift_right(cx, false, shifted, identity, Operand::imm(at))?;
        ops::lop3(cx, bits, shifted, Operand::imm(mask), Operand::rz(), ops::lut::AND)?;
        ops::multiply_add(cx, sum, bits, Operand::imm(1 << weight), number)?;
        number = sum;
    }
    let (size, offset) = (read_source(cx, Source::Bank(size))?, cx.temp()?);
    ops::multiply_add(cx, offset, number, size, Operand::rz())?;
    let (base, sum) = (cx.temp64()?, cx.temp64()?);
    ops::read_constant64(cx, base, 0, u32::from(all))?;
    ops::add64(cx, sum, Wide::of_pair(base), Wide::of_halves(offset, Operand::rz()))?;
    Ok(Wide::of_pair(sum))
}

/// The number of the hardware register that is exactly the PTX register `name`.
fn special_number(name: &str, arch: Arch, span: Span) -> Lowered<u8> {
    let register = special_registers::by_ptx_name(name, arch);
    register.map(|r| r.number).ok_or_else(|| unsupported(span, format!("the special register {name}")))
}

/// The index of a component.
fn axis_of(part: Selector) -> usize {
    match part {
        Selector::Y => 1,
        Selector::Z => 2,
        _ => 0,
    }
}

/// How a 32-bit special register is read.
fn source_of(arch: Arch, reg: SpecialReg, part: Selector, span: Span) -> Lowered<Source> {
    let bank = &arch.sm().bank0;
    let axis = axis_of(part);
    let bank_or = |offset: Option<u16>, without: u32| offset.map_or(Source::Value(without), Source::Bank);
    let cluster = bank.cluster.as_ref();
    Ok(match reg {
        SpecialReg::Ntid => Source::Bank(bank.ntid[axis]),
        SpecialReg::Nctaid => Source::Bank(bank.nctaid[axis]),
        SpecialReg::DynamicSmemSize => Source::Bank(bank.dynamic_shared_size),
        SpecialReg::Nsmid => Source::Bank(bank.nsmid),
        SpecialReg::Envreg0 => Source::Bank(bank.envreg[0]),
        SpecialReg::Envreg1 => Source::Bank(bank.envreg[1]),
        SpecialReg::Envreg2 => Source::Bank(bank.envreg[2]),
        reg if reg.as_str().starts_with("envreg") => Source::Value(0),
        SpecialReg::Nwarpid => Source::Value(arch.sm().max_warps),
        SpecialReg::Perctamemorysize => bank_or(bank.per_cta_memory.map(|[_, size]| size), 0),
        SpecialReg::ClusterNctaid => bank_or(cluster.map(|c| c.nctaid[axis]), 1),
        SpecialReg::Nclusterid => bank_or(cluster.map(|c| c.nclusterid[axis]), 1),
        SpecialReg::ClusterNctarank => bank_or(cluster.map(|c| c.nctarank), 1),
        SpecialReg::ClusterCtarank if cluster.is_none() => Source::Value(0),
        SpecialReg::ReservedSmemOffset0 => Source::Value(arch.sm().reserved_shared_begin),
        SpecialReg::ReservedSmemOffsetBegin => Source::Value(0),
        SpecialReg::ReservedSmemOffsetEnd => bank_or(bank.reserved_shared_offsets.map(|[end, _]| end), 0),
        SpecialReg::ReservedSmemOffset1 => bank_or(bank.reserved_shared_offsets.map(|[_, second]| second), 0),
        SpecialReg::ReservedSmemOffsetCap => Source::Value(arch.sm().shared_base),
        SpecialReg::Tid | SpecialReg::Ctaid => {
            let suffix = ["x", "y", "z"][axis];
            Source::Hardware(special_number(&format!("%{}.{suffix}", reg.as_str()), arch, span)?)
        }
        reg => Source::Hardware(special_number(&format!("%{}", reg.as_str()), arch, span)?),
    })
}
