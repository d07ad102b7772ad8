//! Statements made from the lines of the grammar (`crates/ptx/spec`, notation in `docs/ptx-grammar.md`): of each form those
//! in which each of its modifiers stands, with operands of its kinds. The checker of PTX says which of them are valid.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// An instruction of the grammar.
pub(super) struct Instruction {
    /// The opcode with the words that belong to it: `cp.async.bulk`.
    pub(super) name: String,
    pub(super) forms: Vec<Form>,
}

/// One way to write it.
pub(super) struct Form {
    pub(super) slots: Vec<Slot>,
    operands: Vec<String>,
    /// The first architecture that has it.
    pub(super) since: u32,
}

/// A place for a modifier.
pub(super) struct Slot {
    pub(super) optional: bool,
    pub(super) choices: Vec<String>,
}

/// The words of the grammar that are types, with their widths.
pub(super) type Types = BTreeMap<String, u32>;

/// The instructions and types that the files of the grammar define.
pub(super) fn grammar() -> (Vec<Instruction>, Types) {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../ptx/spec"));
    let files = std::fs::read_dir(folder).expect("the grammar").map(|entry| entry.expect("an entry").path());
    let texts: BTreeMap<_, _> =
        files.map(|path| (path.clone(), std::fs::read_to_string(&path).expect("text"))).collect();
    let (mut sets, mut types) = (BTreeMap::new(), Types::new());
    for line in texts.values().flat_map(|text| text.lines()) {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("set") => {
                let name = words.next().unwrap_or_default().to_owned();
                sets.insert(name, words.filter(|word| *word != "=").map(plain).collect::<Vec<String>>());
            }
            Some("type") => {
                let width = words.next().and_then(|width| width.parse().ok()).unwrap_or_default();
                types.extend(words.skip(1).map(|name| (name.to_owned(), width)));
            }
            _ => {}
        }
    }
    let instructions = texts.values().flat_map(|text| instructions(text, &sets)).collect();
    (instructions, types)
}

/// A word without what it needs: `cluster(7.8,sm_90)`.
fn plain(word: &str) -> String {
    word.split('(').next().unwrap_or_default().to_owned()
}

fn instructions(text: &str, sets: &BTreeMap<String, Vec<String>>) -> Vec<Instruction> {
    let mut all: Vec<Instruction> = Vec::new();
    let mut opened = 0;
    for line in text.lines() {
        let first = line.split_whitespace().next().unwrap_or_default();
        if let Some(names) = line.strip_prefix("instr ") {
            opened = all.len();
            let names = names.split('"').next().unwrap_or_default().split_whitespace();
            all.extend(names.map(|name| Instruction { name: name.to_owned(), forms: Vec::new() }));
        } else if line.starts_with("  ")
            && !["#", "never", "only", "since"].contains(&first)
            && !line.contains("@ before")
        {
            let mut words = line.split('@').next().unwrap_or_default().split_whitespace();
            let pattern = words.next().unwrap_or_default();
            let fits = |name: &str| {
                pattern.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '{']))
            };
            let named = (opened..all.len()).filter(|at| fits(&all[*at].name)).max_by_key(|at| all[*at].name.len());
            // `mul.lo|hi` is a form of `mul.lo` and of `mul.hi`: the word is a modifier of `mul` here.
            let at = named.unwrap_or_else(|| {
                let name = all[opened].name.rsplit_once('.').map_or("", |(stem, _)| stem).to_owned();
                all.push(Instruction { name, forms: Vec::new() });
                all.len() - 1
            });
            let instruction = &mut all[at];
            let Some(rest) = pattern.strip_prefix(&instruction.name) else { continue };
            let slots = slots(rest, sets);
            let needed = line.split_once('@').map_or("", |(_, needs)| needs).split("sm_").skip(1);
            let since = needed.filter_map(|name| name.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()).min();
            let operands = words.map(str::to_owned).collect();
            instruction.forms.push(Form { slots, operands, since: since.unwrap_or(0) });
        }
    }
    all.retain(|instruction| !instruction.forms.is_empty());
    all
}

