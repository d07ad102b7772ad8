//! What is written out in simpler instructions: vectors of addresses, accesses under masks, intrinsics on vectors that
//! give two of them, variable arguments.

use smallvec::SmallVec;

use super::target::Target;
use super::template::{self, Instance, name_of};
use super::writer::Writer;
use crate::analysis::View;
use crate::ir::{BinaryOp, Call, CastOp, FloatPredicate, GepFlags, InstFlags, InstId, Op, Type, TypeId, Value};
use crate::opt::call_of;

/// True for instructions that [`Writer::expand`] writes out.
pub(super) fn is_expanded(view: View<'_>, inst: InstId, target: Target) -> bool {
    let ty = view.body[inst].ty;
    match &view.body[inst].op {
        Op::Gep { .. } => view.module.types.as_vector(ty).is_some(),
        Op::VaArg(_) => true,
        Op::Call(call) => view.callee(call).is_some_and(|callee| {
            let name = callee.name.strip_prefix("llvm.").unwrap_or_default();
            let of_vectors =
                || call.args.first().is_some_and(|&arg| view.module.types.as_vector(view.ty(arg)).is_some());
            let is = |stems: &[&str]| stems.iter().any(|stem| name.starts_with(stem));
            is(&["vector.reverse.", "vector.insert.", "vector.extract.", "masked."])
                || is(&["vector.interleave", "vector.deinterleave", "experimental.vector.interleave"])
                || is(&["experimental.vector.deinterleave"])
                || is(&["sincos.", "modf."])
                || target.splits_fmuladd && is(&["fmuladd."])
                || (name.contains(".with.overflow.") || name.starts_with("frexp.")) && of_vectors()
        }),
        _ => false,
    }
}

impl Writer<'_, '_> {
    /// Writes the instruction out and gives its result; `None` for one that is left as it is.
    pub(super) fn expand(&mut self) -> Option<Option<Value>> {
        let ty = self.body[self.inst].ty;
        Some(match self.body[self.inst].op.clone() {
            Op::Gep { source, flags, base, indices } => self.addresses(source, flags, base, &indices, ty),
            Op::VaArg(list) => self.argument(list, ty),
            Op::Call(call) => {
                let name = self.cx.view(self.body).callee(&call)?.name.to_string();
                let name = name.strip_prefix("llvm.")?;
                if let Some(kind) = name.strip_prefix("masked.") {
                    self.masked(kind.split('.').next()?, &call, ty)?
                } else if name.contains("deinterleave") {
                    self.deinterleaved(*call.args.first()?, ty)
                } else if name.contains("interleave") {
                    self.interleaved(&call.args, ty)
                } else if let Some(kind) = name.strip_prefix("vector.") {
                    self.regrouped(kind, &call.args, ty)?
                } else if let Some(own) = name.strip_prefix("sincos.") {
                    self.sine_and_cosine(own, call.flags, *call.args.first()?, ty)
                } else if let Some(own) = name.strip_prefix("modf.") {
                    self.fraction_and_whole(own, *call.args.first()?, ty)
                } else if name.starts_with("fmuladd.") {
                    let &[a, b, c] = call.args.as_slice() else { return None };
                    let product = self.push(Op::Binary(BinaryOp::FMul, call.flags, [a, b]), ty)?;
                    self.push(Op::Binary(BinaryOp::FAdd, call.flags, [product, c]), ty)
                } else {
                    self.pair_of_vectors(name, &call.args, ty)?
                }
            }
            _ => return None,
        })
    }

    /// One address for each lane.
    fn addresses(
        &mut self,
        source: TypeId,
        flags: GepFlags,
        base: Value,
        indices: &[Value],
        ty: TypeId,
    ) -> Option<Value> {
        let (pointer, lanes) = self.cx.module.types.as_vector(ty)?;
        let mut vector = self.cx.poison(ty);
        for lane in 0..lanes {
            let base = self.lane(base, lane)?;
            let mut own = SmallVec::new();
            for &index in indices {
                own.push(self.lane(index, lane)?);
            }
            let address = self.push(Op::Gep { source, flags, base, indices: own }, pointer)?;
            vector = self.with_lane(vector, address, lane, ty)?;
        }
        Some(vector)
    }

