//! Operands against the table of [`rules`](super::rules).

use super::Checker;
use super::rules::{Rule, Slot, compatible, rule_for};
use crate::ast::{Imm, Instruction, Modifier, Opcode, Operand, ScalarType, Span, TypeClass};
use crate::diag::Diagnostic;
use crate::scope::{Binding, Register};

/// What a register operand must hold.
#[derive(Clone, Copy)]
struct Wanted {
    ty: ScalarType,
    wider: bool,
    result: bool,
}

impl<'m> Checker<'m> {
    /// Checks the number, kinds and types of an instruction's operands.
    pub(super) fn types(&mut self, instruction: &'m Instruction) {
        let Some(rule) = rule_for(instruction) else { return };
        if !self.count(instruction, &rule) {
            return;
        }
        let types: Vec<ScalarType> = instruction.types().collect();
        for (operand, slot) in instruction.operands.iter().zip(rule.slots) {
            self.slot(instruction, operand, *slot, &types);
        }
    }

    fn count(&mut self, instruction: &Instruction, rule: &Rule) -> bool {
        let (found, most) = (instruction.operands.len(), rule.slots.len());
        if (rule.required..=most).contains(&found) {
            return true;
        }
        let wanted = if found < rule.required { rule.required } else { most };
        let message = format!("`{}` takes {wanted} operands, not {found}", instruction.opcode);
        self.error(Diagnostic::new(instruction.span, message));
        false
    }

    fn slot(&mut self, instruction: &Instruction, operand: &'m Operand, slot: Slot, types: &[ScalarType]) {
        // `rule_for` has matched the number of types, so the indices hold.
        let ty = |n: u8| types[usize::from(n)];
        let wanted = match slot {
            Slot::Any => return,
            Slot::Address => return self.bracketed(instruction, operand),
            Slot::Dst(n) => Wanted { ty: ty(n), wider: false, result: true },
            Slot::WideDst(n) => Wanted { ty: ty(n), wider: true, result: true },
            Slot::Src(n) => Wanted { ty: ty(n), wider: false, result: false },
            Slot::WideSrc(n) => Wanted { ty: ty(n), wider: true, result: false },
            Slot::DoubleDst => Wanted { ty: doubled(ty(0)), wider: false, result: true },
            Slot::DoubleSrc => Wanted { ty: doubled(ty(0)), wider: false, result: false },
            Slot::Dst32 => Wanted { ty: ScalarType::U32, wider: false, result: true },
            Slot::Src32 => Wanted { ty: ScalarType::U32, wider: false, result: false },
            Slot::PredDst => Wanted { ty: ScalarType::Pred, wider: false, result: true },
            Slot::PredSrc => Wanted { ty: ScalarType::Pred, wider: false, result: false },
        };
        self.typed_operand(instruction, operand, wanted);
    }

    fn typed_operand(&mut self, instruction: &Instruction, operand: &'m Operand, wanted: Wanted) {
        match operand {
            Operand::Name(name) => {
                let binding = self.scopes.lookup(name.sym);
                self.bound_operand(instruction, operand, binding, wanted);
            }
            Operand::Part(name, _) => {
                if let Some(Binding::Register(register)) = self.scopes.lookup(name.sym) {
                    self.register(instruction, operand, Register { vector: None, ..register }, wanted);
                }
            }
            Operand::Imm(_, span) if wanted.result => {
                let message = format!("the result of `{}` must be a register, not a constant", instruction.opcode);
                self.error(Diagnostic::new(*span, message));
            }
            Operand::Imm(imm, span) => self.constant(instruction, *imm, *span, wanted.ty),
            Operand::Vector(items, span) => self.vector(instruction, items, *span, wanted),
            Operand::Pair(pair) if wanted.result => {
                pair.iter().for_each(|half| self.typed_operand(instruction, half, wanted));
            }
            _ => {}
        }
    }

    /// Loads and stores take their address in brackets, or an array element
    /// such as `table[2]`.
    fn bracketed(&mut self, instruction: &Instruction, operand: &Operand) {
        let element = matches!(operand, Operand::Offset { element: true, .. });
        if operand.address().is_none() && !element {
            let shown = crate::print::print_operand(operand, &self.module.symbols);
            let message = format!("`{}` needs an address here", head(instruction, &self.module.symbols));
            self.error(Diagnostic::new(operand.span(), message).help(format!("write it in brackets: `[{shown}]`")));
        }
    }

