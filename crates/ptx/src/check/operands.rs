//! Operands against what a form of the grammar says of them.

use super::Checker;
use crate::ast::{
    Imm, Instruction, Linkage, Modifier, Name, Opcode, Operand, ScalarType, Selector, Space, Span, Sparsity,
    SpecialReg, TypeClass, VectorLen, Word,
};
use crate::grammar::{self, Bounds, Constants, Count, Fit, Kind, OperandSpec, Parts, Ty};
use crate::scope::{Binding, Register};

/// Why the operands do not fit a form.
#[derive(Debug)]
pub(super) struct Fault {
    /// How far the operands fitted; the form that fitted furthest is the one
    /// that was meant.
    pub(super) place: usize,
    pub(super) span: Span,
    pub(super) problem: Problem,
}

impl Fault {
    /// True if this form fitted further than another, or as far with a
    /// problem that says more than "something else stands here".
    pub(super) fn says_more_than(&self, other: &Fault) -> bool {
        let vague = |fault: &Fault| matches!(fault.problem, Problem::Kind { .. });
        self.place > other.place || (self.place == other.place && vague(other) && !vague(self))
    }
}

/// What is wrong with an operand.
#[derive(Debug)]
pub(super) enum Problem {
    /// The number of operands.
    Count,
    /// A register of the wrong type.
    Register { wanted: ScalarType, wider: bool, result: bool, register: Register },
    /// A constant of the wrong kind.
    Constant { wanted: ScalarType, float: bool },
    /// A constant out of range.
    Range { found: i64, bounds: Bounds },
    /// A constant where only a register may stand.
    NoConstant { result: bool },
    /// Something else where only a constant may stand.
    OnlyConstant,
    /// Something that no register or constant is; what may stand there.
    Kind { expected: &'static str },
    /// The name of a variable or function where a value is needed.
    Symbol { result: bool, what: String },
    /// `-x` or `!p` where neither may stand.
    Negated,
    /// A special register outside of `mov`, or as a result.
    Special { result: bool },
    /// `_` where a result is needed.
    Sink,
    /// `a|b` where one result stands, or the other way round.
    Pair { needed: bool },
    /// A vector of the wrong length.
    Length { found: usize, wanted: usize },
    /// Coordinates of another number than the tensor has dimensions.
    Coordinates { found: usize, wanted: usize },
    /// Registers of several widths in one vector.
    Mixed,
    /// Elements of two kinds side by side in one vector.
    Neighbours,
    /// Registers that are not together as wide as the type.
    Pack { bits: u32 },
    /// An element that the vector register does not have.
    NoElement { vector: VectorLen },
    /// `.x` of a register that is no vector, or `.b0` outside of video instructions.
    NoPart,
    /// Something in `name[…]` that is no array.
    NotArray,
    /// An index that is no register of 32 or 64 bits.
    Index,
    /// A special register of another width.
    SpecialWidth { widths: &'static [u32] },
    /// A 64-bit address in a smaller register.
    AddressSize,
    /// A smaller register as the base of a 64-bit address.
    BaseSize { register: Register, name: Name },
    /// The address of a function that is not in the module.
    AddressOfExtern,
    /// Not in brackets.
    Brackets,
    /// A variable in another space than the instruction says.
    Space { wanted: Space, found: Space },
    /// A variable that generic addresses do not reach.
    NotGeneric { found: Space },
    /// A constant as an address.
    Absolute,
    /// Too many or too few operands inside the brackets.
    Inside,
}

/// Whether an operand fits; where and what does not.
pub(super) type Fits = Result<(), (Span, Problem)>;

/// The instruction at hand, for types that come from it.
pub(super) struct Context<'i> {
    pub(super) instruction: &'i Instruction,
    types: &'i [ScalarType],
}

impl Context<'_> {
    /// The type that a place wants, and whether it comes from the instruction
    /// (ptxas then lets `.f16x2` registers stand for integers).
    fn ty(&self, ty: Ty) -> Option<(ScalarType, bool)> {
        match ty {
            Ty::Nth(n) => Some((*self.types.get(usize::from(n))?, true)),
            Ty::Double(n) => Some((doubled(*self.types.get(usize::from(n))?), true)),
            Ty::Is(ty) => Some((ty, false)),
        }
    }

