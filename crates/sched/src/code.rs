//! The function as the scheduler sees it: hardware instructions with the registers that they touch.

use oriole_isa::latency::{self, Slot};
use oriole_isa::{Arch, Control, Effects, Field, Inst, Mods, Opcode, RegFile, Value};
use oriole_ori::terminator::is_terminator;
use oriole_ori::{Block, CallSite, Callee, Function, InstFlags, InstId, MachineError, SecondaryMap};
use smallvec::SmallVec;

/// A physical register of R, UR, P or UP, numbered over all four files.
pub(crate) type Reg = u16;
/// First number of each file, and how many registers it has on the targets that have most.
const BASES: [(RegFile, Reg, Reg); 4] =
    [(RegFile::R, 0, 255), (RegFile::UR, 255, 80), (RegFile::P, 335, 7), (RegFile::UP, 342, 7)];
/// Registers in all.
pub(crate) const REGISTERS: usize = 349;
/// Registers below this number are R.
pub(crate) const END_OF_R: Reg = 255;

/// The number of a register; `None` for zero and true registers and for other files.
pub(crate) fn reg_number(file: RegFile, number: u16) -> Option<Reg> {
    let (_, base, count) = BASES.iter().find(|(f, ..)| *f == file)?;
    (number < *count).then(|| base + number)
}

/// One register that an instruction reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) reg: Reg,
    /// By what its distances are looked up; `None` for an instruction that leaves the function.
    pub(crate) read: Option<latency::Read>,
    /// The register stays busy for some time after the instruction has issued.
    pub(crate) late: bool,
}

/// One register that an instruction writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Def {
    pub(crate) reg: Reg,
    /// By what its distances are looked up; `None` for an instruction that leaves the function.
    pub(crate) write: Option<latency::Write>,
}

/// One instruction.
#[derive(Clone, Debug)]
pub(crate) struct Op {
    pub(crate) id: InstId,
    pub(crate) inst: Inst,
    pub(crate) flags: InstFlags,
    pub(crate) uses: SmallVec<[Use; 6]>,
    pub(crate) defs: SmallVec<[Def; 4]>,
    /// A superset of the registers read, register `r` at bit `r % 64`: tells most pairs apart at once.
    pub(crate) use_mask: u64,
    /// The same for the registers written.
    pub(crate) def_mask: u64,
    /// Its results come at no fixed time: a scoreboard says when.
    pub(crate) variable: bool,
    /// CALL and RET: what follows is code that this function does not see.
    pub(crate) leaves: bool,
    pub(crate) terminator: bool,
}

impl Op {
    pub(crate) fn has(&self, effect: Effects) -> bool {
        self.inst.opcode.info().effects.contains(effect)
    }

    /// The guard is not "always".
    pub(crate) fn is_guarded(&self) -> bool {
        self.inst.guard != oriole_isa::Guard::ALWAYS
    }

    /// A new NOP that does nothing but have this control word.
    pub(crate) fn nop(func: &mut Function, control: Control) -> Op {
        let mut inst = oriole_ori::Inst::neutral(Opcode::NOP, Mods::new());
        inst.flags |= InstFlags::VOLATILE;
        Op {
            id: func.add_inst(inst),
            inst: Inst { control, ..Inst::new(Opcode::NOP) },
            flags: InstFlags::VOLATILE,
            uses: SmallVec::new(),
            defs: SmallVec::new(),
            use_mask: 0,
            def_mask: 0,
            variable: false,
            leaves: false,
            terminator: false,
        }
    }
}

/// The function: instructions by block, in the order of the layout.
pub(crate) struct Code {
    pub(crate) arch: Arch,
    pub(crate) blocks: Vec<Block>,
    pub(crate) ops: Vec<Vec<Op>>,
    /// Position of a block in `blocks`.
    pub(crate) position: SecondaryMap<Block, u32>,
}

impl Code {
    pub(crate) fn new(func: &Function, arch: Arch) -> Result<Self, MachineError> {
        let mut position = SecondaryMap::new();
        let mut ops = Vec::with_capacity(func.layout.len());
        for (at, block) in func.layout.iter().enumerate() {
            position[*block] = at as u32;
            let insts = func.block_insts(*block).iter().filter(|id| func.emits_code(**id));
            ops.push(insts.map(|id| op(func, *id, arch)).collect::<Result<Vec<_>, _>>()?);
        }
        Ok(Code { arch, blocks: func.layout.clone(), ops, position })
    }

    /// Positions of a block's successors.
    pub(crate) fn succs<'a>(&'a self, func: &'a Function, at: usize) -> impl Iterator<Item = usize> + 'a {
        func.succs(self.blocks[at]).iter().map(|succ| self.position[*succ] as usize)
    }

