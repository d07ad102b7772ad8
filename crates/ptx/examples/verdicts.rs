//! What the checker says about many modules: one JSON string with PTX text
//! per line of standard input, one JSON object per line of standard output
//! (`{"ok": true}` or `{"ok": false, "rule": …, "line": …, "message": …}`).
//!
//! `tools/ptx_mutants.py` compares the answers with those of ptxas.

use std::io::{BufRead, Write};

use oriole_ptx::diag::SourceMap;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let text: String = serde_json::from_str(&line?)?;
        let answer = match oriole_ptx::load(&text) {
            Ok(_) => serde_json::json!({ "ok": true }),
            Err(errors) => {
                let error = &errors[0];
                let (line, column) = SourceMap::new("", &text).line_column(error.span.start);
                serde_json::json!({
                    "ok": false,
                    "rule": error.rule.map_or("", oriole_ptx::diag::Rule::as_str),
                    "line": line,
                    "column": column,
                    "message": error.message,
                    "help": error.help,
                })
            }
        };
        writeln!(out, "{answer}")?;
    }
    Ok(())
}
