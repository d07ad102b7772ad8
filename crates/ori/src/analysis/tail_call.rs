//! Calls behind which a function does nothing but return what they gave.

use super::liveness::Component;
use crate::call::Callee;
use crate::entity::{Block, InstId, VReg};
use crate::function::Function;
use crate::inst::Inst;
use crate::operand::Operand;
use oriole_isa::{Opcode, RegFile, Role};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A call that ends a block, and the path from there to a RET: moves of registers, and jumps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailCall {
    /// The block.
    pub block: Block,
    /// The call.
    pub call: InstId,
    /// The pair that the call has its return address in.
    pub address: VReg,
    /// Both words of the address that the function returns to, as ahead of the call: no fixed registers.
    pub own: [Operand; 2],
    /// The block with the RET.
    pub end: Block,
}

impl TailCall {
    /// The call that ends a block, if the function returns behind it the results of the call in the registers that it has them in, and
    /// nothing else happens. The code is not in SSA form. A call through a register is none.
    pub fn of(func: &Function, block: Block) -> Option<TailCall> {
        let call = *func.block_insts(block).last()?;
        let data = &func[call];
        let site = &func[data.call.expand()?];
        let is_direct = data.operand(Role::Base).is_none_or(|base| base.as_reg().is_none());
        if data.opcode != Opcode::CALL || data.guard().is_some() || site.is_tail_call() || !is_direct {
            return None;
        }
        let address = site.args.last()?.as_whole_reg()?;
        let (sources, end, ret) = path_to_return(func, block)?;
        let is_result =
            |word: Component| site.results.iter().any(|result| words(func, *result).any(|known| known == word));
        let is_passed = |word: Component| sources.of(word) == word && is_result(word);
        let returned = &func[func[ret].call.expand()?].args;
        if !returned.iter().flat_map(|operand| words(func, *operand)).all(is_passed) {
            return None;
        }
        let own: SmallVec<[Component; 2]> =
            words(func, func[ret].operand(Role::Base)?).map(|word| sources.of(word)).collect();
        let [low, high] = *own.as_slice() else { return None };
        // Fixed registers are the call's to change.
        let is_kept = |word: Component| !func[word.0].is_fixed() && !is_result(word);
        let own = [low, high].map(|(reg, part)| Operand::comp(reg, part));
        (is_kept(low) && is_kept(high)).then_some(TailCall { block, call, address, own, end })
    }

    /// Puts the address that the function returns to where the call has its own, ahead of the call.
    pub fn hand_address_on(&self, func: &mut Function) {
        let give = |(part, own)| Inst::copy(RegFile::R, Operand::comp(self.address, part), own);
        let moves = (0..).zip(self.own).map(give).map(|inst| func.edit().add(inst)).collect::<Vec<_>>();
        let at = func.block_insts(self.block).len() - 1;
        func.edit().place(self.block, at, &moves);
    }
}

/// What is moved behind a block that ends in a call, up to a RET: with its block.
fn path_to_return(func: &Function, call: Block) -> Option<(Copies, Block, InstId)> {
    let mut sources = Copies::default();
    let mut block = call;
    // A cycle of blocks without a RET ends as well.
    for _ in func.layout() {
        let [next] = *func.succs(block) else { return None };
        block = next;
        for inst in func.block_insts(block) {
            let data = &func[*inst];
            if data.opcode == Opcode::RET && data.guard().is_none() {
                let callee = data.call.expand().map(|site| func[site].callee);
                return (callee == Some(Callee::Return)).then_some((sources, block, *inst));
            }
            sources.follow(func, *inst)?;
        }
    }
    None
}

/// The words that an operand names.
fn words(func: &Function, operand: Operand) -> impl Iterator<Item = Component> {
    let piece = operand.as_piece().map(|(reg, piece)| (reg, piece.range(func[reg].components)));
    piece.into_iter().flat_map(|(reg, range)| range.map(move |part| (reg, part)))
}

/// Where words come from that were copied in a row of moves.
#[derive(Default)]
struct Copies(FxHashMap<Component, Component>);

impl Copies {
    /// What has held the word ahead of the moves.
    fn of(&self, word: Component) -> Component {
        self.0.get(&word).copied().unwrap_or(word)
    }

    /// Goes on by an instruction; `None` if it is no move of registers.
    fn follow(&mut self, func: &Function, inst: InstId) -> Option<()> {
        let data = &func[inst];
        let (to, from) = (data.operand(Role::D)?, data.operand(Role::B)?);
        let is_move =
            data.opcode == Opcode::MOV && data.guard().is_none() && !from.has_flags() && data.flags.is_empty();
        if !is_move || func[from.as_reg()?].file() != func[to.as_reg()?].file() {
            return None;
        }
        let from: SmallVec<[Component; 4]> = words(func, from).map(|word| self.of(word)).collect();
        self.0.extend(words(func, to).zip(from));
        Some(())
    }
}
