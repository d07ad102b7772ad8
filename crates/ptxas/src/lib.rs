//! ptxas's interface as a library: what its options mean, its messages, and what it says with `-v`, over Oriole's compiler.
//!
//! Words go in, as the command line or an array of strings has them; messages go to a [`Host`], and a cubin comes out. Nothing
//! here opens a file or prints: the command (`oriole ptxas`) and the C library do that, each in its own way. What ptxas 13.0.88
//! and 13.5.37 do was found by running it; see `docs/ptxas.md`.
//!
//! ```
//! use oriole_ptxas::{Host, Message, Request, Source};
//!
//! struct Log(Vec<String>);
//! impl Host for Log {
//!     fn say(&mut self, message: Message) {
//!         self.0.push(message.to_string());
//!     }
//! }
//!
//! let ptx = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
//! let mut log = Log(Vec::new());
//! let words = ["-arch=sm_90", "-maxrregcount=300"].map(str::to_owned);
//! let request = Request::read(words, &mut log).expect("the options are right");
//! let source = Source { name: "k.ptx".to_owned(), text: ptx.to_owned() };
//! let cubin = request.compile([Ok(source)], None, &mut log).expect("the module is right");
//! assert_eq!(&cubin.expect("a target was named")[..4], b"\x7fELF");
//! assert_eq!(log.0, ["ptxas warning : Too big maxrregcount value specified 300, will be ignored"]);
//! ```
// The examples of README.md are tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod arguments;
mod banner;
mod edits;
mod filter;
mod host;
mod messages;
mod options;
mod request;
mod settings;
mod source;
mod wording;
mod work;

pub use arguments::Input;
pub use banner::{Toolkit, UnknownToolkit, help, targets, version, versions_of_ptx};
pub use host::{Failure, Host};
pub use messages::{Kind, Message};
pub use oriole_codegen::Limits;
pub use request::{Asked, Request};
pub use source::Source;

/// The exit status of the command whatever goes wrong.
pub const FAILED: u8 = 255;

/// Whether ptxas has an option of this name: `-arch`, `--gpu-name=sm_90`.
///
/// ```
/// assert!(oriole_ptxas::is_option("-arch"));
/// assert!(oriole_ptxas::is_option("--def-load-cache=ca"));
/// assert!(!oriole_ptxas::is_option("--warp-speed"));
/// ```
pub fn is_option(word: &str) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    let of_name = |name: &str| options::find(name, true).or_else(|| options::find(name, false)).is_some();
    name.strip_prefix("--").or_else(|| name.strip_prefix('-')).is_some_and(of_name)
}
