//! Declarations of variables and parameters, and initial values.

use super::Checker;
use crate::ast::{
    Attribute, Function, Imm, Init, Linkage, Name, ScalarType, Space, Span, TypeClass, Variable, VectorLen,
};
use crate::diag::{Diagnostic, Rule};
use crate::grammar::Variant;
use crate::scope::Binding;

/// Size of the constant bank that `.const` variables share, in bytes.
const CONSTANT_BANK: u64 = 0x1_0000;
/// Most bytes of kernel parameters, from PTX 8.1 on (the limit of ptxas 13.0).
const MOST_PARAMETERS: u64 = 0x7ffc;
/// Most bytes of kernel parameters before PTX 8.1.
const FORMER_PARAMETERS: u64 = 4352;
/// Most bytes of `.shared` variables of a kernel.
const MOST_SHARED: u64 = 0xc000;
/// The most shared memory that a block can have on any target: what a target of one chip takes is for the compiler to say.
const MOST_OF_A_CHIP: u64 = 0x38c00;
/// Most bytes of a vector.
const WIDEST_VECTOR: u32 = 16;

/// Types that variables may have, besides opaque ones.
const VARIABLE_TYPES: [ScalarType; 17] = {
    use ScalarType::*;
    [B8, B16, B32, B64, B128, U8, U16, U32, U64, S8, S16, S32, S64, F16, F16x2, F32, F64]
};

impl<'m> Checker<'m> {
    /// A variable at file level.
    pub(super) fn module_variable(&mut self, variable: &'m Variable) {
        let span = place(variable);
        match variable.space {
            Space::Local => self.needs("a `.local` variable at file level", "thread_variables", span),
            Space::Param => {
                return self.declaration(span, "a `.param` variable cannot stand at file level", "");
            }
            Space::Tex => return self.texture_variable(variable),
            _ => {}
        }
        if variable.linkage == Linkage::Weak {
            self.needs("`.weak`", "weak", span);
        }
        if variable.linkage == Linkage::Common && variable.space != Space::Global {
            self.declaration(span, "a `.common` variable must be in `.global` space", "");
        }
        self.variable(variable);
    }

    /// `.tex .u32 name;`, which `.global .texref` has taken the place of.
    fn texture_variable(&mut self, variable: &'m Variable) {
        let span = place(variable);
        self.needs("`.tex` variables", "texture_variables", span);
        if !matches!(variable.ty, ScalarType::U32 | ScalarType::U64) || !variable.dims.is_empty() {
            self.declaration(span, "a `.tex` variable is one `.u32` or `.u64`", "");
        }
    }

    /// A variable in a function.
    pub(super) fn local_variable(&mut self, variable: &'m Variable) {
        if variable.linkage != Linkage::None {
            let message = format!("`.{}` stands only at file level", variable.linkage.as_str());
            return self.declaration(place(variable), message, "move the declaration out of the function");
        }
        if variable.space == Space::Tex {
            return self.declaration(place(variable), "a texture is declared at file level", "");
        }
        if variable.space == Space::Param && (self.module.version >= (1, 4) || !self.in_kernel()) {
            self.needs("a `.param` variable in a body", "call_parameters", place(variable));
        }
        self.variable(variable);
        if let Some(init) = &variable.init {
            self.initial_value(variable, init);
        }
        if variable.space == Space::Shared && self.in_kernel() {
            self.shared = end_after(self.shared, variable);
            let of_one_chip = self.target.is_some_and(|target| target.variant == Variant::Specific);
            let most = if of_one_chip { MOST_OF_A_CHIP } else { MOST_SHARED };
            if self.shared > most {
                let message = format!("the kernel declares {} bytes of shared memory, more than {most}", self.shared);
                let help = "declare `.extern .shared` and give the size at the launch";
                self.error(Diagnostic::new(place(variable), message).rule(Rule::SharedMemory).help(help));
            }
        }
    }

    /// True in the body of a kernel.
    fn in_kernel(&self) -> bool {
        self.current.is_some_and(|function| function.is_entry)
    }

