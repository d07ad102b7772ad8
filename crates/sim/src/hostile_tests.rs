//! Any instruction, with any operands and modifiers, ends in a result or a fault, never in a panic.

use crate::block::{Entry, fill_bank0};
use crate::constant::ConstantBanks;
use crate::grid;
use crate::machine::Machine;
use crate::program::Program;
use crate::resources::Resources;
use oriole_device::texture::Objects;
use oriole_device::{Launch, Memory, Unstarted};
use oriole_isa::{Arch, Guard, Inst, Kinds, Opcode, Operand, OperandFlags, OperandSpec, RegFile, Setting, Value};
use std::sync::Arc;

const CODE: u64 = 0x4_0000_0000;
/// Random forms of each opcode.
const FORMS: u32 = 60;

/// splitmix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number from 0 to `n` - 1.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// Small, large and ordinary numbers.
    fn number(&mut self) -> u64 {
        let bits = self.next();
        match self.below(4) {
            0 => bits % 64,
            1 => u64::MAX << (bits % 64),
            _ => bits,
        }
    }

    fn operand(&mut self, spec: &OperandSpec) -> Operand {
        let kinds = [
            Kinds::R,
            Kinds::UR,
            Kinds::P,
            Kinds::UP,
            Kinds::B,
            Kinds::SB,
            Kinds::IMM,
            Kinds::CONST,
            Kinds::CONST_BINDLESS,
            Kinds::SPECIAL,
            Kinds::LABEL,
        ];
        let allowed: Vec<Kinds> = kinds.into_iter().filter(|&kind| spec.kinds.contains(kind)).collect();
        if allowed.is_empty() {
            return Operand::NONE;
        }
        let kind = allowed[self.below(allowed.len() as u64) as usize];
        let value = match kind {
            Kinds::R => Value::Reg(RegFile::R, [self.below(12), 250 + self.below(6)][self.below(2) as usize] as u16),
            Kinds::UR => Value::Reg(RegFile::UR, self.below(64) as u16),
            Kinds::P => Value::Reg(RegFile::P, self.below(8) as u16),
            Kinds::UP => Value::Reg(RegFile::UP, self.below(8) as u16),
            Kinds::B => Value::Reg(RegFile::B, self.below(32) as u16),
            Kinds::SB => Value::Reg(RegFile::SB, self.below(6) as u16),
            Kinds::IMM => Value::Imm(self.number()),
            Kinds::CONST => Value::Const { bank: self.below(32) as u8, offset: self.next() as u16 },
            Kinds::CONST_BINDLESS => Value::ConstBindless { ureg: self.below(64) as u16, offset: self.next() as u16 },
            Kinds::SPECIAL => Value::Special(self.next() as u8),
            _ => Value::Label(self.next() as i64),
        };
        let flags = OperandFlags::from_bits(self.next() as u8 & spec.flags.bits());
        Operand { value, flags }
    }

    /// A form of `opcode`, with any operands and modifiers.
    pub(crate) fn inst(&mut self, opcode: Opcode) -> Inst {
        let mut inst = Inst::new(opcode);
        for (at, spec) in opcode.signature().iter().enumerate() {
            inst.operands[at] = self.operand(spec);
        }
        for &(field, _) in opcode.fields() {
            let values = field.values();
            if !values.is_empty() {
                let code = values[self.below(values.len() as u64) as usize].code;
                inst.mods.apply(Setting::raw(field, code));
            }
        }
        inst.guard = Guard { predicate: self.below(8) as u8, negated: self.below(4) == 0 };
        inst
    }
}

/// Puts numbers into the registers, runs the instructions, and ends.
fn run(arch: Arch, random: &mut Random, insts: impl IntoIterator<Item = Inst>) {
    let mut code = Vec::new();
    for register in 0..12 {
        let mut fill = Inst::new(Opcode::MOV);
        fill.operands[0] = Operand::reg(RegFile::R, register);
        fill.operands[1] = Operand::imm(random.number() & 0xffff_ffff);
        code.push(fill);
    }
    code.extend(insts);
    code.push(Inst::new(Opcode::EXIT));
    let program = Program::of_insts(arch, CODE, code);
    let mut memory = Memory::new();
    let buffer = memory.allocate("the buffer", 4096);
    let params = buffer.to_le_bytes().to_vec();
    let launch = Launch { block: [40, 1, 1], params, ..Launch::default() };
    let entry = Entry {
        launch,
        pc: CODE,
        registers: 255,
        shared_size: 4096,
        has_tensor_book: false,
        is_cluster: false,
        grid_workspace: 0,
    };
    let mut banks = ConstantBanks::new();
    fill_bank0(&mut banks, &entry, arch);
    let machine = Machine {
        resources: Resources {
            memory: &memory,
            heap: None,
            objects: &Objects::default(),
            unstarted: Unstarted::new(&entry.launch),
            constants: Arc::new(banks),
            max_local: 1024,
            absolute_local: 0,
        },
        program: &program,
        max_instructions: 2000,
        deadline: None,
        records: false,
        observer: None,
        skips_absent: false,
    };
    // Any outcome will do.
    let _ = grid::run(&entry, &machine, 1);
}

#[test]
fn no_instruction_panics() {
    for arch in [Arch::Sm80, Arch::Sm90] {
        let mut random = Random(arch.number().into());
        for opcode in Opcode::ALL.into_iter().filter(|opcode| opcode.exists_on(arch)) {
            for _ in 0..FORMS {
                let inst = random.inst(opcode);
                let text = inst.display(arch).to_string();
                let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    run(arch, &mut random, [inst]);
                }));
                assert!(outcome.is_ok(), "{arch}: {text}");
            }
        }
    }
}
