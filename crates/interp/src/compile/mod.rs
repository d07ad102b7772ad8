//! From the syntax tree to operations: names become slots and addresses, labels become places.

mod call;
mod meet;
mod operand;

use crate::arith::{self, Unsupported};
use crate::code::{Action, ArithmeticOp, Element, Function, Op, Parameter, Pc, Source};
use crate::exec;
use crate::layout::{self, Key, Layout, LayoutError};
use crate::space::Named;
use crate::state::{State, lanes_of};
use oriole_device::argument::Slot;
use oriole_ptx::ast::{
    self, Block, Instruction, Item, Module, Name, Opcode, Operand, Semantics, Space, Statement, Sym, Variable, Word,
};
use oriole_ptx::scope::{Binding, Scopes};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Cost of an operation that a thread which waits for another one repeats: an atomic, a strong load.
const POLL: u32 = 256;

/// Where an instruction finds memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Location {
    /// What the offset is added to.
    pub(crate) base: Source,
    /// Bytes added, modulo 2^64.
    pub(crate) offset: u64,
    /// Added too: the place of an element of an array.
    pub(crate) index: Option<Source>,
    /// The space of the address.
    pub(crate) space: Named,
}

/// A place in the frame.
#[derive(Clone, Copy, Debug)]
struct FramePlace {
    offset: u32,
    size: u32,
}

/// Makes the operations of one function.
pub(crate) struct Builder<'b, 'm> {
    module: &'m Module,
    layout: &'b Layout,
    /// Number of each function that a name stands for.
    numbers: &'b FxHashMap<Sym, u32>,
    functions: &'b [&'m ast::Function],
    scopes: &'b mut Scopes<'m>,
    ops: Vec<Op<'m>>,
    /// Slot of each register (its number and element) that is used.
    slots: FxHashMap<(u32, u8), u32>,
    next_slot: u32,
    frame: FxHashMap<Key, FramePlace>,
    /// Offsets of the kernel's parameters.
    parameters: FxHashMap<Key, u32>,
    /// Number of each label that is named; branches hold numbers until all places are known.
    labels: FxHashMap<Key, u32>,
    places: Vec<Option<Pc>>,
}

/// All functions of a module, in order.
pub(crate) fn module<'m>(module: &'m Module, layout: &Layout) -> Result<Vec<Function<'m>>, LayoutError> {
    let functions: Vec<&ast::Function> = module.functions().collect();
    let numbers = numbers(module, &functions);
    let (mut scopes, _) = Scopes::new(module);
    let indices = module.items.iter().enumerate().filter(|(_, item)| matches!(item, Item::Function(_)));
    let mut compiled = Vec::with_capacity(functions.len());
    for (&function, (index, _)) in functions.iter().zip(indices) {
        let shared = layout.kernels.get(&index).copied().unwrap_or(layout.shared);
        let builder = Builder {
            module,
            layout,
            numbers: &numbers,
            functions: &functions,
            scopes: &mut scopes,
            ops: Vec::new(),
            slots: FxHashMap::default(),
            next_slot: 0,
            frame: FxHashMap::default(),
            parameters: FxHashMap::default(),
            labels: FxHashMap::default(),
            places: Vec::new(),
        };
        compiled.push(builder.function(function, shared as u32)?);
    }
    Ok(compiled)
}

/// The number of the function that each name stands for: its definition where there is one.
fn numbers(module: &Module, functions: &[&ast::Function]) -> FxHashMap<Sym, u32> {
    let mut numbers: FxHashMap<Sym, u32> = FxHashMap::default();
    for (number, function) in (0..).zip(functions) {
        if function.body.is_some() || !numbers.contains_key(&function.name.sym) {
            numbers.insert(function.name.sym, number);
        }
    }
    for item in &module.items {
        if let Item::Alias { name, aliasee } = item
            && let Some(&number) = numbers.get(&aliasee.sym)
        {
            numbers.insert(name.sym, number);
        }
    }
    numbers
}