    /// Put order and control words back.
    pub(crate) fn write_back(self, func: &mut Function) {
        for (block, ops) in self.blocks.iter().zip(self.ops) {
            let mut list = Vec::with_capacity(ops.len());
            for op in ops {
                let data = &mut func.insts[op.id];
                data.control = op.inst.control;
                for (operand, machine) in data.operands.iter_mut().zip(&op.inst.operands) {
                    let reuse = machine.flags.contains(oriole_isa::OperandFlags::REUSE);
                    *operand = operand.with_reuse(reuse);
                }
                list.push(op.id);
            }
            func.blocks[*block].insts = list;
        }
    }
}

fn op(func: &Function, id: InstId, arch: Arch) -> Result<Op, MachineError> {
    let data = &func.insts[id];
    // Addresses do not matter here: only registers and modifiers do.
    let inst = func.machine_inst(id, |_| 0)?.inst;
    let call = data.call.expand().map(|call| &func.calls[call]);
    let mut op = Op {
        id,
        flags: data.flags,
        uses: SmallVec::new(),
        defs: SmallVec::new(),
        use_mask: 0,
        def_mask: 0,
        variable: latency::is_variable(&inst, arch),
        leaves: call.is_some(),
        terminator: is_terminator(data),
        inst,
    };
    note_accesses(&mut op, arch);
    if let Some(site) = call {
        note_call(func, site, &mut op);
    }
    op.use_mask = mask_of(op.uses.iter().map(|access| access.reg));
    op.def_mask = mask_of(op.defs.iter().map(|access| access.reg));
    Ok(op)
}

fn mask_of(regs: impl Iterator<Item = Reg>) -> u64 {
    regs.fold(0, |mask, reg| mask | 1 << (reg % 64))
}

impl Use {
    /// The register of `file` that the instruction of `op` reads at `slot`.
    fn of(op: &Op, reg: Reg, file: RegFile, slot: Slot, arch: Arch) -> Use {
        let read = (!op.leaves).then(|| latency::Read::of(&op.inst, slot, file, arch));
        Use { reg, read, late: latency::reads_late(&op.inst, slot, arch) }
    }
}

impl Def {
    /// The register that the instruction of `op` writes at `slot`.
    fn of(op: &Op, reg: Reg, slot: Slot, arch: Arch) -> Def {
        Def { reg, write: (!op.leaves).then(|| latency::Write::of(&op.inst, slot, arch)) }
    }
}

fn note_accesses(op: &mut Op, arch: Arch) {
    let guard_file = if op.inst.opcode.info().guard_uniform { RegFile::UP } else { RegFile::P };
    if let Some(reg) = reg_number(guard_file, u16::from(op.inst.guard.predicate)) {
        op.uses.push(Use::of(op, reg, guard_file, Slot::Guard, arch));
    }
    for i in 0..op.inst.operands.len() {
        let (file, first) = match op.inst.operands[i].value {
            Value::Reg(file, number) => (file, number),
            Value::ConstBindless { ureg, .. } => (RegFile::UR, ureg),
            _ => continue,
        };
        let bindless = matches!(op.inst.operands[i].value, Value::ConstBindless { .. });
        let width = if bindless { 2 } else { op.inst.width(i) };
        let is_def = op.inst.opcode.signature()[i].is_def && !bindless;
        for k in 0..width {
            let Some(reg) = reg_number(file, first + u16::from(k)) else { break };
            let slot = Slot::Operand { index: i as u8, register: k };
            if is_def {
                op.defs.push(Def::of(op, reg, slot, arch));
            } else {
                op.uses.push(Use::of(op, reg, file, slot, arch));
            }
        }
    }
}

fn note_call(func: &Function, site: &CallSite, op: &mut Op) {
    let regs = |operands: &[oriole_ori::Operand]| {
        let mut regs = Vec::new();
        for (file, first, count) in operands.iter().filter_map(|o| func.physical(*o)) {
            regs.extend((first..first + u16::from(count)).filter_map(|n| reg_number(file, n)));
        }
        regs
    };
    op.uses.extend(regs(&site.args).into_iter().map(|reg| Use { reg, read: None, late: false }));
    if site.callee != Callee::Return {
        op.defs.extend(regs(&site.results).into_iter().map(|reg| Def { reg, write: None }));
    }
}

/// Bytes that a load or store moves: 256 bits, or what its size modifier says.
pub(crate) fn access_bytes(inst: &Inst) -> i64 {
    use oriole_isa::mem_size::{B64, B128, S8, S16, U8, U16};
    if matches!(inst.opcode, Opcode::LDG_256 | Opcode::STG_256) {
        return 32;
    }
    match inst.get(Field::MemSize) {
        U8 | S8 => 1,
        U16 | S16 => 2,
        B64 => 8,
        B128 => 16,
        _ => 4,
    }
}