    /// `va_arg`: the arguments stand one behind the other, each aligned; the list is the address of the next.
    fn argument(&mut self, list: Value, ty: TypeId) -> Option<Value> {
        let (size, align) = {
            let module = &self.cx.module;
            (module.layout.size(&module.types, ty), module.layout.align(&module.types, ty))
        };
        let next = self.push(Op::load(list, 8), TypeId::PTR)?;
        let number = self.cast(CastOp::PtrToInt, next, TypeId::I64)?;
        let align = align.max(4);
        let (above, mask) = (u128::from(align) - 1, u128::from(align).wrapping_neg());
        let (above, mask) = (self.cx.int(TypeId::I64, above), self.cx.int(TypeId::I64, mask));
        let sum = self.binary(BinaryOp::Add, [number, above], TypeId::I64)?;
        let start = self.binary(BinaryOp::And, [sum, mask], TypeId::I64)?;
        let place = self.cast(CastOp::IntToPtr, start, TypeId::PTR)?;
        let size = self.cx.int(TypeId::I64, size.max(4).into());
        let end = self.binary(BinaryOp::Add, [start, size], TypeId::I64)?;
        let value = self.cast(CastOp::IntToPtr, end, TypeId::PTR)?;
        self.push(Op::store(value, list, 8), TypeId::VOID);
        self.push(Op::load(place, align), ty)
    }

    /// `llvm.vector.reverse`, `insert` and `extract` as shuffles.
    fn regrouped(&mut self, name: &str, args: &[Value], ty: TypeId) -> Option<Option<Value>> {
        let lanes =
            |this: &Self, value| this.cx.module.types.as_vector(this.cx.ty(this.body, value)).map(|(_, n)| n as i32);
        let first = *args.first()?;
        let count = self.cx.module.types.as_vector(ty)?.1 as i32;
        let constant = |this: &Self, value: Value| {
            i32::try_from(this.cx.module.constants.as_int(value.constant()?)?).ok().filter(|&at| at <= 1 << 16)
        };
        let own = self.cx.ty(self.body, first);
        let poison = self.cx.poison(own);
        Some(match name.split('.').next()? {
            "reverse" => self.push(Op::Shuffle([first, poison], (0..count).rev().collect()), ty),
            "extract" => {
                let start = constant(self, *args.get(1)?)?;
                self.push(Op::Shuffle([first, poison], (start..start + count).collect()), ty)
            }
            "insert" => {
                let (part, start) = (*args.get(1)?, constant(self, *args.get(2)?)?);
                let length = lanes(self, part)?;
                let part_type = self.cx.ty(self.body, part);
                let nothing = self.cx.poison(part_type);
                let widened = (0..count).map(|at| if at < length { at } else { -1 }).collect();
                let wide = self.push(Op::Shuffle([part, nothing], widened), ty)?;
                let pick = |at: i32| if (start..start + length).contains(&at) { count + at - start } else { at };
                self.push(Op::Shuffle([first, wide], (0..count).map(pick).collect()), ty)
            }
            _ => return None,
        })
    }

    /// `llvm.vector.interleave2` to `interleave8`: first all first lanes, then all second ones.
    fn interleaved(&mut self, args: &[Value], ty: TypeId) -> Option<Value> {
        let lanes = self.cx.module.types.as_vector(ty)?.1;
        let count = u32::try_from(args.len()).ok().filter(|count| *count > 0)?;
        let mut vector = self.cx.poison(ty);
        for lane in 0..lanes {
            let own = self.lane(*args.get((lane % count) as usize)?, lane / count)?;
            vector = self.with_lane(vector, own, lane, ty)?;
        }
        Some(vector)
    }

    /// `llvm.vector.deinterleave2` to `deinterleave8`.
    fn deinterleaved(&mut self, vector: Value, ty: TypeId) -> Option<Value> {
        let Type::Struct { fields, .. } = self.cx.module.types[ty].clone() else { return None };
        let own = self.cx.ty(self.body, vector);
        let poison = self.cx.poison(own);
        let mut all = self.cx.poison(ty);
        for (index, &field) in fields.iter().enumerate() {
            let (lanes, step) = (self.cx.module.types.as_vector(field)?.1 as i32, fields.len() as i32);
            let picks = (0..lanes).map(|lane| lane * step + index as i32).collect();
            let part = self.push(Op::Shuffle([vector, poison], picks), field)?;
            all = self.push(Op::InsertValue([all, part], [index as u32].into_iter().collect()), ty)?;
        }
        Some(all)
    }

