//! The function before allocation and the function after it, instruction by instruction: what stayed, what is gone, what
//! came. An instruction that stayed has its number.

use super::inserted::{copied, slot_words, transfers};
use super::names::{NOWHERE, Places, REGISTERS, Values, register, words_of};
use super::problem::{CheckError, Problem};
use super::recipe::recipes;
use super::step::{Access, Kind, Script};
use oriole_isa::{Arch, Opcode};
use oriole_ori::{
    Block, EntityRef, Function, Inst, InstFlags, InstId, Operand, OperandKind, analysis::Cfg,
    terminator::is_terminator, text::inst_text,
};
use smallvec::SmallVec;

/// Both functions, and what they are taken apart into.
pub(super) struct Pair<'a> {
    pub(super) before: &'a Function,
    pub(super) after: &'a Function,
    pub(super) arch: Arch,
    /// Of the function after.
    pub(super) cfg: Cfg,
    pub(super) values: Values,
    pub(super) places: Places,
    pub(super) script: Script,
}

type Found<T> = Result<T, Box<CheckError>>;
type Accesses = SmallVec<[Access; 8]>;

impl<'a> Pair<'a> {
    /// Take both apart.
    pub(super) fn new(before: &'a Function, after: &'a Function, arch: Arch) -> Found<Self> {
        let (cfg, values) = (Cfg::new(after), Values::new(before));
        let mut pair = Pair { before, after, arch, cfg, values, places: Places::default(), script: Script::default() };
        pair.learn_places();
        let home = homes(before);
        for block in after.layout() {
            pair.block(*block, &home)?;
        }
        pair.compare_edges()?;
        Ok(pair)
    }

    fn is_new(&self, inst: InstId) -> bool {
        inst.index() >= self.before.insts().len()
    }

    fn new_block(&self, block: Block) -> bool {
        block.index() >= self.before.blocks().len()
    }

    /// The slots, the recipes, and whether predicates are packed: all of it is in what allocation put in.
    fn learn_places(&mut self) {
        let new =
            |pair: &Self| pair.after.iter_insts().map(|(_, inst)| inst).filter(|i| pair.is_new(*i)).collect::<Vec<_>>();
        let new = new(self);
        for inst in &new {
            let data = &self.after[*inst];
            if data.flags.intersects(InstFlags::SPILL | InstFlags::REFILL) {
                slot_words(self.after, data).into_iter().flatten().for_each(|word| self.places.add_slot(word));
            }
            let packs = data.flags.intersects(InstFlags::BIT_SPILL | InstFlags::BIT_REFILL);
            self.places.packs |= packs || matches!(data.opcode, Opcode::P2R | Opcode::R2P);
        }
        for inst in new.iter().filter(|inst| self.after[**inst].flags.contains(InstFlags::REMAT)) {
            recipes(self.after, *inst, self.arch).into_iter().for_each(|recipe| self.places.add_recipe(recipe));
        }
    }

    fn block(&mut self, block: Block, home: &[Option<(Block, u32)>]) -> Found<()> {
        let (before, after) = (self.before, self.after);
        let own = if self.new_block(block) { &[][..] } else { before.block_insts(block) };
        let kept = self.kept(block, home)?;
        let mut kept = kept.into_iter();
        let mut gone = 0..kept.as_slice().first().map_or(own.len(), |first| *first as usize);
        let start = self.script.len();
        self.gone(block, &own[std::mem::take(&mut gone)])?;
        let mut ended = false;
        for inst in after.block_insts(block) {
            if self.is_new(*inst) && ended {
                return self.fault(Problem::ExtraDefinitions, block, *inst, "it stands behind the end of the block");
            }
            ended |= is_terminator(&after[*inst]);
            if self.is_new(*inst) {
                self.inserted(block, *inst)?;
            } else if let Some(at) = kept.next() {
                self.own(block, *inst)?;
                let next = kept.as_slice().first().map_or(own.len(), |next| *next as usize);
                self.gone(block, &own[at as usize + 1..next])?;
            }
        }
        self.script.end_block(block, start);
        Ok(())
    }

    /// Where the instructions that stayed in a block stood in it, in order.
    fn kept(&self, block: Block, home: &[Option<(Block, u32)>]) -> Found<Vec<u32>> {
        let mut kept: Vec<u32> = Vec::new();
        for inst in self.after.block_insts(block).iter().filter(|inst| !self.is_new(**inst)) {
            let place = home[inst.index()].filter(|(old, _)| *old == block).map(|(_, at)| at);
            match place.filter(|at| kept.last().is_none_or(|last| last < at)) {
                Some(at) => kept.push(at),
                None => return self.fault(Problem::ExtraDefinitions, block, *inst, "it stood elsewhere before"),
            }
        }
        Ok(kept)
    }

