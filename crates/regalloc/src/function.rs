//! Allocating one function.

use crate::arguments::late_arguments;
use crate::assign::{Assigned, FEW, Registers, assign, spill_choice};
use crate::belady::Scene;
use crate::code::{Code, FileCode, move_operands};
use crate::convention::KEPT;
use crate::counts::FunctionCounts;
use crate::fatpoint::{count, from, usable};
use crate::graph::{Graph, PhysicalSet};
use crate::in_turn::Place;
use crate::interference::{build, keep_below};
use crate::limits::{RegisterBudget, RegisterLimit};
use crate::node::Node;
use crate::pairing::join_accesses;
use crate::relief::Relief;
use crate::shortage::Shortage;
use crate::slots::share_slots;
use crate::spill::{SpillBytes, spill};
use crate::stack::{STACK_POINTER, makes_calls, needs_stack};
use crate::transfer::component_by_component;
use crate::weights::BlockWeights;
use crate::{AllocError, AllocOptions, check, descriptor, scan};
use oriole_isa::{Arch, RegFile};
use oriole_ori::{
    Block, EntitySet, Function, FunctionKind, RegMask, SecondaryMap, VReg,
    analysis::{DomTree, Flow, Liveness, LoopForest},
};

/// What allocation did to one function.
#[derive(Clone, Debug, Default)]
pub struct Allocation {
    /// Physical registers that the function's own code names.
    pub used: RegMask,
    /// Traffic of the spill code.
    pub spills: SpillBytes,
    /// Of a kernel that changes the number of its registers: how many it begins with.
    pub at_entry: Option<u32>,
    /// Rounds of colouring that were needed, all files together.
    pub rounds: u32,
    /// What the user should know of the limit, in the words of ptxas or of the register model.
    pub warnings: Vec<String>,
    /// How the limit came about, in ptxas's words.
    pub notes: Vec<String>,
}

/// Rounds after which allocation gives up: each spills at least one more register.
const MAX_ROUNDS: u32 = 64;

/// Predicates of a file, without the one that is true.
const PREDICATES: u16 = 7;

/// What is spilled goes to a file that comes later: uniform predicates to uniform registers, these and predicates to
/// general ones.
const FILES: [RegFile; 4] = [RegFile::UP, RegFile::P, RegFile::UR, RegFile::R];

/// Give every virtual register of `func` a physical one, spilling where the limit forces it. Call
/// sites must have their clobbers resolved, `flow` must be the function's. The code keeps its virtual names; the
/// descriptors say where they are.
pub fn allocate_function(
    func: &mut Function,
    arch: Arch,
    flow: Flow,
    options: &AllocOptions,
) -> Result<Allocation, AllocError> {
    let role = Role { by_convention: false, passes_stack: makes_calls(func), cap: None };
    allocate_within(func, arch, flow, None, role, options)
}

/// What a function is among others.
#[derive(Clone, Copy)]
pub(crate) struct Role {
    /// Callers know nothing of it but the convention: what it has to save it uses last.
    pub(crate) by_convention: bool,
    /// What it calls uses the stack, or may.
    pub(crate) passes_stack: bool,
    /// It names no more registers than so many, whatever it may.
    pub(crate) cap: Option<u16>,
}

/// The same where `counts` says how many registers there are in which block.
pub(crate) fn allocate_within(
    func: &mut Function,
    arch: Arch,
    flow: Flow,
    counts: Option<&FunctionCounts>,
    role: Role,
    options: &AllocOptions,
) -> Result<Allocation, AllocError> {
    let Role { by_convention, passes_stack, cap } = role;
    let RegisterLimit { most, warnings, notes, .. } = RegisterLimit::new(func, arch, options);
    let is_kernel = func.kind() == FunctionKind::Entry;
    let at_entry = counts.filter(|_| is_kernel).map(|counts| counts.entry.into());
    let mut allocation = Allocation { warnings, notes, at_entry, ..Allocation::default() };
    let by_block = counts.map(|counts| counts.limits(func, &flow.cfg));
    let budget = RegisterBudget::within(func, arch, most, by_block, options);
    let budget = cap.map_or_else(|| budget.clone(), |cap| budget.capped(cap));
    let limit = budget.limit();
    if budget.may_be_short(func) {
        late_arguments(func);
    }
    let descriptor = descriptor::settle(func);
    let before = options.verify.then(|| func.clone());
    let loops = LoopForest::new(&flow.cfg, &DomTree::dominators(&flow.cfg));
    let weights = BlockWeights::new(func, &loops);
    let limits = budget.by_block().cloned();
    let mut facts = Facts { code: Code::new(func, &weights, &FILES), arch, flow, loops, weights, counts, limits };
    let free = |file: RegFile, needed: u16| match file {
        RegFile::R if by_convention && !is_kernel => budget.at_same_occupancy(needed.into()) as u16,
        RegFile::R => budget.of(needed.into()) as u16,
        _ if is_kernel => file_limit(file, limit, arch, options),
        _ => needed,
    };
    for file in FILES {
        let fewer = |needed: u16| (file == RegFile::R).then(|| budget.fewer(needed)).flatten();
        let reserved = |has_stack: bool| match file {
            RegFile::R => reserved(func, has_stack),
            RegFile::UR => descriptor,
            _ => [0; 4],
        };
        let reserved_without_spills = reserved(needs_stack(func, passes_stack));
        let registers = Registers {
            most: file_limit(file, limit, arch, options),
            reserved: if cap.is_some() { reserved_without_spills } else { reserved(true) },
            reserved_without_spills,
            is_firm: file == RegFile::R && cap.is_some(),
            // For more warps nothing leaves but predicates: what comes back by R2UR costs more than they gain.
            may_spill: cap.is_none() || file == RegFile::P,
            saved: if by_convention && !is_kernel && file == RegFile::R { KEPT } else { [0; 4] },
            free: &|needed| free(file, needed),
            fewer: &fewer,
        };
        allocate_file(func, file, &registers, &mut facts, &mut allocation)?;
    }
    remove_identity_moves(func, options.keeps_moves);
    if allocation.spills.any() {
        join_accesses(func, &facts.weights);
        share_slots(func);
    }
    if let Some(before) = &before {
        check(before, func, arch)?;
    }
    allocation.used = used_registers(func);
    if options.uniform_disallowed {
        allocation.warnings.extend(descriptor::required_uniform(&allocation.used));
    }
    Ok(allocation)
}

