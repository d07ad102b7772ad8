//! Function bodies: statements, instructions, operands.

use super::Printer;
use crate::ast::{
    Address, AddressBase, Block, Instruction, Loc, Name, Operand, Prototype, RegisterDecl, Selector, SpecialReg,
    Statement, TargetList,
};
use oriole_checkpoint::checkpoint;

impl Printer<'_> {
    pub(super) fn block(&mut self, block: &Block) {
        self.line();
        self.text("{\n");
        self.indent += 1;
        let mut previous = None;
        for statement in &block.statements {
            checkpoint(16);
            if previous.is_some_and(|previous| self.starts_paragraph(previous, statement)) {
                self.text("\n");
            }
            self.statement(statement);
            previous = Some(statement);
        }
        self.indent -= 1;
        self.line();
        self.text("}\n");
    }

    /// True where an empty line helps a reader: before labels, and behind the declarations of a body.
    fn starts_paragraph(&self, previous: &Statement, next: &Statement) -> bool {
        let declares = |statement: &Statement| matches!(statement, Statement::Registers(_) | Statement::Variable(_));
        let of_body = self.indent == 1 && declares(previous) && !declares(next);
        of_body || (matches!(next, Statement::Label(_)) && !matches!(previous, Statement::Label(_)))
    }

    fn statement(&mut self, statement: &Statement) {
        if let Statement::Block(block) = statement {
            return self.block(block);
        }
        if let Statement::Label(name) = statement {
            self.name(*name);
            return self.text(":\n");
        }
        self.line();
        match statement {
            Statement::Instruction(instruction) => self.instruction(instruction),
            Statement::Registers(declaration) => self.registers(declaration),
            Statement::Variable(variable) => self.variable(variable),
            Statement::Pragma(words) => self.pragma(words),
            Statement::Prototype(prototype) => self.prototype(prototype),
            Statement::CallTargets(list) => self.targets(".calltargets", list),
            Statement::BranchTargets(list) => self.targets(".branchtargets", list),
            Statement::Loc(loc) => {
                self.loc(loc);
                return self.text("\n");
            }
            Statement::Block(_) | Statement::Label(_) => {}
        }
        self.text(";\n");
    }

    pub(super) fn registers(&mut self, declaration: &RegisterDecl) {
        self.text(".reg ");
        if let Some(vector) = declaration.vector {
            self.put(format_args!(".{vector} "));
        }
        self.put(format_args!(".{} ", declaration.ty));
        self.comma_list(&declaration.names, |p, register| {
            p.name(register.name);
            if let Some(count) = register.count {
                p.put(format_args!("<{count}>"));
            }
        });
    }

    fn prototype(&mut self, prototype: &Prototype) {
        self.name(prototype.label);
        self.text(": .callprototype ");
        if !prototype.rets.is_empty() {
            self.parameters(&prototype.rets);
            self.text(" ");
        }
        self.text("_ ");
        self.parameters(&prototype.params);
        for directive in &prototype.directives {
            self.text(" ");
            self.function_directive(directive);
        }
    }

    fn targets(&mut self, directive: &str, list: &TargetList) {
        self.name(list.label);
        self.put(format_args!(": {directive} "));
        self.comma_list(&list.targets, |p, name| p.name(*name));
    }

    pub(super) fn loc(&mut self, loc: &Loc) {
        let word = if loc.is_intermediate { ".loc_intermediate" } else { ".loc" };
        self.put(format_args!("{word} {} {} {}", loc.file, loc.line, loc.column));
        if let Some(at) = &loc.inlined {
            self.text(", function_name ");
            self.name(at.function);
            self.offset(at.offset);
            self.put(format_args!(", inlined_at {} {} {}", at.file, at.line, at.column));
        }
    }

    pub(super) fn instruction(&mut self, instruction: &Instruction) {
        if let Some(guard) = instruction.guard {
            self.text(if guard.negated { "@!" } else { "@" });
            self.name(guard.pred);
            self.text(" ");
        }
        self.text(instruction.opcode.as_str());
        for modifier in &instruction.modifiers {
            // Writing to a `String` cannot fail.
            let _ = modifier.write(self.symbols, &mut self.out);
        }
        if !instruction.operands.is_empty() {
            self.text(" ");
            self.comma_list(&instruction.operands, Self::operand);
        }
    }

    pub(super) fn operand(&mut self, operand: &Operand) {
        match operand {
            Operand::Name(name) => self.name(*name),
            Operand::Offset { name, offset, element: false } => {
                self.name(*name);
                self.put(format_args!("+{offset}"));
            }
            Operand::Offset { name, offset, element: true } => {
                self.name(*name);
                self.put(format_args!("[{offset}]"));
            }
            Operand::Part(name, part) => self.part(*name, *part),
            Operand::Special { reg, part, .. } => self.special(*reg, *part),
            Operand::Imm(imm, _) => self.imm(*imm),
            Operand::Not(inner, _) => self.prefixed("!", inner),
            Operand::Neg(inner, _) => self.prefixed("-", inner),
            Operand::Sink(_) => self.text("_"),
            Operand::Vector(items, _) => self.enclosed("{", items, "}"),
            Operand::List(items, _) => self.enclosed("(", items, ")"),
            Operand::Pair(pair) => {
                self.operand(&pair[0]);
                self.text("|");
                self.operand(&pair[1]);
            }
            Operand::Address(address) => self.address(address),
        }
    }

    fn prefixed(&mut self, sign: &str, inner: &Operand) {
        self.text(sign);
        self.operand(inner);
    }

    fn enclosed(&mut self, open: &str, items: &[Operand], close: &str) {
        self.text(open);
        self.comma_list(items, Self::operand);
        self.text(close);
    }

    fn part(&mut self, name: Name, part: Selector) {
        self.name(name);
        self.put(format_args!(".{part}"));
    }

    fn special(&mut self, reg: SpecialReg, part: Option<Selector>) {
        self.put(format_args!("%{reg}"));
        if let Some(part) = part {
            self.put(format_args!(".{part}"));
        }
    }

    fn address(&mut self, address: &Address) {
        if let AddressBase::Item(array, index) = address.base {
            return self.array_item(array, index, address.offset);
        }
        self.text("[");
        match address.base {
            // Handled above: it has brackets of its own.
            AddressBase::Item(..) => {}
            AddressBase::Name(name) => self.name(name),
            AddressBase::Element(name, part) => self.part(name, part),
            AddressBase::Absolute => self.put(format_args!("{}", address.offset as u64)),
        }
        if address.base != AddressBase::Absolute {
            self.offset(address.offset);
        }
        for operand in &address.rest {
            self.text(", ");
            self.operand(operand);
        }
        self.text("]");
    }

    fn array_item(&mut self, array: Name, index: Option<Name>, offset: i64) {
        self.name(array);
        self.text("[");
        match index {
            Some(index) => {
                self.name(index);
                self.offset(offset);
            }
            None => self.put(format_args!("{offset}")),
        }
        self.text("]");
    }
}
