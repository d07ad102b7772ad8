//! Where the variables and functions of a module are.

mod shared;

use crate::space::CONSTANT_WINDOW;
use oriole_ptx::ast::{Function, Init, Linkage, Module, Name, ScalarType, Space, Statement, Variable};
use rustc_hash::FxHashMap;

/// Address of the module's first global variable.
const GLOBAL_BASE: u64 = 0x6_0000_0000;
/// Address of the first function; the others follow at distances of [`CODE_STEP`].
const CODE_BASE: u64 = 0x4_0000_0000;
const CODE_STEP: u64 = 128;
/// Bytes that the system keeps at the start of shared memory from sm_90 on.
const RESERVED_SHARED: u32 = 1024;
/// The most that global variables may take, so that a wild declaration does not eat the host's memory.
const MOST_GLOBAL: u64 = 1 << 30;
/// The most that `.const` variables may take: the size of their window.
const MOST_CONSTANT: u64 = 1 << 24;

/// Address of function number `number`.
pub(crate) fn function_address(number: u32) -> u64 {
    CODE_BASE + CODE_STEP * u64::from(number)
}

/// Number of the function at `address`; it need not exist.
pub(crate) fn function_at(address: u64) -> Option<u32> {
    let distance = address.checked_sub(CODE_BASE).filter(|distance| distance.is_multiple_of(CODE_STEP))?;
    u32::try_from(distance / CODE_STEP).ok()
}

/// A variable, told apart from others of its name by where it is declared.
pub(crate) type Key = (u32, u32);

/// The key of a declared name.
pub(crate) fn key(name: Name) -> Key {
    (name.sym.index() as u32, name.span.start)
}

/// Where a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// Global memory, at an address.
    Global(u64),
    /// The module's constants, at an offset.
    Constant(u64),
    /// Shared memory, at an address.
    Shared(u64),
    /// Dynamic shared memory.
    DynamicShared,
    /// No memory: a texture, surface or sampler, by its number in [`Layout::objects`].
    Object(u32),
}

impl Home {
    /// The address in its own space and the generic one; `None` where only a block knows it.
    pub(crate) fn addresses(self) -> Option<(u64, u64)> {
        match self {
            Home::Global(address) => Some((address, address)),
            Home::Constant(offset) => Some((offset, CONSTANT_WINDOW + offset)),
            Home::Shared(_) | Home::DynamicShared | Home::Object(_) => None,
        }
    }
}

/// One variable in global or constant memory.
pub(crate) struct Static {
    /// Its name.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) home: Home,
    /// Its size in bytes.
    pub(crate) size: u64,
}

/// What a variable that is no memory stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    /// `.texref`
    Texture,
    /// `.samplerref`
    Sampler,
    /// `.surfref`
    Surface,
}

impl ObjectKind {
    /// That of a type.
    pub(crate) fn of(ty: ScalarType) -> Option<ObjectKind> {
        match ty {
            ScalarType::Texref => Some(ObjectKind::Texture),
            ScalarType::Samplerref => Some(ObjectKind::Sampler),
            ScalarType::Surfref => Some(ObjectKind::Surface),
            _ => None,
        }
    }

    /// The bit of the variable's handle that tells what it is of, as in ptxas's code; `istypep` asks for it.
    pub(crate) fn bit(self) -> u64 {
        match self {
            ObjectKind::Texture => 1 << 61,
            ObjectKind::Sampler => 1 << 62,
            ObjectKind::Surface => 1 << 63,
        }
    }
}

/// A variable that a launch lets mean a texture, surface or sampler.
#[derive(Clone, Debug)]
pub(crate) struct ObjectVariable {
    /// Its name.
    pub(crate) name: String,
    /// What it stands for.
    pub(crate) kind: ObjectKind,
}

/// All variables of a module and what they hold at first.
#[derive(Default)]
pub(crate) struct Layout {
    /// Where each is.
    pub(crate) homes: FxHashMap<Key, Home>,
    /// Those that a launch can be asked to fill.
    pub(crate) statics: Vec<Static>,
    /// Textures, surfaces and samplers.
    pub(crate) objects: Vec<ObjectVariable>,
    /// First contents of the global variables.
    pub(crate) global: Vec<u8>,
    /// Contents of `.const` variables.
    pub(crate) constants: Vec<u8>,
    /// First address of shared variables.
    pub(crate) shared_base: u32,
    /// Where dynamic shared memory begins for each kernel, behind its variables, by the index of its item.
    pub(crate) kernels: FxHashMap<usize, u64>,
}

/// Why a module's variables cannot be laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LayoutError(pub(crate) String);

/// The next multiple of a variable's alignment.
pub(crate) fn align(at: u64, variable: &Variable) -> u64 {
    at.next_multiple_of(u64::from(variable.alignment()))
}

/// Address of the module's global variables.
pub(crate) fn global_base() -> u64 {
    GLOBAL_BASE
}

