//! From variables to values: MovPhis where definitions meet and the variable is live, then a walk over the dominator
//! tree that gives every definition a register of its own.

use crate::analysis::{Cfg, DomTree, Liveness};
use crate::entity::{Block, CallId, InstId, VReg, entry_for_each};
use crate::error::BuildError;
use crate::function::Function;
use crate::inst::{Guard, Inst};
use crate::operand::{Operand, OperandKind};
use crate::reg::{RegType, VRegData};
use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap, packed_option::PackedOption};
use oriole_isa::RegFile;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

/// A 32-bit component of a register that becomes values, numbered from 0.
type Variable = u32;

/// No variable: the register stays as it is.
const KEPT: u32 = u32::MAX;

/// Bring a function into SSA form.
///
/// # Errors
/// [`BuildError::TooManyRegisters`] where the values are more than a function may have.
pub fn construct(func: &mut Function, cfg: &Cfg, dominators: &DomTree, live: &Liveness) -> Result<(), BuildError> {
    let variables = Variables::new(func);
    let phis = place_phis(func, cfg, dominators, live, &variables);
    let mut renamer = Renamer::new(func, variables, phis);
    renamer.keep_registers(func);
    renamer.walk(func, cfg, dominators)
}

/// Which registers become values.
struct Variables {
    /// The number of each register's first component, or `KEPT`.
    first: SecondaryMap<VReg, u32>,
    /// By variable: register, component.
    all: Vec<(VReg, u8)>,
}

impl Variables {
    fn new(func: &Function) -> Self {
        let mut first = SecondaryMap::with_default(KEPT);
        first.resize(func.regs().len());
        let mut all = Vec::new();
        let kept = kept_registers(func);
        for (reg, data) in func.regs().iter() {
            let file = matches!(data.file(), RegFile::R | RegFile::UR | RegFile::P | RegFile::UP);
            if file && !data.is_fixed() && data.physical.is_none() && !kept.contains(&reg) {
                first[reg] = all.len() as u32;
                all.extend((0..data.components).map(|k| (reg, k)));
            }
        }
        Variables { first, all }
    }

    fn of(&self, reg: VReg, k: u8) -> Option<Variable> {
        Some(self.first[reg]).filter(|first| *first != KEPT).map(|first| first + u32::from(k))
    }

    fn count(&self) -> usize {
        self.all.len()
    }
}

/// Registers with a value on entry, and handles of bindless banks, which an operand cannot name as a tuple.
fn kept_registers(func: &Function) -> FxHashSet<VReg> {
    let handles = func.iter_insts().flat_map(|(_, inst)| &func[inst].operands);
    let handles = handles.filter_map(|operand| match operand.kind() {
        OperandKind::ConstBindless { handle, .. } => Some(handle),
        _ => None,
    });
    handles.chain(func.live_in().iter().copied()).collect()
}

/// By block: the variables that have a MovPhi there.
type Phis = SecondaryMap<Block, SmallVec<[Variable; 4]>>;

/// MovPhis at the iterated dominance frontiers of the definitions, where the variable is live.
fn place_phis(func: &Function, cfg: &Cfg, dominators: &DomTree, live: &Liveness, variables: &Variables) -> Phis {
    let mut phis: Phis = SecondaryMap::new();
    if cfg.rpo().len() < 2 {
        return phis;
    }
    let definitions = definitions(func, cfg, live, variables);
    let frontiers = dominators.frontiers(cfg);
    // By block: the last variable that it got a MovPhi for, plus one.
    let mut stamp: SecondaryMap<Block, u32> = entry_for_each(func.blocks().len());
    let mut work: Vec<Block> = Vec::new();
    for run in definitions.chunk_by(|a, b| a.0 == b.0) {
        let variable = run[0].0;
        let (reg, k) = variables.all[variable as usize];
        work.extend(run.iter().map(|(_, block)| *block));
        while let Some(block) = work.pop() {
            for &join in &frontiers[block] {
                if stamp[join] != variable + 1 && live.is_live_in(join, reg, k) {
                    stamp[join] = variable + 1;
                    phis[join].push(variable);
                    work.push(join);
                }
            }
        }
    }
    phis
}

