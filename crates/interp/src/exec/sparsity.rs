//! `spcompress` and `spdecompress`: vectors of which each group of elements keeps some, with their places in the group.
//!
//! What the manual leaves open is decided so: of equal elements those that come first are kept, the elements that are kept stay
//! in order, and the types that the descriptor's table lacks are compared as unsigned integers.

use crate::arith::Unsupported;
use crate::builder::{Builder, form};
use crate::code::Action;
use crate::lane::Lane;
use oriole_ptx::ast::{Instruction, Opcode, Operand, ScalarType, Sparsity};

pub(super) fn compile(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Option<Action>, Unsupported> {
    let compresses = match inst.opcode {
        Opcode::Spcompress => true,
        Opcode::Spdecompress => false,
        _ => return Ok(None),
    };
    let name = inst.opcode.as_str();
    let sparsity = Sparsity::of(inst).ok_or_else(|| form(name))?;
    let operand = |n: usize| -> Result<&Operand, Unsupported> { inst.operands.get(n).ok_or_else(|| form(name)) };
    let word = ScalarType::B32;
    if compresses {
        let (places, kept) = (builder.destinations(operand(0)?, word)?, builder.destinations(operand(1)?, word)?);
        let (data, descriptor) = (builder.sources(operand(2)?, word)?, builder.source(operand(3)?, word)?);
        return Ok(Some(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
            let words: Vec<u32> = data.iter().map(|source| lane.get(source) as u32).collect();
            let (chosen, at) = compressed(sparsity, &words, lane.get(&descriptor) as u32);
            for (to, value) in places.iter().zip(at.0).chain(kept.iter().zip(chosen.0)) {
                lane.set(to, value.into());
            }
            Ok(())
        }))));
    }
    let data = builder.destinations(operand(0)?, word)?;
    let (places, kept) = (builder.sources(operand(1)?, word)?, builder.sources(operand(2)?, word)?);
    Ok(Some(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let [places, kept] = [&places, &kept].map(|from| from.iter().map(|source| lane.get(source) as u32).collect());
        for (to, value) in data.iter().zip(spread(sparsity, &Packed(places), &Packed(kept)).0) {
            lane.set(to, value.into());
        }
        Ok(())
    }))))
}

/// Values of a power of two of bits, one behind the other in words.
struct Packed(Vec<u32>);

impl Packed {
    fn get(&self, at: u32, bits: u32) -> u32 {
        let word = self.0.get((at * bits / u32::BITS) as usize).copied().unwrap_or(0);
        word >> (at * bits % u32::BITS) & ((1 << bits) - 1)
    }

    fn set(&mut self, at: u32, bits: u32, value: u32) {
        if let Some(word) = self.0.get_mut((at * bits / u32::BITS) as usize) {
            *word |= value << (at * bits % u32::BITS);
        }
    }
}

/// The elements at their places, and zeros. What is placed beyond its group is dropped.
fn spread(sparsity: Sparsity, places: &Packed, kept: &Packed) -> Packed {
    let mut data = Packed(vec![0; sparsity.group_registers()]);
    for at in 0..sparsity.groups * sparsity.kept {
        let place = places.get(at, sparsity.place);
        if place < sparsity.group {
            let to = at / sparsity.kept * sparsity.group + place;
            data.set(to, sparsity.element, kept.get(at, sparsity.element));
        }
    }
    data
}

/// The elements that are kept, and their places.
fn compressed(sparsity: Sparsity, words: &[u32], descriptor: u32) -> (Packed, Packed) {
    let data = Packed(words.to_vec());
    let mut kept = Packed(vec![0; sparsity.kept_registers()]);
    let mut places = Packed(vec![0; sparsity.place_registers()]);
    let rank = Rank::of(descriptor, sparsity.element);
    for group in 0..sparsity.groups {
        let element = |place: u32| data.get(group * sparsity.group + place, sparsity.element);
        let mut order: Vec<u32> = (0..sparsity.group).collect();
        order.sort_by_key(|place| std::cmp::Reverse(rank.of_bits(element(*place))));
        order.truncate(sparsity.kept as usize);
        order.sort_unstable();
        for (n, place) in order.into_iter().enumerate() {
            let at = group * sparsity.kept + n as u32;
            kept.set(at, sparsity.element, element(place));
            places.set(at, sparsity.place, place);
        }
    }
    (kept, places)
}

/// Which elements are kept: those of the greatest rank.
#[derive(Clone, Copy)]
struct Rank {
    least: bool,
    magnitudes: bool,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    Unsigned,
    Signed,
    /// The sign bit, and the greatest magnitude that is no NaN.
    Float {
        sign: u32,
        greatest: u32,
    },
}

impl Rank {
    fn of(descriptor: u32, element: u32) -> Rank {
        let kind = match (descriptor >> 2 & 7, element) {
            (0, 16) => Kind::Float { sign: 0x8000, greatest: 0x7c00 },
            (1, 16) => Kind::Float { sign: 0x8000, greatest: 0x7f80 },
            (1, _) => Kind::Signed,
            (2, 8) => Kind::Float { sign: 0x80, greatest: 0x7c },
            (3, 8) => Kind::Float { sign: 0x80, greatest: 0x7e },
            (4 | 5, 8) => Kind::Float { sign: 0x20, greatest: 0x1f },
            _ => Kind::Unsigned,
        };
        Rank { least: descriptor & 2 != 0, magnitudes: descriptor & 1 != 0, kind }
    }

    fn of_bits(self, bits: u32) -> i32 {
        let value = match self.kind {
            Kind::Unsigned => bits as i32,
            Kind::Signed => i32::from(bits as u8 as i8),
            Kind::Float { sign, greatest } => {
                let magnitude = (bits & (sign - 1)) as i32;
                match bits & sign != 0 {
                    // A NaN is always kept.
                    _ if magnitude > greatest as i32 => return i32::MAX,
                    // -0 is below +0.
                    true if !self.magnitudes => -1 - magnitude,
                    _ => magnitude,
                }
            }
        };
        let value = if self.magnitudes { value.abs() } else { value };
        if self.least { -value } else { value }
    }
}
