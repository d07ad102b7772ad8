//! Which in-order queue each opcode is in, from `spec/latency/queues.tsv`.

use crate::latency::Classes;
use crate::model::Spec;
use crate::tsv::{Line, Tsv};

/// The static that `src/latency/class.rs` includes: the queue by opcode.
pub(crate) fn table(spec: &Spec, tsv: &Tsv, classes: &Classes<'_>) -> Result<String, String> {
    let rows: Vec<Line<'_, 3>> = tsv.rows()?;
    for (line, name) in rows.iter().flat_map(|line| line.cells[1].split(' ').map(move |name| (line, name))) {
        let is_known = match name.strip_prefix('@') {
            Some(class) => classes.contains_key(class),
            None => spec.instrs.contains_key(name),
        };
        if !is_known {
            return Err(format!("{}: no instruction or class '{name}'", line.place));
        }
    }
    let mut queues = Vec::new();
    for instr in spec.instrs.values() {
        let is_member = |name: &str| name == instr.name || name.strip_prefix('@') == Some(instr.latency.as_str());
        let mut of = rows.iter().filter(|line| line.cells[1].split(' ').any(is_member)).map(|line| line.cells[0]);
        let queue = of.next();
        if let Some(second) = of.next() {
            return Err(format!("{}: {} is in {second} too", tsv.path, instr.name));
        }
        queues.push(queue.map_or("None".to_owned(), |queue| format!("Some(Queue::{queue})")));
    }
    Ok(format!("static QUEUES: [Option<Queue>; Opcode::COUNT] = [{}];\n", queues.join(", ")))
}
