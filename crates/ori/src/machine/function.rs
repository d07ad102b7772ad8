//! A whole function as hardware instructions.

use super::{CodeTable, INST_BYTES, MachineCode, MachineInst};
use crate::entity::{Block, CallId, InstId, LocId, entry_for_each};
use crate::function::Function;
use crate::inst::InstFlags;
use crate::machine::MachineError;
use cranelift_entity::{
    EntityRef, PrimaryMap, SecondaryMap, entity_impl, packed_option::PackedOption, packed_option::ReservedValue,
};
use oriole_checkpoint::checkpoint;
use oriole_isa::{
    Arch, Carries, Control, EncodeError, Encoder, Inst, Opcode, OperandFlags, RegFile, Role, Unscheduled, Value,
};
use smallvec::SmallVec;

/// Number of the general register that is zero.
const RZ: u16 = 255;

/// An instruction of a [`MachineFunction`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MachineId(u32);
entity_impl!(MachineId, "machine");

/// An instruction that names addresses, which are known when the function is placed.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Open(u32);
entity_impl!(Open, "open");

/// What is known of an instruction's word.
#[derive(Clone, Copy, Debug)]
enum Code {
    /// All but the scheduling bits.
    Word(Unscheduled),
    /// It names addresses; the word without them, if it has a form without them.
    Open(Open, Option<Unscheduled>),
}

/// An instruction: its word but for the scheduling bits, and where it comes from.
#[derive(Clone, Debug)]
pub struct MachineData {
    code: Code,
    /// The mnemonic.
    pub opcode: Opcode,
    /// Its scheduling bits.
    pub control: Control,
    /// Bit `i`: operand `i` stays in the operand cache.
    kept: u16,
    /// The instruction of Ori; none for one that scheduling has put in.
    pub origin: PackedOption<InstId>,
    /// Its facts.
    pub flags: InstFlags,
    /// Its place in the source.
    pub loc: PackedOption<LocId>,
    /// Its call site.
    pub call: PackedOption<CallId>,
}

impl MachineData {
    fn new(code: Code, opcode: Opcode, control: Control) -> Self {
        MachineData {
            code,
            opcode,
            control,
            kept: 0,
            origin: None.into(),
            flags: InstFlags::empty(),
            loc: None.into(),
            call: None.into(),
        }
    }

    /// What its control word may carry.
    pub fn carries(&self) -> Carries {
        match self.code {
            Code::Word(word) | Code::Open(_, Some(word)) => word.carries(),
            Code::Open(_, None) => Carries::NOTHING,
        }
    }
}

/// A block: what stands in it, and where it goes on.
#[derive(Clone, Debug)]
pub struct MachineBlock {
    /// The block of Ori.
    pub block: Block,
    /// Its instructions in order.
    pub insts: Vec<MachineId>,
    /// Positions of its successors.
    pub succs: SmallVec<[u32; 2]>,
}

/// An allocated function as hardware instructions: made once, put in order by scheduling, and written out.
#[derive(Clone, Debug)]
pub struct MachineFunction {
    arch: Arch,
    nop: Unscheduled,
    /// Blocks in the order of the layout.
    pub blocks: Vec<MachineBlock>,
    /// Instructions; the blocks say in which order.
    pub insts: PrimaryMap<MachineId, MachineData>,
    /// What is encoded when addresses are known. Operands that name a block hold its number as their label.
    open: PrimaryMap<Open, MachineInst>,
    /// Jumps by tables.
    tables: Vec<MachineTable>,
    /// One more than the highest R register that an instruction names.
    pub registers: u32,
}

/// A `BRX` and what its table says.
#[derive(Clone, Debug)]
struct MachineTable {
    branch: MachineId,
    /// Byte offset in bank 2.
    offset: u32,
    targets: Vec<Block>,
}