/// `.a|b{.c}`
fn slots(pattern: &str, sets: &BTreeMap<String, Vec<String>>) -> Vec<Slot> {
    let (mut found, mut depth, mut word, mut optional) = (Vec::new(), 0, String::new(), false);
    let mut close = |word: &mut String, optional: bool| {
        if !word.is_empty() {
            let choices = word.split('|').flat_map(|name| expanded(name, sets)).collect();
            found.push(Slot { optional, choices });
            word.clear();
        }
    };
    for c in pattern.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth > 0 => {}
            '.' => close(&mut word, optional),
            '{' => {
                close(&mut word, optional);
                optional = true;
            }
            '}' => {
                close(&mut word, optional);
                optional = false;
            }
            c => word.push(c),
        }
    }
    close(&mut word, optional);
    found
}

fn expanded(name: &str, sets: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    match sets.get(name) {
        Some(members) => members.iter().flat_map(|member| expanded(member, sets)).collect(),
        None => vec![name.to_owned()],
    }
}

/// Words in the order of the slots that they stand in.
pub(super) type Words = Vec<String>;

impl Form {
    /// The words of the form in which `choice` stands at `slot` and `others` elsewhere; mandatory places have their first
    /// word, the others none.
    fn words(&self, chosen: &[(usize, &str)]) -> Words {
        let word = |(at, slot): (usize, &Slot)| {
            let wanted = chosen.iter().find(|(slot, _)| *slot == at).map(|(_, word)| (*word).to_owned());
            wanted.or_else(|| slot.choices.first().filter(|_| !slot.optional).cloned())
        };
        self.slots.iter().enumerate().filter_map(word).collect()
    }

    /// Ways to write the form with `word` at `slot`, the plainest first: with one other word as the grammar's rules may
    /// want it, with two.
    pub(super) fn ways<'f>(&'f self, slot: usize, word: &'f str) -> impl Iterator<Item = Words> + 'f {
        let others = move || {
            let slots = self.slots.iter().enumerate().filter(move |(at, _)| *at != slot);
            slots.flat_map(|(at, other)| other.choices.iter().map(move |choice| (at, choice.as_str())))
        };
        let one = others().map(move |other| self.words(&[(slot, word), other]));
        let two = others().flat_map(move |first| {
            let second = others().filter(move |second| second.0 > first.0);
            second.map(move |second| self.words(&[(slot, word), first, second]))
        });
        std::iter::once(self.words(&[(slot, word)])).chain(one).chain(two.take(100))
    }

    /// Whether the words fill the form's places, each in its order.
    fn takes(&self, words: &[String]) -> bool {
        let mut words = words.iter().peekable();
        self.slots.iter().all(|slot| words.next_if(|word| slot.choices.contains(word)).is_some() || slot.optional)
            && words.peek().is_none()
    }
}

/// A statement, and the registers that it reads and writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Statement {
    pub(super) text: String,
    pub(super) sources: BTreeSet<String>,
    pub(super) results: BTreeSet<String>,
}

impl Instruction {
    /// The statements that these words make, by the forms that take them.
    pub(super) fn statements<'i>(
        &'i self,
        words: &'i [String],
        types: &'i Types,
    ) -> impl Iterator<Item = Statement> + 'i {
        let name = words.iter().fold(self.name.clone(), |name, word| format!("{name}.{word}"));
        let forms = self.forms.iter().filter(|form| form.takes(words));
        forms.map(move |form| {
            let all: Vec<String> = self.name.split('.').map(str::to_owned).chain(words.iter().cloned()).collect();
            let mut operands =
                Operands { words: &all, types, sources: BTreeSet::new(), results: BTreeSet::new(), number: 0 };
            let texts: Vec<String> = form.operands.iter().filter_map(|token| operands.text(token)).collect();
            let text = format!("{name} {};", texts.join(", "));
            Statement { text, sources: operands.sources, results: operands.results }
        })
    }
}

/// Writes operands by the grammar's tokens.
struct Operands<'s> {
    words: &'s [String],
    types: &'s Types,
    sources: BTreeSet<String>,
    results: BTreeSet<String>,
    number: usize,
}

/// Registers of one operand.
const STEP: usize = 128;

