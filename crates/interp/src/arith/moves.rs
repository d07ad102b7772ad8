//! Moves: `mov` with packing and unpacking, `prmt`, `selp`, `slct`.

use oriole_ptx::ast::{Instruction, Opcode, Operand, ScalarType, TypeClass, Word};
use smallvec::SmallVec;

use super::format::Format;
use super::function::{Arithmetic, Bits, Compiled, Results, Unsupported, low, number, type_of, unsupported};

/// The moves of values; what `mov` says of addresses and special registers is fetched as its source.
pub(super) fn compile(inst: &Instruction) -> Compiled {
    Ok(Some(match inst.opcode {
        Opcode::Mov => moved(inst)?,
        Opcode::Prmt => permute(inst)?,
        Opcode::Selp => {
            let ty = type_of(inst, 0)?;
            Arithmetic::function(ty, [ty, ty, ScalarType::Pred], |[a, b, p]| if p & 1 == 1 { a } else { b })
        }
        Opcode::Slct => select(inst)?,
        _ => return Ok(None),
    }))
}

/// `mov d, a`, where one side may be `{…}`: its elements share the bits evenly, the first the lowest. With `.v4`
/// both sides have four elements of the type.
fn moved(inst: &Instruction) -> Result<Arithmetic, Unsupported> {
    let ty = type_of(inst, 0)?;
    if let Some(vector) = inst.vector() {
        return Ok(Arithmetic {
            sources: SmallVec::from_elem(ty, vector.len()),
            destinations: SmallVec::from_elem(ty, vector.len()),
            run: Box::new(|given| Results { values: SmallVec::from_slice(given.values), carry: None }),
        });
    }
    let destinations = split(inst, ty, inst.operands.first())?;
    let sources = split(inst, ty, inst.operands.get(1))?;
    let widths: SmallVec<[u32; 4]> = destinations.iter().map(|ty| ty.bits()).collect();
    let source_width = sources.first().map_or(0, |ty| ty.bits());
    Ok(Arithmetic {
        sources,
        destinations: SmallVec::from_slice(&destinations),
        run: Box::new(move |given| {
            let mut whole = given
                .values
                .iter()
                .rev()
                .fold(0, |whole: Bits, part| whole.checked_shl(source_width).unwrap_or(0) | part);
            let values = widths.iter().map(|&width| {
                let part = low(whole, width);
                whole = whole.checked_shr(width).unwrap_or(0);
                part
            });
            Results { values: values.collect(), carry: None }
        }),
    })
}

/// The types of the elements of an operand of type `ty`.
fn split(
    inst: &Instruction,
    ty: ScalarType,
    operand: Option<&Operand>,
) -> Result<SmallVec<[ScalarType; 4]>, Unsupported> {
    let Some(Operand::Vector(items, _)) = operand else { return Ok(SmallVec::from_slice(&[ty])) };
    let element = match (ty.bits(), items.len()) {
        (16, 2) | (32, 4) => ScalarType::B8,
        (32, 2) | (64, 4) => ScalarType::B16,
        (64, 2) | (128, 4) => ScalarType::B32,
        (128, 2) => ScalarType::B64,
        (_, count) => return unsupported(inst, format_args!("of type `{ty}` in {count} parts")),
    };
    Ok(SmallVec::from_elem(element, items.len()))
}

/// `prmt`: four bytes, each chosen from the eight of `b:a` by a nibble of `c`, whose highest bit asks for
/// copies of the byte's sign; or one of the fixed patterns, chosen by the low two bits of `c`.
fn permute(inst: &Instruction) -> Result<Arithmetic, Unsupported> {
    /// The bytes of the fixed patterns as selectors, for `c` = 0 to 3.
    const PATTERNS: [(Word, [u16; 4]); 6] = [
        (Word::F4e, [0x3210, 0x4321, 0x5432, 0x6543]),
        (Word::B4e, [0x5670, 0x6701, 0x7012, 0x0123]),
        (Word::Rc8, [0x0000, 0x1111, 0x2222, 0x3333]),
        (Word::Ecl, [0x3210, 0x3211, 0x3222, 0x3333]),
        (Word::Ecr, [0x0000, 0x1110, 0x2210, 0x3210]),
        (Word::Rc16, [0x1010, 0x3232, 0x1010, 0x3232]),
    ];
    let ty = type_of(inst, 0)?;
    let pattern = PATTERNS.into_iter().find(|(word, _)| inst.has(*word)).map(|(_, selectors)| selectors);
    Ok(Arithmetic::function(ty, [ty; 3], move |[a, b, c]| {
        let selectors = pattern.map_or(low(c, 16), |table| table[c as usize & 3].into());
        (0..4).fold(0, |result, lane| {
            let selector = selectors >> (4 * lane);
            let byte = low((b << 32 | a) >> (8 * (selector & 7)), 8);
            let chosen = if selector & 8 == 0 { byte } else { low((number(byte, 8, true) >> 7) as Bits, 8) };
            result | chosen << (8 * lane)
        })
    }))
}

/// `slct`: `a` if `c` is at least zero (so -0 is, and NaN is not), else `b`.
fn select(inst: &Instruction) -> Result<Arithmetic, Unsupported> {
    let (ty, condition) = (type_of(inst, 0)?, type_of(inst, 1)?);
    let float = condition.class() == TypeClass::Float;
    let ftz = inst.has(Word::Ftz);
    Ok(Arithmetic::function(ty, [ty, ty, condition], move |[a, b, c]| {
        let holds = if float {
            let c = if ftz { Format::F32.flushed(c) } else { c };
            f32::from_bits(c as u32) >= 0.0
        } else {
            number(c, 32, true) >= 0
        };
        if holds { a } else { b }
    }))
}
