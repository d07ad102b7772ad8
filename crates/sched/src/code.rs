//! The function as the scheduler sees it: hardware instructions with the registers that they touch.

use crate::memory::MemoryAccess;
use crate::units::{NOTHING, demand_of};
use oriole_checkpoint::checkpoint;
use oriole_isa::access::{Order, Register, orders};
use oriole_isa::chip::{CONSTANT_LINE, Demand};
use oriole_isa::latency::{self, Classified, Pace, Slot};
use oriole_isa::{
    Arch, Carries, CctlOp, CodeOrder, Control, Effects, Exit, Field, Guard, Inst, Opcode, RegFile, Value,
    special_registers,
};
use oriole_ori::{CallSite, Callee, Function, InstFlags, MachineData, MachineError, MachineFunction, MachineId};
use rustc_hash::FxHashSet;
use std::num::NonZeroU32;
use std::ops::Range;

/// A physical register of R, UR, P or UP, numbered over all four files.
pub(crate) type Reg = u32;
/// First number of each file, and how many registers it has on the targets that have most: the first files, in their order.
const BASES: [(RegFile, Reg, u16); 4] =
    [(RegFile::R, 0, 255), (RegFile::UR, 255, 80), (RegFile::P, 335, 7), (RegFile::UP, 342, 7)];
/// Registers in all.
pub(crate) const REGISTERS: usize = 349;

/// The number of a register; `None` for zero and true registers and for other files.
pub(crate) fn reg_number(file: RegFile, number: u16) -> Option<Reg> {
    let (_, base, count) = BASES.get(file as usize)?;
    (number < *count).then(|| base + Reg::from(number))
}

/// The numbers of neighbouring registers of a file, as far as it has so many.
pub(crate) fn reg_numbers(file: RegFile, first: u16, count: u8) -> Range<usize> {
    let Some((_, base, all)) = BASES.get(file as usize) else { return 0..0 };
    let number = |register: u16| *base as usize + usize::from(register.min(*all));
    number(first)..number(first.saturating_add(u16::from(count)))
}

/// The register of a number; `None` for what is awaited like one.
pub(crate) fn register(reg: Reg) -> Option<Register> {
    let (file, base, _) = BASES.iter().rev().find(|(_, base, _)| *base <= reg).filter(|_| reg < REGISTERS as Reg)?;
    Register::new(*file, (reg - base) as u16)
}

/// Whether a physical register is one of R.
pub(crate) fn is_general(reg: Reg) -> bool {
    reg < Reg::from(BASES[0].2)
}

/// One register that an instruction reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) reg: Reg,
    /// The operand that begins with it; none where it is no operand's first register.
    pub(crate) operand: Option<u8>,
    /// The operand is this register alone.
    pub(crate) scalar: bool,
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

/// Neighbouring entries of a list that all instructions of a function share.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    start: u32,
    len: u16,
}

impl Span {
    /// What was added to a list since it had `start` entries. An instruction has few operands, and a call no more
    /// arguments than there are registers.
    pub(crate) fn since<T>(list: &[T], start: usize) -> Span {
        Span { start: start as u32, len: (list.len() - start) as u16 }
    }

    /// Whether it has no entries.
    pub(crate) fn is_empty(self) -> bool {
        self.len == 0
    }

    pub(crate) fn of<T>(self, list: &[T]) -> &[T] {
        &list[self.start as usize..][..usize::from(self.len)]
    }
}

