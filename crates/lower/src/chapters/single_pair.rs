//! Arithmetic on pairs of singles (`.f32x2`): one instruction where the target has it, else one for each element.

use crate::chapters::float32::rounding;
use crate::error::{Lowered, invalid};
use crate::function::operands::Wide;
use crate::function::{FnLower, destinations, ops, sources};
use crate::handler::unknown;
use oriole_isa::Role::{A, B, C, D};
use oriole_isa::{Field, Opcode, Role};
use oriole_ori::Operand;
use oriole_ptx::ast::{Instruction, Opcode as Ptx, Word};

/// Instruction on pairs, instruction on singles, number of sources.
const OPERATIONS: [(Ptx, Opcode, Opcode, usize); 4] = [
    (Ptx::Add, Opcode::FADD2, Opcode::FADD, 2),
    (Ptx::Sub, Opcode::FADD2, Opcode::FADD, 2),
    (Ptx::Mul, Opcode::FMUL2, Opcode::FMUL, 2),
    (Ptx::Fma, Opcode::FFMA2, Opcode::FFMA, 3),
];
const SOURCES: [Role; 3] = [A, B, C];

/// `add`, `sub`, `mul`, `fma`
pub(crate) fn lower(cx: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let row = OPERATIONS.into_iter().find(|(ptx, ..)| *ptx == inst.opcode).ok_or_else(|| unknown(cx, inst))?;
    let (_, pair, single, count) = row;
    let (Some(d), Some(sources)) = (inst.operands.first(), inst.operands.get(1..=count)) else {
        return Err(invalid(inst.span, format!("the instruction needs {} operands", count + 1)));
    };
    let sources = sources.iter().map(|source| sources::src64(cx, source)).collect::<Lowered<Vec<Wide>>>()?;
    let fields = [Field::RND.is(rounding(inst)), Field::FTZ.is(inst.has(Word::Ftz))];
    // The last source of a difference is negated; others are as they are.
    let signed = |at: usize, value: Operand| if inst.opcode == Ptx::Sub && at == 1 { value.neg() } else { value };
    if cx.has(pair) {
        let mut operands = Vec::with_capacity(1 + count);
        for (at, source) in sources.into_iter().enumerate() {
            operands.push((SOURCES[at], signed(at, ops::in_pair(cx, source)?)));
        }
        operands.push((D, destinations::dst64_direct(cx, d)?.whole()));
        cx.emit(pair, &fields, &operands)?;
        return Ok(());
    }
    let to = destinations::dst64(cx, d, &sources)?;
    for (d, half) in [(to.lo, 0), (to.hi, 1)] {
        let mut operands = vec![(D, d)];
        for (at, source) in sources.iter().enumerate() {
            let element = ops::in_reg(cx, if half == 0 { source.lo } else { source.hi })?;
            operands.push((SOURCES[at], signed(at, element)));
        }
        cx.emit(single, &fields, &operands)?;
    }
    Ok(())
}
