//! Which products of warpgroups may be unfinished at a point, and which registers their fence has not seen.
//!
//! Registers are told apart by cells: 32-bit components before allocation, physical registers after it. A product
//! reads and writes its cells until a wait says that it is done; it takes those of its fence as they are. Both are
//! forward problems over few facts: of each product how many groups have ended since, of each cell that some
//! product names whether it was written behind the last fence.

use oriole_isa::{Field, Gsb, Opcode, RegFile, Role, Warpgroup};
use oriole_ori::analysis::{Cfg, Numbering};
use oriole_ori::terminator::{Exit, exit_of};
use oriole_ori::{Block, Callee, Function, InstId, Operand, OperandKind, SecondaryMap};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// How registers are numbered.
pub(super) enum Cells {
    /// By component of a virtual register.
    Virtual(Numbering),
    /// As the hardware does.
    Physical,
}

/// Consecutive cells: the first, and how many.
type Span = (u32, u32);

impl Cells {
    /// The components of a function's registers.
    pub(super) fn of_components(func: &Function) -> Self {
        Cells::Virtual(Numbering::new(func))
    }

    /// What an instruction reads and writes of the file R.
    fn for_each(&self, func: &Function, inst: InstId, mut visit: impl FnMut(Span, bool)) {
        match self {
            Cells::Virtual(numbering) => func.for_each_reg(inst, |mention| {
                if func[mention.reg].file() == RegFile::R {
                    let range = mention.range;
                    visit((numbering.of(mention.reg, range.start) as u32, range.len() as u32), mention.is_def);
                }
            }),
            Cells::Physical => func.for_each_phys(inst, |mention| {
                if mention.file == RegFile::R {
                    visit((mention.number.into(), mention.count.into()), mention.is_def);
                }
            }),
        }
    }

    /// The cells of an operand; none where it names no register.
    fn span(&self, func: &Function, operand: Operand) -> Span {
        match (self, operand.kind()) {
            (Cells::Virtual(numbering), OperandKind::Reg(reg, piece)) => {
                let range = piece.range(func[reg].components);
                (numbering.of(reg, range.start) as u32, range.len() as u32)
            }
            (Cells::Physical, OperandKind::Reg(..)) => {
                func.physical(operand).map_or((0, 0), |(_, number, count)| (number.into(), count.into()))
            }
            _ => (0, 0),
        }
    }
}

/// A product and its registers.
pub(super) struct Product {
    pub(super) inst: InstId,
    pub(super) block: Block,
    sum: Span,
    added: Span,
    left: Span,
}

/// The products of a function.
pub(super) struct Products {
    cells: Cells,
    pub(super) all: Vec<Product>,
    number: FxHashMap<InstId, u32>,
    /// By cell: its row, from 1 on; none where no product names it.
    rows: Vec<u32>,
    /// By row: the products that name the cell.
    by_row: Vec<SmallVec<[u32; 4]>>,
}

impl Products {
    /// All products of a function; `None` where it has none.
    pub(super) fn of(func: &Function, cells: impl FnOnce(&Function) -> Cells) -> Option<Self> {
        let is_product = |inst: InstId| func[inst].is_machine() && func[inst].opcode.is_warpgroup_product();
        let found: Vec<(Block, InstId)> = func.iter_insts().filter(|(_, inst)| is_product(*inst)).collect();
        if found.is_empty() {
            return None;
        }
        let (all, number) = (Vec::with_capacity(found.len()), FxHashMap::default());
        let mut this = Products { cells: cells(func), all, number, rows: Vec::new(), by_row: Vec::new() };
        for (block, inst) in found {
            this.add(func, block, inst);
        }
        Some(this)
    }

    fn add(&mut self, func: &Function, block: Block, inst: InstId) {
        let span = |role| {
            let at = func[inst].position(role);
            at.map_or((0, 0), |at| self.cells.span(func, func[inst].operands[at]))
        };
        let product = Product { inst, block, sum: span(Role::D), added: span(Role::C), left: span(Role::A) };
        let number = self.all.len() as u32;
        for (first, count) in [product.sum, product.added, product.left] {
            for cell in (first..first + count).map(|cell| cell as usize) {
                if cell >= self.rows.len() {
                    self.rows.resize(cell + 1, 0);
                }
                if self.rows[cell] == 0 {
                    self.by_row.push(SmallVec::new());
                    self.rows[cell] = self.by_row.len() as u32;
                }
                let row = &mut self.by_row[self.rows[cell] as usize - 1];
                if row.last() != Some(&number) {
                    row.push(number);
                }
            }
        }
        self.number.insert(inst, number);
        self.all.push(product);
    }