/// One instruction: what all steps ask for often. The rest is in the function, under its name there.
#[derive(Clone, Debug)]
pub(crate) struct Op<I = MachineId> {
    pub(crate) id: I,
    pub(crate) opcode: Opcode,
    pub(crate) control: Control,
    /// What its control word may carry.
    pub(crate) carries: Carries,
    pub(crate) uses: Span,
    pub(crate) defs: Span,
    pub(crate) memory: Option<NonZeroU32>,
    /// A superset of the registers read, register `r` at bit `r % 64`: tells most pairs apart at once.
    pub(crate) use_mask: u64,
    /// The same for the registers written.
    pub(crate) def_mask: u64,
    /// Its results come at no fixed time: a scoreboard says when.
    pub(crate) variable: bool,
    /// CALL and RET: what follows is code that this function does not see.
    pub(crate) leaves: bool,
    /// It waits for all that is outstanding.
    pub(crate) awaits_all: bool,
    pub(crate) terminator: bool,
    /// It must keep its place among others of its kind, and memory accesses stay on their side.
    pub(crate) has_order: bool,
    /// The first of the function to read a line of constants, and one that does not stop the warp until the line has come: it
    /// does nothing else, or others on the target do.
    pub(crate) asks_for_line: bool,
    /// What it takes of which unit.
    pub(crate) demand: Demand,
    /// How long the next instruction of its unit has to wait, where that is slow.
    pub(crate) pace: Option<Pace>,
    /// Its guard is not "always".
    pub(crate) guarded: bool,
    /// The guard of a hardware instruction.
    pub(crate) guard: Guard,
    /// See [`latency::is_plain_arithmetic`].
    pub(crate) plain_arithmetic: bool,
    /// See [`latency::is_long`].
    pub(crate) long: bool,
    /// The orders of its results and of reading its sources.
    pub(crate) orders: [Option<Order>; 2],
}

impl<I> Op<I> {
    pub(crate) fn has(&self, effect: Effects) -> bool {
        self.opcode.info().effects.contains(effect)
    }
}

impl Op {
    /// A new NOP that does nothing but have this control word.
    pub(crate) fn nop(machine: &mut MachineFunction, control: Control) -> Op {
        Op::idle(machine.add_nop(control), Opcode::NOP, control)
    }

    /// A new load of shared memory that no thread executes; none where the target has none.
    pub(crate) fn empty_load(machine: &mut MachineFunction) -> Option<Op> {
        let id = machine.add_empty_load()?;
        Some(Op::idle(id, Opcode::LDS, machine.insts[id].control))
    }

    /// An instruction that reads and writes nothing.
    fn idle(id: MachineId, opcode: Opcode, control: Control) -> Op {
        Op {
            id,
            opcode,
            control,
            carries: Carries::NOTHING,
            uses: Span::default(),
            defs: Span::default(),
            memory: None,
            use_mask: 0,
            def_mask: 0,
            variable: false,
            leaves: false,
            awaits_all: false,
            terminator: false,
            has_order: false,
            asks_for_line: false,
            demand: NOTHING,
            pace: None,
            guarded: false,
            guard: Guard::ALWAYS,
            plain_arithmetic: latency::is_plain_arithmetic(&Inst::new(opcode)),
            long: false,
            orders: [None; 2],
        }
    }
}

/// Whether an instruction waits for all that is outstanding: registers that are given back may be another warp's from now on, and
/// what comes behind an acquire may be forgotten only when the acquire has its value (as with ptxas 13.0.88).
fn awaits_all(inst: &Inst) -> bool {
    let forgets = inst.opcode == Opcode::CCTL && matches!(inst.get(Field::CCTL_OP), CctlOp::IVALL | CctlOp::IVALLP);
    forgets || inst.opcode == Opcode::USETMAXREG
}

/// Whether an instruction must keep its place among others of its kind. A special register that never changes may be read
/// anywhere, the one that is zero too: `CS2R` makes pairs of zeros.
pub(crate) fn has_order(inst: &Inst, arch: Arch) -> bool {
    let is_steady = |operand: &oriole_isa::Operand| match operand.value {
        Value::Special(number) => number == special_registers::SRZ || special_registers::is_constant(number, arch),
        _ => false,
    };
    let reads = matches!(inst.opcode, Opcode::S2R | Opcode::S2UR | Opcode::CS2R);
    inst.opcode.order() == CodeOrder::Effect && !(reads && inst.operands.iter().any(is_steady))
}