impl Operands<'_> {
    /// An operand; none where it may be absent or needs a word that is not there.
    fn text(&mut self, token: &str) -> Option<String> {
        let (result, token) = token.strip_prefix('=').map_or((false, token), |rest| (true, rest));
        let end = match token.chars().next()? {
            '{' => token.find('}')? + 1,
            '[' => token.find(']')? + 1,
            '<' => token.find('>')? + 1,
            _ => token.find(|c: char| !c.is_alphanumeric() && c != '*').unwrap_or(token.len()),
        };
        let (kind, flags) = token.split_at(end);
        let range = flags.find('(').map(|open| flags[open + 1..].split(')').next().unwrap_or_default());
        let bare =
            flags.split('(').next().unwrap_or_default().to_owned() + flags.rsplit(')').next().unwrap_or_default();
        if bare.contains('?') || bare.contains('/') && !["and", "or", "xor"].iter().any(|word| self.has(word)) {
            return None;
        }
        let first = STEP * self.number;
        self.number += 1;
        let text = match kind.as_bytes().first()? {
            b'[' => self.address(&kind[1..kind.len() - 1], first)?,
            b'{' => self.vector(&kind[1..kind.len() - 1], first, result)?,
            b'<' => match ["v2", "v4", "v8"].into_iter().find(|word| self.has(word)) {
                Some(vector) => self.registers(&kind[1..kind.len() - 1], vector[1..].parse().ok()?, first, result)?,
                None => self.register(&kind[1..kind.len() - 1], first, result)?,
            },
            _ if kind == "label" => "L0".to_owned(),
            _ if kind == "any" => self.register("b32", first, result)?,
            _ if kind == "pack" => self.pack(first, result)?,
            _ if bare.contains('#') => constant(range),
            _ => self.register(kind, first, result)?,
        };
        Some(if bare.contains("+pred") { format!("{text}|{}", self.register("pred", first + 64, true)?) } else { text })
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|other| other == word)
    }

    /// The width of a type as a token names it: `T`, `T2`, `T*2`, `u32`.
    fn width(&self, ty: &str) -> Option<u32> {
        let nth = |n: usize| self.words.iter().filter_map(|word| self.types.get(word)).nth(n).copied();
        match ty {
            "T" => nth(0),
            "T2" => nth(1),
            "T3" => nth(2),
            "T*2" => nth(0).map(|width| 2 * width),
            name => self.types.get(name).copied(),
        }
    }

    fn register(&mut self, ty: &str, number: usize, result: bool) -> Option<String> {
        self.wide(self.width(ty)?, number, result)
    }

    fn wide(&mut self, width: u32, number: usize, result: bool) -> Option<String> {
        let class = match width {
            1 => 'p',
            ..=16 => 'h',
            32 => 'r',
            64 => 'd',
            _ => 'q',
        };
        let name = format!("%{class}{number}");
        if result { &mut self.results } else { &mut self.sources }.insert(name.clone());
        Some(name)
    }

    fn registers(&mut self, ty: &str, count: usize, first: usize, result: bool) -> Option<String> {
        let all: Option<Vec<String>> = (0..count).map(|n| self.register(ty, first + n, result)).collect();
        Some(format!("{{{}}}", all?.join(", ")))
    }

    /// `b32:4`, `b32:x2`, `f32:n2`, `u16`
    fn vector(&mut self, inner: &str, first: usize, result: bool) -> Option<String> {
        let (ty, count) = inner.split_once(':').unwrap_or((inner, ""));
        let number = |text: &str| text.parse::<usize>().ok();
        let count = match count.as_bytes().first() {
            None => self.dimensions()?,
            Some(b'x') => {
                let times = self.words.iter().find_map(|word| number(word.strip_prefix('x')?))?;
                number(&count[1..])? * times
            }
            Some(b'n') => {
                let n = self.words.iter().find_map(|word| number(word.strip_prefix("m64n")?.split('k').next()?))?;
                n / number(&count[1..])?
            }
            Some(_) => number(count)?,
        };
        self.registers(ty, count, first, result)
    }

    /// Two halves of the instruction's type.
    fn pack(&mut self, first: usize, result: bool) -> Option<String> {
        let half = self.width("T")? / 2;
        let both: Option<Vec<String>> = (0..2).map(|n| self.wide(half, first + n, result)).collect();
        Some(format!("{{{}}}", both?.join(", ")))
    }

    /// Coordinates of a tensor, or offsets of an im2col, or derivatives of a texture.
    fn dimensions(&self) -> Option<usize> {
        let dims =
            self.words.iter().find_map(|word| word.strip_suffix('d')?.trim_start_matches('a').parse::<usize>().ok());
        match dims {
            _ if self.has("cube") || self.has("acube") => Some(4),
            Some(3) if self.has("grad") => Some(4),
            Some(dims) if self.has("im2col") => dims.checked_sub(2),
            Some(_) if self.has("im2col::w") || self.has("im2col::w::128") => Some(2),
            dims => dims,
        }
    }

    /// What stands in brackets; the registers of an address are of 64 bits.
    fn address(&mut self, inner: &str, first: usize) -> Option<String> {
        let coordinates = |this: &mut Self| {
            let words = ["1d", "2d", "3d", "a1d", "a2d", "cube", "acube", "2dms", "a2dms"];
            let at = words.iter().position(|word| this.has(word))?;
            this.registers("b32", [1, 2, 4, 2, 4, 4, 4, 4, 4][at], first, false)
        };
        Some(match inner.split(',').next()? {
            "tex" | "texsamp" if inner.contains(',') => format!("[g_tex, {}]", coordinates(self)?),
            "surf" if inner.contains(',') => format!("[g_surf, {}]", coordinates(self)?),
            "tex" | "texsamp" => "[g_tex]".to_owned(),
            "surf" => "[g_surf]".to_owned(),
            "samp" => "[g_samp]".to_owned(),
            "map" => {
                let count =
                    if self.has("tile::gather4") || self.has("tile::scatter4") { 5 } else { self.tensor_rank()? };
                let map = self.register("b64", first, false)?;
                let coordinates = self.registers("b32", count, first, false)?;
                // What replaces the map: the address, then sizes, then lower and upper parts of strides.
                let mut replaced: usize = match inner.split(',').nth(1)? {
                    "1" => return Some(format!("[{map}, {coordinates}]")),
                    more => more.parse().unwrap_or(0),
                };
                let mut inside = vec![map];
                // A handle of the fabric has an endpoint, and an offset more for what is counted.
                if self.has("mbarrier::report::fabric") {
                    replaced -= 1;
                    inside.push(self.register("b32", first + 1, false)?);
                }
                inside.push(self.register("b64", first + 1, false)?);
                if self.has("counted::bytes") {
                    replaced -= 1;
                    inside.push(self.register("b64", first + 2, false)?);
                }
                if replaced >= 3 {
                    inside.push(self.registers("b16", count, first, false)?);
                }
                if replaced >= 5 {
                    inside.push(self.registers("b32", count - 1, first + count, false)?);
                    inside.push(self.register("b16", first + count, false)?);
                }
                format!("[{}, {coordinates}]", inside.join(", "))
            }
            "fabric" => {
                let count: usize = inner.split(',').nth(1)?.parse().ok()?;
                let offsets: Option<Vec<String>> = (0..count).map(|n| self.register("b64", first + n, false)).collect();
                format!("[{}, {}]", self.register("b32", first, false)?, offsets?.join(", "))
            }
            "tmem" => format!("[{}]", self.register("b32", first, false)?),
            "shared" => format!("[g_shared+{}]", 16 * self.number),
            // The first space is that of the first address.
            "S" if self.space(0).is_some_and(is_shared) => format!("[g_shared+{}]", 16 * self.number),
            "S2" if self.space(1).is_some_and(is_shared) => format!("[g_shared+{}]", 16 * self.number),
            "S" if self.space(0) == Some("param") => "[in]".to_owned(),
            "S" if self.space(0).is_some_and(|space| space.starts_with("param::")) => return None,
            _ => format!("[{}]", self.register("b64", first, false)?),
        })
    }

    fn tensor_rank(&self) -> Option<usize> {
        self.words.iter().find_map(|word| word.strip_suffix('d')?.parse().ok())
    }

    fn space(&self, n: usize) -> Option<&str> {
        const SPACES: [&str; 9] = [
            "global",
            "shared",
            "shared::cta",
            "shared::cluster",
            "local",
            "const",
            "param",
            "param::func",
            "param::entry",
        ];
        self.words.iter().map(String::as_str).filter(|word| SPACES.contains(word)).nth(n)
    }
}

fn is_shared(space: &str) -> bool {
    space.starts_with("shared")
}

/// The greatest constant of a range, as far as the grammar names one.
fn constant(range: Option<&str>) -> String {
    let high = range.and_then(|range| range.split("..").nth(1)).map(|high| high.trim_end_matches('^'));
    high.and_then(|high| high.split('*').next()).unwrap_or("1").to_owned()
}
