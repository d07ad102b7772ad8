//! Every name must be declared, and be of the kind that its place needs.

use super::Checker;
use crate::ast::{
    Address, AddressBase, Block, Function, Instruction, Modifier, Name, Opcode, Operand, RegisterName, ScalarType,
    Statement, SymbolTable, TargetList, TypeClass,
};
use crate::diag::{Diagnostic, Rule};
use crate::scope::{Binding, Register};
use crate::suggest::closest;

/// What the names of an instruction are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Names {
    /// One means nothing.
    Undefined,
    /// All mean something.
    Defined(Registers),
}

/// The types of an instruction's operands, where each is a register by itself and they are few: then they alone say
/// whether the operands fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Registers(Option<u64>);

impl Registers {
    /// No operands.
    const NONE: Registers = Registers(Some(0));
    /// Operands that are not registers, or many.
    pub(super) const OTHERS: Registers = Registers(None);

    /// With one more operand, which is a name.
    fn and(self, binding: Option<Binding<'_>>) -> Registers {
        match (self.0, binding) {
            (Some(types), Some(Binding::Register(Register { ty, vector: None, .. }))) if types >> 48 == 0 => {
                // Not 0, which is no operand.
                Registers(Some(types << 16 | (ty as u64 + 1)))
            }
            _ => Registers::OTHERS,
        }
    }
}

impl<'m> Checker<'m> {
    /// Reports modifiers that PTX does not have; true if there are none.
    pub(super) fn modifiers(&mut self, instruction: &Instruction) -> bool {
        let mut known = true;
        for (at, modifier) in instruction.modifiers.iter().enumerate() {
            let Modifier::Other(sym) = modifier else { continue };
            known = false;
            let text = self.text(*sym);
            let message = format!("`.{}` is no modifier of PTX", crate::parse::shorten(text));
            let diagnostic = Diagnostic::new(self.place_at(instruction, at), message).rule(Rule::Modifier);
            self.error(match closest(text, Modifier::names()) {
                Some(near) => diagnostic.help(format!("did you mean `.{near}`?")),
                None => diagnostic,
            });
        }
        known
    }

    /// Checks the names of an instruction.
    pub(super) fn names(&mut self, instruction: &'m Instruction) -> Names {
        self.expected = match instruction.opcode {
            Opcode::Bra => "label",
            Opcode::Call => "function or variable",
            _ => "name",
        };
        let mut good = true;
        if let Some(guard) = instruction.guard {
            good &= self.guard(guard.pred);
        }
        let mut registers = Registers::NONE;
        for operand in &instruction.operands {
            let Operand::Name(name) = operand else {
                good &= self.operand(operand);
                registers = Registers::OTHERS;
                continue;
            };
            let binding = self.resolve(*name);
            good &= binding.is_some();
            registers = registers.and(binding);
        }
        if !good {
            return Names::Undefined;
        }
        match instruction.opcode {
            Opcode::Bra => self.branch(instruction),
            Opcode::Brx => self.indexed_branch(instruction),
            Opcode::Call => self.call(instruction),
            _ => {}
        }
        Names::Defined(registers)
    }

    fn guard(&mut self, name: Name) -> bool {
        let Some(binding) = self.resolve(name) else { return false };
        if !matches!(binding, Binding::Register(register) if register.ty == ScalarType::Pred) {
            let message =
                format!("`{}` cannot guard an instruction: it is {}", self.text(name.sym), describe(&binding));
            let help = "compare it with `setp` to make a predicate";
            self.error(Diagnostic::new(name.span, message).label("expected a `.pred` register").help(help));
        }
        true
    }

    /// Checks every operand, also after one with an undefined name.
    fn operands(&mut self, operands: &'m [Operand]) -> bool {
        let mut good = true;
        for operand in operands {
            good &= self.operand(operand);
        }
        good
    }

