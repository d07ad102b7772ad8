//! Programs as files: a module, with the launch in comments before it (`tests/programs/README.md`).

use super::buffers::Argument;
use super::sides::{Outcome, Plan, Side, Tools, run};
use oriole_cubin::Target;
use std::fmt::{Display, Formatter, Result as Formatted};

/// Targets of files that name none.
const DEFAULT_TARGETS: &str = "sm_80, sm_90";

/// A program, its launch, and what is known about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What it shows, a line each.
    pub notes: Vec<String>,
    /// Targets to run on.
    pub targets: Vec<Target>,
    /// The launch.
    pub plan: Plan,
    /// First words that an argument's buffer must hold after the run.
    pub expected: Vec<(usize, Vec<u32>)>,
    /// Sides that are left out, and why.
    pub except: Vec<(String, String)>,
    /// The module.
    pub ptx: String,
}

impl Case {
    /// Reads a file.
    ///
    /// # Errors
    /// Where a line of the header is not understood, or there is no kernel; in words.
    pub fn parse(text: &str) -> Result<Case, String> {
        let is_header = |line: &&str| line.trim().is_empty() || line.starts_with("//");
        let header = text.lines().take_while(is_header);
        let mut case = Case {
            notes: Vec::new(),
            targets: targets(DEFAULT_TARGETS)?,
            plan: Plan::default(),
            expected: Vec::new(),
            except: Vec::new(),
            ptx: text.to_owned(),
        };
        for line in header {
            let line = line.trim_start_matches('/').trim();
            case.line(line).map_err(|reason| format!("{line:?}: {reason}"))?;
        }
        if case.plan.kernel.is_empty() {
            case.plan.kernel = only_kernel(text)?;
        }
        if let Some((argument, _)) = case.expected.iter().find(|(argument, _)| *argument >= case.plan.arguments.len()) {
            return Err(format!("argument {argument} is expected, but not there"));
        }
        Ok(case)
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let (key, value) = line.split_once(':').map_or(("", line), |(key, value)| (key, value.trim()));
        match key {
            "arch" => self.targets = targets(value)?,
            "grid" => self.plan.grid = shape(value)?,
            "block" => self.plan.block = shape(value)?,
            "cluster" => self.plan.cluster = shape(value)?,
            "shared" => self.plan.shared = value.parse().map_err(|_| "no number of bytes".to_owned())?,
            "entry" => value.clone_into(&mut self.plan.kernel),
            "arg" => self.plan.arguments.push(Argument::parse(value)?),
            "expect" => {
                let (argument, words) = expectation(value).ok_or("it must be 'arg N = WORD …'")?;
                match self.expected.iter_mut().find(|(known, _)| *known == argument) {
                    Some((_, all)) => all.extend(words),
                    None => self.expected.push((argument, words)),
                }
            }
            "except" => {
                let (side, why) = value.split_once(':').ok_or("it must be 'SIDE: reason'")?;
                self.except.push((side.trim().to_owned(), why.trim().to_owned()));
            }
            _ if line.is_empty() => {}
            _ => self.notes.push(line.to_owned()),
        }
        Ok(())
    }

    /// What each of `sides` makes of it, but for those that the file excepts.
    pub fn outcomes(&self, target: Target, sides: &[Side], tools: &Tools) -> Vec<(Side, Outcome)> {
        let takes_part = |side: &&Side| self.except.iter().all(|(name, _)| *name != side.to_string());
        // nvdisasm takes half a second for a file: it reads the optimised code.
        let quick = Tools { nvdisasm: None, ..tools.clone() };
        let outcome = |side: &Side| {
            let tools = if *side == Side::level(3) { tools } else { &quick };
            let mut outcomes = run(*side, &self.ptx, target, std::slice::from_ref(&self.plan), tools);
            (*side, outcomes.pop().unwrap_or_else(|| Outcome::Failed("it was not run".to_owned())))
        };
        sides.iter().filter(takes_part).map(outcome).collect()
    }