    /// `llvm.masked.load`, `store`, `gather` and `scatter`: for each lane a function of the library that may access.
    /// The alignment is an argument or, since LLVM 22, an attribute of the address.
    fn masked(&mut self, kind: &str, call: &Call, ty: TypeId) -> Option<Option<Value>> {
        let reads = matches!(kind, "load" | "gather");
        let (value, ptr, align, mask) = match (kind, call.args.as_slice()) {
            ("load" | "gather", &[ptr, align, mask, other]) => (other, ptr, Some(align), mask),
            ("load" | "gather", &[ptr, mask, other]) => (other, ptr, None, mask),
            ("store" | "scatter", &[value, ptr, align, mask]) => (value, ptr, Some(align), mask),
            ("store" | "scatter", &[value, ptr, mask]) => (value, ptr, None, mask),
            _ => return None,
        };
        let vector = self.cx.ty(self.body, value);
        let (element, lanes) = self.cx.module.types.as_vector(vector)?;
        let pointers = self.cx.ty(self.body, ptr);
        let pointer = self.cx.module.types.scalar(pointers);
        let align = match align {
            Some(align) => u32::try_from(self.cx.module.constants.as_int(align.constant()?)?).ok()?,
            None => {
                let place = u32::from(!reads);
                call.arg_attributes.iter().find(|(at, _)| *at == place).map_or(1, |(_, own)| own.align.max(1))
            }
        };
        let size = u32::try_from(self.cx.module.layout.size(&self.cx.module.types, element)).ok()?;
        // The lanes of `load` and `store` lie one behind the other.
        let own_align =
            if pointers == pointer && size.is_power_of_two() { align.min(size) } else { align.min(1 << 16) };
        let (name, words) = {
            let types = &self.cx.module.types;
            let (t, p) = (types.text(element), types.text(pointer));
            let name = format!("{}.{}.{own_align}", name_of(&t), name_of(&p));
            (name.clone(), vec![("T", t), ("P", p), ("SIZE", own_align.max(1).to_string()), ("NAME", name)])
        };
        let function = format!("oriole.masked.{}.{name}", if reads { "load" } else { "store" });
        self.needed.insert(function.clone(), Instance { template: template::MASKED, words });
        let mut result = self.cx.poison(ty);
        for lane in 0..lanes {
            let place = match pointers == pointer {
                true => self.byte_address(ptr, lane * size, align)?.0,
                false => self.lane(ptr, lane)?,
            };
            let own = [place, self.lane(mask, lane)?, self.lane(value, lane)?];
            let ret = if reads { element } else { TypeId::VOID };
            let op = call_of(self.cx, &function, ret, self.body, &own);
            let loaded = self.push(op, ret);
            if reads {
                result = self.with_lane(result, loaded?, lane, ty)?;
            }
        }
        Some(reads.then_some(result))
    }

    /// The address some bytes further, and how it is aligned.
    fn byte_address(&mut self, ptr: Value, offset: u32, align: u32) -> Option<(Value, u32)> {
        if offset == 0 {
            return Some((ptr, align));
        }
        let ty = self.cx.ty(self.body, ptr);
        let place = self.cx.bytes_behind(ptr, offset.into(), GepFlags::empty());
        Some((self.push(place, ty)?, align.min(1 << offset.trailing_zeros())))
    }

    /// `llvm.sincos`
    fn sine_and_cosine(&mut self, own: &str, flags: InstFlags, x: Value, ty: TypeId) -> Option<Value> {
        let [sine, cosine] = ["sin", "cos"].map(|name| self.function_of(&format!("{name}.{own}"), flags, &[x]));
        self.pair(sine?, cosine?, ty)
    }

    /// `llvm.modf`: what is left by cutting, and what is cut to; of an infinity nothing is left.
    fn fraction_and_whole(&mut self, own: &str, x: Value, ty: TypeId) -> Option<Value> {
        let none = InstFlags::empty();
        let of = self.cx.ty(self.body, x);
        let truth = match self.cx.module.types.as_vector(of) {
            Some((_, lanes)) => self.cx.module.types.intern(Type::Vector(TypeId::I1, lanes)),
            None => TypeId::I1,
        };
        let whole = self.function_of(&format!("trunc.{own}"), none, &[x])?;
        let rest = self.binary(BinaryOp::FSub, [x, whole], of)?;
        let is_whole = self.push(Op::FCmp(FloatPredicate::Oeq, none, [whole, x]), truth)?;
        let zero = self.cx.zero(of);
        let rest = self.push(Op::Select(none, [is_whole, zero, rest]), of)?;
        let rest = self.function_of(&format!("copysign.{own}"), none, &[rest, x])?;
        self.pair(rest, whole, ty)
    }

