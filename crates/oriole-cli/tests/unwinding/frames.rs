//! A reader of `.debug_frame` by the text of DWARF 3, for what NVIDIA's files have in it. gimli's has no registers with numbers as large as theirs.

use oriole_cubin::Cubin;
use std::collections::BTreeMap;

/// DWARF number of R0.
const R0: u64 = 0x0500_0000;
/// The column of return addresses in sections with several functions.
pub(crate) const COMPUTED: u64 = R0 + 256;

/// Where a register of the caller is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Same,
    Lost,
    /// In this general register.
    Register(u16),
    /// In memory, this number of bytes from the caller's frame.
    Offset(i64),
    /// What an expression gives.
    Value(Vec<u8>),
}

/// What holds from an instruction on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// General register and bytes.
    pub(crate) frame: (u16, u64),
    pub(crate) rules: BTreeMap<u64, Rule>,
}

/// What is said of a function.
pub(crate) struct Entry {
    /// Byte offsets in the section.
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) column: u64,
    /// By byte offset.
    rows: Vec<(u64, Row)>,
}

impl Entry {
    /// What holds ahead of the instruction at an offset.
    pub(crate) fn row(&self, offset: u64) -> &Row {
        let behind = self.rows.partition_point(|(start, _)| *start <= offset);
        &self.rows[behind - 1].1
    }
}

struct Reader<'b>(&'b [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().expect("the section goes on");
        self.0 = rest;
        *first
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.byte()).collect()
    }

    fn number(&mut self, bytes: usize) -> u64 {
        self.bytes(bytes).iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte))
    }

    fn uleb(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return value;
            }
        }
    }
}

fn general(number: u64) -> u16 {
    u16::try_from(number - R0).expect("a general register")
}

/// All entries of functions in the sections of kernels named so.
pub(crate) fn entries(cubin: &Cubin, kernel: &str) -> Vec<Entry> {
    let (at, section) =
        cubin.sections.iter().enumerate().find(|(_, section)| section.name == ".debug_frame").expect("it is there");
    let addresses: BTreeMap<u64, (&str, i64)> = cubin
        .relocations
        .iter()
        .filter(|relocation| relocation.section == at)
        .map(|relocation| {
            assert_eq!(relocation.kind.map(|kind| kind.name), Some("R_CUDA_64"));
            let symbol = cubin.symbols[relocation.symbol].name.as_str();
            (relocation.offset, (symbol, relocation.addend.unwrap_or(0)))
        })
        .collect();
    let mut common: BTreeMap<u64, (u64, Row)> = BTreeMap::new();
    let mut found = Vec::new();
    let mut reader = Reader(&section.data);
    while !reader.0.is_empty() {
        let start = (section.data.len() - reader.0.len()) as u64;
        assert_eq!(reader.number(4), 0xffff_ffff, "64 bits");
        let length = reader.number(8) as usize;
        let (body, rest) = reader.0.split_at(length);
        reader.0 = rest;
        let mut body = Reader(body);
        let id = body.number(8);
        if id == u64::MAX {
            assert_eq!(body.bytes(4), [3, 0, 4, 0x7c], "version, augmentation, 4 and -4");
            let column = body.uleb();
            let mut rows = vec![(0, Row::default())];
            instructions(&mut body, &mut rows);
            common.insert(start, (column, rows.pop().expect("one").1));
            continue;
        }
        let (symbol, first) = addresses[&(start + 20)];
        body.number(8);
        let size = body.number(8);
        let (column, row) = common[&id].clone();
        let mut rows = vec![(first as u64, row)];
        instructions(&mut body, &mut rows);
        if symbol == kernel {
            found.push(Entry { start: first as u64, end: first as u64 + size, column, rows });
        }
    }
    found
}

/// Carries out what is left of an entry.
fn instructions(body: &mut Reader<'_>, rows: &mut Vec<(u64, Row)>) {
    while !body.0.is_empty() {
        let (at, mut row) = rows.last().cloned().expect("one is there");
        let mut next = at;
        let opcode = body.byte();
        match opcode {
            0x00 => continue,
            0x04 => next = at + 4 * body.number(4),
            0x05..=0x09 | 0x16 => {
                let register = body.uleb();
                let rule = match opcode {
                    0x05 => Rule::Offset(-4 * body.uleb() as i64),
                    0x07 => Rule::Lost,
                    0x09 => Rule::Register(general(body.uleb())),
                    0x16 => {
                        let length = body.uleb() as usize;
                        Rule::Value(body.bytes(length))
                    }
                    // What the common entries say of all that are restored.
                    _ => Rule::Same,
                };
                row.rules.insert(register, rule);
            }
            0x0c => row.frame = (general(body.uleb()), body.uleb()),
            other => panic!("an instruction {other:#x}"),
        }
        if next == at {
            rows.pop();
        }
        rows.push((next, row));
    }
}

/// What an expression gives: it begins with the caller's frame, and addresses count from the section's start.
pub(crate) fn value(expression: &[u8], frame: u64, register: impl Fn(u16) -> u64, memory: impl Fn(u64) -> u64) -> u64 {
    let mut stack = vec![frame];
    let mut reader = Reader(expression);
    while !reader.0.is_empty() {
        match reader.byte() {
            0x03 => stack.push(reader.number(8)),
            0x10 => stack.push(reader.uleb()),
            0x92 => {
                let base = register(general(reader.uleb()));
                assert_eq!(reader.byte(), 0, "no offset");
                stack.push(base);
            }
            0x94 => {
                assert_eq!(reader.byte(), 4, "bytes");
                let address = stack.pop().expect("an address");
                stack.push(memory(address));
            }
            operation @ (0x1c | 0x22) => {
                let (second, first) = (stack.pop().expect("two"), stack.pop().expect("two"));
                stack.push(if operation == 0x1c { first - second } else { first + second });
            }
            other => panic!("an operation {other:#x}"),
        }
    }
    stack.pop().expect("a value")
}
