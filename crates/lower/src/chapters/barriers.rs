//! Barriers and fences: `bar`, `barrier`, `membar`, `fence`.

use crate::chapters::memory::fences::{fence, invalidate};
use crate::error::{Lowered, invalid, unsupported};
use crate::function::{FnLower, destinations, operands, ops, shared, sources, special};
use crate::handler::{Chapter, unknown};
use oriole_isa::Role::{A, B, D, PA, PD};
use oriole_isa::{BarOp, BarRed, FenceSpace, Field, MembarScope, MembarSem, Opcode as Sass, Setting};
use oriole_ori::{Block, Operand};
use oriole_ptx::ast::{self, Instruction, Opcode, ScalarType, Scope, Semantics, Word};

/// The opcodes of this chapter.
pub(crate) const CHAPTER: Chapter =
    &[(Opcode::Bar, bar), (Opcode::Barrier, bar), (Opcode::Membar, membar), (Opcode::Fence, membar)];

/// `bar`, `barrier` in all their forms.
fn bar(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if instruction.scope() == Some(Scope::Cluster) {
        return cluster(cx, instruction);
    }
    if instruction.has(Word::Warp) {
        let mask = operands::operand(instruction, 0)?;
        return crate::chapters::warp::meet(cx, mask);
    }
    // `bar` implies `.aligned`; `barrier` without it may be reached by parts of a warp.
    let aligned = instruction.opcode == Opcode::Bar || instruction.has(Word::Aligned);
    if instruction.has(Word::Red) {
        return reduce(cx, instruction);
    }
    let barrier = barrier_number(cx, operands::operand(instruction, 0)?)?;
    let threads = match instruction.operands.get(1) {
        Some(count) => thread_count(cx, count)?,
        None => Operand::imm(0),
    };
    let arrive = instruction.has(Word::Arrive);
    let op = if arrive { BarOp::ARV } else { BarOp::SYNC };
    let mods = [Field::BAR_OP.is(op), Field::DEFER_BLOCKING.is(aligned && !arrive && cx.sm().defers_blocking)];
    emit_bar(cx, &mods, barrier, threads, Operand::pt())
}

/// `bar.red.op d, a{, b}, p;`
fn reduce(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    let (result, number) = (operands::operand(instruction, 0)?, operands::operand(instruction, 1)?);
    let (count, pred) = match instruction.operands.get(2..) {
        Some([pred]) => (None, pred),
        Some([count, pred]) => (Some(count), pred),
        _ => return Err(unknown(cx, instruction)),
    };
    let barrier = barrier_number(cx, number)?;
    let threads = match count {
        Some(count) => thread_count(cx, count)?,
        None => Operand::imm(0),
    };
    let pred = sources::pred(cx, pred)?;
    let op = match () {
        () if instruction.has(Word::Popc) => BarRed::POPC,
        () if instruction.has(Word::And) => BarRed::AND,
        () if instruction.has(Word::Or) => BarRed::OR,
        () => return Err(unknown(cx, instruction)),
    };
    let mods = [Field::BAR_OP.is(BarOp::RED), Field::BAR_RED.is(op), Field::DEFER_BLOCKING.is(cx.sm().defers_blocking)];
    emit_bar(cx, &mods, barrier, threads, pred)?;
    if instruction.last_type() == Some(ScalarType::Pred) {
        let to = destinations::dst_pred(cx, result)?;
        cx.emit(Sass::B2R, &[], &[(PD, to)])?;
    } else {
        let to = destinations::dst(cx, result)?;
        cx.emit(Sass::B2R, &[], &[(D, to)])?;
    }
    Ok(())
}

