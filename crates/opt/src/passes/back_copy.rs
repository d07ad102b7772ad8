//! Slot 83: values are computed where a later copy would put them.
//!
//! Two shapes, both within a block. `op x; …; c = x`, where nobody else reads `x` and nothing in between mentions
//! `c`: `op` writes `c`. And `@g op w; …; @g x = w.k`, where nobody else mentions `w.k` and nothing in between
//! mentions `x`: `x` lives in `w.k` throughout. Vectors for wide loads and stores are put together this way.

use super::dead_code::LOOKED_AT;
use crate::{Changed, Context, PhaseError};
use oriole_isa::Opcode;
use oriole_ori::analysis::{Analyses, Component, Numbering};
use oriole_ori::{EntitySet, Function, InstFlags, InstId, Operand, OperandKind, RegType, VReg};
use oriole_passes::Tally;
use rustc_hash::FxHashMap;

/// MOV's mask of lanes that takes the whole word.
const ALL_LANES: u32 = 15;

/// What is counted: the two shapes.
pub(crate) const RULES: &[&str] = &["computed in place", "lives in a vector"];
const IN_PLACE: usize = 0;
const IN_VECTOR: usize = 1;

/// Rename both ways.
pub(crate) fn run(func: &mut Function, context: &Context, analyses: &mut Analyses) -> Result<Changed, PhaseError> {
    // Both shapes end in one.
    if !func.iter_insts().any(|(_, inst)| plain_copy(func, inst).is_some()) {
        return Ok(Changed::No);
    }
    let was_looked_at = analyses.is_settled(LOOKED_AT, func);
    let mut pass = Pass::new(func);
    for block in func.layout().to_vec() {
        pass.start = pass.now;
        for inst in func.block_insts(block).to_vec() {
            pass.visit(func, inst, &context.tally);
            pass.now += 1;
        }
    }
    let changed = !pass.dropped.is_empty();
    pass.finish(func);
    if was_looked_at {
        // Copies go, and what they copied is written where they wrote.
        analyses.settle(LOOKED_AT, func);
    }
    Ok(Changed::when(changed))
}

/// What is known of the components of all registers.
struct Components {
    numbering: Numbering,
    all: Vec<Mentions>,
}

impl Components {
    fn new(func: &Function) -> Self {
        let numbering = Numbering::new(func);
        Components { all: vec![Mentions::default(); numbering.count()], numbering }
    }

    fn get(&self, (reg, k): Component) -> Mentions {
        self.all[self.numbering.of(reg, k)]
    }

    fn entry(&mut self, (reg, k): Component) -> &mut Mentions {
        &mut self.all[self.numbering.of(reg, k)]
    }
}

/// What is known of a component.
#[derive(Clone, Copy, Default)]
struct Mentions {
    /// Instructions that write it, undefined-value markers apart.
    writes: u32,
    reads: u32,
    /// The last write that the walk has seen.
    writer: Option<InstId>,
    written: u32,
    /// When the walk last saw it mentioned.
    last: u32,
}

struct Pass {
    comps: Components,
    /// Copies that are no longer needed.
    dropped: EntitySet<InstId>,
    /// Registers that live in a component of another now.
    moved: FxHashMap<VReg, Operand>,
    /// Registers in which others live: they have no undefined-value markers any more.
    hosts: EntitySet<VReg>,
    now: u32,
    start: u32,
}

impl Pass {
    fn new(func: &Function) -> Pass {
        let mut comps = Components::new(func);
        for (_, inst) in func.iter_insts() {
            if func[inst].is_undef() {
                continue;
            }
            func.for_each_reg(inst, |m| {
                for k in m.range.clone() {
                    let entry = comps.entry((m.reg, k));
                    if m.is_def { entry.writes += 1 } else { entry.reads += 1 }
                }
            });
        }
        let (dropped, hosts) = (EntitySet::new(), EntitySet::new());
        Pass { comps, dropped, moved: FxHashMap::default(), hosts, now: 1, start: 1 }
    }

    fn visit(&mut self, func: &mut Function, inst: InstId, tally: &Tally) {
        let rule = match tally.is_open() {
            true if self.computed_in_place(func, inst) => Some(IN_PLACE),
            true if self.lives_in_vector(func, inst) => Some(IN_VECTOR),
            _ => None,
        };
        if let Some(rule) = rule {
            tally.count(rule);
            self.dropped.insert(inst);
            return;
        }
        let now = self.now;
        func.for_each_reg(inst, |m| {
            for k in m.range.clone() {
                let entry = self.comps.entry((m.reg, k));
                entry.last = now;
                if m.is_def {
                    (entry.writer, entry.written) = (Some(inst), now);
                }
            }
        });
    }

