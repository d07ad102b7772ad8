//! Words of instructions whose scheduling bits are not known yet.

use super::control_word::{Keeps, fault_of};
use super::fit::{Illegal, actual, distance, find_form, is_first, kinds_of, operands_fit};
use super::table::{Form, Halves, Place, Slot, halves, inverted};
use crate::{Arch, Carries, Control, ControlFault, Field, Inst, Mods, Opcode, Operand, OperandFlags, TexKeep, Value};
use rustc_hash::FxHashMap;

/// The instruction cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// It has no form on the target.
    #[error("{mnemonic}: {reason}")]
    Illegal {
        /// The mnemonic.
        mnemonic: &'static str,
        /// What no form takes.
        reason: Illegal,
    },
    /// It must not carry what its control word has.
    #[error("{mnemonic}: {fault}")]
    Control {
        /// The mnemonic.
        mnemonic: &'static str,
        /// What it has.
        fault: ControlFault,
    },
}

/// The word of an instruction without its scheduling bits. A scheduler makes it when it reads the instruction, and
/// [`Unscheduled::finish`]es it when all has its place: the form is looked for once.
#[derive(Clone, Copy, Debug)]
pub struct Unscheduled {
    word: [u64; 2],
    form: &'static Form,
    opcode: Opcode,
    keeps: Keeps,
}

impl Unscheduled {
    /// The word of an instruction whose control word does not count. Branch distances are not judged: labels are what
    /// [`crate::encode`] has at address 0.
    ///
    /// # Errors
    /// It has no form on the target.
    pub fn new(inst: &Inst, arch: Arch) -> Result<Self, Illegal> {
        Unscheduled::of_form(inst, arch, find_form(inst, arch, None)?, 0)
    }

    /// The word at byte address `pc`.
    pub(super) fn at(inst: &Inst, arch: Arch, pc: u64) -> Result<Self, Illegal> {
        Unscheduled::of_form(inst, arch, find_form(inst, arch, Some(pc))?, pc)
    }

    fn of_form(inst: &Inst, arch: Arch, form: &'static Form, pc: u64) -> Result<Self, Illegal> {
        Ok(Unscheduled::with_mods(inst, arch, &FormMods::of(form, inst), pc))
    }

    fn with_mods(inst: &Inst, arch: Arch, mods: &FormMods, pc: u64) -> Self {
        let operands = inst.operands.iter().any(|operand| operand.flags.contains(OperandFlags::REUSE));
        let keeps = Keeps { operands, field: mods.keeps };
        let mut word = mods.word;
        put_operands(&mut word, mods.form, inst, arch, pc);
        Unscheduled { word, form: mods.form, opcode: inst.opcode, keeps }
    }

    /// What the control word may carry.
    #[inline]
    pub fn carries(&self) -> Carries {
        self.form.control
    }

    /// Keep operand `at` in the operand cache (`.reuse`), if the form can: whether it does.
    pub fn keep(&mut self, at: usize) -> bool {
        match self.form.slots.get(at) {
            Some(slot) if slot.flags.contains(OperandFlags::REUSE) => {
                self.word[usize::from(slot.reuse >> 6)] |= 1 << (slot.reuse & 63);
                self.keeps.operands = true;
                true
            }
            _ => false,
        }
    }

    /// The place of the operand cache, 0 to 3, where operand `at` would stay; none if the form cannot keep it. It is not the operand's place in
    /// the text: the second source of `FADD` stays where `FFMA` has its third.
    pub fn kept_place(&self, at: usize, arch: Arch) -> Option<u8> {
        let slot = self.form.slots.get(at).filter(|slot| slot.flags.contains(OperandFlags::REUSE))?;
        Some(slot.reuse.wrapping_sub(arch.word_format().reuse()))
    }

    /// The first thing in a control word that the instruction must not carry.
    pub(super) fn fault(&self, control: Control, arch: Arch) -> Option<ControlFault> {
        fault_of(self.form.control, control, self.keeps, arch)
    }

    /// The word with its scheduling bits.
    ///
    /// # Errors
    /// The instruction must not carry what the control word has.
    pub fn finish(&self, control: Control, arch: Arch) -> Result<u128, EncodeError> {
        if let Some(fault) = self.fault(control, arch) {
            return Err(EncodeError::Control { mnemonic: self.opcode.name(), fault });
        }
        let format = arch.word_format();
        let bits = u128::from(control.to_bits()) << format.control;
        let spare = if format.is_bundled() { u128::from(control.spare & 15) << format.reuse() } else { 0 };
        Ok(u128::from(self.word[1]) << 64 | u128::from(self.word[0]) | bits | spare)
    }
}

/// A form with modifiers.
#[derive(Clone, Copy, Debug)]
struct FormMods {
    form: &'static Form,
    /// What they make of the word.
    word: Halves,
    /// One of them says that something is kept.
    keeps: bool,
}