/// The blocks that define each variable that lives across blocks, by variable; a partial write defines too.
fn definitions(func: &Function, cfg: &Cfg, live: &Liveness, variables: &Variables) -> Vec<(Variable, Block)> {
    let mut all: Vec<(Variable, Block)> = Vec::new();
    let mut last: Vec<PackedOption<Block>> = vec![None.into(); variables.count()];
    for &block in cfg.rpo() {
        for &inst in func.block_insts(block) {
            func.for_each_def(inst, |mention| {
                for k in mention.range.clone() {
                    let Some(variable) = variables.of(mention.reg, k) else { continue };
                    let seen = &mut last[variable as usize];
                    if *seen != Some(block).into() && live.crosses(mention.reg, k) {
                        *seen = Some(block).into();
                        all.push((variable, block));
                    }
                }
            });
        }
    }
    all.sort_unstable();
    all
}

/// The walk's state.
struct Renamer {
    variables: Variables,
    phis: Phis,
    /// By variable: its value here; none where it is undefined.
    current: Vec<PackedOption<VReg>>,
    /// What `current` held before, to be put back: variable and value.
    undo: Vec<(Variable, PackedOption<VReg>)>,
    /// The registers before, and by old number the new one of those that stay.
    old: PrimaryMap<VReg, VRegData>,
    kept: SecondaryMap<VReg, PackedOption<VReg>>,
    /// The block's new instructions.
    out: Vec<InstId>,
    /// Call sites that instructions name.
    calls: EntitySet<CallId>,
}

/// Values by component; `None` where it is undefined.
type Values = SmallVec<[Option<VReg>; 4]>;

impl Renamer {
    fn new(func: &mut Function, variables: Variables, phis: Phis) -> Self {
        let current = vec![None.into(); variables.count()];
        let mut old = PrimaryMap::new();
        func.edit().swap_regs(&mut old);
        Renamer {
            variables,
            phis,
            current,
            undo: Vec::new(),
            old,
            kept: SecondaryMap::new(),
            out: Vec::new(),
            calls: EntitySet::new(),
        }
    }

    /// Give the registers that are no variables new numbers, from 0 on; values come behind them.
    fn keep_registers(&mut self, func: &mut Function) {
        for (reg, data) in self.old.iter() {
            if self.variables.first[reg] == KEPT {
                self.kept[reg] = Some(func.edit().renew_reg(data.clone())).into();
            }
        }
        let new = |reg: VReg| self.kept[reg].expand().unwrap_or(reg);
        let first = VReg::from_u32(func.regs().len() as u32);
        let mut edit = func.edit();
        edit.renumber_roots(new);
        edit.set_first_value(Some(first));
        edit.forget_tuples();
    }

    fn walk(&mut self, func: &mut Function, cfg: &Cfg, dominators: &DomTree) -> Result<(), BuildError> {
        // By open block: where the undo log stood at its start, and how many of the tree's nodes it spans.
        let mut open: Vec<(Block, usize)> = Vec::new();
        for &block in dominators.preorder() {
            while let Some((above, mark)) = open.last() {
                if dominators.dominates(*above, block) {
                    break;
                }
                let mark = *mark;
                self.back_to(mark);
                open.pop();
            }
            open.push((block, self.undo.len()));
            self.block(func, cfg, block)?;
        }
        self.back_to(0);
        for block in func.layout().to_vec() {
            if !cfg.is_reachable(block) {
                self.block(func, cfg, block)?;
                self.back_to(0);
            }
        }
        // What no instruction names any more names no registers.
        func.edit().clear_sites_but(&self.calls);
        func.check_tuples()
    }

    fn back_to(&mut self, mark: usize) {
        for (variable, value) in self.undo.drain(mark..).rev() {
            self.current[variable as usize] = value;
        }
    }

