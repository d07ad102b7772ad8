//! Where instructions, operands and registers stand in a module.

use fastrand::Rng;
use oriole_ptx::ast::{
    AddressBase, Block, Imm, Instruction, Item, Module, Name, Opcode, Operand, RegisterDecl, ScalarType, Space, Span,
    Statement, SymbolTable, Word,
};
use std::collections::{BTreeMap, BTreeSet};

/// The bodies of all functions.
fn bodies(module: &Module) -> impl Iterator<Item = &Block> {
    module.functions().filter_map(|function| function.body.as_ref())
}

pub(super) fn bodies_mut(module: &mut Module) -> impl Iterator<Item = &mut Block> {
    module.items.iter_mut().filter_map(|item| match item {
        Item::Function(function) => function.body.as_mut(),
        _ => None,
    })
}

/// All instructions, in order.
pub(super) fn instructions(module: &Module) -> Vec<&Instruction> {
    fn walk<'m>(block: &'m Block, all: &mut Vec<&'m Instruction>) {
        for statement in &block.statements {
            match statement {
                Statement::Instruction(instruction) => all.push(instruction),
                Statement::Block(inner) => walk(inner, all),
                _ => {}
            }
        }
    }
    let mut all = Vec::new();
    bodies(module).for_each(|block| walk(block, &mut all));
    all
}

/// Changes the statements around instruction number `at` of a module: the list that it stands in, and where there.
pub(super) fn edit(module: &mut Module, at: usize, change: impl FnOnce(&mut Vec<Statement>, usize)) {
    fn list<'m>(block: &'m mut Block, left: &mut usize) -> Option<(&'m mut Vec<Statement>, usize)> {
        let mut inner = None;
        for (place, statement) in block.statements.iter().enumerate() {
            match statement {
                Statement::Instruction(_) if *left == 0 => return Some((&mut block.statements, place)),
                Statement::Instruction(_) => *left -= 1,
                Statement::Block(nested) => {
                    let count = count(nested);
                    if *left < count {
                        inner = Some(place);
                        break;
                    }
                    *left -= count;
                }
                _ => {}
            }
        }
        match block.statements.get_mut(inner?)? {
            Statement::Block(nested) => list(nested, left),
            _ => None,
        }
    }
    let mut left = at;
    if let Some((statements, place)) = bodies_mut(module).find_map(|block| list(block, &mut left)) {
        change(statements, place);
    }
}

fn count(block: &Block) -> usize {
    let of = |statement: &Statement| match statement {
        Statement::Instruction(_) => 1,
        Statement::Block(inner) => count(inner),
        _ => 0,
    };
    block.statements.iter().map(of).sum()
}

/// Changes instruction number `at`.
pub(super) fn edit_instruction(module: &mut Module, at: usize, change: impl FnOnce(&mut Instruction)) {
    edit(module, at, |statements, place| {
        if let Statement::Instruction(instruction) = &mut statements[place] {
            change(instruction);
        }
    });
}

/// The single operands of an instruction, those in lists and behind an address's first comma included.
pub(super) fn leaves(instruction: &mut Instruction) -> Vec<&mut Operand> {
    fn of<'i>(operand: &'i mut Operand, all: &mut Vec<&'i mut Operand>) {
        match operand {
            Operand::Vector(items, _) | Operand::List(items, _) => items.iter_mut().for_each(|item| of(item, all)),
            Operand::Pair(pair) => pair.iter_mut().for_each(|item| of(item, all)),
            Operand::Not(inner, _) | Operand::Neg(inner, _) => of(inner, all),
            Operand::Address(address) => address.rest.iter_mut().for_each(|item| of(item, all)),
            leaf => all.push(leaf),
        }
    }
    let mut all = Vec::new();
    instruction.operands.iter_mut().for_each(|operand| of(operand, &mut all));
    all
}

/// The offsets of an instruction's addresses.
pub(super) fn offsets(instruction: &mut Instruction) -> Vec<&mut i64> {
    let addresses = instruction.operands.iter_mut().filter_map(|operand| match operand {
        Operand::Address(address) => Some(&mut address.offset),
        _ => None,
    });
    addresses.collect()
}

