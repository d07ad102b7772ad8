//! Waits and fences that products of warpgroups need and the code does not have.

use super::flow::{Cells, Finding, Flow, Products, State, ends_group, leaves, step};
use oriole_isa::{Arch, Field, Gsb, Mods, Opcode, Role, Warpgroup};
use oriole_ori::analysis::{Analyses, Cfg};
use oriole_ori::terminator::is_terminator;
use oriole_ori::{Block, EntitySet, Function, Inst, InstId, Operand};
use std::collections::BTreeSet;

/// Who is the cause of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The program reads or writes registers of unfinished products.
    Program,
    /// Registers of unfinished products were given to others.
    Allocation,
}

/// Where something is added: before an instruction of a block, by place.
type Places = BTreeSet<(Block, usize)>;

/// What is to be added.
#[derive(Default)]
struct Missing {
    waits: Places,
    fences: Places,
    /// Products that end a group from now on, so that a wait knows of them.
    ends: BTreeSet<InstId>,
    notes: Vec<String>,
}

/// Add waits before whatever meets an unfinished product, and fences before products whose registers were written
/// since the last. Whether anything was missing.
pub(super) fn fix(
    func: &mut Function,
    arch: Arch,
    cells: fn(&Function) -> Cells,
    cause: Cause,
    analyses: &mut Analyses,
) -> bool {
    let mut changed = false;
    // What was added takes away what the second look finds; a wait can make a further fence necessary nowhere.
    while let Some(products) = Products::of(func, cells) {
        let cfg = analyses.cfg(func);
        let missing = look(func, arch, &products, &cfg, cause, analyses);
        if missing.waits.is_empty() && missing.fences.is_empty() {
            break;
        }
        add(func, &missing);
        changed = true;
    }
    changed
}

fn look(func: &Function, arch: Arch, products: &Products, cfg: &Cfg, cause: Cause, analyses: &mut Analyses) -> Missing {
    let flow = Flow::new(func, products, cfg);
    let mut missing = Missing::default();
    let mut apart = None;
    for &block in cfg.rpo() {
        let Some(mut state) = flow.start(block) else { continue };
        for (at, &inst) in func.block_insts(block).iter().enumerate() {
            step(func, products, inst, &mut state, &mut |state: &mut State, finding| match finding {
                Finding::Done(_) => {}
                Finding::NoFence => {
                    missing.fences.insert((block, at));
                    missing.note(func, inst, Note::Fence);
                }
                Finding::Unfinished(met) => {
                    let near = |product: &usize| {
                        let home = products.all[*product].block;
                        home == block && place_of(func, home, products.all[*product].inst) < at
                    };
                    let mut together = || {
                        let apart = apart.get_or_insert_with(|| met_apart(func, arch, cfg, analyses));
                        !apart.contains(block)
                    };
                    if met.iter().all(near) || together() {
                        missing.waits.insert((block, at));
                    } else {
                        missing.waits.extend(met.iter().map(|product| end_of(func, products.all[*product].block)));
                    }
                    let open = met.iter().map(|product| products.all[*product].inst);
                    missing.ends.extend(open.filter(|product| !ends_group(func, *product)));
                    missing.note(func, inst, if leaves(func, inst) { Note::Call } else { Note::Wait(cause) });
                    state.finish();
                }
            });
        }
    }
    missing
}

fn place_of(func: &Function, block: Block, inst: InstId) -> usize {
    func.block_insts(block).iter().position(|at| *at == inst).unwrap_or(usize::MAX)
}

/// Before what ends a block: the whole warp is there if it was at a product of the block.
fn end_of(func: &Function, block: Block) -> (Block, usize) {
    let insts = func.block_insts(block);
    (block, insts.iter().position(|inst| is_terminator(&func[*inst])).unwrap_or(insts.len()))
}

/// The blocks at which threads of a warp may come one after the other: those between a branch that goes different
/// ways and where its ways meet.
fn met_apart(func: &Function, arch: Arch, cfg: &Cfg, analyses: &mut Analyses) -> EntitySet<Block> {
    let (uniformity, after) = (analyses.uniformity(func, arch), analyses.post_dominators(func));
    let mut apart = EntitySet::new();
    for &branch in cfg.rpo().iter().filter(|block| uniformity.is_divergent(**block)) {
        let meeting = after.idom(branch);
        let mut seen: EntitySet<Block> = EntitySet::new();
        let mut work: Vec<Block> = func.succs(branch).to_vec();
        while let Some(block) = work.pop() {
            if Some(block) != meeting && seen.insert(block) {
                apart.insert(block);
                work.extend(func.succs(block));
            }
        }
    }
    apart
}

/// What the user should know.
#[derive(Clone, Copy)]
enum Note {
    Fence,
    Wait(Cause),
    Call,
}

impl Missing {
    fn note(&mut self, func: &Function, inst: InstId, note: Note) {
        let line = func[inst].loc.expand().and_then(|loc| func.source_locs().get(loc)).map_or(0, |loc| loc.line);
        let name = func.name();
        const LOSS: &str = "Potential Performance Loss: wgmma.mma_async instructions are serialized due to";
        let text = match note {
            Note::Fence => format!(
                "(C7519) warpgroup.arrive is injected in around line {line} by compiler to allow use of registers in \
                 GMMA in function '{name}'"
            ),
            Note::Wait(Cause::Program) => format!(
                "(C7517) warpgroup.wait is injected in around line {line} by compiler to allow use of registers \
                 defined by GMMA in function '{name}'"
            ),
            Note::Wait(Cause::Allocation) => format!(
                "(C7511) {LOSS} insufficient register resources for the wgmma pipeline in the function '{name}'"
            ),
            Note::Call => format!(
                "(C7510) {LOSS} wgmma pipeline crossing function boundary at a function call in the function '{name}'"
            ),
        };
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }
}

fn add(func: &mut Function, missing: &Missing) {
    for product in &missing.ends {
        func.edit().update(*product, |inst| inst.mods.set(Field::GSB, Gsb::GSB0));
    }
    let mut all: Vec<((Block, usize), Warpgroup)> =
        missing.waits.iter().map(|place| (*place, Warpgroup::DEPBAR)).collect();
    all.extend(missing.fences.iter().map(|place| (*place, Warpgroup::ARRIVE)));
    // From the back, so that the places of the others stay; at one place the wait comes before the fence.
    all.sort_by_key(|(place, what)| (*place, *what == Warpgroup::ARRIVE));
    for ((block, at), what) in all.into_iter().rev() {
        let near = func.block_insts(block).get(at).or(func.block_insts(block).last()).copied();
        let loc = near.map_or_else(Default::default, |inst| func[inst].loc);
        let mut inst = synchronisation(what);
        inst.loc = loc;
        let id = func.edit().add(inst);
        func.edit().place(block, at, &[id]);
    }
    missing.notes.iter().for_each(|note| func.add_note(note.clone()));
}

/// `WARPGROUP.ARRIVE`, or a wait for all.
fn synchronisation(what: Warpgroup) -> Inst {
    let fields: Mods = std::iter::once(Field::WARPGROUP.is(what)).collect();
    let mut inst = Inst::neutral(Opcode::WARPGROUP, fields);
    inst.set_role(Role::Count, Operand::imm(0));
    inst
}
