//! The stack frame: access to spill slots, prologue and epilogue.

use crate::convention::Saved;
use oriole_isa::{Arch, Field, MemSize, Mods, Opcode, RegFile, Role};
use oriole_ori::{Block, Callee, EntitySet, Function, FunctionKind, Inst, InstFlags, InstId, Operand, VReg};

/// Number of the stack pointer.
pub(crate) const STACK_POINTER: u16 = 1;

fn stack_pointer() -> Operand {
    Operand::phys(RegFile::R, STACK_POINTER)
}

/// A spill slot: byte offset from the frame's base, and its 32-bit components.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotAccess {
    /// Number of the register that the offset counts from.
    pub(crate) base: u16,
    pub(crate) offset: u32,
    pub(crate) components: u8,
}

/// Access sizes in components, widest first, and their modifier value.
pub(crate) const SIZES: [(u8, MemSize); 3] = [(4, MemSize::B128), (2, MemSize::B64), (1, MemSize::B32)];

/// Loads of the components in `mask` of a slot into `to`, each with the components it loads.
pub(crate) fn load_slot(to: VReg, slot: SlotAccess, mask: u128) -> Vec<(Inst, u8)> {
    let mut insts = Vec::new();
    for (first, count, modifier) in pieces(slot.components, mask) {
        let mut load = access(Opcode::LDL, slot.base, slot.offset + 4 * u32::from(first), modifier);
        load.set_role(Role::D, piece(to, first, count, slot.components));
        load.flags |= InstFlags::REFILL;
        insts.push((load, count));
    }
    insts
}

/// Stores of the components in `mask` of `from` to its slot, each with the components it stores.
pub(crate) fn store_slot(from: VReg, slot: SlotAccess, mask: u128) -> Vec<(Inst, u8)> {
    let mut insts = Vec::new();
    for (first, count, modifier) in pieces(slot.components, mask) {
        let mut store = access(Opcode::STL, slot.base, slot.offset + 4 * u32::from(first), modifier);
        store.set_role(Role::Data, piece(from, first, count, slot.components));
        store.flags |= InstFlags::SPILL;
        insts.push((store, count));
    }
    insts
}

/// An access to local memory, `offset` bytes from what the register of number `base` holds.
pub(crate) fn access(opcode: Opcode, base: u16, offset: u32, size: MemSize) -> Inst {
    let mut inst = Inst::neutral(opcode, Mods::new().with(Field::MEM_SIZE, size));
    inst.set_role(Role::Base, Operand::phys(RegFile::R, base));
    inst.set_role(Role::Offset, Operand::imm_signed(offset as i32));
    inst
}

fn piece(reg: VReg, first: u8, count: u8, components: u8) -> Operand {
    if count == components { Operand::reg(reg) } else { Operand::piece(reg, first, count) }
}

/// Aligned runs of the wanted components: first, count, size modifier.
fn pieces(components: u8, mask: u128) -> Vec<(u8, u8, MemSize)> {
    let wanted = |first: u8, count: u8| (first..first + count).all(|k| mask >> k & 1 == 1);
    let mut runs = Vec::new();
    let mut first = 0;
    while first < components {
        let run =
            SIZES.iter().find(|(count, _)| first % count == 0 && first + count <= components && wanted(first, *count));
        match run {
            Some((count, modifier)) => {
                runs.push((first, *count, *modifier));
                first += count;
            }
            None => first += 1,
        }
    }
    runs
}

/// Put the stack pointer's set-up and release around the code, once the frame's size is known, with what a function saves
/// for its callers. `passes_stack`: what it calls uses the stack, or may.
pub(crate) fn finish_frame(func: &mut Function, arch: Arch, saved: &Saved, passes_stack: bool) {
    let size = func.frame().size();
    let moving = func.frame().dynamic;
    if moving {
        // After the prologue, which is put before this.
        let keep = copy(func.frame().base(), STACK_POINTER);
        let keep = vec![func.edit().add(keep)];
        prepend(func, keep);
    }
    if func.kind() == FunctionKind::Entry {
        if needs_stack(func, passes_stack) {
            enter_kernel(func, arch, size);
        }
    } else if size > 0 || moving {
        let stores = saved.stores(func).into_iter().map(|inst| func.edit().add(inst)).collect();
        prepend(func, stores);
        if size > 0 {
            let enter = vec![func.edit().add(adjust(-i64::from(size)))];
            prepend(func, enter);
        }
        leave_function(func, size, saved);
    }
}

