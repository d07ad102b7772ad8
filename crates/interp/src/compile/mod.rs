//! From the syntax tree to operations: names become slots and addresses, labels become places.

mod meet;

use crate::arith::Unsupported;
use crate::builder::{Builder, numbers};
use crate::code::{Action, ArithmeticOp, Function, Op, Parameter};
use crate::layout::{Layout, LayoutError};
use crate::pc::Pc;
use crate::{arith, exec};
use oriole_ptx::ast::{self, Block, Instruction, Item, Module, Opcode, Operand, Semantics, Statement, Variable, Word};
use oriole_ptx::scope::{Binding, Scopes};

/// Cost of an operation that a thread which waits for another one repeats: an atomic, a strong load.
const POLL: u32 = 256;

/// All functions of a module, in order.
pub(crate) fn module<'m>(module: &'m Module, layout: &Layout) -> Result<Vec<Function<'m>>, LayoutError> {
    let functions: Vec<&ast::Function> = module.functions().collect();
    let numbers = numbers(module, &functions);
    let (mut scopes, _) = Scopes::new(module);
    let indices = module.items.iter().enumerate().filter(|(_, item)| matches!(item, Item::Function(_)));
    let mut compiled = Vec::with_capacity(functions.len());
    for (&function, (index, _)) in functions.iter().zip(indices) {
        let shared = layout.kernels.get(&index).copied().unwrap_or_default();
        let builder = Builder::new(module, layout, &numbers, &functions, &mut scopes);
        let compiler = Compiler { module, builder, ops: Vec::new(), places: Vec::new() };
        compiled.push(compiler.function(function, shared as u32)?);
    }
    Ok(compiled)
}

/// Makes the operations of one function.
struct Compiler<'b, 'm> {
    module: &'m Module,
    builder: Builder<'b, 'm>,
    ops: Vec<Op<'m>>,
    /// Where each label is, by number; branches hold numbers until all places are known.
    places: Vec<Option<Pc>>,
}

impl<'m> Compiler<'_, 'm> {
    fn function(mut self, function: &'m ast::Function, shared: u32) -> Result<Function<'m>, LayoutError> {
        self.builder.scopes.enter_function(function);
        let frame = self.builder.lay_out_frame(function)?;
        let parameters = |variables: &'m [Variable], builder: &mut Builder<'_, 'm>| -> Vec<Parameter> {
            let of = |variable| builder.parameter(variable);
            if function.is_entry { Vec::new() } else { variables.iter().map(of).collect() }
        };
        let params = parameters(&function.params, &mut self.builder);
        let rets = parameters(&function.rets, &mut self.builder);
        if let Some(body) = &function.body {
            self.block(body);
        }
        self.ops.push(Op { inst: None, guard: None, action: Action::Return, cost: 1 });
        self.place_labels();
        meet::set_meeting_points(&mut self.ops);
        self.builder.scopes.leave();
        Ok(Function {
            name: self.module.text(function.name),
            declaration: function,
            ops: self.ops,
            slots: self.builder.slots(),
            frame,
            shared,
            params,
            rets,
        })
    }

    fn block(&mut self, block: &'m Block) {
        for statement in &block.statements {
            self.builder.scopes.declare(statement);
            match statement {
                Statement::Instruction(inst) => self.instruction(inst),
                Statement::Label(name) => {
                    let number = self.builder.label_number(*name) as usize;
                    self.places.resize(self.places.len().max(number + 1), None);
                    self.places[number] = Some(self.ops.len() as Pc);
                }
                Statement::Block(inner) => {
                    self.builder.scopes.enter_block(inner);
                    self.block(inner);
                    self.builder.scopes.leave();
                }
                _ => {}
            }
        }
    }

    fn instruction(&mut self, inst: &'m Instruction) {
        let compiled = match inst.opcode {
            // The only one whose elements depend on how its operands are written.
            Opcode::Mov => self.action(&inst.with_vectors_spread(|name| match self.builder.scopes.lookup(name.sym) {
                Some(Binding::Register(register)) => register.vector.map(|vector| vector.len()),
                _ => None,
            })),
            _ => self.action(inst),
        };
        let guard = inst.guard.map(|guard| (self.builder.predicate(guard.pred), !guard.negated));
        let action = compiled.unwrap_or_else(|Unsupported(reason)| Action::Unsupported(reason));
        self.ops.push(Op { inst: Some(inst), guard, action, cost: cost(inst) });
    }

    fn action(&mut self, inst: &Instruction) -> Result<Action, Unsupported> {
        if let Some(copy) = self.plain_move(inst)? {
            return Ok(copy);
        }
        if let Some(action) = exec::compile(inst, &mut self.builder)? {
            return Ok(action);
        }
        if let Some(arithmetic) = arith::compile(inst)? {
            return self.arithmetic(inst, arithmetic);
        }
        let mut name = inst.opcode.as_str().to_owned();
        for modifier in &inst.modifiers {
            // Writing to a string does not fail.
            let _ = modifier.write(&self.module.symbols, &mut name);
        }
        Err(Unsupported(format!("{name} is not interpreted")))
    }

    /// `mov` of one value, which may be an address.
    fn plain_move(&mut self, inst: &Instruction) -> Result<Option<Action>, Unsupported> {
        let (Opcode::Mov, [to, from]) = (inst.opcode, &inst.operands[..]) else { return Ok(None) };
        let Some(ty) = inst.last_type() else { return Ok(None) };
        let is_vector = |operand: &Operand| matches!(operand, Operand::Vector(..));
        if is_vector(to) || is_vector(from) {
            return Ok(None);
        }
        let (to, from) = (self.builder.destinations(to, ty)?, self.builder.sources(from, ty)?);
        match (&to[..], &from[..]) {
            ([to], [from]) => Ok(Some(Action::Copy(*from, *to))),
            _ => Ok(None),
        }
    }

    fn arithmetic(&mut self, inst: &Instruction, arithmetic: arith::Arithmetic) -> Result<Action, Unsupported> {
        let wrong = || Unsupported(format!("this form of {}", inst.opcode));
        let (to, from) = inst.operands.split_first().ok_or_else(wrong)?;
        let destinations = self.builder.typed_destinations(to, &arithmetic.destinations).ok_or_else(wrong)??;
        let sources = self.builder.typed_sources(from, &arithmetic.sources).ok_or_else(wrong)??;
        Ok(Action::Arithmetic(Box::new(ArithmeticOp { arithmetic, sources, destinations })))
    }

    /// Replaces the numbers of labels by their places.
    fn place_labels(&mut self) {
        let end = self.ops.len() as Pc - 1;
        let place = |label: &mut Pc| *label = self.places.get(*label as usize).copied().flatten().unwrap_or(end);
        for op in &mut self.ops {
            match &mut op.action {
                Action::Branch { target, .. } => place(target),
                Action::BranchTable { targets, .. } => targets.iter_mut().for_each(place),
                _ => {}
            }
        }
    }
}

fn cost(inst: &Instruction) -> u32 {
    let strong = |semantics| !matches!(semantics, Semantics::Weak);
    let polls = match inst.opcode {
        Opcode::Atom | Opcode::Nanosleep => true,
        Opcode::Ld => inst.semantics().is_some_and(strong),
        Opcode::Mbarrier => inst.has(Word::TestWait) || inst.has(Word::TryWait),
        _ => false,
    };
    if polls { POLL } else { 1 }
}
