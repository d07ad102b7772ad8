//! Flow of control: what each instruction of the branch and synchronisation families does to the
//! threads of a warp.

use crate::barrier::Reduction;
use crate::exec::Unsupported;
use crate::operand::{Dst, PredSrc, Src, operand};
use crate::program::Action;
use oriole_isa::{
    Field, Inst, Opcode, RegFile, Role, Value, b2r_mode, bar_op, bar_red, bra_mode, call_mode, r2ur_mode, trap,
    warpsync_mode,
};

/// When a branch is taken, besides its guard.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Condition {
    /// In the lanes where the predicate is true.
    Lanes(PredSrc),
    /// By all lanes, if the guard lets any through (`BRA.U.ANY`).
    Any,
    /// By all lanes, if the guard and the predicate let all of them through (`BRA.U`): ptxas jumps so over
    /// a region with its own `BSSY`, `BRA` and `BSYNC` on the same predicate, which differs between lanes.
    All(PredSrc),
    /// By all lanes, if some threads of the mask are not with them (`BRA.DIV`).
    Divergent(Src),
    /// By all lanes, if all threads of the mask are with them (`BRA.CONV`).
    Convergent(Src),
}

/// A source of one mask per thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MaskSrc {
    /// All threads.
    All,
    /// An operand.
    Operand(Src),
}

/// Where `BAR` has the number of threads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Count {
    /// An operand; 0 means the whole block.
    Operand(Src),
    /// Bits 16 to 27 of the operand that has the barrier's number in its low bits.
    WithId,
}

/// An instruction of the flow families.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Flow {
    /// Jump to a fixed address.
    Branch {
        /// Code address.
        target: u64,
        /// Which lanes go.
        condition: Condition,
    },
    /// A jump to a fixed address where there is no code: a fault when a lane takes it.
    Nowhere {
        /// Code address.
        target: u64,
        /// Which lanes go.
        condition: Condition,
    },
    /// Jump to `base` plus a register pair (`CALL`, `RET`), in the lanes where the predicate is true.
    Jump {
        /// Added to the register.
        base: u64,
        /// A register pair.
        offset: Src,
        /// Which lanes go.
        condition: PredSrc,
    },
    /// Jump to the next instruction's address plus a register pair plus an immediate (`BRX`, `BRXU`).
    Relative {
        /// A register pair.
        offset: Src,
        /// The immediate.
        plus: Src,
        /// Which lanes go.
        condition: PredSrc,
    },
    /// The address of an instruction into a register pair (`LEPC`).
    Address {
        /// The pair.
        to: Dst,
        /// The address; `None`: of this instruction.
        address: Option<u64>,
    },
    /// End of the thread.
    Exit(PredSrc),
    /// `BSSY`.
    SetConvergence(u8),
    /// `BSYNC`.
    Converge(u8, PredSrc),
    /// `BREAK`.
    Break(u8, PredSrc),
    /// `BMOV` of a convergence barrier to a register.
    ReadConvergence {
        /// The register.
        to: Dst,
        /// The barrier.
        barrier: u8,
        /// Forget it afterwards.
        clear: bool,
    },
    /// `BMOV` of a register to a convergence barrier.
    WriteConvergence(u8, Src),
    /// `BMOV` of the active threads to a convergence barrier.
    SaveActive(u8),
    /// `BMOV.PQUAD MACTIVE`: the other lanes of the quads execute too, until `BMOV MACTIVE`.
    WholeQuads,
    /// `BMOV MACTIVE`: the threads themselves go on.
    OwnThreads,
    /// `WARPSYNC`.
    WarpSync {
        /// The threads that each thread waits for.
        mask: MaskSrc,
        /// Threads of different masks do not go on together (`.EXCLUSIVE`).
        exclusive: bool,
    },
    /// Let other threads of the warp run.
    Yield,
    /// `BAR`.
    Barrier {
        /// Its number.
        id: Src,
        /// Threads to wait for.
        count: Count,
        /// The threads wait (all but `BAR.ARV`).
        wait: bool,
        /// `BAR.RED`.
        reduction: Option<(Reduction, PredSrc)>,
    },
    /// `UCGABAR_ARV`.
    ClusterArrive,
    /// `UCGABAR_WAIT`.
    ClusterWait,
    /// `BPT.TRAP`.
    Trap,
}

