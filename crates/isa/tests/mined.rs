//! The classes and numbers against what was mined from ptxas's code (`../shared/latency`, where it is).

use oriole_isa::latency::{self, Row, Slot, raw, raw_row, war, war_row, waw, waw_row};
use oriole_isa::{Arch, Field, Inst, Opcode, RegFile, Role, Value, WarpsyncMode, decode};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;

/// The targets that were mined, with their vectors.
const TARGETS: [(Arch, &str, &[&str]); 7] = [
    (Arch::Sm75, "sm_75", &["sm_75"]),
    (Arch::Sm80, "sm_80", &["sm_80"]),
    (Arch::Sm86, "sm_86", &["sm_86"]),
    (Arch::Sm89, "sm_89", &["sm_89"]),
    (Arch::Sm90, "sm_90", &["sm_90", "sm_90a"]),
    (Arch::Sm100, "sm_100a", &["sm_100a"]),
    (Arch::Sm120, "sm_120a", &["sm_120a"]),
];

/// Opcodes that set a scoreboard in the mined code and are fixed in the table, or the other way round.
const EXCEPTIONS: [(&str, &str); 8] = [
    ("HGMMA", "the result comes at no fixed time: WARPGROUP.DEPBAR waits for it, not a scoreboard"),
    ("IGMMA", "the result comes at no fixed time: WARPGROUP.DEPBAR waits for it, not a scoreboard"),
    ("QGMMA", "the result comes at no fixed time: WARPGROUP.DEPBAR waits for it, not a scoreboard"),
    ("BGMMA", "the result comes at no fixed time: WARPGROUP.DEPBAR waits for it, not a scoreboard"),
    ("BAR", "the scoreboard tells that the barrier's operands are read; nothing is written"),
    ("MEMBAR", "the scoreboard tells that the barrier is passed; nothing is written"),
    ("FENCE", "the scoreboard tells that the fence is passed; nothing is written"),
    ("LDGDEPBAR", "the scoreboard tells that the group's copies are done; nothing is written"),
];

/// The tables.
const RAW: &str = include_str!("../spec/latency/raw.tsv");
const WAW: &str = include_str!("../spec/latency/waw.tsv");
const WAR: &str = include_str!("../spec/latency/war.tsv");

/// A file of `../shared`, if it is there.
fn shared(path: &str) -> Option<String> {
    fs::read_to_string(oriole_prerequisites::shared(path)?).ok()
}

