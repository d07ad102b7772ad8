//! `oriole cache`.

use super::batch_args::CacheCommandArgs;
use super::cache::{clear, contents};
use super::failure::Failure;
use super::files;

/// Say how much is in a cache, or empty it.
pub(crate) fn run(args: &CacheCommandArgs) -> Result<(), Failure> {
    let done = if args.clear { clear(&args.folder) } else { contents(&args.folder) };
    let contents = done.map_err(|error| Failure::file(&args.folder, error))?;
    let text = if args.json {
        serde_json::json!({ "entries": contents.entries, "bytes": contents.bytes, "cleared": args.clear }).to_string()
    } else {
        let gone = if args.clear { " removed" } else { "" };
        format!("{} entries, {} bytes{gone}", contents.entries, contents.bytes)
    };
    files::print(&format!("{text}\n"))
}
