//! Instructions against the grammar: modifiers, operands, version and target.

use std::cell::Cell;
use std::rc::Rc;

use super::Checker;
use super::names::{Names, Registers};
use super::operands::Fault;
use crate::ast::{FunctionDirective, Instruction, Modifier, Operand, Span, SpecialReg};
use crate::diag::{Diagnostic, Rule};
use crate::grammar::{self, Fit, Need, Selection};

/// What is known of an opcode with its modifiers.
pub(super) struct Head {
    /// What the grammar says of them.
    selection: Selection,
    /// Operands that fit the module's version and target too, if they are all registers: those that were last seen.
    fitting: Cell<Registers>,
}

impl<'m> Checker<'m> {
    /// Checks an instruction whose modifiers are all known. Operands are
    /// looked at only where all their names mean something.
    pub(super) fn grammar(&mut self, instruction: &'m Instruction, names: Names) {
        let head = self.head_of(instruction);
        if names == Names::Defined(head.fitting.get()) && head.fitting.get() != Registers::OTHERS {
            return;
        }
        let fits = match &head.selection {
            Selection::Fits(fits) => fits,
            Selection::Misses(miss) => {
                let diagnostic = self.explain(instruction, miss);
                return self.error(diagnostic);
            }
        };
        let mut lacking = None;
        let mut worst: Option<Fault> = None;
        for fit in fits {
            if names != Names::Undefined
                && let Err(fault) = self.operands_fit(instruction, fit)
            {
                if worst.as_ref().is_none_or(|seen| fault.says_more_than(seen)) {
                    worst = Some(fault);
                }
                continue;
            }
            match self.unmet(fit) {
                None => {
                    let versions = fit.needs.iter().map(|(_, need)| need.version);
                    self.least_version = versions.fold(self.least_version, Ord::max);
                    if let Names::Defined(registers) = names {
                        head.fitting.set(registers);
                    }
                    return self.specials(instruction);
                }
                Some(need) => lacking = lacking.or(Some((fit, need))),
            }
        }
        let diagnostic = match (lacking, worst) {
            (Some((fit, (modifier, need))), _) => self.too_old(instruction, fit, modifier, need),
            (None, Some(fault)) => self.explain_operand(instruction, fits, fault),
            (None, None) => return,
        };
        self.error(diagnostic);
    }

    /// What the special registers among the operands need.
    fn specials(&mut self, instruction: &Instruction) {
        for operand in &instruction.operands {
            let Operand::Special { reg, span, .. } = operand else { continue };
            let need = &*grammar::special(*reg).need;
            self.least_version = self.least_version.max(need.version);
            if let Some(diagnostic) = self.unmet_need(&format!("`%{reg}`"), need, *span) {
                self.error(diagnostic);
            } else if matches!(reg, SpecialReg::Perctamemoryoffset | SpecialReg::Perctamemorysize)
                && !self.has_memory_per_block()
            {
                let message = format!("`%{reg}` is only there in kernels with `.minperctamemory`");
                let help = "write `.minperctamemory 0` between the kernel's parameters and its body";
                self.error(Diagnostic::new(*span, message).rule(Rule::Declaration).help(help));
            }
        }
    }

    /// Whether the function whose body is checked has `.minperctamemory`.
    fn has_memory_per_block(&self) -> bool {
        let mut directives = self.current.iter().flat_map(|function| &function.directives);
        directives.any(|directive| matches!(directive, FunctionDirective::MinPerCtaMemory(_)))
    }

    /// What is known of an instruction's opcode with its modifiers; modules repeat few of them many times.
    fn head_of(&mut self, instruction: &'m Instruction) -> Rc<Head> {
        let key = (instruction.opcode, instruction.modifiers.as_slice());
        let selected = || Selection::of(instruction, self.module.version, self.target);
        let make = || Rc::new(Head { selection: selected(), fitting: Cell::new(Registers::OTHERS) });
        Rc::clone(self.heads.entry(key).or_insert_with(make))
    }

