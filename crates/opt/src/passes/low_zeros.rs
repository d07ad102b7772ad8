//! How many of the lowest bits of a value are zero, whatever else it is: what addresses are multiples of.

use super::general::{conjunction, is_full_definition, source};
use oriole_isa::{Field, Mul, Opcode, Role, ShiftDir};
use oriole_ori::{Function, Inst, InstId, Operand};
use smallvec::SmallVec;

/// So many of the lowest bits of an operand are zero, as far as `depth` definitions say, on SSA form with lists of definitions.
///
/// A MovPhi has as many as the least of its inputs has, where one that comes from itself counts for nothing: what is computed here
/// only adds to the number of a source, or takes the least of several.
pub(crate) fn low_zeros(func: &Function, operand: Operand, depth: u32) -> u32 {
    Search { func, open: SmallVec::new() }.zeros(operand, depth)
}

/// MovPhis with more inputs are not looked at.
const MOST_INPUTS: usize = 4;

struct Search<'f> {
    func: &'f Function,
    /// MovPhis that are being looked at.
    open: SmallVec<[InstId; 4]>,
}

impl Search<'_> {
    fn zeros(&mut self, operand: Operand, depth: u32) -> u32 {
        // What is negated has as many.
        if operand.is_not() {
            return 0;
        }
        if operand.is_zero() {
            return u32::BITS;
        }
        if let Some(bits) = operand.as_imm() {
            return bits.trailing_zeros();
        }
        let definition = operand.as_reg().and_then(|reg| self.func.definition(reg)).filter(|_| depth > 0);
        let Some(id) = definition.filter(|_| !operand.is_abs()) else { return 0 };
        let inst = &self.func[id];
        if inst.is_phi() {
            return self.least(id, depth);
        }
        // Of results of several registers it is not known which one this is.
        let single = source(inst, Role::D) == Some(operand.plain());
        if !is_full_definition(inst) || !single {
            return 0;
        }
        self.computed(inst, depth - 1)
    }

    fn least(&mut self, phi: InstId, depth: u32) -> u32 {
        if self.open.contains(&phi) {
            return u32::BITS;
        }
        let inputs: SmallVec<[Operand; MOST_INPUTS]> =
            self.func.phi_inputs(phi).map(|(source, _)| source).take(MOST_INPUTS + 1).collect();
        if inputs.len() > MOST_INPUTS {
            return 0;
        }
        self.open.push(phi);
        let least = inputs.into_iter().map(|input| self.zeros(input, depth - 1)).min();
        self.open.pop();
        least.unwrap_or(0)
    }

    fn computed(&mut self, inst: &Inst, depth: u32) -> u32 {
        let mut of = |operand: Option<Operand>| operand.map_or(0, |operand| self.zeros(operand, depth));
        let [a, b, c] = [Role::A, Role::B, Role::C].map(|role| source(inst, role));
        let plain = !inst.get(Field::X);
        match inst.opcode {
            Opcode::MOV => of(b),
            Opcode::SEL => of(a).min(of(b)),
            Opcode::IADD3 if plain => of(a).min(of(b)).min(of(c)),
            Opcode::IMAD if plain && inst.get(Field::MUL) == Mul::LO => (of(a) + of(b)).min(of(c)).min(u32::BITS),
            Opcode::LEA if plain && !inst.get(Field::HI) => {
                let shift = source(inst, Role::Shift).and_then(|shift| shift.as_imm()).unwrap_or(0);
                (of(a) + shift).min(of(b)).min(u32::BITS)
            }
            Opcode::LOP3 => conjunction(inst).map_or(0, |(value, mask)| of(Some(value)).max(mask.trailing_zeros())),
            Opcode::SHF if inst.get(Field::SHIFT_DIR) == ShiftDir::L && !inst.get(Field::HI) => {
                let count = b.and_then(|count| count.as_imm()).filter(|count| *count < u32::BITS);
                count.map_or(0, |count| (of(a) + count).min(u32::BITS))
            }
            _ => 0,
        }
    }
}
