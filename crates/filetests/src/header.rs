//! The first line of a file: what runs on its cases.

use oriole_isa::Arch;
use oriole_opt::pipeline::{Code, PIPELINE};
use oriole_passes::Pass;

/// What runs on the cases of a file.
#[derive(Clone, Copy, Debug)]
pub enum Test {
    /// PTX to Ori.
    Lower,
    /// One pass of the pipeline, Ori to Ori.
    Pass(&'static Pass<Code>),
    /// Ori to allocated Ori.
    Regalloc(RegisterLimits),
    /// Allocated Ori to ordered Ori with control words.
    Sched {
        /// Whether instructions may change places.
        reorder: bool,
    },
    /// PTX to SASS, with everything between.
    Emit {
        /// The `-O` level.
        level: u8,
    },
}

/// How many registers an allocation may have; all where nothing is said.
#[derive(Clone, Copy, Debug)]
pub struct RegisterLimits {
    /// Upper bound of R registers.
    pub registers: Option<u32>,
    /// The same of uniform registers.
    pub uniform_registers: Option<u16>,
    /// The same of uniform predicates.
    pub uniform_predicates: Option<u16>,
}

/// A file's first line.
#[derive(Clone, Debug)]
pub struct Header {
    /// What runs.
    pub test: Test,
    /// The target's name, such as `sm_90a`.
    pub target: String,
    /// The generation whose instructions it has.
    pub arch: Arch,
}

/// The settings behind the target that were not taken yet.
struct Settings<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Settings<'a> {
    fn parse(words: &[&'a str]) -> Result<Settings<'a>, String> {
        let pairs = words.iter().map(|word| word.split_once('=').ok_or_else(|| format!("'{word}' is not NAME=VALUE")));
        pairs.collect::<Result<_, _>>().map(Settings)
    }

    fn take(&mut self, name: &str) -> Option<&'a str> {
        let at = self.0.iter().position(|(n, _)| *n == name)?;
        Some(self.0.remove(at).1)
    }

    fn number<T: std::str::FromStr>(&mut self, name: &str) -> Result<Option<T>, String> {
        let number = |text: &str| text.parse().map_err(|_| format!("{name}={text}: not a number that fits"));
        self.take(name).map(number).transpose()
    }
}

impl Header {
    /// Reads the line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &str) -> Result<Header, String> {
        let shape = "the first line is not '// test KIND [PASS] on TARGET [NAME=VALUE…]'";
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["//", "test", what @ ..] = &words[..] else { return Err(shape.to_owned()) };
        let on = what.iter().position(|word| *word == "on").ok_or(shape)?;
        let (kind, [_, target, settings @ ..]) = what.split_at(on) else { return Err(shape.to_owned()) };
        let mut settings = Settings::parse(settings)?;
        let test = test(kind, &mut settings)?;
        if let Some((name, _)) = settings.0.first() {
            return Err(format!("'{}' has no setting '{name}'", kind.join(" ")));
        }
        let arch: Arch = target.parse().map_err(|error| format!("{error}"))?;
        if !Arch::MODELLED.contains(&arch) {
            return Err(format!("no code is made for {target}"));
        }
        Ok(Header { test, target: (*target).to_owned(), arch })
    }
}

fn test(kind: &[&str], settings: &mut Settings<'_>) -> Result<Test, String> {
    match kind {
        ["lower"] => Ok(Test::Lower),
        ["pass", name] => {
            let pass = PIPELINE.iter().find(|pass| pass.name == *name);
            pass.map(Test::Pass).ok_or_else(|| format!("the pipeline has no pass '{name}'"))
        }
        ["regalloc"] => Ok(Test::Regalloc(RegisterLimits {
            registers: settings.number("registers")?,
            uniform_registers: settings.number("uniform_registers")?,
            uniform_predicates: settings.number("uniform_predicates")?,
        })),
        ["sched"] => match settings.take("order") {
            None => Ok(Test::Sched { reorder: true }),
            Some("kept") => Ok(Test::Sched { reorder: false }),
            Some(other) => Err(format!("order={other}: only 'kept' can be asked for")),
        },
        ["emit"] => Ok(Test::Emit { level: settings.number("level")?.unwrap_or(3) }),
        _ => Err(format!("there is no test '{}': lower, pass NAME, regalloc, sched, emit", kind.join(" "))),
    }
}
