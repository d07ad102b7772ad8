//! Words for modifiers that fit no form of an instruction.

use super::Checker;
use crate::ast::{Instruction, Modifier};
use crate::diag::{Diagnostic, Rule};
use crate::grammar::{self, Effect, Form, InstructionSpec, Miss, Slot, any_of, modifier};

impl Checker<'_> {
    /// The error for an instruction that fits no form.
    pub(super) fn explain(&self, instruction: &Instruction, miss: &Miss) -> Diagnostic {
        match miss {
            Miss::Stem => self.no_instruction(instruction),
            Miss::Twice { spec, form, index, other } => self.twice(instruction, spec, form, *index, *other),
            Miss::Extra { spec, form, index } => self.extra(instruction, spec, form, *index),
            Miss::Missing { spec, form, slot } => self.missing(instruction, spec, form, slot),
            Miss::Order { spec, form, index } => {
                let word = modifier(instruction.modifiers[*index]);
                let message = format!("`{word}` stands in the wrong place");
                Diagnostic::new(self.place_at(instruction, *index), message).rule(Rule::Order).help(pattern(spec, form))
            }
            Miss::Rule { spec, rule } => {
                let present = &instruction.modifiers;
                let met: Vec<_> = rule.when.iter().filter(|condition| condition.present).collect();
                let words: Vec<String> = met.iter().map(|condition| condition.words(present)).collect();
                let first = met.first().and_then(|c| c.any.iter().find(|m| present.contains(m))).copied();
                let at = first.map_or(instruction.opcode_span, |m| self.place_of(instruction, m));
                let message = match &rule.effect {
                    Effect::Requires(required) => {
                        let needed = any_of(required.iter().copied());
                        format!("{} of `{}` needs {needed} as well", words.join(" with "), spec.name())
                    }
                    Effect::Never | Effect::Needs(_) => {
                        format!("{} cannot be combined in `{}`", words.join(" and "), spec.name())
                    }
                };
                Diagnostic::new(at, message).rule(Rule::Combination)
            }
        }
    }

    /// The words after the opcode name no instruction.
    fn no_instruction(&self, instruction: &Instruction) -> Diagnostic {
        /// How many names the advice lists.
        const MOST_NAMES: usize = 12;
        let message = format!("`{}` is no instruction of PTX", self.head(instruction));
        let names: Vec<String> = grammar::instructions(instruction.opcode)
            .iter()
            .take(MOST_NAMES)
            .map(|spec| format!("`{}`", spec.name()))
            .collect();
        let help = match names.as_slice() {
            [only] => format!("it is written {only}"),
            names => format!("instructions with this opcode start with one of {}", names.join(", ")),
        };
        Diagnostic::new(instruction.opcode_span, message).rule(Rule::Instruction).help(help)
    }

    fn twice(
        &self,
        instruction: &Instruction,
        spec: &InstructionSpec,
        form: &Form,
        index: usize,
        other: Option<Modifier>,
    ) -> Diagnostic {
        let found = instruction.modifiers[index];
        let message = match (other, found) {
            (Some(_), Modifier::Type(_)) | (None, Modifier::Type(_)) => {
                return self.wrong_type(instruction, spec, form, index);
            }
            (Some(other), _) => {
                format!("`{}` and `{}` cannot stand together in `{}`", modifier(other), modifier(found), spec.name())
            }
            (None, _) => {
                let given = &instruction.modifiers;
                let lacks = |slot: &&Slot| !slot.choices.iter().any(|choice| given.contains(&choice.modifier));
                let wanted = form.slots.iter().find(|slot| !slot.optional && lacks(slot));
                let instead = wanted.map(|slot| any_of(slot.choices.iter().map(|choice| choice.modifier)));
                let instead = instead.map_or(String::new(), |wanted| format!("; {wanted} is wanted as well"));
                format!("`{}` stands twice{instead}", modifier(found))
            }
        };
        Diagnostic::new(self.place_at(instruction, index), message).rule(Rule::Repeated).help(pattern(spec, form))
    }

    /// A modifier without a place: one that the instruction never takes, or
    /// one that does not go with the others.
    fn extra(&self, instruction: &Instruction, spec: &InstructionSpec, form: &Form, index: usize) -> Diagnostic {
        let found = instruction.modifiers[index];
        let at = self.place_at(instruction, index);
        let name = spec.name();
        let diagnostic = match (conflict(instruction, spec, found), found) {
            (Conflict::With(other), _) if !matches!((found, other), (Modifier::Type(_), Modifier::Type(_))) => {
                let message =
                    format!("`{}` cannot be combined with `{}` in `{name}`", modifier(found), modifier(other));
                Diagnostic::new(at, message).rule(Rule::Combination)
            }
            (_, Modifier::Type(_)) => return self.wrong_type(instruction, spec, form, index),
            (Conflict::WithTypes, _) => {
                let types: String = instruction.types().map(|ty| format!(".{ty}")).collect();
                let message = format!("`{}` cannot be combined with `{types}` in `{name}`", modifier(found));
                Diagnostic::new(at, message).rule(Rule::Combination)
            }
            (_, Modifier::Space(space)) => {
                Diagnostic::new(at, format!("`{name}` does not work in `.{space}` space")).rule(Rule::Space)
            }
            _ => Diagnostic::new(at, format!("`{name}` does not take `{}`", modifier(found))).rule(Rule::Modifier),
        };
        diagnostic.help(pattern(spec, form))
    }

    fn wrong_type(&self, instruction: &Instruction, spec: &InstructionSpec, form: &Form, index: usize) -> Diagnostic {
        let types: String = instruction.types().map(|ty| format!(".{ty}")).collect();
        let message = format!("`{}` has no form for `{types}`", spec.name());
        let diagnostic = Diagnostic::new(self.place_at(instruction, index), message).rule(Rule::Type);
        match longer_names(instruction, spec) {
            Some(names) => diagnostic.help(format!("{names} have one")),
            None => diagnostic.help(pattern(spec, form)),
        }
    }

    fn missing(&self, instruction: &Instruction, spec: &InstructionSpec, form: &Form, slot: &Slot) -> Diagnostic {
        let choices = lacking(instruction, spec, slot);
        let same_kind = choices.iter().all(|m| std::mem::discriminant(m) == std::mem::discriminant(&choices[0]));
        let kind = match choices.first().filter(|_| same_kind) {
            Some(Modifier::Rounding(_)) => "a rounding modifier",
            Some(Modifier::Type(_)) => "a type",
            Some(Modifier::Space(_)) => "a state space",
            Some(Modifier::Cmp(_)) => "a comparison operator",
            Some(Modifier::Scope(_)) => "a scope",
            Some(Modifier::Semantics(_)) => "memory-ordering semantics",
            Some(Modifier::Vector(_)) => "a vector size",
            Some(Modifier::Shape(_)) => "a shape",
            _ => "a modifier",
        };
        let message = format!("`{}` needs {kind}: {}", self.head(instruction), any_of(choices.iter().copied()));
        Diagnostic::new(instruction.opcode_span, message).rule(Rule::Missing).help(pattern(spec, form))
    }
}

