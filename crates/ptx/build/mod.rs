//! Makes the lists of names and the grammar's tables from `spec/*.grammar` (notation: `docs/ptx-grammar.md`).
//!
//! | file | what it does |
//! |---|---|
//! | `model` | what the files say |
//! | `read` | reads them line by line |
//! | `operand` | reads the notation of one operand |
//! | `names` | writes the enums of names |
//! | `perfect` | perfect hash tables, by which names are found |
//! | `tables` | writes the grammar's tables |

#[path = "../src/ast/hash.rs"]
mod hash;
mod model;
mod names;
mod operand;
mod perfect;
mod read;
#[path = "../src/ast/shape.rs"]
#[expect(unreachable_pub, reason = "public in the library, which has it too")]
mod shape;
mod tables;
#[path = "../src/grammar/target.rs"]
#[expect(dead_code, reason = "only the names of targets are read here")]
mod target;

/// The Rust text that is made.
#[derive(Debug)]
pub(crate) struct Made {
    /// The enums of names and the tables by which names are found.
    pub(crate) names: String,
    /// The grammar's tables.
    pub(crate) tables: String,
}

/// Makes the Rust text from all files, given by path and text. The vocabularies and the sets, which the other files
/// use, come first.
///
/// # Errors
///
/// The file and line of the first fault, and what it is.
pub(crate) fn make(files: &[(String, String)]) -> Result<Made, String> {
    let spec = read::spec(files)?;
    Ok(Made { names: names::names(&spec)?, tables: tables::tables(&spec)? })
}
