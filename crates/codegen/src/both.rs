//! Branches on two predicates, `@!P0 BRA P1`, as ptxas has them: where both have to hold, nothing need compute whether they do.
//!
//! Behind allocation, and behind the branches have been turned as the order of the blocks wants them: a branch on two conditions cannot
//! be.

use oriole_isa::{Opcode, RegFile, Role};
use oriole_ori::terminator::is_terminator;
use oriole_ori::{Block, Function, Guard, Inst, InstId, Operand, VReg};
use rustc_hash::FxHashMap;

/// A branch that takes two predicates in place of one that is computed of them.
struct Pair {
    branch: InstId,
    logic: InstId,
    /// The predicate that goes.
    result: VReg,
    /// What has to hold for the branch to be taken.
    both: [Guard; 2],
}

/// Let branches read both of what a `PLOP3` joins, where they alone read its result.
pub(crate) fn branch_on_both(func: &mut Function) {
    let found: Vec<(Block, Pair)> =
        func.layout().iter().filter_map(|block| Some((*block, Pair::of(func, *block)?))).collect();
    if found.is_empty() {
        return;
    }
    let mut reads: FxHashMap<VReg, u32> = found.iter().map(|(_, pair)| (pair.result, 0)).collect();
    for (_, inst) in func.iter_insts() {
        func.for_each_use(inst, |read| {
            if let Some(count) = reads.get_mut(&read.reg) {
                *count += 1;
            }
        });
    }
    for (block, pair) in found.into_iter().filter(|(_, pair)| reads[&pair.result] == 1) {
        let [first, second] = pair.both;
        func.edit().update(pair.branch, |branch| {
            branch.set_guard(Some(first));
            branch.operands[0] = second.operand();
        });
        func.edit().retain_insts(block, |_, inst| inst != pair.logic);
    }
}

impl Pair {
    /// At the end of a block.
    fn of(func: &Function, block: Block) -> Option<Pair> {
        let (&branch, rest) = func.block_insts(block).split_last()?;
        let data = &func[branch];
        let guard = data.guard().filter(|guard| func[guard.pred].file() == RegFile::P)?;
        if data.opcode != Opcode::BRA || data.operands.first() != Some(&Operand::pt()) {
            return None;
        }
        let writes = |inst: InstId, reg: VReg| {
            let mut writes = false;
            let physical = func[reg].physical;
            func.for_each_def(inst, |write| {
                writes |= func[write.reg].file() == RegFile::P && func[write.reg].physical == physical;
            });
            writes
        };
        let at = rest.iter().rposition(|inst| writes(*inst, guard.pred))?;
        let (logic, behind) = (rest[at], &rest[at + 1..]);
        let both = conjunction(&func[logic], guard)?;
        let stay = both
            .iter()
            .all(|other| func[other.pred].file() == RegFile::P && !behind.iter().any(|inst| writes(*inst, other.pred)));
        let alone = !behind.iter().any(|inst| is_terminator(&func[*inst]));
        (stay && alone).then_some(Pair { branch, logic, result: guard.pred, both })
    }
}

/// The two conditions that both have to hold where a guard does, of which a `PLOP3` makes its predicate.
fn conjunction(logic: &Inst, guard: Guard) -> Option<[Guard; 2]> {
    let operand = |role: Role| logic.operand(role);
    let plain = logic.opcode == Opcode::PLOP3 && logic.is_machine() && logic.guard().is_none();
    let lone = plain && operand(Role::PD)?.as_reg() == Some(guard.pred) && operand(Role::PD2)? == Operand::pt();
    let table = operand(Role::Lut)?.as_imm().filter(|_| lone)?;
    let [a, b, c] = [operand(Role::PA)?, operand(Role::PB)?, operand(Role::PC)?];
    let (first, second) = (a.as_reg()?, b.as_reg()?);
    let third = match () {
        () if c == Operand::pt() => 1,
        () if c == Operand::pt().not() => 0,
        () => return None,
    };
    let taken = |row: &u32| (table >> (2 * row + third) & 1 == 1) != guard.negated;
    let rows: Vec<u32> = (0..4).filter(taken).collect();
    let &[row] = &rows[..] else { return None };
    let condition = |pred: VReg, operand: Operand, holds: bool| Guard { pred, negated: operand.is_not() == holds };
    Some([condition(first, a, row >> 1 == 1), condition(second, b, row & 1 == 1)])
}