fn file_limit(file: RegFile, r_limit: u16, arch: Arch, options: &AllocOptions) -> u16 {
    let at_most = |limit: Option<u16>, all: u16| limit.map_or(all, |limit| limit.min(all));
    match file {
        RegFile::R => r_limit,
        RegFile::UR => at_most(options.uniform_registers, arch.sm().uniform_registers as u16),
        RegFile::UP => at_most(options.uniform_predicates, PREDICATES),
        _ => PREDICATES,
    }
}

/// General registers that allocation leaves alone: the stack pointer R1 and the base of the frame where there is a stack.
fn reserved(func: &Function, has_stack: bool) -> PhysicalSet {
    if has_stack { [1 << STACK_POINTER | 1 << func.frame().base(), 0, 0, 0] } else { [0; 4] }
}

/// What all files and all rounds go by.
pub(crate) struct Facts<'a> {
    arch: Arch,
    pub(crate) flow: Flow,
    pub(crate) loops: LoopForest,
    pub(crate) weights: BlockWeights,
    /// The registers of the files that are not allocated yet.
    pub(crate) code: Code,
    /// How many registers there are at the start, and what changes that.
    counts: Option<&'a FunctionCounts>,
    /// By block, what that leaves.
    pub(crate) limits: Option<SecondaryMap<Block, u16>>,
}

impl Facts<'_> {
    pub(crate) fn scene<'a>(&'a self, func: &'a Function, lines: &'a FileCode) -> Scene<'a> {
        let limits = self.limits.as_ref();
        Scene { func, arch: self.arch, code: &self.code, lines, flow: &self.flow, loops: &self.loops, limits }
    }

    /// After blocks were added.
    pub(crate) fn see_anew(&mut self, func: &Function) {
        self.flow = Flow::new(func);
        self.loops = LoopForest::new(&self.flow.cfg, &DomTree::dominators(&self.flow.cfg));
        self.weights = BlockWeights::new(func, &self.loops);
        self.limits = self.counts.map(|counts| counts.limits(func, &self.flow.cfg));
    }

    /// After registers of `file` were spilled.
    pub(crate) fn renew(&mut self, func: &Function, file: RegFile) {
        let rest = FILES.iter().position(|other| *other == file).map_or(&FILES[..], |at| &FILES[at..]);
        self.code = Code::new(func, &self.weights, rest);
        self.flow.live = Liveness::new(func, &self.flow.cfg);
    }
}

/// Components from which on a function is looked at before its interference graph is built: if very many of them are live
/// at once, each meets each.
const CROWD: u32 = 1024;

