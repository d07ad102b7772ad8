//! Where control goes after an instruction.

use crate::indirect;
use crate::program::{Condition, Line, LineId, Program};
use oriole_cubin::Cubin;
use oriole_cubin::nvinfo::number::INDIRECT_BRANCH_TARGETS;
use oriole_isa::{BraMode, Effects, Field, Inst, Opcode, RegFile, Role, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// Where control goes after one instruction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transfer {
    /// Instructions that may be next, with what is known to hold then.
    pub(crate) targets: SmallVec<[(LineId, Condition); 2]>,
    /// It may call.
    pub(crate) calls: bool,
    /// What it may call; empty if that is not known.
    pub(crate) callees: SmallVec<[LineId; 1]>,
    /// Where a call comes back to.
    pub(crate) back: Option<LineId>,
    /// It may return.
    pub(crate) returns: bool,
}

/// The transfers of a program.
pub(crate) struct Transfers<'p> {
    program: &'p Program,
    /// Those of instructions that do not just go on.
    special: FxHashMap<LineId, Transfer>,
    /// Jumps whose targets are not known.
    pub(crate) unknown: Vec<LineId>,
    /// Jumps and calls to where no instruction begins.
    pub(crate) nowhere: Vec<LineId>,
}

/// What the file says about places in its code.
struct Notes {
    /// Targets of jumps by register.
    tables: FxHashMap<LineId, Vec<LineId>>,
    /// What relocations put into instructions; `None` where it is no code of the file.
    symbols: FxHashMap<LineId, Option<LineId>>,
    /// First instructions of functions.
    entries: FxHashSet<LineId>,
    /// Instructions of a section whose address another one of it moves to a register: where calls come back to, among others.
    addresses: FxHashSet<LineId>,
}

impl<'p> Transfers<'p> {
    /// Those of all instructions.
    pub(crate) fn new(program: &'p Program, cubin: &Cubin) -> Self {
        let notes = Notes::new(program, cubin);
        let mut transfers =
            Transfers { program, special: FxHashMap::default(), unknown: Vec::new(), nowhere: Vec::new() };
        for (at, line) in program.lines.iter().enumerate() {
            let at = at as LineId;
            let branches = line.inst.opcode.info().effects.contains(Effects::BRANCH);
            if branches && !line.never && line.unknown.is_none() {
                let transfer = transfers.special_transfer(at, &notes);
                transfers.special.insert(at, transfer);
            }
        }
        transfers
    }

    /// That of one instruction.
    pub(crate) fn of(&self, line: LineId) -> Transfer {
        let goes_on = || Transfer {
            targets: self.program.next(line).map(|next| (next, Condition::ALWAYS)).into_iter().collect(),
            ..Transfer::default()
        };
        self.special.get(&line).cloned().unwrap_or_else(goes_on)
    }

    /// Finds what calls by register may call. `starts`: the instructions, in order, that control may come to from
    /// elsewhere than the one before. The bank that lists functions may hold tables of jumps and constants too: what a jump goes to
    /// is no function.
    pub(crate) fn resolve_calls(&mut self, cubin: &Cubin, starts: &[LineId]) {
        let program = self.program;
        let is_jump = |line: LineId| program.lines[line as usize].inst.opcode == Opcode::BRX;
        let jumps = self.special.iter().filter(|(at, _)| is_jump(**at));
        let inside: FxHashSet<LineId> =
            jumps.flat_map(|(_, jump)| jump.targets.iter().map(|(line, _)| *line)).collect();
        for (at, transfer) in &mut self.special {
            if transfer.calls && transfer.callees.is_empty() {
                transfer.callees = indirect::callees(self.program, cubin, starts, *at);
                transfer.callees.retain(|callee| !inside.contains(callee));
            }
        }
    }

    /// Those of instructions that do not just go on.
    pub(crate) fn all(&self) -> impl Iterator<Item = (LineId, &Transfer)> {
        self.special.iter().map(|(line, transfer)| (*line, transfer))
    }

    fn special_transfer(&mut self, at: LineId, notes: &Notes) -> Transfer {
        let program = self.program;
        let line = &program.lines[at as usize];
        let next = program.next(at);
        let (taken, not_taken) = conditions(&line.inst, line.guard);
        let mut transfer = Transfer::default();
        // What does not branch goes on.
        if let Some(not_taken) = not_taken {
            transfer.targets.extend(next.map(|next| (next, not_taken)));
        }
        match line.inst.opcode {
            // A trap ends the kernel; the other forms of `BPT`, of debuggers, go on.
            Opcode::BPT if line.inst.get(Field::TRAP) != oriole_isa::Trap::TRAP => {
                transfer.targets.extend(next.map(|next| (next, taken)));
            }
            Opcode::EXIT | Opcode::KILL | Opcode::BPT => {}
            Opcode::RET => transfer.returns = true,
            Opcode::CALL => {
                let callee = match notes.symbols.get(&at) {
                    Some(named) => *named,
                    None if has_base(&line.inst) => None,
                    None => match self.label(at).or_else(|| self.lost(at)) {
                        Some(target) if !notes.comes_back(program, target, next) => {
                            transfer.targets.push((target, taken));
                            return transfer;
                        }
                        target => target,
                    },
                };
                transfer.calls = true;
                transfer.callees.extend(callee);
                transfer.back = next;
            }
            Opcode::BRA => match self.label(at) {
                Some(target) => transfer.targets.push((target, taken)),
                None if self.names_address(at) => self.nowhere.push(at),
                None => self.unknown.push(at),
            },
            _ => match notes.tables.get(&at) {
                Some(targets) => transfer.targets.extend(targets.iter().map(|target| (*target, taken))),
                None => self.unknown.push(at),
            },
        }
        transfer
    }

