//! The distances between two instructions that touch one register, from `spec/latency/{raw,waw,war}.tsv`, with what
//! `same_as.tsv` and `rules.tsv` say of the pairs that have no row of their own.
//!
//! Who schedules keeps the number of a pair. Who judges code that others scheduled holds a pair to it only where there is
//! evidence: it was mined from many pairs ([`is_well_mined`]), or it is a published number. Of another pair the mined code
//! had few or none, and nothing says that a shorter distance is wrong: there the shortest distance known from the same
//! first class is asked for, for a reader of the same [`Operand`]. Of two writes by one unit nothing is asked.

use crate::emit::enumeration;
use crate::latency::{Group, variant};
use crate::targets;
use crate::tsv::{Line, Tsv};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// The tables, in the order of `Table`.
const TABLES: [&str; 3] = ["raw", "waw", "war"];
const READ_AFTER_WRITE: usize = 0;

/// A target that has no column of its own, with those whose longer number it has but for the rows of `chips.tsv`; of a write after a
/// read, the number of the second.
const WITHOUT_COLUMN: (&str, [&str; 2]) = ("sm_107", ["sm_100", "sm_120"]);

/// The source of a published number (NAK's).
const PUBLISHED: &str = "nak";

/// By table: a distance of a pair is well mined if there are this many pairs of its classes, and this many at the distance itself.
/// Who reads a result waits for it, and ptxas issues as early as it may: any pair tells the distance. Two writes of one
/// register, or a write behind a read, seldom stand as close as they may.
const WELL_MINED: [[u32; 2]; 3] = [[1, 1], [50, 5], [50, 5]];
/// Whether distances between two writes hold for the judges wherever they were seen at all: matrix products take long, and would overwrite what
/// is written behind them too early. (`HFMA2.MMA` has the latency of other arithmetic.)
fn is_product(first: &str) -> bool {
    first.contains("MMA") && first != "HFMA2.MMA"
}

/// The register files, in the order of `RegFile`.
const FILES: [&str; 6] = ["R", "UR", "P", "UP", "B", "SB"];

/// The class of a reader that has no row: a result is in the register file after that distance, whoever reads it.
const ANY: &str = "*";

/// Columns of a table: file, two classes, a target each from sm_70 on, source.
const COLUMNS: usize = 12;

/// Cycles per target; 0 where there is no number.
type Cycles = [u8; targets::NAMES.len()];

/// Per target: whether there is evidence for the number.
type Evidence = [bool; targets::NAMES.len()];

/// The rows of a table.
type Rows<'a> = BTreeMap<[&'a str; 3], (Cycles, Evidence)>;

/// The files of the folder `spec/latency` that say distances.
pub(crate) struct Texts {
    tables: [Tsv; 3],
    chips: Tsv,
    same_as: Tsv,
    rules: Tsv,
}

impl Texts {
    /// Reads them.
    pub(crate) fn read(folder: &Path) -> Result<Texts, String> {
        let read = |name: &str| Tsv::read(&folder.join(format!("{name}.tsv")));
        let [raw, waw, war] = TABLES;
        Ok(Texts {
            tables: [read(raw)?, read(waw)?, read(war)?],
            chips: read("chips")?,
            same_as: read("same_as")?,
            rules: read("rules")?,
        })
    }
}

/// A row of `same_as.tsv`.
struct Same<'a> {
    class: &'a str,
    base: &'a str,
    /// The tables in which it holds for the earlier and for the later instruction.
    tables: [Vec<&'a str>; 2],
}

/// A row of `rules.tsv`.
struct Rule<'a> {
    table: &'a str,
    file: &'a str,
    first: &'a str,
    second: &'a str,
    /// `None`: the longest distance from the first class to a reader.
    cycles: Option<u8>,
}

/// What a later instruction has a register for, as its class says: guards are wanted later than values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Operand {
    Guard,
    Predicate,
    Other,
}

impl Operand {
    fn of(class: &str) -> Self {
        if class.starts_with('@') {
            Operand::Guard
        } else if class.ends_with(" pred") {
            Operand::Predicate
        } else {
            Operand::Other
        }
    }
}

/// All that the texts say.
pub(crate) struct Distances<'a> {
    rows: [Rows<'a>; 3],
    same_as: Vec<Same<'a>>,
    rules: Vec<Rule<'a>>,
    /// The classes of the earlier instruction.
    pub(crate) earlier: BTreeSet<&'a str>,
    /// The classes of the later one.
    pub(crate) later: BTreeSet<&'a str>,
}

