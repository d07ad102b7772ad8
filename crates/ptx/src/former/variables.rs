//! Variables that are declared elsewhere today.

use rustc_hash::FxHashSet;

use crate::ast::{
    Block, Function, FunctionDirective, Item, Linkage, Module, ScalarType, Space, Statement, Sym, Variable,
};
use crate::mentions;

/// From here on the parameters of kernels stand in a list.
const LISTS_PARAMETERS: (u32, u32) = (1, 4);

/// Moves the variables of a module to where they are declared today.
pub(super) fn restate(module: &mut Module) {
    let collects = module.version < LISTS_PARAMETERS;
    let own = take_own(module);
    for item in &mut module.items {
        let Item::Function(function) = item else { continue };
        if function.is_entry {
            if collects {
                collect_parameters(function);
            }
            declare(&own, function);
            drop_former_limit(function);
        }
    }
}

/// `.maxnctapersm`, which limits nothing (ptxas compiles the same code without it).
fn drop_former_limit(kernel: &mut Function) {
    let directives = std::mem::take(&mut kernel.directives).into_iter();
    let placed = directives.zip(std::mem::take(&mut kernel.directive_spans));
    let kept = placed.filter(|(directive, _)| !matches!(directive, FunctionDirective::MaxNCtaPerSm(_)));
    (kernel.directives, kernel.directive_spans) = kept.unzip();
}

/// Takes what each thread has for itself out of the module.
fn take_own(module: &mut Module) -> Vec<Statement> {
    let mut own = Vec::new();
    module.items.retain_mut(|item| match item {
        Item::Registers(declaration) => {
            own.push(Statement::Registers(declaration.clone()));
            false
        }
        Item::Variable(variable) if variable.space == Space::Local => {
            own.push(Statement::Variable(Box::new(Variable { linkage: Linkage::None, ..variable.clone() })));
            false
        }
        Item::Variable(variable) if variable.space == Space::Tex => {
            (variable.space, variable.ty) = (Space::Global, ScalarType::Texref);
            true
        }
        Item::DwarfLine(_) => false,
        _ => true,
    });
    own
}

/// Moves `.param` variables of a kernel's body into its list of parameters.
fn collect_parameters(kernel: &mut Function) {
    let Function { body: Some(body), params, .. } = kernel else { return };
    body.statements.retain_mut(|statement| match statement {
        Statement::Variable(variable) if variable.space == Space::Param => {
            params.push((**variable).clone());
            false
        }
        _ => true,
    });
}

/// Declares what each thread has for itself around the body of a kernel, which may declare its own of the same name;
/// memory only where the body mentions it.
fn declare(own: &[Statement], kernel: &mut Function) {
    let Some(body) = &mut kernel.body else { return };
    let mut mentioned: FxHashSet<Sym> = FxHashSet::default();
    mentions::of_block(body, &mut |name, _| {
        mentioned.insert(name.sym);
    });
    let needed = own.iter().filter(|statement| match statement {
        Statement::Variable(variable) => variable.name.is_some_and(|name| mentioned.contains(&name.sym)),
        _ => true,
    });
    let mut statements: Vec<Statement> = needed.cloned().collect();
    if !statements.is_empty() {
        let span = body.span;
        statements.push(Statement::Block(std::mem::take(body)));
        *body = Block { statements, span };
    }
}
