//! Spelling of modifiers.

use std::fmt;

use super::name::SymbolTable;
use super::shape::Shape;
use super::vocabulary::{MODIFIER_INDEX, MODIFIERS, Modifier};

impl Modifier {
    /// The modifier spelled `name` (without its dot), unless it is unknown.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Modifier> {
        let modifier = MODIFIERS[MODIFIER_INDEX.place(name)];
        match modifier.text() == Some(name) {
            true => Some(modifier),
            false => Shape::from_name(name).map(Modifier::Shape),
        }
    }

    /// The names of all modifiers but the shapes.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        MODIFIERS.iter().filter_map(|modifier| modifier.text())
    }

    /// The spelling without a dot, where a vocabulary has it.
    fn text(self) -> Option<&'static str> {
        Some(match self {
            Modifier::Type(value) => value.as_str(),
            Modifier::Space(value) => value.as_str(),
            Modifier::Vector(value) => value.as_str(),
            Modifier::Rounding(value) => value.as_str(),
            Modifier::Cmp(value) => value.as_str(),
            Modifier::Scope(value) => value.as_str(),
            Modifier::Semantics(value) => value.as_str(),
            Modifier::Word(value) => value.as_str(),
            Modifier::Shape(_) | Modifier::Other(_) => return None,
        })
    }

    /// Writes the modifier with its leading dot.
    pub fn write(self, symbols: &SymbolTable, out: &mut impl fmt::Write) -> fmt::Result {
        let text = match self {
            Modifier::Other(sym) => symbols.text(sym),
            Modifier::Shape(Shape { m, n, k: 0 }) => return write!(out, ".m{m}n{n}"),
            Modifier::Shape(Shape { m, n, k }) => return write!(out, ".m{m}n{n}k{k}"),
            known => known.text().unwrap_or_default(),
        };
        out.write_char('.')?;
        out.write_str(text)
    }
}
