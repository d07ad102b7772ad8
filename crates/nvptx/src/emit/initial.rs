//! Initial values: a constant of the IR as bytes and addresses, and those as a list of PTX.

use oriole_ptx::ast::{Imm, Init, ScalarType, Span};

use super::emitter::Emitter;
use super::error::Error;
use crate::ir::{
    self, AddressSpace, BinaryOp, CastOp, ConstExpr, ConstId, Constant, SymbolId, SymbolKind, Type, TypeId,
};

/// Values of more bytes are refused.
const MOST_BYTES: u64 = 1 << 28;

/// The address of a variable or function within an [`Image`].
#[derive(Clone, Copy, Debug)]
struct Address {
    /// Where in the image, in bytes.
    at: usize,
    symbol: SymbolId,
    offset: i64,
    /// The generic address rather than that within its space.
    generic: bool,
}

/// What a variable holds at first.
#[derive(Debug)]
pub(super) struct Image {
    bytes: Vec<u8>,
    /// In order of their places; the bytes there are 0.
    addresses: Vec<Address>,
}

/// How a variable is declared: a scalar or an array of elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    /// The type of one element.
    pub(super) ty: ScalarType,
    /// The number of elements; `None` for a scalar.
    count: Option<u64>,
}

impl Shape {
    /// The shape of a variable of type `ty`: its scalar type where there is only one, else bytes, or
    /// words where addresses need them.
    pub(super) fn of(ir: &ir::Module, ty: TypeId, value: Option<&Image>) -> Shape {
        // ptxas takes addresses in `.u` types alone.
        let word = if ir.layout.default_pointer_bits == 32 { ScalarType::U32 } else { ScalarType::U64 };
        let addresses = value.map_or(&[][..], |value| &value.addresses);
        if let Some(ty) = scalar(ir, ty) {
            return Shape { ty: if addresses.is_empty() { ty } else { word }, count: None };
        }
        let size = ir.layout.size(&ir.types, ty);
        let words = |ty: ScalarType| Shape { ty, count: Some(size / u64::from(ty.bytes())) };
        if !addresses.is_empty() {
            let width = word.bytes() as usize;
            let fits =
                addresses.iter().all(|address| address.at % width == 0) && size.is_multiple_of(u64::from(word.bytes()));
            return words(if fits { word } else { ScalarType::U8 });
        }
        words(uniform(ir, ty).filter(|ty| size.is_multiple_of(u64::from(ty.bytes()))).unwrap_or(ScalarType::B8))
    }

    /// The dimensions: an array without elements is open where it is only declared.
    pub(super) fn dims(self, defined: bool) -> Vec<Option<u64>> {
        match self.count {
            None => Vec::new(),
            Some(0) if !defined => vec![None],
            Some(count) => vec![Some(count.max(1))],
        }
    }
}

/// The PTX type of a scalar; `None` for what has to be an array.
fn scalar(ir: &ir::Module, ty: TypeId) -> Option<ScalarType> {
    let bits = |bits: u32| match bits {
        0..=8 => ScalarType::B8,
        9..=16 => ScalarType::B16,
        17..=32 => ScalarType::B32,
        _ => ScalarType::B64,
    };
    Some(match ir.types[ty] {
        Type::Int(width @ 0..=64) => bits(width),
        Type::Pointer(space) => bits(ir.layout.pointer_bits(space)),
        Type::Half | Type::BFloat => ScalarType::B16,
        Type::Float => ScalarType::F32,
        Type::Double => ScalarType::F64,
        _ => return None,
    })
}

/// The scalar type that an array or vector consists of alone.
fn uniform(ir: &ir::Module, mut ty: TypeId) -> Option<ScalarType> {
    while let Type::Array(element, _) | Type::Vector(element, _) = ir.types[ty] {
        ty = element;
    }
    // Elements with padding are not dense.
    let dense = ir.layout.bits(&ir.types, ty) == ir.layout.size(&ir.types, ty) * 8;
    scalar(ir, ty).filter(|_| dense)
}