/// What the instructions touch, in lists for the whole function.
#[derive(Default)]
pub(crate) struct Accesses {
    pub(crate) uses: Vec<Use>,
    pub(crate) defs: Vec<Def>,
    memory: Vec<MemoryAccess>,
}

impl Accesses {
    /// Make room for so many more instructions.
    pub(crate) fn expect(&mut self, insts: usize) {
        // Most read two registers and write one.
        self.uses.reserve(2 * insts);
        self.defs.reserve(insts);
    }

    /// The registers that an instruction reads.
    pub(crate) fn uses<I>(&self, op: &Op<I>) -> &[Use] {
        checkpoint(1);
        op.uses.of(&self.uses)
    }

    /// The registers that it writes.
    pub(crate) fn defs<I>(&self, op: &Op<I>) -> &[Def] {
        op.defs.of(&self.defs)
    }

    /// What it does to memory; `None` where that needs no order.
    pub(crate) fn memory<I>(&self, op: &Op<I>) -> Option<&MemoryAccess> {
        op.memory.map(|number| &self.memory[number.get() as usize - 1])
    }

    /// Keep an access to memory; its number.
    pub(crate) fn add_memory(&mut self, access: MemoryAccess) -> Option<NonZeroU32> {
        self.memory.push(access);
        NonZeroU32::new(self.memory.len() as u32)
    }

    /// Forget everything: what was named by numbers has no meaning any more.
    pub(crate) fn clear(&mut self) {
        self.uses.clear();
        self.defs.clear();
        self.memory.clear();
    }
}

/// The function: instructions by block, in the order of the layout.
pub(crate) struct Code {
    pub(crate) arch: Arch,
    pub(crate) ops: Vec<Vec<Op>>,
    pub(crate) accesses: Accesses,
}

impl Code {
    /// The code of a function, with its hardware instructions.
    ///
    /// # Errors
    /// An instruction has no hardware form.
    pub(crate) fn new(func: &Function, arch: Arch) -> Result<(Self, MachineFunction), MachineError> {
        let mut reader = Reader::new(arch);
        let count = func.inst_count();
        reader.accesses.expect(count);
        let mut all = Vec::with_capacity(count);
        let machine = MachineFunction::new(func, arch, |id, data, inst| all.push(reader.op(id, data, inst, func)))?;
        let ops = if machine.blocks.len() == 1 {
            vec![all]
        } else {
            let mut all = all.into_iter();
            machine.blocks.iter().map(|block| all.by_ref().take(block.insts.len()).collect()).collect()
        };
        Ok((Code { arch, ops, accesses: reader.accesses }, machine))
    }

    /// Put order and control words into the machine function.
    pub(crate) fn write_back(self, machine: &mut MachineFunction) {
        for (block, ops) in machine.blocks.iter_mut().zip(self.ops) {
            block.insts.clear();
            for op in ops {
                machine.insts[op.id].control = op.control;
                block.insts.push(op.id);
            }
        }
    }
}

/// Reads the instructions of a function.
pub(crate) struct Reader {
    arch: Arch,
    pub(crate) accesses: Accesses,
    /// Reads of constants stop the warp on the target, but for those by `LDC`.
    constants_stop: bool,
    /// Lines of constants that have been read so far, if so.
    lines: FxHashSet<(u8, u64)>,
}

impl Reader {
    pub(crate) fn new(arch: Arch) -> Self {
        let constants_stop = Opcode::ULDC.exists_on(arch);
        Reader { arch, accesses: Accesses::default(), constants_stop, lines: FxHashSet::default() }
    }

    /// An instruction of a function that is compiled.
    fn op(&mut self, id: MachineId, data: &MachineData, inst: &Inst, func: &Function) -> Op {
        let site = data.call.expand().map(|call| &func[call]);
        let facts = Facts { flags: data.flags, carries: data.carries(), leaves: site.is_some() };
        self.read(id, inst, facts, |accesses| {
            if let Some(site) = site {
                note_call(func, site, accesses);
            }
        })
    }