    fn block(&mut self, func: &mut Function, cfg: &Cfg, block: Block) -> Result<(), BuildError> {
        let variables = self.phis[block].clone();
        let old = func.edit().take_insts(block);
        // The MovPhi of a block that was visited from a predecessor before exists already.
        self.out = old.iter().copied().take_while(|inst| func[*inst].is_phi()).collect();
        let rest = self.out.len();
        if self.out.is_empty() {
            self.out = self.make_phis(func, block)?;
        }
        for (&inst, &variable) in self.out.clone().iter().zip(&variables) {
            let value = func[inst].operands[0].as_reg();
            self.set(variable, value);
        }
        for &inst in &old[rest..] {
            self.inst(func, inst)?;
        }
        func.edit().set_insts(block, std::mem::take(&mut self.out));
        for &succ in cfg.succs(block) {
            self.inputs(func, cfg, block, succ)?;
        }
        Ok(())
    }

    /// The block's MovPhis, without inputs.
    fn make_phis(&mut self, func: &mut Function, block: Block) -> Result<Vec<InstId>, BuildError> {
        let variables = std::mem::take(&mut self.phis[block]);
        let mut made = Vec::with_capacity(variables.len());
        for &variable in &variables {
            let value = self.fresh(func, variable)?;
            made.push(func.edit().add(Inst::phi(Operand::reg(value))));
        }
        self.phis[block] = variables;
        Ok(made)
    }

    /// Name the present values in the MovPhis of a successor.
    fn inputs(&mut self, func: &mut Function, cfg: &Cfg, block: Block, succ: Block) -> Result<(), BuildError> {
        if self.phis[succ].is_empty() {
            return Ok(());
        }
        let made = func.block_insts(succ).first().is_some_and(|inst| func[*inst].is_phi());
        if !made {
            let phis = self.make_phis(func, succ)?;
            func.edit().place(succ, 0, &phis);
        }
        debug_assert!(cfg.preds(succ).contains(&block));
        for (at, &variable) in self.phis[succ].iter().enumerate() {
            let value = self.current[variable as usize].expand().map_or(Operand::undef(), Operand::reg);
            let phi = func.block_insts(succ)[at];
            func.edit().update(phi, |inst| inst.operands.extend([value, Operand::block(block)]));
        }
        Ok(())
    }

    fn fresh(&self, func: &mut Function, variable: Variable) -> Result<VReg, BuildError> {
        let (reg, _) = self.variables.all[variable as usize];
        let file = self.old[reg].file();
        // Variables are of R, UR, P and UP, which all have a type of one register.
        let reg_type = RegType::of_width(file, 1).unwrap_or(RegType::R);
        func.add_vreg(VRegData { home: variable + 1, ..VRegData::new(reg_type) })
    }

    fn set(&mut self, variable: Variable, value: Option<VReg>) {
        let old = std::mem::replace(&mut self.current[variable as usize], value.into());
        self.undo.push((variable, old));
    }

    fn inst(&mut self, func: &mut Function, inst: InstId) -> Result<(), BuildError> {
        let variable = |reg: VReg| self.variables.first[reg] != KEPT;
        if func[inst].is_undef() && func[inst].operands[0].as_reg().is_some_and(variable) {
            self.forget(func[inst].operands[0]);
            return Ok(());
        }
        self.uses(func, inst)?;
        self.olds(func, inst)?;
        self.defs(func, inst)?;
        self.out.push(inst);
        Ok(())
    }

    /// The variables of an operand, lowest first; `None` where it names no variable.
    fn variables_of(&self, operand: Operand) -> Option<std::ops::Range<Variable>> {
        let OperandKind::Reg(reg, piece) = operand.kind() else { return None };
        let range = piece.range(self.old[reg].components);
        let first = self.variables.of(reg, range.start)?;
        Some(first..first + range.len() as u32)
    }

    fn forget(&mut self, operand: Operand) {
        for variable in self.variables_of(operand).into_iter().flatten() {
            self.set(variable, None);
        }
    }

    fn values(&self, variables: std::ops::Range<Variable>) -> Values {
        variables.map(|variable| self.current[variable as usize].expand()).collect()
    }

