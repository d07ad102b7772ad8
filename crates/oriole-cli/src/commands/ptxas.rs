//! `oriole ptxas`, or the program under the name `ptxas`: in place of NVIDIA's. `oriole-ptxas` knows what is to be done; files and
//! standard streams are here.

use super::failure::Failure;
use super::{files, octets};
use crate::console;
use oriole_device::{MOST_OF_A_STREAM, read_file, read_stream};
use oriole_ptxas::{Asked, FAILED, Host, Input, Kind, Message, Request, Toolkit};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Says whose compiler it is in place of the first line of `--version`, for callers that look for a certain one.
const FIRST_LINE: &str = "ORIOLE_PTXAS_BANNER";

/// Names the toolkit whose ptxas `--version` answers as.
const TOOLKIT: &str = "ORIOLE_PTXAS_VERSION";

/// What ptxas takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Words {
    /// Options and files of PTX, as ptxas takes them; `oriole ptxas --help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
}

/// It has been said why it fails.
struct Said;

impl From<oriole_ptxas::Failure> for Said {
    fn from(_: oriole_ptxas::Failure) -> Said {
        Said
    }
}

/// Messages go to standard error, and files are those of the folder that it runs in.
struct Process;

impl Host for Process {
    fn say(&mut self, message: Message) {
        console::say_bytes(octets::name(&format!("{message}\n")).as_encoded_bytes());
    }

    fn options_file(&mut self, name: &str) -> Option<String> {
        std::fs::read_to_string(octets::name(name)).ok()
    }

    fn host_file(&mut self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(octets::name(name)).ok()
    }
}

/// Do as ptxas with these arguments.
pub(crate) fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    match work(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Said) => ExitCode::from(FAILED),
    }
}

fn work(words: impl IntoIterator<Item = OsString>) -> Result<(), Said> {
    let words: Vec<String> = words.into_iter().map(|word| octets::text(&word)).collect();
    let toolkit = toolkit()?;
    match Asked::read(words, &mut Process)? {
        Asked::Help => print(&oriole_ptxas::help()),
        Asked::Version => print(&oriole_ptxas::version(std::env::var(FIRST_LINE).ok(), toolkit)),
        Asked::VersionsOfPtx => print(&oriole_ptxas::versions_of_ptx()),
        Asked::Targets => print(&oriole_ptxas::targets()),
        Asked::Compilation(request) => compile(&request),
    }
}

/// The toolkit that the environment names; an empty name is none.
fn toolkit() -> Result<Toolkit, Said> {
    let name = std::env::var_os(TOOLKIT).filter(|name| !name.is_empty());
    let found = name.map_or(Ok(Toolkit::default()), |name| octets::text(&name).parse());
    found.map_err(|unknown| fatal(format!("{TOOLKIT}: {unknown}")))
}

fn compile(request: &Request) -> Result<(), Said> {
    let modules: Vec<_> = request.inputs().iter().map(|input: &Input| input.source(bytes)).collect();
    match request.compile(modules, None, &mut Process)? {
        Some(cubin) => written(request.output(), files::write(Path::new(&octets::name(request.output())), &cubin)),
        None => Ok(()),
    }
}

/// All bytes of a file, or of standard input.
fn bytes(name: &str) -> Option<Vec<u8>> {
    let read = match name {
        "-" => read_stream(std::io::stdin(), MOST_OF_A_STREAM),
        _ => read_file(Path::new(&octets::name(name)), u64::MAX),
    };
    read.ok()
}

fn print(text: &str) -> Result<(), Said> {
    written("-", files::print(text))
}

fn written(name: &str, done: Result<(), Failure>) -> Result<(), Said> {
    done.map_err(|_| fatal(format!("Output file '{name}' could not be opened")))
}

fn fatal(text: String) -> Said {
    Process.say(Message::new(Kind::Fatal, text));
    Said
}
