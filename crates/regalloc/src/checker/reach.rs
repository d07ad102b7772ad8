//! Which values are read later, from the starts of blocks: found read by read, by walking against the flow to what writes
//! the value (path exploration; Boissinot and others, "Computing liveness sets for SSA-form programs", 2011).

use super::names::Value;
use super::script::Pair;
use super::step::Kind;
use oriole_ori::{Block, EntityRef, SecondaryMap, analysis::Cfg};

/// By block: the values that are read later, in order.
pub(super) struct Reach {
    wanted: SecondaryMap<Block, Vec<Value>>,
}

/// A value with a block, in order of the values.
type Mentions = Vec<(Value, Block)>;

impl Reach {
    pub(super) fn new(pair: &Pair<'_>) -> Self {
        let mut reach = Reach { wanted: SecondaryMap::new() };
        let (reads, writes) = mentions(pair);
        let mut writes = writes.chunk_by(|a, b| a.0 == b.0).peekable();
        let mut written: Vec<Value> = vec![Value::MAX; pair.after.blocks().len()];
        for group in reads.chunk_by(|a, b| a.0 == b.0) {
            let value = group[0].0;
            while let Some(own) = writes.next_if(|own| own[0].0 <= value) {
                own.iter().filter(|(of, _)| *of == value).for_each(|(_, block)| written[block.index()] = value);
            }
            reach.explore(&pair.cfg, value, group, &written);
        }
        reach
    }

    /// From each block that reads the value before it writes it, back to those that write it.
    fn explore(&mut self, cfg: &Cfg, value: Value, reads: &[(Value, Block)], written: &[Value]) {
        let mut work: Vec<Block> = reads.iter().map(|(_, block)| *block).collect();
        while let Some(block) = work.pop() {
            let wanted = &mut self.wanted[block];
            if wanted.last() == Some(&value) {
                continue;
            }
            wanted.push(value);
            work.extend(cfg.preds(block).iter().filter(|pred| written[pred.index()] != value));
        }
    }

    /// What is read later, from the start of `block`.
    pub(super) fn wanted(&self, block: Block) -> &[Value] {
        &self.wanted[block]
    }
}

/// Blocks that read values before they write them, and blocks that write values in full.
fn mentions(pair: &Pair<'_>) -> (Mentions, Mentions) {
    let count = pair.values.count();
    let (mut reads, mut writes) = (Mentions::new(), Mentions::new());
    let (mut last_read, mut last_written) = (vec![u32::MAX; count], vec![u32::MAX; count]);
    for (number, block) in (0..).zip(pair.after.layout()) {
        for step in pair.script.steps(*block).iter().filter(|step| step.kind != Kind::Moves) {
            let mut read = |value: Value| {
                let at = value as usize;
                if last_written[at] != number && std::mem::replace(&mut last_read[at], number) != number {
                    reads.push((value, *block));
                }
            };
            pair.script.reads(step).iter().for_each(|access| read(access.value));
            if step.kind == Kind::GoneCopy {
                pair.script.writes(step).iter().for_each(|access| read(access.from));
            }
            for write in pair.script.writes(step).iter().filter(|write| !write.conditional) {
                if std::mem::replace(&mut last_written[write.value as usize], number) != number {
                    writes.push((write.value, *block));
                }
            }
        }
    }
    reads.sort_unstable();
    writes.sort_unstable();
    (reads, writes)
}