/// The lines of a mined table without its head, as cells.
fn mined(target: &str, table: &str) -> Option<Vec<Vec<String>>> {
    let text = shared(&format!("latency/{target}.{table}.tsv"))?;
    Some(text.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}

/// The name under which `mine_latency.py` counts an instruction: the mnemonic with a few of its modifiers.
fn mined_name(mnemonic: &str) -> String {
    const MEMORY: [&str; 30] = [
        "LD",
        "ST",
        "ATOM",
        "RED",
        "CCTL",
        "MEMBAR",
        "ERRBAR",
        "TEX",
        "TLD",
        "TXD",
        "TXQ",
        "TMML",
        "SULD",
        "SUST",
        "SUATOM",
        "SURED",
        "UTMA",
        "UBLK",
        "SYNCS",
        "ARRIVES",
        "UTC",
        "UCGABAR",
        "FENCE",
        "MATCH",
        "UST",
        "ULD",
        "FOOTPRINT",
        "QSPC",
        "ALD",
        "AST",
    ];
    const KEPT: [&str; 9] = ["WIDE", "HI", "MMA", "F32", "F64", "EX", "BF16", "BF16_V2", "64"];
    let parts: Vec<&str> = mnemonic.split('.').collect();
    let (base, mods) = (parts[0], &parts[1..]);
    let kept: Vec<&str> = if base.ends_with("MMA") {
        mods.iter().copied().filter(|m| !["ROW", "COL", "SAT", "gsb0"].contains(m)).collect()
    } else if MEMORY.iter().any(|m| base.starts_with(m)) && base != "REDUX" {
        mods.iter().copied().take(usize::from(base == "SYNCS")).collect()
    } else if base == "CS2R" {
        mods.iter().copied().filter(|m| *m == "32").collect()
    } else {
        mods.iter().copied().filter(|m| KEPT.contains(m)).collect()
    };
    [&[base], kept.as_slice()].concat().join(".")
}

/// Instructions of the vectors by their mined name.
fn samples(arch: Arch, vectors: &[&str]) -> HashMap<String, Vec<Inst>> {
    let mut samples: HashMap<String, Vec<Inst>> = HashMap::new();
    for text in vectors.iter().filter_map(|v| shared(&format!("vectors/{v}.tsv"))) {
        for line in text.lines() {
            let cells: Vec<&str> = line.splitn(3, '\t').collect();
            let word = u128::from_str_radix(cells[0], 16).expect("hexadecimal");
            let body = cells[2].trim_start_matches(|c| c != '@').split_once(' ').filter(|_| cells[2].starts_with('@'));
            let body = body.map_or(cells[2], |(_, body)| body);
            let mnemonic = body.split([' ', ';']).next().unwrap_or_default();
            if let Ok(inst) = decode(word, arch, 0) {
                samples.entry(mined_name(mnemonic)).or_default().push(inst);
            }
        }
    }
    // The mined rows do not tell its modes apart; nearly all are of this one, which reads later than the others.
    let is_collective = |inst: &Inst| inst.get(Field::WARPSYNC_MODE) == WarpsyncMode::COLLECTIVE;
    if let Some(waits) = samples.get_mut("WARPSYNC") {
        waits.sort_by_key(|inst| !is_collective(inst));
    }
    samples
}

#[test]
fn variable_latency_is_as_mined() {
    let (mut faults, mut excepted) = (Vec::new(), BTreeSet::new());
    for (arch, target, vectors) in TARGETS {
        let Some(rows) = mined(target, "opcodes") else { return };
        let samples = samples(arch, vectors);
        for row in rows {
            let opcode = samples.get(&row[0]).map(|s| s[0].opcode);
            let base = row[0].split('.').next().unwrap_or_default();
            let Some(opcode) = opcode.or_else(|| Opcode::from_name(base)) else {
                faults.push(format!("{target}: {} is not in the spec", row[0]));
                continue;
            };
            let read_barriers: usize = row[7].parse().expect("a number");
            let expected = match row[1].as_str() {
                "scoreboard" | "scoreboard(some)" | "no-dst,sb" => true,
                "fixed" => false,
                _ if read_barriers > 0 => true,
                _ => continue,
            };
            if latency::is_variable_opcode(opcode, arch) == expected {
                continue;
            }
            match EXCEPTIONS.iter().find(|(name, _)| *name == base) {
                Some((name, _)) => {
                    excepted.insert(*name);
                }
                None => faults.push(format!("{target}: {} ({}) is {}", row[0], opcode.name(), row[1])),
            }
        }
    }
    let idle: Vec<_> = EXCEPTIONS.iter().filter(|(name, _)| !excepted.contains(name)).collect();
    assert!(idle.is_empty(), "no exceptions: {idle:?}");
    assert!(faults.is_empty(), "{faults:#?}");
}

fn file_named(name: &str) -> Option<RegFile> {
    [("R", RegFile::R), ("P", RegFile::P), ("UR", RegFile::UR), ("UP", RegFile::UP)]
        .into_iter()
        .find_map(|(n, file)| (n == name).then_some(file))
}

/// `c+1`: the role and which register of it.
fn element(text: &str) -> (&str, u8) {
    let (name, register) = text.split_once('+').unwrap_or((text, "0"));
    (name, register.parse().unwrap_or(3))
}

/// The first operand that reads (or writes) a register of the file in a role that the mining calls `role`.
fn place(inst: &Inst, file: RegFile, role: Option<&str>) -> Option<u8> {
    let fits = |at: usize| {
        let operand = &inst.opcode.signature()[at];
        let in_file = match inst.operands[at].value {
            Value::Reg(f, number) => {
                let is_index = inst.opcode == Opcode::ULDC && operand.role == Role::Base;
                f == file && f.zero() != Some(number) && (role != Some("cbuf") || is_index)
            }
            Value::ConstBindless { .. } => file == RegFile::UR && role == Some("cbuf"),
            _ => false,
        };
        in_file
            && match role {
                None => operand.is_def,
                Some("a") => operand.role == Role::A,
                Some("b") => operand.role == Role::B,
                Some("c") => operand.role == Role::C,
                Some("addr") => matches!(operand.role, Role::Base | Role::UBase),
                Some("desc") => operand.role == Role::Desc,
                Some("p" | "cbuf") => !operand.is_def,
                Some("data") => !operand.is_def && !matches!(operand.role, Role::Base | Role::UBase | Role::Desc),
                Some(_) => false,
            }
    };
    (0..inst.operands.len().min(inst.opcode.signature().len()))
        .find(|at| fits(*at))
        .and_then(|at| u8::try_from(at).ok())
}

fn slot_of<'a>(insts: &'a [Inst], file: RegFile, role: Option<&str>, register: u8) -> Option<(&'a Inst, Slot)> {
    if role == Some("guard") {
        return insts.first().map(|inst| (inst, Slot::Guard));
    }
    insts.iter().find_map(|inst| place(inst, file, role).map(|index| (inst, Slot::Operand { index, register })))
}