    /// Checks that all names in an operand are declared.
    fn operand(&mut self, operand: &'m Operand) -> bool {
        match operand {
            Operand::Name(name) | Operand::Offset { name, .. } | Operand::Part(name, _) => {
                self.resolve(*name).is_some()
            }
            Operand::Not(inner, _) | Operand::Neg(inner, _) => self.operand(inner),
            Operand::Vector(items, _) | Operand::List(items, _) => self.operands(items),
            Operand::Pair(pair) => self.operands(&pair[..]),
            Operand::Address(address) => self.address(address),
            Operand::Special { .. } | Operand::Imm(..) | Operand::Sink(_) => true,
        }
    }

    fn address(&mut self, address: &'m Address) -> bool {
        let mut good = match address.base {
            AddressBase::Absolute => true,
            AddressBase::Element(name, _) | AddressBase::Name(name) => self.address_base(name),
            AddressBase::Item(array, index) => {
                if index.is_some() {
                    self.shared_array(array);
                }
                let array = self.resolve(array).is_some();
                index.is_none_or(|index| self.address_base(index)) && array
            }
        };
        good &= self.operands(&address.rest);
        good
    }

    /// A register in an address must hold an integer or bits.
    fn address_base(&mut self, name: Name) -> bool {
        let Some(binding) = self.resolve(name) else { return false };
        let text = self.text(name.sym);
        match binding {
            Binding::Register(register) if !addresses(register.ty) => {
                let message = format!("`{text}` cannot be an address: it is {}", describe(&binding));
                self.error(Diagnostic::new(name.span, message).label("expected an integer or untyped register"));
            }
            Binding::Label(_) | Binding::Prototype(_) | Binding::CallTargets(_) | Binding::BranchTargets(_) => {
                let message = format!("`{text}` cannot be an address: it is {}", describe(&binding));
                self.error(Diagnostic::new(name.span, message));
            }
            _ => {}
        }
        true
    }

    fn branch(&mut self, instruction: &'m Instruction) {
        if let Some(name) = instruction.operands.first().and_then(Operand::name)
            && let Some(binding) = self.scopes.lookup(name.sym)
            && !matches!(binding, Binding::Label(_))
        {
            let message = format!("`bra` needs a label, but `{}` is {}", self.text(name.sym), describe(&binding));
            self.error(Diagnostic::new(name.span, message).label("expected a label"));
        }
    }

    fn indexed_branch(&mut self, instruction: &'m Instruction) {
        if let Some(name) = instruction.operands.get(1).and_then(Operand::name)
            && let Some(binding) = self.scopes.lookup(name.sym)
            && !matches!(binding, Binding::BranchTargets(_))
        {
            let message =
                format!("`brx.idx` needs a list of targets, but `{}` is {}", self.text(name.sym), describe(&binding));
            self.error(Diagnostic::new(name.span, message).help("declare one with `label: .branchtargets L0, L1;`"));
        } else if let Some(name) = instruction.operands.get(1).and_then(Operand::name) {
            self.list_before_use(name);
        }
    }

    /// Lists of targets and prototypes stand before the instructions that use
    /// them.
    fn list_before_use(&mut self, name: Name) {
        let Some(declared) = self.scopes.lookup(name.sym).and_then(|binding| binding.declared()) else { return };
        if declared.span.start > name.span.start {
            let message = format!("`{}` is used before it is declared", self.text(name.sym));
            let diagnostic = Diagnostic::new(name.span, message).rule(Rule::Declaration);
            self.error(diagnostic.related(declared.span, "declared here").help("move its declaration up"));
        }
    }

    fn call(&mut self, instruction: &'m Instruction) {
        let Some(call) = instruction.call() else { return };
        let Some(name) = call.callee.name() else { return };
        let indirect = match self.scopes.lookup(name.sym) {
            Some(Binding::Function(_) | Binding::Alias(..)) | None => false,
            Some(Binding::Register(_)) => true,
            Some(binding) => {
                let message = format!("`{}` cannot be called: it is {}", self.text(name.sym), describe(&binding));
                return self.error(Diagnostic::new(name.span, message).label("expected a function or a register"));
            }
        };
        match call.prototype {
            None if indirect => {
                let help = "add the label of a `.callprototype` or `.calltargets` as the last operand";
                let message = "an indirect call needs a prototype";
                self.error(Diagnostic::new(instruction.span, message).help(help));
            }
            Some(label) => self.prototype(label),
            None => {}
        }
        self.arguments(instruction, &call, name);
    }

