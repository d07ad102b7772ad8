//! Dumps in the published formats: control flow as DOT, reverse post-order and backedges, statistics.

use crate::analysis::Cfg;
use crate::entity::Block;
use crate::function::Function;
use crate::published::opcodes;
use crate::text::spelled;
use cranelift_entity::EntityRef;
use oriole_isa::{Family, RegFile};
use std::fmt::{self, Display, Formatter, Write};

/// The control flow as a Graphviz graph of the function's name: nodes hold the blocks' code, edges that go back carry
/// a comment. With `rot13` mnemonics are spelled as the published opcode table does.
pub fn dot(func: &Function, cfg: &Cfg, rot13: bool) -> String {
    let mut text = format!("digraph {} {{\nnode [fontname=\"Courier\" shape=\"box\"]\n", quoted(func.name()));
    let mnemonic = opcodes::spelling(rot13);
    for &block in func.layout() {
        // `\l` ends a line of a label that is set flush left.
        let code = func.block_insts(block).iter().map(|inst| escaped(&spelled(func, *inst, mnemonic)) + "\\l");
        let _ = writeln!(text, "{block} [label=\"{block}:\\l{}\"]", code.collect::<String>());
    }
    for &block in func.layout() {
        for &succ in func.succs(block) {
            let note = if cfg.backedges().contains(&(block, succ)) { " // backedge (loop)" } else { "" };
            let _ = writeln!(text, "{block} -> {succ}{note}");
        }
    }
    text + "}\n"
}

/// A name as an identifier of DOT.
fn quoted(name: &str) -> String {
    format!("\"{}\"", escaped(name))
}

/// Text inside of quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Reverse post-order numbers in order of the blocks' own numbers, the traversal order, the backedges.
/// Unreachable blocks have no number and are left out.
pub fn rpo_and_backedges(func: &Function, cfg: &Cfg) -> String {
    let mut text = String::from("Showing RPO state for each basic block:\n");
    for block in (0..func.blocks().len()).map(Block::new) {
        if let Some(number) = cfg.rpo_number(block) {
            let _ = writeln!(text, "{block} -> RPONum: {number}");
        }
    }
    let order: Vec<String> = cfg.rpo().iter().map(ToString::to_string).collect();
    let _ = writeln!(text, "RPO traversal order: {}", order.join(", "));
    text.push_str("Showing backedge info:\n");
    for (from, to) in cfg.backedges() {
        let _ = writeln!(text, "{from} -> backedge's successor BB: {}", to.as_u32());
    }
    text
}

/// The per-function profile. [`Statistics::count`] fills what the function itself tells; estimates need the schedule
/// and the chip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Instructions.
    pub instructions: usize,
    /// Texture instructions.
    pub texture_instructions: usize,
    /// Accesses to memory of medium latency (shared, local): neither hot (global memory) nor cold (constants).
    pub tepid: usize,
    /// General registers: highest number used plus one.
    pub r_registers: u32,
    /// The same of uniform registers.
    pub uniform_registers: u32,
    /// The same of predicates.
    pub predicates: u32,
    /// The same of uniform predicates.
    pub uniform_predicates: u32,
    /// Estimated latency in cycles.
    pub estimated_latency: u64,
    /// Bytes of local memory used for spills.
    pub spill_bytes: u32,
    /// Resident warps over the most that the SM can hold.
    pub occupancy: f64,
    /// Instructions that one warp scheduler issues per cycle when it has as many warps as the occupancy lets it have.
    pub issue_throughput: f64,
    /// Those of them that compute with floats.
    pub fp_throughput: f64,
    /// Latency in cycles when every memory access takes longest.
    pub worst_case_latency: f64,
    /// Latency in cycles with typical memory accesses.
    pub average_case_latency: f64,
}

impl Statistics {
    /// Count instructions and registers of a function; estimates stay zero.
    pub fn count(func: &Function) -> Self {
        let mut stats = Statistics { spill_bytes: func.frame().spill_bytes, ..Statistics::default() };
        for (_, inst) in func.iter_insts() {
            stats.instructions += 1;
            stats.texture_instructions += usize::from(func[inst].opcode.info().family == Family::Texture);
            func.for_each_phys(inst, |r| {
                let highest = match r.file {
                    RegFile::R => &mut stats.r_registers,
                    RegFile::UR => &mut stats.uniform_registers,
                    RegFile::P => &mut stats.predicates,
                    RegFile::UP => &mut stats.uniform_predicates,
                    _ => return,
                };
                *highest = (*highest).max(u32::from(r.number) + u32::from(r.count));
            });
        }
        stats
    }
}

impl Display for Statistics {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let s = self;
        writeln!(f, "# {} instructions, {} R-regs", s.instructions, s.r_registers)?;
        writeln!(
            f,
            "# [inst={}] [texInst={}] [tepid={}] [rregs={}]",
            s.instructions, s.texture_instructions, s.tepid, s.r_registers
        )?;
        writeln!(f, "# [urregs={}] [pregs={}] [upregs={}]", s.uniform_registers, s.predicates, s.uniform_predicates)?;
        writeln!(f, "# [est latency = {}] [LSpillB={}]", s.estimated_latency, s.spill_bytes)?;
        writeln!(f, "# [Occupancy = {:.6}]", s.occupancy)?;
        writeln!(f, "# [issue thru={:.6}] [fp thru={:.6}]", s.issue_throughput, s.fp_throughput)?;
        writeln!(f, "# [worstcaseLat={:.6}]", s.worst_case_latency)?;
        writeln!(f, "# [avgcaseLat={:.6}]", s.average_case_latency)
    }
}
