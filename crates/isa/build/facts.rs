//! Facts that every instruction states, by itself or by a `default` line of its file: read, checked against each other,
//! and written as enums and one dense row per opcode.

use crate::emit::{camel, enumeration};
use crate::model::{InstrDef, Kind, OperandDef, Spec};
use std::fmt::Write;

/// The words of the lines that state facts. None has a value that the build script would fill in.
pub(crate) const WORDS: [&str; 8] = ["lanes", "exit", "order", "commutes", "fold", "space", "estimate", "effects"];

/// A fact that is one word of a list, and the enum made of the list.
struct Choice {
    word: &'static str,
    name: &'static str,
    doc: &'static str,
    /// Word, variant, meaning.
    values: &'static [(&'static str, &'static str, &'static str)],
}

const LANES: Choice = Choice {
    word: "lanes",
    name: "Lanes",
    doc: "How the results of an instruction differ between the lanes of a warp that execute it together.",
    values: &[
        ("own", "Own", "They depend on the lane itself, whatever the operands."),
        ("warp", "Warp", "They are the same in all lanes, whatever the operands."),
        (
            "same",
            "Same",
            "They are the same where the operands are (special registers, and memory that others write, are not always).",
        ),
    ],
};

const EXIT: Choice = Choice {
    word: "exit",
    name: "Exit",
    doc: "How an instruction leaves its block.",
    values: &[
        ("no", "No", "It does not: a call comes back."),
        ("branch", "Branch", "To its block operands."),
        (
            "indirect",
            "Indirect",
            "Through a table in memory, an address in a register or a stack, to listed successors.",
        ),
        ("leave", "Leave", "Out of the function."),
    ],
};

const ORDER: Choice = Choice {
    word: "order",
    name: "CodeOrder",
    doc: "What may move across an instruction, registers apart.",
    values: &[
        ("free", "Free", "Everything that its operands and its memory allow."),
        ("warp", "Warp", "The same, as long as the same threads of the warp are there: all but a fence."),
        ("effect", "Effect", "It keeps its place among others of its kind, and accesses to memory stay on their side."),
        ("fence", "Fence", "Nothing: what follows is out of the block's sight, or depends on it by no register."),
    ],
};

const FOLD: Choice = Choice {
    word: "fold",
    name: "Fold",
    doc: "Which evaluation constant folding has for an instruction.",
    values: &[
        ("-", "None", "None."),
        ("compare", "Compare", "PD = (A cmp B) bop PA."),
        ("multiply-add", "MultiplyAdd", "D = A * B + C, a part of the product by `mul`."),
        ("logic", "Logic", "D = the table Lut applied to A, B, C."),
        ("shift", "Shift", "D = a word of the pair C:A shifted by B."),
        ("shift-add", "ShiftAdd", "D = (A << Shift) + B."),
        ("sum", "Sum", "D = A + B + C, with carries."),
        ("absolute", "Absolute", "D = the absolute value of B."),
        ("count", "Count", "D = the number of bits set in B."),
        ("reverse", "Reverse", "D = the bits of B in reverse order."),
        ("extend", "Extend", "D = the low B bits of A, extended."),
        ("permute", "Permute", "D = bytes of C:A chosen by B."),
    ],
};

const SPACE: Choice = Choice {
    word: "space",
    name: "Space",
    doc: "The memory that an instruction can reach.",
    values: &[
        ("-", "None", "None."),
        ("constant", "Constant", "Constant banks, which nobody writes."),
        ("global", "Global", "Global memory."),
        ("shared", "Shared", "Shared memory, of the block or of its cluster."),
        ("local", "Local", "The thread's local memory."),
        (
            "any",
            "Any",
            "A generic address, several of these, or a memory that is not told apart (textures, tensor memory).",
        ),
    ],
};

/// Words of an `effects` line, and the constants of `Effects`.
const EFFECTS: [(&str, &str); 8] = [
    ("reads-memory", "READS_MEMORY"),
    ("writes-memory", "WRITES_MEMORY"),
    ("convergent", "CONVERGENT"),
    ("branch", "BRANCH"),
    ("side-effect", "SIDE_EFFECT"),
    ("volatile", "VOLATILE"),
    ("trap", "TRAP"),
    ("idempotent", "IDEMPOTENT"),
];
/// Those that give an instruction a place among others with an effect.
const ORDERED: [&str; 4] = ["SIDE_EFFECT", "CONVERGENT", "VOLATILE", "BRANCH"];

