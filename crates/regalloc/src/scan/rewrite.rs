//! The code of a placement: names for a register at each of its places, and the copies between them.

use super::copies::{Copy, Spot};
use super::{Named, Placement};
use crate::AllocError;
use crate::belady::{Anchor, ends_block};
use crate::code::FileCode;
use crate::node::Node;
use oriole_ori::{Block, Function, Inst, InstId, Operand, VReg, VRegData, layout};
use rustc_hash::FxHashMap;

/// Give the function its registers, as the placement says.
///
/// # Errors
/// There is no name left for a register, or no room for a block.
pub(crate) fn carry_out(func: &mut Function, lines: &FileCode, placement: &Placement) -> Result<(), AllocError> {
    let mut writer = Writer { func, lines, names: FxHashMap::default(), named: vec![false; lines.nodes.len()] };
    for group in placement.named.chunk_by(|a, b| a.inst == b.inst) {
        for named in group {
            writer.name(named.node, named.base)?;
        }
        let names = &writer.names;
        let name = |reg, is_def| {
            let named =
                group.iter().find(|named| named.is_def == is_def && lines.nodes[named.node as usize].vreg == reg);
            named.and_then(|named| names.get(&(named.node, named.base))).copied().unwrap_or(reg)
        };
        let is_other =
            |named: &Named| names.get(&(named.node, named.base)) != Some(&lines.nodes[named.node as usize].vreg);
        if group.iter().any(is_other) {
            writer.func.edit().rename_regs(group[0].inst, name);
        }
    }
    for (block, copies) in placement.copies.iter().filter(|(_, copies)| !copies.is_empty()) {
        writer.block(block, copies)?;
    }
    for (from, to, copies) in &placement.edges {
        let falls_through = layout::fallthrough(writer.func, *from) == Some(*to);
        let middle = writer.func.edit().split_edge(*from, *to)?;
        if !falls_through {
            // Who falls through still finds the next block behind.
            writer.func.edit().retain_blocks(|block| block != middle);
            writer.func.edit().place_block_last(middle);
        }
        let copies = writer.copies(copies.iter())?;
        writer.func.edit().set_insts(middle, copies);
    }
    let Writer { func, names, .. } = writer;
    for ((_, base), reg) in names {
        func.edit().update_reg(reg, |data| data.physical = Some(base));
    }
    Ok(())
}

struct Writer<'a> {
    func: &'a mut Function,
    lines: &'a FileCode,
    /// What a node is called where it begins.
    names: FxHashMap<(Node, u16), VReg>,
    /// By node: one of its places has its own name.
    named: Vec<bool>,
}

impl Writer<'_> {
    fn name(&mut self, node: Node, base: u16) -> Result<VReg, AllocError> {
        if let Some(name) = self.names.get(&(node, base)) {
            return Ok(*name);
        }
        let own = self.lines.nodes[node as usize].vreg;
        let name =
            if std::mem::replace(&mut self.named[node as usize], true) { self.func.new_vreg_like(own)? } else { own };
        self.names.insert((node, base), name);
        Ok(name)
    }

    /// Put the copies of a block where they belong.
    fn block(&mut self, block: Block, copies: &[(Anchor, Copy)]) -> Result<(), AllocError> {
        let old = self.func.edit().take_insts(block);
        let ends = old.iter().rev().take_while(|inst| ends_block(self.func, **inst)).count();
        let mut new = Vec::with_capacity(old.len() + copies.len());
        let mut rest = copies;
        for (at, inst) in old.iter().enumerate() {
            let here = rest.iter().take_while(|(anchor, _)| *anchor == Some(*inst)).count();
            new.extend(self.copies(rest[..here].iter().map(|(_, copy)| copy))?);
            rest = &rest[here..];
            if at + ends == old.len() && rest.first().is_some_and(|(anchor, _)| anchor.is_none()) {
                new.extend(self.copies(rest.iter().map(|(_, copy)| copy))?);
                rest = &[];
            }
            new.push(*inst);
        }
        new.extend(self.copies(rest.iter().map(|(_, copy)| copy))?);
        self.func.edit().set_insts(block, new);
        Ok(())
    }

    fn copies<'c>(&mut self, copies: impl Iterator<Item = &'c Copy>) -> Result<Vec<InstId>, AllocError> {
        let mut betweens: FxHashMap<u16, VReg> = FxHashMap::default();
        let mut made = Vec::new();
        for copy in copies {
            let (to, from) = (self.spot(copy.to, &mut betweens)?, self.spot(copy.from, &mut betweens)?);
            let inst = Inst::copy(self.lines.file, to, from);
            made.push(self.func.edit().add(inst));
        }
        Ok(made)
    }

    /// What a copy names; `betweens` are the registers in which values wait for their turn.
    fn spot(&mut self, spot: Spot, betweens: &mut FxHashMap<u16, VReg>) -> Result<Operand, AllocError> {
        match spot {
            Spot::Part { node, base, part } => Ok(Operand::piece(self.name(node, base)?, part, 1)),
            Spot::Between(register) => {
                let reg = match betweens.get(&register) {
                    Some(reg) => *reg,
                    None => self.func.add_vreg(VRegData { physical: Some(register), ..VRegData::group(1, 1) })?,
                };
                betweens.insert(register, reg);
                Ok(Operand::piece(reg, 0, 1))
            }
        }
    }
}
