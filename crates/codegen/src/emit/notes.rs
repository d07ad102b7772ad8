//! What tools are told of single instructions: exchanges in the warp, and what is done with mbarriers.

use super::Section;
use super::placed::{BYTES, Code, Jump, jumps};
use super::{demands, unused};
use oriole_cubin::{Exchange, FunctionSpec, HalfWord, MaskRegister, MbarrierAccess, MbarrierKind, Mbarriers};
use oriole_isa::access::{Register, Touches};
use oriole_isa::{
    Arch, AtomOp, BaseScale, Field, Inst, Opcode, RegFile, Role, SyncsCount, SyncsOp, SyncsResult, Value,
};
use oriole_ori::{FuncId, INST_BYTES, InstFlags};

/// Blocks have as many barriers as the number of one in a register may name.
const ALL_BARRIERS: u32 = 16;

/// Puts into the description what its finished code shows.
pub(super) fn describe(section: &Section<'_>, spec: &mut FunctionSpec) {
    for (id, start) in &section.functions {
        describe_function(section, *id, *start, spec);
    }
    let code = Code { arch: section.arch, bytes: &spec.code };
    let opcodes = section.functions.iter().flat_map(|(id, start)| {
        let at = move |position: u32| (start + i64::from(position) * INST_BYTES) as u32;
        (0u32..).map(at).zip(section.code[*id].opcodes.iter().copied())
    });
    let opcodes: Vec<(u32, Opcode)> = opcodes.collect();
    spec.unused_bytes = unused::unused_bytes(&code, &opcodes);
    spec.demands = demands::demands(&code, &opcodes);
    if spec.barriers == ALL_BARRIERS {
        spec.barriers = barriers(&code).unwrap_or(ALL_BARRIERS);
    }
}

fn describe_function(section: &Section<'_>, id: FuncId, start: i64, spec: &mut FunctionSpec) {
    let machine = &section.code[id];
    spec.gathers |= machine.gathers;
    let code = Code { arch: section.arch, bytes: &spec.code };
    let at = |position: u32| (start + i64::from(position) * INST_BYTES) as u32;
    let whole = at(0)..at(machine.words.len() as u32);
    // Only where something is listed the code is looked at.
    let jumps = if machine.notes.is_empty() { Vec::new() } else { jumps(&code, whole) };
    for &(position, flags) in &machine.notes {
        let offset = at(position);
        if flags.contains(InstFlags::MEMBERS) {
            spec.exchanges.push(Exchange { offset, mask: mask(&code, &jumps, offset) });
        }
        if flags.contains(InstFlags::ADDED) {
            spec.added_exchanges.push(offset);
        }
        if flags.contains(InstFlags::WORD_AROUND) {
            spec.half_words.push(HalfWord { offset, address: address_of_half(&code, offset) });
        }
        if flags.contains(InstFlags::OTHER_KIND) && !flags.contains(InstFlags::MBARRIER) {
            spec.copies_ignoring_bounds.push(offset);
        }
        if flags.contains(InstFlags::MBARRIER) {
            let mbarriers = spec.mbarriers.get_or_insert(Mbarriers { initialised: Some(0), accesses: Vec::new() });
            let other = flags.contains(InstFlags::OTHER_KIND);
            let access = code.at(offset).and_then(|inst| access(section, &inst, offset, other));
            if access.is_some_and(|access| access.kind == MbarrierKind::Init) {
                let once = !is_repeated(&code, &jumps, offset);
                mbarriers.initialised = mbarriers.initialised.filter(|_| once).and_then(|count| count.checked_add(1));
            }
            mbarriers.accesses.extend(access);
        }
    }
}

/// The register that has the mask of an exchange: that of the wait before it in its block, if nothing has changed it since, or its
/// own where it is a wait.
fn mask(code: &Code<'_>, jumps: &[Jump], exchange: u32) -> Option<MaskRegister> {
    let mut offset = exchange;
    let mut written = Vec::new();
    loop {
        let inst = code.at(offset)?;
        if inst.opcode == Opcode::WARPSYNC {
            let register = match inst.operands.get(Opcode::WARPSYNC.position(Role::A)?)?.value {
                Value::Reg(file @ (RegFile::R | RegFile::UR), number) => Register::new(file, number)?,
                _ => return None,
            };
            let kept = !written.contains(&register);
            let number = u8::try_from(register.number()).ok().filter(|_| kept)?;
            return Some(match register.file() {
                RegFile::UR => MaskRegister::Uniform(number),
                _ => MaskRegister::Thread(number),
            });
        }
        if jumps.iter().any(|jump| jump.to == offset) {
            return None;
        }
        // What the exchange itself writes is written when it has read.
        if offset != exchange {
            written.extend(Touches::of(&inst, code.arch).writes.into_iter().map(|write| write.register));
        }
        offset = offset.checked_sub(BYTES as u32)?;
        if ends_block(&code.at(offset)?) {
            return None;
        }
    }
}

/// The register with the address of the 16 bits, of which an access is to the word around: what the base of the access was
/// rounded down from.
fn address_of_half(code: &Code<'_>, access: u32) -> Option<u8> {
    let inst = code.at(access)?;
    let base = match inst.operands.get(inst.opcode.position(Role::Base)?)?.value {
        Value::Reg(RegFile::R, number) => Register::new(RegFile::R, number)?,
        _ => return None,
    };
    let mut written = Vec::new();
    for offset in (0..access).rev().step_by(BYTES).map(|end| end + 1 - BYTES as u32) {
        let inst = code.at(offset)?;
        let writes: Vec<Register> = Touches::of(&inst, code.arch).writes.iter().map(|write| write.register).collect();
        if writes.contains(&base) {
            let source = inst.operands.get(inst.opcode.position(Role::A)?)?.value;
            let Value::Reg(RegFile::R, number) = source else { return None };
            let kept =
                Register::new(RegFile::R, number).is_some_and(|source| source != base && !written.contains(&source));
            return u8::try_from(number).ok().filter(|_| kept && inst.opcode == Opcode::LOP3);
        }
        written.extend(writes);
    }
    None
}

