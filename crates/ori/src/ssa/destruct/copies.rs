//! Copies that happen at once, put in an order.

use crate::entity::InstId;
use crate::error::BuildError;
use crate::function::Function;
use crate::inst::Inst;
use crate::operand::Operand;
use crate::reg::RegType;
use oriole_isa::RegFile;
use rustc_hash::FxHashMap;

/// One of several copies that all read before any writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    pub(super) file: RegFile,
    pub(super) to: Operand,
    /// A register of the file, or a constant.
    pub(super) from: Operand,
}

/// Append the copies in an order in which none overwrites what another has yet to read; rings go through a register of
/// their own. Destinations differ.
pub(super) fn in_order(func: &mut Function, copies: &[Copy], out: &mut Vec<InstId>) -> Result<(), BuildError> {
    let mut copies: Vec<Copy> = copies.iter().copied().filter(|copy| copy.to != copy.from).collect();
    if let [only] = copies[..] {
        out.push(func.edit().add(Inst::copy(only.file, only.to, only.from)));
        return Ok(());
    }
    let writer: FxHashMap<Operand, usize> = copies.iter().enumerate().map(|(n, copy)| (copy.to, n)).collect();
    // By copy: how many of the others still read its destination.
    let mut readers = vec![0u32; copies.len()];
    for copy in &copies {
        if let Some(n) = writer.get(&copy.from) {
            readers[*n] += 1;
        }
    }
    let mut ready: Vec<usize> = (0..copies.len()).rev().filter(|n| readers[*n] == 0).collect();
    let mut done = vec![false; copies.len()];
    let mut next = 0;
    loop {
        while let Some(n) = ready.pop() {
            let Copy { file, to, from } = copies[n];
            done[n] = true;
            out.push(func.edit().add(Inst::copy(file, to, from)));
            if let Some(freed) = writer.get(&from).copied().filter(|freed| !done[*freed]) {
                readers[freed] -= 1;
                if readers[freed] == 0 {
                    ready.push(freed);
                }
            }
        }
        // What is left are rings, in which each destination has one reader.
        next += done[next..].iter().take_while(|done| **done).count();
        let Some(copy) = copies.get(next).copied() else { return Ok(()) };
        let aside = Operand::reg(func.new_vreg(RegType::of_width(copy.file, 1).unwrap_or(RegType::R))?);
        out.push(func.edit().add(Inst::copy(copy.file, aside, copy.to)));
        copies.iter_mut().filter(|other| other.from == copy.to).for_each(|reader| reader.from = aside);
        readers[next] = 0;
        ready.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::FunctionKind;
    use std::collections::BTreeMap;

    /// Every way in which up to four registers take the values of each other: rings, trees, and both.
    #[test]
    fn copies_happen_as_if_at_once() {
        for count in 1..=4usize {
            for choice in 0..5usize.pow(count as u32) {
                let mut func = Function::new("copies", FunctionKind::Entry);
                let regs: Vec<_> = (0..5).map(|_| func.new_vreg(RegType::R).expect("there is room")).collect();
                let sources: Vec<usize> = (0..count).map(|k| choice / 5usize.pow(k as u32) % 5).collect();
                let copy = |(to, from): (usize, &usize)| Copy {
                    file: RegFile::R,
                    to: regs[to].into(),
                    from: regs[*from].into(),
                };
                let copies: Vec<Copy> = sources.iter().enumerate().map(copy).collect();
                let mut out = Vec::new();
                in_order(&mut func, &copies, &mut out).expect("there is room");
                let mut values: BTreeMap<Operand, usize> =
                    regs.iter().enumerate().map(|(n, reg)| ((*reg).into(), n)).collect();
                for inst in out {
                    let (to, from) = (func[inst].operands[0], func[inst].operands[1]);
                    let value = values[&from];
                    values.insert(to, value);
                }
                for (to, from) in sources.iter().enumerate() {
                    assert_eq!(values[&regs[to].into()], *from, "{sources:?}");
                }
            }
        }
    }
}