    /// The row of a cell.
    fn row(&self, cell: u32) -> Option<usize> {
        (*self.rows.get(cell as usize)? as usize).checked_sub(1)
    }

    fn product(&self, inst: InstId) -> Option<usize> {
        self.number.get(&inst).map(|number| *number as usize)
    }

    /// Whether an access of a cell would meet an unfinished product. Products come one after the other, so that a sum
    /// may go from one to the next of the same shape.
    fn meets(&self, earlier: usize, by: Option<usize>, cell: u32, is_def: bool) -> bool {
        let product = &self.all[earlier];
        let within = |(first, count): Span| (first..first + count).contains(&cell);
        if let Some(by) = by {
            let later = &self.all[by];
            let (is_sum, is_added) = (within(later.sum), within(later.added));
            let handed = (is_sum || is_added)
                && (!is_sum || later.sum == product.sum || later.sum == product.added)
                && (!is_added || later.added == product.sum || !within(product.sum));
            if handed && !within(later.left) && !within(product.left) {
                return false;
            }
        }
        within(product.sum) || is_def && (within(product.added) || within(product.left))
    }
}

/// What holds at a point.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct State {
    /// By product: 0 where it is done, else one more than the groups that have ended since, at the least.
    flight: Vec<u8>,
    /// By row, a bit each: written, and no fence since.
    fresh: Vec<u64>,
}

/// More groups than a wait can leave.
const MOST: u8 = 16;

impl State {
    fn nothing(products: &Products) -> Self {
        State { flight: vec![0; products.all.len()], fresh: vec![0; products.by_row.len().div_ceil(64)] }
    }

    /// Make it hold for a further path; whether that changes anything.
    fn join(&mut self, other: &State) -> bool {
        let mut changed = false;
        for (mine, theirs) in self.flight.iter_mut().zip(&other.flight) {
            if *theirs != 0 && (*mine == 0 || *theirs < *mine) {
                *mine = *theirs;
                changed = true;
            }
        }
        for (mine, theirs) in self.fresh.iter_mut().zip(&other.fresh) {
            changed |= *theirs & !*mine != 0;
            *mine |= *theirs;
        }
        changed
    }

    /// The products that may be unfinished.
    fn unfinished(&self) -> impl Iterator<Item = usize> + '_ {
        self.flight.iter().enumerate().filter(|(_, ended)| **ended != 0).map(|(product, _)| product)
    }

    /// A wait for all of them.
    pub(super) fn finish(&mut self) {
        self.flight.fill(0);
    }
}