    /// The instruction that an operand names.
    fn label(&self, at: LineId) -> Option<LineId> {
        let line = &self.program.lines[at as usize];
        let target = line.inst.opcode.position(Role::Target)?;
        match line.inst.operands.get(target)?.value {
            Value::Label(address) => self.program.at(line.section, u64::try_from(address).ok()?),
            _ => None,
        }
    }

    /// The instruction says an address itself.
    fn names_address(&self, at: LineId) -> bool {
        let inst = &self.program.lines[at as usize].inst;
        let target = inst.opcode.position(Role::Target).and_then(|target| inst.operands.get(target));
        target.is_some_and(|target| matches!(target.value, Value::Label(_))) && !has_base(inst)
    }

    /// Nothing, of a call to where no instruction begins: it is noted.
    fn lost(&mut self, at: LineId) -> Option<LineId> {
        if self.names_address(at) {
            self.nowhere.push(at);
        }
        None
    }
}

/// The target is not the label alone.
fn has_base(inst: &Inst) -> bool {
    let base = inst.opcode.position(Role::Base).and_then(|at| inst.operands.get(at));
    base.is_some_and(|base| base.value != Value::None)
}

/// What holds where an instruction branches, and where it goes on; `None` where it never goes on.
fn conditions(inst: &Inst, guard: Condition) -> (Condition, Option<Condition>) {
    let given = |field| inst.mods.get(field) == Some(true);
    let predicate = inst.opcode.position(Role::PA).and_then(|at| inst.operands.get(at));
    // `BRA.U` goes on with all lanes unless all of them jump; a uniform predicate says the same of all.
    let is_uniform = predicate.is_some_and(|operand| matches!(operand.value, Value::Reg(RegFile::UP, _)));
    let special = inst.mods.get(Field::BRA_MODE).is_some_and(|mode| mode != BraMode::NORMAL)
        || given(Field::BRA_ANY)
        || given(Field::BRA_UNIFORM) && !is_uniform;
    let predicate = match predicate.map(|operand| (operand.value, operand.flags)) {
        Some((Value::Reg(file @ (RegFile::P | RegFile::UP), number), flags)) => {
            let negated = flags.contains(oriole_isa::OperandFlags::NOT);
            (number < 7).then(|| Condition::new(file == RegFile::UP, number as u8, negated))
        }
        _ => None,
    };
    match (predicate, guard.is_known()) {
        _ if special => (guard, Some(Condition::ALWAYS)),
        (None, false) => (Condition::ALWAYS, None),
        (None, true) => (guard, Some(guard.opposite())),
        (Some(predicate), false) => (predicate, Some(predicate.opposite())),
        (Some(_), true) => (guard, Some(Condition::ALWAYS)),
    }
}

impl Notes {
    fn new(program: &Program, cubin: &Cubin) -> Self {
        let entries = cubin.functions.iter().filter_map(|f| program.at_file_section(f.section, f.offset)).collect();
        let (tables, addresses) = (branch_tables(program, cubin), addresses(program));
        let mut notes = Notes { tables, symbols: FxHashMap::default(), entries, addresses };
        for relocation in &cubin.relocations {
            let Some(line) = program.at_file_section(relocation.section, relocation.offset & !15) else { continue };
            let Some(symbol) = cubin.symbols.get(relocation.symbol) else { continue };
            let code = symbol.section.and_then(|section| program.at_file_section(section, symbol.value));
            notes.symbols.insert(line, code);
        }
        notes
    }

    /// The call of `target` may come back to `next`. A call only jumps: who wants to be come back to has put the address into a register
    /// before. ptxas calls labels of the function itself where it could as well jump to them.
    fn comes_back(&self, program: &Program, target: LineId, next: Option<LineId>) -> bool {
        let is_same_section = |next: LineId| {
            let section = |line: LineId| program.lines[line as usize].section;
            section(next) == section(target)
        };
        self.entries.contains(&target)
            || next.is_none_or(|next| self.addresses.contains(&next) || !is_same_section(next))
    }
}

/// Instructions whose address something moves to a register in their section.
fn addresses(program: &Program) -> FxHashSet<LineId> {
    let moves = |line: &&Line| matches!(line.inst.opcode, Opcode::MOV | Opcode::IMAD | Opcode::UMOV);
    let operands = program
        .lines
        .iter()
        .filter(moves)
        .flat_map(|line| line.inst.operands.iter().map(move |operand| (line, operand.value)));
    let immediates = operands.filter_map(|(line, value)| match value {
        Value::Imm(address) if address % 16 == 0 => program.at(line.section, address),
        _ => None,
    });
    immediates.collect()
}

/// Targets of jumps by register, which `.nv.info` lists: offset of the instruction, a zero, how many, offsets.
fn branch_tables(program: &Program, cubin: &Cubin) -> FxHashMap<LineId, Vec<LineId>> {
    let mut tables: FxHashMap<LineId, Vec<LineId>> = FxHashMap::default();
    for function in &cubin.functions {
        for record in function.info.iter().filter(|record| record.number == INDIRECT_BRANCH_TARGETS) {
            let words = record.as_words();
            let mut rest = words.as_slice();
            while let [at, _, count, more @ ..] = rest {
                let (targets, after) = more.split_at((*count as usize).min(more.len()));
                let line = |offset: &u32| program.at_file_section(function.section, (*offset).into());
                if let Some(at) = line(at) {
                    tables.entry(at).or_default().extend(targets.iter().filter_map(line));
                }
                rest = after;
            }
        }
    }
    for targets in tables.values_mut() {
        targets.sort_unstable();
        targets.dedup();
    }
    tables
}