    /// What a form needs and the module does not have, with the modifier that
    /// needs it.
    fn unmet(&self, fit: &Fit) -> Option<(Option<Modifier>, &'static Need)> {
        let missing = |need: &Need| self.is_before(need) || !need.allows(self.target);
        fit.needs.iter().copied().find(|(_, need)| missing(need))
    }

    /// True if the module is older than what it needs; a version that is missing is reported elsewhere.
    fn is_before(&self, need: &Need) -> bool {
        need.version > self.module.version && self.module.version != (0, 0)
    }

    /// The error about a version or target that is too old.
    fn too_old(&self, instruction: &Instruction, fit: &Fit, modifier: Option<Modifier>, need: &Need) -> Diagnostic {
        let feature = match modifier {
            Some(modifier) => format!("`{}` of `{}`", grammar::modifier(modifier), fit.spec.name()),
            None => format!("`{}`", self.head(instruction)),
        };
        let at = modifier.map_or(instruction.opcode_span, |modifier| self.place_of(instruction, modifier));
        // The caller has found the need unmet.
        self.unmet_need(&feature, need, at).unwrap_or_else(|| Diagnostic::new(at, feature))
    }

    /// The error about something that this module's version or target does
    /// not have; `None` when they do.
    pub(super) fn unmet_need(&self, feature: &str, need: &Need, at: Span) -> Option<Diagnostic> {
        let ((major, minor), (has_major, has_minor)) = (need.version, self.module.version);
        let (old_target, old_version) = (!need.allows(self.target), self.is_before(need));
        let found = self.module.target.first().map_or("", String::as_str);
        let words = need.target_words();
        let (message, help, rule) = match (old_target, old_version) {
            (false, false) => return None,
            (true, false) => (
                format!("{feature} needs the target {words}, but this module is for `{found}`"),
                format!("raise `.target` to {words}"),
                Rule::Target,
            ),
            (false, true) => (
                format!("{feature} needs PTX {major}.{minor}, but this module says {has_major}.{has_minor}"),
                format!("raise `.version` to {major}.{minor}"),
                Rule::Version,
            ),
            (true, true) => (
                format!(
                    "{feature} needs the target {words} and PTX {major}.{minor}, but this module is for `{found}` and \
                     says {has_major}.{has_minor}"
                ),
                format!("raise `.target` to {words}, and `.version` to {major}.{minor}"),
                Rule::Target,
            ),
        };
        Some(Diagnostic::new(at, message).rule(rule).help(help))
    }

    /// The opcode with its modifiers, as written.
    pub(super) fn head(&self, instruction: &Instruction) -> String {
        let mut text = instruction.opcode.as_str().to_owned();
        for modifier in &instruction.modifiers {
            // Writing to a `String` cannot fail.
            let _ = modifier.write(&self.module.symbols, &mut text);
        }
        text
    }

    /// The place of a modifier; the whole opcode where it is not written
    /// without spaces.
    pub(super) fn place_of(&self, instruction: &Instruction, wanted: Modifier) -> Span {
        let at = instruction.modifiers.iter().position(|&m| m == wanted);
        at.map_or(instruction.opcode_span, |at| self.place_at(instruction, at))
    }

    /// The place of the modifier with this index.
    pub(super) fn place_at(&self, instruction: &Instruction, index: usize) -> Span {
        let whole = instruction.opcode_span;
        let mut text = instruction.opcode.as_str().to_owned();
        let mut bounds = (0, 0);
        for (at, modifier) in instruction.modifiers.iter().enumerate() {
            let start = text.len();
            // Writing to a `String` cannot fail.
            let _ = modifier.write(&self.module.symbols, &mut text);
            if at == index {
                bounds = (start as u32, text.len() as u32);
            }
        }
        if text.len() as u32 != whole.end - whole.start || bounds.1 == 0 {
            return whole;
        }
        Span::new(whole.start + bounds.0, whole.start + bounds.1)
    }
}
