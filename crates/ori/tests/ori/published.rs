//! The published tables against the documents that they are from (docs/sources.md), where `../shared/seeds` has them.

use oriole_isa::{Mods, Opcode};
use oriole_ori::published::*;
use oriole_ori::*;

/// The cells of each row of the table below a heading of the document whose file's name begins so.
fn seed_table(seed: &str, heading: &str) -> Option<Vec<Vec<String>>> {
    let folder = oriole_prerequisites::shared("seeds")?;
    let mut files = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let file = files.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(seed)));
    let text = std::fs::read_to_string(file.expect("the seed")).expect("text");
    let mut lines =
        text.lines().skip_while(|line| *line != heading).skip(1).skip_while(|line| !line.starts_with("|--"));
    lines.next().expect("a table");
    let rows = lines.take_while(|line| line.starts_with('|'));
    Some(rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect())
}

/// The first cells of each row of the document's table are these.
fn same<const N: usize>(seed: &str, heading: &str, rows: impl IntoIterator<Item = [String; N]>) {
    let Some(table) = seed_table(seed, heading) else { return };
    let expected: Vec<Vec<String>> = table.into_iter().map(|row| row.into_iter().take(N).collect()).collect();
    assert_eq!(rows.into_iter().map(Vec::from).collect::<Vec<_>>(), expected, "{heading}");
}

fn or_dashes(number: Option<u8>) -> String {
    number.map_or("--".to_owned(), |number| number.to_string())
}

#[test]
fn operand_kinds_are_those_of_the_document() {
    same("003", "Operand Kinds", operand_kinds::KINDS.map(|(number, name)| [number.to_string(), name.to_owned()]));
}

#[test]
fn register_types_are_those_of_the_document() {
    let rows =
        register_types::TYPES.map(|(number, name, class)| [number.to_string(), name.to_owned(), or_dashes(class)]);
    same("000", "Register File Type Enum (at +64)", rows);
}

#[test]
fn register_flags_are_those_of_the_document() {
    let mut rows: Vec<_> = register_types::FLAGS
        .map(|(bit, name)| [bit.to_string(), format!("{:#x}", 1u32 << bit), name.to_owned()])
        .into();
    let modes = "0 = single, 1 = lo-half of pair, 3 = double-width";
    rows.insert(6, ["20--21", "(pair mode)", modes].map(str::to_owned));
    same("000", "Flag Bits at +48", rows);
}

#[test]
fn pair_modes_are_those_of_the_document() {
    let rows = pair_modes::PAIR_MODES.map(|(name, value, _)| [name.to_owned(), value.to_string()]);
    same("000", "Pair Modes and Coalescing", rows);
    // "consumption = slot + (1 << (pair_mode == 3)) - 1"
    assert!(pair_modes::PAIR_MODES.iter().all(|(_, value, registers)| *registers == 1 << u8::from(*value == 3)));
}

#[test]
fn register_fields_are_those_of_the_document() {
    let rows = register_fields::FILES.map(|(tag, code, name)| [tag.to_string(), code.to_string(), name.to_owned()]);
    same("000", "SASS Instruction Register Encoding", rows);
    // "class 0, index 1 returns 1; class 1, index 1 returns 33; class 2, index 1 returns 65"
    assert_eq!([0, 1, 2].map(|class| register_fields::hardware_number(class, 1)), [1, 33, 65]);
    // "bits [13:9]" and "bits [28:26]": eight bits in two parts.
    assert_eq!(register_fields::spread(0xff), 0b11111 << 9 | 0b111 << 26);
    // "bit 0: presence flag, bits 1-4: register file type, bits 5-14: register number"
    assert_eq!(register_fields::field(128, 1023), Some(1 | 11 << 1 | 1023 << 5));
    assert_eq!((register_fields::field(9, 0), register_fields::field(1, 1024)), (None, None));
}

#[test]
fn memory_spaces_are_those_of_the_document() {
    let Some(table) = seed_table("003", "Memory Space Classification") else { return };
    let is_space = |row: &&Vec<String>| row[1] != "(gap)";
    let expected: Vec<_> = table.iter().filter(is_space).map(|row| row[..3].to_vec()).collect();
    let rows = memory_spaces::SPACES.map(|space| {
        let unknown = if space.number == 18 { "varies" } else { "--" };
        let category = space.category.map_or(unknown.to_owned(), |category| category.to_string());
        vec![space.number.to_string(), space.name.to_owned(), category]
    });
    assert_eq!(rows.to_vec(), expected);
}