/// The number in `.target sm_90a`; 0 without one.
pub(crate) fn architecture(module: &Module) -> u32 {
    let sm = module.target.iter().find_map(|word| word.strip_prefix("sm_"));
    sm.map_or("", |sm| sm.trim_end_matches(char::is_alphabetic)).parse().unwrap_or(0)
}

impl Layout {
    /// Lays a module out; gives the variables in global and constant memory too, whose first contents are still zero.
    pub(crate) fn new(module: &Module) -> Result<(Layout, Vec<&Variable>), LayoutError> {
        let shared_base = if architecture(module) >= 90 { RESERVED_SHARED } else { 0 };
        let mut layout = Layout { shared_base, ..Layout::default() };
        shared::place(module, &mut layout)?;
        let mut filled = Vec::new();
        let bodies = module.functions().filter_map(|function| function.body.as_ref());
        for variable in module.variables().chain(bodies.flat_map(variables)) {
            layout.place(module, variable, &mut filled)?;
        }
        for kernel in module.functions().filter(|function| function.is_entry) {
            for parameter in &kernel.params {
                layout.place_parameter(module, kernel, parameter);
            }
        }
        Ok((layout, filled))
    }

    /// A kernel's parameter that is a texture, surface or sampler has the kernel's name before its own where another has
    /// that name.
    fn place_parameter(&mut self, module: &Module, kernel: &Function, parameter: &Variable) {
        let (Some(kind), Some(name)) = (ObjectKind::of(parameter.ty), parameter.name) else { return };
        let own = module.text(name);
        let is_taken = self.objects.iter().any(|object| object.name == own);
        let text = if is_taken { format!("{}${own}", module.text(kernel.name)) } else { own.to_owned() };
        self.place_object(name, ObjectVariable { name: text, kind });
    }

    fn place_object(&mut self, name: Name, object: ObjectVariable) {
        self.homes.insert(key(name), Home::Object(self.objects.len() as u32));
        self.objects.push(object);
    }

    /// Places a variable in global or constant memory.
    fn place<'m>(
        &mut self,
        module: &Module,
        variable: &'m Variable,
        filled: &mut Vec<&'m Variable>,
    ) -> Result<(), LayoutError> {
        let Some(name) = variable.name else { return Ok(()) };
        let too_large = || too_large(module, name);
        if let (Some(kind), Space::Global | Space::Tex) = (ObjectKind::of(variable.ty), variable.space) {
            self.place_object(name, ObjectVariable { name: module.text(name).to_owned(), kind });
            return Ok(());
        }
        let (home, size) = match variable.space {
            // Another module's: known only to those who link.
            Space::Global | Space::Const if variable.linkage == Linkage::Extern => return Ok(()),
            Space::Global => {
                let size = variable_size(variable).ok_or_else(too_large)?;
                let start = grow(&mut self.global, variable, size, MOST_GLOBAL).ok_or_else(too_large)?;
                (Home::Global(GLOBAL_BASE + start), size)
            }
            Space::Const => {
                let size = variable_size(variable).ok_or_else(too_large)?;
                let start = grow(&mut self.constants, variable, size, MOST_CONSTANT).ok_or_else(too_large)?;
                (Home::Constant(start), size)
            }
            _ => return Ok(()),
        };
        self.statics.push(Static { name: module.text(name).to_owned(), home, size });
        filled.push(variable);
        self.homes.insert(key(name), home);
        Ok(())
    }
}

/// A variable has no room.
fn too_large(module: &Module, name: Name) -> LayoutError {
    LayoutError(format!("variable '{}' does not fit into its memory", module.text(name)))
}

/// Size in bytes; an open dimension is as long as the initial value.
fn variable_size(variable: &Variable) -> Option<u64> {
    if !variable.dims.contains(&None) {
        return variable.size();
    }
    let count = match &variable.init {
        Some(Init::List(items, _)) => items.len() as u64,
        Some(Init::Text(text, _)) => text.len() as u64 + 1,
        _ => 0,
    };
    let closed = Variable {
        dims: variable.dims.iter().map(|dim| dim.or(Some(count))).collect(),
        init: None,
        ..variable.clone()
    };
    closed.size()
}

/// Where a variable goes that follows `end`, if it ends at `most` or before.
fn place_after(end: u64, variable: &Variable, size: u64, most: u64) -> Option<u64> {
    let start = align(end, variable);
    start.checked_add(size).filter(|&end| end <= most).map(|_| start)
}

fn grow(bytes: &mut Vec<u8>, variable: &Variable, size: u64, most: u64) -> Option<u64> {
    let start = place_after(bytes.len() as u64, variable, size, most)?;
    bytes.resize((start + size) as usize, 0);
    Some(start)
}

/// The variables that a body declares, nested blocks included.
pub(crate) fn variables(block: &oriole_ptx::ast::Block) -> Vec<&Variable> {
    let mut found = Vec::new();
    for statement in &block.statements {
        match statement {
            Statement::Variable(variable) => found.push(&**variable),
            Statement::Block(inner) => found.append(&mut variables(inner)),
            _ => {}
        }
    }
    found
}
