//! Reads the text of a table; `docs/witness.md` describes it.

use crate::field::{Field, Type};
use crate::object::Object;
use crate::table::{Case, Except, Form, Needs, Program, Rows, Table, VERSION};
use crate::value::{Value, hex};
use oriole_cubin::Target;
use std::sync::Arc;

/// The table, or a line and what is wrong with it.
pub(crate) fn table(text: &str) -> Result<Table, (usize, String)> {
    let mut reader = Reader::default();
    for (number, line) in text.lines().enumerate() {
        reader.line(line).map_err(|why| (number + 1, why))?;
    }
    reader.close().map_err(|why| (text.lines().count(), why))?;
    Ok(reader.table)
}

/// What the lines without a keyword belong to.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Block {
    #[default]
    Nothing,
    Rows,
    Code,
    Input,
    Before,
    Output,
}

#[derive(Default)]
struct Reader {
    table: Table,
    section: String,
    rows: Rows,
    shared_rows: Option<Arc<Rows>>,
    block: Block,
    head: Head,
    program: Option<Program>,
    outputs: Vec<Field>,
    values: Vec<Vec<Value>>,
}

/// What stands before the results of a form, or in a program.
#[derive(Default)]
struct Head {
    code: Vec<String>,
    needs: Needs,
    without: Vec<Except>,
    notes: Vec<char>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if line.starts_with('#') || line.is_empty() {
            return Ok(());
        }
        if let Some(code) = line.strip_prefix("  ") {
            return self.code(code);
        }
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "section" => self.close().map(|()| rest.clone_into(&mut self.section)),
            "rows" => self.start_rows(rest),
            "form" => self.start_form(rest),
            "program" => self.start_program(rest),
            "needs" => self.needs(rest),
            "note" => self.note(rest),
            "without" => self.without(rest),
            "out" => self.start_output(rest),
            "grid" | "block" | "cluster" | "shared" | "mode" | "ptx" | "case" | "in" | "before" => {
                self.program_line(word, rest)
            }
            "texture" | "surface" | "sampler" | "tensor" => self.object(word, rest),
            _ => self.numbers(line),
        }
    }

    fn start_rows(&mut self, fields: &str) -> Result<(), String> {
        self.close()?;
        self.rows = Rows { fields: parse_fields(fields)?, values: Vec::new() };
        self.shared_rows = None;
        self.block = Block::Rows;
        Ok(())
    }

    fn start_form(&mut self, code: &str) -> Result<(), String> {
        if self.block != Block::Code || self.program.is_some() {
            self.close()?;
        }
        self.head.code.push(code.to_owned());
        self.block = Block::Code;
        Ok(())
    }

    fn start_program(&mut self, name: &str) -> Result<(), String> {
        self.close()?;
        self.program = Some(Program {
            name: name.to_owned(),
            section: self.section.clone(),
            needs: Needs::default(),
            without: Vec::new(),
            shape: [[1; 3]; 3],
            shared: 0,
            mode: None,
            objects: Vec::new(),
            code: String::new(),
            cases: Vec::new(),
        });
        Ok(())
    }

    fn code(&mut self, line: &str) -> Result<(), String> {
        let text = match (&mut self.program, self.head.code.last_mut(), self.block) {
            (Some(program), _, Block::Code) => &mut program.code,
            (None, Some(form), Block::Code) => form,
            _ => return Err("code that belongs to nothing".to_owned()),
        };
        text.push('\n');
        text.push_str(line);
        Ok(())
    }

    fn needs(&mut self, targets: &str) -> Result<(), String> {
        self.head.needs = parse_needs(targets)?;
        Ok(())
    }

    fn note(&mut self, note: &str) -> Result<(), String> {
        let letter = note.split_once(' ').and_then(|(letter, _)| letter.parse().ok());
        self.head.notes.push(letter.ok_or("a note is a letter and a text")?);
        Ok(())
    }

    fn without(&mut self, line: &str) -> Result<(), String> {
        let (engine, reason) = line.split_once(' ').ok_or("an engine and a reason")?;
        let (engine, targets) = match engine.split_once('@') {
            Some((engine, targets)) => (engine, parse_needs(targets)?),
            None => (engine, Needs::default()),
        };
        if !["ptxas", "interpreter", "simulator", "constants"].contains(&engine) {
            return Err(format!("no engine `{engine}`"));
        }
        self.head.without.push(Except { engine: engine.to_owned(), targets, reason: reason.to_owned() });
        Ok(())
    }

    fn start_output(&mut self, fields: &str) -> Result<(), String> {
        self.block = Block::Output;
        self.values.clear();
        match self.program.as_mut().and_then(|program| program.cases.last_mut()) {
            Some(case) => case.output.0 = parse_type(fields)?,
            None => self.outputs = parse_fields(fields)?,
        }
        Ok(())
    }

    fn program_line(&mut self, word: &str, rest: &str) -> Result<(), String> {
        let program = self.program.as_mut().ok_or_else(|| format!("`{word}` outside of a program"))?;
        match word {
            "grid" => program.shape[0] = shape(rest)?,
            "block" => program.shape[1] = shape(rest)?,
            "cluster" => program.shape[2] = shape(rest)?,
            "shared" => program.shared = rest.parse().map_err(|_| "a number of bytes")?,
            "mode" => program.mode = Some(rest.to_owned()),
            "ptx" => self.block = Block::Code,
            "case" => program.cases.push(Case {
                name: rest.to_owned(),
                input: (Type::Predicate, Vec::new()),
                output: (Type::Predicate, Vec::new()),
                before: (Type::Predicate, Vec::new()),
            }),
            _ => {
                let case = program.cases.last_mut().ok_or_else(|| format!("`{word}` outside of a case"))?;
                let (block, kind) = match word {
                    "in" => (Block::Input, &mut case.input.0),
                    _ => (Block::Before, &mut case.before.0),
                };
                *kind = parse_type(rest)?;
                self.block = block;
            }
        }
        Ok(())
    }

    fn object(&mut self, keyword: &str, rest: &str) -> Result<(), String> {
        let program = self.program.as_mut().ok_or_else(|| format!("`{keyword}` outside of a program"))?;
        program.objects.push(Object::parse(keyword, rest)?);
        Ok(())
    }

    fn numbers(&mut self, line: &str) -> Result<(), String> {
        let words = line.split_whitespace().flat_map(repeated);
        let bits = |word: &str| hex(word).ok_or_else(|| format!("`{word}` is neither a keyword nor a number"));
        let value = |word: &str| Value::parse(word).ok_or_else(|| format!("`{word}` is no result"));
        let case = self.program.as_mut().and_then(|program| program.cases.last_mut());
        match (self.block, case) {
            (Block::Rows, _) => {
                let row: Vec<u128> = words.map(bits).collect::<Result<_, _>>()?;
                if row.len() != self.rows.fields.len() {
                    return Err(format!("{} operands, not {}", row.len(), self.rows.fields.len()));
                }
                self.rows.values.push(row);
            }
            (Block::Input, Some(case)) => case.input.1.extend(words.map(bits).collect::<Result<Vec<_>, _>>()?),
            (Block::Before, Some(case)) => case.before.1.extend(words.map(bits).collect::<Result<Vec<_>, _>>()?),
            (Block::Output, Some(case)) => case.output.1.extend(words.map(value).collect::<Result<Vec<_>, _>>()?),
            (Block::Output, None) => {
                let row = |word: &str| word.split(',').map(value).collect::<Result<Vec<_>, _>>();
                self.values.extend(words.map(row).collect::<Result<Vec<_>, _>>()?);
            }
            _ => return Err("numbers that belong to nothing".to_owned()),
        }
        Ok(())
    }

    /// Ends the form or program that was read.
    fn close(&mut self) -> Result<(), String> {
        self.block = Block::Nothing;
        let head = std::mem::take(&mut self.head);
        if let Some(program) = self.program.take() {
            let open = program.cases.iter().flat_map(|case| &case.output.1);
            noted(open, &head)?;
            if program.cases.is_empty() || program.code.is_empty() {
                return Err(format!("program {} has no code or no case", program.name));
            }
            self.table.programs.push(Program { needs: head.needs, without: head.without, ..program });
            return Ok(());
        }
        if head.code.is_empty() {
            return Ok(());
        }
        let expected = std::mem::take(&mut self.values);
        noted(expected.iter().flatten(), &head)?;
        let count = self.rows.values.len();
        if expected.len() != count || expected.iter().any(|row| row.len() != self.outputs.len()) {
            return Err(format!("{} results for {count} rows of `{}`", expected.len(), head.code[0]));
        }
        let rows = self.shared_rows.get_or_insert_with(|| Arc::new(self.rows.clone())).clone();
        let section = self.section.clone();
        let Head { code, needs, without, .. } = head;
        self.table.forms.push(Form { section, code, needs, without, rows, outputs: self.outputs.clone(), expected });
        Ok(())
    }
}

