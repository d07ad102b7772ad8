//! Arguments and results of calls against the declaration of the function.

use super::Checker;
use crate::ast::{Call, Function, Imm, Instruction, Name, Operand, ScalarType, Space, TypeClass, Variable};
use crate::diag::{Diagnostic, Rule};
use crate::scope::{Binding, Register};

/// What a call is checked against.
#[derive(Clone, Copy)]
struct Signature<'m> {
    rets: &'m [Variable],
    params: &'m [Variable],
}

impl<'m> Checker<'m> {
    /// Checks the arguments of a call whose names are all declared.
    pub(super) fn arguments(&mut self, instruction: &'m Instruction, call: &Call<'m>, callee: Name) {
        for signature in self.signatures(call, callee) {
            let before = self.errors.len() + self.unreported;
            // ptxas passes values of less than 32 bits where there are several results: it then inlines the function.
            let narrow = signature.rets.len() > 1;
            self.argument_list(instruction, call.rets, signature.rets, ("result", narrow));
            self.argument_list(instruction, call.args, signature.params, ("argument", narrow));
            if self.errors.len() + self.unreported > before {
                return;
            }
        }
    }

    /// The function, or what the prototype or the list of targets says.
    fn signatures(&mut self, call: &Call<'_>, callee: Name) -> Vec<Signature<'m>> {
        let of = |function: &'m Function| Signature { rets: &function.rets, params: &function.params };
        match (self.scopes.lookup(callee.sym), call.prototype.and_then(|label| self.scopes.lookup(label.sym))) {
            (Some(Binding::Function(function)), _) if function.is_entry => {
                let message = format!("`{}` is a kernel and cannot be called", self.text(callee.sym));
                self.error(Diagnostic::new(callee.span, message).rule(Rule::Call).help("make it a `.func`"));
                Vec::new()
            }
            (Some(Binding::Function(function)), _) => vec![of(function)],
            (Some(Binding::Alias(_, aliasee)), _) => match self.scopes.lookup(aliasee.sym) {
                Some(Binding::Function(function)) => vec![of(function)],
                _ => Vec::new(),
            },
            (_, Some(Binding::Prototype(prototype))) => {
                vec![Signature { rets: &prototype.rets, params: &prototype.params }]
            }
            (_, Some(Binding::CallTargets(list))) => {
                let functions = list.targets.iter().filter_map(|target| match self.scopes.lookup(target.sym) {
                    Some(Binding::Function(function)) => Some(of(function)),
                    _ => None,
                });
                functions.collect()
            }
            _ => Vec::new(),
        }
    }

    fn argument_list(
        &mut self,
        instruction: &Instruction,
        actual: &'m [Operand],
        formal: &'m [Variable],
        (role, narrow): (&'static str, bool),
    ) {
        if actual.len() != formal.len() {
            let passed = super::problems::counted(actual.len(), role);
            let message = format!("the call passes {passed}, the function has {}", formal.len());
            let diagnostic = Diagnostic::new(instruction.span, message).rule(Rule::Call);
            return self.error(match formal.first().and_then(|variable| variable.name) {
                Some(name) => diagnostic.related(name.span, "the function's list starts here"),
                None => diagnostic,
            });
        }
        for (operand, variable) in actual.iter().zip(formal) {
            if let Some(name) = operand.name().filter(|name| self.is_parameter(name.sym)) {
                let message =
                    format!("`{}` is a parameter of this function and cannot be passed on", self.text(name.sym));
                let help = "load it, and store it to a `.param` variable of the call";
                self.error(Diagnostic::new(name.span, message).rule(Rule::Call).help(help));
            }
            if let Some(reason) = self.mismatch(operand, variable, narrow) {
                let message = format!("the {role} does not match: {reason}");
                let diagnostic = Diagnostic::new(operand.span(), message).rule(Rule::Call);
                self.error(match variable.name {
                    Some(name) => diagnostic.related(name.span, "declared here"),
                    None => diagnostic.related(variable.span, "declared here"),
                });
            }
        }
    }

    /// True for the parameters, in memory, of the function at hand.
    fn is_parameter(&self, sym: crate::ast::Sym) -> bool {
        let Some(Binding::Variable(variable)) = self.scopes.lookup(sym) else { return false };
        self.current.is_some_and(|f| f.params.iter().chain(&f.rets).any(|param| std::ptr::eq(param, variable)))
    }

    /// Why an operand cannot be passed as a parameter; `narrow`: predicates and values of 8 and 16 bits can be.
    fn mismatch(&self, operand: &'m Operand, formal: &Variable, narrow: bool) -> Option<String> {
        use ScalarType::{Pred, S8, S16, U8, U16};
        if !narrow
            && formal.dims.is_empty()
            && formal.vector.is_none()
            && matches!(formal.ty, Pred | U8 | S8 | U16 | S16)
        {
            return Some(format!("calls do not pass `.{}`; `.b32` would do", formal.ty));
        }
        let name = match operand {
            Operand::Imm(imm, _) => return constant_mismatch(*imm, formal),
            Operand::Name(name) => name,
            Operand::Sink(_) => return None,
            _ => return Some("calls pass registers, `.param` variables and constants".to_owned()),
        };
        match self.scopes.lookup(name.sym)? {
            Binding::Register(Register { vector, ty, .. }) if vector.is_some() || formal.vector.is_some() => {
                let bits = ty.bits() * vector.map_or(1, |len| len.len() as u32);
                let fits = formal.dims.is_empty() && formal.size() == Some(u64::from(bits / 8));
                (!fits).then(|| format!("a register of {bits} bits is passed where {} is declared", shape(formal)))
            }
            Binding::Register(register) if formal.dims.is_empty() && same(register.ty, formal.ty) => None,
            Binding::Register(register) => {
                Some(format!("a `.{}` register is passed where {} is declared", register.ty, shape(formal)))
            }
            Binding::Variable(actual) if actual.space != Space::Param => {
                Some(format!("a variable in `.{}` space is passed; move its address to a register", actual.space))
            }
            Binding::Variable(actual) => variable_mismatch(actual, formal),
            Binding::Function(_) | Binding::Alias(..) => {
                Some("a function is passed; move its address to a register".to_owned())
            }
            _ => None,
        }
    }
}

fn constant_mismatch(imm: Imm, formal: &Variable) -> Option<String> {
    let float = matches!(imm, Imm::F32(_) | Imm::F64(_));
    let fits = match formal.ty.class() {
        TypeClass::Float => float,
        TypeClass::Bits => true,
        _ => !float,
    };
    (!fits).then(|| format!("the constant is passed where {} is declared", shape(formal)))
}

fn variable_mismatch(actual: &Variable, formal: &Variable) -> Option<String> {
    let arrays = (!actual.dims.is_empty(), !formal.dims.is_empty());
    let open = formal.dims.first().is_some_and(Option::is_none);
    let matches = match arrays {
        (false, false) if formal.vector.is_some() => actual.size() == formal.size(),
        (false, false) => same(actual.ty, formal.ty),
        (true, true) => open || actual.size() == formal.size(),
        _ => false,
    };
    if !matches {
        return Some(format!("{} is passed where {} is declared", shape(actual), shape(formal)));
    }
    let (has, wants) = (actual.alignment(), formal.alignment());
    (arrays.1 && has != wants).then(|| format!("it is aligned to {has} bytes, the parameter to {wants}"))
}

/// True if a value of one type can be passed as the other: the size and, for
/// two types with a meaning, the kind agree.
fn same(actual: ScalarType, formal: ScalarType) -> bool {
    let untyped = |ty: ScalarType| ty.class() == TypeClass::Bits;
    let kinds = untyped(actual) || untyped(formal) || actual == formal || (actual.is_integer() && formal.is_integer());
    actual.bits() == formal.bits() && kinds
}

/// A variable's type in words.
fn shape(variable: &Variable) -> String {
    match variable.size() {
        Some(size) if !variable.dims.is_empty() => format!("an array of {size} bytes"),
        _ => match variable.vector {
            Some(vector) => format!("`.{vector} .{}`", variable.ty),
            None => format!("`.{}`", variable.ty),
        },
    }
}
