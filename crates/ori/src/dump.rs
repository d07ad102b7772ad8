//! Dumps in the published formats: control flow as DOT, reverse post-order and backedges, statistics.

use crate::analysis::Cfg;
use crate::function::Function;
use oriole_isa::RegFile;
use std::fmt::{self, Display, Formatter, Write};

/// The control flow as a Graphviz graph; edges that go back carry a comment.
pub fn dot(func: &Function, cfg: &Cfg) -> String {
    let mut text = String::from("digraph f {\nnode [fontname=\"Courier\" shape=\"box\"]\n");
    for &block in &func.layout {
        for &succ in func.succs(block) {
            let note = if cfg.backedges().contains(&(block, succ)) { " // backedge (loop)" } else { "" };
            let _ = writeln!(text, "{block} -> {succ}{note}");
        }
    }
    text + "}\n"
}

/// Reverse post-order numbers in order of the blocks' own numbers, the traversal order, the backedges.
/// Unreachable blocks have no number and are left out.
pub fn rpo_and_backedges(func: &Function, cfg: &Cfg) -> String {
    let mut text = String::from("Showing RPO state for each basic block:\n");
    for block in func.blocks.keys() {
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

/// The per-function profile. [`Statistics::count`] fills what the function itself tells; the
/// scheduler fills the estimates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Instructions.
    pub instructions: usize,
    /// Texture instructions.
    pub texture_instructions: usize,
    /// Instructions of medium latency that are neither hot nor cold.
    pub tepid: usize,
    /// General registers: highest number used plus one.
    pub r_registers: u32,
    /// Estimated latency in cycles.
    pub estimated_latency: u64,
    /// Bytes of local memory used for spills.
    pub spill_bytes: u32,
    /// Resident warps over the most that the SM can hold.
    pub occupancy: f64,
    /// Instructions issued per cycle.
    pub issue_throughput: f64,
    /// Floating-point instructions issued per cycle.
    pub fp_throughput: f64,
    /// Latency in cycles when every memory access takes longest.
    pub worst_case_latency: f64,
    /// Latency in cycles with typical memory accesses.
    pub average_case_latency: f64,
}

/// Families of texture instructions.
const TEXTURE: [&str; 7] = ["TEX", "TLD", "TLD4", "TMML", "TXD", "TXQ", "FOOTPRINT"];

impl Statistics {
    /// Count instructions and registers of a function; estimates stay zero.
    pub fn count(func: &Function) -> Self {
        let mut stats = Statistics { spill_bytes: func.frame.spill_bytes, ..Statistics::default() };
        for (_, inst) in func.iter_insts() {
            stats.instructions += 1;
            stats.texture_instructions += usize::from(TEXTURE.contains(&func.insts[inst].opcode.name()));
            func.for_each_phys(inst, |r| {
                if r.file == RegFile::R {
                    stats.r_registers = stats.r_registers.max(u32::from(r.number) + u32::from(r.count));
                }
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
        writeln!(f, "# [est latency = {}] [LSpillB={}]", s.estimated_latency, s.spill_bytes)?;
        writeln!(f, "# [Occupancy = {:.6}]", s.occupancy)?;
        writeln!(f, "# [issue thru={:.6}] [fp thru={:.6}]", s.issue_throughput, s.fp_throughput)?;
        writeln!(f, "# [worstcaseLat={:.6}]", s.worst_case_latency)?;
        writeln!(f, "# [avgcaseLat={:.6}]", s.average_case_latency)
    }
}
