//! `llvm.*` on scalars and vectors: which are known, and how they are taken apart.

use oriole_ptx::ast::SpecialReg;

use super::float::approximation;
use crate::ir::{AddressSpace, Call, InstId, TypeId, Value};
use crate::machine::{Base, Operand, PhysReg, Reg};
use crate::select::build::space_name;
use crate::select::error::Error;
use crate::select::legal::Vt;
use crate::select::lower::Lower;
use crate::select::word_table::{Part, Word, Words, in_reg};

/// The name before the types that overloading appends: `ctpop` of `ctpop.i32`.
fn base_name(name: &str) -> &str {
    let mut base = name;
    while let Some((rest, last)) = base.rsplit_once('.') {
        let digits = last.trim_start_matches(|c: char| c.is_ascii_lowercase());
        let typed = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_alphanumeric());
        if !typed {
            break;
        }
        base = rest;
    }
    base
}

impl Lower<'_> {
    /// True for intrinsics on packed vectors, which are done lane by lane.
    pub(in crate::select) fn is_lane_intrinsic(&self, call: &Call, vt: Vt) -> bool {
        let Some(name) = self.intrinsic_name(call) else { return false };
        let base = base_name(name);
        let base = approximation(base, call.flags, vt).unwrap_or(base);
        !name.starts_with("nvvm.") && self.packed_float_form(base, vt).is_none()
    }

    /// False for intrinsics on scalars and vectors whose operands and results do not go together: the reader takes any
    /// declaration.
    pub(in crate::select) fn has_own_types(&self, name: &str, call: &Call, inst: InstId) -> bool {
        let base = base_name(name);
        let types = &self.ir.types;
        let ty = self.body[inst].ty;
        let args: Vec<TypeId> = call.args.iter().map(|&arg| self.type_of(arg)).collect();
        if let Some(kind) = base.strip_prefix("vector.reduce.") {
            let element = args.last().and_then(|&vector| types.as_vector(vector)).map(|(element, _)| element);
            let integer = types.int_bits(ty).is_some();
            return element == Some(ty)
                && integer != kind.starts_with('f')
                && (args.len() == 1 || args.len() == 2 && args[0] == ty);
        }
        if base.ends_with(".with.overflow") {
            let parts = (types.element(ty, 0), types.element(ty, 1).map(|flag| types.scalar(flag)));
            return args.len() == 2 && args[0] == args[1] && parts == (Some(args[0]), Some(TypeId::I1));
        }
        let arity = elementwise_arity(base);
        if name.starts_with("nvvm.") || arity == 0 || args.len() < arity {
            return true;
        }
        let lanes = |ty| types.as_vector(ty).map(|(_, lanes)| lanes);
        let same = match base {
            "scmp" | "ucmp" | "lrint" | "llrint" | "lround" | "llround" => lanes(ty) == lanes(args[0]),
            _ => ty == args[0],
        };
        same && args[..arity].iter().all(|&arg| arg == args[0])
    }

    /// An intrinsic of LLVM's own; false when it is none that is known.
    pub(super) fn generic_intrinsic(
        &mut self,
        name: &str,
        call: &Call,
        inst: InstId,
        words: &[Word],
    ) -> Result<bool, Error> {
        let base = base_name(name);
        let args: Vec<Value> = call.args.to_vec();
        let ty = self.body[inst].ty;
        if ty == TypeId::VOID {
            return self.effect_intrinsic(name, base, &args);
        }
        if self.single_result(base, &args, words)? || self.passed_on(base, &args, words)? {
            return Ok(true);
        }
        if let Some(kind) = base.strip_prefix("vector.reduce.") {
            return self.reduce(kind, &args, words);
        }
        if base.ends_with(".with.overflow") {
            return self.with_overflow(base, &args, words);
        }
        let Some(&first) = args.first() else { return Ok(false) };
        let bits = self.ir.types.int_bits(self.ir.types.scalar(self.type_of(first))).unwrap_or(64);
        let scalar = self.ir.types.scalar(ty);
        let vt = crate::select::legal::scalar(&self.ir.types, &self.ir.layout, scalar)?.unwrap_or(Vt::I64);
        let arity = elementwise_arity(base);
        if arity == 0 || args.len() < arity {
            return Ok(false);
        }
        let base = approximation(base, call.flags, vt).unwrap_or(base);
        if words.iter().any(|word| word.vt.lanes() > 1)
            && let Some(form) = self.packed_float_form(base, vt)
        {
            return self.packed_float(form, &args, words);
        }
        let name = base.to_owned();
        self.each_element(ty, words, &args[..arity], |this, args, result| {
            this.element_intrinsic(&name, bits, args, result)
        })?;
        Ok(true)
    }

    /// Those that give one word by one instruction.
    fn single_result(&mut self, base: &str, args: &[Value], words: &[Word]) -> Result<bool, Error> {
        match (base, words) {
            ("ptrmask", &[result]) => {
                let operands = [self.arg(args[0])?, self.arg(args[1])?];
                let dst = self.result(result)?;
                self.op(format_args!("and.{}", result.vt.untyped()), dst, operands)?;
            }
            ("readcyclecounter" | "readsteadycounter", &[result]) => {
                let counter = if base == "readcyclecounter" { SpecialReg::Clock64 } else { SpecialReg::Globaltimer };
                let counter = Operand::Reg(Reg::Physical(PhysReg::Special(counter)));
                let dst = self.result(result)?;
                self.op(format_args!("mov.u64"), dst, [counter])?;
            }
            ("stacksave", &[result]) => {
                let dst = self.result(result)?;
                self.op(format_args!("stacksave.u64"), dst, [])?;
            }
            ("convert.to" | "convert.from", &[result]) => {
                let (a, dst) = (self.word(args[0])?, self.result(result)?);
                let src = self.src(a)?;
                let (to, from) =
                    if base == "convert.to" { ("rn.f16", a.vt.typed(true)) } else { (result.vt.typed(true), "f16") };
                self.op(format_args!("cvt.{to}.{from}"), dst, [src])?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Those that pass a value on or say something of it.
    fn passed_on(&mut self, base: &str, args: &[Value], words: &[Word]) -> Result<bool, Error> {
        match base {
            "expect"
            | "expect.with.probability"
            | "launder.invariant.group"
            | "strip.invariant.group"
            | "annotation"
            | "ssa.copy"
            | "arithmetic.fence" => {
                let source = self.words_of(args[0])?;
                for (at, word) in words.iter().enumerate() {
                    if let Some(dst) = self.packed_dst(*word) {
                        self.reinterpret(dst, word.vt, source[at])?;
                    }
                }
            }
            "is.constant" => {
                self.all_results(words, 0)?;
            }
            "objectsize" => {
                let unknown = self.constant_of(args[1]).is_some_and(|c| matches!(c, crate::ir::Constant::Int(_, 1)));
                self.all_results(words, if unknown { 0 } else { u64::MAX })?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// An intrinsic without a result.
    fn effect_intrinsic(&mut self, name: &str, base: &str, args: &[Value]) -> Result<bool, Error> {
        match (base, args) {
            ("trap" | "ubsantrap", _) => self.emit(format_args!("trap"), 0, [])?,
            ("debugtrap", _) => self.emit(format_args!("brkpt"), 0, [])?,
            ("stackrestore", &[to]) => {
                let to = self.arg(to)?;
                self.emit(format_args!("stackrestore.u64"), 0, [to])?;
            }
            ("prefetch", &[address, _, locality, _]) => self.prefetch(address, locality)?,
            ("va_start", &[list]) => self.va_start(list)?,
            ("va_copy", &[to, from]) => {
                let (to, from) = (self.place(to)?, self.place(from)?);
                self.copy_memory(from, to, 8, 8)?;
            }
            ("va_end", _) => {}
            _ => return Err(Error::new(format!("calls of `llvm.{name}`"))),
        }
        Ok(true)
    }

    /// Data of the greatest locality goes to the first cache, other data to the second.
    fn prefetch(&mut self, address: Value, locality: Value) -> Result<(), Error> {
        let place = self.place(address)?;
        let level = if self.const_index(locality) == Some(3) { "L1" } else { "L2" };
        match place.space {
            AddressSpace::GENERIC => self.emit(format_args!("prefetch.{level}"), 0, [place.operand(0)]),
            AddressSpace::GLOBAL => self.emit(format_args!("prefetch.global.{level}"), 0, [place.operand(0)]),
            AddressSpace::LOCAL => self.emit(format_args!("prefetch.local.{level}"), 0, [place.operand(0)]),
            _ => Ok(()),
        }
    }

    /// The address of the arguments beyond the declared ones is the last parameter.
    fn va_start(&mut self, list: Value) -> Result<(), Error> {
        let last = self.out.params.last().filter(|_| self.source.varargs);
        let &(sym, _) = last.ok_or_else(|| Error::new("calls of `llvm.va_start` in functions of fixed arguments"))?;
        let address = Operand::address(Base::Symbol(sym), 0);
        let first = self.value(format_args!("ld.param.u64"), Vt::I64, [address])?;
        let place = self.place(list)?;
        let space = space_name(place.space).filter(|space| !space.is_empty());
        let space = space.map_or_else(String::new, |space| format!(".{space}"));
        self.emit(format_args!("st{space}.b64"), 0, [place.operand(0), first.into()])
    }

    fn all_results(&mut self, words: &[Word], bits: u64) -> Result<(), Error> {
        for word in words {
            if let Some(dst) = self.dst(*word) {
                self.assign(dst, Word { vt: word.vt, part: Part::Bits(bits) })?;
            }
        }
        Ok(())
    }

    /// One element of an intrinsic.
    fn element_intrinsic(&mut self, name: &str, bits: u32, args: &[Words], result: &[Word]) -> Result<(), Error> {
        if result.len() != 1 || args[0].len() != 1 {
            return self.wide_intrinsic(name, bits, args, result);
        }
        let Some(dst) = self.dst(result[0]) else { return Ok(()) };
        let word = |at: usize| args[at][0];
        let a = word(0);
        if a.vt.is_float() {
            return self.float_intrinsic(name, args, result[0], dst);
        }
        match name {
            "ctpop" | "ctlz" | "cttz" | "bitreverse" | "bswap" => self.bit_intrinsic(name, bits, a, result[0], dst),
            "fshl" | "fshr" => self.funnel_shift(name == "fshl", bits, [a, word(1), word(2)], dst),
            "abs" => {
                let a = self.extended(a, bits, true)?;
                let src = self.src(a)?;
                self.op(format_args!("abs.{}", a.vt.typed(true)), dst, [src])
            }
            "smin" | "smax" | "umin" | "umax" => {
                let signed = name.starts_with('s');
                if a.vt == Vt::Pred {
                    // As signed numbers true is -1, so the larger of two is their conjunction.
                    let op = if (name == "umax") || (name == "smin") { "or" } else { "and" };
                    let operands = [self.reg(a)?.into(), self.reg(word(1))?.into()];
                    return self.op(format_args!("{op}.pred"), dst, operands);
                }
                let (a, b) = (self.extended(a, bits, signed)?, self.extended(word(1), bits, signed)?);
                let operands = [self.src(a)?, self.src(b)?];
                self.op(format_args!("{}.{}", &name[1..], a.vt.typed(signed)), dst, operands)
            }
            "sadd.sat" if bits == 32 => {
                let operands = [self.src(a)?, self.src(word(1))?];
                self.op(format_args!("add.sat.s32"), dst, operands)
            }
            "ssub.sat" if bits == 32 => {
                let operands = [self.src(a)?, self.src(word(1))?];
                self.op(format_args!("sub.sat.s32"), dst, operands)
            }
            "uadd.sat" | "usub.sat" | "sadd.sat" | "ssub.sat" => self.saturating(name, bits, a, word(1), dst),
            "scmp" | "ucmp" => self.three_way(name == "scmp", bits, a, word(1), result[0], dst),
            _ => Err(Error::new(format!("calls of `llvm.{name}` on integers"))),
        }
    }

    /// `vector.reduce.OP`: in order, as floating-point sums must be.
    fn reduce(&mut self, op: &str, args: &[Value], words: &[Word]) -> Result<bool, Error> {
        use crate::ir::{BinaryOp, InstFlags};
        let Some(&vector) = args.last() else { return Ok(false) };
        let &[result] = words else { return Err(Error::new("reductions of more than 64 bits")) };
        let Some(dst) = self.dst(result) else { return Ok(true) };
        let bits = self.ir.types.int_bits(self.ir.types.scalar(self.type_of(vector))).unwrap_or(64);
        let mut elements = self.elements(vector)?.into_iter().map(|words| words[0]).collect::<Vec<_>>();
        if args.len() == 2 {
            let start = self.word(args[0])?;
            elements.insert(0, start);
        }
        let mut sum = elements[0];
        let binary = match op {
            "fadd" | "fmul" | "add" | "mul" | "and" | "or" | "xor" => BinaryOp::from_name(op),
            _ => None,
        };
        if elements.len() == 1 {
            self.assign(dst, sum)?;
        }
        let last = elements.len();
        for (at, &element) in elements.iter().enumerate().skip(1) {
            let to = if at + 1 == last { dst } else { self.new_reg(result.vt) };
            self.demand(Part::Reg(to));
            match binary {
                Some(op) if op.is_float() => self.scalar_float(op, InstFlags::empty(), sum, element, to)?,
                Some(op) => self.scalar_binary(op, bits, sum, element, to)?,
                None => {
                    let name = match op {
                        "fmax" => "maxnum",
                        "fmin" => "minnum",
                        "fmaximum" => "maximum",
                        "fminimum" => "minimum",
                        other => other,
                    };
                    let args = [Words::from_slice(&[sum]), Words::from_slice(&[element])];
                    self.element_intrinsic(name, bits, &args, &[in_reg(result.vt, to)])?;
                }
            }
            sum = in_reg(result.vt, to);
        }
        Ok(true)
    }
}

/// How many arguments of an intrinsic are taken element by element; 0 for those that are not.
fn elementwise_arity(name: &str) -> usize {
    match name {
        "ctpop" | "ctlz" | "cttz" | "bitreverse" | "bswap" | "abs" | "fabs" | "sqrt" | "floor" | "ceil" | "trunc"
        | "exp" | "exp10" | "log" | "log10" | "tan" | "asin" | "acos" | "atan" | "sinh" | "cosh" | "tanh" | "lrint"
        | "llrint" | "lround" | "llround" | "rint" | "nearbyint" | "roundeven" | "round" | "canonicalize" | "exp2"
        | "log2" | "sin" | "cos" => 1,
        "smin" | "smax" | "umin" | "umax" | "uadd.sat" | "usub.sat" | "sadd.sat" | "ssub.sat" | "maxnum" | "minnum"
        | "maximum" | "minimum" | "maximumnum" | "minimumnum" | "copysign" | "pow" | "atan2" | "scmp" | "ucmp" => 2,
        "fshl" | "fshr" | "fma" | "fmuladd" => 3,
        _ => 0,
    }
}
