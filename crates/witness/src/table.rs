//! What a table holds, and where the tables are.

use crate::field::{Field, Type};
use crate::object::Object;
use crate::parse;
use crate::value::Value;
use oriole_cubin::{Suffix, Target};
use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file of the folder of tables.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Path below the folder, without its extension: `integer/add`.
    pub name: String,
    /// Instructions on rows of operands.
    pub forms: Vec<Form>,
    /// Whole kernels.
    pub programs: Vec<Program>,
}

/// Operands of many calculations, which several forms share.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// The operands.
    pub fields: Vec<Field>,
    /// Their bits, row by row.
    pub values: Vec<Vec<u128>>,
}

/// One or more instructions with the same results for each row.
#[derive(Clone, Debug)]
pub struct Form {
    /// The section of the PTX manual that says what is right.
    pub section: String,
    /// PTX statements, each text on its own; the registers have the names of the operands.
    pub code: Vec<String>,
    /// The targets that have it.
    pub needs: Needs,
    /// Engines that do not run it or do otherwise.
    pub without: Vec<Except>,
    /// The operands.
    pub rows: Arc<Rows>,
    /// Its results.
    pub outputs: Vec<Field>,
    /// The results of each row.
    pub expected: Vec<Vec<Value>>,
}

/// A kernel with whole buffers for each launch.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its name among those of the table.
    pub name: String,
    /// The section of the PTX manual that says what is right.
    pub section: String,
    /// The targets that have it.
    pub needs: Needs,
    /// Engines that do not run it or do otherwise.
    pub without: Vec<Except>,
    /// Blocks; threads of a block; blocks of a cluster.
    pub shape: [[u32; 3]; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// What stands behind the target in `.target`, such as `texmode_independent`.
    pub mode: Option<String>,
    /// Textures, surfaces, samplers and tensor maps of the launches.
    pub objects: Vec<Object>,
    /// PTX at the level of the module, with a kernel `k` of two parameters, the addresses of input and output.
    pub code: String,
    /// The launches.
    pub cases: Vec<Case>,
}

/// One launch of a program.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name among those of the program.
    pub name: String,
    /// Element type and elements of the input.
    pub input: (Type, Vec<u128>),
    /// Element type and elements of the output.
    pub output: (Type, Vec<Value>),
    /// What stands in the output before the launch; zeros behind it.
    pub before: (Type, Vec<u128>),
}

/// An engine that a form is not compared on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Except {
    /// `ptxas`, `interpreter`, `simulator` (our code and ptxas's), or `constants` (ptxas's folding).
    pub engine: String,
    /// The targets for which this holds.
    pub targets: Needs,
    /// Why.
    pub reason: String,
}

/// The version of PTX in which the tables are written, where an instruction needs no newer one.
pub const VERSION: (u32, u32) = (9, 0);

/// What an instruction needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The version of PTX, at least [`VERSION`].
    pub version: (u32, u32),
    /// Any of these targets; all where there is none.
    pub(crate) targets: Vec<Target>,
}

impl Default for Needs {
    fn default() -> Self {
        Needs { version: VERSION, targets: Vec::new() }
    }
}

impl Needs {
    /// Whether the target has it: `sm_90` means this and later ones, `sm_90a` that one alone, `sm_100f` its family.
    #[must_use]
    pub fn met_by(&self, target: Target) -> bool {
        let family = |least: Target| target.sm / 10 == least.sm / 10 && target.suffix != Suffix::None;
        let met = |least: &Target| match least.suffix {
            Suffix::None => target.sm >= least.sm,
            Suffix::Arch => target == *least,
            Suffix::Family => target.sm >= least.sm && family(*least),
        };
        self.targets.is_empty() || self.targets.iter().any(met)
    }
}

impl Display for Needs {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (major, minor) = self.version;
        write!(f, "{major}.{minor} {}", self.targets.iter().map(ToString::to_string).collect::<Vec<_>>().join("|"))
    }
}

/// The folder of tables, in the repository.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/witness")
}

/// All tables of the repository, by name.
///
/// # Errors
/// A file cannot be read, or is no table: its name and line.
pub fn tables() -> Result<Vec<Table>, String> {
    let mut files = Vec::new();
    let chapters = entries(&folder())?;
    for chapter in chapters.iter().filter(|path| path.is_dir()) {
        files.extend(entries(chapter)?.into_iter().filter(|path| path.extension().is_some_and(|ext| ext == "txt")));
    }
    files.iter().map(|path| read(path)).collect()
}

/// The table of a file.
///
/// # Errors
/// As [`tables`].
pub fn read(path: &Path) -> Result<Table, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
    let table = parse::table(&text).map_err(|(line, why)| format!("{shown}:{line}: {why}"))?;
    let part = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Table { name: format!("{}/{}", path.parent().map(part).unwrap_or_default(), part(path)), ..table })
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let mut paths =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    paths.sort();
    Ok(paths)
}
