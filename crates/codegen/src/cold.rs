//! Blocks that are seldom executed go behind all others (slots 41 and 109).
//!
//! Code comes to a warp line after line ahead of its execution, as long as it goes straight on. A slow path in between takes the
//! place of lines that are needed, and a branch goes around it ([`crate::jumps`] turns it). What counts as seldom executed is what calls a routine that the
//! compiler brings on one way of a branch (the cases of a division or a root for which there is no short code), what is reached from
//! there alone, and what leads nowhere else.
//!
//! This is done where registers are given: allocation and the order of instructions see blocks in the order of the source.

use oriole_ori::analysis::Cfg;
use oriole_ori::{Block, Callee, EntitySet, Function, Symbol};

/// Puts the cold blocks of a function last. `routines` are the compiler's own.
pub(crate) fn place_cold_last(func: &mut Function, routines: &EntitySet<Symbol>) {
    let cold = cold_blocks(func, routines);
    let is_cold = |block: &Block| cold.contains(*block);
    let (last, mut order): (Vec<Block>, Vec<Block>) = func.layout().iter().copied().partition(is_cold);
    if last.is_empty() {
        return;
    }
    order.extend(last);
    func.edit().set_layout(order);
}

fn cold_blocks(func: &Function, routines: &EntitySet<Symbol>) -> EntitySet<Block> {
    let calls_routine = |block: Block| {
        func.block_insts(block).iter().filter_map(|inst| func[*inst].call.expand()).any(|call| {
            match func[call].callee {
                Callee::Direct(symbol) => routines.contains(symbol),
                _ => false,
            }
        })
    };
    let mut cold = EntitySet::new();
    let calls: Vec<Block> = func.layout().iter().copied().filter(|block| calls_routine(*block)).collect();
    if calls.is_empty() {
        return cold;
    }
    let cfg = Cfg::new(func);
    let mut open: Vec<Block> = Vec::new();
    let has_choice = |block: &Block| func.succs(*block).len() > 1;
    let on_one_way = |block: &Block| !cfg.preds(*block).is_empty() && cfg.preds(*block).iter().all(has_choice);
    let add = |cold: &mut EntitySet<Block>, open: &mut Vec<Block>, block: Block| {
        if func.entry() != Some(block) && cold.insert(block) {
            open.push(block);
        }
    };
    calls.into_iter().filter(on_one_way).for_each(|block| add(&mut cold, &mut open, block));
    while let Some(block) = open.pop() {
        for succ in func.succs(block).iter().copied() {
            if cfg.preds(succ).iter().all(|pred| cold.contains(*pred)) {
                add(&mut cold, &mut open, succ);
            }
        }
        for pred in cfg.preds(block).iter().copied() {
            if func.succs(pred).iter().all(|succ| cold.contains(*succ)) {
                add(&mut cold, &mut open, pred);
            }
        }
    }
    cold
}

#[cfg(test)]
mod tests {
    use super::place_cold_last;
    use crate::jumps::turn_branches;
    use oriole_ori::text::inst_text;
    use oriole_ori::{EntityRef, EntitySet, Function, Symbol, layout};

    /// The blocks in their order with the jumps at their ends, of a function that calls `sym0` at `;call0`; `sym1` is the
    /// compiler's own. None where no block is cold.
    fn placed(callee: &str, blocks: &str) -> Option<String> {
        let registers = "  .reg %R0 physical=0\n  .reg %P1 physical=0\n  .reg %UP2 physical=0\n";
        let call = format!("  .call call0 {callee} () -> () callee\n");
        let text = format!(".function entry f\n  .frame local=0 spill=0 align=0\n{registers}{call}{blocks}.end\n");
        let mut func: Function = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
        let mut routines = EntitySet::new();
        routines.insert(Symbol::new(1));
        let before = func.layout().to_vec();
        place_cold_last(&mut func, &routines);
        let changed = func.layout() != before;
        turn_branches(&mut func);
        layout::remove_redundant_branches(&mut func);
        layout::make_fallthroughs_explicit(&mut func);
        let ends = func.layout().iter().map(|block| {
            let jumps = func.block_insts(*block).iter().map(|inst| inst_text(&func, *inst));
            let jumps: Vec<String> = jumps.filter(|text| text.contains("BRA")).collect();
            format!("{block}: {}", jumps.join("; "))
        });
        let ends = ends.collect::<Vec<_>>().join("\n");
        changed.then_some(ends)
    }

