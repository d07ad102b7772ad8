//! Code as the simulator runs it: each section decoded and compiled when it is first entered.

use crate::constant::BANKS;
use crate::effect::Unsupported;
use crate::exec;
use crate::flow::Flow;
use crate::instruction::{Action, Guard, INSTRUCTION, Op};
use crate::slow_units;
use crate::strict::Watch;
use oriole_isa::latency::Release;
use oriole_isa::{Arch, Inst, Opcode, Value};
use std::sync::OnceLock;

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
    /// Under strict simulation, what is read too early has its old value.
    pub(crate) old_values: bool,
    /// The release of the tool that made the code, where the file tells.
    pub(crate) maker: Option<Release>,
    /// Sections by ascending address.
    sections: Vec<Section>,
    /// Bytes of the constant banks that code names without a register, by number; of those that are larger for one
    /// kernel than for another, the most.
    banks: BankSizes,
    /// Some section has `UGETNEXTWORKID`.
    takes_over: OnceLock<bool>,
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
        Program { arch, strict, old_values: false, maker: None, sections, banks, takes_over: OnceLock::new() }
    }

    /// One section of these instructions.
    #[cfg(test)]
    pub(crate) fn of_insts(arch: Arch, base: u64, insts: Vec<Inst>) -> Self {
        let ops = insts.into_iter().map(|inst| compiled(inst, base)).collect::<Vec<Op>>();
        let words = vec![0; ops.len()];
        let ops = OnceLock::from(ops);
        let sections = vec![Section { name: "test".into(), base, words, ops }];
        Program {
            arch,
            strict: false,
            old_values: false,
            maker: None,
            sections,
            banks: [u64::MAX; BANKS],
            takes_over: OnceLock::new(),
        }
    }

    /// Address of the first section; 0 if there is none.
    pub(crate) fn start(&self) -> u64 {
        self.sections.first().map_or(0, |section| section.base)
    }

    /// Address behind the last section; 0 if there is none.
    pub(crate) fn end(&self) -> u64 {
        self.sections.last().map_or(0, Section::end)
    }

    /// The section that holds code address `pc`.
    pub(crate) fn section(&self, pc: u64) -> Option<&Section> {
        let after = self.sections.partition_point(|section| section.base <= pc);
        let section = self.sections.get(after.checked_sub(1)?)?;
        (pc < section.end()).then_some(section)
    }

    /// Blocks may take over the work of others (`UGETNEXTWORKID`).
    pub(crate) fn takes_work_over(&self) -> bool {
        let asks = |op: &Op| op.opcode == Some(Opcode::UGETNEXTWORKID);
        let found = || self.sections.iter().any(|section| self.ops(section).iter().any(asks));
        Opcode::UGETNEXTWORKID.exists_on(self.arch) && *self.takes_over.get_or_init(found)
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
            let mut ops: Vec<Op> = section.words.iter().zip(offsets).map(op).collect();
            if self.strict {
                slow_units::note(&mut ops, self.arch, self.maker);
            }
            ops
        })
    }

    /// The compiled form of `word` at byte `offset` of a section that starts at `base`.
    fn compile(&self, word: u128, offset: u64, base: u64) -> Op {
        match oriole_isa::decode(word, self.arch, offset) {
            Ok(inst) => {
                let watch = self.strict.then(|| Box::new(Watch::of(&inst, self.arch)));
                let mut op = compiled(inst, base);
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

/// The compiled form of `inst` in a section that starts at `base`.
fn compiled(inst: Inst, base: u64) -> Op {
    let action = exec::action(&inst, base).unwrap_or_else(Action::Impossible);
    Op { guard: Guard::of(&inst), action, opcode: Some(inst.opcode), inst: Some(Box::new(inst)), watch: None }
}
