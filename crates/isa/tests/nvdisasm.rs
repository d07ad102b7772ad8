//! Random instructions that the spec calls legal, printed by us and by nvdisasm: the texts agree. Golden words
//! with some bits flipped: what nvdisasm refuses we refuse, and what both read has one text.
//! Needs `ORIOLE_ORACLE` (and `ORIOLE_ORACLE_OLD`), a folder with `nvdisasm` (or `bin/nvdisasm`); skipped without.

use oriole_isa::{
    Arch, Control, Guard, Illegal, ImmFormat, Inst, Kinds, Opcode, Operand, OperandFlags, RegFile, Value,
    control_fault, decode, encode, legal,
};
use oriole_prerequisites::nvdisasm::listing;
use oriole_prerequisites::{OLD_TOOLS, TOOLS, tool_of};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
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
    tool_of(if arch < Arch::Sm75 { OLD_TOOLS } else { TOOLS }, "nvdisasm")
}

const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;
const NOP_BUNDLED: u64 = 0x50b0_0000_0007_0f00;

/// A raw binary of the words, and the byte address of each.
fn image(arch: Arch, words: &[u128]) -> (Vec<u8>, Vec<u64>) {
    if !arch.word_format().is_bundled() {
        let bytes = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        return (bytes, (0..words.len() as u64).map(|i| 16 * i).collect());
    }
    // A bundle for each: its control word, it, and two NOPs.
    let bundle = |word: &u128| {
        let control = (word >> 64) as u64 & 0x1f_ffff | 0x7e0 << 21 | 0x7e0 << 42;
        [control, *word as u64, NOP_BUNDLED, NOP_BUNDLED]
    };
    let bytes = words.iter().flat_map(bundle).flat_map(u64::to_le_bytes).collect();
    (bytes, (0..words.len() as u64).map(|i| 32 * i + 8).collect())
}

/// What nvdisasm calls the target. Those with architecture-specific instructions are asked for with them.
fn binary_name(arch: Arch) -> String {
    let specific = if arch >= Arch::Sm90 { "a" } else { "" };
    format!("SM{}{specific}", arch.number())
}

/// As `binary_name`, for an opcode that not all members of the generation have.
fn binary_name_for(opcode: Opcode, arch: Arch) -> String {
    let lacks = opcode == Opcode::MUFU_X2 && arch == Arch::Sm100;
    if lacks { "SM103a".to_owned() } else { binary_name(arch) }
}

/// The text of each word; nothing for those that nvdisasm rejects. A `NOP` takes their place in further runs.
fn disassemble(tool: &Path, arch: Arch, binary: &str, words: &[u128]) -> Vec<Option<String>> {
    let nop = if arch.word_format().is_bundled() { NOP_BUNDLED.into() } else { NOP };
    let mut texts = vec![None; words.len()];
    let mut groups = vec![(0..words.len()).collect::<BTreeSet<usize>>()];
    while let Some(mut group) = groups.pop() {
        let chosen: Vec<u128> =
            words.iter().enumerate().map(|(i, word)| if group.contains(&i) { *word } else { nop }).collect();
        let (bytes, addresses) = image(arch, &chosen);
        let at = |address: u64| addresses.binary_search(&address).ok();
        let read = listing(tool, binary, &bytes).expect("a temporary file, and nvdisasm runs");
        let errors = match read {
            Ok(listing) => {
                for (address, text) in listing {
                    if let Some(index) = at(address).filter(|index| group.contains(index)) {
                        texts[index] = Some(text);
                    }
                }
                continue;
            }
            Err(errors) => errors,
        };
        let before = group.len();
        errors.lines().filter_map(rejected).filter_map(at).for_each(|index| {
            group.remove(&index);
        });
        if group.len() < before {
            groups.push(group);
        } else if let Some(middle) = group.iter().nth(before / 2).copied().filter(|_| before > 1) {
            // It fails without naming an address: some word in one of the halves.
            groups.push(group.split_off(&middle));
            groups.push(group);
        }
    }
    texts
}

