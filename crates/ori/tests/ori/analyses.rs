//! Dominators, loops and liveness against direct readings of their definitions.

use crate::common::{Dice, graph, random_edges, random_function};
use oriole_ori::analysis::{Cfg, DomTree, Liveness, LoopForest, Uniformity, post_dominators};
use oriole_ori::*;
use std::rc::Rc;

/// Blocks that `from` reaches without entering `without`.
fn reach(func: &Function, from: Block, without: Option<Block>) -> Vec<Block> {
    let mut seen = Vec::new();
    let mut work = vec![from];
    while let Some(block) = work.pop() {
        if Some(block) != without && !seen.contains(&block) {
            seen.push(block);
            work.extend_from_slice(func.succs(block));
        }
    }
    seen
}

#[test]
fn dominance_is_what_removal_of_a_block_shows() {
    for seed in 0..300 {
        let mut dice = Dice::new(seed);
        let count = 1 + dice.below(14);
        let func = graph(count, &random_edges(&mut dice, count));
        let cfg = Cfg::new(&func);
        let dom = DomTree::dominators(&cfg);
        let entry = func.entry().unwrap();
        for &a in cfg.rpo() {
            let left = reach(&func, entry, Some(a));
            for &b in cfg.rpo() {
                assert_eq!(dom.dominates(a, b), !left.contains(&b), "seed {seed}: {a} {b}\n{func}");
            }
            if let Some(up) = dom.idom(a) {
                let strict: Vec<Block> =
                    cfg.rpo().iter().copied().filter(|d| *d != a && dom.dominates(*d, a)).collect();
                assert!(strict.iter().all(|d| dom.dominates(*d, up)), "seed {seed}: idom of {a}");
            }
        }
    }
}

#[test]
fn post_dominance_is_what_removal_of_a_block_shows() {
    for seed in 0..300 {
        let mut dice = Dice::new(seed);
        let count = 1 + dice.below(14);
        let func = graph(count, &random_edges(&mut dice, count));
        let cfg = Cfg::new(&func);
        let postdom = post_dominators(&func, &cfg);
        let exits: Vec<Block> = cfg.rpo().iter().copied().filter(|b| func.succs(*b).is_empty()).collect();
        let escapes = |from, without| reach(&func, from, without).iter().any(|b| exits.contains(b));
        // Where some block never leaves, the tree rests on a convention that this reading lacks.
        if cfg.rpo().iter().any(|b| !escapes(*b, None)) {
            continue;
        }
        for &a in cfg.rpo() {
            for &b in cfg.rpo() {
                assert_eq!(postdom.dominates(a, b), !escapes(b, Some(a)), "seed {seed}: {a} {b}\n{func}");
            }
        }
    }
}

#[test]
fn reverse_post_order_puts_predecessors_first() {
    for seed in 0..300 {
        let mut dice = Dice::new(seed);
        let count = 1 + dice.below(14);
        let func = graph(count, &random_edges(&mut dice, count));
        let cfg = Cfg::new(&func);
        assert_eq!(cfg.rpo().len(), reach(&func, func.entry().unwrap(), None).len());
        for &block in cfg.rpo() {
            for &succ in func.succs(block) {
                let forward = cfg.rpo_number(block) < cfg.rpo_number(succ);
                assert_ne!(forward, cfg.backedges().contains(&(block, succ)), "seed {seed}: {block} -> {succ}");
            }
        }
    }
}

/// A loop is its header and what reaches a latch without passing the header.
#[test]
fn loops_are_what_reaches_the_latch() {
    for seed in 0..300 {
        let mut dice = Dice::new(seed);
        let count = 1 + dice.below(14);
        let func = graph(count, &random_edges(&mut dice, count));
        let cfg = Cfg::new(&func);
        let dom = DomTree::dominators(&cfg);
        let forest = LoopForest::new(&cfg, &dom);
        for (this, data) in forest.iter() {
            assert!(data.latches.iter().all(|l| dom.dominates(data.header, *l)));
            let expected: Vec<Block> = cfg
                .rpo()
                .iter()
                .copied()
                .filter(|b| {
                    *b == data.header || data.latches.iter().any(|l| reach(&func, *b, Some(data.header)).contains(l))
                })
                .collect();
            assert_eq!(data.blocks, expected, "seed {seed}: loop at {}\n{func}", data.header);
            assert_eq!(data.blocks[0], data.header);
            assert!(data.blocks.iter().all(|b| forest.contains(this, *b)));
        }
        for &block in cfg.rpo() {
            let around = forest.iter().filter(|(_, data)| data.blocks.contains(&block)).count();
            assert_eq!(forest.depth(block) as usize, around, "seed {seed}: {block}\n{func}");
        }
    }
}

