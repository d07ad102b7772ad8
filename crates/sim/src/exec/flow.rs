//! Branches, calls, convergence barriers, barriers of blocks and clusters: from instructions to [`Flow`].

use crate::barrier::Reduction;
use crate::effect::Unsupported;
use crate::flow::{Condition, Count, Flow, MaskSrc};
use crate::instruction::Action;
use crate::operand::{Dst, PredSrc, Src, operand};
use oriole_isa::{
    B2rMode, BarOp, BarRed, BraMode, CallMode, Depth, Field, Inst, Opcode, R2urMode, RegFile, Role, Trap, Value,
    WarpsyncMode,
};

/// The action of `inst` if it is of the flow families; `base` is the address of its section.
pub(super) fn compile(inst: &Inst, base: u64) -> Result<Option<Action>, Unsupported> {
    let condition = PredSrc::of(inst, Role::PA);
    refuse_rare_forms(inst)?;
    let flow = match inst.opcode {
        Opcode::BRA => branch(inst, base, condition)?,
        Opcode::BRX | Opcode::BRXU => {
            Flow::Relative { offset: Src::of(inst, Role::Base), plus: Src::of(inst, Role::Offset), condition }
        }
        Opcode::EXIT | Opcode::KILL => Flow::Exit(condition),
        Opcode::CALL => call(inst, base, condition)?,
        Opcode::RET => Flow::Jump { base: label(inst, base)?, offset: Src::of(inst, Role::Base), condition },
        Opcode::LEPC => Flow::Address {
            to: Dst::of(inst, Role::D),
            address: (operand(inst, Role::Target).value != Value::None).then(|| label(inst, base)).transpose()?,
        },
        Opcode::BSSY => Flow::SetConvergence(barrier(inst, Role::Bar)?),
        Opcode::BSYNC => Flow::Converge(barrier(inst, Role::Bar)?, condition),
        Opcode::BREAK => Flow::Break(barrier(inst, Role::Bar)?, condition),
        Opcode::BMOV => barrier_move(inst)?,
        Opcode::WARPSYNC => warp_sync(inst, base)?,
        Opcode::ENDCOLLECTIVE => Flow::EndCollective,
        Opcode::YIELD | Opcode::NANOSLEEP => Flow::Yield,
        Opcode::BAR => block_barrier(inst),
        Opcode::UCGABAR_ARV => Flow::ClusterArrive,
        Opcode::UCGABAR_WAIT => Flow::ClusterWait,
        Opcode::BPT => Flow::Trap,
        // Memory is in order here, copies are done at once, and errors are known at once.
        Opcode::NOP
        | Opcode::MEMBAR
        | Opcode::ERRBAR
        | Opcode::CGAERRBAR
        | Opcode::FENCE
        | Opcode::DEPBAR
        | Opcode::PMTRIG
        | Opcode::ACQBULK
        | Opcode::PREEXIT => return Ok(Some(Action::Nothing)),
        _ => return Ok(None),
    };
    Ok(Some(Action::Flow(Box::new(flow))))
}

/// Forms that no compiler writes and that have no meaning here: `WARPSYNC` with a predicate besides the
/// guard, jumps with a count of nested calls, `BRXU.DIV`, pauses, `BAR.SCAN`, other sources of `B2R`, `ELECT` and `R2UR`.
fn refuse_rare_forms(inst: &Inst) -> Result<(), Unsupported> {
    let mut operands = inst.opcode.signature().iter().zip(&inst.operands);
    let strange = match inst.opcode {
        Opcode::WARPSYNC => operands.any(|(spec, operand)| spec.role == Role::PA && spec.neutral != Some(*operand)),
        Opcode::BRA | Opcode::BRX | Opcode::CALL | Opcode::RET => inst.get(Field::DEPTH) != Depth::KEEP,
        Opcode::BRXU => inst.get(Field::DEPTH) != Depth::KEEP || inst.get(Field::BRA_MODE) != BraMode::NORMAL,
        Opcode::BPT => inst.get(Field::TRAP) != Trap::TRAP,
        Opcode::BAR => inst.get(Field::BAR_OP) == BarOp::SCAN,
        Opcode::B2R => inst.get(Field::B2R_MODE) != B2rMode::RESULT,
        Opcode::ELECT => matches!(operand(inst, Role::PA).value, Value::Reg(RegFile::UR, _)),
        Opcode::R2UR => inst.get(Field::R2UR_MODE) == R2urMode::FILL,
        _ => false,
    };
    if strange { Err(Unsupported(format!("this form of {}", inst.opcode.name()))) } else { Ok(()) }
}

