//! What the checker says about many modules: one JSON string with PTX text
//! per line of standard input, one JSON array per line of standard output:
//! the errors in order, each `[line, message]`.
//!
//! `tools/compare_grammar.py --check` compares the answers with those of ptxas.

use std::io::{BufRead, Write};

use oriole_ptx::diag::SourceMap;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let text: String = serde_json::from_str(&line?)?;
        let errors = oriole_ptx::load(&text).err().unwrap_or_default();
        let map = SourceMap::new("", &text);
        let said: Vec<_> = errors.iter().map(|error| (map.line_column(error.span.start).0, &error.message)).collect();
        writeln!(out, "{}", serde_json::to_string(&said)?)?;
    }
    Ok(())
}
