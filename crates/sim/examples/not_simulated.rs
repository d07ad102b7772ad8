//! Lists what the simulator cannot execute of cubins: `ls FOLDER/*.cubin | not_simulated`.

use oriole_cubin::Cubin;
use oriole_sim::{Options, Simulator};
use std::collections::BTreeMap;
use std::io::BufRead;

fn main() {
    let mut reasons: BTreeMap<String, (usize, String, String)> = BTreeMap::new();
    let mut note = |key: String, file: &str, text: String| {
        reasons.entry(key).or_insert((0, file.to_owned(), text)).0 += 1;
    };
    for path in std::io::stdin().lock().lines().map_while(Result::ok) {
        let loaded = std::fs::read(&path).map_err(|e| e.to_string()).and_then(|bytes| {
            let cubin = Cubin::parse(&bytes).map_err(|e| e.to_string())?;
            Simulator::new(&cubin, Options::default()).map_err(|e| e.to_string())
        });
        match loaded {
            Err(error) => note(error, &path, String::new()),
            Ok(simulator) => {
                for (text, reason) in simulator.not_simulated() {
                    let opcode = text.split_whitespace().find(|w| !w.starts_with('@')).unwrap_or("").to_owned();
                    note(format!("{opcode} | {reason}"), &path, text);
                }
            }
        }
    }
    for (reason, (count, file, text)) in reasons {
        println!("{count:6} {reason}  e.g. {file}: {text}");
    }
}