/// The names that an instruction mentions: operands, bases of addresses, its guard.
fn names(instruction: &Instruction) -> Vec<Name> {
    fn of(operand: &Operand, all: &mut Vec<Name>) {
        match operand {
            Operand::Name(name) | Operand::Offset { name, .. } | Operand::Part(name, _) => all.push(*name),
            Operand::Vector(items, _) | Operand::List(items, _) => items.iter().for_each(|item| of(item, all)),
            Operand::Pair(pair) => pair.iter().for_each(|item| of(item, all)),
            Operand::Not(inner, _) | Operand::Neg(inner, _) => of(inner, all),
            Operand::Address(address) => {
                match address.base {
                    AddressBase::Name(name) | AddressBase::Element(name, _) => all.push(name),
                    AddressBase::Item(array, index) => all.extend([array].into_iter().chain(index)),
                    AddressBase::Absolute => {}
                }
                address.rest.iter().for_each(|item| of(item, all));
            }
            Operand::Special { .. } | Operand::Imm(..) | Operand::Sink(_) => {}
        }
    }
    let mut all: Vec<Name> = instruction.guard.iter().map(|guard| guard.pred).collect();
    instruction.operands.iter().for_each(|operand| of(operand, &mut all));
    all
}

/// The types of registers, by name, or by the part of it ahead of its number.
pub(super) struct Registers(BTreeMap<String, ScalarType>);

impl Registers {
    pub(super) fn of(module: &Module) -> Registers {
        fn walk(block: &Block, symbols: &SymbolTable, all: &mut BTreeMap<String, ScalarType>) {
            for statement in &block.statements {
                match statement {
                    Statement::Registers(declared) if declared.vector.is_none() => {
                        all.extend(
                            declared.names.iter().map(|one| (symbols.text(one.name.sym).to_owned(), declared.ty)),
                        );
                    }
                    Statement::Block(inner) => walk(inner, symbols, all),
                    _ => {}
                }
            }
        }
        let mut all = BTreeMap::new();
        bodies(module).for_each(|block| walk(block, &module.symbols, &mut all));
        Registers(all)
    }

    /// The type of the register of a name, if it is one.
    pub(super) fn ty(&self, name: &str) -> Option<ScalarType> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        self.0.get(name).or_else(|| self.0.get(stem)).copied()
    }
}

/// A constant of a type, and the type that a `mov` of it has; `None` for types without.
fn constant(ty: ScalarType, bits: u64) -> Option<(&'static str, Imm)> {
    use ScalarType as T;
    Some(match (ty, ty.bits()) {
        (T::F32, _) => ("f32", Imm::F32(bits as u32)),
        (T::F64, _) => ("f64", Imm::F64(bits)),
        (T::Pred, _) => return None,
        (_, 16) => ("b16", Imm::S64((bits & 0x7fff) as i64)),
        (_, 32) => ("b32", Imm::S64(i64::from(bits as u32))),
        (_, 64) => ("b64", Imm::S64(bits as i64)),
        _ => return None,
    })
}

/// `mov` of a constant to a register, or what does that to a predicate, to 8 bits, to 128.
pub(super) fn set(symbols: &mut SymbolTable, register: &str, ty: ScalarType, bits: u64) -> Option<Statement> {
    let text = match constant(ty, bits) {
        Some((ty, imm)) => {
            let imm = oriole_ptx::print_operand(&Operand::Imm(imm, Span::default()), symbols);
            format!("mov.{ty} {register}, {imm};")
        }
        None if ty == ScalarType::Pred => format!("setp.eq.u32 {register}, {}, 1;", bits & 1),
        None if ty.bits() == 8 => format!("cvt.u8.u32 {register}, {};", bits & 0xff),
        None if ty.bits() == 128 => format!("mov.b128 {register}, {{{bits}, {}}};", !bits),
        None => return None,
    };
    statements(symbols, &text)?.pop()
}

/// Statements from text.
pub(super) fn statements(symbols: &mut SymbolTable, text: &str) -> Option<Vec<Statement>> {
    oriole_ptx::parse_statements(text, 0, symbols).ok()
}

/// Whether a function has memory of its own, which begins with anything and stands anywhere: local variables, parameters of calls.
fn has_own_memory(block: &Block) -> bool {
    block.statements.iter().any(|statement| match statement {
        Statement::Variable(variable) => matches!(variable.space, Space::Local | Space::Param),
        Statement::Block(inner) => has_own_memory(inner),
        _ => false,
    })
}

/// Whether the result of an instruction is one of several: of approximations, what the bits of an mbarrier's state say, and a policy of
/// caches.
pub(super) fn is_each_engines_own(instruction: &Instruction) -> bool {
    let words = [Word::Approx, Word::Full, Word::PendingCount];
    words.into_iter().any(|word| instruction.has(word)) || instruction.opcode == Opcode::Createpolicy
}

/// Whether an instruction's result may be one of several: those that each engine has of its own, and of sums of floats in a matrix product, of which the
/// engines tell overflow differently (docs/fuzz.md).
fn is_approximate(instruction: &Instruction) -> bool {
    let is_product = matches!(instruction.opcode, Opcode::Mma | Opcode::Wmma);
    let sums_floats = is_product && instruction.types().any(|ty| ty.is_float());
    is_each_engines_own(instruction) || sums_floats
}

