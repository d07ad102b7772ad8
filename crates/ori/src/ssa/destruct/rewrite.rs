//! Registers for the classes, and copies where wishes were not granted.

use super::classes::{Classes, Node, Place};
use super::copies::{Copy, in_order};
use super::{Destructed, Numbers, Passing, tuple_align};
use crate::analysis::{DomTree, LoopForest};
use crate::entity::{Block, InstId, VReg, entry_for_each};
use crate::error::BuildError;
use crate::function::{DefUse, Function};
use crate::inst::{Guard, Inst};
use crate::operand::{Operand, OperandKind};
use crate::reg::{RegType, VRegData};
use crate::terminator::is_terminator;
use cranelift_entity::{PrimaryMap, SecondaryMap, packed_option::PackedOption};
use oriole_isa::{Opcode, RegFile};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// The values of a tuple.
type Values = SmallVec<[Node; 4]>;

/// What is known of the function in SSA form.
pub(super) struct Plan<'p> {
    pub(super) dominators: &'p DomTree,
    pub(super) loops: &'p LoopForest,
    pub(super) numbers: &'p Numbers,
    pub(super) passing: &'p [Passing],
    /// Results of MovPhis that no defined value reaches.
    pub(super) undefined: &'p FxHashSet<VReg>,
    /// Ends of blocks, and places that hold nothing there.
    pub(super) unfilled: &'p [(Block, Node)],
}

/// Name registers instead of values. Gives what is left behind.
pub(super) fn rewrite(func: &mut Function, plan: &Plan<'_>, classes: Classes) -> Result<Destructed, BuildError> {
    let mut edit = func.edit();
    // The values go one by one from here on.
    let definitions = edit.take_def_use().unwrap_or_default();
    let mut rewriter = Rewriter {
        plan,
        registers: vec![None.into(); classes.bound()],
        classes,
        kept: entry_for_each(func.regs().len()),
        definitions,
        gathered: FxHashMap::default(),
        nearby: FxHashMap::default(),
        after: FxHashMap::default(),
        vregs: PrimaryMap::new(),
        done: Destructed::default(),
    };
    rewriter.keep_registers(func);
    rewriter.hoist_gathers(func);
    let (arrivals, departures) = by_block(func, plan.passing);
    let mut unfilled: SecondaryMap<Block, Vec<Node>> = entry_for_each(func.blocks().len());
    plan.unfilled.iter().for_each(|(block, place)| unfilled[*block].push(*place));
    for block in func.layout().to_vec() {
        let (arrivals, departures, unfilled) = (&arrivals[block], &departures[block], &unfilled[block]);
        rewriter.block(func, block, &Ends { arrivals, departures, unfilled })?;
    }
    let mut edit = func.edit();
    edit.swap_regs(&mut rewriter.vregs);
    edit.set_first_value(None);
    edit.forget_tuples();
    Ok(rewriter.done)
}

/// Copies at the start and at the end of each block: from node, to node.
type Moves = SecondaryMap<Block, Vec<(Node, Node)>>;

/// What happens at the start and at the end of a block.
struct Ends<'a> {
    arrivals: &'a [(Node, Node)],
    departures: &'a [(Node, Node)],
    /// Places that hold nothing at its end.
    unfilled: &'a [Node],
}

fn by_block(func: &Function, passing: &[Passing]) -> (Moves, Moves) {
    let mut arrivals: Moves = entry_for_each(func.blocks().len());
    let mut departures: Moves = entry_for_each(func.blocks().len());
    // One place may be for two MovPhis.
    let mut filled: FxHashSet<Node> = FxHashSet::default();
    for pass in passing {
        arrivals[pass.block].push((pass.arrival, pass.result));
        for (value, place, pred) in &pass.inputs {
            if filled.insert(*place) {
                departures[*pred].push((*value, *place));
            }
        }
    }
    (arrivals, departures)
}

struct Rewriter<'p> {
    plan: &'p Plan<'p>,
    classes: Classes,
    /// By class: its register.
    registers: Vec<PackedOption<VReg>>,
    /// New numbers of registers that are no values.
    kept: SecondaryMap<VReg, PackedOption<VReg>>,
    definitions: Box<DefUse>,
    /// Tuples whose values do not stand side by side, with the register that holds copies of them everywhere.
    gathered: FxHashMap<Values, VReg>,
    /// The same, in the block at hand only.
    nearby: FxHashMap<Values, VReg>,
    /// What is gathered after an instruction.
    after: FxHashMap<InstId, Vec<(Values, VReg)>>,
    /// The registers of the result.
    vregs: PrimaryMap<VReg, VRegData>,
    done: Destructed,
}

