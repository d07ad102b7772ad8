//! Fences, and what drops stale lines of the first-level cache.

use crate::error::Lowered;
use crate::function::FnLower;
use oriole_isa::{Field, MembarScope, MembarSem, Opcode as Sass};
use oriole_ori::Inst;
use oriole_ptx::ast::Scope;

/// What precedes a releasing access: everything before it is visible in the scope.
pub(crate) fn release_fence(cx: &mut FnLower<'_, '_>, scope: Scope) -> Lowered {
    fence(cx, MembarSem::ALL, scope)
}

/// What follows an acquiring access: stale lines of the first-level cache go.
pub(crate) fn acquire_fence(cx: &mut FnLower<'_, '_>, scope: Scope) -> Lowered {
    if scope == Scope::Cta { Ok(()) } else { invalidate(cx) }
}

/// `MEMBAR`, and `ERRBAR` where the scope is wider than the block.
pub(crate) fn fence(cx: &mut FnLower<'_, '_>, sem: MembarSem, scope: Scope) -> Lowered {
    let scope_code = match scope {
        Scope::Cta => MembarScope::CTA,
        Scope::Cluster | Scope::Gpu => MembarScope::GPU,
        Scope::Sys => MembarScope::SYS,
    };
    cx.emit(Sass::MEMBAR, &[Field::MEMBAR_SEM.is(sem), Field::MEMBAR_SCOPE.is(scope_code)], &[])?;
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
    Inst::neutral(Sass::CCTL, [Field::CCTL_OP.is(oriole_isa::CctlOp::IVALL)].into_iter().collect())
}
