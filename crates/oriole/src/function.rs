//! Functions as passes of the caller's own see and change them.

/// A function between two passes: its instructions as text, which can be taken out, replaced, and put in.
///
/// The text is that of `docs/ori.md`: one instruction a line, with SASS mnemonics on virtual registers, in blocks `bix0`,
/// `bix1`, ... Between slots 23 and 73 it is in SSA form: a new instruction writes registers that nothing else writes. What
/// a pass leaves is read, verified, and refused with the reason where it is no function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    name: String,
    target: String,
    lines: Vec<Line>,
    changed: bool,
}

/// What passes of the caller's own are.
pub(crate) type OwnPass = dyn Fn(&mut Function) -> Result<(), String> + Send + Sync;

/// A line of the text, with what was put before it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    before: Vec<String>,
    text: Option<String>,
}

/// Where an instruction stands. It stays what it is while others are taken out and put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(usize);

impl Place {
    /// Whether `next` came right behind it when the pass began, in the same block.
    pub fn is_next_to(self, next: Place) -> bool {
        self.0 + 1 == next.0
    }
}

/// An instruction of a [`Function`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction<'a> {
    place: Place,
    block: &'a str,
    text: &'a str,
}

impl<'a> Instruction<'a> {
    /// Where it stands.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The block, such as `bix0`.
    pub fn block(&self) -> &'a str {
        self.block
    }

    /// The line, such as `@!%P0 FADD{rnd=RM} %R4, %R5, 0x3f800000`.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The mnemonic, such as `FADD`.
    pub fn opcode(&self) -> &'a str {
        let mut words = self.text.split_whitespace();
        let first = words.next().unwrap_or_default();
        let word = if first.starts_with('@') { words.next().unwrap_or_default() } else { first };
        word.split('{').next().unwrap_or(word)
    }
}

impl Function {
    fn new(name: &str, target: &str, text: &str) -> Function {
        let line = |text: &str| Line { before: Vec::new(), text: Some(text.to_owned()) };
        let lines = text.lines().map(line).collect();
        Function { name: name.to_owned(), target: target.to_owned(), lines, changed: false }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The generation whose instructions it has, such as `sm_90`.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// All of it as text.
    pub fn text(&self) -> String {
        let lines = self.lines.iter().flat_map(|line| line.before.iter().chain(&line.text));
        lines.flat_map(|line| [line.as_str(), "\n"]).collect()
    }

    /// Puts another text in its place. The function keeps its name. Places that were there mean nothing any more.
    pub fn set_text(&mut self, text: &str) {
        *self = Function { changed: true, ..Function::new(&self.name, &self.target, text) };
    }

    /// The instructions in order, block by block, without what this pass has put in.
    pub fn instructions(&self) -> impl Iterator<Item = Instruction<'_>> {
        let mut block = "";
        self.lines.iter().enumerate().filter_map(move |(at, line)| {
            let text = line.text.as_deref()?;
            if let Some((label, _)) = text.split_once(':').filter(|_| text.starts_with("bix")) {
                block = label;
                return None;
            }
            text.starts_with(' ').then(|| Instruction { place: Place(at), block, text: text.trim_start() })
        })
    }

    /// Takes an instruction out.
    pub fn remove(&mut self, place: Place) {
        self.edit(place, |line| line.text = None);
    }

    /// Puts an instruction in the place of another.
    pub fn replace(&mut self, place: Place, text: &str) {
        self.edit(place, |line| line.text = Some(format!("    {text}")));
    }

    /// Puts an instruction before another, behind what has been put there before.
    pub fn insert_before(&mut self, place: Place, text: &str) {
        self.edit(place, |line| line.before.push(format!("    {text}")));
    }

    /// Declares a register of a file, `R`, `UR`, `P` or `UP`, and gives its name, such as `%R17`.
    pub fn new_register(&mut self, file: &str) -> String {
        let declares = |line: &Line| line.text.as_deref().is_some_and(|text| text.starts_with("  .reg "));
        let last = self.lines.iter().rposition(declares);
        let declared = self.lines.iter().filter(|line| declares(line)).count();
        // Without registers it stands before what comes behind them.
        let behind = |line: &Line| {
            line.text.as_deref().is_some_and(|text| text.starts_with("  .values") || text.starts_with("bix"))
        };
        let place = last.map(|last| last + 1).or_else(|| self.lines.iter().position(behind)).unwrap_or(0);
        let added = self.lines.get(place).map_or(0, |line| line.before.len());
        let name = format!("%{file}{}", declared + added);
        self.edit(Place(place), |line| line.before.push(format!("  .reg {name}")));
        name
    }

    fn edit(&mut self, place: Place, edit: impl FnOnce(&mut Line)) {
        if let Some(line) = self.lines.get_mut(place.0) {
            edit(line);
            self.changed = true;
        }
    }
}

/// A pass as the compiler calls it.
pub(crate) fn rewrite(pass: &OwnPass) -> impl Fn(&str, &str, &str) -> Result<Option<String>, String> + Sync {
    move |name, target, text| {
        let mut function = Function::new(name, target, text);
        pass(&mut function)?;
        Ok(function.changed.then(|| function.text()))
    }
}