    /// An instruction. `more` adds to its accesses what its operands do not say.
    pub(crate) fn read(&mut self, id: MachineId, inst: &Inst, facts: Facts, more: impl FnOnce(&mut Accesses)) -> Op {
        checkpoint(8);
        let arch = self.arch;
        let Facts { flags, carries, leaves } = facts;
        let (uses, defs) = (self.accesses.uses.len(), self.accesses.defs.len());
        let classified = Classified::new(inst, arch);
        self.note_accesses(classified, leaves);
        more(&mut self.accesses);
        let (uses, defs) = (Span::since(&self.accesses.uses, uses), Span::since(&self.accesses.defs, defs));
        let base = |at: usize| match inst.operands[at].value {
            Value::Reg(file, number) => reg_number(file, number),
            _ => None,
        };
        let memory = MemoryAccess::of(inst, flags, base).and_then(|access| self.accesses.add_memory(access));
        Op {
            id,
            opcode: inst.opcode,
            control: inst.control,
            carries,
            uses,
            defs,
            memory,
            use_mask: mask_of(uses.of(&self.accesses.uses).iter().map(|access| access.reg)),
            def_mask: mask_of(defs.of(&self.accesses.defs).iter().map(|access| access.reg)),
            variable: classified.is_variable(),
            leaves,
            awaits_all: leaves || awaits_all(inst),
            terminator: inst.opcode.exit() != Exit::No,
            has_order: has_order(inst, arch),
            asks_for_line: self.asks_for_line(inst, defs),
            demand: demand_of(inst, arch),
            pace: latency::pace(inst, arch),
            guarded: inst.guard != Guard::ALWAYS,
            guard: inst.guard,
            plain_arithmetic: classified.is_plain_arithmetic(),
            long: latency::is_long(inst),
            orders: orders(inst, arch),
        }
    }

    /// See [`Op::asks_for_line`].
    fn asks_for_line(&mut self, inst: &Inst, defs: Span) -> bool {
        let is_load = inst.opcode == Opcode::LDC;
        if !self.constants_stop {
            return is_load && defs.is_empty();
        }
        let constants = inst.operands.iter().filter_map(|operand| match operand.value {
            Value::Const { bank, offset } => Some((bank, u64::from(offset) / CONSTANT_LINE)),
            _ => None,
        });
        constants.take(1).any(|line| self.lines.insert(line)) && is_load
    }

    fn note_accesses(&mut self, classified: Classified<'_>, leaves: bool) {
        let inst = classified.inst();
        let guard_file = if inst.opcode.info().guard_uniform { RegFile::UP } else { RegFile::P };
        let used = |reg: Reg, file: RegFile, slot: Slot, width: u8| {
            let read = (!leaves).then(|| classified.read(slot, file));
            let (operand, scalar) = match slot {
                Slot::Operand { index, register: 0 } => (Some(index), width == 1),
                _ => (None, false),
            };
            Use { reg, operand, scalar, read, late: classified.reads_file_late(file) }
        };
        if let Some(reg) = reg_number(guard_file, u16::from(inst.guard.predicate)) {
            self.accesses.uses.push(used(reg, guard_file, Slot::Guard, 1));
        }
        for (i, (operand, spec)) in inst.operands.iter().zip(inst.opcode.signature()).enumerate() {
            let (file, first, bindless) = match operand.value {
                Value::Reg(file, number) => (file, number, false),
                Value::ConstBindless { ureg, .. } => (RegFile::UR, ureg, true),
                _ => continue,
            };
            let own = spec.width.of(|field| inst.raw(field));
            let width = if bindless { 2 } else { own };
            let is_def = spec.is_def && !bindless;
            for (reg, register) in reg_numbers(file, first, width).zip(0..) {
                let (reg, slot) = (reg as Reg, Slot::Operand { index: i as u8, register });
                if is_def {
                    let write = (!leaves).then(|| classified.write(slot, file));
                    self.accesses.defs.push(Def { reg, write });
                } else {
                    self.accesses.uses.push(used(reg, file, slot, own));
                }
            }
        }
    }
}