/// The stack pointer means something in the function: it has a frame, passes it on, or has it from its caller. In all others R1
/// is a register like any other.
pub(crate) fn needs_stack(func: &Function, passes_stack: bool) -> bool {
    func.kind() != FunctionKind::Entry || passes_stack || has_frame(func)
}

/// The function has a part of local memory.
pub(crate) fn has_frame(func: &Function) -> bool {
    func.frame().size() > 0 || func.frame().dynamic
}

/// The function calls others.
pub(crate) fn makes_calls(func: &Function) -> bool {
    func.iter_insts().any(|(_, inst)| func[inst].call.expand().is_some_and(|call| func[call].callee != Callee::Return))
}

/// `R1 = c[0][stack] - size`.
fn enter_kernel(func: &mut Function, arch: Arch, size: u32) {
    let origin = Operand::cbank(0, u32::from(arch.sm().bank0.stack));
    let opcode = if arch.sm().constant_operands { Opcode::MOV } else { Opcode::LDC };
    let mut load = Inst::neutral(opcode, Mods::new());
    load.set_role(Role::D, stack_pointer());
    let source = if opcode == Opcode::MOV { Role::B } else { Role::Bank };
    load.set_role(source, origin);
    let mut enter = vec![func.edit().add(load)];
    if size > 0 {
        enter.push(func.edit().add(adjust(-i64::from(size))));
    }
    prepend(func, enter);
}

fn leave_function(func: &mut Function, size: u32, saved: &Saved) {
    let mut leave = saved.loads(func);
    let mut release = adjust(i64::from(size));
    // From wherever the code has moved the stack pointer to.
    let base = func.frame().base();
    if saved.is_empty() {
        release.set_role(Role::A, Operand::phys(RegFile::R, base));
    } else if base != STACK_POINTER {
        // The register of the base is one of those that are loaded.
        leave.insert(0, copy(STACK_POINTER, base));
    }
    leave.push(release);
    // The RET behind a tail call is not executed.
    let tail_calls: Vec<Block> =
        func.layout().iter().copied().filter(|block| ends_in_tail_call(func, *block)).collect();
    let mut behind: EntitySet<Block> = EntitySet::new();
    tail_calls.into_iter().flat_map(|block| func.succs(block)).for_each(|block| _ = behind.insert(*block));
    for block in func.layout().to_vec() {
        if behind.contains(block) {
            continue;
        }
        func.edit().rewrite_block(block, |func, inst, new| {
            let is_tail_call = func[inst].call.expand().is_some_and(|call| func[call].is_tail_call());
            if func[inst].opcode == Opcode::RET || is_tail_call {
                for mut step in leave.iter().cloned() {
                    step.set_guard(func[inst].guard());
                    new.push(func.edit().add(step));
                }
            }
            new.push(inst);
        });
    }
}

fn ends_in_tail_call(func: &Function, block: Block) -> bool {
    let call = func.block_insts(block).last().and_then(|inst| func[*inst].call.expand());
    call.is_some_and(|call| func[call].is_tail_call())
}

/// `R1 += bytes`.
fn adjust(bytes: i64) -> Inst {
    let mut add = Inst::neutral(Opcode::IADD3, Mods::new());
    add.set_role(Role::D, stack_pointer());
    add.set_role(Role::A, stack_pointer());
    add.set_role(Role::B, Operand::imm(bytes as u32));
    add.set_role(Role::C, Operand::rz());
    add
}

/// `to = from`, by number.
fn copy(to: u16, from: u16) -> Inst {
    let mut copy = Inst::neutral(Opcode::MOV, Mods::new());
    copy.set_role(Role::D, Operand::phys(RegFile::R, to));
    copy.set_role(Role::B, Operand::phys(RegFile::R, from));
    copy
}

fn prepend(func: &mut Function, insts: Vec<InstId>) {
    if let Some(entry) = func.entry() {
        func.edit().place(entry, 0, &insts);
    }
}