    /// What is wrong with these outcomes: who failed, who wrote something else than the first side, or
    /// than what is expected. Empty where all is well.
    pub fn faults(&self, outcomes: &[(Side, Outcome)]) -> Vec<String> {
        let mut faults = Vec::new();
        let mut first: Option<(Side, &[u8])> = None;
        for (side, outcome) in outcomes {
            match (outcome, first) {
                (Outcome::Failed(reason), _) => faults.push(format!("{side}: {reason}")),
                (Outcome::Panicked(reason), _) => faults.push(format!("{side} panicked: {reason}")),
                (Outcome::Output(bytes), None) => {
                    first = Some((*side, bytes));
                    faults.extend(self.unexpected(*side, bytes));
                }
                (Outcome::Output(bytes), Some((other, same))) if bytes != same => {
                    let at = bytes.iter().zip(same).position(|(a, b)| a != b).unwrap_or(0) & !3;
                    let place = self.place(at);
                    faults.push(format!("{place}: {side} {}, {other} {}", word(bytes, at), word(same, at)));
                }
                (Outcome::Output(_), Some(_)) => {}
            }
        }
        faults
    }

    fn unexpected(&self, side: Side, bytes: &[u8]) -> Option<String> {
        self.expected.iter().find_map(|(argument, words)| {
            let start: usize = self.plan.arguments[..*argument].iter().map(Argument::compared).sum();
            let wrong = words.iter().zip(0..).find(|(expected, at)| {
                let at = start + 4 * at;
                bytes.get(at..at + 4) != Some(&expected.to_le_bytes()[..])
            });
            wrong.map(|(expected, at)| {
                format!("argument {argument}, word {at}: {side} {}, not {expected:08x}", word(bytes, start + 4 * at))
            })
        })
    }

    /// Which argument byte `at` of the compared bytes belongs to.
    fn place(&self, at: usize) -> String {
        let mut before = 0;
        for (number, argument) in self.plan.arguments.iter().enumerate() {
            let bytes = argument.compared();
            if at < before + bytes {
                return format!("argument {number}, word {}", (at - before) / 4);
            }
            before += bytes;
        }
        "behind the arguments".to_owned()
    }
}

fn word(bytes: &[u8], at: usize) -> String {
    bytes[at.min(bytes.len())..bytes.len().min(at + 4)].iter().rev().map(|byte| format!("{byte:02x}")).collect()
}

/// Prints the header and the module; [`Case::parse`] reads it again.
impl Display for Case {
    fn fmt(&self, f: &mut Formatter<'_>) -> Formatted {
        let mut notes = self.notes.iter().flat_map(|note| note.lines());
        notes.try_for_each(|note| writeln!(f, "// {note}"))?;
        let names: Vec<String> = self.targets.iter().map(Target::to_string).collect();
        writeln!(f, "// arch: {}", names.join(", "))?;
        for (name, [x, y, z]) in [("grid", self.plan.grid), ("block", self.plan.block), ("cluster", self.plan.cluster)]
        {
            match (x, y, z) {
                (1, 1, 1) => {}
                (_, 1, 1) => writeln!(f, "// {name}: {x}")?,
                _ => writeln!(f, "// {name}: {x},{y},{z}")?,
            }
        }
        if self.plan.shared > 0 {
            writeln!(f, "// shared: {}", self.plan.shared)?;
        }
        self.plan.arguments.iter().try_for_each(|argument| writeln!(f, "// arg: {argument}"))?;
        for (argument, words) in &self.expected {
            write!(f, "// expect: arg {argument} =")?;
            words.iter().try_for_each(|word| write!(f, " {word:#x}"))?;
            writeln!(f)?;
        }
        self.except.iter().try_for_each(|(side, why)| writeln!(f, "// except: {side}: {why}"))?;
        f.write_str(&self.ptx)
    }
}

