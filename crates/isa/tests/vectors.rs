//! Golden words: decoded text equals nvdisasm's, encoding gives the word back, parsed text encodes
//! to the word. `tests/data/vectors` holds a sample; the whole of `../shared/vectors` is used where it is,
//! and so is the folder that `ORIOLE_VECTORS` names.

use oriole_isa::{Arch, Control, Inst, Opcode, Operand, OperandFlags, Unscheduled, Value, decode, encode, parse};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::{env, fs};

/// The targets that there are vectors of.
const TARGETS: [&str; 13] = [
    "sm_50", "sm_61", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_103a", "sm_107a",
    "sm_120a",
];

/// The scheduling bits that the text does not show (`.reuse` is shown).
fn control(arch: Arch) -> u128 {
    if arch.word_format().is_bundled() { 0x1ffff << 64 } else { 0x1ffff << 105 }
}

/// Golden words whose scheduling bits are those of another bundle: the text has `.reuse` where they have
/// none, and nvdisasm 12.4 refuses the word with them.
const FAULTY: [u128; 6] = [
    0x0000_0000_0014_2000_5b70_0200_00a7_0408,
    0x0000_0000_0000_0000_5c12_0000_0ff7_0c05,
    0x0000_0000_0018_d000_5b6b_0380_0ff7_0a0f,
    0x0000_0000_0000_0054_1a1f_7f80_0517_0503,
    0x0000_0000_0000_0004_5bd7_8000_0ff7_04ff,
    0x0000_0000_001b_b548_5bd7_8000_0ff7_08ff,
];

/// One line of a vector file.
struct Vector {
    word: u128,
    pc: u64,
    text: String,
}

/// Why a line fails, by kind of check.
#[derive(Default)]
struct Tally {
    done: usize,
    left: BTreeMap<String, usize>,
    mnemonics: BTreeMap<String, usize>,
    failures: Vec<String>,
}

/// Targets of labels, by word and address.
type Labels = HashMap<(u128, u64), i64>;

fn read(folder: &Path, target: &str) -> Option<(Vec<Vector>, Labels)> {
    let text = fs::read_to_string(folder.join(format!("{target}.tsv"))).ok()?;
    let labels = fs::read_to_string(folder.join(format!("{target}.labels.tsv"))).unwrap_or_default();
    let number = |digits: &str| u64::from_str_radix(digits.trim_start_matches("0x"), 16).expect("hexadecimal");
    let word = |digits: &str| u128::from_str_radix(digits, 16).expect("hexadecimal");
    let vectors = text
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.splitn(3, '\t').collect();
            // The files' maker strips the closing brace of `{5,0}` together with those of dual issue.
            let brace = if cells[2].contains('{') && !cells[2].contains('}') { "}" } else { "" };
            Vector { word: word(cells[0]), pc: number(cells[1]), text: format!("{}{brace}", cells[2]) }
        })
        .collect();
    let labels = labels
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            ((word(cells[0]), number(cells[1])), number(cells[2]) as i64)
        })
        .collect();
    Some((vectors, labels))
}

fn mnemonic(text: &str) -> &str {
    let body = if text.starts_with('@') { text.split_once(' ').map_or("", |t| t.1) } else { text };
    body.split(['.', ' ']).next().unwrap_or("")
}

/// The name in `` `(name) ``, if there is one.
fn label_of(text: &str) -> Option<&str> {
    text.split_once("`(").and_then(|(_, rest)| rest.split_once(')')).map(|(name, _)| name)
}

/// Operands that the linker fills in have no text of their own.
fn relocated(text: &str, label: Option<i64>) -> bool {
    text.contains("32@") || text.contains("fun@") || (label_of(text).is_some() && label.is_none())
}

fn check(vector: &Vector, arch: Arch, label: Option<i64>) -> Result<(), String> {
    let inst = decode(vector.word, arch, vector.pc).map_err(|e| format!("decode: {e}"))?;
    let back = encode(&inst, arch, vector.pc).map_err(|e| format!("encode: {e}"))?;
    if back != vector.word {
        return Err(format!("encodes to {back:032x}"));
    }
    check_unscheduled(vector, arch, &inst)?;
    if relocated(&vector.text, label) {
        return Ok(());
    }
    let name = label_of(&vector.text).map(str::to_owned);
    let labels = |address: i64| name.clone().filter(|_| label == Some(address));
    let shown = inst.display(arch).labels(&labels).to_string();
    if shown != vector.text {
        return Err(format!("prints '{shown}'"));
    }
    check_parse(vector, arch, &inst, label)
}

