//! Loads and stores of words that live in registers become values, on SSA form: MovPhis stand where a load asks for a word at the start of a
//! block with several before it.

use super::places::{olds, words};
use super::promote::{Access, Variables};
use super::{Instead, replace_accesses};
use oriole_isa::RegFile;
use oriole_ori::analysis::Cfg;
use oriole_ori::{Block, BuildError, Function, Inst, InstId, Operand, OperandKind, RegType, VReg};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A function whose words become values.
pub(super) struct Values<'f> {
    func: &'f mut Function,
    cfg: &'f Cfg,
    variables: &'f Variables,
    /// What words are at the start of blocks, where somebody has asked.
    starts: FxHashMap<(Block, usize), Operand>,
    /// What they are at the end of blocks that store to them.
    ends: FxHashMap<(Block, usize), Operand>,
    /// What stores leave in their words: their data, or new values under a guard and for zeros.
    stored: FxHashMap<InstId, Words>,
    /// MovPhis without inputs yet.
    open: Vec<(Block, usize, VReg)>,
}

type Words = SmallVec<[Operand; 4]>;
type Copies = SmallVec<[Inst; 4]>;

impl<'f> Values<'f> {
    /// Nothing is done yet.
    pub(super) fn new(func: &'f mut Function, cfg: &'f Cfg, variables: &'f Variables) -> Values<'f> {
        let (starts, ends, stored) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
        Values { func, cfg, variables, starts, ends, stored, open: Vec::new() }
    }

    /// Put values in the place of all accesses to the words, which stand in the order of the code.
    pub(super) fn put(mut self, accesses: &[Access]) -> Result<(), BuildError> {
        let of_variables = accesses.iter().filter(|access| self.variables.of(access.words().start).is_some());
        let accesses: Vec<&Access> = of_variables.collect();
        for access in accesses.iter().filter(|access| access.stores) {
            let values = self.left_by(access.inst)?;
            for (word, value) in access.words().zip(&values) {
                let end = self.variables.of(word).map(|variable| (access.block, variable));
                end.and_then(|end| self.ends.insert(end, *value));
            }
            self.stored.insert(access.inst, values);
        }
        for of_block in accesses.chunk_by(|a, b| a.block == b.block) {
            self.rewrite(of_block)?;
        }
        self.close()
    }

    /// What a store leaves in each of its words: a MovPhi or a guarded copy takes a value, not the zero register.
    fn left_by(&mut self, store: InstId) -> Result<Words, BuildError> {
        let data = &self.func[store];
        let guarded = data.guard().is_some();
        let mut values = words(self.func, data, true).unwrap_or_default();
        for value in values.iter_mut().filter(|value| guarded || value.kind() == OperandKind::Rz) {
            *value = Operand::reg(self.func.new_vreg(RegType::R)?);
        }
        Ok(values)
    }

    /// Put copies in the place of a block's accesses.
    fn rewrite(&mut self, accesses: &[&Access]) -> Result<(), BuildError> {
        let Some(block) = accesses.first().map(|access| access.block) else { return Ok(()) };
        let mut now: FxHashMap<usize, Operand> = FxHashMap::default();
        let mut instead = Instead::default();
        for access in accesses {
            let copies = if access.stores { self.store(access, &mut now)? } else { self.load(access, &mut now)? };
            instead.insert(access.inst, copies);
        }
        replace_accesses(self.func, block, instead);
        Ok(())
    }

    /// What stands for a store: nothing, zeros, or under a guard copies over what was there.
    fn store(&mut self, access: &Access, now: &mut FxHashMap<usize, Operand>) -> Result<Copies, BuildError> {
        let mut copies = Copies::new();
        let data = words(self.func, &self.func[access.inst], true).unwrap_or_default();
        let values = self.stored.remove(&access.inst).unwrap_or_default();
        for ((word, from), to) in access.words().zip(data).zip(values) {
            let Some(variable) = self.variables.of(word) else { continue };
            if to != from {
                let guard = self.func[access.inst].guard();
                let mut copy = Inst::copy(RegFile::R, to, from).guarded(guard);
                if guard.is_some() {
                    copy.operands.push(self.value(now, access.block, variable)?);
                }
                copy.loc = self.func[access.inst].loc;
                copies.push(copy);
            }
            now.insert(variable, to);
        }
        Ok(copies)
    }

    /// What stands for a load: copies.
    fn load(&mut self, access: &Access, now: &mut FxHashMap<usize, Operand>) -> Result<Copies, BuildError> {
        let mut copies = Copies::new();
        let load = &self.func[access.inst];
        let (guard, loc) = (load.guard(), load.loc);
        let results = words(self.func, load, false).unwrap_or_default();
        let olds = olds(self.func, load, results.len()).unwrap_or_default();
        for (k, (word, to)) in access.words().zip(results).enumerate() {
            let Some(variable) = self.variables.of(word) else { continue };
            let from = self.value(now, access.block, variable)?;
            let old = olds.get(k).copied().filter(|old| old.kind() != OperandKind::Undef);
            let mut copy = match (from.kind(), old) {
                // Whatever it is where the guard is true.
                (OperandKind::Undef, Some(old)) => Inst::copy(RegFile::R, to, old),
                (_, None) => Inst::copy(RegFile::R, to, from),
                (_, Some(old)) => {
                    let mut copy = Inst::copy(RegFile::R, to, from).guarded(guard);
                    copy.operands.push(old);
                    copy
                }
            };
            copy.loc = loc;
            copies.push(copy);
        }
        Ok(copies)
    }

    /// What a word is at some point of a block, behind what `now` knows of.
    fn value(
        &mut self,
        now: &mut FxHashMap<usize, Operand>,
        block: Block,
        variable: usize,
    ) -> Result<Operand, BuildError> {
        if let Some(value) = now.get(&variable) {
            return Ok(*value);
        }
        let value = self.at_start(block, variable)?;
        now.insert(variable, value);
        Ok(value)
    }

    /// What a word is at the start of a block.
    fn at_start(&mut self, block: Block, variable: usize) -> Result<Operand, BuildError> {
        let mut passed: SmallVec<[Block; 8]> = SmallVec::new();
        let mut at = block;
        let value = loop {
            if let Some(value) = self.starts.get(&(at, variable)) {
                break *value;
            }
            passed.push(at);
            match self.cfg.preds(at) {
                // Nothing was written yet, or nobody comes here.
                [] => break Operand::undef(),
                _ if !self.cfg.is_reachable(at) => break Operand::undef(),
                [before] => match self.ends.get(&(*before, variable)) {
                    Some(value) => break *value,
                    None => at = *before,
                },
                _ => {
                    let phi = self.func.new_vreg(RegType::R)?;
                    self.open.push((at, variable, phi));
                    break Operand::reg(phi);
                }
            }
        };
        self.starts.extend(passed.into_iter().map(|block| ((block, variable), value)));
        Ok(value)
    }

    /// Give the MovPhis their inputs, which may ask for others.
    fn close(&mut self) -> Result<(), BuildError> {
        while let Some((block, variable, result)) = self.open.pop() {
            let mut phi = Inst::phi(Operand::reg(result));
            for before in self.cfg.preds(block).to_vec() {
                let value = match self.ends.get(&(before, variable)) {
                    Some(value) => *value,
                    None => self.at_start(before, variable)?,
                };
                phi.operands.extend([value, Operand::block(before)]);
            }
            let phi = self.func.edit().add(phi);
            self.func.edit().place(block, 0, &[phi]);
        }
        Ok(())
    }
}
