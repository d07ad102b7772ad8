//! Loads and stores of all spaces: `ld`, `ldu`, `st`.

pub(crate) mod access;
pub(crate) mod address;
pub(crate) mod parameter;
pub(crate) mod quads;

use crate::chapters::memory::access::Shape;
use crate::chapters::memory::address::{Addr, Target};
use crate::error::{Lowered, unsupported};
use crate::function::FnLower;
use crate::handler::{Chapter, unknown};
use oriole_isa::Role::{Bank, Base, D, Data, Offset};
use oriole_isa::{Field, Opcode as Sass, evict, ltc, mem, mem_size, membar_scope, membar_sem};
use oriole_ori::{Inst, InstFlags, Operand, VReg};
use oriole_ptx::ast::{self, Instruction, Opcode, ScalarType, Scope, Semantics, Word};

/// The opcodes of this chapter.
pub(crate) const CHAPTER: Chapter = &[(Opcode::Ld, load), (Opcode::Ldu, load), (Opcode::St, store)];

/// Modifiers of an access that do not change its shape.
pub(crate) struct Manner {
    /// [`Field::Mem`]: ordering and scope.
    pub(super) mem: u8,
    /// [`Field::Evict`]
    evict: u8,
    /// [`Field::Ltc`]
    ltc: u8,
    /// The scope that a release or acquire orders, if it is one.
    fence: Option<Scope>,
    /// Must happen exactly as written.
    volatile: bool,
}

impl Manner {
    /// The manner of an `ld`, `ldu` or `st`.
    fn of(cx: &FnLower<'_, '_>, instruction: &Instruction) -> Manner {
        let scope = instruction.scope().unwrap_or(Scope::Sys);
        let semantics = instruction.semantics().unwrap_or(Semantics::Weak);
        let constant = instruction.has(Word::Nc);
        let mem = match semantics {
            _ if constant => mem::CONSTANT,
            Semantics::Weak => cached_mem(cx, instruction),
            Semantics::Volatile => mem::STRONG_SYS,
            _ => strong(cx, instruction, scope),
        };
        let orders = |semantics| has_semantics(instruction, semantics);
        let fence = (orders(Semantics::Acquire) || orders(Semantics::Release)).then_some(scope);
        Manner {
            mem,
            evict: first_of(instruction, &EVICTIONS).unwrap_or(evict::NORMAL),
            ltc: prefetch_size(instruction),
            fence,
            volatile: semantics != Semantics::Weak,
        }
    }

    fn apply(&self, inst: &mut Inst) {
        let fields = [(Field::Mem, self.mem), (Field::Evict, self.evict), (Field::Ltc, self.ltc)];
        for (field, value) in fields {
            if inst.opcode.fields().iter().any(|(f, _)| *f == field) && value != inst.opcode.default_of(field) {
                inst.mods.set(field, value);
            }
        }
        if self.volatile {
            inst.flags |= InstFlags::VOLATILE;
        }
        if self.mem == mem::CONSTANT {
            inst.flags |= InstFlags::INVARIANT;
        }
    }
}

/// Eviction priorities by PTX modifier; `.cs` and `.lu` are cache operators.
const EVICTIONS: [(Word, u8); 6] = [
    (Word::Cs, evict::EF),
    (Word::Lu, evict::LU),
    (Word::L1EvictFirst, evict::EF),
    (Word::L1EvictLast, evict::EL),
    (Word::L1EvictUnchanged, evict::EU),
    (Word::L1NoAllocate, evict::NA),
];

/// How much L2 prefetches.
const PREFETCHES: [(Word, u8); 3] =
    [(Word::L264B, ltc::LTC64B), (Word::L2128B, ltc::LTC128B), (Word::L2256B, ltc::LTC256B)];

/// Cache operators that are orderings of the hardware: those of strong accesses of a scope.
const CACHE_OPERATORS: [(Word, Scope); 5] = [
    (Word::Ca, Scope::Cta),
    (Word::Wb, Scope::Cta),
    (Word::Cg, Scope::Gpu),
    (Word::Cv, Scope::Sys),
    (Word::Wt, Scope::Sys),
];

/// [`Field::Ltc`] of an instruction: how much L2 prefetches.
pub(crate) fn prefetch_size(instruction: &Instruction) -> u8 {
    first_of(instruction, &PREFETCHES).unwrap_or(ltc::NONE)
}

fn first_of<T: Copy>(instruction: &Instruction, table: &[(Word, T)]) -> Option<T> {
    table.iter().find(|(word, _)| instruction.has(*word)).map(|(_, value)| *value)
}

