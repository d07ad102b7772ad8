//! Code as the simulator runs it: each section decoded and compiled when it is first entered.

use crate::access::{AccessLog, PhaseKind};
use crate::barrier::BarrierResult;
use crate::constant::BANKS;
use crate::exec::{self, Compute, Unsupported};
use crate::flow::{self, Flow};
use crate::machine::Halt;
use crate::space::{Place, Spaces};
use crate::state::{Mask, PT, State, WARP};
use crate::strict::Watch;
use crate::tensor_memory::Columns;
use oriole_device::Access;
use oriole_isa::{Arch, Inst, Opcode, Value};
use std::sync::OnceLock;

/// Bytes of one instruction.
pub(crate) const INSTRUCTION: u64 = 16;

/// Outside effects of one warp instruction: memory and the warp's environment.
pub(crate) struct Env<'a> {
    /// Memory.
    pub(crate) spaces: Spaces<'a>,
    /// What the block has printed.
    pub(crate) printed: &'a mut Vec<u8>,
    /// The result of the last `BAR.RED`.
    pub(crate) barrier_result: BarrierResult,
    /// Whether the block may do what depends on the order of blocks.
    pub(crate) turn: bool,
    /// See [`crate::warp::BlockState::ordered_since`].
    pub(crate) ordered_since: &'a mut Option<u64>,
    /// Warp instructions that the block has executed.
    pub(crate) instructions: u64,
    /// See [`crate::cluster::ClusterState::signals`].
    pub(crate) signals: &'a mut u64,
    /// See [`crate::warp::BlockState::register_pool`].
    pub(crate) register_pool: &'a mut u32,
    /// See [`crate::cluster::ClusterState::columns`].
    pub(crate) columns: &'a mut Columns,
    /// A wait that tries again has to come to an end now, whether what it waits for has come or not.
    pub(crate) is_last_try: bool,
    /// Where an instruction reports what memory it touches, before it does so; `None` if nobody wants
    /// to know.
    pub(crate) log: Option<&'a mut AccessLog>,
}

impl Env<'_> {
    /// Stops a block that has no turn before it does something that depends on the order of blocks.
    pub(crate) fn require_turn(&mut self) -> Result<(), Halt> {
        self.ordered_since.get_or_insert(self.instructions);
        if self.turn { Ok(()) } else { Err(Halt::NeedsTurn) }
    }

    /// Reports an access of `lanes` to `bytes` bytes at each of their places.
    #[inline]
    pub(crate) fn report(&mut self, kind: Access, bytes: u32, lanes: Mask, places: &[Place; WARP]) {
        if let Some(log) = self.log.as_deref_mut() {
            log.push_places(kind, bytes, lanes, &places.map(|place| self.spaces.nearest(place)));
        }
    }

    /// Reports what happens to a phase of the mbarrier at `place`.
    pub(crate) fn report_phase(&mut self, place: Place, phase: bool, kind: PhaseKind) {
        if let Some(log) = self.log.as_deref_mut() {
            log.push_phase(self.spaces.nearest(place), phase, kind);
        }
    }
}

/// A compiled instruction that needs more than registers.
pub(crate) type Effect = Box<dyn Fn(&mut State, &mut Env<'_>) -> Result<(), Halt> + Send + Sync>;

/// What an instruction does when its guard lets any lane through.
pub(crate) enum Action {
    /// Nothing that a program can observe.
    Nothing,
    /// Arithmetic on the warp's registers.
    Compute(Compute),
    /// Memory, other lanes' registers, the barrier's result.
    Effect(Effect),
    /// Flow of control, barriers, calls.
    Flow(Box<Flow>),
    /// Cannot be executed; reaching it is a fault.
    Impossible(Unsupported),
    /// Reads so many bytes past the end of a constant bank, from this offset on; reaching it is a fault.
    PastBank(u64, u32),
}

/// The guard of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// Every lane executes.
    Always,
    /// Lanes where `P<number>` differs from `negated`.
    Predicate { number: u8, negated: bool },
    /// All lanes or none, by `UP<number>`.
    Uniform { number: u8, negated: bool },
}

