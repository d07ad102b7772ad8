//! The table of instructions that programs are made of (`templates.txt`).

use std::sync::LazyLock;

/// Registers of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    /// `.pred`
    Predicate,
    /// `.b16`
    Half,
    /// `.b32`
    Word,
    /// `.b64`
    Double,
}

impl Class {
    /// All of them, the narrowest first.
    pub(crate) const ALL: [Class; 4] = [Class::Predicate, Class::Half, Class::Word, Class::Double];

    /// Registers of the class in each function.
    pub(crate) const fn count(self) -> usize {
        match self {
            Class::Predicate => 4,
            Class::Half => 4,
            Class::Word => 8,
            Class::Double => 6,
        }
    }

    /// First letters of the registers' names.
    pub(crate) const fn prefix(self) -> &'static str {
        match self {
            Class::Predicate => "%p",
            Class::Half => "%h",
            Class::Word => "%w",
            Class::Double => "%d",
        }
    }

    /// The PTX type that registers of the class are declared with.
    pub(crate) const fn ty(self) -> &'static str {
        match self {
            Class::Predicate => "pred",
            Class::Half => "b16",
            Class::Word => "b32",
            Class::Double => "b64",
        }
    }

    /// Bytes in memory; predicates are stored as a word.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Class::Half => 2,
            Class::Predicate | Class::Word => 4,
            Class::Double => 8,
        }
    }
}

/// Which constants may stand in a source's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Constants {
    /// None.
    None,
    /// Integers.
    Integer,
    /// The bits of an f32 or f64.
    Float,
    /// Integers of 8 bits.
    Byte,
    /// Nothing but a constant of so many bits.
    Only(u32),
}

/// What is done to a register before it is a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// Nothing.
    Nothing,
    /// It is made odd, so that it is not zero.
    Odd,
    /// A zero from memory is added, as [`Finish::Hide`] does to a result.
    Hide,
}

/// One operand of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Register class.
    pub(crate) class: Class,
    /// It is a result.
    pub(crate) is_result: bool,
    /// What is done to the source first.
    pub(crate) before: Before,
    /// Constants in its place.
    pub(crate) constants: Constants,
}

/// A floating-point format, as far as NaNs are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FloatFormat {
    /// Bits of a number; half of the register's for packed ones.
    pub(crate) bits: u32,
    /// The bits of infinity: what is larger, without the sign, is a NaN.
    pub(crate) infinity: u64,
    /// There are two in a register.
    pub(crate) packed: bool,
}

impl FloatFormat {
    const F16: FloatFormat = FloatFormat { bits: 16, infinity: 0x7c00, packed: false };
    const BF16: FloatFormat = FloatFormat { bits: 16, infinity: 0x7f80, packed: false };
    const F32: FloatFormat = FloatFormat { bits: 32, infinity: 0x7f80_0000, packed: false };
    const F64: FloatFormat = FloatFormat { bits: 64, infinity: 0x7ff0_0000_0000_0000, packed: false };

    /// The format of that PTX type.
    fn of_type(name: &str) -> Option<FloatFormat> {
        Some(match name {
            "f16" => Self::F16,
            "f16x2" => FloatFormat { packed: true, ..Self::F16 },
            "bf16" => Self::BF16,
            "bf16x2" => FloatFormat { packed: true, ..Self::BF16 },
            "f32" | "tf32" => Self::F32,
            "f64" => Self::F64,
            _ => return None,
        })
    }
}

/// What is done to a result so that all sides must agree on what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    /// Nothing.
    Nothing,
    /// Its NaNs are made the same: which NaN it is may depend on the order of operands, and min(x, x) may
    /// be x.
    OneNan(FloatFormat),
    /// A zero from memory is added, so that no compiler can fold it with what uses it: ptxas folds some
    /// pairs wrongly.
    Hide,
}

/// One instruction, or a few that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    /// Opcode, or instructions with `$0`, `$1` … for the operands.
    pub(crate) text: String,
    /// Operands, results first.
    pub(crate) slots: Vec<Slot>,
    /// Lowest target that has it, such as 90.
    pub(crate) least_target: u32,
    /// What is done to the result.
    pub(crate) finish: Finish,
}

impl Template {
    /// ptxas 13.0 keeps the guards of these (docs/fuzz.md).
    pub(crate) fn may_be_guarded(&self) -> bool {
        let is_set_to_float = self.text.starts_with("set.") && matches!(self.finish, Finish::OneNan(_));
        !self.text.starts_with("testp") && !is_set_to_float
    }

    /// How many operands are results.
    pub(crate) fn results(&self) -> usize {
        self.slots.iter().take_while(|slot| slot.is_result).count()
    }
}

/// The table, in the order of the file.
pub(crate) static TEMPLATES: LazyLock<Vec<Template>> =
    LazyLock::new(|| include_str!("templates.txt").lines().flat_map(parse_line).collect());

