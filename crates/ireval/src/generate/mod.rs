//! Random programs of LLVM IR, well typed, each from a seed.
//!
//! A program is a module with one kernel, `@k`, functions that it calls, and variables. The kernel reads a slice of the
//! input buffer by its thread's number and writes what it has computed to a slice of the output buffer. Threads do not
//! depend on each other. Results are single: operands are brought into range before operations that would make poison
//! or trap of them, and the bits of a NaN are not looked at.

mod arithmetic;
mod calls;
mod constants;
mod flow;
mod function;
mod intrinsics;
mod options;
mod places;
mod types;

pub use options::{INPUT_STRIDE, Kinds, OUTPUT_STRIDE, Options};

use crate::{Fault, Memory, Settings, Value};
use function::Maker;
use options::THREADS;
use oriole_nvptx::ir::{AddressSpace, Module, SymbolId};

/// A program and its launch: one block.
#[derive(Clone, Debug)]
pub struct Program {
    /// The module.
    pub module: Module,
    /// Threads of the block.
    pub threads: u32,
    /// The input buffer; parameter 0 of the kernel is its address in global memory.
    pub input: Vec<u8>,
    /// Parameter 2 of the kernel, an `i64`.
    pub uniform: u64,
}

/// What a program leaves.
#[derive(Clone, Debug)]
pub struct Outcome {
    memory: Memory,
    output: u64,
    len: usize,
}

/// The program of a seed.
#[must_use]
pub fn program(seed: u64, options: &Options) -> Program {
    // Neighbouring seeds must not give neighbouring streams.
    let mixed = (seed ^ seed >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut random = fastrand::Rng::with_seed(mixed ^ mixed >> 29);
    let input = constants::input(&mut random, (THREADS * INPUT_STRIDE) as usize);
    let uniform = random.u64(..);
    let module = Maker::new(random, *options).module();
    Program { module, threads: THREADS, input, uniform }
}

impl Program {
    /// Bytes of the output buffer; parameter 1 of the kernel is its address in global memory. It starts as zeros.
    #[must_use]
    pub fn output_bytes(&self) -> usize {
        (self.threads * OUTPUT_STRIDE) as usize
    }

    /// Evaluates a module in the place of the program's own: the same, or what a pass has made of it.
    ///
    /// # Errors
    ///
    /// Those of [`crate::run`].
    pub fn evaluate(&self, module: &Module) -> Result<Outcome, Fault> {
        self.evaluate_in_order(module, 0..self.threads)
    }

    /// True when the threads, run the other way round, leave the same: what a pass has made of a program, or what is left
    /// of it, may let them write over each other.
    #[must_use]
    pub fn has_independent_threads(&self, module: &Module) -> bool {
        let [first, second] = [self.evaluate(module), self.evaluate_in_order(module, (0..self.threads).rev())];
        let (Ok(first), Ok(second)) = (first, second) else { return false };
        first.refined_by(&second).is_ok_and(|comparison| comparison.differs.is_none())
    }

    fn evaluate_in_order(&self, module: &Module, threads: impl Iterator<Item = u32>) -> Result<Outcome, Fault> {
        let kernel = kernel(module)?;
        let mut memory = Memory::for_module(module, 0)?;
        let input = memory.add(AddressSpace::GLOBAL, &self.input, 256)?;
        let len = self.output_bytes();
        let output = memory.add(AddressSpace::GLOBAL, &vec![0; len], 256)?;
        let args = [input, output, self.uniform].map(|value| Value::Bits(u128::from(value)));
        for thread in threads {
            let settings = Settings { thread: [thread, 0, 0], threads: [self.threads, 1, 1], ..Settings::default() };
            crate::run(module, kernel, &args, &mut memory, &settings)?;
        }
        Ok(Outcome { memory, output, len })
    }
}

/// The kernel of a program.
fn kernel(module: &Module) -> Result<SymbolId, Fault> {
    module.symbol("k").ok_or_else(|| Fault::invalid("no kernel @k"))
}

impl Outcome {
    /// The output; bytes that are open read as some value.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.memory.bytes(self.output, self.len as u64).unwrap_or_default()
    }

    /// Compares with the output that another execution has written; bytes that are open are passed over.
    ///
    /// # Errors
    ///
    /// When `other` is longer.
    pub fn compare(&self, other: &[u8]) -> Result<crate::Comparison, Fault> {
        self.memory.compare(self.output, other)
    }

    /// Compares with what a changed module leaves: what is known here must be known there and equal.
    ///
    /// # Errors
    ///
    /// When the outputs have different lengths.
    pub fn refined_by(&self, other: &Outcome) -> Result<crate::Comparison, Fault> {
        self.memory.refined_by(self.output, &other.memory, other.output, self.len as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FaultKind;

    /// Nearly all programs have a result; none is refused by the verifier or lacks something of the evaluator.
    #[test]
    fn programs_are_valid_and_have_results() {
        let (mut of_program, mut limits) = (0, 0);
        for seed in 0..oriole_prerequisites::sample(1000) {
            let program = program(seed, &Options::default());
            if let Err(error) = oriole_nvptx::ir::verify(&program.module) {
                panic!("program {seed}: {error}");
            }
            match program.evaluate(&program.module) {
                Ok(_) => {}
                Err(fault) if fault.is_of_program() => of_program += 1,
                Err(fault) if fault.kind == FaultKind::Limit => limits += 1,
                Err(fault) => panic!("program {seed}: {fault}"),
            }
        }
        assert!(
            of_program < 10 && limits < 10,
            "{of_program} programs without a single result, {limits} beyond limits"
        );
    }
}
