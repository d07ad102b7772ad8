//! The registers of one thread.

use oriole_isa::{RegFile, Role};
use oriole_ori::{Function, Guard, Inst, Literals, Operand, OperandKind, VReg};

/// First places of the physical registers of each file; virtual ones follow.
const FILES: [(RegFile, usize); 3] = [(RegFile::R, 0), (RegFile::UR, 256), (RegFile::P, 320)];
const PHYSICAL: usize = 328;
/// The stack pointer on entry.
const STACK: u32 = 0x8000;

/// The registers of a thread, and what it reads besides memory. A register without a value (before its first write, or after an undefined-value marker) makes what is
/// computed from it undefined too, and is an error where it decides something.
pub(crate) struct Registers<'f> {
    pub(crate) func: &'f Function,
    /// Bank 0, word by word.
    constants: &'f [u32],
    /// First place of each virtual register, allocated or not.
    first: Vec<usize>,
    /// Words, and predicates as 0 and 1, by place.
    values: Vec<Option<u32>>,
    /// What stands in a register without a value, if that is to be told apart.
    before: Option<u32>,
}

impl<'f> Registers<'f> {
    /// All without a value, but for the stack pointer, or with the bits `before` in place of a value.
    pub(crate) fn new(func: &'f Function, constants: &'f [u32], before: Option<u32>) -> Self {
        let mut places = PHYSICAL;
        let first = func.regs().values().map(|reg| {
            let file = FILES.iter().find(|(file, _)| *file == reg.file());
            match reg.physical.zip(file) {
                Some((number, (_, base))) => base + usize::from(number),
                None => {
                    places += usize::from(reg.components);
                    places - usize::from(reg.components)
                }
            }
        });
        let first: Vec<usize> = first.collect();
        let mut values = vec![None; places];
        values[1] = Some(STACK);
        Registers { func, constants, first, values, before }
    }

    /// The value of a guard.
    pub(crate) fn guard(&self, guard: Option<Guard>) -> Option<bool> {
        guard.map_or(Some(true), |guard| self.predicate(guard.pred).map(|bit| bit != guard.negated))
    }

    /// Writes the components of a destination.
    pub(crate) fn write(&mut self, to: Operand, values: &[Option<u32>]) -> Result<(), String> {
        match to.kind() {
            OperandKind::Tuple(tuple) => {
                for (reg, value) in self.func.tuple_values(tuple).iter().zip(values) {
                    self.values[self.first[reg.as_u32() as usize]] = *value;
                }
                Ok(())
            }
            OperandKind::Reg(reg, piece) => {
                for (k, value) in piece.range(self.func[reg].components).zip(values) {
                    let at = self.first[reg.as_u32() as usize] + usize::from(k);
                    self.values[at] = *value;
                }
                Ok(())
            }
            OperandKind::Phys { file: RegFile::R, number, count } => {
                for (at, value) in (usize::from(number)..).zip(values).take(count.into()) {
                    self.values[at] = *value;
                }
                Ok(())
            }
            OperandKind::Rz | OperandKind::Pt | OperandKind::None => Ok(()),
            other => Err(format!("{other:?} is written")),
        }
    }

    fn value(&self, place: usize) -> Option<u32> {
        self.values[place].or(self.before)
    }

    /// A 32-bit source, without its flags.
    pub(crate) fn word(&self, inst: &Inst, role: Role) -> Option<u32> {
        self.component(inst, role, 0)
    }

    /// Component `k` of a source, without its flags.
    pub(crate) fn component(&self, inst: &Inst, role: Role, k: u8) -> Option<u32> {
        self.part(inst.operands[inst.opcode.position(role)?], k)
    }

    /// Component `k` of an operand, without its flags.
    pub(crate) fn part(&self, operand: Operand, k: u8) -> Option<u32> {
        match operand.kind() {
            OperandKind::Tuple(tuple) => {
                let reg = self.func.tuple_values(tuple).get(usize::from(k))?;
                self.value(self.first[reg.as_u32() as usize])
            }
            OperandKind::Reg(reg, piece) => {
                let at = piece.range(self.func[reg].components).start + k;
                self.value(self.first[reg.as_u32() as usize] + usize::from(at))
            }
            OperandKind::Imm(bits, _) => Some(if k == 0 { bits } else { 0 }),
            OperandKind::Rz => Some(0),
            OperandKind::Phys { file: RegFile::R, number, .. } => self.value(usize::from(number) + usize::from(k)),
            OperandKind::Const { bank: Literals::BANK, offset } => self.func.literals().word(offset + 4 * u32::from(k)),
            OperandKind::Const { offset, .. } => self.constants.get(offset as usize / 4 + usize::from(k)).copied(),
            _ => None,
        }
    }

    /// The register itself, for what reads it as a predicate, with its inversion.
    pub(crate) fn bit(&self, inst: &Inst, role: Role) -> Option<bool> {
        let operand = inst.operands[inst.opcode.position(role)?];
        let bit = match operand.kind() {
            OperandKind::Pt => Some(true),
            OperandKind::Reg(reg, _) => self.predicate(reg),
            _ => None,
        };
        bit.map(|bit| bit != operand.is_not())
    }

    fn predicate(&self, reg: VReg) -> Option<bool> {
        self.value(self.first[reg.as_u32() as usize]).map(|bit| bit & 1 != 0)
    }
}