/// The initial value of variable `id`; `None` when every byte is 0 or undefined.
pub(super) fn initial_value(emitter: &Emitter<'_>, id: SymbolId, init: ConstId) -> Result<Option<Image>, Error> {
    let ir = emitter.ir;
    if ir.constants.is_zero(init) || ir.constants.is_undef(init) {
        return Ok(None);
    }
    let size = ir.layout.size(&ir.types, ir.constants.ty(init));
    if size > MOST_BYTES {
        return Err(emitter.unsupported(id, format!("an initial value of {size} bytes")));
    }
    let mut writer = Writer { emitter, id, image: Image { bytes: vec![0; size as usize], addresses: Vec::new() } };
    writer.place(init, 0)?;
    let mut image = writer.image;
    image.addresses.sort_by_key(|address| address.at);
    let nothing = image.addresses.is_empty() && image.bytes.iter().all(|&byte| byte == 0);
    Ok((!nothing).then_some(image))
}

impl Image {
    /// The value in PTX; zeros at the end are left out.
    pub(super) fn list(&self, emitter: &mut Emitter<'_>, shape: Shape) -> Option<Init> {
        let width = shape.ty.bytes() as usize;
        let last_byte = self.bytes.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1);
        let pointer = emitter.ir.layout.default_pointer_bits as usize / 8;
        let end = self.addresses.last().map_or(last_byte, |address| last_byte.max(address.at + pointer));
        let mut addresses = self.addresses.iter().peekable();
        let mut items = Vec::with_capacity(end.div_ceil(width));
        let mut at = 0;
        while at < end {
            match addresses.next_if(|address| address.at == at) {
                Some(address) if width == pointer => items.push(reference(emitter, address, None)),
                Some(address) => {
                    items.extend((0..pointer).map(|byte| reference(emitter, address, Some(0xFF << (8 * byte)))));
                    at += pointer - width;
                }
                None => items.push(element(shape.ty, self.bytes.get(at..at + width).unwrap_or_default())),
            }
            at += width;
        }
        match shape.count {
            Some(_) => Some(Init::List(items, Span::default())),
            None => items.into_iter().next(),
        }
    }
}

fn reference(emitter: &mut Emitter<'_>, address: &Address, mask: Option<u64>) -> Init {
    // The writer has seen that the symbol has a name.
    let sym = emitter.names[address.symbol].unwrap_or_else(|| emitter.symbols.intern("_$_"));
    Init::Address { name: emitter.name(sym), offset: address.offset, generic: address.generic, mask }
}

/// One element, little-endian.
fn element(ty: ScalarType, bytes: &[u8]) -> Init {
    let value = bytes.iter().rev().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
    let imm = match ty {
        ScalarType::F32 => Imm::F32(value as u32),
        ScalarType::F64 => Imm::F64(value),
        _ => Imm::S64(value as i64),
    };
    Init::Imm(imm, Span::default())
}

/// What a constant of pointer or integer type comes to.
#[derive(Clone, Copy)]
struct Value {
    /// The variable or function that it is relative to, and whether by its generic address.
    base: Option<(SymbolId, bool)>,
    offset: i128,
}

struct Writer<'e, 'a> {
    emitter: &'e Emitter<'a>,
    id: SymbolId,
    image: Image,
}

impl Writer<'_, '_> {
    fn refuse<T>(&self, what: impl Into<String>) -> Result<T, Error> {
        Err(self.emitter.unsupported(self.id, what))
    }

    /// Writes a constant at byte `at`.
    fn place(&mut self, constant: ConstId, at: u64) -> Result<(), Error> {
        let ir = self.emitter.ir;
        match &ir.constants[constant] {
            Constant::Null(_) | Constant::Zero(_) | Constant::Undef(_) | Constant::Poison(_) => Ok(()),
            Constant::Int(_, value) => self.write(constant, *value, at),
            Constant::Float(_, bits) => self.write(constant, u128::from(*bits), at),
            Constant::Bytes(_, bytes) => self.copy(bytes, at),
            Constant::Aggregate(ty, items) => self.aggregate(*ty, items, at),
            Constant::Symbol(..) | Constant::Expr(..) => self.value(constant, at),
            Constant::BlockAddress(..) => self.refuse("the address of a block"),
            Constant::MetadataString(_) | Constant::Metadata | Constant::TokenNone => {
                self.refuse("an initial value of a type without size")
            }
        }
    }