/// The sources of a column of a table: file, first and second class to what the row says.
fn sources(text: &str, arch: Arch) -> HashMap<(String, String, String), String> {
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let head: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let at = head.iter().position(|name| *name == arch.name()).expect("a column") - 3;
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let source = cells.last().and_then(|all| all.split("; ").nth(at)).expect("a source per column");
        ((cells[0].to_owned(), cells[1].to_owned(), cells[2].to_owned()), source.to_owned())
    };
    lines.map(row).collect()
}

/// Whether the source of a number explains that it is below what five pairs or more were mined at.
fn explains(source: &str) -> bool {
    let few = source.split_once('x').and_then(|(at, _)| at.parse::<u32>().ok()).is_some_and(|at| at < 5);
    few || ["nak", "floor", "thin", "cap", "seen", "sibling"].iter().any(|name| source.starts_with(name))
}

/// The classes of a pair.
type Key = (String, String, String);

/// What the pairs of two classes have: our number, the smallest mined distance, how many pairs are at it, an example.
type Pool = BTreeMap<Key, (u8, u8, u32, String)>;

/// The key of the row that gives a target's number: the classes', or those that they are the same as.
fn key_of(sources: &HashMap<Key, String>, file: &str, row: Row) -> Key {
    let (first, second) = (row.first.name(), row.second.name());
    let base = |class: &str| {
        let lines = include_str!("../spec/latency/same_as.tsv").lines();
        let mut pairs = lines.filter_map(|line| line.split_once('\t'));
        let fits = |name: &str| name == class || name.strip_suffix('*').is_some_and(|start| class.starts_with(start));
        let found = pairs.find(|(name, _)| fits(name)).and_then(|(_, rest)| rest.split('\t').next());
        found.unwrap_or(class).to_owned()
    };
    let keys = [
        (file.to_owned(), first.to_owned(), second.to_owned()),
        (file.to_owned(), base(first), second.to_owned()),
        (file.to_owned(), first.to_owned(), base(second)),
        (file.to_owned(), base(first), base(second)),
    ];
    let has_row = |key: &&Key| sources.get(*key).is_some_and(|source| source != "-");
    keys.iter().find(has_row).unwrap_or(&keys[3]).clone()
}