#[cfg(test)]
mod tests {
    use super::branch_on_both;
    use oriole_ori::Function;
    use oriole_ori::text::inst_text;

    /// The instructions of the first block, `end` behind two tests in it.
    fn first_block(end: &str) -> String {
        let registers = "  .reg %R0 physical=0\n  .reg %P1 physical=0\n  .reg %P2 physical=1\n  .reg %P3 physical=2\n";
        let tests = "    ISETP{cmp=GT} %P1, PT, %R0, 0x5, PT, PT\n    ISETP{cmp=GT} %P2, PT, %R0, 0x7, PT, PT\n";
        let blocks =
            format!("bix0: -> bix2, bix1\n{tests}{end}bix1: -> bix2\n    MOV %R0, RZ, 0xf\nbix2:\n    EXIT PT\n");
        let text = format!(".function entry f\n  .frame local=0 spill=0 align=0\n{registers}{blocks}.end\n");
        let mut func: Function = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
        branch_on_both(&mut func);
        let insts = func.block_insts(func.layout()[0]).iter().map(|inst| inst_text(&func, *inst));
        insts.skip(2).collect::<Vec<_>>().join("; ")
    }

    /// The row of the table that is the only one with which the branch is taken says which of both have to hold.
    #[test]
    fn each_row_has_its_branch() {
        for (table, guard, branch) in [
            (0x80, "@%P3", "@%P1 BRA %P2, bix2, _"),
            (0x20, "@%P3", "@%P1 BRA !%P2, bix2, _"),
            (0x08, "@%P3", "@!%P1 BRA %P2, bix2, _"),
            (0x02, "@%P3", "@!%P1 BRA !%P2, bix2, _"),
            // Either of both, and the opposite.
            (0xa8, "@!%P3", "@!%P1 BRA !%P2, bix2, _"),
        ] {
            let end = format!("    PLOP3 %P3, PT, %P1, %P2, PT, {table:#x}, 0x0\n    {guard} BRA PT, bix2, _\n");
            assert_eq!(first_block(&end), branch, "{table:#x}");
        }
        let end = "    PLOP3 %P3, PT, !%P1, %P2, !PT, 0x40, 0x0\n    @%P3 BRA PT, bix2, _\n";
        assert_eq!(first_block(end), "@!%P1 BRA %P2, bix2, _");
    }

    /// One of either, both, or neither; somebody else who reads the result; a predicate that is another one by then.
    #[test]
    fn what_is_no_conjunction_of_two_stays() {
        for end in [
            "    PLOP3 %P3, PT, %P1, %P2, PT, 0xa8, 0x0\n    @%P3 BRA PT, bix2, _\n",
            "    PLOP3 %P3, PT, %P1, %P2, PT, 0x28, 0x0\n    @%P3 BRA PT, bix2, _\n",
            "    PLOP3 %P3, PT, %P1, %P2, PT, 0x80, 0x0\n    @%P3 MOV %R0, 0x1, 0xf\n    @%P3 BRA PT, bix2, _\n",
            "    PLOP3 %P3, PT, %P1, %P2, PT, 0x80, 0x0\n    ISETP{cmp=GT} %P1, PT, %R0, 0x9, PT, PT\n    @%P3 BRA PT, bix2, _\n",
            "    PLOP3 %P3, %P1, %P1, %P2, PT, 0x80, 0x0\n    @%P3 BRA PT, bix2, _\n",
        ] {
            assert!(first_block(end).contains("PLOP3"), "{end}");
        }
    }
}