/// The modifiers of which one is missing: those of `slot`, and those of other
/// forms that lack nothing else.
fn lacking(instruction: &Instruction, spec: &InstructionSpec, slot: &Slot) -> Vec<Modifier> {
    let given = &instruction.modifiers[spec.stem.len()..];
    let takes = |form: &Form, m: Modifier| form.slots.iter().any(|slot| slot.choices.iter().any(|c| c.modifier == m));
    let mut found: Vec<Modifier> = slot.choices.iter().map(|choice| choice.modifier).collect();
    for form in spec.forms.iter().filter(|form| given.iter().all(|&m| takes(form, m))) {
        let mut missing = form
            .slots
            .iter()
            .filter(|slot| !slot.optional && !slot.choices.iter().any(|choice| given.contains(&choice.modifier)));
        if let (Some(only), None) = (missing.next(), missing.next()) {
            let new: Vec<Modifier> = only.choices.iter().map(|c| c.modifier).filter(|m| !found.contains(m)).collect();
            found.extend(new);
        }
    }
    found
}

/// The advice that shows a form.
fn pattern(spec: &InstructionSpec, form: &Form) -> String {
    format!("write `{}`", form.pattern(spec))
}

/// Longer names of the opcode that have a form for the instruction's types:
/// `mul.lo` for `mul.s32`.
fn longer_names(instruction: &Instruction, spec: &InstructionSpec) -> Option<String> {
    let fits = |other: &&InstructionSpec| {
        other.stem.len() > spec.stem.len()
            && other.forms.iter().any(|form| {
                let takes =
                    |ty| form.slots.iter().any(|slot| slot.choices.iter().any(|c| c.modifier == Modifier::Type(ty)));
                instruction.types().all(takes)
            })
    };
    let names: Vec<String> =
        grammar::instructions(instruction.opcode).iter().filter(fits).map(|s| format!("`{}`", s.name())).collect();
    match names.as_slice() {
        [] | [_] => None,
        [first @ .., last] => Some(format!("{} and {last}", first.join(", "))),
    }
}

/// What stands in the way of a modifier.
enum Conflict {
    /// Another modifier.
    With(Modifier),
    /// The types together: each alone would do.
    WithTypes,
    /// Nothing: the instruction never takes the modifier.
    Never,
}

/// What the nearest form with a place for `found` has no place for.
fn conflict(instruction: &Instruction, spec: &InstructionSpec, found: Modifier) -> Conflict {
    let takes = |form: &Form, m: Modifier| form.slots.iter().any(|slot| slot.choices.iter().any(|c| c.modifier == m));
    let given = || instruction.modifiers.iter().skip(spec.stem.len()).copied();
    let refused = |form: &Form| given().filter(|&m| !takes(form, m)).collect::<Vec<_>>();
    let lists = || spec.forms.iter().filter(|form| takes(form, found)).map(refused);
    match lists().min_by_key(Vec::len) {
        Some(list) => list.first().map_or(Conflict::WithTypes, |&other| Conflict::With(other)),
        None => Conflict::Never,
    }
}
