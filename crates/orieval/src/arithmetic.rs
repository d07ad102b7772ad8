//! The meaning of each instruction without memory.

use crate::registers::Registers;
use oriole_isa::{Bop, Cmp, Fcmp, Field, FieldType, Mul, Opcode, Prmt, Role, ShiftDir, ShiftType, Sign};
use oriole_ori::{Inst, Operand};

/// Results by role; a predicate is a word that is 0 or 1.
pub(crate) type Results = Vec<(Role, [Option<u32>; 4])>;

/// What the instruction gives; `None` for an opcode that is not evaluated.
pub(crate) fn results(registers: &Registers<'_>, inst: &Inst) -> Option<Results> {
    let sources = Sources { registers, inst };
    let single = |value: Option<u32>| Some(vec![word(value)]);
    let [a, b, c] = [Role::A, Role::B, Role::C];
    match inst.opcode {
        Opcode::MOV => single(sources.plain(b)),
        Opcode::SEL => single(sources.choose()),
        Opcode::FSEL => single(sources.choose()),
        Opcode::IMNMX => single(sources.extreme()),
        Opcode::IABS => single(sources.plain(b).map(|b| (b as i32).unsigned_abs())),
        Opcode::POPC => single(sources.inverted(b).map(u32::count_ones)),
        Opcode::BREV => single(sources.plain(b).map(u32::reverse_bits)),
        Opcode::SGXT => single(sources.extended()),
        Opcode::PRMT => single(sources.permuted()),
        Opcode::SHF => single(sources.shifted(a, b, c)),
        Opcode::LOP3 => Some(sources.logic()),
        Opcode::PLOP3 => Some(sources.predicates()),
        Opcode::IADD3 => Some(sources.sum()),
        Opcode::IMAD => Some(vec![(Role::D, sources.product())]),
        Opcode::LEA => Some(sources.address()),
        Opcode::ISETP => Some(sources.comparison(sources.compared())),
        Opcode::FSETP => Some(sources.comparison(sources.floats_compared())),
        _ => None,
    }
}

/// An instruction and the thread that executes it.
struct Sources<'t, 'f> {
    registers: &'t Registers<'f>,
    inst: &'t Inst,
}

/// A word for the destination.
fn word(value: Option<u32>) -> (Role, [Option<u32>; 4]) {
    (Role::D, [value, None, None, None])
}

fn bit(role: Role, value: Option<bool>) -> (Role, [Option<u32>; 4]) {
    (role, [value.map(u32::from), None, None, None])
}

impl Sources<'_, '_> {
    fn operand(&self, role: Role) -> Operand {
        self.inst.opcode.position(role).map_or(Operand::NONE, |at| self.inst.operands[at])
    }

    fn get<V: FieldType>(&self, field: Field<V>) -> V {
        self.inst.get(field)
    }

    fn plain(&self, role: Role) -> Option<u32> {
        self.registers.word(self.inst, role)
    }

    fn bit(&self, role: Role) -> Option<bool> {
        self.registers.bit(self.inst, role)
    }

    /// A source with its inversion.
    fn inverted(&self, role: Role) -> Option<u32> {
        self.plain(role).map(|word| if self.operand(role).is_not() { !word } else { word })
    }

    /// A summand as a number whose 32 low bits and carry are those of the hardware: `-x` is `!x + 1`.
    fn summand(&self, role: Role) -> Option<u64> {
        let word = self.inverted(role)?;
        Some(if self.operand(role).is_neg() { u64::from(!word) + 1 } else { u64::from(word) })
    }

    /// The low words and the high words of a source of 64 bits.
    fn pair(&self, role: Role) -> Option<u64> {
        let high = self.registers.component(self.inst, role, 1)?;
        Some(u64::from(self.plain(role)?) | u64::from(high) << 32)
    }

    fn choose(&self) -> Option<u32> {
        let role = if self.bit(Role::PA)? { Role::A } else { Role::B };
        self.float(role)
    }

    /// A source with a float's sign flags, as bits.
    fn float(&self, role: Role) -> Option<u32> {
        let operand = self.operand(role);
        let bits = self.plain(role)?;
        let bits = if operand.is_abs() { bits & 0x7fff_ffff } else { bits };
        Some(if operand.is_neg() { bits ^ 0x8000_0000 } else { bits })
    }

    fn extreme(&self) -> Option<u32> {
        let (a, b, least) = (self.plain(Role::A)?, self.plain(Role::B)?, self.bit(Role::PA)?);
        let less = if self.get(Field::SIGN) == Sign::S32 { (a as i32) < (b as i32) } else { a < b };
        Some(if less == least { a } else { b })
    }

