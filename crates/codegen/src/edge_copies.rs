//! Copies on an edge of the flow graph are made ahead of the branch, under its guard.
//!
//! Where a block has two ways and its next blocks expect a value in other registers than it has, allocation puts a block of
//! copies on the edge, behind all others. Who goes that way jumps twice, and to a line of the instruction cache that holds
//! nothing else: a kernel that is done soon waits longer for it than for the copies. `@P MOV` ahead of `@P BRA` is an instruction for
//! those that go the other way, too; so it is not done on edges that leave a loop, for few copies alone, and not for what the
//! block has only begun to load: who goes the other way would wait for it.

use oriole_isa::latency::is_variable_opcode;
use oriole_isa::{Arch, Opcode, RegFile};
use oriole_ori::analysis::{Cfg, DomTree, LoopForest};
use oriole_ori::terminator::{Exit, exit_of, is_terminator, tested_predicates};
use oriole_ori::{Block, EntitySet, Function, Guard, Inst, InstId, Operand, OperandKind};
use smallvec::SmallVec;

/// Copies that those who go the other way execute, at most.
const MOST: usize = 3;
/// The same where the edge goes back to the start of a loop, the way that most go.
const MOST_BACK: usize = 8;

/// A branch to a block that holds nothing but copies.
struct Edge {
    from: Block,
    branch: InstId,
    guard: Guard,
    /// The block of copies.
    middle: Block,
    to: Block,
}

/// Gives copies on edges to the blocks that branch there, where that pays.
pub(crate) fn guard_edge_copies(func: &mut Function, arch: Arch) {
    let edges: Vec<Edge> = func.layout().iter().filter_map(|block| edge(func, *block)).collect();
    if edges.is_empty() {
        return;
    }
    let cfg = Cfg::new(func);
    let dominators = DomTree::dominators(&cfg);
    let loops = LoopForest::new(&cfg, &dominators);
    let pays = |edge: &Edge| {
        let most = if dominators.dominates(edge.to, edge.from) { MOST_BACK } else { MOST };
        cfg.preds(edge.middle) == [edge.from]
            && loops.depth(edge.to) >= loops.depth(edge.from)
            && func.block_insts(edge.middle).len() <= most
            && !waits(func, edge, arch)
    };
    let edges: Vec<Edge> = edges.into_iter().filter(pays).collect();
    let mut gone = EntitySet::new();
    for Edge { from, branch, guard, middle, to } in &edges {
        let mut edit = func.edit();
        let copies = edit.take_insts(*middle);
        copies.iter().for_each(|inst| edit.update(*inst, |inst| inst.set_guard(Some(*guard))));
        let at = edit.block_insts(*from).iter().position(|inst| inst == branch).unwrap_or_default();
        edit.place(*from, at, &copies);
        edit.redirect(*from, *middle, *to);
        edit.set_succs(*middle, &[]);
        gone.insert(*middle);
    }
    if !gone.is_empty() {
        func.edit().retain_blocks(|block| !gone.contains(block));
    }
}

/// The branch at the end of a block that goes to a block of copies, which have no guard yet.
fn edge(func: &Function, from: Block) -> Option<Edge> {
    let [_, _] = func.succs(from) else { return None };
    let ends = func.block_insts(from).iter().rev().take_while(|inst| is_terminator(&func[**inst]));
    ends.copied().find_map(|branch| {
        let inst = &func[branch];
        let guard = inst.guard().filter(|_| exit_of(inst) == Exit::Branch && tests_only_its_guard(inst))?;
        let middle = inst.operands.iter().find_map(|operand| operand.as_block())?;
        let [to] = *func.succs(middle) else { return None };
        let copies = func.block_insts(middle);
        let all = !copies.is_empty() && copies.iter().all(|inst| is_copy(&func[*inst]));
        (all && to != middle).then_some(Edge { from, branch, guard, middle, to })
    })
}

/// Whether a copy reads what the block writes at no fixed time.
fn waits(func: &Function, edge: &Edge, arch: Arch) -> bool {
    let sources = func.block_insts(edge.middle).iter().flat_map(|inst| func[*inst].uses());
    let register = |operand: Operand| func.physical(operand).map(|(file, number, _)| (file, number));
    let mut read: SmallVec<[(RegFile, u16); 8]> = sources.filter_map(|(_, operand)| register(operand)).collect();
    for &inst in func.block_insts(edge.from).iter().rev() {
        let data = &func[inst];
        for (file, first, count) in data.defs().filter_map(|(_, operand)| func.physical(operand)) {
            let written =
                |(of, number): &(RegFile, u16)| *of == file && (first..first + u16::from(count)).contains(number);
            if is_variable_opcode(data.opcode, arch) && read.iter().any(written) {
                return true;
            }
            read.retain(|register| !written(register));
        }
    }
    false
}

fn tests_only_its_guard(branch: &Inst) -> bool {
    tested_predicates(branch)
        .all(|at| matches!(branch.operands[at].kind(), OperandKind::Pt if !branch.operands[at].is_not()))
}

/// To a general register: no other copy can have a guard of a thread's own.
fn is_copy(inst: &Inst) -> bool {
    inst.opcode == Opcode::MOV && inst.guard().is_none()
}

