//! Random instructions that the spec calls legal, printed by us and by nvdisasm: the texts agree.
//! Needs `ORIOLE_ORACLE` (and `ORIOLE_ORACLE_OLD`), a folder with `nvdisasm` (or `bin/nvdisasm`); skipped without.

use oriole_isa::{
    Arch, Guard, Illegal, ImmFormat, Inst, Kinds, Opcode, Operand, OperandFlags, RegFile, Value, encode, legal,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

/// Instructions per opcode and target.
const EACH: usize = 40;

/// xorshift64*: the same instructions in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 8) % bound
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// The release that knows the target: the folder of the newer one is in `ORIOLE_ORACLE`, that of a
/// 12.x release, which still reads sm_50 to sm_70, in `ORIOLE_ORACLE_OLD`.
fn nvdisasm(arch: Arch) -> Option<PathBuf> {
    let variable = if arch < Arch::Sm75 { "ORIOLE_ORACLE_OLD" } else { "ORIOLE_ORACLE" };
    let folder = PathBuf::from(env::var_os(variable)?);
    [folder.join("nvdisasm"), folder.join("bin/nvdisasm")].into_iter().find(|p| p.is_file())
}

/// A raw binary of the words, and the byte address of each.
fn image(arch: Arch, words: &[u128]) -> (Vec<u8>, Vec<u64>) {
    if !arch.word_format().is_bundled() {
        let bytes = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        return (bytes, (0..words.len() as u64).map(|i| 16 * i).collect());
    }
    // A bundle for each: its control word, it, and two NOPs.
    const NOP: u64 = 0x50b0_0000_0007_0f00;
    let bundle = |word: &u128| {
        let control = (word >> 64) as u64 & 0x1f_ffff | 0x7e0 << 21 | 0x7e0 << 42;
        [control, *word as u64, NOP, NOP]
    };
    let bytes = words.iter().flat_map(bundle).flat_map(u64::to_le_bytes).collect();
    (bytes, (0..words.len() as u64).map(|i| 32 * i + 8).collect())
}

/// The text of each word; nothing for those that nvdisasm rejects.
fn disassemble(tool: &PathBuf, arch: Arch, words: &[u128]) -> Vec<Option<String>> {
    let mut texts = vec![None; words.len()];
    let mut kept: Vec<usize> = (0..words.len()).collect();
    while !kept.is_empty() {
        let chosen: Vec<u128> = kept.iter().map(|i| words[*i]).collect();
        let (bytes, addresses) = image(arch, &chosen);
        let path = env::temp_dir().join(format!("oriole-isa-{}-{arch}.bin", std::process::id()));
        fs::write(&path, bytes).expect("a writable temporary folder");
        let output = Command::new(tool).arg("-b").arg(format!("SM{}", arch.number())).arg(&path).output();
        let output = output.expect("nvdisasm runs");
        if output.status.success() {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            for (address, text) in text.lines().filter_map(instruction) {
                if let Ok(at) = addresses.binary_search(&address) {
                    texts[kept[at]] = Some(text);
                }
            }
            break;
        }
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let bad: BTreeSet<u64> = errors.lines().filter_map(rejected).collect();
        let before = kept.len();
        kept = kept.iter().zip(&addresses).filter(|(_, a)| !bad.contains(a)).map(|(i, _)| *i).collect();
        assert!(kept.len() < before, "nvdisasm fails without naming an address: {errors}");
    }
    texts
}

/// The address in an error message.
fn rejected(line: &str) -> Option<u64> {
    let (_, address) = line.split_once("address 0x")?;
    u64::from_str_radix(address.trim(), 16).ok()
}

/// Address and instruction of a listing line `/*0010*/  TEXT ;`.
fn instruction(line: &str) -> Option<(u64, String)> {
    let (address, text) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
    let address = u64::from_str_radix(address, 16).ok()?;
    let text = text.split_once(';').map_or(text, |(text, _)| text);
    let text = text.split_once(" (*").map_or(text, |(text, _)| text);
    Some((address, text.trim().to_owned()))
}

fn register(random: &mut Random, file: RegFile) -> Value {
    let (count, zero) = match file {
        RegFile::R => (255, Some(255)),
        RegFile::UR => (63, Some(255)),
        RegFile::P | RegFile::UP => (7, Some(7)),
        RegFile::B => (16, None),
        RegFile::SB => (6, None),
    };
    match zero {
        Some(zero) if random.one_in(4) => Value::Reg(file, zero),
        // Groups of registers have to be aligned; multiples of 4 always are.
        _ if matches!(file, RegFile::R | RegFile::UR) => Value::Reg(file, (random.below(count / 4) * 4) as u16),
        _ => Value::Reg(file, random.below(count) as u16),
    }
}

fn immediate(random: &mut Random, format: ImmFormat) -> u64 {
    let bits = match random.below(4) {
        0 => random.below(4),
        1 => 1 << random.below(32),
        _ => random.next() >> 32,
    };
    match format {
        ImmFormat::F64 => bits << 32,
        ImmFormat::Signed(32) | ImmFormat::F32 | ImmFormat::Half => bits & 0xffff_ffff,
        ImmFormat::Signed(width) => ((bits << (64 - width)) as i64 >> (64 - width)) as u64,
        ImmFormat::Unsigned(width) => bits & ((1u64 << width.min(63)) - 1),
        ImmFormat::Swizzle => bits & 0xff,
    }
}

fn operand(random: &mut Random, inst: &Inst, index: usize) -> Operand {
    let spec = &inst.opcode.signature()[index];
    if let Some(neutral) = spec.neutral.filter(|_| random.one_in(3)) {
        return neutral;
    }
    let files = [RegFile::R, RegFile::UR, RegFile::P, RegFile::UP, RegFile::B, RegFile::SB];
    let mut choices: Vec<Value> =
        files.into_iter().filter(|f| spec.kinds.contains(Kinds::of_file(*f))).map(|f| register(random, f)).collect();
    if spec.kinds.contains(Kinds::IMM) {
        choices.push(Value::Imm(immediate(random, spec.imm)));
    }
    if spec.kinds.contains(Kinds::CONST) {
        choices.push(Value::Const { bank: random.below(16) as u8, offset: (random.below(1000) * 4) as u16 });
    }
    if spec.kinds.contains(Kinds::CONST_BINDLESS) {
        let ureg = (random.below(30) * 2) as u16;
        choices.push(Value::ConstBindless { ureg, offset: (random.below(1000) * 4) as u16 });
    }
    if spec.kinds.contains(Kinds::SPECIAL) {
        choices.push(Value::Special(33));
    }
    if spec.kinds.contains(Kinds::LABEL) {
        choices.push(Value::Label(random.below(64) as i64 * 16));
    }
    let value = choices.get(random.below(choices.len().max(1) as u64) as usize).copied().unwrap_or(Value::None);
    let flags = if random.one_in(2) { random.next() as u8 & spec.flags.bits() } else { 0 };
    Operand { value, flags: OperandFlags::from_bits(flags) }
}

fn set_random_field(random: &mut Random, inst: &mut Inst, field: oriole_isa::Field) {
    let values = field.values();
    let value = values[random.below(values.len() as u64) as usize].code;
    inst.mods.set(field, value);
}

/// A random legal instruction: parts that have no encoding are drawn again.
fn draw(random: &mut Random, opcode: Opcode, arch: Arch) -> Option<Inst> {
    let mut inst = Inst::new(opcode);
    for index in 0..inst.operands.len() {
        inst.operands[index] = operand(random, &inst, index);
    }
    for (field, _) in opcode.fields() {
        if random.one_in(2) {
            set_random_field(random, &mut inst, *field);
        }
    }
    if random.one_in(4) {
        inst.guard = Guard { predicate: random.below(8) as u8, negated: random.one_in(2) };
    }
    for _ in 0..200 {
        match legal(&inst, arch) {
            Ok(()) => return Some(inst),
            Err(Illegal::Operand(index)) => {
                let any = if random.one_in(3) { random.below(inst.operands.len() as u64) as usize } else { index };
                inst.operands[any] = operand(random, &inst, any);
            }
            Err(Illegal::Field(field)) => {
                let fields = opcode.fields();
                let any = if random.one_in(3) { fields[random.below(fields.len() as u64) as usize].0 } else { field };
                set_random_field(random, &mut inst, any);
            }
            Err(Illegal::Opcode | Illegal::Count) => return None,
        }
    }
    None
}

/// Words that nvdisasm rejects (reserved combinations, misaligned registers) tell nothing; the rest is
/// compared. Gives how many those were.
fn compare(tool: &PathBuf, arch: Arch, insts: &[Inst], out: &mut Vec<String>) -> usize {
    let (_, addresses) = image(arch, &vec![0; insts.len()]);
    let words = insts.iter().zip(&addresses).map(|(i, pc)| encode(i, arch, *pc));
    let words: Vec<u128> = words.map(|word| word.expect("legal instructions encode")).collect();
    let mut compared = 0;
    for ((inst, word), text) in insts.iter().zip(&words).zip(disassemble(tool, arch, &words)) {
        let ours = inst.display(arch).to_string();
        let Some(text) = text.filter(|text| !text.contains("INVALID") && !text.contains("???")) else {
            if env::var_os("ORIOLE_REJECTED").is_some() {
                println!("rejected on {arch}: {word:032x} {ours}");
            }
            continue;
        };
        compared += 1;
        if ours != text {
            out.push(format!("{arch} {word:032x} ours '{ours}' theirs '{text}'"));
        }
    }
    compared
}

#[test]
fn random_instructions_print_alike() {
    let only = env::var("ORIOLE_OPCODES").unwrap_or_default();
    let targets = env::var("ORIOLE_TARGETS").unwrap_or_default();
    let mut failures = BTreeMap::new();
    for arch in Arch::ALL {
        if !targets.is_empty() && !targets.split(' ').any(|name| name == arch.name()) {
            continue;
        }
        let Some(tool) = nvdisasm(arch) else {
            println!("skipped {arch}: ORIOLE_ORACLE or ORIOLE_ORACLE_OLD names no folder with its nvdisasm");
            continue;
        };
        for opcode in Opcode::ALL.into_iter().filter(|o| o.encodable_on(arch)) {
            if !only.is_empty() && !only.split(' ').any(|name| name == opcode.name()) {
                continue;
            }
            let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ opcode as u64);
            let insts: Vec<Inst> = (0..EACH).filter_map(|_| draw(&mut random, opcode, arch)).collect();
            let mut out = Vec::new();
            let compared = compare(&tool, arch, &insts, &mut out);
            if !out.is_empty() || compared * 4 < EACH {
                failures.insert((opcode.name(), arch), (out, compared));
            }
        }
    }
    for ((name, arch), (out, compared)) in &failures {
        println!("{name} {arch}: {} of {compared} differ", out.len());
        for line in out.iter().take(6) {
            println!("    {line}");
        }
    }
    assert!(failures.values().all(|(out, _)| out.is_empty()), "texts differ");
}
