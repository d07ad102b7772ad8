//! What Oriole makes of a corpus of PTX instruction forms, all in one process.
//!
//!     cargo run --release -p oriole-cli --features examples --example forms -- coverage ../shared/ptx_forms/forms > docs/ptx-coverage.md
//!     cargo run --release -p oriole-cli --features examples --example forms -- conform ../shared/ptx_forms/forms --targets sm_80,sm_90 \
//!         --ptxas PATH --cubins DIR --failures FILE
//!
//! `coverage` writes the table of what compiles. `conform` runs our code on the strict simulator and compares it
//! with ptxas's code on the simulator, or with the PTX interpreter: what `conformance.py` of the shared tools does
//! with four processes for each form.

mod conform;
mod corpus;
mod coverage;

use clap::Parser;
use std::error::Error;
use std::path::PathBuf;

#[derive(Parser)]
enum Command {
    /// Write the table of forms that compile, by family and target
    Coverage {
        /// The folder of forms
        folder: PathBuf,
    },
    /// Compare what compiled forms compute with a reference
    Conform(conform::Args),
}

fn main() -> Result<(), Box<dyn Error>> {
    match Command::parse() {
        Command::Coverage { folder } => coverage::print(&corpus::read(&folder)?),
        Command::Conform(args) => conform::run(&args)?,
    }
    Ok(())
}