fn check(sources: &HashMap<Key, String>, arch: Arch, pool: &Pool, faults: &mut Vec<String>) {
    for (key, (ours, least, pairs, example)) in pool {
        let source = sources.get(key).map_or("-", String::as_str);
        // A pair without a row waits until the result is in the register file: the row `*` of the first class.
        if ours < least && *pairs >= 5 && source != "-" && !explains(source) {
            faults.push(format!("{arch} {key:?} {example}: {ours} ({source}), mined {least}"));
        }
    }
}

#[test]
fn no_number_is_below_the_mined_ones() {
    let mut faults = Vec::new();
    for (arch, target, vectors) in TARGETS {
        let tables = (mined(target, "raw"), mined(target, "waw"), mined(target, "war"));
        let (Some(reads), Some(writes), Some(overwrites)) = tables else { return };
        let samples = samples(arch, vectors);
        let (mut raws, mut waws) = (Pool::new(), Pool::new());
        let (of_reads, of_writes) = (sources(RAW, arch), sources(WAW, arch));
        let mut compared = 0;
        for row in &reads {
            let (producer, register) = element(&row[0]);
            let (role, of_role) = element(&row[2]);
            let (Some(file), Some(first), Some(second)) =
                (file_named(&row[3]), samples.get(producer), samples.get(&row[1]))
            else {
                continue;
            };
            let (Some((first, def)), Some((second, use_))) =
                (slot_of(first, file, None, register), slot_of(second, file, Some(role), of_role))
            else {
                continue;
            };
            let key = key_of(&of_reads, &row[3], raw_row(first, def, second, use_, arch));
            pool(&mut raws, key, raw(first, def, second, use_, arch), &row[4..6], row);
            compared += 1;
        }
        for row in &writes {
            let (producer, register) = element(&row[0]);
            let second = row[1].split(['!', '+']).next().unwrap_or_default();
            let (Some(file), Some(first), Some(second)) =
                (file_named(&row[2]), samples.get(producer), samples.get(second))
            else {
                continue;
            };
            let Some((first, def)) = slot_of(first, file, None, register) else { continue };
            let key = key_of(&of_writes, &row[2], waw_row(first, def, &second[0], arch));
            pool(&mut waws, key, waw(first, def, &second[0], arch), &row[3..5], row);
            compared += 1;
        }
        let (mut wars, of_overwrites) = (Pool::new(), sources(WAR, arch));
        for row in &overwrites {
            let (role, of_role) = element(&row[1]);
            let writer = samples.get(row[2].trim_end_matches('!'));
            let (Some(file), Some(reader), Some(writer)) =
                (file_named(&row[3]), samples.get(row[0].trim_end_matches('!')), writer)
            else {
                continue;
            };
            let Some((reader, place)) = slot_of(reader, file, Some(role), of_role) else { continue };
            // The registers of instructions of variable latency are free at once or held by a scoreboard.
            if latency::is_variable_opcode(reader.opcode, arch) {
                continue;
            }
            let key = key_of(&of_overwrites, &row[3], war_row(reader, place, &writer[0], arch));
            pool(&mut wars, key, war(reader, place, &writer[0], arch), &row[4..6], row);
        }
        println!("{target}: {compared} of {} rows", reads.len() + writes.len());
        assert!(compared * 2 > reads.len() + writes.len(), "{target}: only {compared} rows compared");
        check(&of_reads, arch, &raws, &mut faults);
        check(&of_writes, arch, &waws, &mut faults);
        check(&of_overwrites, arch, &wars, &mut faults);
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

fn pool(pool: &mut Pool, key: Key, ours: u8, mined: &[String], row: &[String]) {
    let (Ok(least), Ok(pairs)) = (mined[0].parse::<u8>(), mined[1].parse::<u32>()) else { return };
    // A pair that is never closer than 64 cycles is taken for one that ptxas never squeezed.
    if ours == 0 || least >= 64 {
        return;
    }
    let entry = pool.entry(key).or_insert((ours, least, 0, row.join(" ")));
    if least < entry.1 {
        *entry = (ours, least, pairs, row.join(" "));
    } else if least == entry.1 {
        entry.2 += pairs;
    }
    entry.0 = entry.0.min(ours);
}