impl<'a> Distances<'a> {
    /// Reads what the texts say. The classes are those of rows and groups.
    pub(crate) fn new(texts: &'a Texts, groups: &[Group<'a>]) -> Result<Self, String> {
        let [raw, waw, war] = &texts.tables;
        let longer: fn(u8, u8) -> bool = |one, other| one > other;
        let mut rows = [
            rows(raw, WELL_MINED[0], |_| false, longer)?,
            rows(waw, WELL_MINED[1], is_product, longer)?,
            rows(war, WELL_MINED[2], |_| false, |_, other| other == 0)?,
        ];
        for line in texts.chips.rows()? {
            of_chip(&line, &mut rows)?;
        }
        let keys = || rows.iter().flat_map(BTreeMap::keys);
        let earlier = keys().map(|[_, first, _]| *first).chain(groups.iter().flat_map(Group::earlier)).collect();
        let later = keys().map(|[_, _, second]| *second).chain(groups.iter().flat_map(Group::later)).collect();
        let same = |line: Line<'a, 5>| {
            let [class, base, first, second, _] = line.cells;
            Same { class, base, tables: [first, second].map(|tables| tables.split(' ').collect()) }
        };
        let same_as = texts.same_as.rows()?.into_iter().map(same).collect();
        let rules = texts.rules.rows()?.iter().map(rule).collect::<Result<_, _>>()?;
        Ok(Distances { rows, same_as, rules, earlier, later })
    }

    /// The class whose numbers hold where `class`, of the earlier (0) or later (1) instruction, has none.
    fn base(&self, table: usize, side: usize, class: &'a str) -> &'a str {
        let fits = |same: &&Same<'a>| {
            let named = match same.class.strip_suffix('*') {
                Some(start) => class.starts_with(start),
                None => class == same.class,
            };
            named && same.tables[side].contains(&TABLES[table])
        };
        self.same_as.iter().find(fits).map_or(class, |same| same.base)
    }

    /// What the rows say of a pair, or else of the classes that the two are the same as.
    fn of_rows(&self, table: usize, file: &'a str, first: &'a str, second: &'a str) -> Cycles {
        let (other_first, other_second) = (self.base(table, 0, first), self.base(table, 1, second));
        let pairs = [(first, second), (other_first, second), (first, other_second), (other_first, other_second)];
        let found = pairs.iter().filter_map(|(first, second)| self.rows[table].get(&[file, *first, *second]));
        found.fold(Cycles::default(), |all, (row, _)| or_else(all, *row))
    }

    /// The cycles that a judge asks for between a class and each later one, from the `row` of the one who schedules, on one target.
    fn judged(&self, table: usize, file: &'a str, first: &'a str, row: &[u8], target: usize) -> Vec<u8> {
        // As the cycles are found: by a row of the pair, or of the classes that the two are the same as.
        let of = |second: &'a str| {
            let alike = |second: &'a str| [second, self.base(table, 1, second)];
            let firsts = [first, self.base(table, 0, first)];
            let fixed = second.strip_suffix('!').map_or([second; 2], alike);
            let seconds = alike(second).into_iter().chain(fixed);
            let mut pairs = seconds.flat_map(|second| firsts.map(|first| [file, first, second]));
            pairs.find_map(|pair| {
                let (cycles, evidence) = self.rows[table].get(&pair)?;
                (cycles[target] > 0).then_some((cycles[target], evidence[target]))
            })
        };
        // Who writes after another write by the same unit is done after it too: the unit gives its results in order.
        let is_in_order = |second: &'a str| TABLES[table] == "waw" && second == first;
        let mut least = BTreeMap::new();
        for second in &self.later {
            if let Some((cycles, _)) = of(second) {
                least
                    .entry(Operand::of(second))
                    .and_modify(|least: &mut u8| *least = cycles.min(*least))
                    .or_insert(cycles);
            }
        }
        let has_evidence = |second: &'a str| of(second).is_some_and(|(_, evidence)| evidence);
        let judge = |(second, cycles): (&&'a str, &u8)| match least.get(&Operand::of(second)) {
            _ if is_in_order(second) => 1,
            Some(least) if !has_evidence(second) => *cycles.min(least),
            _ => *cycles,
        };
        self.later.iter().zip(row).map(judge).collect()
    }

    /// The cycles of a pair of classes on all targets.
    fn cycles(&self, table: usize, file: &'a str, first: &'a str, second: &'a str) -> Result<Cycles, String> {
        let mut cycles = self.of_rows(table, file, first, second);
        // Without a row of its own, a writer of variable latency goes by that of fixed latency.
        if let Some(fixed) = second.strip_suffix('!') {
            cycles = or_else(cycles, self.of_rows(table, file, first, fixed));
        }
        if table == READ_AFTER_WRITE && second != ANY {
            return Ok(or_else(cycles, self.cycles(table, file, first, ANY)?));
        }
        if !cycles.contains(&0) {
            return Ok(cycles);
        }
        Ok(or_else(cycles, self.of_rules(table, file, first, second)?))
    }

    fn of_rules(&self, table: usize, file: &'a str, first: &'a str, second: &'a str) -> Result<Cycles, String> {
        let base = self.base(table, 0, first);
        let fits = |rule: &&Rule<'a>| {
            rule.table == TABLES[table]
                && [file, ANY].contains(&rule.file)
                && [first, base, ANY].contains(&rule.first)
                && [second, ANY].contains(&rule.second)
        };
        let rule = self.rules.iter().find(fits);
        let rule = rule.ok_or_else(|| format!("{}: no row and no rule for {file} {first} {second}", TABLES[table]))?;
        match rule.cycles {
            Some(cycles) => Ok([cycles; targets::NAMES.len()]),
            None => self.cycles(READ_AFTER_WRITE, file, first, ANY),
        }
    }

    /// `latency_tables.rs`: the enums `Earlier` and `Later`, and the tables.
    pub(crate) fn write(&self) -> Result<String, String> {
        let mut out = String::new();
        let item = |name: &&'a str| (variant(name), format!("`{name}`"), (*name).to_owned());
        let doc = "Class of the earlier instruction of a pair, as the tables of `spec/latency` name it.";
        enumeration(&mut out, "Earlier", doc, "u8", self.earlier.iter().map(item));
        let doc = "Class of the later instruction of a pair, as the tables of `spec/latency` name it.";
        enumeration(&mut out, "Later", doc, "u8", self.later.iter().map(item));
        self.write_tables(&mut out)?;
        Ok(out)
    }

    /// Equal rows stand once; those of all zeros and of all ones are the first two.
    fn write_tables(&self, out: &mut String) -> Result<(), String> {
        let mut cells = vec![vec![0; self.later.len()], vec![1; self.later.len()]];
        let mut known: BTreeMap<Vec<u8>, usize> = cells.iter().cloned().zip(0..).collect();
        let count = 2 * TABLES.len();
        let mut numbers = vec![vec![vec![Vec::new(); FILES.len()]; targets::NAMES.len()]; count];
        for (at, of_table) in numbers.iter_mut().enumerate() {
            // Those for judges stand behind the others.
            let (is_judged, table) = (at >= TABLES.len(), at % TABLES.len());
            for (at, file) in FILES.iter().enumerate() {
                for first in &self.earlier {
                    let to = |second: &&'a str| self.cycles(table, file, first, second);
                    let columns: Vec<Cycles> = self.later.iter().map(to).collect::<Result<_, _>>()?;
                    for (target, of_target) in of_table.iter_mut().enumerate() {
                        let mut row: Vec<u8> = columns.iter().map(|cycles| cycles[target]).collect();
                        if is_judged {
                            row = self.judged(table, file, first, &row, target);
                        }
                        let number = *known.entry(row).or_insert_with_key(|row| {
                            cells.push(row.clone());
                            cells.len() - 1
                        });
                        of_target[at].push(number);
                    }
                }
            }
        }
        let longest = cells.iter().flatten().max().copied().unwrap_or(0);
        let _ =
            writeln!(out, "/// The longest of all fixed distances, in cycles: what issued longer ago needs no look.");
        let _ = writeln!(out, "pub const LONGEST: u8 = {longest};\n");
        let shape = (count, targets::NAMES.len(), FILES.len());
        let _ =
            writeln!(out, "/// Number of the row in [`CELLS`], by table, target, file and class of the earlier one.");
        let _ = writeln!(
            out,
            "static ROWS: [[[[u16; Earlier::COUNT]; {}]; {}]; {}] = {numbers:?};\n",
            shape.2, shape.1, shape.0
        );
        let most: Vec<u8> = cells.iter().map(|row| row.iter().max().copied().unwrap_or(0)).collect();
        let _ = writeln!(out, "/// The most cycles of each row.");
        let _ = writeln!(out, "static MOST: [u8; {}] = {most:?};\n", most.len());
        let _ = writeln!(out, "/// Cycles, by class of the later one.");
        let _ = writeln!(out, "static CELLS: [[u8; Later::COUNT]; {}] = {cells:?};", cells.len());
        Ok(())
    }
}

