//! Reads the text that [`Dump`](oriole_nvptx::machine::dump::Dump) writes, so that tests of passes can
//! be written as it. The number of a register is its number in the function.

use cranelift_entity::EntityRef;
use oriole_nvptx::machine::dump::Dump;
use oriole_nvptx::machine::{
    Base, Block, BlockId, Forms, Function, Inst, Opcode, Operand, Phi, PhysReg, Reg, RegClass, Terminator, VReg,
};
use oriole_ptx::ast::{Selector, SpecialReg, SymbolTable};

/// A function with what it needs to be printed.
pub(crate) struct Text {
    pub(crate) function: Function,
    pub(crate) forms: Forms,
    symbols: SymbolTable,
}

/// Reads the blocks of a function; panics at what is not in the format.
pub(crate) fn read(text: &str) -> Text {
    let mut symbols = SymbolTable::new();
    let name = symbols.intern("f");
    let mut reader = Text { function: Function::new(name, true), forms: Forms::default(), symbols };
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    for line in lines.iter().filter(|line| line.ends_with(':')) {
        let block = Block { phis: Vec::new(), insts: Vec::new(), terminator: Terminator::Ret };
        let id = reader.function.blocks.push(block);
        assert_eq!(format!("{id}:"), **line, "blocks come in order");
        reader.function.layout.push(id);
    }
    let mut block = None;
    for line in lines {
        if line.ends_with(':') {
            block = Some(block.map_or(0, |at: usize| at + 1));
        } else {
            let at = BlockId::new(block.expect("a block begins"));
            reader.line(at, line);
        }
    }
    reader
}

impl Text {
    /// The blocks as text, without the line that names the function.
    pub(crate) fn dump(&self) -> String {
        let Text { function, forms, symbols } = self;
        let text = Dump { function, forms, symbols }.to_string();
        text.split_once('\n').map_or(String::new(), |(_, blocks)| blocks.to_owned())
    }

    fn line(&mut self, block: BlockId, line: &str) {
        let words: Vec<&str> = line.split([' ', ',', '[', ']']).filter(|word| !word.is_empty()).collect();
        let target = |word: &str| BlockId::new(word.trim_start_matches("bb").parse().expect("a block"));
        let terminator = match words[0] {
            "goto" => Terminator::Goto(target(words[1])),
            "branch" => Terminator::Branch {
                pred: self.vreg(words[1].trim_start_matches('!')),
                negated: words[1].starts_with('!'),
                then: target(words[2]),
                otherwise: target(words[3]),
            },
            "table" => Terminator::Table {
                index: self.vreg(words[1]),
                targets: words[2..].iter().map(|word| target(word)).collect(),
            },
            "ret" => Terminator::Ret,
            "exit" => Terminator::Exit,
            "trap" => Terminator::Trap,
            _ => return self.inst(block, line),
        };
        self.function.blocks[block].terminator = terminator;
    }

    fn inst(&mut self, block: BlockId, line: &str) {
        let (guard, line) = match line.strip_prefix('@') {
            Some(rest) => {
                let (guard, rest) = rest.split_once(' ').expect("a guarded instruction");
                (Some((self.vreg(guard.trim_start_matches('!')), guard.starts_with('!'))), rest)
            }
            None => (None, line),
        };
        let (defs, rest) = line.split_once(" = ").unwrap_or(("", line));
        let (opcode, uses) = rest.split_once(' ').unwrap_or((rest, ""));
        let mut operands = self.operands(defs);
        let count = operands.len() as u16;
        if opcode == "phi" {
            let values =
                split(uses).into_iter().map(|value| value.trim_matches(['[', ']']).split_once(": ").expect("a value"));
            let incoming = values
                .map(|(from, value)| {
                    (BlockId::new(from.trim_start_matches("bb").parse().expect("a block")), self.operand(value))
                })
                .collect();
            let dst = operands[0].vreg().expect("a register");
            self.function.blocks[block].phis.push(Phi { dst, incoming });
            return;
        }
        operands.extend(self.operands(uses));
        let opcode = match opcode.starts_with("copy.") {
            true => Opcode::Copy,
            false => Opcode::Form(self.forms.intern(opcode).unwrap_or_else(|| panic!("no PTX: {opcode}"))),
        };
        let inst =
            Inst { opcode, defs: count, guard, operands: operands.into(), loc: None.into(), source: None.into() };
        self.function.blocks[block].insts.push(inst);
    }

    fn operands(&mut self, text: &str) -> Vec<Operand> {
        split(text).into_iter().map(|operand| self.operand(operand)).collect()
    }

    fn operand(&mut self, text: &str) -> Operand {
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.trim_end_matches(']');
            let at = inner.find(['+', '-']).unwrap_or(inner.len());
            let (base, offset) = inner.split_at(at);
            let base = match base {
                "" => Base::Absolute,
                base if base.starts_with('%') => Base::Reg(self.vreg(base).into()),
                name => Base::Symbol(self.symbols.intern(name)),
            };
            return Operand::address(base, if offset.is_empty() { 0 } else { offset.parse().expect("an offset") });
        }
        if let Some(inner) = text.strip_prefix('{') {
            return Operand::Vector(self.operands(inner.trim_end_matches('}')).into());
        }
        if let Some(bits) = text.strip_prefix("0f") {
            return Operand::F32(u32::from_str_radix(bits, 16).expect("32 bits"));
        }
        if let Some(name) = text.strip_prefix('%')
            && let Some((name, part)) = name.split_once('.')
        {
            let part = if part == "x" { Selector::X } else { Selector::Y };
            return Operand::Part(special(name), part);
        }
        match (text.strip_prefix('%'), text.parse()) {
            (_, Ok(number)) => Operand::Imm(number),
            (Some(name), _) if SpecialReg::from_name(name).is_some() => Operand::Reg(special(name)),
            (Some(_), _) => self.vreg(text).into(),
            (None, _) => Operand::Symbol(self.symbols.intern(text), 0),
        }
    }

    /// The register of a name such as `%rd12`.
    fn vreg(&mut self, text: &str) -> VReg {
        let digits = text.find(|c: char| c.is_ascii_digit()).expect("a register has a number");
        let (prefix, number) = text.split_at(digits);
        let class = RegClass::ALL.into_iter().find(|class| class.info().prefix == prefix).expect("a class");
        let number: usize = number.parse().expect("a number");
        while self.function.regs.len() <= number {
            self.function.regs.push(RegClass::Int32);
        }
        self.function.regs[VReg::new(number)] = class;
        VReg::new(number)
    }
}

fn special(name: &str) -> Reg {
    Reg::Physical(PhysReg::Special(SpecialReg::from_name(name).expect("a special register")))
}

/// Splits at commas that stand in no brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}