fn emit_bar(cx: &mut FnLower<'_, '_>, mods: &[Setting], barrier: Operand, threads: Operand, pred: Operand) -> Lowered {
    if barrier.as_reg().is_none() || threads.as_reg().is_none() {
        cx.emit(Sass::BAR, mods, &[(A, barrier), (B, threads), (PA, pred)])?;
        return Ok(());
    }
    // One register holds both: the number in its lower half, the threads above it.
    let packed = cx.temp()?;
    ops::prmt(cx, packed, barrier, 0x5410, threads)?;
    let mods: Vec<Setting> = mods.iter().copied().chain([Field::BAR_BOTH.is(true)]).collect();
    cx.emit(Sass::BAR, &mods, &[(A, packed), (PA, pred)])?;
    Ok(())
}

/// The barrier's number; the highest is noted in the function's attributes.
fn barrier_number(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<Operand> {
    let limit = cx.arch().sm().barriers_per_cta;
    match operand.imm().and_then(|imm| imm.int_bits()) {
        Some(number) if number < u64::from(limit) => {
            let attributes = cx.func.attributes_mut();
            attributes.barriers = attributes.barriers.max(number as u32 + 1);
            Ok(Operand::imm(number as u32))
        }
        Some(_) => Err(invalid(operand.span(), format!("barriers have numbers 0 to {}", limit - 1))),
        None => {
            cx.func.attributes_mut().barriers = limit;
            let number = sources::src(cx, operand)?;
            ops::in_reg(cx, number)
        }
    }
}

/// The number of threads; a multiple of the warp size.
fn thread_count(cx: &mut FnLower<'_, '_>, operand: &ast::Operand) -> Lowered<Operand> {
    let warp = u64::from(cx.arch().sm().warp_size);
    let limit = u64::from(cx.arch().sm().max_threads_per_cta).next_multiple_of(warp);
    match operand.imm().and_then(|imm| imm.int_bits()) {
        Some(count) if count.is_multiple_of(warp) && count <= limit => Ok(Operand::imm(count as u32)),
        Some(_) => {
            Err(invalid(operand.span(), format!("the number of threads is a multiple of {warp}, at most {limit}")))
        }
        None => {
            let count = sources::src(cx, operand)?;
            ops::in_reg(cx, count)
        }
    }
}

/// `barrier.cluster.arrive`, `barrier.cluster.wait`
fn cluster(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if !shared::has_clusters(cx) {
        return Err(unsupported(instruction.span, format!("a cluster barrier on {}", cx.arch())));
    }
    cx.guard_by_branch()?;
    let arrives = instruction.has(Word::Arrive);
    let after = match cx.sm().cluster_barrier_if_explicit {
        true => Some(without_cluster(cx, arrives)?),
        false => None,
    };
    if arrives {
        if instruction.semantics() != Some(Semantics::Relaxed) {
            fence(cx, MembarSem::ALL, Scope::Gpu)?;
        }
        cx.emit(Sass::UCGABAR_ARV, &[], &[])?;
    } else {
        cx.emit(Sass::UCGABAR_WAIT, &[], &[])?;
        invalidate(cx)?;
    }
    if let Some(after) = after {
        cx.jump(after);
        cx.switch_to(after);
    }
    Ok(())
}

/// Where the launch has no clusters, the block waits for itself: an arrival is nothing, waiting is barrier 0.
/// Control stands where there are clusters then; the block where both ways meet comes back.
fn without_cluster(cx: &mut FnLower<'_, '_>, arrives: bool) -> Lowered<Block> {
    let (inside, outside, after) = (cx.new_block()?, cx.new_block()?, cx.new_block()?);
    let explicit = special::explicit_cluster(cx)?;
    cx.branch_with(explicit, inside, if arrives { after } else { outside }, true)?;
    if !arrives {
        cx.switch_to(outside);
        cx.func.attributes_mut().barriers = cx.func.attributes().barriers.max(1);
        let mods = [Field::BAR_OP.is(BarOp::SYNC), Field::DEFER_BLOCKING.is(cx.sm().defers_blocking)];
        emit_bar(cx, &mods, Operand::imm(0), Operand::imm(0), Operand::pt())?;
        cx.jump(after);
    }
    cx.switch_to(inside);
    Ok(after)
}

/// `membar.level`, `fence.sem.scope`, `fence.proxy.kind`
fn membar(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if instruction.has(Word::Proxy) {
        return proxy(cx, instruction);
    }
    let scope = match instruction.scope() {
        Some(scope) => scope,
        None if instruction.has(Word::Gl) => Scope::Gpu,
        None => return Err(unknown(cx, instruction)),
    };
    let semantics = instruction.semantics().filter(|_| instruction.opcode == Opcode::Fence);
    match semantics {
        Some(Semantics::Acquire) => {}
        // Only reads before it are ordered, which ptxas has no instruction for.
        Some(Semantics::Release) if instruction.has(Word::Alias) => {}
        Some(Semantics::AcqRel | Semantics::Release) => fence(cx, MembarSem::ALL, scope)?,
        None if instruction.opcode == Opcode::Fence => fence(cx, MembarSem::ALL, scope)?,
        _ => fence(cx, MembarSem::SC, scope)?,
    }
    if scope == Scope::Cta || semantics == Some(Semantics::Release) { Ok(()) } else { invalidate(cx) }
}

/// `fence.proxy.async` and its like, between ways to reach the same memory.
fn proxy(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if instruction.has(Word::Alias) {
        match instruction.semantics() {
            Some(Semantics::Acquire) if instruction.has(Word::FabricGeneric) || instruction.has(Word::FabricFabric) => {
                invalidate(cx)?;
                return cx.emit(Sass::FENCE, &[Field::FENCE_SPACE.is(FenceSpace::G)], &[]).map(|_| ());
            }
            Some(Semantics::Acquire) => return invalidate(cx),
            Some(_) => return fence(cx, MembarSem::ALL, Scope::Sys),
            None => {}
        }
        cx.emit(Sass::MEMBAR, &[Field::MEMBAR_SEM.is(MembarSem::SC), Field::MEMBAR_SCOPE.is(MembarScope::SYS)], &[])?;
        return invalidate(cx);
    }
    if instruction.has(Word::TensormapGeneric) {
        return crate::chapters::asynchronous::tensormap::fence(cx, instruction);
    }
    if cx.has(Sass::FENCE) && instruction.has(Word::AsyncGeneric) {
        return restricted(cx, instruction);
    }
    if !instruction.has(Word::Async) || !cx.has(Sass::FENCE) {
        return Err(unknown(cx, instruction));
    }
    let spaces: &[FenceSpace] = match instruction.space() {
        Some(ast::Space::Global) => &[FenceSpace::G],
        Some(ast::Space::SharedCta | ast::Space::Shared | ast::Space::SharedCluster) => &[FenceSpace::S],
        _ => &[FenceSpace::S, FenceSpace::G],
    };
    // What the threads have written is to be there before the asynchronous proxy looks: an H200 gives a product of a warpgroup old
    // bytes of shared memory without it, and ptxas has it too.
    if spaces.contains(&FenceSpace::S) {
        let is_own = matches!(instruction.space(), Some(ast::Space::SharedCta | ast::Space::Shared));
        fence(cx, MembarSem::ALL, if is_own { Scope::Cta } else { Scope::Gpu })?;
    }
    spaces.iter().try_for_each(|space| cx.emit(Sass::FENCE, &[Field::FENCE_SPACE.is(*space)], &[]).map(|_| ()))
}

/// `fence.proxy.async::generic.sem.sync_restrict::space.cluster;`: a waiting cluster barrier or mbarrier has
/// acquired already; reads alone (`::read`) need no instruction.
fn restricted(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if instruction.semantics() == Some(Semantics::Acquire) || instruction.has(Word::SyncRestrictSharedClusterRead) {
        return Ok(());
    }
    fence(cx, MembarSem::ALL, Scope::Cta)?;
    cx.emit(Sass::FENCE, &[Field::FENCE_SPACE.is(FenceSpace::S)], &[])?;
    Ok(())
}
