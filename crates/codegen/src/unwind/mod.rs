//! Where callers' frames are at each instruction of a function: what `.debug_frame` says to debuggers.
//!
//! It is read off the final code: moves, loads and stores of the stack, sums with the stack pointer. Where paths meet, what both agree on
//! holds.

mod state;

use oriole_cubin::{Place, ReturnAddress, Unwind, UnwindRow, UnwindRule};
use oriole_isa::{Arch, Guard, Inst, Opcode, RegFile, Role, Value, decode};
use oriole_ori::{FuncId, FunctionKind, INST_BYTES, MachineCode, Module, RegMask, RegType, Symbol};
use oriole_regalloc::ModuleAllocation;
use smallvec::SmallVec;
use state::State;

/// What is to be told of a function. Of a kernel without a frame it is nothing.
pub(crate) fn of_function(
    module: &Module,
    allocation: &ModuleAllocation,
    (id, code): (FuncId, &MachineCode),
    is_object: bool,
) -> Unwind {
    let func = &module.functions[id];
    let frame = func.frame();
    if func.kind() == FunctionKind::Entry && frame.size() == 0 && !frame.dynamic {
        return Unwind::default();
    }
    // The only pair among what a function gets.
    let address = func.live_in().iter().map(|reg| &func[*reg]).find(|data| data.reg_type == RegType::Pair);
    let return_address = match address.and_then(|data| data.physical) {
        Some(number) if is_object => ReturnAddress::Absolute(number),
        Some(number) => ReturnAddress::InSection(number),
        None => ReturnAddress::None,
    };
    let by_convention = func.kind() != FunctionKind::Entry && allocation.functions[id].by_convention;
    let convention = oriole_regalloc::kept_by_convention();
    let kept = (0..255).filter(|number| by_convention && convention.contains(RegFile::R, *number));
    let changed = |symbol: Option<Symbol>| {
        let callee = symbol.and_then(|symbol| module.function_of(symbol));
        callee.map_or_else(oriole_regalloc::changed_by_convention, |callee| allocation.functions[callee].clobbers)
    };
    Question { code, arch: module.arch, return_address, kept: kept.collect(), changed: &changed }.answer()
}

/// What is asked of a function.
struct Question<'a> {
    code: &'a MachineCode,
    arch: Arch,
    return_address: ReturnAddress,
    /// General registers that callers count on.
    kept: Vec<u16>,
    /// What a call of a function may change; `None`: of one that is not known.
    changed: &'a dyn Fn(Option<Symbol>) -> RegMask,
}

/// A stretch of code that is entered at its start.
struct Block {
    /// Positions of its first instruction, and of the one behind its last.
    start: usize,
    end: usize,
    /// Positions where it goes on, with the guard that holds then.
    nexts: SmallVec<[(usize, Option<Guard>); 2]>,
}