    fn bound_operand(
        &mut self,
        instruction: &Instruction,
        operand: &'m Operand,
        binding: Option<Binding<'m>>,
        wanted: Wanted,
    ) {
        match binding {
            Some(Binding::Register(register)) => self.register(instruction, operand, register, wanted),
            Some(binding) if wanted.result => {
                let kind = super::names::describe(&binding);
                let message = format!("the result of `{}` must be a register, not {kind}", instruction.opcode);
                self.error(Diagnostic::new(operand.span(), message).label("expected a register"));
            }
            _ => {}
        }
    }

    fn register(&mut self, instruction: &Instruction, operand: &'m Operand, register: Register, wanted: Wanted) {
        if register.vector.is_some() || compatible(wanted.ty, register.ty, wanted.wider) {
            return;
        }
        let (ty, found) = (wanted.ty, register.ty);
        let shown = crate::print::print_operand(operand, &self.module.symbols);
        let role = if wanted.result { "result" } else { "operand" };
        let message = format!(
            "`{}` needs a `.{ty}` {role}, but `{shown}` is a `.{found}` register",
            head(instruction, &self.module.symbols)
        );
        let declared = register.declared.span;
        self.error(
            Diagnostic::new(operand.span(), message)
                .label(format!("a `.{found}` register"))
                .related(declared, "declared here")
                .help(advice(ty, found, wanted)),
        );
    }

    /// Constants of an integer type are integers, those of a float type floats;
    /// untyped bits take both, if the size fits.
    fn constant(&mut self, instruction: &Instruction, imm: Imm, span: Span, ty: ScalarType) {
        let is_float = matches!(imm, Imm::F32(_) | Imm::F64(_));
        let wrong = match ty.class() {
            TypeClass::Float => !is_float,
            TypeClass::Bits => match imm {
                Imm::F32(_) => ty.bits() != 32,
                Imm::F64(_) => ty.bits() != 64,
                Imm::S64(_) | Imm::U64(_) => false,
            },
            _ => is_float,
        };
        // Packed halves are written as integers.
        if !wrong || matches!(ty, ScalarType::F16 | ScalarType::F16x2) {
            return;
        }
        let kind = if is_float { "a floating-point" } else { "an integer" };
        let message = format!("`{}` cannot take {kind} constant", head(instruction, &self.module.symbols));
        let help = match ty.class() {
            TypeClass::Float => {
                "write it with a decimal point, or in hexadecimal as `0f3F800000` or `0d3FF0000000000000`"
            }
            _ => "write an integer",
        };
        self.error(Diagnostic::new(span, message).help(help));
    }

    /// Vectors of loads and stores have as many elements as the instruction
    /// says; those of `mov` pack smaller registers.
    fn vector(&mut self, instruction: &Instruction, items: &'m [Operand], span: Span, wanted: Wanted) {
        match instruction.opcode {
            Opcode::Ld | Opcode::Ldu | Opcode::St => {
                let count = instruction.vector().map_or(1, |vector| vector.len());
                if items.len() != count {
                    let message = format!("the vector has {} elements, the instruction moves {count}", items.len());
                    self.error(Diagnostic::new(span, message));
                }
                items.iter().for_each(|item| self.typed_operand(instruction, item, wanted));
            }
            Opcode::Mov | Opcode::Cvt => {}
            _ => {
                let message = format!("`{}` does not take a vector here", instruction.opcode);
                self.error(Diagnostic::new(span, message));
            }
        }
    }
}

/// The opcode with its modifiers.
fn head(instruction: &Instruction, symbols: &crate::ast::SymbolTable) -> String {
    let mut text = instruction.opcode.as_str().to_owned();
    for modifier in instruction.modifiers.iter().filter(|m| !matches!(m, Modifier::Other(_))) {
        // Writing to a `String` cannot fail.
        let _ = modifier.write(symbols, &mut text);
    }
    text
}

/// The type of twice the size.
fn doubled(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::U16 => ScalarType::U32,
        ScalarType::S16 => ScalarType::S32,
        ScalarType::U32 => ScalarType::U64,
        ScalarType::S32 => ScalarType::S64,
        other => other,
    }
}

/// What to do about a register of the wrong type.
fn advice(ty: ScalarType, found: ScalarType, wanted: Wanted) -> String {
    if ty == ScalarType::Pred {
        return "make a predicate with `setp`".to_owned();
    }
    if found == ScalarType::Pred {
        return "turn a predicate into a number with `selp`".to_owned();
    }
    if found.bits() == ty.bits() {
        return format!("the kinds differ: convert with `cvt`, or move the bits with `mov.b{}`", ty.bits());
    }
    let relation = if wanted.wider { "at least" } else { "exactly" };
    format!("the register must have {relation} {} bits: convert with `cvt`, or change its declaration", ty.bits())
}