/// What an instruction does not say itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) flags: InstFlags,
    pub(crate) carries: Carries,
    /// See [`Op::leaves`].
    pub(crate) leaves: bool,
}

/// The registers of a call's arguments and results.
fn note_call(func: &Function, site: &CallSite, accesses: &mut Accesses) {
    let regs = |operands: &[oriole_ori::Operand]| {
        let mut regs = Vec::new();
        for (file, first, count) in operands.iter().filter_map(|o| func.physical(*o)) {
            regs.extend((first..first + u16::from(count)).filter_map(|n| reg_number(file, n)));
        }
        regs
    };
    accesses.uses.extend(regs(&site.args).into_iter().map(|reg| Use {
        reg,
        operand: None,
        scalar: false,
        read: None,
        late: false,
    }));
    if site.callee != Callee::Return {
        accesses.defs.extend(regs(&site.results).into_iter().map(|reg| Def { reg, write: None }));
    }
}

pub(crate) fn mask_of(regs: impl Iterator<Item = Reg>) -> u64 {
    regs.fold(0, |mask, reg| mask | 1 << (reg % 64))
}

/// Effects that are awaited as if they were registers, and numbered behind them.
pub(crate) const AWAITED: usize = 3;

/// Registers for which there is room from the start.
const FIRST_ROOM: usize = 256;

/// Something for each register, made where it is first touched: small functions touch few. What one block has put
/// there is forgotten after it, so that many small blocks cost no more than one large one.
pub(crate) struct ByRegister<T> {
    /// By register its place among the values, 0 for those that have not been touched.
    places: Vec<u32>,
    /// Each with whether it is among the touched ones.
    values: Vec<(T, bool)>,
    touched: Vec<Reg>,
}

impl<T: Default> ByRegister<T> {
    /// For the physical registers and what is awaited like them.
    pub(crate) fn new() -> Self {
        ByRegister::of(REGISTERS + AWAITED)
    }

    /// For that many registers.
    pub(crate) fn of(registers: usize) -> Self {
        let mut values = Vec::with_capacity(registers.min(FIRST_ROOM));
        values.push((T::default(), false));
        ByRegister { places: vec![0; registers], values, touched: Vec::with_capacity(registers.min(FIRST_ROOM)) }
    }

    pub(crate) fn get(&self, reg: Reg) -> &T {
        &self.values[self.places[reg as usize] as usize].0
    }

    /// To be changed by one who clears it himself.
    pub(crate) fn get_mut(&mut self, reg: Reg) -> &mut T {
        let place = self.place(reg);
        &mut self.values[place].0
    }

    fn place(&mut self, reg: Reg) -> usize {
        let place = &mut self.places[reg as usize];
        if *place == 0 {
            *place = self.values.len() as u32;
            self.values.push((T::default(), false));
        }
        *place as usize
    }

    /// To be changed until all is forgotten.
    pub(crate) fn touch(&mut self, reg: Reg) -> &mut T {
        let place = self.place(reg);
        let (value, touched) = &mut self.values[place];
        if !std::mem::replace(touched, true) {
            self.touched.push(reg);
        }
        value
    }

    /// Let `clear` empty what was touched.
    pub(crate) fn forget(&mut self, mut clear: impl FnMut(&mut T)) {
        while let Some(reg) = self.touched.pop() {
            let place = self.place(reg);
            let (value, touched) = &mut self.values[place];
            *touched = false;
            clear(value);
        }
    }
}

/// Positions of a block's successors.
pub(crate) fn succs(machine: &MachineFunction, block: usize) -> impl Iterator<Item = usize> + '_ {
    machine.blocks[block].succs.iter().map(|succ| *succ as usize)
}
