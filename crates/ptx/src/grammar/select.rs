//! Finds the forms that an instruction's modifiers fit. ptxas does not look
//! at the order of modifiers, except that types, state spaces and layouts
//! stand in their order; neither do we.

use smallvec::SmallVec;

use super::{Choice, ComboRule, Effect, Form, InstructionSpec, Need, OperandSpec, Slot, Target, instructions};
use crate::ast::{Instruction, Modifier, ScalarType, Word};

/// What the grammar says about an opcode with its modifiers.
#[derive(Debug)]
pub(crate) enum Selection {
    /// Some forms fit.
    Fits(Vec<Fit>),
    /// None does.
    Misses(Miss),
}

/// A form that fits, with everything that it needs.
#[derive(Debug)]
pub(crate) struct Fit {
    pub(crate) form: &'static Form,
    pub(crate) spec: &'static InstructionSpec,
    /// The need of the form, of its modifiers and of their combinations, each
    /// with the modifier that has it.
    pub(crate) needs: Vec<(Option<Modifier>, &'static Need)>,
    /// The operands of the form that stand beside these modifiers.
    pub(crate) operands: Vec<&'static OperandSpec>,
    /// The types among the modifiers.
    pub(crate) types: SmallVec<[ScalarType; 4]>,
}

/// Why no form fits.
#[derive(Debug)]
pub(crate) enum Miss {
    /// The words after the opcode name no instruction.
    Stem,
    /// A modifier that stands twice, or two of which only one may stand.
    Twice { spec: &'static InstructionSpec, form: &'static Form, index: usize, other: Option<Modifier> },
    /// A modifier that the best form has no place for.
    Extra { spec: &'static InstructionSpec, form: &'static Form, index: usize },
    /// A modifier that the best form needs.
    Missing { spec: &'static InstructionSpec, form: &'static Form, slot: &'static Slot },
    /// The right modifiers of one kind in the wrong order.
    Order { spec: &'static InstructionSpec, form: &'static Form, index: usize },
    /// A rule about combinations is broken.
    Rule { spec: &'static InstructionSpec, rule: &'static ComboRule },
}

/// How one form takes the modifiers.
enum Attempt {
    Fits(Vec<&'static Choice>),
    Misses { weight: u32, miss: Miss },
}

impl Selection {
    /// Finds the forms for an instruction of a module of this `.version` and target; those that it is too late for are none.
    pub(crate) fn of(instruction: &Instruction, version: (u32, u32), target: Option<Target>) -> Selection {
        let modifiers = &instruction.modifiers;
        let Some(spec) = instructions(instruction.opcode).iter().find(|spec| modifiers.starts_with(&spec.stem)) else {
            return Selection::Misses(Miss::Stem);
        };
        let mut fits = Vec::new();
        let mut best: Option<(u32, Miss)> = None;
        for form in spec.forms.iter().filter(|form| !form.need.has_ended(version, target)) {
            let attempt = match attempt(spec, form, modifiers) {
                Attempt::Fits(choices) => match needs(spec, form, &choices, modifiers) {
                    Ok(needs) => {
                        let operands = form.operands.iter().filter(|operand| operand.stands_with(modifiers)).collect();
                        fits.push(Fit { form, spec, needs, operands, types: instruction.types().collect() });
                        continue;
                    }
                    Err(rule) => (0, Miss::Rule { spec, rule }),
                },
                Attempt::Misses { weight, miss } => (weight, miss),
            };
            if best.as_ref().is_none_or(|(weight, _)| attempt.0 < *weight) {
                best = Some(attempt);
            }
        }
        match best {
            _ if !fits.is_empty() => Selection::Fits(fits),
            Some((_, miss)) => Selection::Misses(miss),
            None => Selection::Misses(Miss::Stem),
        }
    }
}

/// The vocabulary that a modifier belongs to, where order within it counts.
fn ordered(modifier: Modifier) -> Option<u8> {
    match modifier {
        Modifier::Type(_) => Some(0),
        Modifier::Space(_) => Some(1),
        Modifier::Word(Word::Row | Word::Col) => Some(2),
        Modifier::Word(Word::L2EvictFirst | Word::L2EvictLast | Word::L2EvictNormal | Word::L2EvictUnchanged) => {
            Some(3)
        }
        _ => None,
    }
}

/// Assigns each modifier after the stem to a slot of the form.
fn attempt(spec: &'static InstructionSpec, form: &'static Form, modifiers: &[Modifier]) -> Attempt {
    let mut taken: Vec<Option<(usize, &'static Choice)>> = vec![None; form.slots.len()];
    let mut next = [0; 4];
    let (mut weight, mut miss) = (0, None);
    for (index, &modifier) in modifiers.iter().enumerate().skip(spec.stem.len()) {
        let from = ordered(modifier).map_or(0, |class| next[usize::from(class)]);
        let holds = |slot: &'static Slot| slot.choices.iter().find(|choice| choice.modifier == modifier);
        let place = (from..form.slots.len()).find_map(|at| {
            let choice = holds(&form.slots[at])?;
            taken[at].is_none().then_some((at, choice))
        });
        if let Some((at, choice)) = place {
            taken[at] = Some((index, choice));
            if let Some(class) = ordered(modifier) {
                next[usize::from(class)] = at + 1;
            }
            continue;
        }
        weight += match modifier {
            Modifier::Type(_) => 5,
            Modifier::Space(_) | Modifier::Shape(_) => 4,
            _ => 3,
        };
        if miss.is_none() {
            let full = (0..form.slots.len()).find(|&at| holds(&form.slots[at]).is_some());
            miss = Some(match full {
                Some(at) if at < from && taken[at].is_none() => Miss::Order { spec, form, index },
                Some(at) => {
                    let other = taken[at].map(|(_, choice)| choice.modifier).filter(|&other| other != modifier);
                    Miss::Twice { spec, form, index, other }
                }
                None => Miss::Extra { spec, form, index },
            });
        }
    }
    for (slot, taken) in form.slots.iter().zip(&taken) {
        if taken.is_none() && !slot.optional {
            weight += 2;
            miss = miss.or(Some(Miss::Missing { spec, form, slot }));
        }
    }
    match miss {
        Some(miss) => Attempt::Misses { weight, miss },
        None => Attempt::Fits(taken.into_iter().flatten().map(|(_, choice)| choice).collect()),
    }
}

/// Applies the rules about combinations and collects what is needed.
fn needs(
    spec: &'static InstructionSpec,
    form: &'static Form,
    choices: &[&'static Choice],
    modifiers: &[Modifier],
) -> Result<Vec<(Option<Modifier>, &'static Need)>, &'static ComboRule> {
    let mut needs = vec![(None, &*form.need)];
    needs.extend(choices.iter().map(|choice| (Some(choice.modifier), &*choice.need)));
    for rule in spec.rules.iter() {
        if !rule.when.iter().all(|condition| condition.any.iter().any(|m| modifiers.contains(m)) == condition.present) {
            continue;
        }
        match &rule.effect {
            Effect::Never => return Err(rule),
            Effect::Requires(required) if required.iter().any(|m| modifiers.contains(m)) => {}
            Effect::Requires(_) => return Err(rule),
            Effect::Needs(need) => needs.push((rule.when.first().and_then(|c| c.any.first().copied()), need)),
        }
    }
    needs.retain(|(_, need)| !need.is_nothing());
    Ok(needs)
}
