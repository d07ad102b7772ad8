//! Names of a function become slots of registers, places in the frame, addresses and numbers of labels; operands become
//! sources and destinations.

mod call;
mod operand;

use crate::arith::Unsupported;
use crate::code::{Element, Parameter};
use crate::layout::{self, Home, Key, Layout, LayoutError, ObjectKind, ObjectVariable};
use crate::operand::Source;
use crate::space::Named;
use oriole_device::argument::Slot;
use oriole_ptx::ast::{self, Item, Module, Name, Operand, Space, Sym, Variable};
use oriole_ptx::scope::{Binding, Scopes};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

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

/// What the names of a function stand for: the slots, places and numbers that its operations have instead.
pub(crate) struct Builder<'b, 'm> {
    module: &'m Module,
    layout: &'b Layout,
    /// Number of each function that a name stands for.
    numbers: &'b FxHashMap<Sym, u32>,
    functions: &'b [&'m ast::Function],
    /// The names in scope where the function is read.
    pub(crate) scopes: &'b mut Scopes<'m>,
    /// Slot of each register (its number and element) that is used.
    slots: FxHashMap<(u32, u8), u32>,
    next_slot: u32,
    frame: FxHashMap<Key, FramePlace>,
    /// The function is a kernel.
    is_kernel: bool,
    /// Offsets of the kernel's parameters.
    parameters: FxHashMap<Key, u32>,
    /// Number of each label that is named; branches hold numbers until all places are known.
    labels: FxHashMap<Key, u32>,
}

/// The number of the function that each name stands for: its definition where there is one.
pub(crate) fn numbers(module: &Module, functions: &[&ast::Function]) -> FxHashMap<Sym, u32> {
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

/// The parameters of a kernel that have bytes: textures, samplers and surfaces have none, launches bind them by name.
fn parameters_in_memory(function: &ast::Function) -> impl Iterator<Item = &Variable> {
    function.params.iter().filter(|param| ObjectKind::of(param.ty).is_none())
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
    parameters_in_memory(function).map(place).collect()
}

/// The form of an instruction that the checker should not have let through.
pub(crate) fn form(what: &str) -> Unsupported {
    Unsupported(format!("this form of {what}"))
}

impl<'b, 'm> Builder<'b, 'm> {
    /// The names of a function of `module`; `functions` are all of its functions, and `numbers` has that of each name.
    pub(crate) fn new(
        module: &'m Module,
        layout: &'b Layout,
        numbers: &'b FxHashMap<Sym, u32>,
        functions: &'b [&'m ast::Function],
        scopes: &'b mut Scopes<'m>,
    ) -> Self {
        Builder {
            module,
            layout,
            numbers,
            functions,
            scopes,
            slots: FxHashMap::default(),
            next_slot: 0,
            frame: FxHashMap::default(),
            is_kernel: false,
            parameters: FxHashMap::default(),
            labels: FxHashMap::default(),
        }
    }

    /// True where an instruction on this space reaches, through a register, the parameters of a kernel: nothing writes them.
    pub(crate) fn is_read_only(&self, space: Option<Space>, location: &Location) -> bool {
        let parameter = matches!(space, Some(Space::Param | Space::ParamEntry | Space::ParamFunc));
        let register = matches!(location.base, Source::Register { .. } | Source::Affine { .. });
        self.is_kernel && parameter && register
    }

    /// Slots of registers that are used.
    pub(crate) fn slots(&self) -> u32 {
        self.next_slot
    }

    /// Gives each `.local` and `.param` variable its place in the frame, an unsized parameter the last;
    /// gives the size of the frame.
    pub(crate) fn lay_out_frame(&mut self, function: &'m ast::Function) -> Result<u32, LayoutError> {
        let too_large = || LayoutError(format!("the frame of '{}' is too large", self.module.text(function.name)));
        self.is_kernel = function.is_entry;
        if function.is_entry {
            for (param, slot) in parameters_in_memory(function).zip(parameter_slots(function)) {
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

    /// Where a parameter or result of a function lives.
    pub(crate) fn parameter(&mut self, variable: &'m Variable) -> Parameter {
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

    /// Samplers stand by themselves (`texmode_independent`).
    pub(crate) fn has_separate_samplers(&self) -> bool {
        self.module.target.iter().any(|word| word == "texmode_independent")
    }

    /// The variable of that name that stands for a texture, surface or sampler.
    pub(crate) fn object(&self, name: Name) -> Option<(u32, &ObjectVariable)> {
        let Some(Binding::Variable(variable)) = self.scopes.lookup(name.sym) else { return None };
        match self.layout.homes.get(&layout::key(variable.name?)) {
            Some(&Home::Object(number)) => Some((number, &self.layout.objects[number as usize])),
            _ => None,
        }
    }

    /// Where a kernel's parameter of that name is among all.
    pub(crate) fn kernel_parameter(&self, name: Name) -> Option<u32> {
        let Some(Binding::Variable(variable)) = self.scopes.lookup(name.sym) else { return None };
        self.parameters.get(&layout::key(variable.name?)).copied()
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

    /// The number of a declared label.
    pub(crate) fn label_number(&mut self, declared: Name) -> u32 {
        let next = self.labels.len() as u32;
        *self.labels.entry(layout::key(declared)).or_insert(next)
    }
}