/// The word as a scheduler makes it: without scheduling bits first, then with the operands that stay, then with the
/// control word. (Words that name a code address are made when that is known.)
fn check_unscheduled(vector: &Vector, arch: Arch, inst: &Inst) -> Result<(), String> {
    let names_address = inst.operands.iter().any(|operand| matches!(operand.value, Value::Label(_)));
    if names_address || arch.word_format().is_bundled() {
        return Ok(());
    }
    let mut plain = inst.clone();
    plain.control = Control::NONE;
    let stays = |operand: &mut Operand| {
        let kept = operand.flags.contains(OperandFlags::REUSE);
        operand.flags = operand.flags.without(OperandFlags::REUSE);
        kept
    };
    let kept: Vec<bool> = plain.operands.iter_mut().map(stays).collect();
    let mut word = Unscheduled::new(&plain, arch).map_err(|e| format!("unscheduled: {e}"))?;
    for (at, _) in kept.iter().enumerate().filter(|(_, kept)| **kept) {
        if !word.keep(at) {
            return Err(format!("unscheduled: operand {at} of '{}' cannot be kept", vector.text));
        }
    }
    match word.finish(inst.control, arch) {
        Ok(made) if made == vector.word => Ok(()),
        Ok(made) => Err(format!("unscheduled: {made:032x} instead of {:032x}", vector.word)),
        Err(error) => Err(format!("unscheduled: {error}")),
    }
}

/// The text encodes to the same word, apart from control bits and from what is not printed.
fn check_parse(vector: &Vector, arch: Arch, inst: &Inst, label: Option<i64>) -> Result<(), String> {
    let mut parsed = parse(&vector.text, arch, &|_| label).map_err(|e| format!("parse: {e}"))?;
    // The control word is not in the text, and `.reuse` goes with some of them only.
    parsed.control = inst.control;
    let word = encode(&parsed, arch, vector.pc).map_err(|e| format!("parsed: {e}"))?;
    if (word ^ vector.word) & !control(arch) == 0 || hidden(arch, inst, &parsed) {
        return Ok(());
    }
    Err(format!("parsed text encodes to {word:032x}"))
}

/// The two differ only in what their common text does not show.
fn hidden(arch: Arch, inst: &Inst, parsed: &Inst) -> bool {
    inst.display(arch).to_string() == parsed.display(arch).to_string()
}

/// `ORIOLE_TARGETS` and `ORIOLE_OPCODES` narrow the test to what their words name.
fn selected(variable: &str, name: &str) -> bool {
    env::var(variable).map_or(true, |list| list.split_whitespace().any(|word| word == name))
}

fn run(folder: &Path) -> Vec<(&'static str, Tally)> {
    let mut all = Vec::new();
    for target in TARGETS.into_iter().filter(|target| selected("ORIOLE_TARGETS", target)) {
        let arch: Arch = target.parse().expect("a known target");
        let Some((vectors, labels)) = read(folder, target) else { continue };
        let mut tally = Tally::default();
        for vector in &vectors {
            let name = mnemonic(&vector.text);
            if !selected("ORIOLE_OPCODES", name) || FAULTY.contains(&vector.word) {
                continue;
            }
            if !Opcode::named(name, arch).is_some_and(|opcode| opcode.exists_on(arch)) {
                *tally.left.entry(name.to_owned()).or_default() += 1;
                continue;
            }
            tally.done += 1;
            *tally.mnemonics.entry(name.to_owned()).or_default() += 1;
            let label = labels.get(&(vector.word, vector.pc)).copied();
            if let Err(why) = check(vector, arch, label) {
                tally.failures.push(format!("{target} {:032x} '{}': {why}", vector.word, vector.text));
            }
        }
        all.push((target, tally));
    }
    all
}

fn report(all: &[(&str, Tally)]) {
    println!("target  lines done  lines left  mnemonics done  mnemonics left  failures");
    for (target, tally) in all {
        println!(
            "{target:7} {:10}  {:10}  {:14}  {:14}  {:8}",
            tally.done,
            tally.left.values().sum::<usize>(),
            tally.mnemonics.len(),
            tally.left.len(),
            tally.failures.len()
        );
    }
    for (target, tally) in all {
        let left: Vec<String> = tally.left.iter().map(|(name, lines)| format!("{name}:{lines}")).collect();
        println!("{target} left: {}", left.join(" "));
    }
    let shown: usize = env::var("ORIOLE_VECTOR_FAILURES").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    for failure in all.iter().flat_map(|(_, t)| &t.failures).take(shown) {
        println!("{failure}");
    }
}

fn assert_clean(folder: &Path) {
    let all = run(folder);
    report(&all);
    assert!(all.iter().any(|(_, t)| t.done > 0), "no vectors were checked");
    assert!(all.iter().all(|(_, t)| t.failures.is_empty()), "see the failures above");
}

#[test]
fn committed_sample() {
    assert_clean(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/vectors"));
}

#[test]
fn all_shared_vectors() {
    let Some(folder) = oriole_prerequisites::shared("vectors") else { return };
    assert_clean(&folder);
}

/// Words of other programs, in the same format, where `ORIOLE_VECTORS` names their folder; without it nothing is amiss.
#[test]
fn further_vectors() {
    if let Some(folder) = env::var_os("ORIOLE_VECTORS") {
        assert_clean(Path::new(&folder));
    }
}