fn parse_line(line: &str) -> Vec<Template> {
    let Some((text, operands)) = line.split_once(" : ").filter(|_| !line.starts_with('#')) else {
        return Vec::new();
    };
    let words: Vec<&str> = operands.split_whitespace().collect();
    let target = words.iter().find_map(|word| word.strip_prefix('@')).and_then(|number| number.parse().ok());
    let slots: Vec<Slot> = words.iter().filter(|word| !word.starts_with('@')).filter_map(|word| slot(word)).collect();
    let finish = |text: &str| match result_format(text) {
        _ if words.contains(&"hidden") => Finish::Hide,
        Some(format) => Finish::OneNan(format),
        None => Finish::Nothing,
    };
    let template = |text: String| Template {
        finish: finish(&text),
        text,
        slots: slots.clone(),
        least_target: target.unwrap_or(0),
    };
    alternatives(text.trim()).into_iter().map(template).collect()
}

/// The first type that an opcode names is its result's, but for comparisons to a predicate.
fn result_format(text: &str) -> Option<FloatFormat> {
    let is_test = text.starts_with("setp") || text.starts_with("testp");
    let is_type =
        |word: &&str| word.starts_with(|c: char| "usbft".contains(c)) && word.ends_with(|c: char| c.is_ascii_digit());
    let ty = text.split([' ', '.']).skip(1).find(is_type)?;
    FloatFormat::of_type(ty).filter(|_| !is_test)
}

fn slot(word: &str) -> Option<Slot> {
    let (is_result, word) = word.strip_prefix('=').map_or((false, word), |rest| (true, rest));
    let prefixed = [('n', Before::Odd), ('o', Before::Hide)]
        .into_iter()
        .find_map(|(prefix, before)| Some((before, word.strip_prefix(prefix)?)));
    let (before, letter) = prefixed.unwrap_or((Before::Nothing, word));
    let (class, constants) = match letter {
        "p" => (Class::Predicate, Constants::None),
        "h" => (Class::Half, Constants::Integer),
        "w" => (Class::Word, Constants::Integer),
        "d" => (Class::Double, Constants::Integer),
        "b" => (Class::Word, Constants::Byte),
        "e" => (Class::Half, Constants::None),
        "x" => (Class::Word, Constants::None),
        "f" => (Class::Word, Constants::Float),
        "g" => (Class::Double, Constants::Float),
        _ => (Class::Word, Constants::Only(letter.strip_prefix('i')?.parse().ok()?)),
    };
    let constants = if is_result || before == Before::Odd { Constants::None } else { constants };
    Some(Slot { class, is_result, before, constants })
}

/// All texts that the `{a,b}` parts of `text` stand for. Braces with a `$` inside are PTX's own.
fn alternatives(text: &str) -> Vec<String> {
    let group = text.match_indices('{').find_map(|(start, _)| {
        let end = start + text[start..].find('}')?;
        (!text[start..end].contains('$')).then_some((start, end))
    });
    let Some((start, end)) = group else { return vec![text.to_owned()] };
    let choices = text[start + 1..end].split(',');
    choices.flat_map(|choice| alternatives(&format!("{}{choice}{}", &text[..start], &text[end + 1..]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_are_expanded_and_operands_read() {
        let found = parse_line("div.{u16,s16} : =h h nh @90");
        assert_eq!(found.iter().map(|t| t.text.as_str()).collect::<Vec<_>>(), ["div.u16", "div.s16"]);
        assert_eq!((found[0].slots.len(), found[0].least_target), (3, 90));
        assert!(found[0].slots[0].is_result && found[0].slots[2].before == Before::Odd);
        assert_eq!(alternatives("mov.b32 $0,{$1,$2}").len(), 1);
    }

    #[test]
    fn the_first_type_is_the_results() {
        let bits = |text| result_format(text).map(|format| (format.bits, format.packed));
        assert_eq!(bits("cvt.rn.f16x2.f32"), Some((16, true)));
        assert_eq!(bits("add.rn.ftz.f64"), Some((64, false)));
        assert_eq!(bits("cvt.rni.s32.f32"), None);
        assert_eq!(bits("setp.lt.f32"), None);
        assert_eq!(bits("mov.b32 $0,{$1,$2}"), None);
    }

    /// Every line of the file that is no comment gives templates, and every template has a result.
    #[test]
    fn every_line_is_understood() {
        let lines = include_str!("templates.txt").lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        for line in lines {
            let found = parse_line(line);
            let operands = line.rsplit(" : ").next().unwrap_or("").split_whitespace();
            let count = operands.filter(|word| !word.starts_with('@') && *word != "hidden").count();
            assert!(found.iter().all(|t| t.slots.len() == count && t.slots[0].is_result), "{line}");
            assert!(!found.is_empty(), "{line}");
        }
    }
}