    /// The length that a vector must have; `None` where any will do.
    fn length(&self, count: Count) -> Option<usize> {
        match count {
            Count::Is(n) => Some(usize::from(n)),
            Count::TimesX(n) => Some(repeats(self.instruction)? * usize::from(n)),
            Count::PartOfN(divisor) => Some(usize::from(self.instruction.shape()?.n / divisor)),
            Count::Gradient => Some(texels(self.instruction)),
            Count::Im2col => super::addresses::tensor_dimensions(self.instruction).map(|dimensions| dimensions - 2),
            Count::SparseGroup => Sparsity::of(self.instruction).map(Sparsity::group_registers),
            Count::SparseKept => Sparsity::of(self.instruction).map(Sparsity::kept_registers),
            Count::SparsePlaces => Sparsity::of(self.instruction).map(Sparsity::place_registers),
        }
    }
}

impl<'m> Checker<'m> {
    /// Checks the operands of an instruction against a form that its modifiers fit.
    pub(super) fn operands_fit(&self, instruction: &'m Instruction, fit: &Fit) -> Result<(), Fault> {
        let found = instruction.operands.len();
        let least = || fit.operands.iter().filter(|spec| !spec.optional).count();
        if (found < fit.operands.len() && found < least()) || (found > fit.operands.len() && !fit.form.open) {
            return Err(Fault { place: 0, span: instruction.span, problem: Problem::Count });
        }
        let context = Context { instruction, types: &fit.types };
        for (at, (operand, spec)) in instruction.operands.iter().zip(&fit.operands).enumerate() {
            self.operand_fits(&context, operand, spec).map_err(|(span, problem)| Fault {
                place: at + 1,
                span,
                problem,
            })?;
        }
        Ok(())
    }

    fn operand_fits(&self, context: &Context<'_>, operand: &'m Operand, spec: &OperandSpec) -> Fits {
        if let Operand::Pair(pair) = operand {
            let Some((second, _)) = spec.pair else { return Err((operand.span(), Problem::Pair { needed: false })) };
            self.kind_fits(context, &pair[0], spec)?;
            let second = OperandSpec { kind: Kind::Value(second), sink: true, pair: None, ..*spec };
            return self.operand_fits(context, &pair[1], &second);
        }
        if matches!(spec.pair, Some((_, true))) {
            return Err((operand.span(), Problem::Pair { needed: true }));
        }
        self.kind_fits(context, operand, spec)
    }

    fn kind_fits(&self, context: &Context<'_>, operand: &'m Operand, spec: &OperandSpec) -> Fits {
        match &spec.kind {
            Kind::Texel => self.texel_fits(context, operand, spec),
            Kind::Pack(ty) => self.pack_fits(context, operand, *ty, spec),
            Kind::Value(ty) => self.value_fits(context, operand, *ty, spec),
            Kind::Vector(ty, count) => self.vector_fits(context, operand, *ty, context.length(*count), spec),
            Kind::Elements(ty) => match context.instruction.vector() {
                Some(vector) => self.vector_fits(context, operand, *ty, Some(vector.len()), spec),
                None => {
                    // ptxas takes one element in braces for the element.
                    let alone = match operand {
                        Operand::Vector(items, _) if items.len() == 1 => &items[0],
                        operand => operand,
                    };
                    self.value_fits(context, alone, *ty, &OperandSpec { sink: false, ..*spec })
                }
            },
            Kind::Address(address) => self.address_fits(context, operand, *address),
            Kind::Sink => match operand {
                Operand::Sink(_) => Ok(()),
                _ => Err((operand.span(), Problem::Kind { expected: "`_`" })),
            },
            Kind::Label => match operand {
                Operand::Name(_) => Ok(()),
                _ => Err((operand.span(), Problem::Kind { expected: "a label" })),
            },
        }
    }

