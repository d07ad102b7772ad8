//! From values to variables: values that belong together share registers, and copies stand where they cannot.
//!
//! A MovPhi passes its value on in a place of its own: predecessors copy into it, the block copies out of it. Such a
//! place meets nothing, so this is right without splitting an edge (lost copies and swaps included); then each copy is
//! a wish that both sides share their register, as are the values of a wide operand standing side by side, and a guarded
//! result standing where its old value is. Wishes in inner loops come first. Two values share a register if their live
//! ranges do not meet. What is not granted becomes copies, which the allocator may still remove.

mod classes;
mod copies;
mod ranges;
mod rewrite;
mod undefined;

use crate::analysis::{Cfg, DomTree, Liveness, LoopForest};
use crate::entity::{Block, VReg, entry_for_each};
use crate::error::BuildError;
use crate::function::Function;
use crate::operand::Operand;
use classes::{Classes, Node};
use cranelift_entity::{EntityRef, SecondaryMap};
use oriole_isa::{Family, Opcode, RegFile, Role};
use ranges::{Positions, Ranges, live_ranges};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// What taking a function out of SSA form has done to it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Destructed {
    /// A constant was copied to where the register that holds it was read, an undefined value is marked, or an old value is no
    /// longer named by what is written under a guard: one of them may be there for nobody. Otherwise nothing is dead that
    /// was not dead before.
    pub may_have_dead_code: bool,
}

/// Take a function out of SSA form.
///
/// # Errors
/// [`BuildError::TooManyRegisters`] where the registers are more than a function may have.
pub fn destruct(
    func: &mut Function,
    cfg: &Cfg,
    dominators: &DomTree,
    loops: &LoopForest,
    live: &Liveness,
) -> Result<Destructed, BuildError> {
    func.edit().keep_def_use();
    let positions = Positions::new(func);
    let (numbers, ranges) = Numbers::of_live(live_ranges(func, cfg, live, &positions), func.regs().len());
    let mut classes = Classes::new(ranges.len());
    for (ranges, value) in ranges.into_iter().zip(&numbers.values) {
        classes.add(ranges, func[*value].file());
    }
    let undefined = undefined::phis(func);
    let passing = passings(func, cfg, &positions, &numbers, &undefined, &mut classes);
    share(func, loops, &numbers, &passing, &mut classes);
    let unfilled = unfilled(func, &positions, &passing, &classes);
    let (passing, undefined) = (&passing, &undefined);
    let plan = rewrite::Plan { dominators, loops, numbers: &numbers, passing, undefined, unfilled: &unfilled };
    rewrite::rewrite(func, &plan, classes)
}

/// What a wide operand's first register is a multiple of, by file and width.
fn tuple_align(file: RegFile, values: usize) -> u8 {
    /// General registers of wider operands need no more.
    const MOST: usize = 8;
    let values = if file == RegFile::R { values.min(MOST) } else { values };
    values.next_power_of_two() as u8
}

/// The nodes of the values that instructions name. Passes have left many more behind.
struct Numbers {
    /// Number of the first value as a register.
    first: usize,
    /// By value from the first on.
    nodes: Vec<Option<Node>>,
    /// By node.
    values: Vec<VReg>,
}

impl Numbers {
    /// Of the values that are live somewhere, with their ranges by node. The values are the last of so many registers.
    fn of_live(ranges: Vec<Ranges>, registers: usize) -> (Self, Vec<Ranges>) {
        let first = registers - ranges.len();
        let mut numbers = Numbers { first, nodes: vec![None; ranges.len()], values: Vec::new() };
        let mut live = Vec::new();
        for (value, ranges) in ranges.into_iter().enumerate().filter(|(_, ranges)| !ranges.is_empty()) {
            numbers.nodes[value] = Some(live.len() as Node);
            numbers.values.push(VReg::new(first + value));
            live.push(ranges);
        }
        (numbers, live)
    }

    /// `None` for what is no value.
    fn node(&self, reg: VReg) -> Option<Node> {
        *self.nodes.get(reg.index().checked_sub(self.first)?)?
    }

    /// The value of a node; none for what a MovPhi passes on.
    fn value(&self, node: Node) -> Option<VReg> {
        self.values.get(node as usize).copied()
    }

    /// The nodes of an operand; none where it names something that is no value.
    fn nodes(&self, func: &Function, operand: Operand) -> SmallVec<[Node; 4]> {
        let named = func.named(operand);
        let nodes: SmallVec<[Node; 4]> = named.iter().filter_map(|reg| self.node(*reg)).collect();
        if nodes.len() == named.len() { nodes } else { SmallVec::new() }
    }
}

