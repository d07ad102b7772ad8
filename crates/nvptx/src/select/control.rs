//! Branches and switches.

use super::error::Error;
use super::legal::Vt;
use super::lower::{Lower, MovedEdge};
use super::word_table::{Part, Word};
use crate::ir::{BlockId as IrBlockId, Value};
use crate::machine::{Block, BlockId, Inst, Operand, Terminator, VReg};

/// From how many cases on a table is made, if at least two fifths of it are cases.
const MIN_TABLE: usize = 5;
/// How many cases are compared one by one; more are searched.
const MAX_CHAIN: usize = 3;
/// How long a table may be.
const MAX_TABLE: u128 = 4096;

type Case = (u128, BlockId);

impl Lower<'_> {
    /// A branch on a condition: on a constant it is none.
    pub(super) fn branch(&mut self, condition: Value, then: BlockId, otherwise: BlockId) -> Result<Terminator, Error> {
        if then == otherwise {
            return Ok(Terminator::Goto(then));
        }
        let (condition, negated) = self.peel_not(condition);
        let word = self.word(condition)?;
        if let Part::Bits(_) | Part::Undef = word.part {
            let taken = matches!(word.part, Part::Bits(1)) != negated;
            let (to, other) = if taken { (then, otherwise) } else { (otherwise, then) };
            self.dropped_edges.push((self.current, other));
            return Ok(Terminator::Goto(to));
        }
        Ok(Terminator::Branch { pred: self.reg(word)?, negated, then, otherwise })
    }

    /// A switch: a table where the cases are dense, else comparisons, by halves when they are many.
    pub(super) fn switch(
        &mut self,
        value: Value,
        default: IrBlockId,
        cases: &[(u128, IrBlockId)],
    ) -> Result<Terminator, Error> {
        let default = self.machine_block(default)?;
        let bits = self.ir.types.int_bits(self.type_of(value)).unwrap_or(64);
        let words = self.words_of(value)?;
        let &[word] = words.as_slice() else { return Err(Error::new("switches on more than 64 bits")) };
        let mut targets = Vec::with_capacity(cases.len());
        for &(case, to) in cases {
            targets.push((case, self.machine_block(to)?));
        }
        targets.sort_unstable_by_key(|(case, _)| *case);
        let word = if word.vt == Vt::Pred { self.widened(word)? } else { self.extended(word, bits, false)? };
        let operand = self.reg(word)?;
        let origin = self.current;
        if targets.is_empty() {
            return Ok(Terminator::Goto(default));
        }
        let span = targets[targets.len() - 1].0 - targets[0].0;
        if targets.len() >= MIN_TABLE && span < MAX_TABLE && span < targets.len() as u128 * 5 / 2 {
            return self.table(operand, word.vt, &targets, default);
        }
        let whole = Search { origin, operand, vt: word.vt, default };
        self.search(&whole, origin, &targets)
    }

    /// `i1` as a number.
    fn widened(&mut self, word: Word) -> Result<Word, Error> {
        let predicate = self.reg(word)?;
        let args = [Operand::Imm(1), Operand::Imm(0), predicate.into()];
        let reg = self.value(format_args!("selp.b32"), Vt::I32, args)?;
        Ok(Word { vt: Vt::I32, part: Part::Reg(reg) })
    }

    /// A range check and a jump through a table.
    fn table(&mut self, operand: VReg, vt: Vt, cases: &[Case], default: BlockId) -> Result<Terminator, Error> {
        let (first, last) = (cases[0].0, cases[cases.len() - 1].0);
        let (s, u) = (vt.typed(true), vt.typed(false));
        let base = self.constant(vt, (first as u64).wrapping_neg());
        let offset = match first {
            0 => operand,
            _ => self.value(format_args!("add.{s}"), vt, [operand.into(), base])?,
        };
        let limit = Operand::Imm((last - first) as i64);
        let outside = self.value(format_args!("setp.gt.{u}"), Vt::Pred, [offset.into(), limit])?;
        let index = match vt {
            Vt::I32 => offset,
            _ => self.value(format_args!("cvt.u32.{u}"), Vt::I32, [offset.into()])?,
        };
        let mut targets = vec![default; (last - first) as usize + 1];
        for &(case, to) in cases {
            targets[(case - first) as usize] = to;
        }
        let origin = self.current;
        let block = self.extra_block(Vec::new(), Terminator::Exit, origin);
        for &to in &targets {
            self.moved_edges.push(MovedEdge { origin, from: block, to });
        }
        self.moved_edges.push(MovedEdge { origin, from: origin, to: default });
        self.out.blocks[block].terminator = Terminator::Table { index, targets };
        Ok(Terminator::Branch { pred: outside, negated: false, then: default, otherwise: block })
    }

    /// Finds the case among `cases`, from `block` on, whose terminator is the result.
    fn search(&mut self, search: &Search, block: BlockId, cases: &[Case]) -> Result<Terminator, Error> {
        let at_origin = block == search.origin;
        let kept = std::mem::take(&mut self.sequence);
        let (predicate, case_or_half) = if cases.len() <= MAX_CHAIN {
            (self.compare_case("eq", search, cases[0].0)?, Err(cases[0].1))
        } else {
            let middle = cases.len() / 2;
            (self.compare_case("lt", search, cases[middle].0)?, Ok(middle))
        };
        let own = std::mem::replace(&mut self.sequence, kept);
        if at_origin {
            self.sequence.extend(own);
        } else {
            self.out.blocks[block].insts.extend(own);
        }
        let (then, otherwise) = match case_or_half {
            Err(hit) => {
                self.moved_edges.push(MovedEdge { origin: search.origin, from: block, to: hit });
                (hit, self.rest(search, block, &cases[1..])?)
            }
            Ok(middle) => {
                let high = self.rest(search, block, &cases[middle..])?;
                (self.rest(search, block, &cases[..middle])?, high)
            }
        };
        Ok(Terminator::Branch { pred: predicate, negated: false, then, otherwise })
    }

    /// The block that looks at the remaining cases; the default when there are none.
    fn rest(&mut self, search: &Search, after: BlockId, cases: &[Case]) -> Result<BlockId, Error> {
        if cases.is_empty() {
            self.moved_edges.push(MovedEdge { origin: search.origin, from: after, to: search.default });
            return Ok(search.default);
        }
        let block = self.extra_block(Vec::new(), Terminator::Exit, after);
        let terminator = self.search(search, block, cases)?;
        self.out.blocks[block].terminator = terminator;
        Ok(block)
    }

    fn compare_case(&mut self, name: &str, search: &Search, case: u128) -> Result<VReg, Error> {
        let operands = [search.operand.into(), self.constant(search.vt, case as u64)];
        self.value(format_args!("setp.{name}.{}", search.vt.typed(false)), Vt::Pred, operands)
    }

    fn extra_block(&mut self, insts: Vec<Inst>, terminator: Terminator, after: BlockId) -> BlockId {
        let block = self.out.blocks.push(Block { phis: Vec::new(), insts, terminator });
        let at = self.out.layout.iter().position(|&other| other == after).map_or(self.out.layout.len(), |at| at + 1);
        self.out.layout.insert(at, block);
        block
    }

    /// Tells the `phi`s from which blocks their values really come.
    pub(super) fn move_edges(&mut self) {
        for (from, to) in std::mem::take(&mut self.dropped_edges) {
            for phi in &mut self.out.blocks[to].phis {
                phi.incoming.retain(|(origin, _)| *origin != from);
            }
        }
        let mut edges = std::mem::take(&mut self.moved_edges);
        edges.sort_by_key(|edge| (edge.to, edge.origin, edge.from));
        edges.dedup();
        for group in edges.chunk_by(|a, b| (a.to, a.origin) == (b.to, b.origin)) {
            for phi in &mut self.out.blocks[group[0].to].phis {
                let Some(at) = phi.incoming.iter().position(|(from, _)| *from == group[0].origin) else { continue };
                let (_, value) = phi.incoming.remove(at);
                phi.incoming.extend(group.iter().map(|edge| (edge.from, value.clone())));
            }
        }
    }
}

/// What a search among cases is about.
struct Search {
    origin: BlockId,
    operand: VReg,
    vt: Vt,
    default: BlockId,
}
