//! Register numbers stay below what the kernel has: at its start, and where `USETMAXREG` has changed that.

use crate::checked::Checked;
use crate::finding::{Finding, Kind};
use crate::graph::{BlockId, End};
use crate::program::{Line, LineId, Program};
use oriole_cubin::Cubin;
use oriole_isa::{KEPT_REGISTERS, Opcode, RegFile, Role, Value};
use rustc_hash::FxHashMap;

/// Instructions that name a register which their kernel does not have there.
pub(crate) fn check(checked: &Checked<'_>, cubin: &Cubin) -> Vec<Finding> {
    let program = checked.program;
    let changes = checked.reached().any(|line| set_registers(&program.lines[line as usize]).is_some());
    let limits = declared(program, cubin);
    let counts = if changes { Counts::new(checked, cubin, &limits).run() } else { FxHashMap::default() };
    let mut findings = Vec::new();
    for (number, block) in (0..).zip(&checked.graph.blocks).filter(|(number, _)| checked.is_reached(*number)) {
        let mut limit = counts.get(&number).copied();
        for line in block.first..block.end {
            let of_kernel = || limits.get(&program.lines[line as usize].section).copied();
            let beyond = beyond(program, line, limit.or_else(of_kernel));
            findings.extend(
                beyond.map(|(register, reason)| checked.single(Kind::Undeclared, line, vec![register], reason)),
            );
            limit = limit.and(set_registers(&program.lines[line as usize])).or(limit);
        }
    }
    findings
}

/// By section with a kernel: the registers that it has at its start.
fn declared(program: &Program, cubin: &Cubin) -> FxHashMap<u32, u32> {
    let mut limits: FxHashMap<u32, u32> = FxHashMap::default();
    // A kernel always says how many it has, even if it says none.
    for function in cubin.functions.iter().filter(|function| function.is_kernel || function.registers != 0) {
        let Some(line) = program.at_file_section(function.section, function.offset) else { continue };
        let limit = limits.entry(program.lines[line as usize].section).or_default();
        *limit = (*limit).max(function.registers);
    }
    limits
}

/// The register beyond those that there are which an instruction names, and why it may not.
fn beyond(program: &Program, line: LineId, limit: Option<u32>) -> Option<(String, String)> {
    let uniform = program.arch.sm().uniform_registers;
    let touches = &program.lines[line as usize].touches;
    let is_beyond = |register: &u16| limit.is_some_and(|limit| u32::from(*register) + KEPT_REGISTERS >= limit);
    if let (Some(register), Some(limit)) = (touches.highest(RegFile::R).filter(is_beyond), limit) {
        let reason = format!("the kernel has {limit} registers, of which {KEPT_REGISTERS} are the hardware's");
        return Some((format!("R{register}"), reason));
    }
    let register = touches.highest(RegFile::UR).filter(|register| u32::from(*register) >= uniform)?;
    Some((format!("UR{register}"), format!("there are {uniform} uniform registers")))
}

/// How many registers a warp has at the start of each block, where `USETMAXREG` changes that: the fewest of all ways there.
struct Counts<'c> {
    checked: &'c Checked<'c>,
    counts: FxHashMap<BlockId, u32>,
    work: Vec<BlockId>,
}

impl<'c> Counts<'c> {
    fn new(checked: &'c Checked<'c>, cubin: &Cubin, limits: &FxHashMap<u32, u32>) -> Self {
        let program = checked.program;
        let mut counts = Counts { checked, counts: FxHashMap::default(), work: Vec::new() };
        for kernel in cubin.functions.iter().filter(|function| function.is_kernel) {
            let Some(line) = program.at_file_section(kernel.section, kernel.offset) else { continue };
            let block = checked.graph.blocks.partition_point(|block| block.first < line) as BlockId;
            if let Some(limit) = limits.get(&program.lines[line as usize].section) {
                counts.arrive(block, *limit);
            }
        }
        counts
    }

    fn arrive(&mut self, block: BlockId, count: u32) {
        if self.counts.get(&block).is_none_or(|known| count < *known) {
            self.counts.insert(block, count);
            self.work.push(block);
        }
    }

    fn run(mut self) -> FxHashMap<BlockId, u32> {
        let (graph, lines) = (self.checked.graph, &self.checked.program.lines);
        while let Some(number) = self.work.pop() {
            let block = &graph.blocks[number as usize];
            // An attempt that gets none is made again: what goes on has them.
            let asked = lines[block.first as usize..block.end as usize].iter().rev().find_map(set_registers);
            let count = asked.unwrap_or(self.counts[&number]);
            block.edges.iter().for_each(|edge| self.arrive(edge.to, count));
            match block.ends {
                // What is not known is taken to leave the count as it is.
                End::Call { known: false, back: Some(back) } => self.arrive(back, count),
                End::Return => {
                    for call in &graph.returns[number as usize] {
                        if let End::Call { back: Some(back), .. } = graph.blocks[*call as usize].ends {
                            self.arrive(back, count);
                        }
                    }
                }
                _ => {}
            }
        }
        self.counts
    }
}

/// The number of registers that an instruction asks for.
fn set_registers(line: &Line) -> Option<u32> {
    if line.inst.opcode != Opcode::USETMAXREG {
        return None;
    }
    let at = line.inst.opcode.position(Role::A)?;
    match line.inst.operands.get(at)?.value {
        Value::Imm(registers) => u32::try_from(registers).ok(),
        _ => None,
    }
}