impl Choice {
    fn of(&self, instr: &InstrDef) -> Result<&'static str, String> {
        let text = stated(instr, self.word)?;
        let found = self.values.iter().find(|(word, ..)| *word == text);
        found.map(|(_, variant, _)| *variant).ok_or_else(|| format!("{} '{text}': {}", self.word, self.words()))
    }

    fn words(&self) -> String {
        self.values.iter().map(|(word, ..)| *word).collect::<Vec<_>>().join(", ")
    }

    fn write(&self, out: &mut String) {
        let items =
            self.values.iter().map(|&(word, variant, doc)| (variant.to_owned(), doc.to_owned(), word.to_owned()));
        enumeration(out, self.name, self.doc, "u8", items);
    }
}

/// What stands after `word`, in the instruction or in a `default` line before it.
fn stated<'a>(instr: &'a InstrDef, word: &str) -> Result<&'a str, String> {
    let text = instr.facts.get(word).ok_or_else(|| format!("no '{word}' line, and no default of the file"))?;
    Ok(text.as_str())
}

/// What an instruction states, as names of the generated code.
pub(crate) struct Facts {
    lanes: &'static str,
    exit: &'static str,
    order: &'static str,
    fold: &'static str,
    space: &'static str,
    estimate: u8,
    /// A value of `Swap`.
    swap: String,
    /// The places of the operands that may change places.
    commuting: u32,
    /// Constants of `Effects`.
    pub effects: Vec<&'static str>,
}

impl Facts {
    pub(crate) fn of(spec: &Spec, instr: &InstrDef) -> Result<Facts, String> {
        if instr.operands.len() > 32 {
            return Err("more than 32 operands".to_owned());
        }
        let estimate = stated(instr, "estimate")?;
        let (swap, commuting) = commutes(spec, instr)?;
        let facts = Facts {
            lanes: LANES.of(instr)?,
            exit: EXIT.of(instr)?,
            order: ORDER.of(instr)?,
            fold: FOLD.of(instr)?,
            space: SPACE.of(instr)?,
            estimate: estimate.parse().map_err(|_| format!("estimate '{estimate}': cycles, at most 255"))?,
            swap,
            commuting,
            effects: effects(stated(instr, "effects")?)?,
        };
        facts.agree(instr).map(|()| facts)
    }

    /// What one fact says about another.
    fn agree(&self, instr: &InstrDef) -> Result<(), String> {
        let has = |wanted: &[&str]| self.effects.iter().any(|effect| wanted.contains(effect));
        let uniform = |operand: &OperandDef| operand.kinds.iter().all(|kind| matches!(kind, Kind::UR | Kind::UP));
        let mut results = instr.operands.iter().filter(|operand| operand.is_def).peekable();
        if self.lanes != "Warp" && results.peek().is_some() && results.all(uniform) {
            return Err(format!("lanes '{}', where all results are the warp's", self.lanes));
        }
        if self.exit != "No" && !(has(&["BRANCH"]) && self.order == "Fence") {
            return Err("it leaves its block, but has not the effect 'branch' and the order 'fence'".to_owned());
        }
        let of_warp = has(&["CONVERGENT"]) && !has(&["SIDE_EFFECT", "VOLATILE", "BRANCH"]);
        if (self.order == "Free") == has(&ORDERED) || self.order == "Warp" && !of_warp {
            return Err(format!("order '{}' does not go with its effects", self.order));
        }
        if has(&["READS_MEMORY", "WRITES_MEMORY"]) == matches!(self.space, "None" | "Constant") {
            return Err(format!("space '{}' does not go with its effects", self.space));
        }
        Ok(())
    }