    fn prototype(&mut self, label: Name) {
        if let Some(binding) = self.scopes.lookup(label.sym)
            && !matches!(binding, Binding::Prototype(_) | Binding::CallTargets(_))
        {
            let message =
                format!("a call needs a prototype here, but `{}` is {}", self.text(label.sym), describe(&binding));
            self.error(Diagnostic::new(label.span, message));
        } else {
            self.list_before_use(label);
        }
    }

    /// `.calltargets` names functions.
    pub(super) fn call_targets(&mut self, list: &TargetList) {
        self.needs("`.calltargets`", "call_prototypes", list.label.span);
        for &name in &list.targets {
            let binding = self.resolve(name);
            if let Some(binding) = binding.filter(|b| !matches!(b, Binding::Function(_) | Binding::Alias(..))) {
                let message = format!("`{}` is no function: it is {}", self.text(name.sym), describe(&binding));
                self.error(Diagnostic::new(name.span, message));
            }
        }
    }

    /// `.branchtargets` names labels.
    pub(super) fn branch_targets(&mut self, list: &TargetList) {
        self.needs("`.branchtargets`", "branch_targets", list.label.span);
        for &name in &list.targets {
            let binding = self.resolve(name);
            if let Some(binding) = binding.filter(|b| !matches!(b, Binding::Label(_))) {
                let message = format!("`{}` is no label: it is {}", self.text(name.sym), describe(&binding));
                self.error(Diagnostic::new(name.span, message));
            }
        }
    }

    /// What a name means; reports it, once per function, when it means nothing.
    pub(super) fn resolve(&mut self, name: Name) -> Option<Binding<'m>> {
        let found = self.scopes.lookup(name.sym);
        match &found {
            Some(binding @ (Binding::Function(_) | Binding::Variable(_))) => {
                if self.first_place(name.sym).is_some_and(|place| place > name.span.start)
                    && binding.declared().is_some_and(|declared| declared.span.start > name.span.start)
                {
                    self.used_too_early(name, binding);
                }
            }
            Some(_) => {}
            None => {
                let seen = &mut self.seen[name.sym.index()];
                if *seen != self.function + 1 {
                    *seen = self.function + 1;
                    self.undefined(name);
                }
            }
        }
        found
    }

    /// Where a block declares the name, or one inside of it; and the block that does.
    fn declared_within<'b>(&self, block: &'b Block, name: Name) -> Option<(Name, &'b Block)> {
        block.statements.iter().find_map(|statement| match statement {
            Statement::Block(inner) => self.declared_within(inner, name),
            statement => Some((declaration_of(statement, name, &self.module.symbols)?, block)),
        })
    }

    fn undefined(&mut self, name: Name) {
        let text = self.text(name.sym);
        let kind = if text.starts_with('%') { "register" } else { self.expected };
        if self.errors.len() < super::MOST_SUGGESTIONS
            && let Some((inner, block)) =
                self.current.and_then(|function| self.declared_within(function.body.as_ref()?, name))
        {
            if (block.span.start..block.span.end).contains(&name.span.start) {
                let diagnostic = Diagnostic::new(name.span, format!("`{text}` is used before it is declared"));
                return self.error(diagnostic.related(inner.span, "declared here").help("move its declaration up"));
            }
            let message = format!("`{text}` is declared in a block that does not reach to here");
            let diagnostic = Diagnostic::new(name.span, message).label("used outside of the block");
            return self.error(diagnostic.related(inner.span, "declared here").help("declare it before the block"));
        }
        let diagnostic = Diagnostic::new(name.span, format!("undefined {kind} `{text}`")).label("not declared");
        let near = of_cuda(text).or_else(|| self.suggestion(text));
        let diagnostic = match (self.scopes.short_range(name.sym), near) {
            (Some((stem, count)), _) => {
                let stem_text = self.text(stem.sym);
                let declared = match count {
                    0 => "no register".to_owned(),
                    _ => format!("only `{stem_text}0` to `{stem_text}{}`", count - 1),
                };
                diagnostic
                    .related(stem.span, format!("declares {declared}"))
                    .help(format!("raise the number in `{stem_text}<{count}>`"))
            }
            (None, Some(near)) => diagnostic.help(format!("did you mean `{near}`?")),
            (None, None) => {
                let diagnostic = match self.declared_elsewhere(name) {
                    Some((declared, function)) => diagnostic.related(
                        declared.span,
                        format!("declared in another function, `{}`", self.text(function.name.sym)),
                    ),
                    None => diagnostic,
                };
                match kind {
                    "register" => diagnostic.help(format!("declare it, for example `.reg .b32 {text};`")),
                    _ => diagnostic,
                }
            }
        };
        self.error(diagnostic);
    }

    /// Where another function declares the name.
    fn declared_elsewhere(&self, name: Name) -> Option<(Name, &'m Function)> {
        if self.errors.len() >= super::MOST_SUGGESTIONS {
            return None;
        }
        self.module.functions().find_map(|function| {
            let mut parameters = function.params.iter().chain(&function.rets).filter_map(|parameter| parameter.name);
            let found = parameters.find(|declared| declared.sym == name.sym).or_else(|| {
                let (declared, _) = self.declared_within(function.body.as_ref()?, name)?;
                Some(declared)
            });
            Some((found?, function))
        })
    }
}

