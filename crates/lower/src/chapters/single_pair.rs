//! Arithmetic on pairs of singles (`.f32x2`): one instruction where the target has it, else one for each element.

use crate::chapters::float32::rounding;
use crate::error::{Lowered, invalid};
use crate::function::FnLower;
use crate::function::operands::Wide;
use crate::function::word_ops::flag;
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
pub(crate) fn lower(f: &mut FnLower<'_, '_>, inst: &Instruction) -> Lowered {
    let row = OPERATIONS.into_iter().find(|(ptx, ..)| *ptx == inst.opcode).ok_or_else(|| unknown(f, inst))?;
    let (_, pair, single, count) = row;
    let (Some(d), Some(sources)) = (inst.operands.first(), inst.operands.get(1..=count)) else {
        return Err(invalid(inst.span, format!("the instruction needs {} operands", count + 1)));
    };
    let sources = sources.iter().map(|source| f.src64(source)).collect::<Lowered<Vec<Wide>>>()?;
    let fields = [(Field::Rnd, rounding(inst)), flag(Field::Ftz, inst.has(Word::Ftz))];
    // The last source of a difference is negated; others are as they are.
    let signed = |at: usize, value: Operand| if inst.opcode == Ptx::Sub && at == 1 { value.neg() } else { value };
    if f.has(pair) {
        let mut operands = Vec::with_capacity(1 + count);
        for (at, source) in sources.into_iter().enumerate() {
            operands.push((SOURCES[at], signed(at, f.in_pair(source)?)));
        }
        operands.push((D, f.dst64_direct(d)?.whole()));
        f.emit(pair, &fields, &operands)?;
        return Ok(());
    }
    let to = f.dst64(d, &sources)?;
    for (d, half) in [(to.lo, 0), (to.hi, 1)] {
        let mut operands = vec![(D, d)];
        for (at, source) in sources.iter().enumerate() {
            let element = f.in_reg(if half == 0 { source.lo } else { source.hi })?;
            operands.push((SOURCES[at], signed(at, element)));
        }
        f.emit(single, &fields, &operands)?;
    }
    Ok(())
}
