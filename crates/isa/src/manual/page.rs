//! One instruction's page as plain text, and the wording that all of the manual shares.

use crate::engine::encodings;
use crate::{
    Arch, Effects, FieldId, ImmFormat, Kinds, Opcode, OpcodeInfo, OperandFlags, OperandSpec, Width, WidthStep,
};
use std::fmt::Write;

/// Names of kinds as the manual shows them.
const KINDS: [(Kinds, &str); 11] = [
    (Kinds::R, "R"),
    (Kinds::UR, "UR"),
    (Kinds::P, "P"),
    (Kinds::UP, "UP"),
    (Kinds::B, "B"),
    (Kinds::SB, "SB"),
    (Kinds::IMM, "immediate"),
    (Kinds::CONST, "c[bank][offset]"),
    (Kinds::CONST_BINDLESS, "cx[UR][offset]"),
    (Kinds::SPECIAL, "special register"),
    (Kinds::LABEL, "label"),
];

/// Names of effects as the manual shows them.
const EFFECTS: [(Effects, &str); 7] = [
    (Effects::READS_MEMORY, "reads memory"),
    (Effects::WRITES_MEMORY, "writes memory"),
    (Effects::CONVERGENT, "convergent"),
    (Effects::BRANCH, "may branch"),
    (Effects::SIDE_EFFECT, "side effect"),
    (Effects::VOLATILE, "volatile"),
    (Effects::IDEMPOTENT, "idempotent"),
];

/// How to read an encoding.
pub(super) const LEGEND: &str =
    "kind@bit:length; '-' sign, '|' absolute, '!' inversion, '^' reuse bit; 1@bit: that bit is set";

/// The published encoding categories.
pub(super) fn category(opcode: Opcode) -> Option<String> {
    let (first, last) = opcode.category()?;
    Some(if first == last {
        format!("encoding category {first}")
    } else {
        format!("encoding categories {first}–{last}")
    })
}

/// What an instruction does besides computing its results.
pub(super) fn effects(info: &OpcodeInfo) -> String {
    let named = EFFECTS.iter().filter(|(effect, _)| info.effects.contains(*effect)).map(|(_, name)| *name);
    named.chain(info.effects.can_trap().then_some("can trap")).collect::<Vec<_>>().join(", ")
}

impl Opcode {
    /// The targets that have the instruction, as the spec lists them; `(a)` where only their
    /// architecture-specific variants do.
    pub fn targets(self) -> String {
        let list = crate::arch::target_list(|arch| self.exists_on(arch));
        if self.info().specific { format!("{list} (a)") } else { list }
    }

    /// The opcodes that have an encoding on the target, in alphabetical order.
    pub fn of(arch: Arch) -> impl Iterator<Item = Opcode> {
        Opcode::ALL.into_iter().filter(move |opcode| opcode.exists_on(arch))
    }

    /// The manual page of the opcode on one target, as plain text.
    pub fn manual(self, arch: Arch) -> String {
        let mut page = String::new();
        // Writing to a String does not fail.
        let _ = self.write_manual(&mut page, arch);
        page
    }

    fn write_manual(self, page: &mut String, arch: Arch) -> std::fmt::Result {
        let info = self.info();
        writeln!(page, "{} - {}\n", self.name(), info.meaning)?;
        writeln!(
            page,
            "  family {}   pipe {}   latency class {}",
            info.family.name(),
            info.pipe.name(),
            info.latency.name()
        )?;
        writeln!(page, "  targets {}", self.targets())?;
        if self.signature().iter().any(|operand| operand.is_def) {
            writeln!(page, "  lanes {}", self.lanes().name())?;
        }
        if let Some(number) = self.ori_number() {
            writeln!(page, "  Ori opcode {number} ({})", self.rot13_name())?;
        }
        if let Some(category) = category(self) {
            writeln!(page, "  {category}")?;
        }
        if let Some(twin) = info.uniform {
            writeln!(page, "  uniform counterpart {}", twin.name())?;
        }
        let effects = effects(info);
        if !effects.is_empty() {
            writeln!(page, "  effects: {effects}")?;
        }
        self.write_operands(page)?;
        self.write_fields(page)?;
        writeln!(page, "\nEncodings on {arch} ({LEGEND})")?;
        for form in encodings(self, arch) {
            writeln!(page, "  {form}")?;
        }
        Ok(())
    }

    fn write_operands(self, page: &mut String) -> std::fmt::Result {
        if self.signature().is_empty() {
            return Ok(());
        }
        writeln!(page, "\nOperands")?;
        for spec in self.signature() {
            writeln!(page, "  {:8} {}", spec.role.name(), describe(spec))?;
        }
        Ok(())
    }

    fn write_fields(self, page: &mut String) -> std::fmt::Result {
        if self.fields().is_empty() {
            return Ok(());
        }
        writeln!(page, "\nModifiers")?;
        for (field, default) in self.fields() {
            let values: Vec<String> = field.values().iter().map(|v| value_name(*field, v.code, *default)).collect();
            writeln!(page, "  {:12} {}", field.name(), values.join(" "))?;
            if !field.doc().is_empty() {
                writeln!(page, "  {:12}   {}", "", field.doc())?;
            }
        }
        Ok(())
    }
}

/// The value's name, in parentheses if it is not printed, with `*` if it is the default.
pub(super) fn value_name(field: FieldId, code: u8, default: u8) -> String {
    let Some(value) = field.value(code) else { return String::new() };
    let shown = if value.text.is_empty() { format!("({})", value.name) } else { format!(".{}", value.text) };
    if code == default { format!("{shown}*") } else { shown }
}

pub(super) fn describe(spec: &OperandSpec) -> String {
    let kinds: Vec<&str> = KINDS.iter().filter(|(k, _)| spec.kinds.contains(*k)).map(|(_, n)| *n).collect();
    let mut text = if spec.is_def { "written: ".to_owned() } else { String::new() };
    text.push_str(&kinds.join(", "));
    match spec.width {
        Width::Fixed(1) => {}
        Width::Fixed(width) => text.push_str(&format!("; {width} registers")),
        Width::By { rules, otherwise } => {
            text.push_str(&format!("; {otherwise} register(s)"));
            for rule in rules {
                for (code, width) in rule.cases {
                    let name = rule.field.value(*code).map_or("", |v| v.name);
                    let step = match rule.step {
                        WidthStep::Is => "",
                        WidthStep::Add => "+",
                        WidthStep::Multiply => "*",
                        WidthStep::Divide => "/",
                    };
                    text.push_str(&format!(", {step}{width} with {} {name}", rule.field.name()));
                }
            }
        }
    }
    for (flag, name) in
        [(OperandFlags::NEG, "negated"), (OperandFlags::ABS, "absolute"), (OperandFlags::NOT, "inverted")]
    {
        if spec.flags.contains(flag) {
            text.push_str(&format!("; may be {name}"));
        }
    }
    if spec.kinds.contains(Kinds::IMM) {
        text.push_str(match spec.imm {
            ImmFormat::Signed(_) => "; immediate signed",
            ImmFormat::Unsigned(_) => "; immediate unsigned",
            ImmFormat::F32 => "; immediate f32",
            ImmFormat::F64 => "; immediate: high half of an f64",
            ImmFormat::Half => "; immediate: two halves",
            ImmFormat::Swizzle => "; immediate: signs by lane",
        });
    }
    if spec.neutral.is_some() {
        text.push_str("; optional");
    }
    text
}
