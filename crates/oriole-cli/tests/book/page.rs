//! Pages in Markdown: their blocks of commands, and the marks above blocks.

use std::ops::Range;

/// What a page has a test do.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Page {
    /// Its blocks with commands, files or outputs, in their order.
    pub(crate) blocks: Vec<Block>,
}

/// A block of code that is more than text to read.
#[derive(Debug, PartialEq)]
pub(crate) struct Block {
    /// The number of the line with the fence, from 1.
    pub(crate) line: usize,
    /// Why it is not run, if a mark says so.
    pub(crate) not_run: Option<String>,
    /// The program that it and the rest of the page need.
    pub(crate) needs: Option<String>,
    /// What is done, in order.
    pub(crate) steps: Vec<Step>,
}

/// A command with what the page says of it.
#[derive(Debug, PartialEq)]
pub(crate) struct Step {
    /// The number of its line, from 1.
    pub(crate) line: usize,
    /// What bash is to do.
    pub(crate) command: String,
    /// What it prints, where the page says that.
    pub(crate) shown: Option<Shown>,
}

/// Lines of a page that show what a command prints.
#[derive(Debug, PartialEq)]
pub(crate) struct Shown {
    /// Which lines of the page, from 0.
    pub(crate) place: Range<usize>,
    /// What stands before each.
    pub(crate) indent: String,
    /// The lines without it.
    pub(crate) lines: Vec<String>,
}

/// What a mark above a block says: `<!-- test: KEY: TEXT -->`.
#[derive(Default)]
struct Marks {
    not_run: Option<String>,
    needs: Option<String>,
    first: Vec<(usize, String)>,
    file: Option<String>,
    output_of: Option<String>,
}

impl Marks {
    /// Take one more, of line `number`.
    fn add(&mut self, number: usize, mark: &str) -> Result<(), String> {
        let (key, text) = mark.split_once(": ").ok_or_else(|| format!("{number}: `{mark}` is no mark"))?;
        let text = text.to_owned();
        match key {
            "not run" => self.not_run = Some(text),
            "needs" => self.needs = Some(text),
            "first" => self.first.push((number, text)),
            "file" => self.file = Some(text),
            "output of" => self.output_of = Some(text),
            _ => return Err(format!("{number}: `{key}` is no mark")),
        }
        Ok(())
    }
}

impl Page {
    /// The page of a text. `has` says whether the repository has a file; such a one is compared with the block, another is
    /// made of it.
    pub(crate) fn parse(text: &str, has: impl Fn(&str) -> bool) -> Result<Page, String> {
        let lines: Vec<&str> = text.lines().collect();
        let mut page = Page::default();
        let mut marks = Marks::default();
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            let number = at + 1;
            at += 1;
            let plain = line.trim_start();
            if let Some(mark) = plain.strip_prefix("<!-- test: ") {
                let mark = mark.strip_suffix(" -->").ok_or_else(|| format!("{number}: a mark is one line"))?;
                marks.add(number, mark)?;
                continue;
            }
            let marks = std::mem::take(&mut marks);
            let Some(info) = plain.strip_prefix("```") else {
                continue;
            };
            let indent = &line[..line.len() - plain.len()];
            let body =
                at..at + lines[at..].iter().position(|line| line.trim() == "```").ok_or(format!("{number}: no end"))?;
            at = body.end + 1;
            let shown = |place: Range<usize>| Shown {
                indent: indent.to_owned(),
                lines: lines[place.clone()]
                    .iter()
                    .map(|line| line.strip_prefix(indent).unwrap_or(line).to_owned())
                    .collect(),
                place,
            };
            let steps = steps(info.trim(), number, &marks, shown(body), shown, &has)?;
            if let Some(mut steps) = steps {
                let first = marks.first.into_iter().map(|(line, command)| Step { line, command, shown: None });
                steps.splice(..0, first);
                page.blocks.push(Block { line: number, not_run: marks.not_run, needs: marks.needs, steps });
            }
        }
        Ok(page)
    }
}

/// What a block has to be done, if it is not only text.
fn steps(
    info: &str,
    number: usize,
    marks: &Marks,
    body: Shown,
    shown: impl Fn(Range<usize>) -> Shown,
    has: impl Fn(&str) -> bool,
) -> Result<Option<Vec<Step>>, String> {
    let step = |command: String, shown| Ok(Some(vec![Step { line: number, command, shown }]));
    if let Some(path) = &marks.file {
        if has(path) {
            return step(format!("cat '{path}'"), Some(body));
        }
        return step(format!("cat > '{path}' <<'END OF THE BLOCK'\n{}\nEND OF THE BLOCK", body.lines.join("\n")), None);
    }
    if let Some(command) = &marks.output_of {
        return step(command.clone(), Some(body));
    }
    match info {
        "console" => commands(&body, shown).map(Some),
        "sh" | "bash" | "shell" => step(body.lines.join("\n"), None),
        _ if body.lines.iter().any(|line| line.starts_with("$ ")) => {
            Err(format!("{number}: a block with `$ ` is `console`"))
        }
        _ => Ok(None),
    }
}