    fn vector_fits(
        &self,
        context: &Context<'_>,
        operand: &'m Operand,
        ty: Ty,
        length: Option<usize>,
        spec: &OperandSpec,
    ) -> Fits {
        let items = match operand {
            Operand::Vector(items, _) => items,
            Operand::Name(name) => match self.scopes.lookup(name.sym) {
                Some(Binding::Register(Register { vector: Some(vector), ty: found, .. })) => {
                    return whole_vector(context, operand, ty, length, vector, found, spec.wider);
                }
                _ => return Err((operand.span(), Problem::Kind { expected: "a vector in braces" })),
            },
            Operand::Special { reg, part: None, span } if spec.special => {
                let (wanted, _) = context.ty(ty).unwrap_or((ScalarType::U32, true));
                return match grammar::special(*reg).vector && length == Some(4) {
                    true => special_fits(context, *reg, true, wanted).map_err(|problem| (*span, problem)),
                    false => Err((*span, Problem::Kind { expected: "a vector in braces" })),
                };
            }
            _ => return Err((operand.span(), Problem::Kind { expected: "a vector in braces" })),
        };
        if let Some(wanted) = length.filter(|&wanted| wanted != items.len()) {
            return Err((operand.span(), Problem::Length { found: items.len(), wanted }));
        }
        self.same_width(items)?;
        let spec = &OperandSpec { sink: spec.sink || spec.result, ..*spec };
        let Some(untyped) = self.untyped_element(context, items, ty) else {
            return items.iter().try_for_each(|item| self.value_fits(context, item, ty, spec));
        };
        self.neighbours_agree(items)?;
        // A fragment takes constants then, too; of loads and stores they keep the type.
        let fragment = !matches!(spec.kind, Kind::Elements(_));
        let constants =
            if fragment { (untyped, &OperandSpec { constants: Constants::Allowed, ..*spec }) } else { (ty, spec) };
        items.iter().try_for_each(|item| match item {
            Operand::Imm(..) => self.value_fits(context, item, constants.0, constants.1),
            _ => self.value_fits(context, item, untyped, spec),
        })
    }

    /// Elements side by side are of one kind: integers, or one type of float. A register of bits goes with all.
    pub(super) fn neighbours_agree(&self, items: &'m [Operand]) -> Fits {
        let kind = |item: &Operand| match item {
            Operand::Imm(Imm::F32(_) | Imm::F64(_), _) => Some(ScalarType::F32),
            Operand::Imm(..) => Some(ScalarType::S32),
            _ => match self.scopes.lookup(item.name()?.sym)? {
                Binding::Register(register) if register.ty.is_integer() => Some(ScalarType::S32),
                Binding::Register(register) => Some(register.ty).filter(|ty| ty.class() != TypeClass::Bits),
                _ => None,
            },
        };
        let differ = |pair: &&[Operand]| matches!((kind(&pair[0]), kind(&pair[1])), (Some(a), Some(b)) if a != b);
        match items.windows(2).find(differ) {
            Some(pair) => Err((pair[1].span(), Problem::Neighbours)),
            None => Ok(()),
        }
    }

    /// Bits of the elements' size, where a register without another type is among them: ptxas then asks the other elements
    /// for no type either.
    fn untyped_element(&self, context: &Context<'_>, items: &'m [Operand], ty: Ty) -> Option<Ty> {
        let (wanted, _) = context.ty(ty)?;
        items.iter().find_map(|item| match self.scopes.lookup(item.name()?.sym)? {
            Binding::Register(Register { vector: None, ty: found, .. })
                if found.class() == TypeClass::Bits && found.bits() == wanted.bits() =>
            {
                Some(Ty::Is(found))
            }
            _ => None,
        })
    }

    /// Distances in texels: as many integers as the texture has dimensions, or one alone.
    fn texel_fits(&self, context: &Context<'_>, operand: &'m Operand, spec: &OperandSpec) -> Fits {
        let ty = Ty::Is(ScalarType::S32);
        let least = texels(context.instruction);
        let Operand::Vector(items, span) = operand else {
            // Alone, and of a volume, only what is declared as an integer.
            let untyped = operand.name().and_then(|name| match self.scopes.lookup(name.sym) {
                Some(Binding::Register(register)) if register.ty.class() == TypeClass::Bits => Some(name),
                _ => None,
            });
            return match untyped {
                Some(name) if least == 4 => Err((name.span, Problem::Kind { expected: "offsets in braces" })),
                _ => self.value_fits(context, operand, ty, spec),
            };
        };
        if items.len() < least || ![1, 2, 4].contains(&items.len()) {
            return Err((*span, Problem::Length { found: items.len(), wanted: least }));
        }
        items.iter().try_for_each(|item| self.value_fits(context, item, ty, spec))
    }

    /// The registers of a vector are all of one width, which is given back.
    fn same_width(&self, items: &'m [Operand]) -> Result<Option<u32>, (Span, Problem)> {
        let mut width = None;
        for item in items {
            let Some(name) = item.name() else { continue };
            let Some(Binding::Register(register)) = self.scopes.lookup(name.sym) else { continue };
            if width.is_some_and(|width| width != register.ty.bits()) {
                return Err((item.span(), Problem::Mixed));
            }
            width = Some(register.ty.bits());
        }
        Ok(width)
    }