impl Question<'_> {
    fn answer(&self) -> Unwind {
        let followed = self.followed();
        let insts = self.insts();
        let blocks = self.blocks(&insts);
        let starts = self.states(&insts, &blocks, &followed);
        let mut rows = Rows { followed: &followed, last: State::at_entry(&followed), rows: Vec::new() };
        for (block, start) in blocks.iter().zip(starts) {
            let Some(mut state) = start else { continue };
            rows.say(block.start, &state);
            self.walk(&insts, block, &mut state, |behind, state| {
                if behind < block.end {
                    rows.say(behind, state);
                }
            });
        }
        Unwind { return_address: self.return_address, rows: rows.rows }
    }

    /// Takes the state through a block, and shows it at each position behind an instruction that changes it.
    fn walk(&self, insts: &[Inst], block: &Block, state: &mut State, mut changed: impl FnMut(usize, &State)) {
        for (at, inst) in insts.iter().enumerate().take(block.end).skip(block.start) {
            if state.step(inst, || self.changed_by(at)) {
                changed(at + 1, state);
            }
        }
    }

    /// The registers whose contents of the caller matter.
    fn followed(&self) -> Vec<u16> {
        let address = match self.return_address {
            ReturnAddress::None => 0..0,
            ReturnAddress::Absolute(low) => low..low + 2,
            ReturnAddress::InSection(low) => low..low + 1,
        };
        self.kept.iter().copied().chain(address).collect()
    }

    /// The instructions. A word that is none changes nothing.
    fn insts(&self) -> Vec<Inst> {
        let mut open = self.code.open.iter().peekable();
        let mut insts = Vec::with_capacity(self.code.words.len());
        for (at, word) in self.code.words.iter().enumerate() {
            let waits = open.next_if(|(place, _)| *place as usize == at);
            let pc = at as u64 * INST_BYTES as u64;
            let inst = waits.map(|(_, machine)| machine.inst.clone());
            insts.push(inst.or_else(|| decode(*word, self.arch, pc).ok()).unwrap_or_else(|| Inst::new(Opcode::NOP)));
        }
        insts
    }

    /// What the call at a position changes.
    fn changed_by(&self, at: usize) -> RegMask {
        let open = self.code.open.binary_search_by_key(&(at as u32), |(place, _)| *place);
        let symbol = open.ok().and_then(|open| self.code.open[open].1.relocs.first()).map(|(_, target)| target.symbol);
        (self.changed)(symbol)
    }

    fn blocks(&self, insts: &[Inst]) -> Vec<Block> {
        let mut starts: Vec<usize> = vec![0];
        for (at, inst) in insts.iter().enumerate() {
            let targets = self.targets(at, inst);
            if !targets.is_empty() || ends_thread(inst) {
                starts.push(at + 1);
            }
            starts.extend(targets);
        }
        starts.sort_unstable();
        starts.dedup();
        starts.retain(|start| *start < insts.len());
        let ends = starts.iter().copied().skip(1).chain([insts.len()]);
        let block = |(&start, end): (&usize, usize)| Block { start, end, nexts: self.nexts(insts, end) };
        starts.iter().zip(ends).map(block).collect()
    }

    /// Where the code goes on behind the instruction ahead of `end`.
    fn nexts(&self, insts: &[Inst], end: usize) -> SmallVec<[(usize, Option<Guard>); 2]> {
        let Some(last) = insts.get(end.wrapping_sub(1)) else { return SmallVec::new() };
        let taken = Some(last.guard).filter(|guard| *guard != Guard::ALWAYS);
        let targets = self.targets(end - 1, last);
        let leaves = taken.is_none() && (!targets.is_empty() || ends_thread(last));
        let otherwise = taken.map(|guard| Guard { negated: !guard.negated, ..guard });
        let fall = (!leaves && end < insts.len()).then_some((end, otherwise));
        targets.into_iter().filter(|to| *to < insts.len()).map(|to| (to, taken)).chain(fall).collect()
    }

    /// Positions that a jump goes to.
    fn targets(&self, at: usize, inst: &Inst) -> SmallVec<[usize; 2]> {
        let position = |address: i64| usize::try_from(address / INST_BYTES).ok();
        match inst.opcode {
            Opcode::BRA => {
                let target = Opcode::BRA.position(Role::Target).map(|operand| inst.operands[operand].value);
                let Some(Value::Label(address)) = target else { return SmallVec::new() };
                position(address).into_iter().collect()
            }
            Opcode::BRX | Opcode::BRXU => {
                let tables = self.code.tables.iter().filter(|table| table.branch as usize == at);
                tables.flat_map(|table| &table.targets).filter_map(|target| position((*target).into())).collect()
            }
            _ => SmallVec::new(),
        }
    }

    /// What is known where each block begins; nothing of blocks that are not reached.
    fn states(&self, insts: &[Inst], blocks: &[Block], followed: &[u16]) -> Vec<Option<State>> {
        let mut states: Vec<Option<State>> = vec![None; blocks.len()];
        let mut work = vec![0];
        if let Some(first) = states.first_mut() {
            *first = Some(State::at_entry(followed));
        }
        while let Some(number) = work.pop() {
            let (block, Some(mut state)) = (&blocks[number], states[number].clone()) else { continue };
            self.walk(insts, block, &mut state, |_, _| ());
            for (next, guard) in &block.nexts {
                let Ok(next) = blocks.binary_search_by_key(next, |block| block.start) else { continue };
                let state = state.where_holds(*guard);
                let changed = match &mut states[next] {
                    Some(known) => known.meet(&state),
                    unknown => {
                        *unknown = Some(state);
                        true
                    }
                };
                if changed {
                    work.push(next);
                }
            }
        }
        states
    }
}

/// No thread goes on behind it, unless its guard is false.
fn ends_thread(inst: &Inst) -> bool {
    matches!(inst.opcode, Opcode::EXIT | Opcode::RET)
}

/// Rows as they are found.
struct Rows<'f> {
    followed: &'f [u16],
    last: State,
    rows: Vec<UnwindRow>,
}

impl Rows<'_> {
    /// From the instruction at a position on this holds.
    fn say(&mut self, at: usize, state: &State) {
        let offset = (at as i64 * INST_BYTES) as u32;
        let mut rule = |rule| self.rows.push(UnwindRow { offset, rule });
        if let Some((register, bytes)) = state.frame().filter(|frame| self.last.frame() != Some(*frame)) {
            rule(UnwindRule::Frame { register, bytes });
        }
        for register in self.followed.iter().copied() {
            let place: Place = state.place(register);
            if place != self.last.place(register) {
                rule(UnwindRule::Register { register, place });
            }
        }
        self.last = state.clone();
    }
}