/// Every result that is left open has its note.
fn noted<'a>(mut values: impl Iterator<Item = &'a Value>, head: &Head) -> Result<(), String> {
    match values.find_map(|value| value.notes().filter(|letter| !head.notes.contains(letter))) {
        Some(letter) => Err(format!("there is no note {letter}")),
        None => Ok(()),
    }
}

/// A version of PTX, if it is newer than that of the tables, and targets with `|` between.
fn parse_needs(text: &str) -> Result<Needs, String> {
    let target = |name: &str| Target::from_name(name).ok_or_else(|| format!("no target `{name}`"));
    let (version, targets) = match text.split_once(' ') {
        Some((version, targets)) => (version_of(version).ok_or_else(|| format!("`{version}` is no version"))?, targets),
        None => (VERSION, text),
    };
    Ok(Needs { version, targets: targets.split('|').map(target).collect::<Result<_, _>>()? })
}

/// A version of PTX from its text.
pub(crate) fn version_of(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// A word, or as many as stand behind it: `0*8`.
fn repeated(word: &str) -> impl Iterator<Item = &str> {
    let times = word.split_once('*').and_then(|(word, count)| Some((word, count.parse().ok()?)));
    let (word, count) = times.unwrap_or((word, 1));
    std::iter::repeat_n(word, count)
}

fn parse_type(name: &str) -> Result<Type, String> {
    Type::from_name(name).ok_or_else(|| format!("no type `{name}`"))
}

fn parse_fields(text: &str) -> Result<Vec<Field>, String> {
    let field = |word: &str| {
        let (name, kind) = word.split_once(':').ok_or_else(|| format!("`{word}` is not NAME:TYPE"))?;
        Ok(Field { name: name.to_owned(), kind: parse_type(kind)? })
    };
    text.split_whitespace().map(field).collect()
}

/// Up to three sizes with spaces between.
fn shape(text: &str) -> Result<[u32; 3], String> {
    let mut sizes = [1; 3];
    for (size, word) in sizes.iter_mut().zip(text.split_whitespace()) {
        *size = word.parse().map_err(|_| format!("`{word}` is no size"))?;
    }
    Ok(sizes)
}