    /// The registers in braces, or the elements of a vector register, are together as wide as the type.
    fn pack_fits(&self, context: &Context<'_>, operand: &'m Operand, ty: Ty, spec: &OperandSpec) -> Fits {
        let vector = || Err((operand.span(), Problem::Kind { expected: "a vector in braces" }));
        let Some((whole, _)) = context.ty(ty) else { return vector() };
        let (items, span) = match operand {
            Operand::Vector(items, span) => (items, span),
            Operand::Name(name) => match self.scopes.lookup(name.sym) {
                Some(Binding::Register(Register { vector: Some(len), ty, .. })) => {
                    let fits = ty.bits() * len.len() as u32 == whole.bits();
                    return if fits { Ok(()) } else { Err((name.span, Problem::Pack { bits: whole.bits() })) };
                }
                _ => return vector(),
            },
            _ => return vector(),
        };
        let width = self.same_width(items)?;
        let count = items.len() as u32;
        if ![1, 2, 4].contains(&count) || width.is_some_and(|width| width * count != whole.bits()) {
            return Err((*span, Problem::Pack { bits: whole.bits() }));
        }
        match items.iter().find(|item| matches!(item, Operand::Imm(..) | Operand::Special { .. })) {
            Some(item) if spec.result => Err((item.span(), Problem::NoConstant { result: true })),
            _ => Ok(()),
        }
    }

    fn value_fits(&self, context: &Context<'_>, operand: &'m Operand, ty: Ty, spec: &OperandSpec) -> Fits {
        // A form whose types are optional may ask for one that is not there.
        let Some((wanted, typed)) = context.ty(ty) else { return Ok(()) };
        let fail = |problem| Err((operand.span(), problem));
        match operand {
            Operand::Name(name) => match self.scopes.lookup(name.sym) {
                Some(Binding::Register(register)) => register_fits(register, wanted, typed, operand, spec),
                Some(binding @ (Binding::Variable(_) | Binding::Function(_))) if spec.symbol && !spec.result => {
                    address_of(context, &binding, wanted).map_err(|problem| (operand.span(), problem))
                }
                Some(binding) => fail(Problem::Symbol { result: spec.result, what: super::names::describe(&binding) }),
                None => Ok(()),
            },
            Operand::Offset { name, element, .. } => {
                self.sum_fits(context, (*name, *element), (wanted, typed), operand, spec)
            }
            Operand::Part(name, selector) => match self.scopes.lookup(name.sym) {
                Some(Binding::Register(register)) => {
                    has_part(context, register, *selector, spec.parts).map_err(|problem| (operand.span(), problem))?;
                    register_fits(Register { vector: None, ..register }, wanted, typed, operand, spec)
                }
                _ => fail(Problem::Kind { expected: "a register" }),
            },
            Operand::Special { reg, part, span } if spec.special && !spec.result => {
                special_fits(context, *reg, part.is_some(), wanted).map_err(|problem| (*span, problem))
            }
            Operand::Special { .. } => fail(Problem::Special { result: spec.result }),
            Operand::Imm(imm, span) => constant_fits(*imm, *span, wanted, spec),
            Operand::Not(inner, _) if wanted == ScalarType::Pred && spec.negated => {
                self.value_fits(context, inner, ty, spec)
            }
            Operand::Neg(inner, _) if wanted != ScalarType::Pred && spec.negated => {
                self.value_fits(context, inner, ty, spec)
            }
            Operand::Not(..) | Operand::Neg(..) => fail(Problem::Negated),
            Operand::Sink(_) if spec.sink => Ok(()),
            Operand::Sink(_) => fail(Problem::Sink),
            Operand::Pair(_) => fail(Problem::Pair { needed: false }),
            Operand::Address(_) => fail(Problem::Kind { expected: "a register, not an address" }),
            Operand::Vector(items, _) if spec.braces && items.len() == 1 => {
                self.value_fits(context, &items[0], ty, &OperandSpec { braces: false, ..*spec })
            }
            Operand::Vector(..) => fail(Problem::Kind { expected: "a single value, not a vector" }),
            Operand::List(..) => fail(Problem::Kind { expected: "a register" }),
        }
    }