/// The paragraphs below that table: what the opcode decides, what is hot and what is cold.
#[test]
fn categories_follow_the_document() {
    use memory_spaces::{COLD, HOT, of_number, of_opcode};
    assert!([7, 43, 45, 53].into_iter().all(|opcode| of_opcode(opcode) == Some(6)));
    assert!([54, 189].into_iter().all(|opcode| of_opcode(opcode) == Some(9)));
    assert!((183..=199).filter(|opcode| *opcode != 189).chain([111]).all(|opcode| of_opcode(opcode) == Some(5)));
    assert!([12, 182, 200].into_iter().all(|opcode| of_opcode(opcode).is_none()));
    let category = |number| of_number(number).and_then(|space| space.category);
    assert_eq!((category(6), category(5)), (Some(HOT), Some(COLD)));
    assert_eq!(of_number(3), None);
}

#[test]
fn names_are_those_of_the_document() {
    let Some(table) = seed_table("003", "ROT13 Opcode Names") else { return };
    for row in table {
        let opcode = opcodes::spelled(&row[0]).unwrap_or_else(|| panic!("{} is none", row[0]));
        assert_eq!((opcode.name(), opcodes::spelled(&row[1])), (row[1].as_str(), Some(opcode)));
        assert_eq!((opcodes::spelling(true)(opcode), opcodes::spelling(false)(opcode)), (&*row[0], &*row[1]));
    }
}

/// The worked example of the document on ptxas's IR: `add.f32 %f3, %f1, %f2` is FADD R3, R1, R2.
#[test]
fn worked_example_word_for_word() {
    let mut func = Function::new("example", FunctionKind::Entry);
    let regs: Vec<VReg> = (0..4).map(|_| func.new_vreg(RegType::R).unwrap()).collect();
    let operands = [regs[3].into(), regs[1].into(), regs[2].into()];
    let inst = Inst::new(Opcode::FADD, Mods::new(), &operands);
    assert_eq!(inst.opcode.ori_number(), Some(12));
    assert_eq!(inst.opcode.rot13_name(), "SNQQ");
    let words: Vec<_> = inst.operands.iter().filter_map(|operand| operand_words::words(*operand)).collect();
    assert_eq!(words, [[0x1000_0003, 0], [0x1000_0001, 0], [0x1000_0002, 0]]);
    // "type=5 (symbol/constant) in word0 and the const-bank flag (0x1000000) set in word1"
    assert_eq!(operand_words::words(Operand::cbank(3, 0x10)), Some([0x5000_0010, 0x0100_0003]));
}

/// Field by field, with the masks of the extraction pattern in the document on ptxas's IR.
#[test]
fn operand_fields_stand_where_the_document_says() {
    let words = |operand| operand_words::words(operand).expect("a published form");
    let fields = |operand| (words(operand)[0] & 0xf_ffff, words(operand)[0] >> 20 & 0xff, words(operand)[0] >> 28 & 7);
    let reg = Operand::reg(VReg::new(0xf_fffe));
    assert_eq!(fields(reg), (0xf_fffe, 0, 1));
    assert_eq!(words(reg.neg())[0] >> 31, 1);
    assert_eq!(words(reg.abs())[1] & 0xfe00_0000, 0x0400_0000);
    assert_eq!(words(reg.with_reuse(true))[1] & 0xfe00_0000, 0x0200_0000);
    assert_eq!(words(Operand::piece(VReg::new(5), 2, 2))[0] >> 24 & 1, 1, "pair extension");
    assert_eq!(words(Operand::symbol(SymRef::new(9))), [0x5000_0009, 0]);
    assert_eq!((fields(Operand::guard(VReg::new(2), true)).2, words(Operand::guard(VReg::new(2), true))[1]), (6, 1));
    assert_eq!(operand_words::words(Operand::imm(1)), None);
}

/// Every section is there, and the lines of a few tables.
#[test]
fn the_page_prints_the_tables() {
    let text = page();
    for line in ["Operand words", "word 0, bits 28-30: type", " 3 Any register", "1 Lo-half: registers 1", "PT: 14"] {
        assert!(text.contains(line), "no '{line}' in {text}");
    }
    assert!(text.contains(" 6 .global                  category 11 hot\n"), "{text}");
    assert!(text.contains(" 12 SNQQ       FADD"), "{text}");
}
