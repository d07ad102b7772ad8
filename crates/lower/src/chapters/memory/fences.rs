//! Fences, and what drops stale lines of the first-level cache.

use crate::error::Lowered;
use crate::function::FnLower;
use oriole_isa::{Field, Opcode as Sass, membar_scope, membar_sem};
use oriole_ori::Inst;
use oriole_ptx::ast::Scope;

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
