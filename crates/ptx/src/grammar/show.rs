//! The grammar as the manual would print it, for messages.

use super::{Condition, Form, InstructionSpec, Slot};
use crate::ast::{Modifier, SymbolTable};

/// How many choices a message lists.
const MOST_CHOICES: usize = 12;

/// A modifier with its dot.
pub(crate) fn modifier(modifier: Modifier) -> String {
    let mut text = String::new();
    // Writing to a `String` cannot fail; only unknown words need the symbols.
    let _ = modifier.write(&SymbolTable::default(), &mut text);
    text
}

/// `.a`, `.a` or `.b`, `.a`, `.b` or `.c`; long lists are cut.
pub(crate) fn any_of(modifiers: impl Iterator<Item = Modifier>) -> String {
    let mut words: Vec<String> = modifiers.map(|m| format!("`{}`", modifier(m))).collect();
    let cut = words.len() > MOST_CHOICES;
    words.truncate(MOST_CHOICES);
    match words.as_slice() {
        _ if cut => format!("{}…", words.join(", ")),
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        words => words.concat(),
    }
}

impl InstructionSpec {
    /// The opcode with its stem: `cp.async.bulk`.
    pub(crate) fn name(&self) -> String {
        let stem: String = self.stem.iter().map(|&m| modifier(m)).collect();
        format!("{}{stem}", self.opcode)
    }
}

impl Slot {
    /// `.rn`, or `.{rn|rz}` for a choice, in braces where it may be absent.
    fn pattern(&self) -> String {
        let names: Vec<String> =
            self.choices.iter().take(MOST_CHOICES).map(|c| modifier(c.modifier)[1..].to_owned()).collect();
        let more = if self.choices.len() > MOST_CHOICES { "|…" } else { "" };
        let inner = match names.as_slice() {
            [only] => format!(".{only}"),
            names => format!(".{}{more}", names.join("|")),
        };
        match (self.optional, names.len()) {
            (true, _) => format!("{{{inner}}}"),
            (false, 1) => inner,
            (false, _) => format!(".({})", &inner[1..]),
        }
    }
}

impl Form {
    /// The form with its modifiers in the manual's order.
    pub(crate) fn pattern(&self, spec: &InstructionSpec) -> String {
        let slots: String = self.slots.iter().map(Slot::pattern).collect();
        format!("{}{slots}", spec.name())
    }
}

impl Condition {
    /// The modifier of `present` that meets the condition, or the names that
    /// it asks for.
    pub(crate) fn words(&self, present: &[Modifier]) -> String {
        match self.any.iter().find(|m| present.contains(m)) {
            Some(&found) => format!("`{}`", modifier(found)),
            None => any_of(self.any.iter().copied()),
        }
    }
}
