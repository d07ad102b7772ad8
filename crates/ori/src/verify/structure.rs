//! Indices that exist, instructions in one place, blocks that end as their successors say.

use super::Verifier;
use crate::entity::{Block, InstId};
use crate::function::Function;
use crate::inst::Inst;
use crate::operand::{Operand, OperandKind, Piece, TupleRef};
use crate::terminator::{Exit, exit_of, is_terminator, may_fall_through};
use cranelift_entity::EntitySet;
use oriole_isa::Opcode;

pub(super) fn check(v: &mut Verifier<'_>) {
    if v.func.layout().is_empty() {
        v.fail(None, None, "the function has no block");
    }
    check_layout(v);
    check_indices(v);
    if !v.errors.is_empty() {
        return;
    }
    for &block in v.func.layout() {
        check_end(v, block);
    }
    check_phis(v);
}

fn check_layout(v: &mut Verifier<'_>) {
    let mut placed = EntitySet::new();
    for &block in v.func.layout() {
        if !v.func.blocks().is_valid(block) {
            v.fail(Some(block), None, "the layout names a block that does not exist");
        } else if !placed.insert(block) {
            v.fail(Some(block), None, "the block stands in the layout twice");
        }
    }
    let mut seen = EntitySet::new();
    for &block in v.func.layout().iter().filter(|b| v.func.blocks().is_valid(**b)) {
        for succ in v.func.succs(block) {
            if !placed.contains(*succ) {
                v.fail(Some(block), None, format!("successor {succ} is not in the layout"));
            }
        }
        for &inst in v.func.block_insts(block) {
            if !v.func.insts().is_valid(inst) {
                v.fail(Some(block), None, format!("the block names {inst}, which does not exist"));
            } else if !seen.insert(inst) {
                v.fail(Some(block), Some(inst), "the instruction stands in two places");
            }
        }
    }
}

fn check_indices(v: &mut Verifier<'_>) {
    if !v.errors.is_empty() {
        return;
    }
    let func = v.func;
    let mut placed = EntitySet::new();
    placed.extend(func.layout().iter().copied());
    for (block, inst) in func.iter_insts() {
        let data = &func[inst];
        let mut operands: Vec<Operand> = data.operands.to_vec();
        operands.push(data.guard_operand());
        match data.call.expand() {
            Some(call) if func.call_sites().is_valid(call) => {
                operands.extend(&func[call].args);
                operands.extend(&func[call].results);
            }
            Some(call) => v.fail(Some(block), Some(inst), format!("{call} does not exist")),
            None => {}
        }
        for operand in operands {
            if let Some(message) = bad_index(func, &placed, operand) {
                v.fail(Some(block), Some(inst), message);
            }
        }
    }
    if let Some(reg) = func.live_in().iter().find(|r| !func.regs().is_valid(**r)) {
        v.fail(None, None, format!("{reg} is live on entry but does not exist"));
    }
}

fn bad_index(func: &Function, placed: &EntitySet<Block>, operand: Operand) -> Option<String> {
    let reg_missing = |reg| (!func.regs().is_valid(reg)).then(|| format!("register {reg} does not exist"));
    match operand.kind() {
        OperandKind::Reg(reg, piece) => reg_missing(reg).or_else(|| bad_piece(piece, func[reg].components)),
        OperandKind::Tuple(tuple) => bad_tuple(func, tuple),
        OperandKind::Guard { pred: reg, .. } | OperandKind::ConstBindless { handle: reg, .. } => reg_missing(reg),
        OperandKind::Block(block) => (!placed.contains(block)).then(|| format!("block {block} is not in the layout")),
        OperandKind::Symbol(reference) => {
            (!func.symbol_refs().is_valid(reference)).then(|| format!("symbol reference {reference} does not exist"))
        }
        _ => None,
    }
}

/// A tuple's values exist and share a file.
fn bad_tuple(func: &Function, tuple: TupleRef) -> Option<String> {
    let values = func.tuple_values(tuple);
    if values.len() < 2 {
        return Some("a tuple that is not in the pool".to_owned());
    }
    if let Some(reg) = values.iter().find(|reg| !func.regs().is_valid(**reg) || !func.is_value(**reg)) {
        return Some(format!("{reg} in a tuple is no value"));
    }
    let file = func[values[0]].file();
    values.iter().any(|reg| func[*reg].file() != file).then(|| "a tuple of two files".to_owned())
}