    /// Instructions that are gone: copies, and what can be computed again.
    fn gone(&mut self, block: Block, insts: &[InstId]) -> Found<()> {
        for inst in insts {
            let data = &self.before[*inst];
            if let Some((to, from)) = copied(data) {
                let pairs: Accesses = self
                    .words(to, to)
                    .iter()
                    .zip(self.words(from, from))
                    .map(|(to, from)| Access::of(to.value, NOWHERE).from(from.value))
                    .collect();
                self.script.push(*inst, Kind::GoneCopy, None, &[], &pairs);
                continue;
            }
            if !data.is_undef() && !data.depends_on_operands_alone(self.arch) {
                return self.fault(Problem::DefinitionsDisappeared, block, *inst, "the instruction is gone");
            }
            let mut writes = Accesses::new();
            self.before.for_each_def(*inst, |write| {
                let values = write.range.map(|k| self.values.of(self.before, write.reg, k));
                writes.extend(values.map(|value| Access::of(value, NOWHERE)));
            });
            self.add_recipes(*inst, &mut writes);
            self.script.push(*inst, Kind::Gone, None, &[], &writes);
        }
        Ok(())
    }

    fn inserted(&mut self, block: Block, inst: InstId) -> Found<()> {
        match transfers(self.after, inst, self.arch, &self.places) {
            Some(moves) => self.script.push(inst, Kind::Moves, None, &[], &moves),
            None => {
                return self.fault(Problem::ExtraDefinitions, block, inst, "allocation does not put in such a thing");
            }
        }
        Ok(())
    }

    fn own(&mut self, block: Block, inst: InstId) -> Found<()> {
        self.compare(block, inst)?;
        let (before, after) = (self.before, self.after);
        let (old, new) = (&before[inst], &after[inst]);
        let mut reads = Accesses::new();
        if old.is_hold() {
            self.held(old, new).for_each(|(held, now)| reads.extend(self.words(held, now)));
            self.script.push(inst, Kind::Own, None, &reads, &[]);
            return Ok(());
        }
        reads.extend(self.words(old.guard_operand(), new.guard_operand()));
        let is_read = |i: usize, operand: Operand| old.is_use(i) && !old.discards() || operand.as_handle().is_some();
        for (i, operand) in old.operands.iter().enumerate().filter(|(i, operand)| is_read(*i, **operand)) {
            reads.extend(self.words(*operand, new.operands[i]));
        }
        let mut writes = Accesses::new();
        let conditional = old.writes_partly();
        for (i, operand) in old.defs() {
            writes.extend(self.words(operand, new.operands[i]));
        }
        if let Some(call) = old.call.expand() {
            before[call].args.iter().for_each(|arg| reads.extend(self.words(*arg, *arg)));
            before[call].results.iter().for_each(|result| writes.extend(self.words(*result, *result)));
        }
        if let Some((_, from)) = copied(new) {
            writes.iter_mut().zip(words_of(after, from)).for_each(|(write, from)| write.from = from);
            self.script.push(inst, Kind::Copy, None, &reads, &writes);
            return Ok(());
        }
        self.add_recipes(inst, &mut writes);
        writes.iter_mut().for_each(|write| write.conditional = conditional);
        self.script.push(inst, Kind::Own, old.call.expand(), &reads, &writes);
        Ok(())
    }

