//! The chapters against the host's arithmetic, the `half` crate, exhaustive search and the manual's loops,
//! written in another way than the code.

mod bits;
mod convert;
mod float;
mod forms;
mod integer;
mod video;

use oriole_ptx::ast::{Instruction, Statement};

use super::compile;
use crate::arith::function::{Bits, Results, Sources};

/// An instruction that was compiled from its text.
struct Function(crate::arith::function::Arithmetic);

/// Compiles one instruction; registers need no declaration.
fn function(text: &str) -> Function {
    let inst = instruction(text);
    Function(compile(&inst).expect("it is supported").expect("it is arithmetic"))
}

fn instruction(text: &str) -> Instruction {
    let ptx = format!(".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(){{ {text}; }}");
    let parsed = oriole_ptx::parse(&ptx);
    assert!(parsed.errors.is_empty(), "{text}: {:?}", parsed.errors);
    let function = parsed.module.functions().next().expect("the kernel");
    let Some(Statement::Instruction(inst)) = function.body.as_ref().expect("its body").statements.first() else {
        panic!("{text}: no instruction");
    };
    (**inst).clone()
}

impl Function {
    fn results(&self, values: &[Bits], carry: bool) -> Results {
        (self.0.run)(&Sources { values, carry })
    }

    /// The only result.
    fn of(&self, values: &[Bits]) -> Bits {
        self.results(values, false).values[0]
    }

    fn of_u32<const N: usize>(&self, values: [u32; N]) -> u32 {
        self.of(&values.map(Bits::from)) as u32
    }

    fn of_u64<const N: usize>(&self, values: [u64; N]) -> u64 {
        self.of(&values.map(Bits::from)) as u64
    }

    fn of_f32<const N: usize>(&self, values: [f32; N]) -> f32 {
        f32::from_bits(self.of_u32(values.map(f32::to_bits)))
    }
}

/// Words with corners of integers and floats among them: the same at each call.
fn words() -> impl Iterator<Item = u32> {
    const CORNERS: [u32; 20] = [
        0,
        1,
        2,
        31,
        32,
        33,
        0x7f,
        0x80,
        0xffff,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x3f80_0000,
        0xbf80_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x007f_ffff,
        0x0080_0000,
        0x8000_0001,
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let random = std::iter::from_fn(move || {
        // Steele, Lea, Flood: SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some((mixed >> 32) as u32)
    });
    random.enumerate().map(|(n, word)| if n % 3 == 0 { CORNERS[word as usize % CORNERS.len()] } else { word })
}

/// Rows of `N` words.
fn rows<const N: usize>(count: usize) -> impl Iterator<Item = [u32; N]> {
    let mut words = words();
    std::iter::repeat_with(move || std::array::from_fn(|_| words.next().unwrap_or(0))).take(count)
}

/// Rows of `N` double words.
fn wide_rows<const N: usize>(count: usize) -> impl Iterator<Item = [u64; N]> {
    let mut words = words();
    let mut word = move || u64::from(words.next().unwrap_or(0));
    std::iter::repeat_with(move || std::array::from_fn(|_| word() << 32 | word())).take(count)
}
