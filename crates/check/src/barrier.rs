//! `BAR`: the uses of each barrier of a kernel fit each other.

use crate::checked::Checked;
use crate::finding::{Finding, Kind};
use crate::program::{Line, LineId};
use oriole_cubin::{Cubin, FileKind};
use oriole_isa::{BarOp, Field, Inst, Opcode, RegFile, Role, Value};
use std::collections::BTreeMap;

/// Threads of a warp.
const WARP: u64 = 32;

/// Barriers of a block.
const BARRIERS: u64 = 16;

/// One `BAR` whose barrier is known.
struct Use {
    line: LineId,
    /// Threads that take part; 0: all of the block; `None`: in a register.
    threads: Option<u64>,
    /// It only arrives.
    arrives: bool,
}

/// Findings about the barriers of all kernels.
pub(crate) fn check(checked: &Checked<'_>, cubin: &Cubin) -> Vec<Finding> {
    let mut uses: BTreeMap<(u32, u64), Vec<Use>> = BTreeMap::new();
    let mut findings = Vec::new();
    for line in checked.reached() {
        let Line { inst, section, .. } = &checked.program.lines[line as usize];
        if inst.opcode != Opcode::BAR {
            continue;
        }
        // One register may hold both barrier and threads.
        let threads = if !inst.get(Field::BAR_BOTH) { operand(inst, Role::B) } else { None };
        let arrives = inst.get(Field::BAR_OP) == BarOp::ARV;
        if let Some(reason) = wrong_count(threads, arrives) {
            findings.push(checked.single(Kind::Barrier, line, Vec::new(), reason));
        }
        if let Some(id) = operand(inst, Role::A) {
            uses.entry((*section, id)).or_default().push(Use { line, threads, arrives });
        }
    }
    for ((section, id), uses) in &uses {
        findings.extend(mismatch(checked, *id, uses));
        findings.extend(undeclared(checked, cubin, *section, *id, uses));
    }
    findings
}

/// The value of an operand; `None` where it is in a register.
fn operand(inst: &Inst, role: Role) -> Option<u64> {
    let at = inst.opcode.position(role)?;
    match inst.operands.get(at)?.value {
        Value::Imm(value) => Some(value),
        Value::Reg(RegFile::R, 255) => Some(0),
        _ => None,
    }
}

fn wrong_count(threads: Option<u64>, arrives: bool) -> Option<String> {
    match threads? {
        0 if arrives => Some("an arrival has to say how many threads take part".to_owned()),
        threads if threads % WARP != 0 => Some(format!("{threads} threads are no whole number of warps")),
        _ => None,
    }
}

/// Arrivals that no wait expects: waits for the barrier exist, and all count other threads.
fn mismatch(checked: &Checked<'_>, id: u64, uses: &[Use]) -> Option<Finding> {
    let known = |wanted: bool| uses.iter().filter(move |one| one.arrives == wanted);
    if uses.iter().any(|one| one.threads.is_none()) {
        return None;
    }
    let waits: Vec<u64> = known(false).filter_map(|wait| wait.threads).collect();
    let other = waits.first()?;
    let lonely = known(true).find(|arrival| arrival.threads.is_some_and(|threads| !waits.contains(&threads)))?;
    let threads = lonely.threads.unwrap_or(0);
    let reason = format!("arrives at barrier {id} for {threads} threads; the waits for it are for {other}");
    Some(checked.single(Kind::Barrier, lonely.line, Vec::new(), reason))
}

/// A barrier beyond those that the kernel declares.
fn undeclared(checked: &Checked<'_>, cubin: &Cubin, section: u32, id: u64, uses: &[Use]) -> Option<Finding> {
    let program = checked.program;
    let in_section = |line: LineId| program.lines[line as usize].section == section;
    let of_section =
        cubin.functions.iter().filter(|f| program.at_file_section(f.section, f.offset).is_some_and(in_section));
    let (declared, is_told) = of_section.fold((0, false), |(most, is_told), function| {
        (most.max(u64::from(function.barriers)), is_told || function.is_kernel)
    });
    let line = uses.first()?.line;
    // A kernel that is linked says how many it has; of a function its callers do.
    let is_told = is_told && cubin.kind == FileKind::Executable;
    let has = if declared == 0 && !is_told { BARRIERS } else { declared };
    (id >= has)
        .then(|| checked.single(Kind::Barrier, line, Vec::new(), format!("barrier {id}, where the kernel has {has}")))
}