    fn aggregate(&mut self, ty: TypeId, items: &[ConstId], at: u64) -> Result<(), Error> {
        let ir = self.emitter.ir;
        let element_bits = match ir.types[ty] {
            Type::Vector(element, _) => ir.layout.bits(&ir.types, element),
            _ => 8,
        };
        for (&item, index) in items.iter().zip(0u64..) {
            if element_bits % 8 == 0 {
                self.place(item, at + ir.layout.element_offset(&ir.types, ty, index))?;
                continue;
            }
            // Elements of vectors lie bit by bit.
            let Some(value) = ir.constants.as_int(item) else { continue };
            for bit in 0..element_bits {
                let place = index * element_bits + bit;
                if let Some(byte) = self.image.bytes.get_mut((at + place / 8) as usize) {
                    *byte |= ((value >> bit & 1) as u8) << (place % 8);
                }
            }
        }
        Ok(())
    }

    /// Writes an integer in the size of its type.
    fn write(&mut self, constant: ConstId, value: u128, at: u64) -> Result<(), Error> {
        let ir = self.emitter.ir;
        let size = ir.layout.store_size(&ir.types, ir.constants.ty(constant)).min(16) as usize;
        self.copy(&value.to_le_bytes()[..size], at)
    }

    fn copy(&mut self, bytes: &[u8], at: u64) -> Result<(), Error> {
        let Some(place) = self.image.bytes.get_mut(at as usize..at as usize + bytes.len()) else {
            return self.refuse("an initial value of another type than the variable's");
        };
        place.copy_from_slice(bytes);
        Ok(())
    }

    fn value(&mut self, constant: ConstId, at: u64) -> Result<(), Error> {
        let ir = self.emitter.ir;
        let value = self.evaluate(constant, 0)?;
        let Some((symbol, generic)) = value.base else { return self.write(constant, value.offset as u128, at) };
        let bits = ir.layout.bits(&ir.types, ir.constants.ty(constant));
        if bits != u64::from(ir.layout.default_pointer_bits) {
            return self.refuse(format!("an address in {bits} bits"));
        }
        self.emitter.symbol(symbol)?;
        self.image.addresses.push(Address { at: at as usize, symbol, offset: value.offset as i64, generic });
        Ok(())
    }