/// The commands of a `console` block: `$ ` opens one, which goes on while a quotation or a here-document is open.
fn commands(body: &Shown, shown: impl Fn(Range<usize>) -> Shown) -> Result<Vec<Step>, String> {
    let starts = |at: usize| body.lines.get(at).is_some_and(|line| line.starts_with("$ "));
    let mut steps = Vec::new();
    let mut at = 0;
    while at < body.lines.len() {
        let line = body.place.start + at + 1;
        let mut command =
            body.lines[at].strip_prefix("$ ").ok_or(format!("{line}: no command before this output"))?.to_owned();
        at += 1;
        while is_open(&command) {
            let next = body.lines.get(at).ok_or(format!("{line}: the command does not end"))?;
            command = format!("{command}\n{next}");
            at += 1;
        }
        let end = (at..body.lines.len()).find(|at| starts(*at)).unwrap_or(body.lines.len());
        let place = body.place.start + at..body.place.start + end;
        steps.push(Step { line, command, shown: Some(shown(place)) });
        at = end;
    }
    Ok(steps)
}

/// Whether bash would ask for another line: within a quotation, behind `\`, within a here-document.
fn is_open(command: &str) -> bool {
    let mut quote = None;
    let mut is_escaped = false;
    let mut is_comment = false;
    let mut before = ' ';
    for letter in command.chars() {
        match (quote, letter) {
            _ if is_escaped => is_escaped = false,
            _ if is_comment => is_comment = letter != '\n',
            (None | Some('"'), '\\') => is_escaped = true,
            (Some(open), _) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, '#') if before.is_whitespace() => is_comment = true,
            (None, _) => {}
        }
        before = letter;
    }
    let here = command.split_once("<<'").and_then(|(_, rest)| rest.split_once('\''));
    let is_here = here.is_some_and(|(end, rest)| !rest.lines().any(|line| line == end));
    quote.is_some() || is_escaped || is_here
}

/// A page with what its commands print.
#[test]
fn commands_and_their_outputs() {
    let text = "Text\n\n```console\n$ one 'a\nb'   # don't\nout\n$ two\n```\n\n  ```sh\n  three\n  ```\n";
    let page = Page::parse(text, |_| false).expect("a page");
    let [console, sh] = &page.blocks[..] else { panic!("{page:?}") };
    assert_eq!((console.line, sh.line), (3, 10));
    let said: Vec<_> = console.steps.iter().map(|step| (step.line, &*step.command, step.shown.as_ref())).collect();
    let shown = |place: Range<usize>, lines: &[&str]| Shown {
        place,
        indent: String::new(),
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
    };
    assert_eq!(said, [(4, "one 'a\nb'   # don't", Some(&shown(5..6, &["out"]))), (7, "two", Some(&shown(7..7, &[])))]);
    assert_eq!(sh.steps, [Step { line: 10, command: "three".to_owned(), shown: None }]);
}

/// What stands above a block.
#[test]
fn marks() {
    let text = "<!-- test: not run: it costs money -->\n<!-- test: first: zero -->\n```console\n$ one\n```\n\
                <!-- test: file: a.ptx -->\n```text\nret;\n```\n<!-- test: file: b.ptx -->\n```text\nret;\n```\n\
                <!-- test: output of: four -->\n```\nfour!\n```\n```text\nonly text\n```\n";
    let page = Page::parse(text, |path| path == "a.ptx").expect("a page");
    let commands: Vec<Vec<&str>> =
        page.blocks.iter().map(|block| block.steps.iter().map(|step| &*step.command).collect()).collect();
    let made = "cat > 'b.ptx' <<'END OF THE BLOCK'\nret;\nEND OF THE BLOCK";
    assert_eq!(commands, [vec!["zero", "one"], vec!["cat 'a.ptx'"], vec![made], vec!["four"]]);
    assert_eq!(page.blocks[0].not_run.as_deref(), Some("it costs money"));
    assert!(page.blocks[1].steps[0].shown.is_some() && page.blocks[2].steps[0].shown.is_none());
    for (wrong, why) in [
        ("```text\n$ one\n```\n", "1: a block with `$ ` is `console`"),
        ("<!-- test: nonsense: x -->\n", "1: `nonsense` is no mark"),
        ("```console\nout\n```\n", "2: no command before this output"),
        ("```console\n$ 'one\n```\n", "2: the command does not end"),
    ] {
        assert_eq!(Page::parse(wrong, |_| false), Err(why.to_owned()));
    }
}
