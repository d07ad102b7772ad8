//! Writes the grammar's tables. A list is a run of a table that all lists of its kind share, named by its place and
//! length, for a table with addresses in it would have to be relocated whenever the program starts.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Write;

use super::model::{Choice, Effect, Form, Instruction, Need, Operand, Rule, Slot, Spec, Version};
use super::target::Target;

/// The text of `tables.rs`.
pub(crate) fn tables(spec: &Spec) -> Result<String, String> {
    let mut tables = Tables { spec, pools: Vec::new(), text: String::new() };
    let by_opcode = spec.chapters.keys().map(|opcode| tables.instructions(opcode)).collect::<Result<Vec<_>, _>>()?;
    let specials = spec
        .specials
        .iter()
        .map(|special| {
            let widths = tables.run("u32", special.widths.iter().map(u32::to_string).collect())?;
            let need = tables.need(&special.need)?;
            Ok(format!("SpecialSpec {{ widths: {widths}, vector: {}, need: {need} }}", special.vector))
        })
        .collect::<Result<Vec<_>, String>>()?;
    let targets = spec
        .targets
        .iter()
        .map(|(name, since)| Ok(format!("({}, {})", tables.text(name)?, version(*since))))
        .collect::<Result<Vec<_>, String>>()?;
    let directives = spec
        .directives
        .iter()
        .map(|(name, need)| Ok(format!("({}, {})", tables.text(name)?, tables.need(need)?)))
        .collect::<Result<Vec<_>, String>>()?;
    let versions: Vec<String> = spec.versions.iter().copied().map(version).collect();
    let mut out = String::new();
    for pool in &tables.pools {
        let name = format!("{}_POOL", pool.of.to_uppercase());
        array(&mut out, &name, pool.of, &pool.rows);
        let _ = writeln!(
            out,
            "impl Pooled for {} {{\n    fn pool() -> &'static [Self] {{\n        &{name}\n    }}\n}}\n",
            pool.of
        );
    }
    let _ = writeln!(out, "const TEXT: &str = {:?};\n", tables.text);
    array(&mut out, "BY_OPCODE", "Run<InstructionSpec>", &by_opcode);
    array(&mut out, "SPECIALS", "SpecialSpec", &specials);
    array(&mut out, "TARGETS", "(Text, (u32, u32))", &targets);
    array(&mut out, "VERSIONS", "(u32, u32)", &versions);
    array(&mut out, "DIRECTIVES", "(Text, At<Need>)", &directives);
    Ok(out)
}

fn array(out: &mut String, name: &str, of: &str, rows: &[String]) {
    let _ = writeln!(out, "pub(super) static {name}: [{of}; {}] = [", rows.len());
    for row in rows {
        let _ = writeln!(out, "    {row},");
    }
    let _ = writeln!(out, "];\n");
}

/// A table that all lists of one kind share.
struct Pool {
    /// The type of its rows.
    of: &'static str,
    rows: Vec<String>,
    /// The places of the runs that it has.
    runs: HashMap<Vec<String>, usize>,
}

struct Tables<'s> {
    spec: &'s Spec,
    pools: Vec<Pool>,
    /// All names of targets and directives.
    text: String,
}