/// Whether a path from instruction `at` of `block` reads the component before it is surely written.
fn read_later(func: &Function, block: Block, at: usize, component: (VReg, u8)) -> bool {
    let mut seen = Vec::new();
    let mut work = vec![(block, at)];
    while let Some((block, at)) = work.pop() {
        let mut killed = false;
        for &inst in &func.block_insts(block)[at..] {
            let hit = |r: &RegRef| r.reg == component.0 && r.range.contains(&component.1);
            let mut read = false;
            func.for_each_use(inst, |r| read |= hit(&r));
            if read {
                return true;
            }
            func.for_each_def(inst, |r| killed |= hit(&r) && !r.conditional);
            if killed {
                break;
            }
        }
        for &succ in func.succs(block) {
            if !killed && !seen.contains(&succ) {
                seen.push(succ);
                work.push((succ, 0));
            }
        }
    }
    false
}

#[test]
fn liveness_is_reading_later_on_some_path() {
    for seed in 0..400 {
        let func = random_function(seed);
        let cfg = Cfg::new(&func);
        let liveness = Liveness::new(&func, &cfg);
        let mut live = liveness.empty_set();
        let all: Vec<(VReg, u8)> =
            func.regs().iter().flat_map(|(r, d)| (0..d.components).map(move |k| (r, k))).collect();
        for &block in cfg.rpo() {
            for &(reg, k) in &all {
                let expected = read_later(&func, block, 0, (reg, k));
                assert_eq!(liveness.is_live_in(block, reg, k), expected, "seed {seed}: {reg}.{k} into {block}\n{func}");
            }
            let uniform: Vec<_> = liveness.uniform_live_in(block).collect();
            assert!(uniform.iter().all(|(r, _)| func[*r].reg_type.is_uniform()));
            assert!(liveness.main_live_in(block).all(|(r, _)| !func[r].reg_type.is_uniform()));
            let mut at = func.block_insts(block).len();
            liveness.walk_back(&func, block, &mut live, |_, now| {
                for &component in &all {
                    assert_eq!(
                        now.contains(component),
                        read_later(&func, block, at, component),
                        "seed {seed} {block} {at}"
                    );
                }
                at -= 1;
            });
        }
    }
}

/// A pair built from two halves is not live before them; one half alone keeps the other alive.
#[test]
fn writing_halves_kills_halves() {
    let text = ".function entry f\n  .frame local=0 spill=0 align=0\n  .reg %D0\n  .reg %R1\n\
                bix0: -> bix1\n    MOV %D0.0, %R1, 0xf\nbix1:\n    MOV %D0.1, %R1, 0xf\n    FADD %R1, %D0.0, %D0.1\n    EXIT PT\n.end\n";
    let func: Function = text.parse().unwrap();
    let liveness = Liveness::new(&func, &Cfg::new(&func));
    let (pair, second) = (VReg::new(0), Block::new(1));
    assert!(liveness.is_live_in(second, pair, 0) && !liveness.is_live_in(second, pair, 1));
    assert!(!liveness.is_live_in(Block::new(0), pair, 0));
}

/// The inputs of a MovPhi are live at the end of their predecessors only, its result after it.
#[test]
fn phi_inputs_live_on_their_edges() {
    let text = ".function entry f\n  .frame local=0 spill=0 align=0\n  .reg %P0\n  .reg %R1\n  .reg %R2\n  .reg %R3\n  .livein %P0\n\
                bix0: -> bix2, bix1\n    MOV %R1, 0x1, 0xf\n    @%P0 BRA PT, bix2\n\
                bix1: -> bix2\n    MOV %R2, 0x2, 0xf\n\
                bix2:\n    MOV %R3, %R1, bix0, %R2, bix1 ;phi\n    FADD %R3, %R3, %R3\n    EXIT PT\n.end\n";
    let func: Function = text.parse().unwrap();
    let liveness = Liveness::new(&func, &Cfg::new(&func));
    let [b0, b1, b2] = [0, 1, 2].map(Block::new);
    let [r1, r2, r3] = [1, 2, 3].map(VReg::new);
    assert!(liveness.is_live_out(b0, r1, 0) && !liveness.is_live_out(b1, r1, 0));
    assert!(liveness.is_live_out(b1, r2, 0) && !liveness.is_live_out(b0, r2, 0));
    assert!([r1, r2, r3].iter().all(|r| !liveness.is_live_in(b2, *r, 0)));
}

