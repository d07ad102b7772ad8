//! Looking on while a module is compiled.

use oriole_codegen::PassEvent;
use std::fmt;
use std::time::Duration;

/// One function after one pass, as an observer sees it.
///
/// Numbers and names are the published ones (`oriole phases` lists them). A pass that works on a whole module, as
/// allocation does, is seen once for each of its functions.
#[derive(Clone, Copy)]
pub struct Pass<'a>(PassEvent<'a>);

impl<'a> Pass<'a> {
    pub(crate) fn new(event: &PassEvent<'a>) -> Pass<'a> {
        Pass(*event)
    }

    /// Name of the function.
    pub fn function(&self) -> &'a str {
        self.0.function.name()
    }

    /// The pass's number, 0 to 158.
    pub fn number(&self) -> u16 {
        self.0.number
    }

    /// The pass's name.
    pub fn name(&self) -> &'a str {
        self.0.name
    }

    /// Whether the function may be other than before.
    pub fn changed(&self) -> bool {
        self.0.changed
    }

    /// How long the pass took on this function; `None` for one that works on the whole module.
    pub fn time(&self) -> Option<Duration> {
        self.0.time
    }

    /// The function as Ori text, which `docs/ori.md` describes. It is made when it is asked for.
    pub fn ori(&self) -> String {
        self.0.function.to_string()
    }
}

impl fmt::Debug for Pass<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Pass");
        out.field("function", &self.function()).field("number", &self.number()).field("name", &self.name());
        out.field("changed", &self.changed()).finish_non_exhaustive()
    }
}