fn cached_mem(cx: &FnLower<'_, '_>, instruction: &Instruction) -> u8 {
    first_of(instruction, &CACHE_OPERATORS).map_or(mem::WEAK, |scope| strength(cx, scope))
}

/// The ordering field of a strong access of a scope.
pub(crate) fn strength(cx: &FnLower<'_, '_>, scope: Scope) -> u8 {
    match scope {
        Scope::Cta => cx.sm().strong_in_block,
        Scope::Cluster | Scope::Gpu => mem::STRONG_GPU,
        Scope::Sys => mem::STRONG_SYS,
    }
}

/// The ordering field of a strong access of the instruction's manner, in a scope.
pub(crate) fn strong(cx: &FnLower<'_, '_>, instruction: &Instruction, scope: Scope) -> u8 {
    match (has_semantics(instruction, Semantics::Mmio), scope) {
        (true, Scope::Sys) => mem::MMIO_SYS,
        (true, _) => mem::MMIO_GPU,
        (false, _) => strength(cx, scope),
    }
}

/// Whether this is one of the instruction's semantics: `.mmio` comes with another one.
pub(crate) fn has_semantics(instruction: &Instruction, semantics: Semantics) -> bool {
    instruction.modifiers.contains(&ast::Modifier::Semantics(semantics))
}

/// `ld`, `ldu`
fn load(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if let Some(half) = quads::half_of(cx, instruction) {
        return quads::load(cx, instruction, half);
    }
    let shape = Shape::of(instruction).ok_or_else(|| unknown(cx, instruction))?;
    let results = cx.operand(instruction, 0)?;
    let Some(source) = cx.operand(instruction, 1)?.address() else { return Err(unknown(cx, instruction)) };
    if let Some(words) = parameter::words_at(cx, instruction, source)? {
        return parameter::load(cx, &shape, results, &words, source);
    }
    let addr = address::resolve(cx, instruction.space(), source)?;
    let manner = Manner::of(cx, instruction);
    let mut landing = access::landing(cx, &shape, results)?;
    match (addr.target, landing.register().as_reg()) {
        (Target::Constant(bank), Some(to)) if shape.mem_size() == mem_size::B128 => constant_quad(cx, to, bank, &addr)?,
        _ => {
            let inst = load_inst(cx, &shape, &addr, landing.register(), &manner);
            cx.emit_inst(inst)?;
        }
    }
    landing.distribute(cx, &shape)?;
    if let (Some(scope), true) = (manner.fence, addr.target.is_coherent()) {
        acquire_fence(cx, scope)?;
    }
    Ok(())
}

/// The load instruction of a resolved address.
fn load_inst(cx: &FnLower<'_, '_>, shape: &Shape, addr: &Addr, to: Operand, manner: &Manner) -> Inst {
    let opcode = match addr.target {
        Target::Global => Sass::LDG,
        Target::Generic => Sass::LD,
        Target::Shared => Sass::LDS,
        Target::Local => Sass::LDL,
        Target::Constant(_) => Sass::LDC,
    };
    let mut inst = Inst::neutral(opcode, Default::default());
    inst.mods.set(Field::MemSize, shape.mem_size());
    inst.set_role(D, to);
    inst.set_role(Base, addr.base);
    match addr.target {
        Target::Constant(bank) => inst.set_role(Bank, Operand::cbank(bank, addr.offset as u32)),
        _ => inst.set_role(Offset, Operand::imm_signed(addr.offset)),
    }
    if addr.target.is_coherent() {
        cx.describe(&mut inst);
    }
    manner.apply(&mut inst);
    inst
}

/// 128 bits of a constant bank, which is read by 64 bits at most.
fn constant_quad(cx: &mut FnLower<'_, '_>, to: VReg, bank: u8, addr: &Addr) -> Lowered {
    for half in 0..2 {
        let pair = cx.temp64()?;
        let at = Operand::cbank(bank, (addr.offset as u32).wrapping_add(8 * u32::from(half)));
        let mods = [(Field::MemSize, mem_size::B64)];
        cx.emit(Sass::LDC, &mods, &[(D, Operand::reg(pair)), (Base, addr.base), (Bank, at)])?;
        cx.mov(Operand::comp(to, 2 * half), Operand::lo(pair))?;
        cx.mov(Operand::comp(to, 2 * half + 1), Operand::hi(pair))?;
    }
    Ok(())
}