    fn row(&self, instr: &InstrDef) -> String {
        let of_kinds = |operand: &OperandDef, wanted: &[Kind]| operand.kinds.iter().any(|kind| wanted.contains(kind));
        let registers = [Kind::R, Kind::UR, Kind::P, Kind::UP, Kind::B, Kind::SB, Kind::Bindless];
        let mask = |is: &dyn Fn(&OperandDef) -> bool| {
            instr.operands.iter().enumerate().fold(0u32, |mask, (at, operand)| mask | u32::from(is(operand)) << at)
        };
        format!(
            "Facts {{ destinations: {}, sources: {}, predicates: {}, registers: {}, commuting: {}, swap: {}, lanes: Lanes::{}, exit: Exit::{}, order: CodeOrder::{}, fold: Fold::{}, space: Space::{}, estimate: {} }}",
            mask(&|operand| operand.is_def),
            mask(&|operand| operand.is_use),
            mask(&|operand| of_kinds(operand, &[Kind::P, Kind::UP])),
            mask(&|operand| of_kinds(operand, &registers)),
            self.commuting,
            self.swap,
            self.lanes,
            self.exit,
            self.order,
            self.fold,
            self.space,
            self.estimate,
        )
    }
}

fn effects(text: &str) -> Result<Vec<&'static str>, String> {
    let words = text.split_whitespace().filter(|word| *word != "-");
    let found = words.map(|word| {
        let effect = EFFECTS.iter().find(|(name, _)| *name == word);
        effect.map(|(_, constant)| *constant).ok_or_else(|| format!("no effect '{word}'"))
    });
    found.collect()
}

/// `-`, or `HOW ROLE ROLE …`: the operands that may change places, and what changes with them.
fn commutes(spec: &Spec, instr: &InstrDef) -> Result<(String, u32), String> {
    let mut words = stated(instr, "commutes")?.split_whitespace();
    let has = |role: &str| instr.operands.iter().any(|operand| operand.role == role);
    let swap = match words.next().ok_or("commutes: how, or -")? {
        "-" => return Ok(("Swap::None".to_owned(), 0)),
        "plain" => "Swap::Plain".to_owned(),
        "minmax" => "Swap::MinMax".to_owned(),
        "choice" if has("PA") => "Swap::Choice".to_owned(),
        "table" if has("Lut") => "Swap::Table".to_owned(),
        field if instr.fields.iter().any(|(name, _)| name == field) && spec.turned.contains_key(field) => {
            format!("Swap::Compare(FieldId::{})", camel(field))
        }
        how => return Err(format!("commutes '{how}': plain, minmax, choice (of PA), table (Lut), or a comparison")),
    };
    let mut mask = 0;
    for role in words {
        let place = instr.operands.iter().position(|operand| operand.role == role && !operand.is_def);
        mask |= 1u32 << place.ok_or_else(|| format!("commutes: no source '{role}'"))?;
    }
    if mask.count_ones() < 2 { Err("commutes: fewer than two operands".to_owned()) } else { Ok((swap, mask)) }
}

/// `facts.rs`: the enums, a row per opcode, and comparisons with their operands exchanged.
pub(crate) fn facts(spec: &Spec) -> Result<String, String> {
    let mut out = String::new();
    for choice in [LANES, EXIT, ORDER, FOLD, SPACE] {
        choice.write(&mut out);
    }
    let _ = writeln!(out, "static FACTS: [Facts; {}] = [", spec.instrs.len());
    for instr in spec.instrs.values() {
        let facts = Facts::of(spec, instr).map_err(|e| format!("{}: {}: {e}", instr.place.0, instr.name))?;
        let _ = writeln!(out, "    {},", facts.row(instr));
    }
    let _ = writeln!(out, "];\n\nstatic TURNED: [(FieldId, &[(u8, u8)]); {}] = [", spec.turned.len());
    for (field, turned) in &spec.turned {
        let of = spec.enum_of(field)?;
        let code = |name: &String| of.code(name);
        let pairs = turned.iter().filter_map(|(from, to)| Some(format!("({}, {})", code(from)?, code(to)?)));
        let _ = writeln!(out, "    (FieldId::{}, &[{}]),", camel(field), pairs.collect::<Vec<_>>().join(", "));
    }
    let _ = writeln!(out, "];");
    Ok(out)
}