/// The special register that CUDA calls so.
fn of_cuda(name: &str) -> Option<&'static str> {
    const NAMES: [(&str, &str); 5] = [
        ("threadIdx", "%tid"),
        ("blockIdx", "%ctaid"),
        ("blockDim", "%ntid"),
        ("gridDim", "%nctaid"),
        ("warpSize", "WARP_SZ"),
    ];
    let name = name.trim_start_matches('%');
    NAMES.iter().find(|(cuda, _)| *cuda == name).map(|(_, ptx)| *ptx)
}

/// Where a statement declares the name.
fn declaration_of(statement: &Statement, name: Name, symbols: &SymbolTable) -> Option<Name> {
    let in_range = |register: &RegisterName, count: u32| {
        let digits = symbols.text(name.sym).strip_prefix(symbols.text(register.name.sym))?;
        let number = digits.parse::<u32>().ok().filter(|number| number.to_string() == digits)?;
        (number < count).then_some(register.name)
    };
    match statement {
        Statement::Registers(registers) => registers.names.iter().find_map(|register| match register.count {
            Some(count) => in_range(register, count),
            None => (register.name.sym == name.sym).then_some(register.name),
        }),
        Statement::Variable(variable) => variable.name.filter(|declared| declared.sym == name.sym),
        Statement::Label(label) => Some(*label).filter(|declared| declared.sym == name.sym),
        _ => None,
    }
}

/// True for types whose registers can hold an address.
fn addresses(ty: ScalarType) -> bool {
    ty.bits() <= 64 && !matches!(ty.class(), TypeClass::Float | TypeClass::Predicate)
}

/// How messages call what a name refers to.
pub(super) fn describe(binding: &Binding<'_>) -> String {
    match binding {
        Binding::Register(register) => match register.vector {
            Some(vector) => format!("a `.{vector} .{}` register", register.ty),
            None => format!("a `.{}` register", register.ty),
        },
        Binding::Variable(variable) => format!("a variable in `.{}` space", variable.space),
        Binding::Function(_) | Binding::Alias(..) => "a function".to_owned(),
        Binding::Label(_) => "a label".to_owned(),
        Binding::Prototype(_) => "a call prototype".to_owned(),
        Binding::CallTargets(_) => "a list of call targets".to_owned(),
        Binding::BranchTargets(_) => "a list of branch targets".to_owned(),
    }
}