fn bad_piece(piece: Piece, components: u8) -> Option<String> {
    let Piece { first, count } = piece;
    if piece == Piece::WHOLE {
        return None;
    }
    let inside = u32::from(first) + u32::from(count) <= u32::from(components);
    let aligned = count != 0 && first % count.next_power_of_two().min(4) == 0;
    (!inside || !aligned)
        .then(|| format!("components {first}..{} of a register of {components}", u32::from(first) + u32::from(count)))
}

/// Terminators stand last, and the successors are their targets and the fall-through.
fn check_end(v: &mut Verifier<'_>, block: Block) {
    let func = v.func;
    let insts = func.block_insts(block);
    let first_exit = insts.iter().position(|i| is_terminator(&func[*i])).unwrap_or(insts.len());
    let mut targets = Vec::new();
    let mut indirect = false;
    let mut open = true;
    for &inst in &insts[first_exit..] {
        let data = &func[inst];
        if !open {
            v.fail(Some(block), Some(inst), "instruction that control cannot reach, after the end of the block");
        }
        match exit_of(data) {
            Exit::No => v.fail(Some(block), Some(inst), "instruction after a branch of the same block"),
            Exit::Branch => targets.extend(data.operands.iter().filter_map(|o| o.as_block())),
            Exit::Indirect => {
                indirect = true;
                if let Some(message) = bad_table(func, block, data) {
                    v.fail(Some(block), Some(inst), message);
                }
            }
            Exit::Leave => {}
        }
        open = open && may_fall_through(data);
    }
    let succs = func.succs(block);
    if indirect {
        return;
    }
    let fallthroughs = succs.strip_prefix(targets.as_slice()).map(<[Block]>::len);
    if fallthroughs != Some(usize::from(open)) {
        v.fail(Some(block), insts.last().copied(), successor_message(succs, &targets, open));
    }
}

/// A jump by a table goes to successors of its block, and each of them is in the table.
fn bad_table(func: &Function, block: Block, inst: &Inst) -> Option<String> {
    let count = func.succs(block).len();
    if func.jump_tables().is_empty() || inst.opcode != Opcode::BRX {
        return None;
    }
    let Some(table) = func.jump_table_of(inst) else { return Some("the table of the jump does not exist".to_owned()) };
    let mut named = vec![false; count];
    for target in &table.targets {
        match named.get_mut(*target as usize) {
            Some(named) => *named = true,
            None => return Some(format!("the table names successor {target} of {count}")),
        }
    }
    named.iter().position(|named| !named).map(|at| format!("successor {at} is not in the table of the jump"))
}

fn successor_message(succs: &[Block], targets: &[Block], open: bool) -> String {
    let list = |blocks: &[Block]| blocks.iter().map(Block::to_string).collect::<Vec<_>>().join(", ");
    let then = if open { " and then one fall-through" } else { "" };
    format!("successors are [{}], but the branches go to [{}]{then}", list(succs), list(targets))
}

fn check_phis(v: &mut Verifier<'_>) {
    let func = v.func;
    if !func.iter_insts().any(|(_, i)| func[i].is_phi()) {
        return;
    }
    let cfg = v.cfg();
    for &block in func.layout() {
        let mut leading = true;
        for &inst in func.block_insts(block) {
            let is_phi = func[inst].is_phi();
            if is_phi && !leading {
                v.fail(Some(block), Some(inst), "MovPhi after other instructions");
            }
            leading = leading && is_phi;
            if is_phi && let Some(message) = bad_phi(v, cfg.preds(block), inst) {
                v.fail(Some(block), Some(inst), message);
            }
        }
    }
}

fn bad_phi(v: &Verifier<'_>, preds: &[Block], inst: InstId) -> Option<String> {
    let func = v.func;
    let count = func[inst].operands.len();
    let mut named: Vec<Block> = func.phi_inputs(inst).map(|(_, pred)| pred).collect();
    if count.is_multiple_of(2) || named.len() != count / 2 {
        return Some("a MovPhi has a destination and pairs of source and predecessor".to_owned());
    }
    named.sort_unstable();
    let mut expected = preds.to_vec();
    expected.sort_unstable();
    (named != expected).then(|| "the MovPhi does not name each predecessor once".to_owned())
}
