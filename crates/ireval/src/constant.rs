//! The values of constants.

use crate::fault::Fault;
use crate::memory::Memory;
use crate::value::{Value, each, splat};
use crate::{cast, int, scalar};
use oriole_nvptx::ir::{ConstExpr, ConstId, Constant, InstFlags, Module, TypeId};

/// How deep constants may be nested.
const MAX_DEPTH: u32 = 64;

/// The value of a constant.
pub(crate) fn value(module: &Module, memory: &Memory, id: ConstId) -> Result<Value, Fault> {
    Reader { module, memory }.value(id, 0)
}

struct Reader<'a> {
    module: &'a Module,
    memory: &'a Memory,
}

impl Reader<'_> {
    fn value(&self, id: ConstId, depth: u32) -> Result<Value, Fault> {
        if depth > MAX_DEPTH {
            return Err(Fault::unsupported("constants nested as deep"));
        }
        match &self.module.constants[id] {
            Constant::Int(_, bits) => Ok(Value::Bits(*bits)),
            Constant::Float(_, bits) => Ok(Value::Bits(u128::from(*bits))),
            Constant::Null(_) => Ok(Value::Bits(0)),
            Constant::Zero(ty) => splat(self.module, *ty, &Value::Bits(0)),
            Constant::Undef(ty) => splat(self.module, *ty, &Value::Unknown(crate::Unknown::Undef)),
            Constant::Poison(ty) => splat(self.module, *ty, &Value::POISON),
            Constant::Aggregate(_, items) => {
                items.iter().map(|&item| self.value(item, depth + 1)).collect::<Result<_, _>>().map(Value::Many)
            }
            Constant::Bytes(_, bytes) => {
                Ok(Value::Many(bytes.iter().map(|&byte| Value::Bits(u128::from(byte))).collect()))
            }
            Constant::Symbol(_, symbol) => {
                let symbol = cranelift_entity::EntityRef::index(*symbol);
                let address = self.memory.symbols.get(symbol);
                address
                    .map(|&at| Value::Bits(u128::from(at)))
                    .ok_or_else(|| Fault::invalid("a symbol of another module"))
            }
            Constant::BlockAddress(..) => Err(Fault::unsupported("blockaddress")),
            Constant::Expr(ty, expression) => self.expression(*ty, expression, depth + 1),
            Constant::MetadataString(_) | Constant::Metadata | Constant::TokenNone => Ok(Value::Bits(0)),
        }
    }

    fn expression(&self, ty: TypeId, expression: &ConstExpr, depth: u32) -> Result<Value, Fault> {
        let module = self.module;
        let of = |id: ConstId| self.value(id, depth);
        let scalar_of = |id: ConstId| module.types.scalar(module.constants.ty(id));
        match expression {
            ConstExpr::Gep { source, flags, base, indices } => {
                let all: Vec<(TypeId, Value)> = indices
                    .iter()
                    .map(|&index| Ok((module.constants.ty(index), of(index)?)))
                    .collect::<Result<_, Fault>>()?;
                cast::gep(module, self.memory, *source, *flags, (module.constants.ty(*base), &of(*base)?), &all)
            }
            ConstExpr::Cast(op, operand) => {
                cast::cast(module, *op, InstFlags::empty(), module.constants.ty(*operand), ty, &of(*operand)?)
            }
            ConstExpr::Binary(op, a, b) => scalar::binary(module, *op, InstFlags::empty(), ty, [&of(*a)?, &of(*b)?]),
            ConstExpr::ICmp(predicate, a, b) => {
                scalar::icmp(module, *predicate, InstFlags::empty(), scalar_of(*a), [&of(*a)?, &of(*b)?])
            }
            ConstExpr::FCmp(predicate, a, b) => {
                scalar::fcmp(module, *predicate, InstFlags::empty(), scalar_of(*a), [&of(*a)?, &of(*b)?])
            }
            ConstExpr::Select(condition, yes, no) => match of(*condition)? {
                many @ Value::Many(_) => {
                    each([&many, &of(*yes)?, &of(*no)?], &mut |[c, y, n]| Ok(int::select(c, y, n)))
                }
                one => Ok(int::select(&one, &of(*yes)?, &of(*no)?)),
            },
            ConstExpr::ExtractElement(vector, index) => scalar::extract_element(&of(*vector)?, &of(*index)?),
            ConstExpr::InsertElement(vector, element, index) => {
                scalar::insert_element(&of(*vector)?, of(*element)?, &of(*index)?)
            }
        }
    }
}