    /// The values as an operand; those that are undefined get a mark before the instruction.
    fn read(&mut self, func: &mut Function, variables: std::ops::Range<Variable>) -> Result<Operand, BuildError> {
        if let Some(value) = self.current[variables.start as usize].expand().filter(|_| variables.len() == 1) {
            return Ok(Operand::reg(value));
        }
        let mut values: SmallVec<[VReg; 4]> = SmallVec::new();
        for variable in variables {
            let value = match self.current[variable as usize].expand() {
                Some(value) => value,
                None => {
                    let value = self.fresh(func, variable)?;
                    self.out.push(func.edit().add(Inst::undef(Operand::reg(value))));
                    value
                }
            };
            values.push(value);
        }
        Ok(func.tuple(&values))
    }

    /// A kept register under its new number, or the values of variables.
    fn source(&mut self, func: &mut Function, operand: Operand) -> Result<Operand, BuildError> {
        match operand.kind() {
            OperandKind::Reg(reg, _) => match self.variables_of(operand) {
                Some(variables) => Ok(operand.flags_onto(self.read(func, variables)?)),
                None => Ok(operand.with_reg(self.kept[reg].expand().unwrap_or(reg))),
            },
            OperandKind::ConstBindless { handle, .. } => {
                Ok(operand.with_reg(self.kept[handle].expand().unwrap_or(handle)))
            }
            _ => Ok(operand),
        }
    }

    fn uses(&mut self, func: &mut Function, inst: InstId) -> Result<(), BuildError> {
        if let Some(guard) = func[inst].guard() {
            let source = self.source(func, Operand::reg(guard.pred))?;
            let pred = source.as_reg().unwrap_or(guard.pred);
            func.edit().update(inst, |inst| inst.set_guard(Some(Guard { pred, ..guard })));
        }
        for at in 0..func[inst].operands.len() {
            let operand = func[inst].operands[at];
            if operand.is_reg() && !func[inst].is_def(at) || operand.as_handle().is_some() {
                let source = self.source(func, operand)?;
                func.edit().set_operand(inst, at, source);
            }
        }
        if let Some(call) = func[inst].call.expand() {
            self.calls.insert(call);
            for at in 0..func[call].args.len() {
                let operand = func[call].args[at];
                let source = self.source(func, operand)?;
                func.edit().update_call(inst, |site| site.args[at] = source);
            }
        }
        Ok(())
    }

    /// What the results of a partial write were before, behind its operands.
    fn olds(&mut self, func: &mut Function, inst: InstId) -> Result<(), BuildError> {
        let data = &func[inst];
        if !data.writes_partly() {
            return Ok(());
        }
        let writes: SmallVec<[Operand; 4]> = data.defs().map(|(_, operand)| operand).collect();
        if writes.iter().all(|operand| self.variables_of(*operand).is_none()) {
            return Ok(());
        }
        for operand in writes {
            let old = match self.variables_of(operand) {
                None => Operand::NONE,
                Some(variables) if self.values(variables.clone()).iter().all(Option::is_none) => Operand::undef(),
                Some(variables) => self.read(func, variables)?,
            };
            func.edit().update(inst, |inst| inst.operands.push(old));
        }
        Ok(())
    }

    fn defs(&mut self, func: &mut Function, inst: InstId) -> Result<(), BuildError> {
        for at in 0..func[inst].operands.len() {
            let operand = func[inst].operands[at];
            if func[inst].is_def(at) && operand.is_reg() {
                let result = self.result(func, operand)?;
                func.edit().set_operand(inst, at, result);
            }
        }
        if let Some(call) = func[inst].call.expand() {
            for at in 0..func[call].results.len() {
                let operand = func[call].results[at];
                let result = self.result(func, operand)?;
                func.edit().update_call(inst, |site| site.results[at] = result);
            }
        }
        Ok(())
    }

    fn result(&mut self, func: &mut Function, operand: Operand) -> Result<Operand, BuildError> {
        let Some(variables) = self.variables_of(operand) else {
            let reg = operand.as_reg().and_then(|reg| self.kept[reg].expand());
            return Ok(reg.map_or(operand, |reg| operand.with_reg(reg)));
        };
        let mut values: SmallVec<[VReg; 4]> = SmallVec::new();
        for variable in variables {
            let value = self.fresh(func, variable)?;
            self.set(variable, Some(value));
            values.push(value);
        }
        Ok(operand.flags_onto(func.tuple(&values)))
    }
}