    fn extended(&self) -> Option<u32> {
        let (value, count) = (self.plain(Role::A)?, self.plain(Role::B)?);
        if count >= 32 {
            return (!self.get(Field::WRAP)).then_some(value);
        }
        let kept = value & ((1 << count) - 1);
        let negative = self.get(Field::SIGN) == Sign::S32 && count > 0 && kept >> (count - 1) & 1 == 1;
        Some(if negative { kept | u32::MAX << count } else { kept })
    }

    fn permuted(&self) -> Option<u32> {
        if self.get(Field::PRMT) != Prmt::IDX {
            return None;
        }
        let selector = self.plain(Role::B)?;
        let (a, c) = (self.plain(Role::A)?.to_le_bytes(), self.plain(Role::C)?.to_le_bytes());
        let byte = |k: u32| {
            let nibble = (selector >> (4 * k) & 0xf) as usize;
            let byte = [a, c][nibble >> 2 & 1][nibble & 3];
            if nibble < 8 { byte } else { [0, 0xff][usize::from(byte >> 7)] }
        };
        Some(u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]))
    }

    /// A word of the pair `high:low` shifted by `count`, which clamps at the width or wraps.
    fn shifted(&self, low: Role, count: Role, high: Role) -> Option<u32> {
        let kind = self.get(Field::SHIFT_TYPE);
        let width = if matches!(kind, ShiftType::S64 | ShiftType::U64) { 64 } else { 32 };
        let count = self.plain(count)?;
        let count = if self.get(Field::WRAP) { count % width } else { count.min(width) };
        let left = self.get(Field::SHIFT_DIR) == ShiftDir::L;
        let hi = self.get(Field::HI);
        // The word that cannot reach the result does not matter.
        let unread_low = hi && !left;
        let unread_high = !hi && left;
        let low = if unread_low { self.plain(low).unwrap_or(0) } else { self.plain(low)? };
        let high = if unread_high { self.plain(high).unwrap_or(0) } else { self.plain(high)? };
        let value = i128::from(u64::from(low) | u64::from(high) << 32);
        let signed = matches!(kind, ShiftType::S32 | ShiftType::S64);
        let value = if signed { i128::from(value as i64) } else { value };
        let shifted = if left { value << count } else { value >> count };
        Some(if hi { (shifted >> 32) as u32 } else { shifted as u32 })
    }

    /// The table applied to each bit; an undefined source leaves undefined what depends on it.
    fn logic(&self) -> Results {
        let table = self.operand(Role::Lut).as_imm().unwrap_or(0);
        let of = |words: [u32; 3]| {
            (0..32).fold(0, |result, k| {
                let [a, b, c] = words.map(|word| word >> k & 1);
                result | (table >> (4 * a + 2 * b + c) & 1) << k
            })
        };
        let value = with_undefined([Role::A, Role::B, Role::C].map(|role| self.inverted(role)), u32::MAX, of);
        let nonzero = value.map(|value| value != 0).zip(self.bit(Role::PA));
        let test = nonzero.map(|(nonzero, with)| if self.get(Field::PAND) { nonzero & with } else { nonzero | with });
        vec![word(value), bit(Role::PD, test)]
    }

    fn predicates(&self) -> Results {
        let inputs = [Role::PA, Role::PB, Role::PC].map(|role| self.bit(role).map(u32::from));
        let of = |role: Role| {
            let table = self.operand(role).as_imm().unwrap_or(0);
            with_undefined(inputs, 1, |[a, b, c]| table >> (4 * a + 2 * b + c) & 1)
        };
        let bits = |role| of(role).map(|bit| bit != 0);
        vec![bit(Role::PD, bits(Role::Lut)), bit(Role::PD2, bits(Role::Lut2))]
    }

    fn sum(&self) -> Results {
        let total = || {
            let summands = [self.summand(Role::A)?, self.summand(Role::B)?, self.summand(Role::C)?];
            let extended = self.get(Field::X);
            let carries = if extended { [self.bit(Role::PA)?, self.bit(Role::PB)?] } else { [false; 2] };
            Some(summands.iter().sum::<u64>() + u64::from(carries[0]) + u64::from(carries[1]))
        };
        let total = total();
        let carry = |count: u64| total.map(|total| total >> 32 >= count);
        vec![word(total.map(|total| total as u32)), bit(Role::PD, carry(1)), bit(Role::PD2, carry(2))]
    }

    fn product(&self) -> [Option<u32>; 4] {
        let whole = || {
            let (a, b) = (self.plain(Role::A)?, self.plain(Role::B)?);
            let signed = self.get(Field::SIGN) == Sign::S32;
            let product =
                if signed { (i64::from(a as i32) * i64::from(b as i32)) as u64 } else { u64::from(a) * u64::from(b) };
            let addend = if self.get(Field::MUL) == Mul::LO {
                self.summand(Role::C)?
            } else if self.operand(Role::C) == Operand::rz() {
                0
            } else {
                self.pair(Role::C)?
            };
            Some(product.wrapping_add(addend))
        };
        let halves = |sum: u64| [Some(sum as u32), Some((sum >> 32) as u32), None, None];
        match (self.get(Field::MUL), whole()) {
            (Mul::HI, Some(sum)) => [halves(sum)[1], None, None, None],
            (_, Some(sum)) => halves(sum),
            _ => [None; 4],
        }
    }

    fn address(&self) -> Results {
        let total = || {
            let low = self.plain(Role::A)?;
            let count = self.operand(Role::Shift).as_imm()?;
            let high = match (self.get(Field::HI), self.get(Field::SX32)) {
                (true, true) => ((low as i32) >> 31) as u32,
                (true, false) => self.plain(Role::C)?,
                _ => 0,
            };
            let shifted = (u128::from(low) | u128::from(high) << 32) << count;
            let value = if self.get(Field::HI) { (shifted >> 32) as u32 } else { shifted as u32 };
            let value = if self.operand(Role::A).is_neg() { u64::from(!value) + 1 } else { u64::from(value) };
            let carry = if self.get(Field::X) { u64::from(self.bit(Role::PA)?) } else { 0 };
            Some(value + self.summand(Role::B)? + carry)
        };
        let total = total();
        let carry = total.map(|total| total >> 32 != 0);
        vec![word(total.map(|total| total as u32)), bit(Role::PD, carry)]
    }

    fn compared(&self) -> Option<bool> {
        let (a, b) = (self.plain(Role::A)?, self.plain(Role::B)?);
        let order = if self.get(Field::SIGN) == Sign::S32 { (a as i32).cmp(&(b as i32)) } else { a.cmp(&b) };
        let by_order = |less: bool, equal: bool, greater: bool| match order {
            std::cmp::Ordering::Less => less,
            std::cmp::Ordering::Equal => equal,
            std::cmp::Ordering::Greater => greater,
        };
        // The extended comparison of equal high words is that of the low words.
        let low = if self.get(Field::EX) { Some(self.bit(Role::PB)?) } else { None };
        Some(match self.get(Field::CMP) {
            Cmp::F => false,
            Cmp::LT => by_order(true, low.unwrap_or(false), false),
            Cmp::EQ => by_order(false, low.unwrap_or(true), false),
            Cmp::LE => by_order(true, low.unwrap_or(true), false),
            Cmp::GT => by_order(false, low.unwrap_or(false), true),
            Cmp::NE => by_order(true, low.unwrap_or(false), true),
            Cmp::GE => by_order(false, low.unwrap_or(true), true),
            _ => true,
        })
    }

    fn floats_compared(&self) -> Option<bool> {
        let flush = |value: f32| if self.get(Field::FTZ) && value.is_subnormal() { 0.0 * value } else { value };
        let (a, b) = (f32::from_bits(self.float(Role::A)?), f32::from_bits(self.float(Role::B)?));
        let (a, b) = (flush(a), flush(b));
        let unordered = a.is_nan() || b.is_nan();
        Some(match self.get(Field::FCMP) {
            Fcmp::F => false,
            Fcmp::LT => a < b,
            Fcmp::EQ => a == b,
            Fcmp::LE => a <= b,
            Fcmp::GT => a > b,
            Fcmp::NE => !unordered && a != b,
            Fcmp::GE => a >= b,
            Fcmp::NUM => !unordered,
            Fcmp::NAN => unordered,
            Fcmp::LTU => unordered || a < b,
            Fcmp::EQU => unordered || a == b,
            Fcmp::LEU => unordered || a <= b,
            Fcmp::GTU => unordered || a > b,
            Fcmp::NEU => unordered || a != b,
            Fcmp::GEU => unordered || a >= b,
            _ => true,
        })
    }

    /// Both results of a comparison, combined with the predicate.
    fn comparison(&self, holds: Option<bool>) -> Results {
        let with = self.bit(Role::PA);
        let combined = |holds: bool| {
            let with = with?;
            Some(match self.get(Field::BOP) {
                Bop::AND => holds & with,
                Bop::OR => holds | with,
                _ => holds ^ with,
            })
        };
        vec![bit(Role::PD, holds.and_then(combined)), bit(Role::PD2, holds.and_then(|holds| combined(!holds)))]
    }
}

/// A function of three words whose bits are independent: undefined where it depends on an undefined one.
fn with_undefined(inputs: [Option<u32>; 3], ones: u32, of: impl Fn([u32; 3]) -> u32) -> Option<u32> {
    let first = of(inputs.map(|input| input.unwrap_or(0)));
    let fillings = (1..8_u32)
        .map(|choice| std::array::from_fn(|k| inputs[k].unwrap_or(if choice >> k & 1 == 1 { ones } else { 0 })));
    fillings.map(of).all(|other| other == first).then_some(first)
}