    /// What a mark held and what it holds now, one by one. What has left its uniform register it holds no more.
    fn held<'p>(&'p self, old: &'p Inst, new: &'p Inst) -> impl Iterator<Item = (Operand, Operand)> + 'p {
        let mut now = new.operands.iter().copied().peekable();
        old.operands.iter().filter_map(move |held| {
            let uniform = held.as_reg().is_some_and(|reg| self.before[reg].reg_type.is_uniform());
            if uniform { now.next_if_eq(held) } else { now.next() }.map(|now| (*held, now))
        })
    }

    /// What an operand names before, and where that stands after.
    fn words(&self, old: Operand, new: Operand) -> Accesses {
        let (before, values) = (self.before, &self.values);
        let own = match old.kind() {
            OperandKind::Reg(reg, piece) => Some((reg, piece.range(before[reg].components))),
            OperandKind::Guard { pred: reg, .. } | OperandKind::ConstBindless { handle: reg, .. } => {
                Some((reg, 0..before[reg].components))
            }
            _ => None,
        };
        let places = words_of(self.after, new);
        match (own, old.kind()) {
            (Some((reg, range)), _) => {
                range.map(|k| values.of(before, reg, k)).zip(places).map(|(v, place)| Access::of(v, place)).collect()
            }
            (None, OperandKind::Phys { file, number, count }) => (number..number + u16::from(count))
                .filter_map(|number| register(file, number))
                .map(|place| Access::of(values.of_register(place), place))
                .collect(),
            _ => Accesses::new(),
        }
    }

    /// Where a later instruction computes the same, its results stand in the recipe as well.
    fn add_recipes(&self, inst: InstId, writes: &mut Accesses) {
        if self.places.has_recipes() {
            let recipes = recipes(self.before, inst, self.arch);
            writes.iter_mut().zip(&recipes).for_each(|(write, recipe)| write.from = self.places.recipe(recipe));
        }
    }

    /// An instruction that stayed is the same but for the registers' names.
    fn compare(&self, block: Block, inst: InstId) -> Found<()> {
        let (old, new) = (&self.before[inst], &self.after[inst]);
        let sizes = |func: &Function, data: &Inst| -> SmallVec<[usize; 8]> {
            let size = |operand: &Operand| {
                operand.as_piece().map_or(0, |(reg, piece)| piece.range(func[reg].components).len())
            };
            data.operands.iter().map(size).collect()
        };
        let named = |old: Operand, new: Operand| match old.kind() {
            // A piece of a wide register may be a register by itself: what is in it is looked at elsewhere.
            OperandKind::Reg(..) => new.is_reg() && new.flags_onto(old.plain()) == old,
            OperandKind::ConstBindless { handle: reg, .. } | OperandKind::Guard { pred: reg, .. } => {
                new.with_reg(reg) == old
            }
            OperandKind::Block(target) => new.as_block().is_some_and(|new| self.behind(new) == target),
            _ => new == old,
        };
        if old.is_hold() && new.is_hold() && self.held(old, new).count() == new.operands.len() {
            return Ok(());
        }
        let same = old.opcode == new.opcode
            && old.kind == new.kind
            && old.mods == new.mods
            && old.call == new.call
            && old.operands.len() == new.operands.len()
            && named(old.guard_operand(), new.guard_operand())
            && old.operands.iter().zip(&new.operands).all(|(old, new)| named(*old, *new));
        if sizes(self.before, old) != sizes(self.after, new) {
            return self.fault(Problem::ExtraDefinitions, block, inst, "an operand has another size");
        }
        if same { Ok(()) } else { self.fault(Problem::ExtraDefinitions, block, inst, "it was another instruction") }
    }

    /// Where a block that was put on an edge leads; any other stands for itself.
    fn behind(&self, mut block: Block) -> Block {
        let added = self.after.blocks().len() - self.before.blocks().len();
        for _ in 0..added {
            match self.after.succs(block) {
                [next] if self.new_block(block) => block = *next,
                _ => break,
            }
        }
        block
    }

    /// Blocks that were put on edges apart, the graph is as it was.
    fn compare_edges(&self) -> Found<()> {
        for block in self.before.layout() {
            let same = self.after.succs(*block).iter().map(|succ| self.behind(*succ)).eq(self
                .before
                .succs(*block)
                .iter()
                .copied());
            let last = self.before.block_insts(*block).last();
            if let Some(inst) = last.filter(|_| !same) {
                return self.fault(Problem::DefinitionsDisappeared, *block, *inst, "the block goes elsewhere");
            }
        }
        Ok(())
    }

    fn fault<T>(&self, problem: Problem, block: Block, inst: InstId, found: &str) -> Found<T> {
        Err(Box::new(self.finding(problem, block, inst, found.to_owned())))
    }

    /// What is wrong with an instruction, or found out by it; where nothing is said of a value.
    pub(super) fn finding(&self, problem: Problem, block: Block, inst: InstId, found: String) -> CheckError {
        CheckError {
            problem,
            function: self.after.name().to_owned(),
            block,
            inst,
            text: self.text(inst),
            value: None,
            register: None,
            slot: None,
            found,
        }
    }

    /// An instruction as it stands after allocation; what is gone as it stood before.
    pub(super) fn text(&self, inst: InstId) -> String {
        inst_text(if self.after.insts().is_valid(inst) { self.after } else { self.before }, inst)
    }
}

/// By instruction: its block, and where it stands in it.
fn homes(func: &Function) -> Vec<Option<(Block, u32)>> {
    let mut homes = vec![None; func.insts().len()];
    for block in func.layout() {
        for (at, inst) in (0..).zip(func.block_insts(*block)) {
            homes[inst.index()] = Some((*block, at));
        }
    }
    homes
}

/// The registers that spill slots are addressed from, each with the places of its slots.
pub(super) fn bases(places: &Places) -> Vec<Vec<u32>> {
    let mut bases = vec![Vec::new(); REGISTERS as usize];
    for (word, place) in places.slots() {
        if let Some(base) = word.base_place() {
            bases[base as usize].push(place);
        }
    }
    bases
}