/// How the value of a MovPhi is passed on.
struct Passing {
    block: Block,
    result: Node,
    /// The place at the start of the block.
    arrival: Node,
    /// Value, place at the end of the predecessor, predecessor; inputs without a value are left out.
    inputs: SmallVec<[(Node, Node, Block); 2]>,
}

/// The MovPhis of all reachable blocks, with places of their own. What a block passes on to two MovPhis (around a loop and
/// out of it) it leaves in one place for both, if their other inputs let them share one.
fn passings(
    func: &Function,
    cfg: &Cfg,
    positions: &Positions,
    numbers: &Numbers,
    undefined: &FxHashSet<VReg>,
    classes: &mut Classes,
) -> Vec<Passing> {
    let is_defined = |reg: &VReg| !undefined.contains(reg);
    let mut all = Vec::new();
    let mut left: FxHashMap<(Block, Node), Node> = FxHashMap::default();
    for &block in cfg.rpo() {
        for &phi in func.phis(block).iter() {
            let result = func[phi].operands[0].as_reg().filter(is_defined);
            let Some(result) = result.and_then(|reg| numbers.node(reg)) else { continue };
            let file = classes.file(result);
            let arrival = classes.add(SmallVec::from_slice(&[positions.arrival(block)]), file);
            let sources: SmallVec<[(Node, Block); 2]> = func
                .phi_inputs(phi)
                .filter_map(|(source, pred)| Some((numbers.node(source.as_reg().filter(is_defined)?)?, pred)))
                .collect();
            let mut inputs = SmallVec::new();
            for &(value, pred) in &sources {
                // The place may be where another predecessor has to leave something else.
                let suits = |place: Node, classes: &Classes| {
                    sources.iter().filter(|(_, other)| *other != pred).all(|&(value, other)| {
                        let there = left.get(&(other, value)).map(|there| classes.place(*there));
                        !classes.is_taken(place, positions.departure(other)) || there == Some(classes.place(place))
                    })
                };
                let shared = left.get(&(pred, value)).copied().filter(|place| suits(*place, classes));
                let departure = match shared.filter(|place| classes.join(arrival, *place, 0, 1)) {
                    Some(place) => place,
                    None => {
                        let place = classes.add(SmallVec::from_slice(&[positions.departure(pred)]), file);
                        let joined = classes.join(arrival, place, 0, 1);
                        debug_assert!(joined, "nothing else stands there: no other place was shared");
                        left.insert((pred, value), place);
                        place
                    }
                };
                inputs.push((value, departure, pred));
            }
            all.push(Passing { block, result, arrival, inputs });
        }
    }
    all
}

/// The ends of blocks that have no value for a MovPhi of which others have one, with its place at the start of its block. Where nothing
/// stands in that place at the end of the block, its register holds nothing before.
fn unfilled(func: &Function, positions: &Positions, passing: &[Passing], classes: &Classes) -> Vec<(Block, Node)> {
    let mut found = Vec::new();
    for pass in passing {
        let Some(&phi) = func.phis(pass.block).first() else { continue };
        for (_, pred) in func.phi_inputs(phi) {
            let filled = pass.inputs.iter().any(|(.., from)| *from == pred);
            if !filled && !classes.is_taken(pass.arrival, positions.leaving(pred)) {
                found.push((pred, pass.arrival));
            }
        }
    }
    found
}

/// Something that saves copies.
enum Wish {
    /// One node in the place of another.
    Same(Node, Node),
    /// The place of what a block passes on where the value is, which may live on.
    Pass(Node, Node),
    /// Nodes side by side.
    Line(SmallVec<[Node; 4]>),
}

/// What comes first among wishes of the same loop depth.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Old,
    Wide,
    Phi,
    Accumulator,
    Copy,
}

struct Wishes<'f> {
    func: &'f Function,
    numbers: &'f Numbers,
    all: Vec<(std::cmp::Reverse<u32>, Rank, Wish)>,
}

impl Wishes<'_> {
    fn same(&mut self, depth: u32, rank: Rank, a: Operand, b: Operand) {
        let (a, b) = (self.numbers.nodes(self.func, a), self.numbers.nodes(self.func, b));
        if a.len() == b.len() {
            let pairs = a.into_iter().zip(b);
            self.all.extend(pairs.map(|(a, b)| (std::cmp::Reverse(depth), rank, Wish::Same(a, b))));
        }
    }
}