/// The numbers of `cycles`, where it has none those of `other`.
fn or_else(cycles: Cycles, other: Cycles) -> Cycles {
    std::array::from_fn(|target| if cycles[target] == 0 { other[target] } else { cycles[target] })
}

/// The rows of a table. The target [`WITHOUT_COLUMN`] has the first of its two others' numbers where `is_first` of both says so.
fn rows<'a>(
    tsv: &'a Tsv,
    well_mined: [u32; 2],
    holds_always: fn(&str) -> bool,
    is_first: fn(u8, u8) -> bool,
) -> Result<Rows<'a>, String> {
    let lines = tsv.lines::<COLUMNS>()?;
    let (head, lines) = lines.split_first().ok_or_else(|| format!("{}: no column names", tsv.path))?;
    let mut columns = Vec::new();
    for name in &head.cells[3..COLUMNS - 1] {
        columns.push(targets::members(name).map_err(|e| format!("{}: {e}", head.place))?);
    }
    let mut rows = BTreeMap::new();
    for line in lines {
        let [file, first, second, ..] = line.cells;
        if !FILES.contains(&file) {
            return Err(format!("{}: unknown register file '{file}'", line.place));
        }
        let (mut cycles, mut evidence) = (Cycles::default(), Evidence::default());
        let sources = line.cells[COLUMNS - 1].split("; ");
        for ((chips, cell), source) in columns.iter().zip(&line.cells[3..]).zip(sources) {
            let number = match *cell {
                "-" => 0,
                cell => number(cell).ok_or_else(|| format!("{}: '{cell}' is no number of cycles", line.place))?,
            };
            for target in (0..targets::NAMES.len()).filter(|target| chips >> target & 1 == 1) {
                let holds = holds_always(first) || source == PUBLISHED;
                (cycles[target], evidence[target]) = (number, holds || is_well_mined(source, well_mined));
            }
        }
        fill_in(&mut cycles, &mut evidence, is_first)?;
        if rows.insert([file, first, second], (cycles, evidence)).is_some() {
            return Err(format!("{}: {file} {first} {second} twice", line.place));
        }
    }
    Ok(rows)
}

