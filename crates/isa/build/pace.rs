//! How long the next instruction of a slow unit has to wait, from `spec/latency/pace.tsv`.

use crate::model::{InstrDef, Spec};
use crate::targets::{self, Targets};
use crate::tsv::Tsv;

/// What the name of an opcode ends with where only its forms with an operand of 64 bits are meant.
const WIDE: &str = ":64";

/// A row for one opcode.
struct Rule<'a> {
    place: &'a str,
    opcode: &'a str,
    wide: bool,
    targets: Targets,
    unit: &'a str,
    cycles: u16,
    /// The release of ptxas that keeps it no more.
    until: Option<[u16; 2]>,
}

/// The static that `src/latency/pace.rs` includes: by chip and opcode, for its narrow and its wide forms.
pub(crate) fn table(spec: &Spec, tsv: &Tsv) -> Result<String, String> {
    let lines = tsv.rows::<6>()?;
    let mut rules = Vec::new();
    for line in &lines {
        let [unit, instructions, targets, cycles, until, _] = line.cells;
        let cycles = cycles.parse().map_err(|_| format!("{}: '{cycles}' is no number of cycles", line.place))?;
        let targets = targets::list(targets).map_err(|e| format!("{}: {e}", line.place))?;
        let until = release(until).ok_or_else(|| format!("{}: '{until}' is no release", line.place))?;
        for name in instructions.split(' ') {
            let opcode = name.strip_suffix(WIDE).unwrap_or(name);
            if !spec.instrs.contains_key(opcode) {
                return Err(format!("{}: no instruction '{opcode}'", line.place));
            }
            rules.push(Rule { place: &line.place, opcode, wide: name.ends_with(WIDE), targets, unit, cycles, until });
        }
    }
    let mut out = format!("static PACES: [[[Option<Pace>; 2]; Opcode::COUNT]; {}] = [\n", targets::NAMES.len());
    for chip in 0..targets::NAMES.len() {
        let rows = spec.instrs.values().map(|instr| row(instr, chip, &rules)).collect::<Result<Vec<_>, _>>()?;
        out += &format!("    [{}],\n", rows.join(", "));
    }
    out += "];\n";
    Ok(out)
}

/// The paces of the narrow and of the wide forms of an instruction on a chip.
fn row(instr: &InstrDef, chip: usize, rules: &[Rule<'_>]) -> Result<String, String> {
    let mut cells = [const { String::new() }; 2];
    for (wide, cell) in cells.iter_mut().enumerate() {
        let fits =
            |rule: &&Rule<'_>| rule.opcode == instr.name && rule.targets >> chip & 1 == 1 && rule.wide <= (wide == 1);
        let mut fitting = rules.iter().filter(fits);
        *cell = match (fitting.next(), fitting.next()) {
            (None, _) => "None".to_owned(),
            (Some(rule), None) => {
                let until =
                    rule.until.map_or("None".to_owned(), |[major, minor]| format!("Some(Release({major}, {minor}))"));
                format!("Some(Pace {{ unit: Unit::{}, cycles: {}, until: {until} }})", unit(rule)?, rule.cycles)
            }
            (_, Some(second)) => {
                return Err(format!("{}: a second row for {} on {}", second.place, instr.name, targets::NAMES[chip]));
            }
        };
    }
    Ok(format!("[{}]", cells.join(", ")))
}

/// `13.4`, or `-` for none.
fn release(text: &str) -> Option<Option<[u16; 2]>> {
    if text == "-" {
        return Some(None);
    }
    let (major, minor) = text.split_once('.')?;
    Some(Some([major.parse().ok()?, minor.parse().ok()?]))
}

fn unit(rule: &Rule<'_>) -> Result<&'static str, String> {
    match rule.unit {
        "fp64" => Ok("Fp64"),
        "xu" => Ok("Xu"),
        other => Err(format!("{}: no unit '{other}'", rule.place)),
    }
}