/// What an instruction finds that is not ready for it.
pub(super) enum Finding<'f> {
    /// Products that it would meet are unfinished.
    Unfinished(&'f [usize]),
    /// No fence is between the product and a write of its registers.
    NoFence,
    /// A wait by which these are done.
    Done(&'f [usize]),
}

/// What products write and read, while it is in their hands, at the start of each block.
pub(super) struct Flow {
    at: SecondaryMap<Block, Option<State>>,
}

impl Flow {
    /// The smallest solution.
    pub(super) fn new(func: &Function, products: &Products, cfg: &Cfg) -> Self {
        let mut at: SecondaryMap<Block, Option<State>> = SecondaryMap::new();
        if let Some(entry) = func.entry() {
            let fresh = vec![u64::MAX; products.by_row.len().div_ceil(64)];
            at[entry] = Some(State { fresh, ..State::nothing(products) });
        }
        let mut due = true;
        while std::mem::take(&mut due) {
            for &block in cfg.rpo() {
                let Some(mut state) = at[block].clone() else { continue };
                for inst in func.block_insts(block) {
                    step(func, products, *inst, &mut state, &mut |_, _| {});
                }
                for &succ in func.succs(block) {
                    let changed = match &mut at[succ] {
                        Some(known) => known.join(&state),
                        none => {
                            *none = Some(state.clone());
                            true
                        }
                    };
                    due |= changed;
                }
            }
        }
        Flow { at }
    }

    /// What holds at the start of a block; `None` where it is never reached.
    pub(super) fn start(&self, block: Block) -> Option<State> {
        self.at[block].clone()
    }
}

/// Go over one instruction. `find` hears what is not ready for it, and may change what holds before it.
pub(super) fn step(
    func: &Function,
    products: &Products,
    inst: InstId,
    state: &mut State,
    find: &mut impl FnMut(&mut State, Finding<'_>),
) {
    let data = &func[inst];
    if !data.is_machine() {
        return;
    }
    let by = products.product(inst);
    let met = met_by(func, products, inst, by, state);
    if !met.is_empty() {
        find(state, Finding::Unfinished(&met));
    }
    match by {
        Some(by) => issue(func, products, inst, by, state, find),
        None if data.opcode == Opcode::WARPGROUP => synchronise(func, inst, state, find),
        None if leaves(func, inst) => state.fresh.fill(u64::MAX),
        None => products.cells.for_each(func, inst, |(first, count), is_def| {
            for row in (first..first + count).filter_map(|cell| products.row(cell)).filter(|_| is_def) {
                state.fresh[row / 64] |= 1 << (row % 64);
            }
        }),
    }
}

/// A call, whose callee knows nothing of what is unfinished.
pub(super) fn leaves(func: &Function, inst: InstId) -> bool {
    func[inst].call.expand().is_some_and(|call| func[call].callee != Callee::Return)
}

/// The unfinished products that an instruction would meet, in order.
fn met_by(func: &Function, products: &Products, inst: InstId, by: Option<usize>, state: &State) -> Vec<usize> {
    if state.flight.iter().all(|ended| *ended == 0) {
        return Vec::new();
    }
    let ends = exit_of(&func[inst]) == Exit::Leave;
    if ends || leaves(func, inst) {
        return state.unfinished().collect();
    }
    let mut met = Vec::new();
    products.cells.for_each(func, inst, |(first, count), is_def| {
        for cell in first..first + count {
            let there = products.row(cell).map_or(&[][..], |row| &products.by_row[row]);
            let there = there.iter().map(|product| *product as usize).filter(|product| state.flight[*product] != 0);
            met.extend(there.filter(|product| products.meets(*product, by, cell, is_def)));
        }
    });
    met.sort_unstable();
    met.dedup();
    met
}

fn issue(
    func: &Function,
    products: &Products,
    inst: InstId,
    by: usize,
    state: &mut State,
    find: &mut impl FnMut(&mut State, Finding<'_>),
) {
    let Product { sum, added, left, .. } = products.all[by];
    let rows = [sum, added, left].into_iter().flat_map(|(first, count)| first..first + count);
    let mut rows = rows.filter_map(|cell| products.row(cell));
    if rows.any(|row| state.fresh[row / 64] >> (row % 64) & 1 == 1) {
        find(state, Finding::NoFence);
        state.fresh.fill(0);
    }
    state.flight[by] = 1;
    if ends_group(func, inst) {
        state.flight.iter_mut().filter(|ended| **ended != 0).for_each(|ended| *ended = (*ended + 1).min(MOST));
    }
}

/// Whether a product ends a group.
pub(super) fn ends_group(func: &Function, product: InstId) -> bool {
    func[product].get(Field::GSB) == Gsb::GSB0
}

fn synchronise(func: &Function, inst: InstId, state: &mut State, find: &mut impl FnMut(&mut State, Finding<'_>)) {
    let data = &func[inst];
    match data.get(Field::WARPGROUP) {
        Warpgroup::ARRIVE => state.fresh.fill(0),
        Warpgroup::DEPBAR => {
            let left = data.operand(Role::Count).map(Operand::kind);
            let left = if let Some(OperandKind::Imm(count, _)) = left { count } else { 0 };
            let done: Vec<usize> =
                state.unfinished().filter(|product| u64::from(state.flight[*product]) >= u64::from(left) + 2).collect();
            done.iter().for_each(|product| state.flight[*product] = 0);
            find(state, Finding::Done(&done));
        }
        _ => {}
    }
}