/// The places of a kernel's parameters, by CUDA's rules: in order, each at a multiple of its alignment.
pub(crate) fn parameter_slots(function: &ast::Function) -> Vec<Slot> {
    let mut end = 0;
    let place = |param: &Variable| {
        let size = param.size().and_then(|size| u32::try_from(size).ok()).unwrap_or(0);
        let offset = layout::align(end, param) as u32;
        end = u64::from(offset) + u64::from(size);
        Slot { offset, size }
    };
    function.params.iter().map(place).collect()
}

impl<'m> Builder<'_, 'm> {
    fn function(mut self, function: &'m ast::Function, shared: u32) -> Result<Function<'m>, LayoutError> {
        self.scopes.enter_function(function);
        let frame = self.lay_out_frame(function)?;
        let parameters = |variables: &'m [Variable], builder: &mut Self| -> Vec<Parameter> {
            let of = |variable| builder.parameter(variable);
            if function.is_entry { Vec::new() } else { variables.iter().map(of).collect() }
        };
        let params = parameters(&function.params, &mut self);
        let rets = parameters(&function.rets, &mut self);
        if let Some(body) = &function.body {
            self.block(body);
        }
        self.ops.push(Op { inst: None, guard: None, action: Action::Return, cost: 1 });
        self.place_labels();
        meet::set_meeting_points(&mut self.ops);
        self.scopes.leave();
        Ok(Function {
            name: self.module.text(function.name),
            declaration: function,
            ops: self.ops,
            slots: self.next_slot,
            frame,
            shared,
            params,
            rets,
        })
    }

    /// Gives each `.local` and `.param` variable its place in the frame, an unsized parameter the last;
    /// gives the size of the frame.
    fn lay_out_frame(&mut self, function: &'m ast::Function) -> Result<u32, LayoutError> {
        let too_large = || LayoutError(format!("the frame of '{}' is too large", self.module.text(function.name)));
        if function.is_entry {
            for (param, slot) in function.params.iter().zip(parameter_slots(function)) {
                self.parameters.extend(param.name.map(|name| (layout::key(name), slot.offset)));
            }
        }
        let formals = function.rets.iter().chain(&function.params).filter(|_| !function.is_entry);
        let inner = function.body.iter().flat_map(layout::variables);
        let in_frame = |variable: &&Variable| matches!(variable.space, Space::Local | Space::Param);
        let mut variables: Vec<&Variable> = formals.chain(inner).filter(in_frame).collect();
        variables.sort_by_key(|variable| variable.size() == Some(0));
        let mut end = 0;
        for variable in variables {
            let size = variable.size().and_then(|size| u32::try_from(size).ok()).ok_or_else(too_large)?;
            let offset = u32::try_from(layout::align(end, variable)).map_err(|_| too_large())?;
            end = u64::from(offset) + u64::from(size);
            self.frame.extend(variable.name.map(|name| (layout::key(name), FramePlace { offset, size })));
        }
        u32::try_from(end).map_err(|_| too_large())
    }

    fn parameter(&mut self, variable: &'m Variable) -> Parameter {
        let place = variable.name.and_then(|name| self.frame.get(&layout::key(name)));
        if let Some(&FramePlace { offset, size }) = place {
            return Parameter::Frame { offset, size };
        }
        let binding = variable.name.and_then(|name| self.scopes.lookup(name.sym));
        match binding {
            Some(Binding::Register(register)) => {
                let count = register.vector.map_or(1, |vector| vector.len() as u8);
                let element = |number| Element {
                    source: self.register_source(register, number, register.ty),
                    destination: self.register_destination(register, number, register.ty),
                };
                Parameter::Register((0..count).map(element).collect())
            }
            // No name refers to it.
            _ => Parameter::Register(SmallVec::new()),
        }
    }

    fn block(&mut self, block: &'m Block) {
        for statement in &block.statements {
            self.scopes.declare(statement);
            match statement {
                Statement::Instruction(inst) => self.instruction(inst),
                Statement::Label(name) => {
                    let number = self.label_number(*name);
                    self.places[number as usize] = Some(self.ops.len() as Pc);
                }
                Statement::Block(inner) => {
                    self.scopes.enter_block(inner);
                    self.block(inner);
                    self.scopes.leave();
                }
                _ => {}
            }
        }
    }

    fn instruction(&mut self, inst: &'m Instruction) {
        let compiled = match inst.opcode {
            // The only one whose elements depend on how its operands are written.
            Opcode::Mov => self.action(&inst.with_vectors_spread(|name| match self.scopes.lookup(name.sym) {
                Some(Binding::Register(register)) => register.vector.map(|vector| vector.len()),
                _ => None,
            })),
            _ => self.action(inst),
        };
        let guard = inst.guard.map(|guard| (self.predicate(guard.pred), !guard.negated));
        let action = compiled.unwrap_or_else(|Unsupported(reason)| Action::Unsupported(reason));
        self.ops.push(Op { inst: Some(inst), guard, action, cost: cost(inst) });
    }

    fn action(&mut self, inst: &Instruction) -> Result<Action, Unsupported> {
        if let Some(copy) = self.plain_move(inst)? {
            return Ok(copy);
        }
        if let Some(action) = exec::compile(inst, self)? {
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
        let (to, from) = (self.destinations(to, ty)?, self.sources(from, ty)?);
        match (&to[..], &from[..]) {
            ([to], [from]) => Ok(Some(Action::Copy(*from, *to))),
            _ => Ok(None),
        }
    }

    fn arithmetic(&mut self, inst: &Instruction, arithmetic: arith::Arithmetic) -> Result<Action, Unsupported> {
        let wrong = || Unsupported(format!("this form of {}", inst.opcode));
        let (to, from) = inst.operands.split_first().ok_or_else(wrong)?;
        let destinations = self.typed_destinations(to, &arithmetic.destinations).ok_or_else(wrong)??;
        let sources = self.typed_sources(from, &arithmetic.sources).ok_or_else(wrong)??;
        Ok(Action::Arithmetic(Box::new(ArithmeticOp { arithmetic, sources, destinations })))
    }

    /// The number of the architecture that the module is for.
    pub(crate) fn architecture(&self) -> u32 {
        layout::architecture(self.module)
    }

    /// The number of a label that a branch names.
    pub(crate) fn label(&mut self, name: Name) -> Result<u32, Unsupported> {
        match self.scopes.lookup(name.sym) {
            Some(Binding::Label(declared)) => Ok(self.label_number(declared)),
            _ => Err(Unsupported(format!("a branch to '{}'", self.module.text(name)))),
        }
    }

    /// The labels of a `.branchtargets`.
    pub(crate) fn branch_table(&mut self, list: &Operand) -> Result<Vec<u32>, Unsupported> {
        match list.name().and_then(|name| self.scopes.lookup(name.sym)) {
            Some(Binding::BranchTargets(list)) => list.targets.iter().map(|&name| self.label(name)).collect(),
            _ => Err(Unsupported("a branch table without a list of targets".to_owned())),
        }
    }

    fn label_number(&mut self, declared: Name) -> u32 {
        let next = self.places.len() as u32;
        let number = *self.labels.entry(layout::key(declared)).or_insert(next);
        if number == next {
            self.places.push(None);
        }
        number
    }

    /// Replaces the numbers of labels by their places.
    fn place_labels(&mut self) {
        let end = self.ops.len() as Pc - 1;
        let place = |label: &mut Pc| *label = self.places[*label as usize].unwrap_or(end);
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

impl ArithmeticOp {
    /// Computes the results of the threads of `mask`.
    #[inline]
    pub(crate) fn run(&self, state: &mut State, mask: u32) {
        let mut values: SmallVec<[arith::Bits; 8]> = SmallVec::from_elem(0, self.sources.len());
        for lane in lanes_of(mask) {
            for (value, source) in values.iter_mut().zip(&self.sources) {
                *value = state.get(source, lane);
            }
            let carry = state.carry >> lane & 1 != 0;
            let results = (self.arithmetic.run)(&arith::Sources { values: &values, carry });
            for (destination, &value) in self.destinations.iter().zip(&results.values) {
                state.set(destination, lane, value);
            }
            if let Some(carry) = results.carry {
                state.carry = state.carry & !(1 << lane) | u32::from(carry) << lane;
            }
        }
    }
}