    /// `op x; …; c = x`: let `op` write `c`.
    fn computed_in_place(&mut self, func: &mut Function, copy: InstId) -> bool {
        let Some((to, from)) = plain_copy(func, copy).filter(|_| func[copy].guard().is_none()) else {
            return false;
        };
        let (Some(c), Some(x)) = (single(func, to), single(func, from)) else { return false };
        let (of_x, of_c) = (self.comps.get(x), self.comps.get(c));
        let once = of_x.writes == 1 && of_x.reads == 1 && of_x.written >= self.start && !self.hosts.contains(x.0);
        let Some(op) = of_x.writer.filter(|_| once && of_c.last <= of_x.written && c != x) else { return false };
        let data = &func[op];
        let suits = !data.writes_partly()
            && data.call.is_none()
            && data.is_machine()
            && !data.defs().any(|(_, operand)| operand != from && mentions(func, operand, c));
        let Some(at) = data.defs().find(|(_, operand)| *operand == from).map(|(at, _)| at).filter(|_| suits) else {
            return false;
        };
        func.edit().set_operand(op, at, to);
        let entry = self.comps.entry(c);
        (entry.writer, entry.written, entry.last) = (Some(op), of_x.written, self.now);
        *self.comps.entry(x) = Mentions::default();
        true
    }

    /// `@g op w; …; @g x = w.k`: let `x` live in `w.k`.
    fn lives_in_vector(&mut self, func: &Function, copy: InstId) -> bool {
        let Some((to, from)) = plain_copy(func, copy) else { return false };
        let (Some(x), Some(w)) = (single(func, to), single(func, from)) else { return false };
        let (of_x, of_w) = (self.comps.get(x), self.comps.get(w));
        let scalar = func[x.0].reg_type == RegType::R && to.as_whole_reg().is_some();
        let wide = func[w.0].components > 1 && !self.moved.contains_key(&x.0) && !self.hosts.contains(x.0);
        let once = of_w.writes == 1 && of_w.reads == 1 && of_w.written >= self.start && of_x.last < of_w.written;
        let Some(op) = of_w.writer.filter(|_| scalar && wide && once) else { return false };
        let same_guard = func[op].guard() == func[copy].guard() && func[op].call.is_none();
        let mut reads_x = false;
        func.for_each_use(op, |m| reads_x |= m.reg == x.0);
        if !same_guard || reads_x || func.live_in().contains(&x.0) {
            return false;
        }
        self.moved.insert(x.0, Operand::comp(w.0, w.1));
        self.hosts.insert(w.0);
        // The vector's write is one of `x` now, and stands where no copy may cross it.
        self.comps.entry(x).last = self.now;
        true
    }

    /// Take the copies out and name the new places.
    fn finish(self, func: &mut Function) {
        if self.dropped.is_empty() {
            return;
        }
        for block in func.layout().to_vec() {
            func.edit().retain_insts(block, |func, inst| {
                let data = &func[inst];
                let marked = data.operands.first().and_then(|o| o.as_reg()).filter(|_| data.is_undef());
                let marks_host = marked.is_some_and(|reg| self.hosts.contains(reg) || self.moved.contains_key(&reg));
                !self.dropped.contains(inst) && !marks_host
            });
            for inst in func.block_insts(block).to_vec() {
                func.edit().update(inst, |data| {
                    for operand in &mut data.operands {
                        if let Some(place) = operand.as_reg().and_then(|reg| self.moved.get(&reg)) {
                            *operand = operand.flags_onto(*place);
                        }
                    }
                });
            }
        }
    }
}

/// Destination and source of a MOV from register to register, without flags.
fn plain_copy(func: &Function, inst: InstId) -> Option<(Operand, Operand)> {
    let data = &func[inst];
    if data.opcode != Opcode::MOV || data.flags.contains(InstFlags::VOLATILE) {
        return None;
    }
    let [to, from, lanes] = data.operands[..] else { return None };
    let file = |operand: Operand| operand.as_reg().map(|reg| func[reg].file());
    let same_file = file(to).is_some() && file(to) == file(from);
    (lanes.as_imm() == Some(ALL_LANES) && same_file && !from.has_flags()).then_some((to, from))
}

/// The component that an operand names, if it is just one and its register is not fixed.
fn single(func: &Function, operand: Operand) -> Option<Component> {
    let OperandKind::Reg(reg, piece) = operand.kind() else { return None };
    let range = piece.range(func[reg].components);
    (range.len() == 1 && !func[reg].is_fixed()).then_some((reg, range.start))
}

fn mentions(func: &Function, operand: Operand, (reg, k): Component) -> bool {
    match operand.kind() {
        OperandKind::Reg(other, piece) => other == reg && piece.range(func[other].components).contains(&k),
        _ => false,
    }
}
