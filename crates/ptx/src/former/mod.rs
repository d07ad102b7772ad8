//! PTX before 3.0, and PTX for sm_1x, said in the words of PTX 3.0 for sm_20, so that those who read the tree know one
//! language.
//!
//! | what was written | what it is now |
//! |---|---|
//! | `.tex .u32 t;` | `.global .texref t;` |
//! | `.reg` and `.local` at file level, which each thread has for itself | declared in the kernels that mention them; passed to functions that do |
//! | `.param` in the body of a kernel, before PTX 1.4 | in the list of parameters |
//! | arithmetic without rounding or `.approx` | with what it meant |
//! | `.f32` for sm_1x, which has no subnormals | with `.ftz` |
//!
//! What each means is measured with ptxas 13.0.88. `map_f64_to_f32` says how sm_10 to sm_12, which have no doubles,
//! compute; ptxas compiles doubles as they are for the architectures that there are.

mod arithmetic;
mod build;
mod shared;
mod variables;

use crate::ast::{Block, Instruction, Item, Module, Statement};
use crate::grammar::Target;

/// The version in which everything can be said.
const VERSION: (u32, u32) = (3, 0);
/// From here on every instruction says how it rounds.
const ROUNDS: (u32, u32) = (4, 0);
/// The first architecture that computes with subnormals.
const TARGET: u32 = 20;

/// Says a checked module in today's words, if it is older.
pub(crate) fn restate(module: &mut Module) {
    let target = module.target.first().and_then(|name| Target::from_name(name));
    let flushes = target.is_some_and(|target| target.number < TARGET);
    if module.version >= ROUNDS && !flushes {
        return;
    }
    let version = module.version;
    shared::restate(module);
    variables::restate(module);
    for item in &mut module.items {
        let Item::Function(function) = item else { continue };
        if let Some(body) = &mut function.body {
            each_instruction(body, &mut |instruction| arithmetic::restate(instruction, version, flushes));
        }
    }
    module.version = version.max(VERSION);
    if flushes {
        module.target[0] = format!("sm_{TARGET}");
        module.target.retain(|word| word != "map_f64_to_f32");
    }
}

fn each_instruction(block: &mut Block, visit: &mut impl FnMut(&mut Instruction)) {
    for statement in &mut block.statements {
        match statement {
            Statement::Instruction(instruction) => visit(instruction),
            Statement::Block(inner) => each_instruction(inner, visit),
            _ => {}
        }
    }
}
