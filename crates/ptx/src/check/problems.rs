//! Words for operands that do not fit.

use super::Checker;
use super::operands::{Fault, Problem};
use crate::ast::{AddressBase, Instruction, Operand, ScalarType, Span};
use crate::diag::{Diagnostic, Rule};
use crate::grammar::{Fit, OperandSpec, any_of};
use crate::parse::shorten;
use crate::scope::Register;

impl Checker<'_> {
    /// The error about the operand that kept the best form from fitting.
    pub(super) fn explain_operand(&self, instruction: &Instruction, fits: &[Fit], fault: Fault) -> Diagnostic {
        let head = self.head(instruction);
        let Fault { place, span, problem } = fault;
        let new = |rule: Rule, message: String| Diagnostic::new(span, message).rule(rule);
        match problem {
            Problem::Count => operand_count(instruction, fits),
            Problem::Register { wanted, wider, result, register } => {
                self.wrong_register(instruction, (wanted, wider, result), register, span)
            }
            Problem::Constant { wanted, float } => {
                let kind = if float { "a floating-point" } else { "an integer" };
                let help = match wanted.is_float() {
                    true => "write it with a decimal point, or in hexadecimal as `0f3F800000` or `0d3FF0000000000000`",
                    false => "write an integer",
                };
                new(Rule::Kind, format!("`{head}` cannot take {kind} constant")).help(help)
            }
            Problem::Range { found, bounds } => {
                let wanted = bounds.words();
                new(Rule::Range, format!("the constant {found} is out of range: it must be {wanted}"))
                    .label(format!("`{head}` takes {wanted} here"))
            }
            Problem::NoConstant { result: true } => {
                new(Rule::Kind, format!("the result of `{}` must be a register, not a constant", instruction.opcode))
            }
            Problem::NoConstant { result: false } => new(Rule::Kind, format!("`{head}` takes only a register here"))
                .help("move the constant to a register with `mov`"),
            Problem::OnlyConstant => {
                new(Rule::Kind, format!("`{head}` takes only a constant here")).label("expected a constant")
            }
            Problem::Kind { expected } => {
                let found = self.written(&instruction.operands, span).filter(|_| !expected.contains(", not "));
                let instead = found.map_or(String::new(), |found| format!(", not `{}`", shorten(&found)));
                new(Rule::Kind, format!("`{head}` takes {expected} here{instead}"))
                    .label(format!("expected {expected}"))
            }
            Problem::Symbol { result: true, what } => {
                new(Rule::Kind, format!("the result of `{}` must be a register, not {what}", instruction.opcode))
                    .label("expected a register")
            }
            Problem::Symbol { result: false, what } => {
                new(Rule::Kind, format!("`{head}` takes a value here, not {what}"))
                    .label("expected a register or a constant")
                    .help("take its address with `mov` first, or read it with `ld`")
            }
            Problem::Negated => {
                new(Rule::Kind, format!("`{head}` does not negate this operand")).help("use `neg` or `not` before it")
            }
            Problem::Special { result: true } => {
                new(Rule::Kind, format!("`{head}` cannot write a special register: it is only read"))
            }
            Problem::Special { result: false } => {
                let found = self.written(&instruction.operands, span).unwrap_or_default();
                new(Rule::Kind, format!("`{head}` does not read special registers such as `{found}`"))
                    .help("copy it to a register with `mov` first")
            }
            Problem::Sink => {
                new(Rule::Kind, format!("`{head}` cannot throw this operand away")).label("expected a register")
            }
            Problem::Pair { needed: true } => new(Rule::Kind, format!("`{head}` has two results here"))
                .help("write them as `a|b`; `_` stands for one that is not needed"),
            Problem::Pair { needed: false } => new(Rule::Kind, format!("`{head}` has only one result here")),
            Problem::Length { found, wanted } => {
                let found = counted(found, "element");
                new(Rule::Kind, format!("the vector has {found}, the instruction takes {wanted}"))
            }
            Problem::Coordinates { found, wanted } => {
                let message = format!("a place in this tensor has {}, not {found}", counted(wanted, "coordinate"));
                new(Rule::Count, message)
            }
            Problem::Mixed => new(Rule::Register, "the registers of a vector must all be of one size".to_owned()),
            Problem::Neighbours => {
                new(Rule::Register, "neighbours in a vector must both be integers, or of one type of float".to_owned())
            }
            Problem::Pack { bits } => new(
                Rule::Register,
                format!("the registers in braces must have {bits} bits together"),
            )
            .help(format!("write 2 registers of {} bits, or 4 of {}", bits / 2, bits / 4)),
            Problem::NoElement { vector } => new(Rule::Kind, format!("a `.{vector}` register has no such element")),
            Problem::NoPart => new(Rule::Kind, format!("`{head}` does not take a part of a register here")).help(
                "`.x .y .z .w` are elements of vector registers, `.b0`…`.b3`, `.h0`, `.h1` parts in video instructions",
            ),
            Problem::NotArray => new(Rule::Kind, "only an array has elements".to_owned())
                .help("declare the variable with a size in brackets, or write `[name+offset]`"),
            Problem::Index => new(Rule::Register, "the index must be a register of 32 or 64 bits".to_owned()),
            Problem::BaseSize { register, name } => new(
                Rule::Register,
                format!(
                    "`{head}` needs an address of 64 bits, but `{}` has {}",
                    self.text(name.sym),
                    register.ty.bits()
                ),
            )
            .related(register.declared.span, "declared here")
            .help("widen it with `cvt.u64.u32`"),
            Problem::SpecialWidth { widths } => {
                let types: Vec<String> = widths.iter().map(special_type).collect();
                let types = types.join(" or ");
                new(Rule::Register, format!("`{head}` reads a special register of another size"))
                    .help(format!("read it with {types}"))
            }
            Problem::AddressSize => {
                new(Rule::Register, "the address has 64 bits".to_owned()).help("write `mov.u64` and a 64-bit register")
            }
            Problem::AddressOfExtern => {
                new(Rule::Linkage, "only a linker knows the address of an `.extern` function".to_owned())
                    .help("define the function in this module, or compile to an object file with `-c`")
            }
            Problem::Brackets => {
                let shown = instruction.operands.get(place.wrapping_sub(1));
                let shown = shown.map(|operand| crate::print::print_operand(operand, &self.module.symbols));
                new(Rule::Kind, format!("`{head}` needs an address here"))
                    .help(format!("write it in brackets: `[{}]`", shown.unwrap_or_default()))
            }
            Problem::Space { wanted, found } => new(
                Rule::Space,
                format!("`{head}` reaches `.{wanted}` space, but this variable is in `.{found}` space"),
            )
            .help(format!("write `.{found}` in the instruction")),
            Problem::NotGeneric { found } => {
                let message = format!("`{head}` takes a generic address, but this variable is in `.{found}` space");
                new(Rule::Space, message).help(format!("write `.{found}` in the instruction"))
            }
            Problem::Absolute => new(Rule::Space, "a constant can be an address only in `.local` space".to_owned())
                .help("move the address to a register with `mov`"),
            Problem::Inside => {
                new(Rule::Count, format!("`{head}` takes another number of operands inside these brackets"))
            }
        }
    }

    /// The operand at a place, in braces or brackets or not, as it is printed.
    fn written(&self, operands: &[Operand], at: Span) -> Option<String> {
        operands.iter().find_map(|operand| match operand {
            _ if (operand.span().start, operand.span().end) == (at.start, at.end) => {
                Some(crate::print::print_operand(operand, &self.module.symbols))
            }
            Operand::Vector(items, _) | Operand::List(items, _) => self.written(items, at),
            Operand::Pair(pair) => self.written(&pair[..], at),
            Operand::Neg(inner, _) | Operand::Not(inner, _) => self.written(std::slice::from_ref(&**inner), at),
            Operand::Address(address) => match address.base {
                AddressBase::Name(name) if (name.span.start, name.span.end) == (at.start, at.end) => {
                    Some(self.text(name.sym).to_owned())
                }
                _ => self.written(&address.rest, at),
            },
            _ => None,
        })
    }

    fn wrong_register(
        &self,
        instruction: &Instruction,
        (wanted, wider, result): (ScalarType, bool, bool),
        register: Register,
        span: Span,
    ) -> Diagnostic {
        let found = register.ty;
        let shown = self.written(&instruction.operands, span);
        let shown = shown.unwrap_or_else(|| self.text(register.declared.sym).to_owned());
        let role = if result { "result" } else { "operand" };
        let message =
            format!("`{}` needs a `.{wanted}` {role}, but `{shown}` is a `.{found}` register", self.head(instruction));
        Diagnostic::new(span, message)
            .rule(Rule::Register)
            .label(format!("a `.{found}` register"))
            .related(register.declared.span, "declared here")
            .help(advice(wanted, found, wider))
    }
}