/// 100 000 instructions in 10 000 blocks must not take quadratic time.
#[test]
fn large_functions_stay_near_linear() {
    let count = 10_000;
    let edges: Vec<(usize, usize)> = (0..count - 1).flat_map(|i| [(i, i + 1), (i, (i + 7).min(count - 1))]).collect();
    let mut func = graph(count, &edges);
    let mut last = VReg::new(0);
    for block in func.layout().to_vec() {
        let tail = func.edit().pop(block);
        for i in 0..10 {
            let reg = func.new_vreg(RegType::R).unwrap();
            let source = if i == 0 { Operand::rz() } else { Operand::reg(last) };
            func.edit()
                .append(block, Inst::new(oriole_isa::Opcode::FADD, Default::default(), &[reg.into(), source, source]));
            last = reg;
        }
        tail.into_iter().for_each(|inst| func.edit().place_last(block, inst));
    }
    let start = std::time::Instant::now();
    let cfg = Cfg::new(&func);
    let dom = DomTree::dominators(&cfg);
    let postdom = post_dominators(&func, &cfg);
    let forest = LoopForest::new(&cfg, &dom);
    let liveness = Liveness::new(&func, &cfg);
    let mut live = liveness.empty_set();
    for &block in cfg.rpo() {
        liveness.walk_back(&func, block, &mut live, |_, now| assert!(now.len() < 10));
    }
    assert_eq!((forest.iter().count(), postdom.roots().len()), (0, 1));
    let uniformity = Uniformity::new(&func, oriole_isa::Arch::Sm80, &cfg, &postdom, &liveness);
    assert!(uniformity.is_divergent(Block::new(5)));
    let spent = start.elapsed();
    println!("all analyses of 100k instructions: {spent:?}");
    assert!(spent.as_secs() < 10, "{spent:?}");
}

const DIAMOND: &str = ".function entry f\n  .frame local=0 spill=0 align=0\n  .reg %P0\n  .reg %R1\n  .livein %P0 %R1\nbix0: -> bix2, bix1\n    @%P0 BRA PT, bix2, _\nbix1: -> bix2\n    STS{mem_size=B32} RZ, _, s:0, %R1\nbix2:\n    EXIT PT\n.end\n";

/// What the editor has changed is computed anew; what it has not touched stays.
#[test]
fn analyses_are_held_by_epoch() {
    use oriole_ori::analysis::Analyses;
    let mut func: Function = DIAMOND.parse().expect("it parses");
    let mut held = Analyses::default();
    let (loops, live) = (held.loops(&func), held.live(&func));
    assert!(Rc::ptr_eq(&live, &held.live(&func)));
    let block = func.layout()[1];
    func.edit().take_insts(block);
    assert!(Rc::ptr_eq(&loops, &held.loops(&func)));
    let live_now = held.live(&func);
    assert!(!Rc::ptr_eq(&live, &live_now) && live_now.live_in(block).next().is_none());
    func.edit().set_succs(block, &[]);
    assert!(!Rc::ptr_eq(&loops, &held.loops(&func)));
    assert_eq!(held.stale(&func, oriole_isa::Arch::Sm80), None);
}

/// What a pass says it kept is found out where it did not.
#[test]
fn analyses_that_do_not_hold_are_found() {
    use oriole_ori::analysis::{Analyses, Kept};
    let mut func: Function = DIAMOND.parse().expect("it parses");
    let mut held = Analyses::default();
    held.loops(&func);
    held.live(&func);
    assert_eq!(held.stale(&func, oriole_isa::Arch::Sm80), None);
    let (block, before) = (func.layout()[1], func.epochs());
    func.edit().take_insts(block);
    held.keep(Kept::Flow, &func, before);
    assert_eq!(held.stale(&func, oriole_isa::Arch::Sm80), None);
    held.live(&func);
    let before = func.epochs();
    func.edit().set_succs(block, &[]);
    assert_eq!(held.stale(&func, oriole_isa::Arch::Sm80), None);
    held.keep(Kept::All, &func, before);
    assert_eq!(held.stale(&func, oriole_isa::Arch::Sm80), Some("control-flow graph"));

    // What did not hold when the pass began does not hold because the pass kept everything.
    let mut held = Analyses::default();
    held.cfg(&func);
    let entry = func.layout()[0];
    func.edit().set_succs(entry, &[block]);
    let before = func.epochs();
    held.keep(Kept::All, &func, before);
    assert_eq!(held.stale(&func, oriole_isa::Arch::Sm80), None);
    assert_eq!(held.cfg(&func).succs(entry), [block]);
}