/// Fills in the target [`WITHOUT_COLUMN`].
fn fill_in(cycles: &mut Cycles, evidence: &mut Evidence, is_first: fn(u8, u8) -> bool) -> Result<(), String> {
    let place = |name: &str| {
        let found = targets::NAMES.iter().position(|other| *other == name);
        found.ok_or_else(|| format!("unknown target '{name}'"))
    };
    let (own, [one, other]) = WITHOUT_COLUMN;
    let (own, one, other) = (place(own)?, place(one)?, place(other)?);
    let taken = if is_first(cycles[one], cycles[other]) { one } else { other };
    (cycles[own], evidence[own]) = (cycles[taken], evidence[taken]);
    Ok(())
}

/// Whether a source is "AxB", A pairs at the distance of B seen, with enough of both; "seen(AxB)" if they were seen later, in random modules.
fn is_well_mined(source: &str, well_mined: [u32; 2]) -> bool {
    let source = source.strip_prefix("seen(").and_then(|source| source.strip_suffix(')')).unwrap_or(source);
    let counts = source.split_once('x').and_then(|(at, of)| Some([of.parse().ok()?, at.parse().ok()?]));
    counts.is_some_and(|counts: [u32; 2]| counts.iter().zip(well_mined).all(|(count, least)| *count >= least))
}

/// Puts the number of one chip, a row of `chips.tsv`, into its table.
fn of_chip<'a>(line: &Line<'a, 7>, rows: &mut [Rows<'a>; 3]) -> Result<(), String> {
    let [table, file, first, second, chip, cycles, _] = line.cells;
    let table = TABLES.iter().position(|name| *name == table);
    let table = table.ok_or_else(|| format!("{}: unknown table", line.place))?;
    let chip = targets::NAMES.iter().position(|name| *name == chip);
    let chip = chip.ok_or_else(|| format!("{}: unknown chip", line.place))?;
    let cycles = number(cycles).ok_or_else(|| format!("{}: '{cycles}' is no number of cycles", line.place))?;
    let row = rows[table].entry([file, first, second]).or_default();
    (row.0[chip], row.1[chip]) = (cycles, false);
    Ok(())
}

fn rule<'a>(line: &Line<'a, 6>) -> Result<Rule<'a>, String> {
    let [table, file, first, second, cycles, _] = line.cells;
    let cycles = match cycles {
        "longest" if table != TABLES[READ_AFTER_WRITE] => None,
        cell => Some(number(cell).ok_or_else(|| format!("{}: '{cell}' is no number of cycles", line.place))?),
    };
    Ok(Rule { table, file, first, second, cycles })
}

/// A number of cycles, at least 1.
fn number(cell: &str) -> Option<u8> {
    cell.parse().ok().filter(|cycles| *cycles > 0)
}