/// A number of things.
pub(super) fn counted(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// The `mov` that reads a special register of so many bits.
fn special_type(bits: &u32) -> String {
    if *bits == 1 { "`mov.pred`".to_owned() } else { format!("`mov.u{bits}`") }
}

fn operand_count(instruction: &Instruction, fits: &[Fit]) -> Diagnostic {
    let here = |spec: &&OperandSpec| {
        spec.with.is_empty() || spec.with.iter().any(|modifier| instruction.modifiers.contains(modifier))
    };
    let least =
        fits.iter().map(|fit| fit.form.operands.iter().filter(here).filter(|spec| !spec.optional).count()).min();
    let most = fits.iter().map(|fit| fit.form.operands.iter().filter(here).count()).max();
    let (least, most, found) = (least.unwrap_or(0), most.unwrap_or(0), instruction.operands.len());
    let wanted = match (least, most) {
        (0, 0) => "no operands".to_owned(),
        (1, 1) => "1 operand".to_owned(),
        (least, most) if least == most => format!("{least} operands"),
        (least, most) => format!("{least} to {most} operands"),
    };
    let longer = fits.iter().filter(|fit| found > most && found <= fit.form.operands.iter().count());
    let message = match longer.flat_map(|fit| fit.form.operands.iter()).find(|spec| !here(spec)) {
        // The modifier that brings another operand with it is missing.
        Some(spec) => {
            let (opcode, modifiers) = (instruction.opcode, any_of(spec.with.iter().copied()));
            format!("`{opcode}` takes {found} operands only with {modifiers}")
        }
        None => format!("`{}` takes {wanted}, not {found}", instruction.opcode),
    };
    Diagnostic::new(instruction.span, message).rule(Rule::Count)
}

/// What to do about a register of the wrong type.
fn advice(wanted: ScalarType, found: ScalarType, wider: bool) -> String {
    if wanted == ScalarType::Pred {
        return "make a predicate with `setp`".to_owned();
    }
    if found == ScalarType::Pred {
        return "turn a predicate into a number with `selp`".to_owned();
    }
    if found.bits() == wanted.bits() {
        return format!("the kinds differ: convert with `cvt`, or move the bits with `mov.b{}`", wanted.bits());
    }
    let relation = if wider { "at least" } else { "exactly" };
    format!("the register must have {relation} {} bits: convert with `cvt`, or change its declaration", wanted.bits())
}