impl MachineFunction {
    /// The hardware instructions of a function whose registers have their physical numbers. `see` is shown each of them.
    ///
    /// # Errors
    /// An instruction has no hardware form.
    pub fn new(
        func: &Function,
        arch: Arch,
        mut see: impl FnMut(MachineId, &MachineData, &Inst),
    ) -> Result<Self, MachineError> {
        let mut position: SecondaryMap<Block, u32> = entry_for_each(func.blocks().len());
        func.layout().iter().zip(0..).for_each(|(block, at)| position[*block] = at);
        let nop = Unscheduled::new(&Inst::new(Opcode::NOP), arch).map_err(|reason| MachineError {
            function: func.name().to_owned(),
            inst: InstId::reserved_value(),
            text: Opcode::NOP.name().to_owned(),
            message: reason.to_string(),
        })?;
        let mut machine = MachineFunction {
            arch,
            nop,
            blocks: Vec::with_capacity(func.layout().len()),
            insts: PrimaryMap::with_capacity(func.inst_count()),
            open: PrimaryMap::new(),
            tables: Vec::new(),
            registers: 0,
        };
        let mut encoder = Encoder::new(arch);
        let mut inst = MachineInst { inst: Inst::bare(Opcode::NOP), relocs: SmallVec::new() };
        for &block in func.layout() {
            let mut insts = Vec::with_capacity(func.block_insts(block).len());
            for &id in func.block_insts(block).iter().filter(|id| func.emits_code(**id)) {
                func.put_machine_inst(id, |block| i64::from(block.as_u32()), &mut inst)?;
                let read = machine.read(func, id, &inst, &mut encoder, &mut see)?;
                if let Some(table) = func.jump_table_of(&func[id]) {
                    let succs = func.succs(block);
                    let targets = table.targets.iter().filter_map(|at| succs.get(*at as usize).copied()).collect();
                    machine.tables.push(MachineTable { branch: read, offset: table.offset, targets });
                }
                insts.push(read);
            }
            let succs = func.succs(block).iter().map(|succ| position[*succ]).collect();
            machine.blocks.push(MachineBlock { block, insts, succs });
        }
        Ok(machine)
    }

    fn read(
        &mut self,
        func: &Function,
        id: InstId,
        machine: &MachineInst,
        encoder: &mut Encoder,
        see: &mut impl FnMut(MachineId, &MachineData, &Inst),
    ) -> Result<MachineId, MachineError> {
        let (data, inst) = (&func[id], &machine.inst);
        self.registers = self.registers.max(registers_of(inst));
        let is_open = names_address(machine) || data.call.is_some() || func.jump_table_of(data).is_some();
        let code = match encoder.unscheduled(inst) {
            Ok(word) if !is_open => Code::Word(word),
            Err(reason) if !is_open => return Err(super::fault(func, id, format!("it has no encoding: {reason}"))),
            word => Code::Open(self.open.next_key(), word.ok()),
        };
        let (origin, flags, loc, call) = (id.into(), data.flags, data.loc, data.call);
        let data = MachineData { origin, flags, loc, call, ..MachineData::new(code, inst.opcode, inst.control) };
        see(self.insts.next_key(), &data, inst);
        if is_open {
            self.open.push(machine.clone());
        }
        Ok(self.insts.push(data))
    }

    /// A NOP that does nothing but have this control word, in no block yet.
    pub fn add_nop(&mut self, control: Control) -> MachineId {
        let nop = MachineData::new(Code::Word(self.nop), Opcode::NOP, control);
        self.insts.push(MachineData { flags: InstFlags::VOLATILE, ..nop })
    }

    /// `@!PT LDS RZ, [RZ]`, in no block yet: no thread loads anything, but it takes its turn among the accesses to shared memory.
    /// The function of Ori has a NOP in its place. None where the target has no such instruction.
    pub fn add_empty_load(&mut self) -> Option<MachineId> {
        let mut load = Inst::new(Opcode::LDS);
        load.guard.negated = true;
        for at in [Role::D, Role::Base].into_iter().filter_map(|role| Opcode::LDS.position(role)) {
            load.operands[at].value = Value::Reg(RegFile::R, RZ);
        }
        let word = Unscheduled::new(&load, self.arch).ok()?;
        let load = MachineData::new(Code::Word(word), Opcode::LDS, Control { stall: 1, ..Control::NONE });
        Some(self.insts.push(MachineData { flags: InstFlags::VOLATILE, ..load }))
    }

    /// Keep an operand in the operand cache (`.reuse`), if the instruction can.
    pub fn keep(&mut self, inst: MachineId, at: usize) {
        let data = &mut self.insts[inst];
        let (Code::Word(word) | Code::Open(_, Some(word))) = &mut data.code else { return };
        if at >= 16 || !word.keep(at) {
            return;
        }
        data.kept |= 1 << at;
        if let Code::Open(open, _) = data.code {
            let operand = &mut self.open[open].inst.operands[at];
            operand.flags = operand.flags.with(OperandFlags::REUSE);
        }
    }

    /// The place of the operand cache where an operand would stay, if the instruction can keep it.
    pub fn kept_place(&self, inst: MachineId, at: usize) -> Option<u8> {
        match &self.insts[inst].code {
            Code::Word(word) | Code::Open(_, Some(word)) => word.kept_place(at, self.arch),
            Code::Open(_, None) => None,
        }
    }

    /// Number of instructions.
    pub fn inst_count(&self) -> usize {
        self.blocks.iter().map(|block| block.insts.len()).sum()
    }