    fn variable(&mut self, variable: &'m Variable) {
        let span = place(variable);
        self.variable_type(variable);
        self.vector_size(variable.ty, variable.vector, span);
        let initialised = variable.init.is_some();
        if initialised && !matches!(variable.space, Space::Global | Space::Const) {
            let message = format!("a variable in `.{}` space has no initial value", variable.space);
            self.declaration(span, message, "store the value at the start of the kernel");
        }
        if initialised && variable.linkage == Linkage::Extern {
            let message = format!("`{}` is `.extern` and has no initial value here", self.variable_name(variable));
            self.declaration(span, message, "remove `.extern`, or the value");
        }
        let open = variable.dims.iter().any(|dim| dim.is_none_or(|n| n == 0));
        if open && !initialised && variable.linkage != Linkage::Extern {
            let message = format!("the array `{}` has no size", self.variable_name(variable));
            self.declaration(span, message, "write the number of elements in the brackets");
        }
        if variable.dims.iter().skip(1).any(Option::is_none) {
            self.declaration(span, "only the first dimension can be left open", "");
        }
        if variable.attributes.contains(&Attribute::Managed) && variable.space != Space::Global {
            self.declaration(span, "only a `.global` variable can be `.managed`", "");
        }
    }

    /// What messages call a variable.
    fn variable_name(&self, variable: &Variable) -> &'m str {
        variable.name.map_or("_", |name| self.text(name.sym))
    }

    fn variable_type(&mut self, variable: &Variable) {
        let span = place(variable);
        let ty = variable.ty;
        self.type_needs(ty, span);
        if ty == ScalarType::Pred {
            let help = "store it as a number, made with `selp`";
            let message = format!("a `.pred` variable must be a register, not in `.{}` space", variable.space);
            return self.declaration(span, message, help);
        }
        if ty.class() == TypeClass::Opaque {
            if variable.dims.is_empty() {
                self.needs(&format!("the type `.{ty}`"), "opaque_types", span);
            }
            if variable.space != Space::Global && variable.space != Space::Param {
                self.declaration(span, format!("a `.{ty}` variable must be in `.global` space"), "");
            }
            let unified = !self.module.target.iter().any(|word| word == "texmode_independent");
            if ty == ScalarType::Samplerref && unified && variable.dims.is_empty() {
                let help = "add `texmode_independent` to `.target`";
                self.declaration(span, "`.samplerref` needs independent texture mode", help);
            }
        } else if !VARIABLE_TYPES.contains(&ty) {
            let help = format!("declare it as untyped bits, such as `.b{}`", ty.bits().next_power_of_two().max(8));
            self.declaration(span, format!("a variable cannot have type `.{ty}`"), &help);
        }
    }

    /// What a declaration of this type needs.
    pub(super) fn type_needs(&mut self, ty: ScalarType, span: Span) {
        if ty == ScalarType::B128 {
            self.needs("the type `.b128`", "type_b128", span);
        }
    }

    /// Vectors have at most 16 bytes, and `.v8` is only for instructions.
    pub(super) fn vector_size(&mut self, ty: ScalarType, vector: Option<VectorLen>, span: Span) {
        let Some(vector) = vector else { return };
        if ty == ScalarType::Pred {
            return self.declaration(span, "a vector of predicates cannot be declared", "declare several predicates");
        }
        if vector == VectorLen::V8 || ty.bytes() * vector.len() as u32 > WIDEST_VECTOR {
            let help = "declare an array, or several vectors";
            self.declaration(span, format!("a `.{vector} .{ty}` variable is wider than 16 bytes"), help);
        }
    }

    /// The parameters of a function or kernel.
    pub(super) fn parameters(&mut self, function: &'m Function) {
        let mut bytes = 0u64;
        for (at, param) in function.params.iter().chain(&function.rets).enumerate() {
            let span = place(param);
            if param.space == Space::Param {
                if !function.is_entry {
                    self.needs("a parameter in `.param` space", "call_parameters", span);
                }
                self.variable_type(param);
            } else {
                self.type_needs(param.ty, span);
            }
            if param.space == Space::Reg && !param.dims.is_empty() {
                let message = format!("the array `{}` cannot be in registers", self.variable_name(param));
                self.declaration(span, message, "declare it in `.param` space");
            }
            if param.space == Space::Param && (param.vector.is_some() || param.ty == ScalarType::F16x2) {
                let help = "declare an array of bytes with an alignment";
                self.declaration(span, "a parameter cannot be a vector", help);
            }
            let open = param.dims.iter().any(|dim| dim.is_none_or(|n| n == 0));
            if open && (function.is_entry || at + 1 != function.params.len()) {
                let message = match function.is_entry {
                    true => "a kernel parameter needs a size",
                    false => "only the last parameter can be left open",
                };
                self.declaration(span, message, "write the number of elements in the brackets");
            }
            if param.linkage == Linkage::Hidden {
                self.needs("`.hidden`", "hidden_parameters", span);
                if !function.is_entry {
                    self.declaration(span, "`.hidden` is only for kernel parameters", "remove it");
                }
            }
            if param.ptr.is_some() {
                self.needs("`.ptr`", "pointer_parameters", span);
            }
            if param.ptr.is_some() && !function.is_entry {
                self.declaration(span, "`.ptr` is only for kernel parameters", "remove it");
            }
            if param.ptr.is_some_and(|ptr| matches!(ptr.space, Some(Space::Param | Space::Reg | Space::Sreg))) {
                self.declaration(span, "a pointer cannot point into this space", "");
            }
            bytes = end_after(bytes, param);
        }
        if function.is_entry && bytes > MOST_PARAMETERS {
            let name = self.text(function.name.sym);
            let message = format!("the parameters of `{name}` take {bytes} bytes, more than {MOST_PARAMETERS}");
            self.declaration(function.name.span, message, "pass a pointer instead");
        } else if function.is_entry && bytes > FORMER_PARAMETERS {
            let feature = format!("more than {FORMER_PARAMETERS} bytes of parameters");
            self.needs(&feature, "large_parameters", function.name.span);
        }
    }

    /// All `.const` variables share one bank.
    pub(super) fn constant_space(&mut self) {
        let mut bytes = 0u64;
        for variable in self.module.variables().filter(|v| v.space == Space::Const && v.linkage != Linkage::Extern) {
            bytes = end_after(bytes, variable);
            if bytes > CONSTANT_BANK {
                let message = format!("the `.const` variables take {bytes} bytes, more than {CONSTANT_BANK}");
                return self.declaration(place(variable), message, "move large tables to `.global` space");
            }
        }
    }

    /// Names and values in the initial values of file-level variables.
    pub(super) fn initial_values(&mut self) {
        for variable in self.module.variables() {
            if let Some(init) = &variable.init {
                self.initial_value(variable, init);
            }
        }
    }

    fn initial_value(&mut self, variable: &'m Variable, init: &'m Init) {
        let elements = variable.vector.map(|vector| vector.len() as u64);
        let dims: Vec<Option<u64>> = variable.dims.iter().copied().chain(elements.map(Some)).collect();
        self.value(variable, init, &dims);
    }

    /// A value for what is left of the dimensions.
    fn value(&mut self, variable: &'m Variable, init: &'m Init, dims: &[Option<u64>]) {
        match init {
            Init::List(items, span) => {
                let Some((dim, inner)) = dims.split_first() else {
                    let help = "write one value";
                    return self.declaration(*span, "a list stands where one value is needed", help);
                };
                let most = dim.filter(|&n| n > 0).unwrap_or(u64::MAX);
                if inner.is_empty() && variable.vector.is_some() && items.len() as u64 != most {
                    let message = format!("the vector has {most} elements, the list {}", items.len());
                    return self.declaration(*span, message, "give all elements of a vector");
                }
                if items.len() as u64 > most {
                    let message = format!("the list has {} values, the array only {most}", items.len());
                    return self.declaration(*span, message, "");
                }
                items.iter().for_each(|item| self.value(variable, item, inner));
            }
            _ if dims.len() > usize::from(variable.vector.is_some()) => {
                let help = "write the values of an array in braces";
                self.declaration(init_span(init, variable), "one value stands where a list is needed", help);
            }
            Init::Imm(imm, span) => self.initial_constant(variable, *imm, *span),
            Init::Address { name, mask, offset, generic } => {
                self.initial_address(variable, (*name, *mask), (*offset != 0, *generic));
            }
            Init::Text(_, span) => {
                self.declaration(*span, "a variable cannot be initialised with a string", "write the bytes in braces");
            }
        }
    }

    fn initial_constant(&mut self, variable: &Variable, imm: Imm, span: Span) {
        let float = matches!(imm, Imm::F32(_) | Imm::F64(_));
        let wrong = match variable.ty.class() {
            TypeClass::Float => !float && !matches!(variable.ty, ScalarType::F16 | ScalarType::F16x2),
            TypeClass::Bits => float && variable.ty.bits() < 32,
            _ => float,
        };
        if wrong {
            let (kind, help) = match float {
                true => ("a floating-point", "write an integer"),
                false => ("an integer", "write it with a decimal point"),
            };
            let message = format!("a `.{}` variable cannot start with {kind} value", variable.ty);
            self.error(Diagnostic::new(span, message).rule(Rule::Declaration).help(help));
        }
    }

    /// `added`: something is added to the address; `generic`: it is made generic.
    fn initial_address(
        &mut self,
        variable: &Variable,
        (name, mask): (Name, Option<u64>),
        (added, generic): (bool, bool),
    ) {
        let Some(binding) = self.resolve(name) else { return };
        self.needs("an address as initial value", "initial_addresses", name.span);
        let pointed = match binding {
            Binding::Variable(pointed) => Some(pointed.space),
            _ => None,
        };
        if variable.name.is_some_and(|own| own.sym == name.sym) {
            self.declaration(name.span, "a variable cannot hold its own address", "");
        } else if pointed.is_some_and(|space| !matches!(space, Space::Global | Space::Const)) {
            let help = "only addresses of `.global` and `.const` variables and of functions are known in advance";
            self.declaration(name.span, "this address is not known before the kernel runs", help);
        }
        if matches!(binding, Binding::Function(_) | Binding::Alias(..)) && (added || generic) && mask.is_none() {
            self.declaration(name.span, "the address of a function stands alone", "write its name only");
        }
        match mask {
            None if !matches!(variable.ty, ScalarType::U32 | ScalarType::U64) => {
                let help = "use `.u64`";
                self.declaration(name.span, format!("a `.{}` variable cannot hold an address", variable.ty), help);
            }
            Some(_) if variable.ty != ScalarType::U8 => {
                let message = format!("a `.{}` variable cannot hold a byte of an address", variable.ty);
                self.declaration(name.span, message, "use `.u8`");
            }
            Some(mask) => {
                let byte = (0..8).any(|at| mask == 0xff << (8 * at));
                if !byte {
                    let help = "write `0xff(name)`, `0xff00(name)` and so on";
                    self.declaration(name.span, format!("the mask {mask:#x} does not choose one byte"), help);
                }
                self.needs("a mask in an initial value", "mask_of_address", name.span);
            }
            None => {}
        }
    }
}

/// The end of a variable that is placed behind `bytes` others; the largest number where it is beyond all of them.
fn end_after(bytes: u64, variable: &Variable) -> u64 {
    let start = bytes.checked_next_multiple_of(u64::from(variable.alignment()));
    start.and_then(|start| start.checked_add(variable.size()?)).unwrap_or(u64::MAX)
}

/// A parameter as it is declared, without its name.
pub(super) fn shape(variable: &Variable) -> String {
    let mut text = format!(".{}", variable.space);
    if let Some(align) = variable.align {
        text += &format!(" .align {align}");
    }
    if let Some(vector) = variable.vector {
        text += &format!(" .{vector}");
    }
    text += &format!(" .{}", variable.ty);
    for dim in &variable.dims {
        text += &format!("[{}]", dim.map_or(String::new(), |dim| dim.to_string()));
    }
    text
}

/// Where messages about a variable point.
fn place(variable: &Variable) -> Span {
    variable.name.map_or(variable.span, |name| name.span)
}

fn init_span(init: &Init, variable: &Variable) -> Span {
    match init {
        Init::Imm(_, span) | Init::List(_, span) | Init::Text(_, span) if span.end > span.start => *span,
        Init::Address { name, .. } => name.span,
        _ => place(variable),
    }
}