/// One instruction, ready to run. What execution does not look at is apart, so that as much code as
/// possible fits into the host's cache.
pub(crate) struct Op {
    /// Its guard.
    pub(crate) guard: Guard,
    /// What it does.
    pub(crate) action: Action,
    /// The opcode; `None` where the word is no instruction.
    pub(crate) opcode: Option<Opcode>,
    /// The instruction; `None` where the word is none.
    pub(crate) inst: Option<Box<Inst>>,
    /// Registers that it reads and writes, for strict simulation.
    pub(crate) watch: Option<Box<Watch>>,
}

/// One text section in memory.
pub(crate) struct Section {
    /// Name without `.text.`.
    pub(crate) name: String,
    /// Address of its first instruction.
    pub(crate) base: u64,
    words: Vec<u128>,
    ops: OnceLock<Vec<Op>>,
}

/// All code of a module.
pub(crate) struct Program {
    /// The target.
    pub(crate) arch: Arch,
    /// Hazards are faults.
    pub(crate) strict: bool,
    /// Sections by ascending address.
    sections: Vec<Section>,
    /// Bytes of the constant banks that code names without a register, by number; of those that are larger for one
    /// kernel than for another, the most.
    banks: BankSizes,
}

/// Bytes of each constant bank, by number; no limit for those whose contents the driver makes.
pub(crate) type BankSizes = [u64; BANKS];

impl Program {
    /// Code sections given as (name, address, bytes).
    pub(crate) fn new(
        arch: Arch,
        strict: bool,
        banks: BankSizes,
        sections: impl IntoIterator<Item = (String, u64, Vec<u8>)>,
    ) -> Self {
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0u128, |word, &byte| word << 8 | u128::from(byte));
        let section = |(name, base, bytes): (String, u64, Vec<u8>)| Section {
            name,
            base,
            words: bytes.chunks_exact(INSTRUCTION as usize).map(word).collect(),
            ops: OnceLock::new(),
        };
        let mut sections: Vec<Section> = sections.into_iter().map(section).collect();
        sections.sort_by_key(|section| section.base);
        Program { arch, strict, sections, banks }
    }

    /// One section of these instructions.
    #[cfg(test)]
    pub(crate) fn of_insts(arch: Arch, base: u64, insts: Vec<Inst>) -> Self {
        let ops = insts.into_iter().map(|inst| Op::of_inst(inst, base)).collect::<Vec<Op>>();
        let words = vec![0; ops.len()];
        let ops = OnceLock::from(ops);
        let sections = vec![Section { name: "test".into(), base, words, ops }];
        Program { arch, strict: false, sections, banks: [u64::MAX; BANKS] }
    }

    /// Address of the first section; 0 if there is none.
    pub(crate) fn start(&self) -> u64 {
        self.sections.first().map_or(0, |section| section.base)
    }

    /// The section that holds code address `pc`.
    pub(crate) fn section(&self, pc: u64) -> Option<&Section> {
        let after = self.sections.partition_point(|section| section.base <= pc);
        let section = self.sections.get(after.checked_sub(1)?)?;
        (pc < section.end()).then_some(section)
    }

    /// Whether an instruction starts at code address `pc`.
    pub(crate) fn has_code(&self, pc: u64) -> bool {
        pc.is_multiple_of(INSTRUCTION) && self.section(pc).is_some()
    }

    /// The instructions of a section, compiled on first use.
    pub(crate) fn ops<'p>(&'p self, section: &'p Section) -> &'p [Op] {
        section.ops.get_or_init(|| {
            let offsets = (0..).step_by(INSTRUCTION as usize);
            let op = |(&word, at): (&u128, u64)| self.compile(word, at, section.base);
            section.words.iter().zip(offsets).map(op).collect()
        })
    }

    /// The compiled form of `word` at byte `offset` of a section that starts at `base`.
    fn compile(&self, word: u128, offset: u64, base: u64) -> Op {
        match oriole_isa::decode(word, self.arch, offset) {
            Ok(inst) => {
                let watch = self.strict.then(|| Box::new(Watch::of(&inst, self.arch)));
                let mut op = Op::of_inst(inst, base);
                if let Action::Flow(flow) = &mut op.action
                    && let Flow::Branch { target, condition } = **flow
                    && !self.has_code(target)
                {
                    **flow = Flow::Nowhere { target, condition };
                }
                if let Some((offset, bytes)) = self.past_bank(op.inst.as_deref()) {
                    op.action = Action::PastBank(offset, bytes);
                }
                Op { watch, ..op }
            }
            Err(error) => {
                let reason = Unsupported(format!("the word {word:032x} ({error})"));
                Op { guard: Guard::Always, action: Action::Impossible(reason), opcode: None, inst: None, watch: None }
            }
        }
    }

    /// The operand that names a place past the end of its constant bank: offset and bytes. Instructions that load from
    /// banks look for themselves.
    fn past_bank(&self, inst: Option<&Inst>) -> Option<(u64, u32)> {
        let inst = inst.filter(|inst| !matches!(inst.opcode, Opcode::LDC | Opcode::ULDC | Opcode::LDCU))?;
        inst.operands.iter().enumerate().find_map(|(at, operand)| match operand.value {
            Value::Const { bank, offset } => {
                let (offset, bytes) = (u64::from(offset), 4 * u32::from(inst.width(at)));
                let size = self.banks.get(usize::from(bank)).copied().unwrap_or(0);
                (offset + u64::from(bytes) > size).then_some((offset, bytes))
            }
            _ => None,
        })
    }

    /// Text and reason of every instruction that cannot be executed.
    pub(crate) fn impossible(&self) -> Vec<(String, String)> {
        let ops = self.sections.iter().flat_map(|section| self.ops(section));
        let reason = |op: &Op| match &op.action {
            Action::Impossible(reason) => {
                let text = op.inst.as_ref().map(|inst| inst.display(self.arch).to_string());
                Some((text.unwrap_or_default(), reason.to_string()))
            }
            _ => None,
        };
        ops.filter_map(reason).collect()
    }

    /// The instruction at code address `pc`.
    pub(crate) fn inst(&self, pc: u64) -> Option<&Inst> {
        let section = self.section(pc)?;
        self.ops(section).get(((pc - section.base) / INSTRUCTION) as usize)?.inst.as_deref()
    }

    /// The instruction at code address `pc` as text, for messages.
    pub(crate) fn text(&self, pc: u64) -> String {
        self.inst(pc).map(|inst| inst.display(self.arch).to_string()).unwrap_or_default()
    }
}