    const CALL: &str = "    MOV %R0, c[0][0x28], 0xf ;call0\n";

    #[test]
    fn the_way_that_calls_is_taken_out_of_line() {
        let blocks = format!(
            "bix0: -> bix1, bix2\n    @%P1 BRA PT, bix1, _\n    BRA PT, bix2, _\nbix1: -> bix2\n{CALL}bix2:\n    EXIT PT\n"
        );
        let expected = "bix0: @%P1 BRA PT, bix1, _\nbix2: \nbix1: BRA PT, bix2, _";
        assert_eq!(placed("sym1", &blocks).as_deref(), Some(expected));
    }

    #[test]
    fn a_branch_over_the_call_goes_to_it() {
        for (before, after) in [
            ("@!%P1 BRA PT, bix2, _", "@%P1 BRA PT, bix1, _"),
            ("BRA{bra_uniform=ON} %UP2, bix2, _", "BRA{bra_uniform=ON} !%UP2, bix1, _"),
        ] {
            let blocks = format!("bix0: -> bix2, bix1\n    {before}\nbix1: -> bix2\n{CALL}bix2:\n    EXIT PT\n");
            let expected = format!("bix0: {after}\nbix2: \nbix1: BRA PT, bix2, _");
            assert_eq!(placed("sym1", &blocks), Some(expected));
        }
    }

    #[test]
    fn what_only_leads_to_a_call_or_comes_from_one_goes_along() {
        let blocks = format!(
            "bix0: -> bix4, bix1\n    @%P1 BRA PT, bix4, _\nbix1: -> bix2, bix3\n    @%P1 BRA PT, bix2, _\nbix2: -> bix5\n    BRA PT, bix5, _\nbix3: -> bix5\n{CALL}    BRA PT, bix5, _\nbix5: -> bix4\n    MOV %R0, RZ, 0xf\nbix4:\n    EXIT PT\n"
        );
        // bix2 does not call, so that bix1 and bix5 are as warm as it is.
        let expected =
            "bix0: @%P1 BRA PT, bix4, _\nbix1: @!%P1 BRA PT, bix3, _\nbix2: \nbix5: \nbix4: \nbix3: BRA PT, bix5, _";
        assert_eq!(placed("sym1", &blocks).as_deref(), Some(expected));
        let both = blocks.replace("bix2: -> bix5\n", &format!("bix2: -> bix5\n{CALL}"));
        let expected = "bix0: @!%P1 BRA PT, bix1, _\nbix4: \nbix1: @!%P1 BRA PT, bix3, _\nbix2: BRA PT, bix5, _\nbix3: \nbix5: BRA PT, bix4, _";
        assert_eq!(placed("sym1", &both).as_deref(), Some(expected));
    }

    #[test]
    fn a_call_that_is_always_made_stays() {
        let blocks = format!("bix0: -> bix1\n    MOV %R0, RZ, 0xf\nbix1: -> bix2\n{CALL}bix2:\n    EXIT PT\n");
        assert_eq!(placed("sym1", &blocks), None);
    }

    #[test]
    fn functions_of_the_program_are_as_warm_as_what_calls_them() {
        let blocks = format!(
            "bix0: -> bix1, bix2\n    @%P1 BRA PT, bix1, _\n    BRA PT, bix2, _\nbix1: -> bix2\n{CALL}bix2:\n    EXIT PT\n"
        );
        assert_eq!(placed("sym0", &blocks), None);
    }
}