/// Whether an instruction takes the address of a parameter of the kernel.
fn takes_parameter(instruction: &Instruction, module: &Module) -> bool {
    let is_parameter = |operand: &Operand| {
        let name = operand.name().map(|name| module.text(name));
        module
            .functions()
            .filter(|function| function.is_entry)
            .any(|function| function.params.iter().any(|parameter| parameter.name.map(|own| module.text(own)) == name))
    };
    matches!(instruction.opcode, Opcode::Mov | Opcode::Cvta) && instruction.operands.iter().skip(1).any(is_parameter)
}

/// Whether an instruction goes to memory of which each engine decides where it is, at an address that is no variable's.
fn goes_astray(instruction: &Instruction, module: &Module, registers: &Registers) -> bool {
    let own = instruction.spaces().any(|space| matches!(space, Space::Const | Space::Param | Space::Local));
    let astray = |operand: &Operand| match operand.address().map(|address| address.base) {
        Some(AddressBase::Name(name)) => registers.ty(module.text(name)).is_some(),
        Some(AddressBase::Absolute | AddressBase::Element(..)) => true,
        _ => false,
    };
    own && instruction.operands.iter().any(astray)
}

/// The module with values for its registers, if nothing else leaves its results open.
///
/// # Errors
/// Why they are open, in words.
pub(super) fn defined(module: &Module) -> Result<Module, &'static str> {
    // What a function gives back may be left out.
    let calls = module.functions().any(|function| !function.is_entry && function.body.is_some());
    let registers = Registers::of(module);
    let astray = instructions(module).into_iter().any(|instruction| goes_astray(instruction, module, &registers));
    let reasons = [
        (calls, "it calls a function, which may leave results out"),
        (astray, "it goes to memory that each engine has elsewhere"),
        (
            instructions(module).into_iter().any(is_approximate),
            "it approximates, or reads what each engine has of its own",
        ),
        (
            instructions(module).into_iter().any(|instruction| takes_parameter(instruction, module)),
            "it takes the address of a parameter",
        ),
        (bodies(module).any(has_own_memory), "it has memory that begins with anything"),
    ];
    match reasons.into_iter().find(|(holds, _)| *holds) {
        Some((_, reason)) => Err(reason),
        None => with_values(module),
    }
}

/// The module with a value for each register where it is declared, from a stream.
///
/// # Errors
/// Where a type has no constants, in words.
pub(super) fn with_values(module: &Module) -> Result<Module, &'static str> {
    fn fill(block: &mut Block, symbols: &mut SymbolTable, used: &BTreeSet<String>, rng: &mut Rng) -> Option<()> {
        let mut at = 0;
        while at < block.statements.len() {
            let mut added = Vec::new();
            match &mut block.statements[at] {
                Statement::Block(inner) => fill(inner, symbols, used, rng)?,
                Statement::Registers(declared) => {
                    for register in registers(declared, symbols, used) {
                        // Small numbers: they are indices and counts as often as not.
                        let bits = if declared.ty.is_float() { rng.u64(..) } else { rng.u64(..16) };
                        added.push(set(symbols, &register, declared.ty, bits)?);
                    }
                }
                _ => {}
            }
            let more = added.len();
            block.statements.splice(at + 1..at + 1, added);
            at += 1 + more;
        }
        Some(())
    }
    let mut made = module.clone();
    let mentioned = instructions(module).into_iter().flat_map(names);
    let used: BTreeSet<String> = mentioned.map(|name| module.text(name).to_owned()).collect();
    let mut symbols = std::mem::take(&mut made.symbols);
    let mut rng = Rng::with_seed(used.len() as u64);
    let filled = bodies_mut(&mut made).try_for_each(|block| fill(block, &mut symbols, &used, &mut rng));
    made.symbols = symbols;
    filled.map(|()| made).ok_or("a register has a type without constants")
}

/// The registers of a declaration that are mentioned; of vectors their elements.
fn registers(declared: &RegisterDecl, symbols: &SymbolTable, used: &BTreeSet<String>) -> Vec<String> {
    const ELEMENTS: [&str; 4] = [".x", ".y", ".z", ".w"];
    let mut all = Vec::new();
    for one in &declared.names {
        let stem = symbols.text(one.name.sym);
        let is_of = |name: &&String| match (name.strip_prefix(stem), one.count) {
            (Some(""), None) => true,
            (Some(rest), Some(count)) => {
                rest.parse::<u32>().is_ok_and(|number| number < count && !rest.starts_with('+'))
            }
            _ => false,
        };
        for name in used.iter().filter(is_of) {
            match declared.vector {
                None => all.push(name.clone()),
                Some(len) => all.extend(ELEMENTS.iter().take(len.len()).map(|element| format!("{name}{element}"))),
            }
        }
    }
    all
}