    /// A call of `llvm.NAME`, whose result has the type of its first argument.
    fn function_of(&mut self, name: &str, flags: InstFlags, args: &[Value]) -> Option<Value> {
        let ty = self.cx.ty(self.body, *args.first()?);
        let mut op = call_of(self.cx, &format!("llvm.{name}"), ty, self.body, args);
        if let Op::Call(call) = &mut op {
            call.flags = flags;
        }
        self.push(op, ty)
    }

    /// Two values as a structure of them.
    fn pair(&mut self, first: Value, second: Value, ty: TypeId) -> Option<Value> {
        let mut both = self.cx.poison(ty);
        for (index, value) in [first, second].into_iter().enumerate() {
            both = self.push(Op::InsertValue([both, value], [index as u32].into_iter().collect()), ty)?;
        }
        Some(both)
    }

    /// An intrinsic on vectors that gives two vectors: for each lane one on scalars.
    fn pair_of_vectors(&mut self, name: &str, args: &[Value], ty: TypeId) -> Option<Option<Value>> {
        let Type::Struct { fields, packed } = self.cx.module.types[ty].clone() else { return None };
        let &[first, second] = &*fields else { return None };
        let (lanes, elements) = {
            let types = &self.cx.module.types;
            let ((a, lanes), (b, _)) = (types.as_vector(first)?, types.as_vector(second)?);
            (lanes, [a, b])
        };
        let scalar = self.cx.module.types.intern(Type::Struct { fields: elements.into(), packed });
        let name = format!("llvm.{}", scalar_name(name));
        let mut vectors = [self.cx.poison(first), self.cx.poison(second)];
        for lane in 0..lanes {
            let mut own = Vec::with_capacity(args.len());
            for &arg in args {
                own.push(self.lane(arg, lane)?);
            }
            let op = call_of(self.cx, &name, scalar, self.body, &own);
            let pair = self.push(op, scalar)?;
            for (index, vector) in vectors.iter_mut().enumerate() {
                let part = self.push(Op::ExtractValue(pair, [index as u32].into_iter().collect()), elements[index])?;
                *vector = self.with_lane(*vector, part, lane, fields[index])?;
            }
        }
        let mut both = self.cx.poison(ty);
        for (index, vector) in vectors.into_iter().enumerate() {
            both = self.push(Op::InsertValue([both, vector], [index as u32].into_iter().collect()), ty)?;
        }
        Some(Some(both))
    }

    /// A lane of a vector; what is no vector is each of its lanes.
    fn lane(&mut self, value: Value, lane: u32) -> Option<Value> {
        let ty = self.cx.ty(self.body, value);
        let Some((element, _)) = self.cx.module.types.as_vector(ty) else { return Some(value) };
        let index = self.cx.int(TypeId::I32, lane.into());
        self.push(Op::ExtractElement([value, index]), element)
    }

    fn with_lane(&mut self, vector: Value, value: Value, lane: u32, ty: TypeId) -> Option<Value> {
        let index = self.cx.int(TypeId::I32, lane.into());
        self.push(Op::InsertElement([vector, value, index]), ty)
    }

    fn cast(&mut self, op: CastOp, value: Value, ty: TypeId) -> Option<Value> {
        self.push(Op::Cast(op, InstFlags::empty(), value), ty)
    }

    fn binary(&mut self, op: BinaryOp, args: [Value; 2], ty: TypeId) -> Option<Value> {
        self.push(Op::Binary(op, InstFlags::empty(), args), ty)
    }
}

/// The name of an intrinsic on the elements of the vectors that its name ends with: `v4i32` becomes `i32`.
fn scalar_name(name: &str) -> String {
    let scalar = |part: &str| {
        let lanes = part.strip_prefix('v').map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
        lanes.filter(|rest| rest.len() + 1 < part.len()).unwrap_or(part).to_owned()
    };
    name.split('.').map(scalar).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_scalars() {
        assert_eq!(scalar_name("uadd.with.overflow.v4i32"), "uadd.with.overflow.i32");
        assert_eq!(scalar_name("frexp.v2f16.v2i32"), "frexp.f16.i32");
        assert_eq!(scalar_name("vector.v"), "vector.v");
    }
}