    /// What a constant of pointer or integer type comes to.
    fn evaluate(&self, constant: ConstId, depth: u32) -> Result<Value, Error> {
        /// Expressions in expressions.
        const DEEPEST: u32 = 500;
        let ir = self.emitter.ir;
        if depth > DEEPEST {
            return self.refuse("a constant expression that is too deep");
        }
        let expr = match &ir.constants[constant] {
            Constant::Symbol(ty, symbol) => return self.symbol(*ty, *symbol),
            Constant::Expr(ty, expr) => (ty, &**expr),
            _ => match ir.constants.as_int(constant) {
                Some(value) => return Ok(Value { base: None, offset: self.signed(constant, value) }),
                None => return self.refuse("a constant expression on something that is no integer"),
            },
        };
        match expr {
            (ty, ConstExpr::Cast(op, inner)) => self.cast(*op, *ty, self.evaluate(*inner, depth + 1)?),
            (_, ConstExpr::Gep { source, base, indices, .. }) => {
                let mut value = self.evaluate(*base, depth + 1)?;
                value.offset = value.offset.wrapping_add(self.gep_offset(*source, indices)?);
                Ok(value)
            }
            (_, ConstExpr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b)) => {
                let (a, b) = (self.evaluate(*a, depth + 1)?, self.evaluate(*b, depth + 1)?);
                match (op, a.base, b.base) {
                    (BinaryOp::Add, base, None) | (BinaryOp::Add, None, base) => {
                        Ok(Value { base, offset: a.offset.wrapping_add(b.offset) })
                    }
                    (_, base, None) => Ok(Value { base, offset: a.offset.wrapping_sub(b.offset) }),
                    (_, Some(a_base), Some(b_base)) if a_base == b_base => {
                        Ok(Value { base: None, offset: a.offset.wrapping_sub(b.offset) })
                    }
                    _ => self.refuse("a difference or sum of addresses"),
                }
            }
            (_, ConstExpr::Binary(op, ..)) => self.refuse(format!("`{}` in an initial value", op.as_str())),
            _ => self.refuse("a constant expression that is not folded"),
        }
    }

    /// An address by its symbol; aliases stand for what they name.
    fn symbol(&self, ty: TypeId, symbol: SymbolId) -> Result<Value, Error> {
        let ir = self.emitter.ir;
        let target = match &ir.symbols[symbol].kind {
            SymbolKind::Alias(alias) => match self.emitter.ir.aliasee(alias) {
                Some(target) => target,
                None => return self.refuse("an alias of an expression"),
            },
            _ => symbol,
        };
        let is_function = matches!(ir.symbols[target].kind, SymbolKind::Function(_));
        let generic = !is_function && ir.types.address_space(ty) == Some(AddressSpace::GENERIC);
        let symbol = if is_function { symbol } else { target };
        Ok(Value { base: Some((symbol, generic)), offset: 0 })
    }

    fn cast(&self, op: CastOp, to: TypeId, mut value: Value) -> Result<Value, Error> {
        let ir = self.emitter.ir;
        match (op, value.base) {
            (CastOp::AddrSpaceCast, Some((symbol, _))) => {
                let is_function = matches!(ir.symbols[symbol].kind, SymbolKind::Function(_));
                let generic = !is_function && ir.types.address_space(to) == Some(AddressSpace::GENERIC);
                value.base = Some((symbol, generic));
                Ok(value)
            }
            (CastOp::Bitcast | CastOp::PtrToInt | CastOp::IntToPtr | CastOp::AddrSpaceCast, _) => Ok(value),
            (CastOp::Trunc | CastOp::SExt, None) => Ok(value),
            _ => self.refuse(format!("`{}` in an initial value", op.as_str())),
        }
    }

    /// The bytes that the indices of a `getelementptr` add.
    fn gep_offset(&self, source: TypeId, indices: &[ConstId]) -> Result<i128, Error> {
        let ir = self.emitter.ir;
        let (types, layout) = (&ir.types, &ir.layout);
        let mut ty = source;
        let mut offset = 0i128;
        for (at, &index) in indices.iter().enumerate() {
            let Some(value) = ir.constants.as_int(index) else {
                return self.refuse("an index that is no integer");
            };
            let value = self.signed(index, value);
            if at == 0 {
                offset = offset.wrapping_add(value.wrapping_mul(i128::from(layout.size(types, ty))));
                continue;
            }
            let field = u64::try_from(value).unwrap_or(0);
            let step = match types[ty] {
                Type::Struct { .. } => {
                    let place = i128::from(layout.element_offset(types, ty, field));
                    types.element(ty, field).map(|element| (element, place))
                }
                Type::Array(element, _) | Type::Vector(element, _) => {
                    Some((element, value.wrapping_mul(i128::from(layout.size(types, element)))))
                }
                _ => None,
            };
            let Some((element, bytes)) = step else {
                return self.refuse("an index into something that has no elements");
            };
            offset = offset.wrapping_add(bytes);
            ty = element;
        }
        Ok(offset)
    }

    /// An integer constant with its sign.
    fn signed(&self, constant: ConstId, value: u128) -> i128 {
        let ir = self.emitter.ir;
        match ir.types.int_bits(ir.constants.ty(constant)) {
            Some(bits @ 1..=127) => ((value << (128 - bits)) as i128) >> (128 - bits),
            _ => value as i128,
        }
    }
}
