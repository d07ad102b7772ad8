//! The manner of an access: ordering, scope, cache policy.

use crate::function::FnLower;
use oriole_isa::{Evict, Field, Ltc, Mem};
use oriole_ori::{Inst, InstFlags};
use oriole_ptx::ast::{self, Instruction, Scope, Semantics, Word};

/// Modifiers of an access that do not change its shape.
pub(crate) struct Manner {
    /// [`Field::MEM`]: ordering and scope.
    pub(crate) mem: Mem,
    /// [`Field::EVICT`]
    pub(crate) evict: Evict,
    /// [`Field::LTC`]
    pub(crate) ltc: Ltc,
    /// The scope that a release or acquire orders, if it is one.
    pub(crate) fence: Option<Scope>,
    /// Must happen exactly as written.
    pub(crate) volatile: bool,
}

impl Manner {
    /// The manner of an `ld`, `ldu` or `st`.
    pub(crate) fn of(cx: &FnLower<'_, '_>, instruction: &Instruction) -> Manner {
        let scope = instruction.scope().unwrap_or(Scope::Sys);
        let semantics = instruction.semantics().unwrap_or(Semantics::Weak);
        let constant = instruction.has(Word::Nc);
        let mem = match semantics {
            _ if constant => Mem::CONSTANT,
            Semantics::Weak => cached_mem(cx, instruction),
            Semantics::Volatile => Mem::STRONG_SYS,
            _ => strong(cx, instruction, scope),
        };
        let orders = |semantics| has_semantics(instruction, semantics);
        let fence = (orders(Semantics::Acquire) || orders(Semantics::Release)).then_some(scope);
        Manner {
            mem,
            evict: first_of(instruction, &EVICTIONS).unwrap_or(Evict::NORMAL),
            ltc: prefetch_size(instruction),
            fence,
            volatile: semantics != Semantics::Weak,
        }
    }

    pub(crate) fn apply(&self, inst: &mut Inst) {
        let fields = [Field::MEM.is(self.mem), Field::EVICT.is(self.evict), Field::LTC.is(self.ltc)];
        for setting in fields {
            let default = inst.opcode.default_code(setting.field());
            if inst.opcode.has_field(setting.field()) && setting.code() != default {
                inst.mods.apply(setting);
            }
        }
        if self.volatile {
            inst.flags |= InstFlags::VOLATILE;
        }
        if self.mem == Mem::CONSTANT {
            inst.flags |= InstFlags::INVARIANT;
        }
    }
}

/// Eviction priorities by PTX modifier; `.cs` and `.lu` are cache operators.
pub(crate) const EVICTIONS: [(Word, Evict); 6] = [
    (Word::Cs, Evict::EF),
    (Word::Lu, Evict::LU),
    (Word::L1EvictFirst, Evict::EF),
    (Word::L1EvictLast, Evict::EL),
    (Word::L1EvictUnchanged, Evict::EU),
    (Word::L1NoAllocate, Evict::NA),
];

/// How much L2 prefetches.
pub(crate) const PREFETCHES: [(Word, Ltc); 3] =
    [(Word::L264B, Ltc::LTC64B), (Word::L2128B, Ltc::LTC128B), (Word::L2256B, Ltc::LTC256B)];

/// Cache operators that are orderings of the hardware: those of strong accesses of a scope.
pub(crate) const CACHE_OPERATORS: [(Word, Scope); 5] = [
    (Word::Ca, Scope::Cta),
    (Word::Wb, Scope::Cta),
    (Word::Cg, Scope::Gpu),
    (Word::Cv, Scope::Sys),
    (Word::Wt, Scope::Sys),
];

/// [`Field::LTC`] of an instruction: how much L2 prefetches.
pub(crate) fn prefetch_size(instruction: &Instruction) -> Ltc {
    first_of(instruction, &PREFETCHES).unwrap_or(Ltc::NONE)
}

pub(crate) fn first_of<T: Copy>(instruction: &Instruction, table: &[(Word, T)]) -> Option<T> {
    table.iter().find(|(word, _)| instruction.has(*word)).map(|(_, value)| *value)
}

pub(crate) fn cached_mem(cx: &FnLower<'_, '_>, instruction: &Instruction) -> Mem {
    first_of(instruction, &CACHE_OPERATORS).map_or(Mem::WEAK, |scope| strength(cx, scope))
}

/// The ordering field of a strong access of a scope.
pub(crate) fn strength(cx: &FnLower<'_, '_>, scope: Scope) -> Mem {
    match scope {
        Scope::Cta => cx.sm().strong_in_block,
        Scope::Cluster | Scope::Gpu => Mem::STRONG_GPU,
        Scope::Sys => Mem::STRONG_SYS,
    }
}

/// The ordering field of a strong access of the instruction's manner, in a scope.
pub(crate) fn strong(cx: &FnLower<'_, '_>, instruction: &Instruction, scope: Scope) -> Mem {
    match (has_semantics(instruction, Semantics::Mmio), scope) {
        (true, Scope::Sys) => Mem::MMIO_SYS,
        (true, _) => Mem::MMIO_GPU,
        (false, _) => strength(cx, scope),
    }
}

/// Whether this is one of the instruction's semantics: `.mmio` comes with another one.
pub(crate) fn has_semantics(instruction: &Instruction, semantics: Semantics) -> bool {
    instruction.modifiers.contains(&ast::Modifier::Semantics(semantics))
}