/// The action of `inst` if it is of the flow families; `base` is the address of its section.
pub(crate) fn compile(inst: &Inst, base: u64) -> Result<Option<Action>, Unsupported> {
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
        Opcode::WARPSYNC => warp_sync(inst),
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
        | Opcode::PREEXIT
        | Opcode::ENDCOLLECTIVE => return Ok(Some(Action::Nothing)),
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
        Opcode::BRA | Opcode::BRX | Opcode::CALL | Opcode::RET => inst.get(Field::Depth) != 0,
        Opcode::BRXU => inst.get(Field::Depth) != 0 || inst.get(Field::BraMode) != bra_mode::NORMAL,
        Opcode::BPT => inst.get(Field::Trap) != trap::TRAP,
        Opcode::BAR => inst.get(Field::BarOp) == bar_op::SCAN,
        Opcode::B2R => inst.get(Field::B2rMode) != b2r_mode::RESULT,
        Opcode::ELECT => matches!(operand(inst, Role::PA).value, Value::Reg(RegFile::UR, _)),
        Opcode::R2UR => inst.get(Field::R2urMode) == r2ur_mode::FILL,
        _ => false,
    };
    if strange { Err(Unsupported(format!("this form of {}", inst.opcode.name()))) } else { Ok(()) }
}

fn branch(inst: &Inst, base: u64, lanes: PredSrc) -> Result<Flow, Unsupported> {
    let mask = Src::of(inst, Role::Mask);
    let condition = match inst.get(Field::BraMode) {
        bra_mode::DIV => Condition::Divergent(mask),
        bra_mode::CONV => Condition::Convergent(mask),
        _ if inst.get(Field::BraAny) != 0 => Condition::Any,
        _ if inst.get(Field::BraUniform) != 0 => Condition::All(lanes),
        _ => Condition::Lanes(lanes),
    };
    Ok(Flow::Branch { target: label(inst, base)?, condition })
}

fn warp_sync(inst: &Inst) -> Flow {
    let mask = match operand(inst, Role::A).value {
        Value::None => MaskSrc::All,
        _ => MaskSrc::Operand(Src::of(inst, Role::A)),
    };
    Flow::WarpSync { mask, exclusive: inst.get(Field::WarpsyncMode) == warpsync_mode::EXCLUSIVE }
}

fn block_barrier(inst: &Inst) -> Flow {
    let reduction = match inst.get(Field::BarRed) {
        bar_red::POPC => Reduction::Count,
        bar_red::AND => Reduction::And,
        _ => Reduction::Or,
    };
    let op = inst.get(Field::BarOp);
    Flow::Barrier {
        id: Src::of(inst, Role::A),
        count: if inst.get(Field::BarBoth) != 0 { Count::WithId } else { Count::Operand(Src::of(inst, Role::B)) },
        wait: op != bar_op::ARV,
        reduction: (op == bar_op::RED).then(|| (reduction, PredSrc::of(inst, Role::PA))),
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
    let absolute = inst.get(Field::CallMode) == call_mode::ABS;
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
        (Value::Reg(RegFile::B, ACTIVE), Value::Reg(RegFile::B, 0..16)) => match inst.get(Field::Pquad) {
            0 => Ok(Flow::OwnThreads),
            _ => Ok(Flow::WholeQuads),
        },
        (Value::Reg(RegFile::B, to @ 0..16), Value::Reg(RegFile::R, _)) => {
            Ok(Flow::WriteConvergence(to as u8, Src::of(inst, Role::A)))
        }
        (Value::Reg(RegFile::R, _), Value::Reg(RegFile::B, from @ 0..16)) => Ok(Flow::ReadConvergence {
            to: Dst::of(inst, Role::D),
            barrier: from as u8,
            clear: inst.get(Field::Clear) != 0,
        }),
        _ => Err(Unsupported("a move of the warp's state".into())),
    }
}

/// Number of `MACTIVE` among the barrier registers.
const ACTIVE: u16 = 26;