/// `st`
pub(crate) fn store(cx: &mut FnLower<'_, '_>, instruction: &Instruction) -> Lowered {
    if instruction.has(Word::MbarrierCompleteTxBytes) {
        return crate::chapters::asynchronous::remote::store(cx, instruction);
    }
    if instruction.has(Word::Bulk) {
        return crate::chapters::asynchronous::bulk::clear(cx, instruction);
    }
    if let Some(half) = quads::half_of(cx, instruction) {
        return quads::store(cx, instruction, half);
    }
    let shape = Shape::of(instruction).ok_or_else(|| unknown(cx, instruction))?;
    let Some(target) = cx.operand(instruction, 0)?.address() else { return Err(unknown(cx, instruction)) };
    let values = cx.operand(instruction, 1)?;
    if let Some(words) = parameter::words_at(cx, instruction, target)? {
        return parameter::store(cx, &shape, values, &words, target);
    }
    let addr = address::resolve(cx, instruction.space(), target)?;
    let manner = Manner::of(cx, instruction);
    let data = access::gather(cx, &shape, values)?;
    if let Some(scope) = manner.fence {
        release_fence(cx, scope)?;
    }
    let inst = store_inst(cx, &shape, &addr, data, &manner)?;
    cx.emit_inst(inst)?;
    Ok(())
}

/// The store instruction of a resolved address.
fn store_inst(cx: &mut FnLower<'_, '_>, shape: &Shape, addr: &Addr, data: Operand, manner: &Manner) -> Lowered<Inst> {
    let opcode = match addr.target {
        Target::Global => Sass::STG,
        Target::Generic => Sass::ST,
        Target::Shared => Sass::STS,
        Target::Local => Sass::STL,
        Target::Constant(_) => return Err(unsupported(cx.span(), "a store to constant memory")),
    };
    let mut inst = Inst::neutral(opcode, Default::default());
    inst.mods.set(Field::MemSize, shape.mem_size());
    inst.set_role(Base, addr.base);
    inst.set_role(Offset, Operand::imm_signed(addr.offset));
    inst.set_role(Data, data);
    if addr.target.is_coherent() {
        cx.describe(&mut inst);
    }
    manner.apply(&mut inst);
    Ok(inst)
}

/// `to` = 1, 2, 4, 8 or 16 bytes at an address, in as many registers as they take.
pub(crate) fn load_bytes(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    bytes: u32,
    addr: &Addr,
    to: Operand,
) -> Lowered {
    let manner = Manner::of(cx, instruction);
    let inst = load_inst(cx, &Shape { ty: ScalarType::U8, count: bytes }, addr, to, &manner);
    cx.emit_inst(inst)?;
    Ok(())
}

/// 1, 2, 4, 8 or 16 bytes at an address = `data`.
pub(crate) fn store_bytes(
    cx: &mut FnLower<'_, '_>,
    instruction: &Instruction,
    bytes: u32,
    addr: &Addr,
    data: Operand,
) -> Lowered {
    let manner = Manner::of(cx, instruction);
    let inst = store_inst(cx, &Shape { ty: ScalarType::U8, count: bytes }, addr, data, &manner)?;
    cx.emit_inst(inst)?;
    Ok(())
}

/// What precedes a releasing access: everything before it is visible in the scope.
pub(crate) fn release_fence(cx: &mut FnLower<'_, '_>, scope: Scope) -> Lowered {
    fence(cx, membar_sem::ALL, scope)
}

/// What follows an acquiring access: stale lines of the first-level cache go.
pub(crate) fn acquire_fence(cx: &mut FnLower<'_, '_>, scope: Scope) -> Lowered {
    if scope == Scope::Cta { Ok(()) } else { invalidate(cx) }
}

/// `MEMBAR`, and `ERRBAR` where the scope is wider than the block.
pub(crate) fn fence(cx: &mut FnLower<'_, '_>, sem: u8, scope: Scope) -> Lowered {
    let scope_code = match scope {
        Scope::Cta => membar_scope::CTA,
        Scope::Cluster | Scope::Gpu => membar_scope::GPU,
        Scope::Sys => membar_scope::SYS,
    };
    cx.emit(Sass::MEMBAR, &[(Field::MembarSem, sem), (Field::MembarScope, scope_code)], &[])?;
    if scope != Scope::Cta {
        cx.emit(Sass::ERRBAR, &[], &[])?;
        if cx.has(Sass::CGAERRBAR) {
            cx.emit(Sass::CGAERRBAR, &[], &[])?;
        }
    }
    Ok(())
}

/// Drops every line of the first-level cache.
pub(crate) fn invalidate(cx: &mut FnLower<'_, '_>) -> Lowered {
    cx.emit_inst(invalidation())?;
    Ok(())
}

/// The instruction of [`invalidate`].
pub(crate) fn invalidation() -> Inst {
    Inst::neutral(Sass::CCTL, [(Field::CctlOp, oriole_isa::cctl_op::IVALL)].into_iter().collect())
}