impl Tables<'_> {
    /// The place of a list in the pool of its kind; equal lists share it.
    fn place(&mut self, of: &'static str, rows: Vec<String>) -> Result<usize, String> {
        let at = self.pools.iter().position(|pool| pool.of == of).unwrap_or_else(|| {
            self.pools.push(Pool { of, rows: Vec::new(), runs: HashMap::new() });
            self.pools.len() - 1
        });
        let pool = &mut self.pools[at];
        let next = pool.rows.len();
        let place = *pool.runs.entry(rows).or_insert_with_key(|rows| {
            pool.rows.extend_from_slice(rows);
            next
        });
        if pool.rows.len() > usize::from(u16::MAX) {
            return Err(format!("more than {} rows of `{of}`", u16::MAX));
        }
        Ok(place)
    }

    fn run(&mut self, of: &'static str, rows: Vec<String>) -> Result<String, String> {
        let len = rows.len();
        Ok(format!("Run::new({}, {len})", self.place(of, rows)?))
    }

    fn need(&mut self, need: &Need) -> Result<String, String> {
        let targets = self.run("Target", need.targets.iter().map(target).collect())?;
        let end = need
            .end
            .map_or("None".to_owned(), |(first, from)| format!("Some(({}, {}))", version(first), target(&from)));
        let row = format!("Need {{ version: {}, targets: {targets}, end: {end} }}", version(need.version));
        Ok(format!("At::new({})", self.place("Need", vec![row])?))
    }

    fn text(&mut self, name: &str) -> Result<String, String> {
        let start = self.text.len();
        self.text.push_str(name);
        match self.text.len() <= usize::from(u16::MAX) {
            true => Ok(format!("Text {{ start: {start}, len: {} }}", name.len())),
            false => Err("too many names".to_owned()),
        }
    }

    fn modifiers(&mut self, names: &[String]) -> Result<String, String> {
        let rows = names.iter().map(|name| self.spec.modifier(name)).collect();
        self.run("Modifier", rows)
    }

    /// The instructions of an opcode, those with the longest stem first.
    fn instructions(&mut self, opcode: &str) -> Result<String, String> {
        let mut found: Vec<&Instruction> = self.spec.instructions.iter().filter(|i| i.opcode == opcode).collect();
        found.sort_by_key(|instruction| Reverse(instruction.stem.len()));
        let rows = found.into_iter().map(|instruction| self.instruction(instruction)).collect::<Result<_, _>>()?;
        self.run("InstructionSpec", rows)
    }

    fn instruction(&mut self, instruction: &Instruction) -> Result<String, String> {
        let opcode = super::names::identifier(&instruction.opcode);
        let stem = self.modifiers(&instruction.stem)?;
        let forms = instruction.forms.iter().map(|form| self.form(form)).collect::<Result<_, _>>()?;
        let forms = self.run("Form", forms)?;
        let rules = instruction.rules.iter().map(|rule| self.rule(rule)).collect::<Result<_, _>>()?;
        let rules = self.run("ComboRule", rules)?;
        Ok(format!("InstructionSpec {{ opcode: Opcode::{opcode}, stem: {stem}, forms: {forms}, rules: {rules} }}"))
    }

    fn form(&mut self, form: &Form) -> Result<String, String> {
        let slots = form.slots.iter().map(|slot| self.slot(slot)).collect::<Result<_, _>>()?;
        let slots = self.run("Slot", slots)?;
        let operands = form.operands.iter().map(|operand| self.operand(operand)).collect::<Result<_, _>>()?;
        let operands = self.run("OperandSpec", operands)?;
        let need = self.need(&form.need)?;
        Ok(format!("Form {{ slots: {slots}, operands: {operands}, open: {}, need: {need} }}", form.open))
    }

    fn slot(&mut self, slot: &Slot) -> Result<String, String> {
        let choices = slot.choices.iter().map(|choice| self.choice(choice)).collect::<Result<_, _>>()?;
        let choices = self.run("Choice", choices)?;
        Ok(format!("Slot {{ optional: {}, choices: {choices} }}", slot.optional))
    }

    fn choice(&mut self, choice: &Choice) -> Result<String, String> {
        let need = self.need(&choice.need)?;
        Ok(format!("Choice {{ modifier: {}, need: {need} }}", self.spec.modifier(&choice.modifier)))
    }

    fn rule(&mut self, rule: &Rule) -> Result<String, String> {
        let mut when = Vec::new();
        for (present, any) in &rule.when {
            when.push(format!("Condition {{ present: {present}, any: {} }}", self.modifiers(any)?));
        }
        let when = self.run("Condition", when)?;
        let effect = match &rule.effect {
            Effect::Never => "Never".to_owned(),
            Effect::Requires(names) => format!("Requires({})", self.modifiers(names)?),
            Effect::Needs(need) => format!("Needs({})", self.need(need)?),
        };
        Ok(format!("ComboRule {{ when: {when}, effect: Effect::{effect} }}"))
    }

    fn operand(&mut self, operand: &Operand) -> Result<String, String> {
        let with = self.modifiers(&operand.with)?;
        let pair = match &operand.pair {
            Some((ty, needed)) => format!("Some(({ty}, {needed}))"),
            None => "None".to_owned(),
        };
        let range = operand.range.as_ref().map_or("None".to_owned(), |bounds| format!("Some({bounds})"));
        let Operand { kind, result, optional, constants, wider, sink, negated, symbol, special, braces, parts, .. } =
            operand;
        Ok(format!(
            "OperandSpec {{ kind: {kind}, result: {result}, optional: {optional}, constants: Constants::{constants:?}, \
             range: {range}, wider: {wider}, sink: {sink}, negated: {negated}, symbol: {symbol}, \
             special: {special}, braces: {braces}, parts: Parts::{parts}, with: {with}, pair: {pair} }}"
        ))
    }
}

fn version((major, minor): Version) -> String {
    format!("({major}, {minor})")
}

fn target(target: &Target) -> String {
    format!("Target {{ number: {}, variant: Variant::{:?} }}", target.number, target.variant)
}
