//! Flow of control: what each instruction of the branch and synchronisation families does to the
//! threads of a warp.

use crate::barrier::Reduction;
use crate::exec::Unsupported;
use crate::operand::{Dst, PredSrc, Src, operand};
use crate::program::Action;
use oriole_isa::{Field, Inst, Opcode, RegFile, Role, Value, call_mode};

/// When a branch is taken, besides its guard.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Condition {
    /// In the lanes where the predicate is true.
    Lanes(PredSrc),
    /// By all lanes, if the guard lets any through (`BRA.U.ANY`).
    Any,
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
    /// Jump to `base` plus a register pair (`BRX`, `CALL`, `RET`).
    Jump {
        /// Added to the register.
        base: u64,
        /// A register pair.
        offset: Src,
    },
    /// The address of an instruction into a register pair (`LEPC`).
    Address {
        /// The pair.
        to: Dst,
        /// The address; `None`: of the next instruction.
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
    /// `WARPSYNC`.
    WarpSync(MaskSrc),
    /// Let other threads of the warp run.
    Yield,
    /// `BAR`.
    Barrier {
        /// Its number.
        id: Src,
        /// Threads to wait for.
        count: Option<Src>,
        /// The threads wait (all but `BAR.ARV`).
        wait: bool,
        /// `BAR.RED`.
        reduction: Option<(Reduction, PredSrc)>,
    },
    /// `BPT.TRAP`.
    Trap,
}

/// The action of `inst` if it is of the flow families; `base` is the address of its section.
pub(crate) fn compile(inst: &Inst, base: u64) -> Result<Option<Action>, Unsupported> {
    let condition = PredSrc::of(inst, Role::PA);
    let flow = match inst.opcode {
        Opcode::NOP | Opcode::MEMBAR | Opcode::ERRBAR | Opcode::CGAERRBAR => return Ok(Some(Action::Nothing)),
        Opcode::BRA => Flow::Branch { target: label(inst, base)?, condition: Condition::Lanes(condition) },
        Opcode::EXIT => Flow::Exit(condition),
        Opcode::CALL => call(inst, base)?,
        Opcode::RET => Flow::Jump { base: label(inst, base)?, offset: Src::of(inst, Role::Base) },
        Opcode::BSSY => Flow::SetConvergence(barrier(inst, Role::Bar)?),
        Opcode::BSYNC => Flow::Converge(barrier(inst, Role::Bar)?, condition),
        Opcode::BREAK => Flow::Break(barrier(inst, Role::Bar)?, condition),
        Opcode::BMOV => barrier_move(inst)?,
        Opcode::WARPSYNC => Flow::WarpSync(match operand(inst, Role::A).value {
            Value::None => MaskSrc::All,
            _ => MaskSrc::Operand(Src::of(inst, Role::A)),
        }),
        Opcode::YIELD => Flow::Yield,
        _ => return Ok(None),
    };
    Ok(Some(Action::Flow(flow)))
}

/// The code address that `Target` names; 0 without one.
fn label(inst: &Inst, base: u64) -> Result<u64, Unsupported> {
    match operand(inst, Role::Target).value {
        Value::Label(offset) => Ok(base.wrapping_add_signed(offset)),
        Value::None => Ok(0),
        other => Err(Unsupported(format!("a target given as {other:?}"))),
    }
}

fn call(inst: &Inst, base: u64) -> Result<Flow, Unsupported> {
    let has_base = operand(inst, Role::Base).value != Value::None;
    let absolute = inst.get(Field::CallMode) == call_mode::ABS;
    let target = match operand(inst, Role::Target).value {
        // An absolute call's field is the address itself.
        Value::Label(offset) if absolute => offset as u64,
        Value::Imm(address) => address,
        _ => label(inst, base)?,
    };
    Ok(match has_base {
        true => Flow::Jump { base: target, offset: Src::of(inst, Role::Base) },
        false => Flow::Jump { base: target, offset: Src::ZERO },
    })
}

fn barrier(inst: &Inst, role: Role) -> Result<u8, Unsupported> {
    match operand(inst, role).value {
        Value::Reg(RegFile::B, number) => Ok(number as u8),
        other => Err(Unsupported(format!("a convergence barrier given as {other:?}"))),
    }
}

fn barrier_move(inst: &Inst) -> Result<Flow, Unsupported> {
    let to_barrier = matches!(operand(inst, Role::D).value, Value::Reg(RegFile::B, _));
    Ok(match to_barrier {
        true => Flow::WriteConvergence(barrier(inst, Role::D)?, Src::of(inst, Role::A)),
        false => Flow::ReadConvergence {
            to: Dst::of(inst, Role::D),
            barrier: barrier(inst, Role::A)?,
            clear: inst.get(Field::Clear) != 0,
        },
    })
}
