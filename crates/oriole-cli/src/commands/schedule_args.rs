//! The words of `oriole schedule`.

use super::images::ImageArgs;
use super::schedule::{Form, What};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `oriole schedule`.
#[derive(Debug, Args)]
pub(crate) struct ScheduleArgs {
    /// A cubin, of Oriole's or of another compiler's, or a file that holds some; `-` is standard input.
    pub(crate) input: PathBuf,
    /// Of a file with several images the chip for which one is picked as a driver does.
    #[arg(long)]
    pub(crate) arch: Option<String>,
    /// Which image.
    #[command(flatten)]
    pub(crate) image: ImageArgs,
    /// Functions; all if none is named.
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Vec<String>,
    /// Where it goes; standard output if nothing is said. By the name's end it is JSON, a drawing or text.
    #[arg(short, long, value_name = "FILE[.json|.svg]")]
    pub(crate) output: Option<PathBuf>,
    /// In this form, whatever the file is called.
    #[arg(long, value_enum)]
    pub(crate) form: Option<Form>,
    /// Say of the instruction at this address (as `disasm` prints it) what it waits for and who waits for it.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) explain: Option<u64>,
    /// Say why instructions stand where they stand: those at ADDRESS (0x1a0), with TEXT in them (LDG), of one FUNCTION: or of all; those of
    /// the longest way through the hottest block if nothing is said.
    #[arg(long, value_name = "FUNCTION:ADDRESS|TEXT", num_args = 0..=1, require_equals = true, default_missing_value = "",
          conflicts_with = "explain")]
    pub(crate) explain_schedule: Option<What>,
}

/// Hexadecimal with or without `0x`, as `disasm` prints it.
fn address(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).map_err(|_| format!("'{text}' is no address such as 0x00d0"))
}