impl Section {
    /// One past its last code address.
    pub(crate) fn end(&self) -> u64 {
        self.base + INSTRUCTION * self.words.len() as u64
    }
}

impl Op {
    /// The compiled form of `inst` in a section that starts at `base`.
    fn of_inst(inst: Inst, base: u64) -> Op {
        let action = action(&inst, base).unwrap_or_else(Action::Impossible);
        Op { guard: Guard::of(&inst), action, opcode: Some(inst.opcode), inst: Some(Box::new(inst)), watch: None }
    }
}

/// What `inst` does, by whichever part knows it.
pub(crate) fn action(inst: &Inst, base: u64) -> Result<Action, Unsupported> {
    if let Some(compute) = exec::arithmetic(inst)? {
        return Ok(Action::Compute(compute));
    }
    if let Some(effect) = exec::effect(inst)? {
        return Ok(Action::Effect(effect));
    }
    if let Some(action) = flow::compile(inst, base)? {
        return Ok(action);
    }
    Err(Unsupported(format!("{} has no meaning here yet", inst.opcode.name())))
}

impl Guard {
    fn of(inst: &Inst) -> Guard {
        let (number, negated) = (inst.guard.predicate, inst.guard.negated);
        match inst.opcode.info().guard_uniform {
            _ if usize::from(number) == PT && !negated => Guard::Always,
            true => Guard::Uniform { number, negated },
            false => Guard::Predicate { number, negated },
        }
    }

    /// The lanes of `mask` that it lets through.
    #[inline(always)]
    pub(crate) fn active(self, state: &State, mask: Mask) -> Mask {
        match self {
            Guard::Always => mask,
            Guard::Predicate { number, negated } => {
                let value = state.p(usize::from(number));
                mask & if negated { !value } else { value }
            }
            Guard::Uniform { number, negated } => match state.up(usize::from(number)) != negated {
                true => mask,
                false => 0,
            },
        }
    }
}