#[cfg(test)]
mod tests {
    use super::guard_edge_copies;
    use oriole_isa::Arch;
    use oriole_ori::Function;
    use oriole_ori::text::inst_text;

    /// The blocks in their order, of a function with general registers R0 to R9, predicates P0 and P1 and uniform predicate UP0.
    fn guarded(blocks: &str) -> String {
        let general: String = (0..10).map(|number| format!("  .reg %R{number} physical={number}\n")).collect();
        let predicates =
            "  .reg %P10 physical=0\n  .reg %P11 physical=1\n  .reg %UP12 physical=0\n  .reg %D13 physical=14\n";
        let text = format!(".function entry f\n  .frame local=0 spill=0 align=0\n{general}{predicates}{blocks}.end\n");
        let mut func: Function = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
        guard_edge_copies(&mut func, Arch::Sm90);
        let blocks = func.layout().iter().map(|block| {
            let insts: Vec<String> = func.block_insts(*block).iter().map(|inst| inst_text(&func, *inst)).collect();
            format!("{block}: {}", insts.join("; "))
        });
        blocks.collect::<Vec<_>>().join("\n")
    }

    fn copies(count: usize) -> String {
        (0..count).map(|number| format!("    MOV %R{}, %R{number}, 0xf\n", number + 1)).collect()
    }

    /// A branch to a block of copies, which goes on where all meet.
    fn forward(before: &str, branch: &str, copies: &str) -> String {
        format!(
            "bix0: -> bix3, bix1\n{before}    {branch}\nbix1: -> bix2\n    MOV %R9, RZ, 0xf\nbix2:\n    EXIT PT\nbix3: -> bix2\n{copies}"
        )
    }

    const BRANCH: &str = "@!%P10 BRA PT, bix3, _";

    #[test]
    fn copies_go_ahead_of_the_branch() {
        let expected = "bix0: @!%P10 MOV %R1, %R0, 0xf; @!%P10 MOV %R2, %R1, 0xf; @!%P10 BRA PT, bix2, _\nbix1: MOV %R9, RZ, 0xf\nbix2: EXIT PT";
        assert_eq!(guarded(&forward("", BRANCH, &copies(2))), expected);
    }

    #[test]
    fn many_copies_stay_on_their_edge() {
        let out = guarded(&forward("", BRANCH, &copies(4)));
        assert!(out.starts_with("bix0: @!%P10 BRA PT, bix3, _\n"), "{out}");
        assert!(out.contains("\nbix3: MOV"), "{out}");
    }

    #[test]
    fn what_is_still_on_its_way_is_not_waited_for() {
        let load = "    LDG{mem_size=B32} %R0, %D13, _, s:0, UR36:2\n";
        let out = guarded(&forward(load, BRANCH, &copies(2)));
        assert!(out.contains("\nbix3: MOV"), "{out}");
    }

    #[test]
    fn other_conditions_and_other_code_stay() {
        for (branch, code) in [
            ("BRA{bra_uniform=ON} %UP12, bix3, _", copies(1)),
            ("@%P10 BRA %P11, bix3, _", copies(1)),
            (BRANCH, "    IADD3 %R1, PT, PT, %R0, 0x1, RZ\n".to_owned()),
            (BRANCH, "    @%P11 MOV %R1, %R0, 0xf\n".to_owned()),
        ] {
            let out = guarded(&forward("", branch, &code));
            assert!(out.contains("\nbix3: "), "{branch}: {out}");
        }
    }

    #[test]
    fn copies_that_others_come_to_stay() {
        let blocks = forward("", BRANCH, &copies(1))
            .replace("bix1: -> bix2\n", "bix1: -> bix3, bix2\n    @%P11 BRA PT, bix3, _\n");
        let blocks = blocks.replace("    MOV %R9, RZ, 0xf\n", "");
        let out = guarded(&blocks);
        assert!(out.contains("\nbix3: MOV %R1, %R0, 0xf"), "{out}");
    }

    /// A loop of block bix1 whose way back, or out, goes by a block of copies.
    fn round(back: &str, out: &str, copies: &str) -> String {
        format!(
            "bix0: -> bix1\n    MOV %R9, RZ, 0xf\nbix1: -> {back}, {out}\n    @%P10 BRA PT, {back}, _\n    BRA PT, {out}, _\nbix2:\n    EXIT PT\nbix3: -> {}\n{copies}",
            if back == "bix3" { "bix1" } else { "bix2" }
        )
    }

    #[test]
    fn more_of_them_on_the_way_back_and_none_on_the_way_out() {
        let back = guarded(&round("bix3", "bix2", &copies(5)));
        assert!(!back.contains("bix3"), "{back}");
        assert!(back.contains("@%P10 MOV %R5, %R4, 0xf; @%P10 BRA PT, bix1, _"), "{back}");
        let leaves = round("bix1", "bix3", &copies(1))
            .replace("@%P10 BRA PT, bix1, _\n    BRA PT, bix3, _", "@!%P10 BRA PT, bix3, _\n    BRA PT, bix1, _");
        let out = guarded(&leaves);
        assert!(out.contains("\nbix3: MOV %R1, %R0, 0xf"), "{out}");
    }
}