fn targets(text: &str) -> Result<Vec<Target>, String> {
    let target = |name: &str| {
        let name = name.trim();
        oriole_codegen::target(name).map_err(|error| error.to_string())
    };
    text.split(',').map(target).collect()
}

fn shape(text: &str) -> Result<[u32; 3], String> {
    let numbers: Result<Vec<u32>, _> = text.split(',').map(|number| number.trim().parse()).collect();
    match numbers.as_deref() {
        Ok([x]) => Ok([*x, 1, 1]),
        Ok([x, y]) => Ok([*x, *y, 1]),
        Ok([x, y, z]) => Ok([*x, *y, *z]),
        _ => Err("one to three numbers are needed".to_owned()),
    }
}

/// The argument's number and its words in `arg N = WORD …`.
fn expectation(text: &str) -> Option<(usize, Vec<u32>)> {
    let (argument, words) = text.strip_prefix("arg")?.split_once('=')?;
    let word = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok().or_else(|| text.parse::<i32>().ok().map(i32::cast_unsigned)),
    };
    Some((argument.trim().parse().ok()?, words.split_whitespace().map(word).collect::<Option<_>>()?))
}

/// The name behind the only `.entry` of a module.
fn only_kernel(text: &str) -> Result<String, String> {
    let code: String = text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n");
    let name = |rest: &str| {
        rest.split(|c: char| c.is_whitespace() || c == '(' || c == '{').find(|w| !w.is_empty()).map(str::to_owned)
    };
    let mut kernels = code.split(".entry").skip(1).filter_map(name);
    match (kernels.next(), kernels.next()) {
        (Some(kernel), None) => Ok(kernel),
        (None, _) => Err("there is no kernel".to_owned()),
        (Some(_), Some(_)) => Err("there are several kernels: 'entry: NAME' says which".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "// It shows: nothing much.\n// arch: sm_90\n// block: 64,2,1\n// arg: in u32 4 iota\n// arg: out 16\n\
         // expect: arg 1 = 0x1 0x2\n// except: ptxas-O3: folds\n.version 9.0\n.visible .entry k(.param .u64 a) // .entry\n{ ret; }\n";

    #[test]
    fn the_header_says_what_is_launched() {
        let case = Case::parse(TEXT).expect("it is right");
        assert_eq!((case.plan.kernel.as_str(), case.plan.grid, case.plan.block), ("k", [1; 3], [64, 2, 1]));
        assert_eq!((case.plan.arguments.len(), &case.expected), (2, &vec![(1, vec![1, 2])]));
        assert_eq!(case.except, [("ptxas-O3".to_owned(), "folds".to_owned())]);
        assert_eq!(case.notes, ["It shows: nothing much."]);
    }

    #[test]
    fn what_is_expected_is_looked_for() {
        let case = Case::parse(TEXT).expect("it is right");
        let output = |words: [u8; 2]| {
            let bytes = [words[0], 0, 0, 0, words[1], 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0].to_vec();
            Outcome::Output(bytes)
        };
        let faults =
            |first, second| case.faults(&[(Side::Interpreter, output(first)), (Side::Ptxas(0), output(second))]);
        assert!(faults([1, 2], [1, 2]).is_empty());
        assert_eq!(faults([1, 3], [1, 3]), ["argument 1, word 1: interpreter 00000003, not 00000002"]);
        assert_eq!(faults([1, 2], [1, 4]), ["argument 1, word 1: ptxas-O0 00000004, interpreter 00000002"]);
    }

    #[test]
    fn wrong_lines_are_named() {
        for line in ["arch: sm_1", "grid: x", "arg: in", "expect: arg 0 5", "except: ptxas", "expect: arg 3 = 1"] {
            Case::parse(&format!("// {line}\n.entry k() {{ ret; }}")).expect_err(line);
        }
        Case::parse("// nothing\n").expect_err("there is no kernel");
    }
}
