//! Every modifier of every form of the grammar reaches the code: taken away, or changed for another where one must stand, it
//! makes the statement's code another. Where it does not, `modifiers/without_effect.tsv` says why.

mod statements;

use oriole_isa::Arch;
use oriole_prerequisites::is_thorough;
use statements::{Form, Instruction, Statement, Types, Words, grammar};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

/// Targets that a statement is tried for, in this order.
const TARGETS: [(&str, Arch); 7] = [
    ("sm_75", Arch::Sm75),
    ("sm_80", Arch::Sm80),
    ("sm_89", Arch::Sm89),
    ("sm_90a", Arch::Sm90),
    ("sm_100a", Arch::Sm100),
    ("sm_107a", Arch::Sm107),
    ("sm_120a", Arch::Sm120),
];

/// Instruction, or one with all its modifiers; modifier; reason: where ptxas's code does not change either it says so.
const WITHOUT_EFFECT: &str = include_str!("modifiers/without_effect.tsv");
/// Instruction, modifier, reason: of these no statement is made here that the checker takes.
const UNTRIED: &str = include_str!("modifiers/untried.tsv");

/// The number in a target's name.
fn number(target: &str) -> u32 {
    target.trim_start_matches("sm_").trim_end_matches('a').parse().unwrap_or(0)
}

/// The type of a register, by its name.
fn register_type(register: &str) -> &'static str {
    match register.as_bytes()[1] {
        b'p' => "pred",
        b'h' => "b16",
        b'r' => "b32",
        b'd' => "b64",
        _ => "b128",
    }
}

fn declared(register: &str) -> String {
    format!(".reg .{} {register};", register_type(register))
}

/// A module around statements, with the registers of `both` read and written.
fn module(statement: &Statement, other: Option<&Statement>, target: &str) -> String {
    let both = || std::iter::once(statement).chain(other);
    let sources: BTreeSet<&String> = both().flat_map(|statement| &statement.sources).collect();
    let results: BTreeSet<&String> = both().flat_map(|statement| &statement.results).collect();
    let registers: String = sources.union(&results).map(|register| declared(register.as_str())).collect();
    let mut text = format!(
        ".version 9.5\n.target {target}\n.address_size 64\n.global .texref g_tex;\n.global .surfref g_surf;\n\
         .shared .align 1024 .b8 g_shared[4096];\n\
         .visible .entry k(.param .b64 in) {{\n.reg .b64 %at, %low, %high;.reg .b32 %truth;{registers}\n\
         ld.param.b64 %at,[in];\n"
    );
    let mut place = 0;
    let mut access = |register: &String, store: bool, text: &mut String| {
        place += 16;
        let ty = register_type(register);
        // Writing to a `String` cannot fail.
        let _ = match (ty, store) {
            ("b128", false) => {
                writeln!(text, "ld.global.v2.b64 {{%low,%high}},[%at+{place}];mov.b128 {register},{{%low,%high}};")
            }
            ("b128", true) => {
                writeln!(text, "mov.b128 {{%low,%high}},{register};st.global.v2.b64 [%at+{place}],{{%low,%high}};")
            }
            ("pred", false) => writeln!(text, "ld.global.b32 %truth,[%at+{place}];setp.ne.b32 {register},%truth,0;"),
            ("pred", true) => writeln!(text, "selp.b32 %truth,1,0,{register};st.global.b32 [%at+{place}],%truth;"),
            (ty, false) => writeln!(text, "ld.global.{ty} {register},[%at+{place}];"),
            (ty, true) => writeln!(text, "st.global.{ty} [%at+{place}],{register};"),
        };
    };
    sources.iter().for_each(|register| access(register, false, &mut text));
    text.push_str(&statement.text);
    text.push_str("\nL0:\n");
    results.iter().for_each(|register| access(register, true, &mut text));
    text.push_str("ret;\n}\n");
    text
}

/// The module's code, before anything optimises it.
fn lowered(text: &str, arch: Arch) -> Result<String, String> {
    let ast = oriole_ptx::load(text).map_err(|errors| errors[0].message.clone())?;
    let options = oriole_lower::Options::new(arch);
    let module = oriole_lower::lower(&ast, &options).map_err(|errors| errors[0].message.clone())?;
    Ok(module.functions.values().map(|function| format!("{function}")).collect())
}

/// What has been asked of one instruction: of words and a target the first statement that the checker takes.
type Known = HashMap<(Words, usize), Option<Statement>>;

fn valid(
    known: &mut Known,
    instruction: &Instruction,
    words: &Words,
    types: &Types,
    target: usize,
) -> Option<Statement> {
    let takes = |statement: &Statement| oriole_ptx::load(&module(statement, None, TARGETS[target].0)).is_ok();
    let find = || instruction.statements(words, types).find(takes);
    known.entry((words.clone(), target)).or_insert_with(find).clone()
}

/// A statement, and one without one of its modifiers or with another in its place.
struct Pair {
    instruction: String,
    modifier: String,
    with: Statement,
    without: Statement,
    target: usize,
}

