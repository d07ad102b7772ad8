//! The grammar of batches, of the cache, and of what Oriole says about itself.

use clap::{Args, ColorChoice, ValueEnum};
use std::path::PathBuf;

// Several files at a time, and how much is said.
#[derive(Debug, Args)]
pub(crate) struct BatchArgs {
    /// Compile each input to DIR/STEM.cubin, --jobs of them at a time; as many as there are processors by default.
    #[arg(long, value_name = "DIR", conflicts_with_all = [
        "output", "dump_after", "dump_all", "dump_cfg", "dump_rpo", "stats", "pressure", "schedule", "explain_schedule", "uniformity", "time_phases",
        "pass_limit",
    ])]
    pub(crate) out_dir: Option<PathBuf>,
    /// With --out-dir: print what has become of each input on standard output, as a JSON array.
    #[arg(long, requires = "out_dir")]
    pub(crate) json: bool,
    /// Say nothing but errors: no warnings, no progress, no table.
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// How errors and warnings are written: for people, or each as a line of JSON.
    #[arg(long, value_enum, value_name = "FORM", default_value_t)]
    pub(crate) diagnostics: DiagnosticsForm,
}

/// `--diagnostics`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiagnosticsForm {
    /// For people.
    #[default]
    Text,
    /// A JSON object a line.
    Json,
}

// Where results are kept.
#[derive(Debug, Args)]
pub(crate) struct CacheArgs {
    /// Keep results in this folder, and take from it what has been compiled before; $ORIOLE_CACHE by default.
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// Most bytes of that folder, such as 500M or 2G; 1G by default. What was not used for longest goes first.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    pub(crate) cache_size: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct CacheCommandArgs {
    /// A folder that `compile --cache` fills.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Remove all that the cache has put there, and nothing else.
    #[arg(long)]
    pub(crate) clear: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Whose script to print.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder for the pages.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct TargetsArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

// What all commands take.
#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    /// Colour on standard error: where it is a terminal and NO_COLOR is not set, always, or never.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
}

/// A number of bytes: `123`, `500M`, `2G`; the units are powers of 1024.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is no number of bytes such as 1000000, 500M or 2G");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).filter(|bytes| *bytes > 0).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::parse_bytes;

    #[test]
    fn sizes() {
        let rows = [("1", 1), ("500M", 500 << 20), ("2G", 2 << 30), ("3k", 3 << 10), ("1TiB", 1 << 40), ("7B", 7)];
        for (text, bytes) in rows {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "G", "0", "-1", "1.5G", "1X", "99999999999999999999", "99999999T", "1 G", "é"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }
}
