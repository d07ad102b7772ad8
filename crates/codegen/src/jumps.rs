//! Jumps as the order of the blocks wants them (slots 108 and 112).
//!
//! Behind allocation it is known which blocks have no code, since copies between registers that became one are gone, and in which
//! order blocks come. Edges go around the former. A branch to the block that stands next, with a jump behind it to another one,
//! goes to that one on the opposite condition and needs no jump; one that leaves a loop, with a jump back behind it, goes back itself, and the
//! jump is executed once.

use oriole_ori::analysis::Cfg;
use oriole_ori::terminator::{Exit, exit_of, is_terminator, tested_predicates};
use oriole_ori::{Block, Function, Inst, Operand, OperandKind, SecondaryMap, layout};
use smallvec::SmallVec;

/// Gives each block the branches with which the fewest jumps are executed. Jumps to what does not come next are still to be added.
pub(crate) fn settle_jumps(func: &mut Function) {
    if layout::thread_jumps(func, |inst| !inst.is_machine()) {
        let cfg = Cfg::new(func);
        layout::remove_unreachable(func, &cfg);
    }
    turn_branches(func);
    layout::remove_redundant_branches(func);
}

/// Turns each branch with which fewer jumps are executed the other way round.
pub(crate) fn turn_branches(func: &mut Function) {
    let mut places: SecondaryMap<Block, usize> = SecondaryMap::new();
    func.layout().iter().enumerate().for_each(|(at, block)| places[*block] = at);
    for at in 0..func.layout().len() {
        let (block, next) = (func.layout()[at], func.layout().get(at + 1).copied());
        let Some((taken, other)) = ways(func, block) else { continue };
        let goes_back = |way: Block| places[way] <= at;
        if Some(taken) == next || Some(other) != next && goes_back(other) && !goes_back(taken) {
            turn_branch(func, block, (taken, other));
        }
    }
}

/// Where the branch at the end of a block leads, and where the block goes on without it: if it has one condition, and
/// these are different blocks.
fn ways(func: &Function, block: Block) -> Option<(Block, Block)> {
    let (&[taken, other], Some((&last, rest))) = (func.succs(block), func.block_insts(block).split_last()) else {
        return None;
    };
    let alone = branches_to(&func[last], taken) && !rest.iter().any(|inst| is_terminator(&func[*inst]));
    (alone && taken != other).then_some((taken, other))
}

/// Lets the branch at the end of a block lead to where the block went on, on the opposite condition.
fn turn_branch(func: &mut Function, block: Block, (taken, other): (Block, Block)) {
    let Some(&last) = func.block_insts(block).last() else { return };
    func.edit().update(last, |inst| {
        if let Some(guard) = inst.guard() {
            inst.set_guard(Some(guard.opposite()));
        } else {
            conditions(inst).into_iter().for_each(|at| inst.operands[at] = inst.operands[at].not());
        }
        let targets = inst.operands.iter_mut().filter(|operand| operand.as_block().is_some());
        targets.for_each(|operand| *operand = Operand::block(other));
    });
    func.edit().set_succs(block, &[other, taken]);
}

/// The places of the predicates in registers that an instruction tests, its guard aside.
fn conditions(inst: &Inst) -> SmallVec<[usize; 2]> {
    let is_register = |at: &usize| matches!(inst.operands[*at].kind(), OperandKind::Reg(..) | OperandKind::Phys { .. });
    tested_predicates(inst).filter(is_register).collect()
}

/// A branch to the block, on one condition.
fn branches_to(inst: &Inst, target: Block) -> bool {
    exit_of(inst) == Exit::Branch
        && usize::from(inst.guard().is_some()) + conditions(inst).len() == 1
        && inst.operands.iter().filter_map(|operand| operand.as_block()).eq([target])
}

#[cfg(test)]
mod tests {
    use super::settle_jumps;
    use oriole_ori::text::inst_text;
    use oriole_ori::{Function, layout};

    /// The blocks in their order with the jumps at their ends.
    fn settled(blocks: &str) -> String {
        let registers = "  .reg %R0 physical=0\n  .reg %P1 physical=0\n  .reg %UP2 physical=0\n";
        let text = format!(".function entry f\n  .frame local=0 spill=0 align=0\n{registers}{blocks}.end\n");
        let mut func: Function = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
        settle_jumps(&mut func);
        layout::make_fallthroughs_explicit(&mut func);
        let ends = func.layout().iter().map(|block| {
            let jumps = func.block_insts(*block).iter().map(|inst| inst_text(&func, *inst));
            let jumps: Vec<String> = jumps.filter(|text| text.contains("BRA")).collect();
            format!("{block}: {}", jumps.join("; "))
        });
        ends.collect::<Vec<_>>().join("\n")
    }

    const CODE: &str = "    MOV %R0, RZ, 0xf\n";
    const END: &str = "    EXIT PT\n";

    #[test]
    fn a_branch_over_a_jump_takes_its_place() {
        for (before, after) in [
            ("@%P1 BRA PT, bix1, _", "@!%P1 BRA PT, bix2, _"),
            ("BRA{bra_uniform=ON} !%UP2, bix1, _", "BRA{bra_uniform=ON} %UP2, bix2, _"),
        ] {
            let blocks = format!("bix0: -> bix1, bix2\n    {before}\nbix1: -> bix2\n{CODE}bix2:\n{END}");
            assert_eq!(settled(&blocks), format!("bix0: {after}\nbix1: \nbix2: "));
        }
    }

    #[test]
    fn a_branch_out_of_a_loop_goes_back_instead() {
        let ways = "bix0: -> bix2, bix1\n    @%P1 BRA PT, bix2, _\nbix1: -> bix3, bix1\n";
        let blocks = format!("{ways}{CODE}    @%P1 BRA PT, bix3, _\nbix2:\n{END}bix3:\n{CODE}{END}");
        let expected = "bix0: @%P1 BRA PT, bix2, _\nbix1: @!%P1 BRA PT, bix1, _; BRA PT, bix3, _\nbix2: \nbix3: ";
        assert_eq!(settled(&blocks), expected);
    }

    #[test]
    fn both_ways_back_stay() {
        let blocks = format!(
            "bix0: -> bix1\n{CODE}bix1: -> bix2\n{CODE}bix2: -> bix1, bix2\n{CODE}    @%P1 BRA PT, bix1, _\nbix3:\n{END}"
        );
        let expected = "bix0: \nbix1: \nbix2: @%P1 BRA PT, bix1, _; BRA PT, bix2, _";
        assert_eq!(settled(&blocks).lines().take(3).collect::<Vec<_>>().join("\n"), expected);
    }

    #[test]
    fn edges_go_around_blocks_without_code() {
        let blocks = format!(
            "bix0: -> bix2, bix1\n    @%P1 BRA PT, bix2, _\nbix1: -> bix3\n    BRA PT, bix3, _\nbix2: -> bix3\n{CODE}bix3:\n{END}"
        );
        assert_eq!(settled(&blocks), "bix0: @!%P1 BRA PT, bix3, _\nbix2: \nbix3: ");
    }

    #[test]
    fn a_branch_on_two_conditions_stays() {
        let blocks = format!("bix0: -> bix1, bix2\n    @%P1 BRA !%P1, bix1, _\nbix1: -> bix2\n{CODE}bix2:\n{END}");
        assert_eq!(settled(&blocks), "bix0: @%P1 BRA !%P1, bix1, _; BRA PT, bix2, _\nbix1: \nbix2: ");
    }
}
