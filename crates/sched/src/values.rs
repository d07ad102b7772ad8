//! The code before allocation as the scheduler sees it: instructions of Ori with the components that they touch.
//!
//! Physical registers keep their numbers; the components of virtual ones are numbered behind them.

use crate::code::{AWAITED, Accesses, Def, Op, REGISTERS, Reg, Span, Use, has_order, mask_of, reg_number, reg_numbers};
use crate::lives::Class;
use crate::memory::MemoryAccess;
use crate::survey::Stretch;
use crate::units::{NOTHING, demand_of};
use oriole_isa::latency::{self, Classified, Slot};
use oriole_isa::{Arch, Carries, CodeOrder, Control, Exit, Guard, Inst, RegFile};
use oriole_ori::{Function, InstId, OperandKind, PhysRef, RegRef, SecondaryMap, VReg, entry_for_each};
use std::ops::Range;

/// The registers of a function, and what the instructions of one block touch.
pub(crate) struct Values<'f> {
    func: &'f Function,
    arch: Arch,
    /// By virtual register: its first component.
    first: SecondaryMap<VReg, Reg>,
    /// By register: the file that it takes room in.
    classes: Vec<Class>,
    pub(crate) accesses: Accesses,
    /// Where hardware instructions are made, one after the other.
    inst: Option<Box<Inst>>,
}

impl<'f> Values<'f> {
    pub(crate) fn new(func: &'f Function, arch: Arch) -> Self {
        let mut first = entry_for_each(func.regs().len());
        // What has its register from the start is not counted: it is there anyway.
        let mut classes = vec![Class::None; REGISTERS + AWAITED];
        for (reg, data) in func.regs().iter() {
            first[reg] = classes.len() as Reg;
            classes.resize(classes.len() + usize::from(data.components), Class::of(data.file()));
        }
        Values { func, arch, first, classes, accesses: Accesses::default(), inst: None }
    }

    /// How many registers have numbers.
    pub(crate) fn registers(&self) -> usize {
        self.classes.len()
    }

    /// The file that a register takes room in.
    pub(crate) fn class(&self, reg: Reg) -> Class {
        self.classes[reg as usize]
    }

    /// The instructions of a stretch. What those of another touch is forgotten.
    pub(crate) fn stretch(&mut self, stretch: &Stretch) -> Vec<Op<InstId>> {
        self.ops(&self.func.block_insts(stretch.block)[stretch.places.clone()])
    }

    /// The same for some instructions of a block that follow each other.
    pub(crate) fn ops(&mut self, insts: &[InstId]) -> Vec<Op<InstId>> {
        self.accesses.clear();
        self.accesses.expect(insts.len());
        insts.iter().map(|inst| self.op(*inst)).collect()
    }

    /// Component `k` of a virtual register.
    pub(crate) fn component(&self, reg: VReg, k: u8) -> Reg {
        let data = &self.func[reg];
        let fixed = data.physical.filter(|_| data.is_fixed());
        let number = fixed.and_then(|physical| reg_number(data.file(), physical + u16::from(k)));
        number.unwrap_or(self.first[reg] + Reg::from(k))
    }

    fn op(&mut self, id: InstId) -> Op<InstId> {
        let data = &self.func[id];
        let (uses, defs) = (self.accesses.uses.len(), self.accesses.defs.len());
        // What is held is held up to the mark: nothing that writes a register meanwhile comes behind it.
        let leaves = data.call.is_some() || data.is_hold();
        let mut made = self.inst.take().unwrap_or_else(|| Box::new(Inst::bare(data.opcode)));
        let is_hardware = self.func.emits_code(id) && self.func.put_stand_ins(data, &mut made);
        let inst = is_hardware.then_some(&*made);
        let classified = inst.map(|inst| Classified::new(inst, self.arch));
        self.note_accesses(id, classified.filter(|_| !leaves));
        let (uses, defs) = (Span::since(&self.accesses.uses, uses), Span::since(&self.accesses.defs, defs));
        let memory = inst.and_then(|inst| {
            let access = MemoryAccess::of(inst, data.flags, |at| self.base(id, at))?;
            self.accesses.add_memory(access)
        });
        let op = Op {
            id,
            opcode: data.opcode,
            control: Control::NONE,
            carries: Carries::NOTHING,
            uses,
            defs,
            memory,
            use_mask: mask_of(uses.of(&self.accesses.uses).iter().map(|access| access.reg)),
            def_mask: mask_of(defs.of(&self.accesses.defs).iter().map(|access| access.reg)),
            variable: classified.is_some_and(Classified::is_variable),
            leaves,
            // Scoreboards come behind allocation.
            awaits_all: false,
            terminator: data.opcode.exit() != Exit::No,
            has_order: match inst {
                Some(inst) => has_order(inst, self.arch),
                None => data.opcode.order() == CodeOrder::Effect,
            },
            demand: inst.map_or(NOTHING, |inst| demand_of(inst, self.arch)),
            pace: inst.and_then(|inst| latency::pace(inst, self.arch)),
            guarded: data.writes_partly(),
            // Guards are registers like others here.
            guard: Guard::ALWAYS,
            asks_for_line: false,
            plain_arithmetic: classified.is_some_and(Classified::is_plain_arithmetic),
            long: inst.is_some_and(latency::is_long),
            orders: [None; 2],
        };
        self.inst = Some(made);
        op
    }