impl FormMods {
    /// Of a form that takes the instruction's.
    fn of(form: &'static Form, inst: &Inst) -> Self {
        let mut word = halves(form.value);
        for slot in form.fields {
            let value = inst.mods.raw(slot.field).unwrap_or(slot.default);
            slot.ranges.put(&mut word, slot.raw(value).into());
        }
        FormMods { form, word, keeps: inst.get(Field::TEX_KEEP) != TexKeep::NONE }
    }
}

/// Makes the words of many instructions: most are like others before them, but for registers and numbers.
#[derive(Debug)]
pub struct Encoder {
    arch: Arch,
    /// By opcode: of the instructions that have looked for their forms.
    known: FxHashMap<Opcode, Vec<Known>>,
}

/// What all instructions of an opcode with these kinds of operands and modifiers become, if it takes the operands.
#[derive(Debug)]
struct Known {
    kinds: u64,
    mods: Mods,
    made: FormMods,
}

/// So many of an opcode are remembered: to look through more takes as long as to look for a form.
const MOST_KNOWN: usize = 8;

impl Encoder {
    /// For a target.
    pub fn new(arch: Arch) -> Self {
        Encoder { arch, known: FxHashMap::default() }
    }

    /// [`Unscheduled::new`].
    ///
    /// # Errors
    /// The instruction has no form on the target.
    pub fn unscheduled(&mut self, inst: &Inst) -> Result<Unscheduled, Illegal> {
        let (kinds, arch) = (kinds_of(inst)?, self.arch);
        let known = self.known.entry(inst.opcode).or_default();
        let like = known.iter().find(|known| known.kinds == kinds && known.mods == inst.mods);
        if let Some(Known { made, .. }) = like.filter(|known| operands_fit(known.made.form, inst, None).is_ok()) {
            return Ok(Unscheduled::with_mods(inst, arch, made, 0));
        }
        let made = FormMods::of(find_form(inst, arch, None)?, inst);
        if like.is_none() && known.len() < MOST_KNOWN && is_first(made.form, inst, kinds, arch) {
            known.push(Known { kinds, mods: inst.mods.clone(), made });
        }
        Ok(Unscheduled::with_mods(inst, arch, &made, 0))
    }
}

/// Put the guard and the operands into the word.
fn put_operands(word: &mut Halves, form: &Form, inst: &Inst, arch: Arch, pc: u64) {
    let format = arch.word_format();
    if !inst.opcode.info().unguarded {
        let guard = u128::from(inst.guard.predicate & 7) | u128::from(inst.guard.negated) << 3;
        word.iter_mut().zip(halves(guard << format.guard)).for_each(|(half, bits)| *half |= bits);
    }
    let signature = inst.opcode.signature();
    for ((slot, spec), operand) in form.slots.iter().zip(signature).zip(&inst.operands) {
        put(word, slot, actual(operand, spec), pc.wrapping_add(format.bytes));
    }
}

fn put(word: &mut Halves, slot: &Slot, operand: Operand, next: u64) {
    match (slot.place, operand.value) {
        (Place::Reg(_, ranges) | Place::Uniform(ranges), Value::Reg(_, number)) => ranges.put(word, number.into()),
        (Place::Inverted(_, ranges), Value::Reg(_, number)) => ranges.put(word, inverted(number.into(), &ranges)),
        (Place::Imm { ranges, shift, .. }, Value::Imm(value)) => ranges.put(word, value >> shift),
        (Place::HalfTops(ranges), Value::Imm(value)) => ranges.put(word, value >> 6 & 0x3ff | value >> 22 << 10),
        (Place::HighWord(ranges, bits), Value::Imm(value)) => ranges.put(word, value >> (64 - bits)),
        (Place::Const { ranges, shift }, Value::Const { bank, offset }) => {
            ranges.part(0).put(word, bank.into());
            ranges.part(1).put(word, u64::from(offset) >> shift);
        }
        (Place::Bindless { ranges, shift }, Value::ConstBindless { ureg, offset }) => {
            ranges.part(0).put(word, ureg.into());
            ranges.part(1).put(word, u64::from(offset) >> shift);
        }
        (Place::Special(ranges), Value::Special(number)) => ranges.put(word, number.into()),
        (Place::Label { ranges, shift }, Value::Label(target)) => ranges.put(word, distance(target, next) >> shift),
        (Place::Same(_), _) => {}
        _ => return,
    }
    let flags = operand.flags;
    if flags == OperandFlags::empty() {
        return;
    }
    let marks = [
        (slot.neg, OperandFlags::NEG),
        (slot.abs, OperandFlags::ABS),
        (slot.not, OperandFlags::NOT),
        (slot.reuse, OperandFlags::REUSE),
    ];
    for (at, flag) in marks {
        if at != 255 && flags.contains(flag) {
            word[usize::from(at >> 6)] |= 1 << (at & 63);
        }
    }
}