    /// `%r1+8`, `table+8`, `table[2]`: an integer register or an address, with a constant added.
    fn sum_fits(
        &self,
        context: &Context<'_>,
        (name, element): (Name, bool),
        (wanted, typed): (ScalarType, bool),
        operand: &Operand,
        spec: &OperandSpec,
    ) -> Fits {
        let fail = |problem| Err((operand.span(), problem));
        let sums = matches!(wanted.class(), TypeClass::Bits | TypeClass::Signed | TypeClass::Unsigned);
        match self.scopes.lookup(name.sym) {
            _ if spec.result || !sums || spec.parts != Parts::None => fail(Problem::Kind { expected: "a register" }),
            Some(Binding::Register(register)) if !element => {
                let adds = register.ty.bits() <= 64 && register.ty.class() != TypeClass::Float;
                let refuses = spec.constants == Constants::Refused || !adds;
                if refuses {
                    fail(Problem::Kind { expected: "a register" })
                } else {
                    register_fits(register, wanted, typed, operand, spec)
                }
            }
            Some(Binding::Register(_)) => fail(Problem::NotArray),
            Some(Binding::Variable(variable)) if element && variable.dims.is_empty() => fail(Problem::NotArray),
            Some(binding @ Binding::Variable(_)) if spec.symbol || !element => {
                address_of(context, &binding, wanted).map_err(|problem| (operand.span(), problem))
            }
            Some(Binding::Function(_)) => fail(Problem::Kind { expected: "a variable, not a function," }),
            Some(_) => fail(Problem::Kind { expected: "a register" }),
            None => Ok(()),
        }
    }
}

/// The register has the part: vector registers have elements, others bytes and half-words in video instructions, which
/// read no elements.
fn has_part(context: &Context<'_>, register: Register, selector: Selector, parts: Parts) -> Result<(), Problem> {
    match (register.vector, selector) {
        (None, Selector::Lanes(lanes)) if parts.hold(lanes) => Ok(()),
        (None, _) | (Some(_), Selector::Lanes(_)) => Err(Problem::NoPart),
        (Some(_), _) if context.instruction.opcode.is_video() => Err(Problem::NoPart),
        (Some(vector), _) => match selector.element() {
            Some(element) if element >= vector.len() => Err(Problem::NoElement { vector }),
            _ => Ok(()),
        },
    }
}

/// The address of a variable fits the type, and the function has one.
fn address_of(context: &Context<'_>, binding: &Binding<'_>, wanted: ScalarType) -> Result<(), Problem> {
    match binding {
        Binding::Variable(variable)
            if context.instruction.opcode == Opcode::Cvta
                && let Some(space) = context.instruction.space()
                && !super::addresses::same_space(space, variable.space) =>
        {
            Err(Problem::Space { wanted: space, found: variable.space })
        }
        Binding::Variable(variable) if wanted.bits() < 64 && variable.space == Space::Global => {
            Err(Problem::AddressSize)
        }
        Binding::Function(function) if function.linkage == Linkage::Extern && function.body.is_none() => {
            Err(Problem::AddressOfExtern)
        }
        _ => Ok(()),
    }
}

/// A special register is read whole or by parts, with one of its widths.
/// (`cvt` reads any of them with any width.)
fn special_fits(context: &Context<'_>, register: SpecialReg, part: bool, wanted: ScalarType) -> Result<(), Problem> {
    let spec = grammar::special(register);
    if spec.vector != part {
        return Err(Problem::Kind {
            expected: if part { "a special register without parts" } else { "`.x`, `.y`, `.z` or `.w`" },
        });
    }
    if context.instruction.opcode == Opcode::Mov && !spec.widths.contains(&wanted.bits()) {
        return Err(Problem::SpecialWidth { widths: &spec.widths });
    }
    Ok(())
}

/// A whole register that holds a vector.
fn whole_vector(
    context: &Context<'_>,
    operand: &Operand,
    ty: Ty,
    length: Option<usize>,
    vector: VectorLen,
    found: ScalarType,
    wider: bool,
) -> Fits {
    if let Some(wanted) = length.filter(|&wanted| wanted != vector.len()) {
        return Err((operand.span(), Problem::Length { found: vector.len(), wanted }));
    }
    match context.ty(ty) {
        Some((wanted, typed)) if !compatible(wanted, found, wider, typed) => {
            Err((operand.span(), Problem::Kind { expected: "a vector of the instruction's type" }))
        }
        _ => Ok(()),
    }
}