    /// The first register of an operand.
    fn base(&self, inst: InstId, at: usize) -> Option<Reg> {
        match self.func[inst].operands.get(at)?.kind() {
            OperandKind::Reg(reg, piece) => Some(self.component(reg, piece.range(self.func[reg].components).start)),
            OperandKind::Phys { file, number, .. } => reg_number(file, number),
            _ => None,
        }
    }

    /// Note what an instruction reads and writes. Without a hardware instruction, or for one that leaves the function,
    /// nothing is known of distances.
    fn note_accesses(&mut self, id: InstId, inst: Option<Classified<'_>>) {
        let func = self.func;
        let mut has_numbers = func[id].operands.iter().any(|operand| operand.is_physical()) || func[id].call.is_some();
        func.for_each_use(id, |mention| has_numbers |= self.note_mention(&mention, inst));
        func.for_each_def(id, |mention| has_numbers |= self.note_mention(&mention, inst));
        // Ahead of allocation few registers have one.
        if has_numbers {
            func.for_each_phys(id, |mention| self.note_physical(&mention, inst));
        }
    }

    /// Note a virtual register, but for those with a physical number from the start. Whether it has a physical number.
    fn note_mention(&mut self, mention: &RegRef, inst: Option<Classified<'_>>) -> bool {
        let data = &self.func[mention.reg];
        if data.is_fixed() {
            return true;
        }
        let first = self.first[mention.reg];
        let regs = first + Reg::from(mention.range.start)..first + Reg::from(mention.range.end);
        self.note(regs, data.file(), mention.is_def, mention.slot, inst);
        data.physical.is_some()
    }

    fn note_physical(&mut self, mention: &PhysRef, inst: Option<Classified<'_>>) {
        let Range { start, end } = reg_numbers(mention.file, mention.number, mention.count);
        self.note(start as Reg..end as Reg, mention.file, mention.is_def, mention.slot, inst);
    }

    /// Note neighbouring registers of a file, which the instruction names at a place.
    #[inline]
    fn note(
        &mut self,
        regs: Range<Reg>,
        file: RegFile,
        is_def: bool,
        place: oriole_ori::Slot,
        inst: Option<Classified<'_>>,
    ) {
        let inst = inst.filter(|inst| is_of_hardware(inst.inst(), place));
        for (reg, register) in regs.zip(0..) {
            let known = inst.zip(slot(place, register));
            if is_def {
                let write = known.map(|(inst, slot)| inst.write(slot, file));
                self.accesses.defs.push(Def { reg, write });
            } else {
                let read = known.map(|(inst, slot)| inst.read(slot, file));
                self.accesses.uses.push(Use { reg, operand: None, scalar: false, read, late: false });
            }
        }
    }
}

/// In SSA form an operand behind those of the hardware says what a guarded write leaves in place.
fn is_of_hardware(inst: &Inst, place: oriole_ori::Slot) -> bool {
    !matches!(place, oriole_ori::Slot::Operand(index) if index >= inst.opcode.signature().len())
}

/// Where the instruction names a register; none for what its call site names.
fn slot(slot: oriole_ori::Slot, register: u8) -> Option<Slot> {
    match slot {
        oriole_ori::Slot::Guard => Some(Slot::Guard),
        oriole_ori::Slot::Operand(index) => Some(Slot::Operand { index: index as u8, register }),
        oriole_ori::Slot::CallArg(_) | oriole_ori::Slot::CallResult(_) => None,
    }
}
