//! Video instructions on two half-words or four bytes: `vadd2 … vset4`.

use oriole_ptx::ast::{Instruction, Opcode, Operand, ScalarType, Word};

use super::function::{Arithmetic, Bits, Compiled, Unsupported, low, number, saturated};
use super::video::{Operation, comparison, selector, types};

/// The SIMD video instructions.
pub(super) fn compile(inst: &Instruction) -> Compiled {
    use Opcode::*;
    let lanes = match inst.opcode {
        Vadd2 | Vsub2 | Vavrg2 | Vabsdiff2 | Vmin2 | Vmax2 | Vset2 => 2,
        Vadd4 | Vsub4 | Vavrg4 | Vabsdiff4 | Vmin4 | Vmax4 | Vset4 => 4,
        _ => return Ok(None),
    };
    let operation: Operation = match inst.opcode {
        Vadd2 | Vadd4 => |a, b| a + b,
        Vsub2 | Vsub4 => |a, b| a - b,
        // Halves round away from zero.
        Vavrg2 | Vavrg4 => |a, b| (a + b + i128::from(a + b >= 0)) >> 1,
        Vabsdiff2 | Vabsdiff4 => |a, b| (a - b).abs(),
        Vmin2 | Vmin4 => |a, b| a.min(b),
        Vmax2 | Vmax4 => |a, b| a.max(b),
        _ => comparison(inst)?,
    };
    simd(inst, operation, lanes).map(Some)
}

/// Which element of `b:a` each lane takes, from the lowest lane up.
fn chosen(operand: Option<&Operand>, lanes: usize, first: u32) -> [u32; 4] {
    let mut indices = [0, 1, 2, 3].map(|lane| first + lane);
    if let Some(written) = selector(operand) {
        for (index, lane) in indices.iter_mut().zip(written.index[..lanes].iter().rev()) {
            *index = (*lane).into();
        }
    }
    indices
}

/// The lanes that are written, or added up.
fn mask(operand: Option<&Operand>) -> [bool; 4] {
    match selector(operand) {
        None => [true; 4],
        Some(written) => [0, 1, 2, 3].map(|lane| written.index[..usize::from(written.count)].contains(&lane)),
    }
}

/// The operation in each lane; results replace lanes of `c`, or with `.add` are added to it.
fn simd(inst: &Instruction, operation: Operation, lanes: usize) -> Result<Arithmetic, Unsupported> {
    let [d_type, a_type, b_type] = types(inst)?;
    let a_lanes = chosen(inst.operands.get(1), lanes, 0);
    let b_lanes = chosen(inst.operands.get(2), lanes, lanes as u32);
    let written = mask(inst.operands.first());
    let width = 32 / lanes as u32;
    let (signed, sat, add) = (d_type.is_signed(), inst.has(Word::Sat), inst.has(Word::Add));
    let element = move |value: Bits, lane: u32, ty: ScalarType| {
        number(low(value >> (lane * width), width), width, ty.is_signed())
    };
    Ok(Arithmetic::function(d_type, [a_type, b_type, d_type], move |[a, b, c]| {
        let pair = b << 32 | a;
        (0..lanes).filter(|&lane| written[lane]).fold(c, |d, lane| {
            let result = operation(element(pair, a_lanes[lane], a_type), element(pair, b_lanes[lane], b_type));
            let result = if sat { saturated(result, width, signed) } else { result };
            if add {
                return d.wrapping_add(result as Bits);
            }
            let start = lane as u32 * width;
            d & !(low(Bits::MAX, width) << start) | low(result as Bits, width) << start
        })
    }))
}