fn allocate_file(
    func: &mut Function,
    file: RegFile,
    registers: &Registers<'_>,
    facts: &mut Facts<'_>,
    allocation: &mut Allocation,
) -> Result<(), AllocError> {
    let mut relief = (file == RegFile::R).then(|| Relief::new(registers));
    let mut registers = *registers;
    for round in 0..MAX_ROUNDS {
        allocation.rounds += 1;
        let mut lines = facts.code.take(file);
        if let Some(relief) = relief.as_mut().filter(|_| round == 0 && lines.components > CROWD && !registers.is_firm)
            && relief.begin(func, &lines, facts, allocation)?
        {
            lines = facts.code.take(file);
        }
        let lowered = facts.limits.as_ref().filter(|_| file == RegFile::R);
        let bounds = lowered.map(|limits| keep_below(func, &facts.code, &lines, &facts.flow.live, limits));
        let mut graph = build(func, &facts.code, &mut lines, &facts.flow.live, &facts.weights);
        for (component, limit) in (0..).zip(bounds.into_iter().flatten()).filter(|(_, limit)| *limit < registers.most) {
            graph.forbid(component, &from(limit));
        }
        if allocation.spills.any() {
            registers.reserved_without_spills = registers.reserved;
        }
        if registers.is_firm && is_over(&graph, &registers) {
            // No colouring, and no scan either, makes fewer of them.
            lines.nodes = graph.nodes_as_read();
            if let Some(relief) = relief.as_mut().filter(|_| round == 0)
                && relief.begin(func, &lines, facts, allocation)?
            {
                continue;
            }
            return Err(out_of_registers(func, file, &registers));
        }
        let Assigned { failed, missed } =
            assign(&mut graph, Place { func, arch: facts.arch, weights: &facts.weights, lines: &lines }, &registers);
        if failed.is_empty() {
            if let (Some(relief), Some(missed)) = (&mut relief, missed)
                && graph.owner.len() <= FEW
            {
                lines.nodes = graph.nodes_as_read();
                if relief.compute_again(func, &lines, missed, facts, allocation)? {
                    continue;
                }
            }
            for node in &graph.nodes {
                func.edit().update_reg(node.vreg, |data| data.physical = node.physical);
            }
            return Ok(());
        }
        lines.nodes = graph.nodes_as_read();
        let mut means = relief.as_mut().map(|relief| (relief, &lines));
        if let Some((relief, lines)) = &mut means {
            let room = usable(registers.most, &registers.reserved_without_spills);
            if !is_over(&graph, &registers)
                && let Some(placement) = scan::place(&facts.scene(func, lines), &facts.weights, &graph, room)
            {
                return scan::carry_out(func, lines, &placement);
            }
            if registers.is_firm {
                if round == 0 && relief.begin(func, lines, facts, allocation)? {
                    continue;
                }
                return Err(out_of_registers(func, file, &registers));
            }
        }
        if !registers.may_spill {
            return Err(out_of_registers(func, file, &registers));
        }
        let chosen = spill_choice(&graph, &failed);
        // Where nothing can go to memory, there is no other way.
        let costs = chosen.iter().map(|node| graph.nodes[*node as usize].spill_cost);
        let price = costs.reduce(|sum, cost| sum + cost).unwrap_or(f32::INFINITY);
        if let Some((relief, lines)) = &mut means
            && relief.go_on(func, lines, (failed.len(), price), facts, allocation)?
        {
            continue;
        }
        let regs =
            |nodes: &[Node]| -> Vec<VReg> { nodes.iter().map(|node| graph.nodes[*node as usize].vreg).collect() };
        // What is held in the other files, threads that are apart must not write.
        let releases = |func: &mut Function| file == RegFile::R && release_holds(func);
        if chosen.is_empty() && !releases(func) && !component_by_component(func, &regs(&failed))? {
            return Err(out_of_registers(func, file, &registers));
        }
        spill(func, facts.arch, &regs(&chosen), &mut allocation.spills)?;
        facts.renew(func, file);
    }
    Err(out_of_registers(func, file, &registers))
}

/// More is live at a time than there are registers.
fn is_over(graph: &Graph, registers: &Registers<'_>) -> bool {
    graph.peak > count(&usable(registers.most, &registers.reserved_without_spills)) as usize
}

/// Give up what marks hold. Whether there was any.
fn release_holds(func: &mut Function) -> bool {
    let before = func.inst_count();
    for block in func.layout().to_vec() {
        func.edit().retain_insts(block, |func, inst| !func[inst].is_hold());
    }
    func.inst_count() != before
}

/// Allocation gives up. Where another one follows, nobody reads why.
fn out_of_registers(func: &Function, file: RegFile, registers: &Registers<'_>) -> AllocError {
    let shortage = Shortage::unexplained(func, file, registers.most);
    let shortage = if registers.is_firm { shortage } else { shortage.explained(func, count(&registers.reserved)) };
    AllocError::OutOfRegisters(shortage.into())
}

/// Moves whose source and destination got the same register; not those of the program where they are `kept`.
fn remove_identity_moves(func: &mut Function, kept: bool) {
    for block in func.layout().to_vec() {
        func.edit().retain_insts(block, |func, inst| {
            kept && func[inst].loc.is_some()
                || move_operands(func, inst).is_none_or(|(to, from)| func.physical(to) != func.physical(from))
        });
    }
}

/// Every physical register that the code names, call sites included.
pub(crate) fn used_registers(func: &Function) -> RegMask {
    let mut mask = RegMask::EMPTY;
    // Of what is named as a whole the first mention says it.
    let mut seen: EntitySet<VReg> = EntitySet::with_capacity(func.regs().len());
    for (_, inst) in func.iter_insts() {
        let data = &func[inst];
        let call = data.call.expand().map(|call| &func[call]);
        let extra = call.iter().flat_map(|site| site.args.iter().chain(&site.results)).copied();
        for operand in data.operands.iter().copied().chain(extra).chain([data.guard_operand()]) {
            if operand.is_none() || operand.as_whole_reg().is_some_and(|reg| !seen.insert(reg)) {
                continue;
            }
            if let Some((file, first, count)) = func.physical(operand) {
                (first..first + u16::from(count)).for_each(|number| mask.insert(file, number));
            }
        }
    }
    mask
}