impl Rewriter<'_> {
    fn keep_registers(&mut self, func: &mut Function) {
        for (reg, data) in func.regs().iter() {
            if !func.is_value(reg) {
                self.kept[reg] = Some(self.vregs.push(data.clone())).into();
            }
        }
        func.edit().renumber_roots(|reg| self.kept[reg].expand().unwrap_or(reg));
    }

    fn new_register(&mut self, file: RegFile, components: u8, align: u8) -> VReg {
        let reg_type = RegType::of_width(file, components).unwrap_or(RegType::R);
        let data =
            if reg_type.is_group() { VRegData::group_of(reg_type, components, align) } else { VRegData::new(reg_type) };
        self.vregs.push(data)
    }

    /// The instruction that defined a node's value, and its block; `None` for nodes that are no values.
    fn definition(&self, node: Node) -> Option<(InstId, Block)> {
        let inst = self.definitions.definition(self.plan.numbers.value(node)?)?;
        Some((inst, self.definitions.home(inst)?))
    }

    /// Where a node lives.
    fn operand_of(&mut self, node: Node) -> Operand {
        let Place { class, at } = self.classes.place(node);
        let (components, align) = self.classes.shape(class);
        let reg = match self.registers[class as usize].expand() {
            Some(reg) => reg,
            None => {
                let reg = self.new_register(self.classes.file(node), components, align);
                self.registers[class as usize] = Some(reg).into();
                reg
            }
        };
        if components == 1 { Operand::reg(reg) } else { Operand::comp(reg, at) }
    }

    /// The value of a node as the source of a copy: a constant where it is defined by one.
    fn source_of(&mut self, func: &Function, node: Node) -> Operand {
        let constant = self.definition(node).and_then(|(inst, _)| constant_move(func, inst, self.classes.file(node)));
        self.done.may_have_dead_code |= constant.is_some();
        constant.unwrap_or_else(|| self.operand_of(node))
    }

    /// Plan the copies of tuples that are made outside of the loops in which they are read.
    fn hoist_gathers(&mut self, func: &Function) {
        let in_loops = func.iter_insts().filter(|(block, _)| self.plan.loops.depth(*block) > 0);
        for (block, inst) in in_loops {
            for operand in func[inst].uses().map(|(_, operand)| operand).filter(|operand| operand.as_tuple().is_some())
            {
                let nodes = self.plan.numbers.nodes(func, operand);
                let align = tuple_align(self.classes.file(nodes[0]), nodes.len());
                if self.classes.stand_in_line(&nodes, align) || self.gathered.contains_key(&nodes) {
                    continue;
                }
                let Some((last, home)) = self.last_definition(func, &nodes) else { continue };
                if self.plan.loops.depth(home) < self.plan.loops.depth(block) {
                    let reg = self.new_register(self.classes.file(nodes[0]), nodes.len() as u8, align);
                    self.gathered.insert(nodes.clone(), reg);
                    self.after.entry(last).or_default().push((nodes, reg));
                }
            }
        }
    }

    /// The definition after which all of the values are there.
    fn last_definition(&self, func: &Function, nodes: &[Node]) -> Option<(InstId, Block)> {
        let mut last: Option<(InstId, Block)> = None;
        for node in nodes {
            let (inst, block) = self.definition(*node)?;
            let later = match last {
                None => true,
                Some((other, home)) if home == block => {
                    let place = |inst| func.block_insts(block).iter().position(|at| *at == inst);
                    inst != other && place(inst) > place(other)
                }
                Some((_, home)) => self.plan.dominators.dominates(home, block),
            };
            if later {
                last = Some((inst, block));
            }
        }
        last
    }

    fn block(&mut self, func: &mut Function, block: Block, ends: &Ends<'_>) -> Result<(), BuildError> {
        let old = func.edit().take_insts(block);
        let mut out = Vec::with_capacity(old.len());
        self.nearby.clear();
        let phis = old.iter().take_while(|inst| func[**inst].is_phi()).count();
        let moves: Vec<Copy> = ends.arrivals.iter().map(|&(from, to)| self.copy(from, to)).collect();
        self.place(func, &moves, &mut out)?;
        for &phi in &old[..phis] {
            self.mark_undefined(func, phi, &mut out);
            self.gather_after(func, phi, &mut out);
        }
        let exit = old.iter().position(|inst| is_terminator(&func[*inst])).unwrap_or(old.len()).max(phis);
        for &inst in &old[phis..exit] {
            self.inst(func, inst, &mut out)?;
        }
        let mut moves: Vec<Copy> = Vec::with_capacity(ends.departures.len());
        for &(from, to) in ends.departures {
            let copy = self.copy(from, to);
            let from = if copy.from == copy.to { copy.from } else { self.source_of(func, from) };
            moves.push(Copy { from, ..copy });
        }
        self.place(func, &moves, &mut out)?;
        for &place in ends.unfilled {
            let operand = self.operand_of(place);
            out.push(func.edit().add(Inst::undef(operand)));
            self.done.may_have_dead_code = true;
        }
        for &inst in &old[exit..] {
            self.inst(func, inst, &mut out)?;
        }
        func.edit().set_insts(block, out);
        Ok(())
    }

    /// A MovPhi that no defined value reaches leaves a mark where it stood, so that the register is not read before it is written.
    fn mark_undefined(&mut self, func: &mut Function, phi: InstId, out: &mut Vec<InstId>) {
        let result = func[phi].operands[0].as_reg().filter(|reg| self.plan.undefined.contains(reg));
        if let Some(node) = result.and_then(|reg| self.plan.numbers.node(reg)) {
            let operand = self.operand_of(node);
            out.push(func.edit().add(Inst::undef(operand)));
            self.done.may_have_dead_code = true;
        }
    }

    fn copy(&mut self, from: Node, to: Node) -> Copy {
        Copy { file: self.classes.file(to), to: self.operand_of(to), from: self.operand_of(from) }
    }

    /// Put copies that happen at once into the code. (New registers come from the new list.)
    fn place(&mut self, func: &mut Function, copies: &[Copy], out: &mut Vec<InstId>) -> Result<(), BuildError> {
        if copies.iter().all(|copy| copy.to == copy.from) {
            return Ok(());
        }
        func.edit().swap_regs(&mut self.vregs);
        let placed = in_order(func, copies, out);
        func.edit().swap_regs(&mut self.vregs);
        placed
    }

    fn gather_after(&mut self, func: &mut Function, inst: InstId, out: &mut Vec<InstId>) {
        if self.after.is_empty() {
            return;
        }
        for (nodes, reg) in self.after.remove(&inst).unwrap_or_default() {
            self.gather(func, &nodes, reg, out);
        }
    }

    fn gather(&mut self, func: &mut Function, nodes: &[Node], reg: VReg, out: &mut Vec<InstId>) {
        for (node, k) in nodes.iter().zip(0..) {
            let from = self.source_of(func, *node);
            out.push(func.edit().add(Inst::copy(self.classes.file(*node), Operand::comp(reg, k), from)));
        }
    }

    fn inst(&mut self, func: &mut Function, inst: InstId, out: &mut Vec<InstId>) -> Result<(), BuildError> {
        let data = &func[inst];
        let by_itself = |operand: &Operand| operand.as_tuple().is_none();
        if data.call.is_none()
            && data.guard().is_none()
            && data.olds().is_empty()
            && data.operands.iter().all(by_itself)
        {
            self.single_operands(func, inst, out);
            self.gather_after(func, inst, out);
            return Ok(());
        }
        let kept = self.keep_olds(func, &func[inst]);
        let mut new = func[inst].clone();
        self.done.may_have_dead_code |= new.is_undef() || !new.olds().is_empty();
        new.drop_olds();
        if let Some(guard) = new.guard() {
            let pred = self.register(func, Operand::reg(guard.pred), out).as_reg().unwrap_or(guard.pred);
            new.set_guard(Some(Guard { pred, ..guard }));
        }
        for at in 0..new.operands.len() {
            let operand = new.operands[at];
            let copied = kept.copied.iter().find(|(old, _)| !new.is_def(at) && same_values(func, *old, operand));
            let operand = copied.map_or(operand, |(_, by)| operand.flags_onto(*by));
            new.operands[at] = self.register(func, operand, out);
        }
        if let Some(call) = new.call.expand() {
            let site = func[call].clone();
            let args = site.args.iter().map(|arg| self.register(func, *arg, out)).collect();
            let results = site.results.iter().map(|result| self.register(func, *result, out)).collect();
            func.edit().update_call(inst, |site| (site.args, site.results) = (args, results));
        }
        self.place(func, &kept.moves, out)?;
        for operand in kept.marks {
            out.push(func.edit().add(Inst::undef(operand)));
        }
        let copies_itself = new.is_machine() && new.opcode == Opcode::MOV && new.operands[0] == new.operands[1];
        func.edit().replace(inst, new);
        if !copies_itself {
            out.push(inst);
        }
        self.gather_after(func, inst, out);
        Ok(())
    }

    /// Of an instruction that always happens and names single values alone: it stays where it is.
    fn single_operands(&mut self, func: &mut Function, inst: InstId, out: &mut Vec<InstId>) {
        let copies_itself = func.edit().update(inst, |data| {
            self.done.may_have_dead_code |= data.is_undef();
            data.operands.iter_mut().for_each(|operand| *operand = self.single(*operand));
            data.is_machine() && data.opcode == Opcode::MOV && data.operands[0] == data.operands[1]
        });
        if !copies_itself {
            out.push(inst);
        }
    }

    /// What has to happen before a partial write so that its results hold what they held.
    fn keep_olds(&mut self, func: &Function, data: &Inst) -> Kept {
        let mut kept = Kept::default();
        let numbers = self.plan.numbers;
        let olds: SmallVec<[Operand; 4]> = SmallVec::from_slice(data.olds());
        for ((_, new), old) in data.defs().zip(olds) {
            let (news, olds) = (numbers.nodes(func, new), numbers.nodes(func, old));
            if old.kind() == OperandKind::Undef {
                let unread = news.into_iter().filter(|node| !self.reads_place(func, data, *node)).collect::<Vec<_>>();
                kept.marks.extend(unread.into_iter().map(|node| self.operand_of(node)));
            } else if news.iter().zip(&olds).any(|(new, old)| self.classes.place(*new) != self.classes.place(*old)) {
                for (new, old) in news.into_iter().zip(olds) {
                    let copy = self.copy(old, new);
                    let from = if copy.from == copy.to { copy.from } else { self.source_of(func, old) };
                    kept.moves.push(Copy { from, ..copy });
                }
                kept.copied.push((old, new));
            }
        }
        kept
    }

    /// Whether an instruction reads what lives in the place of a node.
    fn reads_place(&self, func: &Function, data: &Inst, node: Node) -> bool {
        let place = self.classes.place(node);
        let there = |reg: VReg| self.plan.numbers.node(reg).is_some_and(|other| self.classes.place(other) == place);
        data.guard().is_some_and(|guard| there(guard.pred))
            || data.uses().any(|(_, operand)| func.named(operand).into_iter().any(there))
    }

    /// The operand with registers instead of values; copies of a tuple's values are put before the instruction where
    /// they do not stand side by side.
    fn register(&mut self, func: &mut Function, operand: Operand, out: &mut Vec<InstId>) -> Operand {
        if operand.as_tuple().is_none() {
            return self.single(operand);
        }
        let nodes = self.plan.numbers.nodes(func, operand);
        operand.flags_onto(self.tuple(func, nodes, out))
    }

    /// An operand that is no tuple with its register instead of a value.
    fn single(&mut self, operand: Operand) -> Operand {
        let Some(reg) = operand.as_reg().or_else(|| operand.as_handle()) else { return operand };
        match self.plan.numbers.node(reg).filter(|_| operand.is_reg()) {
            Some(node) => operand.flags_onto(self.operand_of(node)),
            None => operand.with_reg(self.kept[reg].expand().unwrap_or(reg)),
        }
    }

    fn tuple(&mut self, func: &mut Function, nodes: Values, out: &mut Vec<InstId>) -> Operand {
        let (file, count) = (self.classes.file(nodes[0]), nodes.len() as u8);
        let align = tuple_align(file, nodes.len());
        if self.classes.stand_in_line(&nodes, align) {
            let Place { class, at } = self.classes.place(nodes[0]);
            let first = self.operand_of(nodes[0]);
            let whole = at == 0 && self.classes.shape(class).0 == count;
            // The class has an operand: it has a register.
            return match first.as_reg() {
                Some(reg) if whole => Operand::reg(reg),
                Some(reg) => Operand::piece(reg, at, count),
                None => first,
            };
        }
        if let Some(reg) = self.gathered.get(&nodes).or_else(|| self.nearby.get(&nodes)) {
            return Operand::reg(*reg);
        }
        let reg = self.new_register(file, count, align);
        self.gather(func, &nodes, reg, out);
        self.nearby.insert(nodes, reg);
        Operand::reg(reg)
    }
}

/// What comes before a partial write.
#[derive(Default)]
struct Kept {
    /// Copies of old values to where the new ones will be.
    moves: Vec<Copy>,
    /// Old and new operands of these copies: the instruction's own reads of the old ones are of the copies.
    copied: SmallVec<[(Operand, Operand); 1]>,
    /// Places that held nothing that matters.
    marks: SmallVec<[Operand; 2]>,
}

fn same_values(func: &Function, a: Operand, b: Operand) -> bool {
    let values = func.named(a);
    !values.is_empty() && values == func.named(b)
}

/// The constant that a definition moves to a register.
fn constant_move(func: &Function, inst: InstId, file: RegFile) -> Option<Operand> {
    let data = &func[inst];
    let opcode = if file == RegFile::R { Opcode::MOV } else { Opcode::UMOV };
    let plain = data.is_machine() && data.opcode == opcode && data.guard().is_none();
    let from = *data.operands.get(1)?;
    let constant = match from.kind() {
        OperandKind::Rz | OperandKind::Imm(..) => true,
        OperandKind::Const { .. } | OperandKind::Symbol(_) => file == RegFile::R,
        _ => false,
    };
    (plain && constant && !from.has_flags() && matches!(file, RegFile::R | RegFile::UR)).then_some(from)
}