fn register_fits(register: Register, wanted: ScalarType, typed: bool, operand: &Operand, spec: &OperandSpec) -> Fits {
    if spec.constants == Constants::Required {
        return Err((operand.span(), Problem::OnlyConstant));
    }
    if register.vector.is_some() {
        return Err((operand.span(), Problem::Kind { expected: "a single value, not a vector register" }));
    }
    if compatible(wanted, register.ty, spec.wider, typed) {
        return Ok(());
    }
    Err((operand.span(), Problem::Register { wanted, wider: spec.wider, result: spec.result, register }))
}

/// Constants of an integer type are integers, those of a float type floats;
/// untyped bits take both, if the size fits.
fn constant_fits(imm: Imm, span: Span, wanted: ScalarType, spec: &OperandSpec) -> Fits {
    if spec.result || spec.constants == Constants::Refused {
        return Err((span, Problem::NoConstant { result: spec.result }));
    }
    let float = matches!(imm, Imm::F32(_) | Imm::F64(_));
    let wrong = match wanted.class() {
        TypeClass::Float => !float,
        TypeClass::Bits => match imm {
            Imm::F32(_) => wanted.bits() != 32,
            Imm::F64(_) => wanted.bits() != 64,
            Imm::S64(_) | Imm::U64(_) => false,
        },
        _ => float,
    };
    // Packed halves are written as integers.
    if wrong && !matches!(wanted, ScalarType::F16 | ScalarType::F16x2) {
        return Err((span, Problem::Constant { wanted, float }));
    }
    match (spec.range, imm.int_bits()) {
        (Some(bounds), Some(bits)) if !bounds.hold(bits as i64) && !is_all_lanes(bounds, bits as i64) => {
            Err((span, Problem::Range { found: bits as i64, bounds }))
        }
        _ => Ok(()),
    }
}

/// -1 is the mask of all lanes where that alone may stand.
fn is_all_lanes(bounds: Bounds, number: i64) -> bool {
    bounds.low == i64::from(u32::MAX) && number == -1
}

/// True if a register of type `register` can stand where an instruction has
/// type `ty`; `wider` registers are allowed in loads, stores and conversions.
/// Measured with ptxas 13.0 (`tests/data/operand_types.tsv`).
fn compatible(ty: ScalarType, register: ScalarType, wider: bool, typed: bool) -> bool {
    if ty == ScalarType::Pred || register == ScalarType::Pred {
        return ty == register;
    }
    let fits = if wider { register.bits() >= ty.bits() } else { register.bits() == ty.bits() };
    let bits = register.class() == TypeClass::Bits;
    let same_kind = match ty.class() {
        TypeClass::Bits => true,
        TypeClass::Float => register == ty || bits,
        // ptxas treats an `.f16x2` register as 32 untyped bits, if the
        // instruction's type decides.
        _ if ty == ScalarType::U16x2 || ty == ScalarType::S16x2 => bits || register == ScalarType::F16x2,
        _ => bits || register.is_integer() || (typed && register == ScalarType::F16x2),
    };
    fits && same_kind
}

/// How many numbers lead from one texel to another; a layer or a sample is no dimension, a third one comes with a fourth.
fn texels(instruction: &Instruction) -> usize {
    let has = |words: &[Word]| words.iter().any(|word| instruction.has(*word));
    match () {
        () if has(&[Word::D3d, Word::Cube, Word::Acube]) => 4,
        () if has(&[Word::D2d, Word::A2d, Word::D2dms, Word::A2dms]) => 2,
        () => 1,
    }
}

/// The type of twice the size.
fn doubled(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::U16 => ScalarType::U32,
        ScalarType::S16 => ScalarType::S32,
        ScalarType::U32 => ScalarType::U64,
        ScalarType::S32 => ScalarType::S64,
        other => other,
    }
}

/// The number in `.x4`.
fn repeats(instruction: &Instruction) -> Option<usize> {
    instruction.modifiers.iter().find_map(|modifier| {
        Some(match modifier {
            Modifier::Word(Word::X1) => 1,
            Modifier::Word(Word::X2) => 2,
            Modifier::Word(Word::X4) => 4,
            Modifier::Word(Word::X8) => 8,
            Modifier::Word(Word::X16) => 16,
            Modifier::Word(Word::X32) => 32,
            Modifier::Word(Word::X64) => 64,
            Modifier::Word(Word::X128) => 128,
            _ => return None,
        })
    })
}