    /// Every instruction, in order.
    pub fn iter_insts(&self) -> impl Iterator<Item = &MachineData> {
        self.blocks.iter().flat_map(|block| block.insts.iter().map(|id| &self.insts[*id]))
    }

    /// The function written out, but for where it will stand.
    ///
    /// # Errors
    /// An instruction must not carry what its control word has.
    pub fn finish(&self) -> Result<MachineCode, EncodeError> {
        let mut starts: SecondaryMap<Block, i64> = SecondaryMap::new();
        let mut offset = 0;
        for block in &self.blocks {
            starts[block.block] = offset;
            offset += block.insts.len() as i64 * INST_BYTES;
        }
        let mut code = MachineCode { words: Vec::with_capacity(self.inst_count()), ..MachineCode::default() };
        code.registers = self.registers;
        for (at, id) in (0..).zip(self.blocks.iter().flat_map(|block| &block.insts)) {
            checkpoint(1);
            let data = &self.insts[*id];
            let word = match data.code {
                Code::Word(word) => word.finish(data.control, self.arch)?,
                Code::Open(open, _) => {
                    let mut machine = self.with_offsets(open, data.control, &starts);
                    if let Some(table) =
                        self.tables.iter().find(|table| data.opcode == Opcode::BRX && table.branch == *id)
                    {
                        code.tables.push(table.finish(at, &mut machine, &starts));
                    }
                    code.open.push((at, machine));
                    0
                }
            };
            code.words.push(word);
            code.opcodes.push(data.opcode);
            if data.opcode == Opcode::EXIT {
                code.exits.push(at);
            }
            code.gathers |= matches!(data.opcode, Opcode::BSSY | Opcode::WARPSYNC);
            let notes = data.flags & InstFlags::NOTES;
            if !notes.is_empty() {
                code.notes.push((at, notes));
            }
            code.locs.extend(data.loc.expand().map(|loc| (at, loc)));
        }
        Ok(code)
    }

    /// An open instruction with its control word, and offsets in the place of blocks.
    fn with_offsets(&self, open: Open, control: Control, starts: &SecondaryMap<Block, i64>) -> MachineInst {
        let mut machine = self.open[open].clone();
        machine.inst.control = control;
        machine.own_labels().for_each(|label| *label = starts[Block::new(*label as usize)]);
        machine
    }

    /// Say in the function what scheduling has decided: order, control words, hints.
    pub fn write_back(&self, func: &mut Function) {
        let mut edit = func.edit();
        for block in &self.blocks {
            let mut insts = edit.take_insts(block.block);
            insts.clear();
            for id in &block.insts {
                let data = &self.insts[*id];
                let origin = data.origin.expand().unwrap_or_else(|| {
                    let mut nop = crate::Inst::neutral(Opcode::NOP, Default::default());
                    nop.flags = data.flags;
                    edit.add(nop)
                });
                edit.set_control(origin, data.control);
                let mut kept = data.kept;
                while kept != 0 {
                    let at = kept.trailing_zeros() as usize;
                    kept &= kept - 1;
                    let operand = edit[origin].operands[at].with_reuse(true);
                    edit.set_operand(origin, at, operand);
                }
                insts.push(origin);
            }
            edit.set_insts(block.block, insts);
        }
    }
}

impl MachineTable {
    /// The table, and in the jump the distance from which its words count: they are offsets in the function.
    fn finish(&self, at: u32, machine: &mut MachineInst, starts: &SecondaryMap<Block, i64>) -> CodeTable {
        let next = (i64::from(at) + 1) * INST_BYTES;
        if let Some(place) = machine.inst.opcode.position(Role::Offset) {
            machine.inst.operands[place].value = Value::Imm((-next) as u64);
        }
        let targets = self.targets.iter().map(|target| starts[*target] as u32).collect();
        CodeTable { branch: at, offset: self.offset, targets }
    }
}

/// Whether the instruction names a block or a symbol.
fn names_address(machine: &MachineInst) -> bool {
    let is_label = |operand: &oriole_isa::Operand| matches!(operand.value, Value::Label(_));
    !machine.relocs.is_empty() || machine.inst.operands.iter().any(is_label)
}

/// One more than the highest R register that the instruction names, 0 if it names none.
fn registers_of(inst: &Inst) -> u32 {
    let mut registers = 0;
    for (operand, spec) in inst.operands.iter().zip(inst.opcode.signature()) {
        if let Value::Reg(RegFile::R, number) = operand.value
            && RegFile::R.zero() != Some(number)
        {
            registers = registers.max(u32::from(number) + u32::from(spec.width.of(|field| inst.raw(field))));
        }
    }
    registers
}