/// The address in an error message.
fn rejected(line: &str) -> Option<u64> {
    let (_, address) = line.split_once("address 0x")?;
    u64::from_str_radix(address.trim(), 16).ok()
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

fn set_random_field(random: &mut Random, inst: &mut Inst, field: oriole_isa::FieldId) {
    let values = field.values();
    let value = values[random.below(values.len() as u64) as usize].code;
    inst.mods.apply(oriole_isa::Setting::raw(field, value));
}

/// A random legal instruction: parts that have no encoding are drawn again.
fn draw(random: &mut Random, opcode: Opcode, arch: Arch) -> Option<Inst> {
    let mut inst = Inst { control: Control { stall: 2, ..Control::NONE }, ..Inst::new(opcode) };
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
            Err(Illegal::Guard) => inst.guard = Guard::ALWAYS,
            Err(Illegal::Opcode | Illegal::Count) => return None,
        }
    }
    None
}

/// The instructions are of one opcode. Words that nvdisasm rejects (reserved combinations, misaligned registers) tell nothing;
/// the rest is compared. Gives how many those were.
fn compare(tool: &Path, arch: Arch, insts: &[Inst], out: &mut Vec<String>) -> usize {
    let (_, addresses) = image(arch, &vec![0; insts.len()]);
    let words = insts.iter().zip(&addresses).map(|(i, pc)| encode(i, arch, *pc));
    let words: Vec<u128> = words.map(|word| word.expect("legal instructions encode")).collect();
    let mut compared = 0;
    let binary = insts.first().map_or_else(|| binary_name(arch), |inst| binary_name_for(inst.opcode, arch));
    for ((inst, word), text) in insts.iter().zip(&words).zip(disassemble(tool, arch, &binary, &words)) {
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

/// `ORIOLE_TARGETS` narrows the tests to the targets that it names.
fn selected(arch: Arch) -> bool {
    env::var("ORIOLE_TARGETS").map_or(true, |targets| targets.split(' ').any(|name| name == arch.name()))
}

/// Opcodes that nvdisasm reads from CUDA 13.5 on.
const NEWER: [Opcode; 1] = [Opcode::CLMAD];

/// Each opcode that a target has, nvdisasm reads there, and prints as we do.
#[test]
fn random_instructions_print_alike() {
    let only = env::var("ORIOLE_OPCODES").unwrap_or_default();
    let mut failures = BTreeMap::new();
    for arch in Arch::ALL {
        if !selected(arch) {
            continue;
        }
        let Some(tool) = nvdisasm(arch) else { continue };
        let mut unread = Vec::new();
        let mut reads_some = false;
        for opcode in Opcode::ALL.into_iter().filter(|o| o.exists_on(arch)) {
            if !only.is_empty() && !only.split(' ').any(|name| name == opcode.name()) {
                continue;
            }
            let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ opcode as u64);
            let insts: Vec<Inst> = (0..EACH).filter_map(|_| draw(&mut random, opcode, arch)).collect();
            let mut out = Vec::new();
            let compared = compare(&tool, arch, &insts, &mut out);
            reads_some |= compared > 0;
            unread.extend((compared == 0 && !NEWER.contains(&opcode)).then_some(opcode.name()));
            if !out.is_empty() || compared * 4 < EACH {
                failures.insert((opcode.name(), arch), (out, compared));
            }
        }
        // The nvdisasm that is there may not know the target at all.
        assert!(unread.is_empty() || !reads_some, "{arch}: nvdisasm reads none of {unread:?}");
    }
    for ((name, arch), (out, compared)) in &failures {
        println!("{name} {arch}: {} of {compared} differ", out.len());
        for line in out.iter().take(6) {
            println!("    {line}");
        }
    }
    assert!(failures.values().all(|(out, _)| out.is_empty()), "texts differ");
}

/// Control words that an instruction is tried with: each thing alone, then some by chance.
fn control_words(random: &mut Random) -> Vec<Control> {
    let plain = Control { stall: 2, ..Control::NONE };
    let scoreboard = random.below(6) as u8;
    let mut words = vec![
        Control { write_scoreboard: scoreboard, ..plain },
        Control { read_scoreboard: scoreboard, ..plain },
        Control { wait_mask: 1 << scoreboard, ..plain },
        Control { stay: true, stall: 1 + random.below(11) as u8, ..plain },
        Control { stay: true, stall: [0, 12, 13, 14, 15][random.below(5) as usize], ..plain },
    ];
    // The codes 6 and 7 of a scoreboard field name none or nothing that is known.
    words.extend((0..3).map(|_| {
        let word = Control::from_bits(random.next() as u32 >> 8);
        let known = |scoreboard: u8| if scoreboard == 6 { Control::NO_SCOREBOARD } else { scoreboard };
        Control { write_scoreboard: known(word.write_scoreboard), read_scoreboard: known(word.read_scoreboard), ..word }
    }));
    words
}

/// Which control words an instruction may have is asked of nvdisasm, both ways.
#[test]
fn control_words_are_refused_alike() {
    let only = env::var("ORIOLE_OPCODES").unwrap_or_default();
    let mut failures = BTreeSet::new();
    for arch in Arch::ALL.into_iter().filter(|arch| !arch.word_format().is_bundled() && selected(*arch)) {
        let Some(tool) = nvdisasm(arch) else { continue };
        let mut insts = Vec::new();
        for opcode in Opcode::ALL.into_iter().filter(|o| o.exists_on(arch)) {
            if !only.is_empty() && !only.split(' ').any(|name| name == opcode.name()) {
                continue;
            }
            let mut random = Random(0x5851_f42d_4c95_7f2d ^ opcode as u64);
            for _ in 0..EACH / 4 {
                let Some(inst) = draw(&mut random, opcode, arch) else { continue };
                let words = control_words(&mut random).into_iter().map(|control| Inst { control, ..inst.clone() });
                let words = words.collect::<Vec<_>>();
                insts.push((inst, words));
            }
        }
        let plain: Vec<u128> = insts.iter().map(|(inst, _)| encode(inst, arch, 0).expect("it is legal")).collect();
        let read: Vec<bool> = texts(&tool, arch, &plain).iter().map(Option::is_some).collect();
        let tried = insts.iter().zip(&plain).zip(&read).filter(|(_, read)| **read);
        let tried: Vec<(&Inst, u128)> = tried
            .flat_map(|(((_, variants), word), _)| {
                let without = word & !(0x1_ffff << 105);
                variants.iter().map(move |inst| (inst, without | u128::from(inst.control.to_bits()) << 105))
            })
            .collect();
        let words: Vec<u128> = tried.iter().map(|(_, word)| *word).collect();
        for ((inst, word), text) in tried.iter().zip(texts(&tool, arch, &words)) {
            let ours = control_fault(inst, arch);
            if ours.is_none() != text.is_some() {
                let theirs = if text.is_some() { "read" } else { "refused" };
                let (name, text) = (inst.opcode.name(), inst.display(arch));
                failures.insert(format!("{name} {arch} {word:032x} {text}: {:?} is {theirs}", inst.control));
            }
        }
        println!("{arch}: {} words", words.len());
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// [`disassemble`] in portions.
fn texts(tool: &Path, arch: Arch, words: &[u128]) -> Vec<Option<String>> {
    words.chunks(BATCH).flat_map(|words| disassemble(tool, arch, &binary_name(arch), words)).collect()
}

/// Words sent to nvdisasm at once.
const BATCH: usize = 4000;

/// Mutated words per target, unless `ORIOLE_MUTATIONS` says how many.
const MUTATIONS: u64 = 2000;

/// What became of the mutated words of a target.
#[derive(Default)]
struct Mutations {
    samples: usize,
    /// Words that nvdisasm fails on, and those of them that we read.
    refused: usize,
    missed: usize,
    /// Words that it prints with `INVALID` or `???`, and those of them that we read.
    reserved: usize,
    missed_reserved: usize,
    /// Words that only we refuse: most have bits set that nvdisasm ignores.
    only_ours: usize,
    same: usize,
    different: usize,
    /// Those that should be alike and are not.
    lines: Vec<String>,
}

impl Mutations {
    fn count(&mut self, arch: Arch, word: u128, pc: u64, theirs: Option<&str>) {
        let ours = decode(word, arch, pc).ok().filter(|inst| control_fault(inst, arch).is_none());
        let ours = ours.map(|inst| inst.display(arch).to_string());
        let reserved = theirs.is_some_and(|text| text.contains("INVALID") || text.contains("???"));
        self.samples += 1;
        self.refused += usize::from(theirs.is_none());
        self.reserved += usize::from(reserved);
        let Some(ours) = ours else {
            self.only_ours += usize::from(theirs.is_some() && !reserved);
            return;
        };
        match theirs {
            None => self.missed += 1,
            Some(_) if reserved => self.missed_reserved += 1,
            Some(text) if text == ours => {
                self.same += 1;
                return;
            }
            Some(_) => self.different += 1,
        }
        self.lines.push(format!("{arch} {word:032x} ours '{ours}' theirs '{}'", theirs.unwrap_or("-")));
    }

    /// Percent of the words refused by nvdisasm that we refuse, without and with the reserved ones.
    fn shares(&self) -> (f64, f64) {
        let share = |all: usize, missed: usize| 100.0 * (1.0 - missed as f64 / all.max(1) as f64);
        (share(self.refused, self.missed), share(self.refused + self.reserved, self.missed + self.missed_reserved))
    }
}

/// The words of a target's golden vectors.
fn golden(arch: Arch) -> Vec<u128> {
    let name = binary_name(arch).replace("SM", "sm_");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [root.join("../../../shared/vectors"), root.join("tests/data/vectors")];
    let text = folders.iter().find_map(|folder| fs::read_to_string(folder.join(format!("{name}.tsv"))).ok());
    let text = text.expect("the committed sample has every target");
    text.lines().filter_map(|line| u128::from_str_radix(line.split('\t').next()?, 16).ok()).collect()
}

/// A golden word with one to four bits flipped; the last two have no meaning.
fn mutated(random: &mut Random, golden: &[u128]) -> u128 {
    let mut word = golden[random.below(golden.len() as u64) as usize];
    for _ in 0..[1, 1, 2, 4][random.below(4) as usize] {
        word ^= 1 << random.below(126);
    }
    word
}

#[test]
fn mutated_words_are_refused_alike() {
    let setting = |name: &str| env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let count = setting("ORIOLE_MUTATIONS").unwrap_or(MUTATIONS);
    let seed = setting("ORIOLE_SEED").unwrap_or(0);
    let mut tallies = Vec::new();
    for arch in Arch::ALL.into_iter().filter(|arch| !arch.word_format().is_bundled() && selected(*arch)) {
        let Some(tool) = nvdisasm(arch) else { continue };
        let golden = golden(arch);
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ seed << 8 ^ arch as u64);
        let words: Vec<u128> = (0..count).map(|_| mutated(&mut random, &golden)).collect();
        let mut tally = Mutations::default();
        for words in words.chunks(BATCH) {
            let (_, addresses) = image(arch, words);
            for ((word, pc), theirs) in
                words.iter().zip(addresses).zip(disassemble(&tool, arch, &binary_name(arch), words))
            {
                tally.count(arch, *word, pc, theirs.as_deref());
            }
        }
        tallies.push((arch, tally));
    }
    println!(
        "target  samples  refused  missed  percent  reserved  missed  percent of both  only ours  same  different"
    );
    for (arch, t) in &tallies {
        let (refused, both) = t.shares();
        println!(
            "{:7} {:7} {:8} {:7} {refused:8.3} {:9} {:7} {both:16.3} {:10} {:5} {:9}",
            arch.name(),
            t.samples,
            t.refused,
            t.missed,
            t.reserved,
            t.missed_reserved,
            t.only_ours,
            t.same,
            t.different
        );
    }
    let shown = setting("ORIOLE_VECTOR_FAILURES").unwrap_or(20) as usize;
    tallies.iter().flat_map(|(_, t)| t.lines.iter().take(shown)).for_each(|line| println!("{line}"));
    for (arch, tally) in &tallies {
        assert!(tally.shares().0 >= 95.0, "{arch}: we read too much of what nvdisasm refuses");
        assert!(tally.different * 1000 <= tally.same, "{arch}: more than one text in a thousand differs");
    }
}