/// Whether control may leave the straight line behind the instruction, or threads may have joined there.
fn ends_block(inst: &Inst) -> bool {
    let joins = matches!(inst.opcode, Opcode::BSYNC | Opcode::CALL | Opcode::RET | Opcode::EXIT | Opcode::BRX);
    joins || inst.opcode == Opcode::BRA
}

/// Whether a loop may run the instruction again. That of threads which take their turns ([`Opcode::ELECT`]) is none.
fn is_repeated(code: &Code<'_>, jumps: &[Jump], offset: u32) -> bool {
    let loops = jumps.iter().filter(|jump| jump.to <= offset && offset < jump.from);
    let mut bodies: Vec<_> = loops.map(|jump| jump.to..jump.from).collect();
    bodies.sort_by_key(|body| body.len());
    let takes_turns = |body: &std::ops::Range<u32>| {
        let mut insts = body.clone().step_by(BYTES).filter_map(|at| code.at(at));
        insts.any(|inst| inst.opcode == Opcode::ELECT)
    };
    let turns = bodies.first().is_some_and(takes_turns);
    bodies.len() > usize::from(turns)
}

/// The record of an instruction on an mbarrier; `None` where ptxas lists none of the kind.
fn access(section: &Section<'_>, inst: &Inst, at: u32, other: bool) -> Option<MbarrierAccess> {
    let value = |role| inst.opcode.position(role).and_then(|at| inst.operands.get(at)).map(|operand| operand.value);
    let base = match value(Role::Base) {
        Some(Value::Reg(RegFile::R, number)) => number as u8,
        _ => u8::MAX,
    };
    let uniform_base = match value(Role::UBase) {
        Some(Value::Reg(RegFile::UR, number)) if RegFile::UR.zero() != Some(number) => number as u8,
        _ => no_uniform_register(section.arch),
    };
    let offset = match value(Role::Offset) {
        Some(Value::Imm(bits)) => bits as i32,
        _ => 0,
    };
    let scale = match inst.get(Field::BASE_SCALE) {
        BaseScale::X4 => 4,
        BaseScale::X8 => 8,
        BaseScale::X16 => 16,
        _ => 1,
    };
    Some(MbarrierAccess { at, kind: kind(inst, other)?, base, uniform_base, offset, scale })
}

/// The number that stands for no uniform register in an instruction: the highest of its field, which has 6 bits where there
/// are 63 registers.
fn no_uniform_register(arch: Arch) -> u8 {
    if arch.sm().uniform_registers > 63 { u8::MAX } else { 63 }
}

fn kind(inst: &Inst, other: bool) -> Option<MbarrierKind> {
    use MbarrierKind::{
        Arrive, ArriveDrop, ArriveDropNoComplete, ArriveNoComplete, CompleteTx, CopyArrive, ExpectTx, Init, Invalidate,
        TestWait, TestWaitParity, TryWait, TryWaitParity,
    };
    let [is_early, tries] = [inst.get(Field::SYNCS_RESULT) == SyncsResult::TMASK, inst.get(Field::TRYWAIT)];
    let choice = match inst.opcode {
        Opcode::STS | Opcode::SYNCSU => [Init; 2],
        Opcode::ARRIVES => [CopyArrive; 2],
        Opcode::LDS => [TestWait, TestWaitParity],
        Opcode::ATOMS if inst.get(Field::ATOM_OP) == AtomOp::ARRIVE => [Arrive, ArriveDrop],
        Opcode::ATOMS => [ArriveNoComplete, ArriveDropNoComplete],
        Opcode::SYNCS => match (inst.get(Field::SYNCS_OP), inst.get(Field::SYNCS_COUNT)) {
            (SyncsOp::PHASECHK, _) if tries => [TryWait, TryWaitParity],
            (SyncsOp::PHASECHK, _) => [TestWait, TestWaitParity],
            (SyncsOp::CCTL, _) => [Invalidate; 2],
            (SyncsOp::ARRIVE, SyncsCount::A0TR) => [ExpectTx; 2],
            (SyncsOp::ARRIVE, SyncsCount::A0TX) => [CompleteTx; 2],
            (SyncsOp::ARRIVE, SyncsCount::A0T0) => return None,
            (SyncsOp::ARRIVE, _) if is_early => [ArriveNoComplete, ArriveDropNoComplete],
            (SyncsOp::ARRIVE, _) => [Arrive, ArriveDrop],
            _ => return None,
        },
        _ => return None,
    };
    Some(choice[usize::from(other)])
}

/// One more than the highest barrier that the code names by a number; `None` where a register names one.
fn barriers(code: &Code<'_>) -> Option<u32> {
    let mut barriers = 0;
    for offset in (0..code.bytes.len() as u32).step_by(BYTES) {
        let Some(inst) = code.at(offset).filter(|inst| inst.opcode == Opcode::BAR) else { continue };
        match inst.operands.get(Opcode::BAR.position(Role::A)?)?.value {
            Value::Imm(number) => barriers = barriers.max(number as u32 + 1),
            _ => return None,
        }
    }
    Some(barriers)
}