fn branch(inst: &Inst, base: u64, lanes: PredSrc) -> Result<Flow, Unsupported> {
    // The form of sm_70 and sm_75 names no threads: it means all.
    let mask = match operand(inst, Role::Mask).value {
        Value::None => MaskSrc::All,
        _ => MaskSrc::Operand(Src::of(inst, Role::Mask)),
    };
    let condition = match inst.get(Field::BRA_MODE) {
        BraMode::DIV => Condition::Divergent(mask),
        BraMode::CONV => Condition::Convergent(mask),
        _ if inst.get(Field::BRA_ANY) => Condition::Any,
        _ if inst.get(Field::BRA_UNIFORM) => Condition::All(lanes),
        _ => Condition::Lanes(lanes),
    };
    Ok(Flow::Branch { target: label(inst, base)?, condition })
}

fn warp_sync(inst: &Inst, base: u64) -> Result<Flow, Unsupported> {
    let mask = match operand(inst, Role::A).value {
        Value::None => MaskSrc::All,
        _ => MaskSrc::Operand(Src::of(inst, Role::A)),
    };
    Ok(match inst.get(Field::WARPSYNC_MODE) {
        WarpsyncMode::COLLECTIVE => Flow::Collective { mask, target: label(inst, base)? },
        mode => Flow::WarpSync { mask, exclusive: mode == WarpsyncMode::EXCLUSIVE },
    })
}

fn block_barrier(inst: &Inst) -> Flow {
    let reduction = match inst.get(Field::BAR_RED) {
        BarRed::POPC => Reduction::Count,
        BarRed::AND => Reduction::And,
        _ => Reduction::Or,
    };
    let op = inst.get(Field::BAR_OP);
    Flow::Barrier {
        id: Src::of(inst, Role::A),
        count: if inst.get(Field::BAR_BOTH) { Count::WithId } else { Count::Operand(Src::of(inst, Role::B)) },
        wait: op != BarOp::ARV,
        reduction: (op == BarOp::RED).then(|| (reduction, PredSrc::of(inst, Role::PA))),
    }
}

/// The code address that `Target` names; 0 without one.
fn label(inst: &Inst, base: u64) -> Result<u64, Unsupported> {
    match operand(inst, Role::Target).value {
        Value::Label(offset) => Ok(base.wrapping_add_signed(offset)),
        Value::None => Ok(0),
        other => Err(Unsupported(format!("a target given as {other:?}"))),
    }
}

fn call(inst: &Inst, base: u64, condition: PredSrc) -> Result<Flow, Unsupported> {
    let has_base = operand(inst, Role::Base).value != Value::None;
    let absolute = inst.get(Field::CALL_MODE) == CallMode::ABS;
    let target = match operand(inst, Role::Target).value {
        // An absolute call's field is the address itself.
        Value::Label(offset) if absolute => offset as u64,
        Value::Imm(address) => address,
        _ => label(inst, base)?,
    };
    let offset = if has_base { Src::of(inst, Role::Base) } else { Src::ZERO };
    Ok(Flow::Jump { base: target, offset, condition })
}

fn barrier(inst: &Inst, role: Role) -> Result<u8, Unsupported> {
    match operand(inst, role).value {
        Value::Reg(RegFile::B, number) => Ok(number as u8),
        other => Err(Unsupported(format!("a convergence barrier given as {other:?}"))),
    }
}

fn barrier_move(inst: &Inst) -> Result<Flow, Unsupported> {
    match (operand(inst, Role::D).value, operand(inst, Role::A).value) {
        (Value::Reg(RegFile::B, to @ 0..16), Value::Reg(RegFile::B, ACTIVE)) => Ok(Flow::SaveActive(to as u8)),
        // What is moved back is what was saved: the threads that execute this together.
        (Value::Reg(RegFile::B, ACTIVE), Value::Reg(RegFile::B, 0..16)) => match inst.get(Field::PQUAD) {
            false => Ok(Flow::OwnThreads),
            true => Ok(Flow::WholeQuads),
        },
        (Value::Reg(RegFile::B, to @ 0..16), Value::Reg(RegFile::B, from @ 0..16)) => {
            Ok(Flow::MoveConvergence { to: to as u8, from: from as u8, clear: inst.get(Field::CLEAR) })
        }
        (Value::Reg(RegFile::B, to @ 0..16), Value::Reg(RegFile::R, _) | Value::Imm(_)) => {
            Ok(Flow::WriteConvergence(to as u8, Src::of(inst, Role::A)))
        }
        (Value::Reg(RegFile::R, _), Value::Reg(RegFile::B, from @ 0..16)) => {
            Ok(Flow::ReadConvergence { to: Dst::of(inst, Role::D), barrier: from as u8, clear: inst.get(Field::CLEAR) })
        }
        _ => Err(Unsupported("a move of the warp's state".into())),
    }
}

/// Number of `MACTIVE` among the barrier registers.
const ACTIVE: u16 = 26;