/// Grant what can be granted: wide results first, which are always possible, wishes from the innermost loops outward, and
/// at last that some versions of one variable share its register.
fn share(func: &Function, loops: &LoopForest, numbers: &Numbers, passing: &[Passing], classes: &mut Classes) {
    let mut wishes = Wishes { func, numbers, all: Vec::new() };
    for &block in func.layout() {
        let depth = loops.depth(block);
        for &inst in func.block_insts(block) {
            let data = &func[inst];
            if !data.is_machine() {
                continue;
            }
            for (n, (_, operand)) in data.defs().enumerate() {
                if operand.as_tuple().is_some() {
                    let nodes = numbers.nodes(func, operand);
                    classes.line_up(&nodes, tuple_align(classes.file(nodes[0]), nodes.len()));
                }
                if let Some(old) = data.olds().get(n) {
                    wishes.same(depth, Rank::Old, *old, operand);
                }
            }
            for (_, operand) in data.uses().filter(|(_, operand)| operand.as_tuple().is_some()) {
                let nodes = numbers.nodes(func, operand);
                wishes.all.push((std::cmp::Reverse(depth), Rank::Wide, Wish::Line(nodes)));
            }
            let of = |role| data.operand(role);
            if data.opcode.info().family == Family::Tensor
                && let (Some(d), Some(c)) = (of(Role::D), of(Role::C))
            {
                wishes.same(depth, Rank::Accumulator, c, d);
            }
            if data.opcode == Opcode::MOV {
                wishes.same(depth, Rank::Copy, data.operands[1], data.operands[0]);
            }
        }
    }
    for pass in passing {
        let at = |block| std::cmp::Reverse(loops.depth(block));
        wishes.all.push((at(pass.block), Rank::Phi, Wish::Same(pass.arrival, pass.result)));
        let inputs = pass.inputs.iter();
        wishes.all.extend(inputs.map(|(value, place, pred)| (at(*pred), Rank::Phi, Wish::Pass(*place, *value))));
    }
    let mut all = wishes.all;
    all.sort_by_key(|(depth, rank, _)| (*depth, *rank));
    for (_, _, wish) in all {
        match wish {
            Wish::Same(a, b) => {
                classes.join(a, b, 0, 1);
            }
            Wish::Pass(place, value) => {
                if !classes.join(place, value, 0, 1) {
                    classes.join_copy(place, value);
                }
            }
            Wish::Line(nodes) => {
                let align = tuple_align(classes.file(nodes[0]), nodes.len());
                classes.line_up(&nodes, align);
            }
        }
    }
    share_homes(func, numbers, classes);
}

/// Versions that a variable has at most if they are to be told apart.
const MANY: u32 = 16;

/// Versions of one variable share its register where that is no harm: where an instruction reads one and writes the next,
/// and nobody else reads the first, they follow each other in any order. A variable of very many versions was a register to
/// those who wrote the code; told apart, they would be as many nodes in a graph.
fn share_homes(func: &Function, numbers: &Numbers, classes: &mut Classes) {
    let values = || func.regs().iter().skip(numbers.first).filter(|(_, data)| data.home != 0);
    let mut versions: SecondaryMap<VReg, u32> = entry_for_each(numbers.first);
    values().for_each(|(_, data)| versions[VReg::from_u32(data.home)] += 1);
    if values().all(|(_, data)| versions[VReg::from_u32(data.home)] == 1) {
        return;
    }
    for (old, new) in updates(func) {
        if let (Some(old), Some(new)) = (numbers.node(old), numbers.node(new)) {
            classes.join(old, new, 0, 1);
        }
    }
    let mut last: SecondaryMap<VReg, Option<Node>> = entry_for_each(numbers.first);
    for (reg, data) in values().filter(|(_, data)| versions[VReg::from_u32(data.home)] > MANY) {
        let Some(node) = numbers.node(reg) else { continue };
        let home = &mut last[VReg::from_u32(data.home)];
        if !home.is_some_and(|other| classes.join(other, node, 0, 1)) {
            *home = Some(node);
        }
    }
}

/// Versions of a variable that one instruction alone reads, with the next ones, which it writes.
fn updates(func: &Function) -> Vec<(VReg, VReg)> {
    let mut updates: Vec<(VReg, VReg)> = Vec::new();
    for (_, inst) in func.iter_insts().filter(|(_, inst)| !func[*inst].is_phi()) {
        let mut read: SmallVec<[VReg; 8]> = SmallVec::new();
        func.for_each_use(inst, |access| read.push(access.reg));
        func.for_each_def(inst, |write| {
            let home = func[write.reg].home;
            let old = read.iter().find(|reg| home != 0 && func[**reg].home == home);
            updates.extend(old.map(|old| (*old, write.reg)));
        });
    }
    let is_read_once = |old: VReg| func.def_use().is_some_and(|lists| lists.count(old) == 1);
    updates.retain(|(old, _)| is_read_once(*old));
    updates
}