/// What the grammar has for one of its forms' modifiers.
fn pair(
    known: &mut Known,
    instruction: &Instruction,
    (words, at): (&Words, usize),
    slot: &[String],
    types: &Types,
    target: usize,
) -> Option<Pair> {
    let with = valid(known, instruction, words, types, target)?;
    let removed: Words = words.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, word)| word.clone()).collect();
    let changed = slot.iter().filter(|word| **word != words[at]).map(|word| {
        let mut other = words.clone();
        other[at].clone_from(word);
        other
    });
    let without =
        std::iter::once(removed).chain(changed).find_map(|words| valid(known, instruction, &words, types, target))?;
    Some(Pair { instruction: instruction.name.clone(), modifier: words[at].clone(), with, without, target })
}

/// Of how many forms one is tried where not all are.
const SAMPLE: usize = 16;

/// The pairs of the modifiers of forms, and the modifiers of which none could be made.
fn pairs() -> (Vec<Pair>, BTreeSet<(String, String)>) {
    let (instructions, types) = grammar();
    let (mut found, mut missing, mut made) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let turn = std::env::var("ORIOLE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let forms =
        instructions.iter().flat_map(|instruction| instruction.forms.iter().map(move |form| (instruction, form)));
    for (number, (instruction, form)) in forms.enumerate() {
        if !is_thorough() && number % SAMPLE != turn % SAMPLE {
            continue;
        }
        let mut known = Known::new();
        for (at, slot) in form.slots.iter().enumerate() {
            for word in slot.choices.iter().filter(|word| !types.contains_key(*word)) {
                let key = (instruction.name.clone(), word.clone());
                match pair_of(&mut known, instruction, form, (at, word), &types) {
                    Some(pair) => {
                        made.insert(key);
                        found.push(pair);
                    }
                    // A word that must stand, alone of its kind, has no other statement beside it.
                    None if known.iter().any(|((words, _), found)| found.is_some() && words.contains(word)) => {
                        made.insert(key);
                    }
                    None => {
                        missing.insert(key);
                    }
                }
            }
        }
    }
    (found, missing.difference(&made).cloned().collect())
}

/// The first pair for a word at a place of a form, on the first target that has one.
fn pair_of(
    known: &mut Known,
    instruction: &Instruction,
    form: &Form,
    (at, word): (usize, &String),
    types: &Types,
) -> Option<Pair> {
    let has = |target: &usize| number(TARGETS[*target].0) >= form.since;
    (0..TARGETS.len()).filter(has).find_map(|target| {
        form.ways(at, word).find_map(|words| {
            let place = words.iter().position(|other| other == word)?;
            pair(known, instruction, (&words, place), &form.slots[at].choices, types, target)
        })
    })
}

/// The lines of a table: instruction, modifier, reason.
fn reasons(table: &'static str) -> BTreeMap<(&'static str, &'static str), &'static str> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    let parts = |line: &'static str| {
        let (instruction, rest) = line.split_once('\t')?;
        rest.split_once('\t').map(|(modifier, why)| ((instruction, modifier), why))
    };
    lines.filter_map(parts).collect()
}

#[test]
fn each_modifier_changes_the_code() {
    let known = reasons(WITHOUT_EFFECT);
    let (pairs, missing) = pairs();
    let (mut wrong, mut refused, mut used) = (Vec::new(), Vec::new(), BTreeSet::new());
    for pair in &pairs {
        let (target, arch) = TARGETS[pair.target];
        let code = |one: &Statement, other: &Statement| lowered(&module(one, Some(other), target), arch);
        let same = match (code(&pair.with, &pair.without), code(&pair.without, &pair.with)) {
            (Ok(with), Ok(without)) => with == without,
            (Err(why), _) | (_, Err(why)) => {
                refused.push(format!("{target}: {}: {why}", pair.with.text));
                continue;
            }
        };
        let (name, modifier) = (pair.with.text.split(' ').next().unwrap_or_default(), pair.modifier.as_str());
        let of = |name| known.get_key_value(&(name, modifier));
        let listed = of(name).or_else(|| of(pair.instruction.as_str()));
        match listed {
            Some((listed, _)) if same => {
                used.insert(*listed);
            }
            _ if same => wrong.push(format!("{target}: {}\n    as {}", pair.with.text, pair.without.text)),
            _ => {}
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(wrong.is_empty(), "{} modifiers reach no instruction:\n{}", wrong.len(), wrong.join("\n"));
    if is_thorough() {
        let stale: Vec<_> = known.keys().filter(|key| !used.contains(*key)).collect();
        assert!(stale.is_empty(), "a reason for what changes the code: {stale:?}");
        let untried = reasons(UNTRIED);
        let missing: Vec<_> =
            missing.iter().filter(|(name, word)| !untried.contains_key(&(name.as_str(), word.as_str()))).collect();
        let missing: Vec<String> = missing.iter().map(|(name, word)| format!("{name}\t{word}")).collect();
        assert!(missing.is_empty(), "no statement here has:\n{}", missing.join("\n"));
    }
}
