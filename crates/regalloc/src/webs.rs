//! Names for the pieces of registers that leave and come back: each web, a set of definitions with all reads that they
//! reach, gets a register of its own; constants that nobody reads any more go.

use crate::AllocError;
use oriole_ori::analysis::Liveness;
use oriole_ori::{Block, Function, InstFlags, InstId, SecondaryMap, VReg};
use rustc_hash::{FxHashMap, FxHashSet};

/// A definition with what belongs to it; those that reach a common read are joined.
type Piece = u32;

/// Give every web of the registers that are `chosen` a register of its own. `live` must be the function's.
/// What stands in `constants` may go.
pub(crate) fn split(
    func: &mut Function,
    live: &Liveness,
    chosen: &[VReg],
    constants: &FxHashSet<InstId>,
) -> Result<(), AllocError> {
    let mut webs = Webs::new(func, live, chosen);
    webs.walk();
    let Webs { mut pieces, mentions, .. } = webs;
    remove_unread(func, &mut pieces, &mentions, constants);
    let mut names: FxHashMap<Piece, VReg> = FxHashMap::default();
    let mut named = SecondaryMap::<VReg, bool>::new();
    for mention in &mentions {
        let web = pieces.find(mention.piece);
        if names.contains_key(&web) {
            continue;
        }
        let first = !std::mem::replace(&mut named[mention.reg], true);
        names.insert(web, if first { mention.reg } else { func.new_vreg_like(mention.reg)? });
    }
    for group in mentions.chunk_by(|a, b| a.inst == b.inst) {
        let mut name = |reg, is_def| {
            let own = group.iter().find(|mention| mention.reg == reg && mention.is_def == is_def);
            own.and_then(|mention| names.get(&pieces.find(mention.piece))).copied().unwrap_or(reg)
        };
        func.edit().rename_regs(group[0].inst, &mut name);
    }
    Ok(())
}

/// All reads, or all writes, of a register by an instruction.
struct Mention {
    inst: InstId,
    reg: VReg,
    is_def: bool,
    piece: Piece,
}

/// Pieces, and which of them are one web.
#[derive(Default)]
struct Pieces(Vec<Piece>);

impl Pieces {
    fn fresh(&mut self) -> Piece {
        self.0.push(self.0.len() as Piece);
        self.0.len() as Piece - 1
    }

    fn find(&mut self, piece: Piece) -> Piece {
        let mut at = piece;
        while self.0[at as usize] != at {
            let above = self.0[self.0[at as usize] as usize];
            self.0[at as usize] = above;
            at = above;
        }
        at
    }

    fn join(&mut self, a: Piece, b: Piece) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b) as usize] = a.min(b);
    }
}

struct Webs<'a> {
    func: &'a Function,
    live: &'a Liveness,
    chosen: SecondaryMap<VReg, bool>,
    pieces: Pieces,
    mentions: Vec<Mention>,
    /// What a component is at the place that the walk has come to.
    current: FxHashMap<(VReg, u8), Piece>,
    /// What it is at the starts of blocks.
    starts: FxHashMap<(Block, VReg, u8), Piece>,
}

impl<'a> Webs<'a> {
    fn new(func: &'a Function, live: &'a Liveness, regs: &[VReg]) -> Self {
        let mut chosen = SecondaryMap::new();
        regs.iter().for_each(|reg| chosen[*reg] = true);
        Webs {
            func,
            live,
            chosen,
            pieces: Pieces::default(),
            mentions: Vec::new(),
            current: FxHashMap::default(),
            starts: FxHashMap::default(),
        }
    }

    fn walk(&mut self) {
        for block in self.func.layout() {
            self.current.clear();
            for (reg, k) in self.live.main_live_in(*block).filter(|(reg, _)| self.chosen[*reg]).collect::<Vec<_>>() {
                let piece = self.start(*block, reg, k);
                self.current.insert((reg, k), piece);
            }
            for inst in self.func.block_insts(*block) {
                self.inst(*inst);
            }
            for succ in self.func.succs(*block) {
                for (reg, k) in self.live.main_live_in(*succ).filter(|(reg, _)| self.chosen[*reg]).collect::<Vec<_>>() {
                    let there = self.start(*succ, reg, k);
                    let here = self.now(reg, k);
                    self.pieces.join(there, here);
                }
            }
        }
    }

    fn start(&mut self, block: Block, reg: VReg, k: u8) -> Piece {
        *self.starts.entry((block, reg, k)).or_insert_with(|| self.pieces.fresh())
    }

    /// The piece that a component is part of; what was never written begins one.
    fn now(&mut self, reg: VReg, k: u8) -> Piece {
        *self.current.entry((reg, k)).or_insert_with(|| self.pieces.fresh())
    }

    fn inst(&mut self, inst: InstId) {
        let first = self.mentions.len();
        let func = self.func;
        func.for_each_use(inst, |read| {
            let wanted = self.chosen[read.reg];
            for k in read.range.clone().filter(|_| wanted) {
                let piece = self.now(read.reg, k);
                self.mention(first, Mention { inst, reg: read.reg, is_def: false, piece });
            }
        });
        func.for_each_def(inst, |write| {
            let wanted = self.chosen[write.reg];
            for k in write.range.clone().filter(|_| wanted) {
                // Where the old value may stay, it is one piece with the new one.
                let piece = if write.conditional { self.now(write.reg, k) } else { self.pieces.fresh() };
                self.current.insert((write.reg, k), piece);
                self.mention(first, Mention { inst, reg: write.reg, is_def: true, piece });
            }
        });
    }

    /// All components that an instruction reads of a register, or writes, are one piece.
    fn mention(&mut self, first: usize, mention: Mention) {
        let same = |other: &&Mention| other.reg == mention.reg && other.is_def == mention.is_def;
        match self.mentions[first..].iter().find(same).map(|other| other.piece) {
            Some(other) => self.pieces.join(other, mention.piece),
            None => self.mentions.push(mention),
        }
    }
}

/// Take out what computes or loads again, or computes a constant, for nobody.
fn remove_unread(func: &mut Function, pieces: &mut Pieces, mentions: &[Mention], constants: &FxHashSet<InstId>) {
    let again = InstFlags::REMAT | InstFlags::REFILL;
    let may_go = |inst: InstId| constants.contains(&inst) || func[inst].flags.intersects(again);
    let mut read = vec![false; pieces.0.len()];
    for mention in mentions.iter().filter(|mention| !mention.is_def || !may_go(mention.inst)) {
        read[pieces.find(mention.piece) as usize] = true;
    }
    let mut unread = |mention: &&Mention| !read[pieces.find(mention.piece) as usize];
    let gone: FxHashSet<InstId> = mentions.iter().filter(&mut unread).map(|mention| mention.inst).collect();
    if gone.is_empty() {
        return;
    }
    for block in func.layout().to_vec() {
        func.edit().retain_insts(block, |_, inst| !gone.contains(&inst));
    }
}
