//! Instructions on values, and terminators.

use crate::ir::{
    BinaryOp, BlockId, CastOp, Constant, FloatPredicate, GepFlags, InstFlags, IntPredicate, Op, Type, TypeId, Value,
    byte_cast,
};

use super::bits::signed;
use super::codes::function;
use super::error::Result;
use super::function::BodyReader;
use super::stream::{Fields, Record};
use super::type_table::TypeIndex;

/// Conversions by number.
const CASTS: &[CastOp] = &[
    CastOp::Trunc,
    CastOp::ZExt,
    CastOp::SExt,
    CastOp::FpToUi,
    CastOp::FpToSi,
    CastOp::UiToFp,
    CastOp::SiToFp,
    CastOp::FpTrunc,
    CastOp::FpExt,
    CastOp::PtrToInt,
    CastOp::IntToPtr,
    CastOp::Bitcast,
    CastOp::AddrSpaceCast,
    // `ptrtoaddr`.
    CastOp::PtrToInt,
];

/// Binary operations by number: on integers, on floats.
const BINARY: &[(Option<BinaryOp>, Option<BinaryOp>)] = &[
    (Some(BinaryOp::Add), Some(BinaryOp::FAdd)),
    (Some(BinaryOp::Sub), Some(BinaryOp::FSub)),
    (Some(BinaryOp::Mul), Some(BinaryOp::FMul)),
    (Some(BinaryOp::UDiv), None),
    (Some(BinaryOp::SDiv), Some(BinaryOp::FDiv)),
    (Some(BinaryOp::URem), None),
    (Some(BinaryOp::SRem), Some(BinaryOp::FRem)),
    (Some(BinaryOp::Shl), None),
    (Some(BinaryOp::LShr), None),
    (Some(BinaryOp::AShr), None),
    (Some(BinaryOp::And), None),
    (Some(BinaryOp::Or), None),
    (Some(BinaryOp::Xor), None),
];

/// Predicates of `fcmp` by number: bit 0 says equal, bit 1 greater, bit 2 less, bit 3 unordered.
const FLOAT_PREDICATES: &[FloatPredicate] = &[
    FloatPredicate::False,
    FloatPredicate::Oeq,
    FloatPredicate::Ogt,
    FloatPredicate::Oge,
    FloatPredicate::Olt,
    FloatPredicate::Ole,
    FloatPredicate::One,
    FloatPredicate::Ord,
    FloatPredicate::Uno,
    FloatPredicate::Ueq,
    FloatPredicate::Ugt,
    FloatPredicate::Uge,
    FloatPredicate::Ult,
    FloatPredicate::Ule,
    FloatPredicate::Une,
    FloatPredicate::True,
];

/// Predicates of `icmp` are numbered from here, in the order of the IR's enum.
const FIRST_INT_PREDICATE: u64 = 32;

/// Fast-math flags by bit; bit 0 is all of them.
const FAST_MATH: &[InstFlags] = &[
    InstFlags::FAST,
    InstFlags::NO_NANS,
    InstFlags::NO_INFS,
    InstFlags::NO_SIGNED_ZEROS,
    InstFlags::ALLOW_RECIPROCAL,
    InstFlags::CONTRACT,
    InstFlags::APPROX_FUNC,
    InstFlags::REASSOC,
];

fn at<T: Copy>(table: &[T], number: u64) -> Option<T> {
    table.get(usize::try_from(number).ok()?).copied()
}

pub(super) fn cast_op(number: u64, record: &Record) -> Result<CastOp> {
    at(CASTS, number).ok_or_else(|| record.fault(format!("conversion {number} is not supported")))
}

pub(super) fn binary_op(number: u64, float: bool, record: &Record) -> Result<BinaryOp> {
    let op = at(BINARY, number).and_then(|(int, of_float)| if float { of_float } else { int });
    op.ok_or_else(|| record.fault(format!("binary operation {number} is not supported")))
}

pub(super) fn float_predicate(number: u64, record: &Record) -> Result<FloatPredicate> {
    at(FLOAT_PREDICATES, number).ok_or_else(|| record.fault(format!("predicate {number} of fcmp")))
}

pub(super) fn int_predicate(number: u64, record: &Record) -> Result<IntPredicate> {
    let predicate = number.checked_sub(FIRST_INT_PREDICATE).and_then(|number| at(IntPredicate::ALL, number));
    predicate.ok_or_else(|| record.fault(format!("predicate {number} of icmp")))
}

pub(super) fn gep_flags(bits: u64) -> GepFlags {
    match GepFlags::from_bits_truncate(bits as u8) {
        // `inbounds` says so already.
        flags if flags.contains(GepFlags::INBOUNDS) => flags - GepFlags::NUSW,
        flags => flags,
    }
}

pub(super) fn fast_math(bits: u64) -> InstFlags {
    FAST_MATH.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, flag)| *flag).collect()
}

/// Flags of a binary operation.
fn binary_flags(op: BinaryOp, bits: u64) -> InstFlags {
    let bit = |at: u32, flag: InstFlags| if bits >> at & 1 == 1 { flag } else { InstFlags::empty() };
    match op {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Shl => {
            bit(0, InstFlags::NUW) | bit(1, InstFlags::NSW)
        }
        BinaryOp::UDiv | BinaryOp::SDiv | BinaryOp::LShr | BinaryOp::AShr => bit(0, InstFlags::EXACT),
        BinaryOp::Or => bit(0, InstFlags::DISJOINT),
        op if op.is_float() => fast_math(bits),
        _ => InstFlags::empty(),
    }
}

/// Flags of a conversion.
fn cast_flags(op: CastOp, bits: u64) -> InstFlags {
    let bit = |at: u32, flag: InstFlags| if bits >> at & 1 == 1 { flag } else { InstFlags::empty() };
    match op {
        CastOp::ZExt | CastOp::UiToFp => bit(0, InstFlags::NNEG),
        CastOp::Trunc => bit(0, InstFlags::NUW) | bit(1, InstFlags::NSW),
        CastOp::FpTrunc | CastOp::FpExt => fast_math(bits),
        _ => InstFlags::empty(),
    }
}

impl BodyReader<'_, '_> {
    /// Reads an instruction.
    pub(super) fn instruction(&mut self, record: &Record) -> Result<()> {
        let mut fields = record.fields();
        let fields = &mut fields;
        match record.code {
            function::INST_BINOP => self.binary(fields),
            function::INST_UNOP => self.unary(fields),
            function::INST_CAST => self.cast(fields),
            function::INST_CMP | function::INST_CMP2 => self.compare(fields),
            function::INST_SELECT | function::INST_VSELECT => self.select(fields),
            function::INST_FREEZE => {
                let (value, ty) = self.value(fields, "operand")?;
                self.define(record, Op::Freeze(value), ty)
            }
            function::INST_EXTRACTVAL => self.extract_value(fields),
            function::INST_INSERTVAL => {
                let (aggregate, ty) = self.value(fields, "aggregate")?;
                let (value, _) = self.value(fields, "value")?;
                let path = indices(fields)?;
                self.define(record, Op::InsertValue([aggregate, value], path.into()), ty)
            }
            function::INST_EXTRACTELT => {
                let (vector, ty) = self.value(fields, "vector")?;
                let (index, _) = self.value(fields, "index")?;
                let element = self.vector_element(ty, record)?;
                self.define(record, Op::ExtractElement([vector, index]), element)
            }
            function::INST_INSERTELT => {
                let (vector, ty) = self.value(fields, "vector")?;
                let element = self.vector_element(ty, record)?;
                let element = self.value_of(fields, element, "element")?;
                let (index, _) = self.value(fields, "index")?;
                self.define(record, Op::InsertElement([vector, element, index]), ty)
            }
            function::INST_SHUFFLEVEC => self.shuffle(fields),
            function::INST_PHI => self.phi(fields),
            function::INST_CALL => self.call(fields),
            function::INST_VAARG => {
                let ty = self.ty(fields, "list's type")?;
                let list = self.value_of(fields, ty, "list")?;
                let ty = self.ty(fields, "result type")?;
                self.define(record, Op::VaArg(list), ty)
            }
            function::INST_RET => {
                let value = if fields.left() == 0 { None } else { Some(self.value(fields, "result")?.0) };
                self.effect(record, Op::Ret(value))
            }
            function::INST_BR => self.branch(fields),
            function::INST_SWITCH => self.switch(fields),
            function::INST_INDIRECTBR => {
                let ty = self.ty(fields, "address's type")?;
                let address = self.value_of(fields, ty, "address")?;
                let targets = fields.rest().iter().map(|&block| self.block(block, record)).collect::<Result<_>>()?;
                self.effect(record, Op::IndirectBr(address, targets))
            }
            function::INST_UNREACHABLE => self.effect(record, Op::Unreachable),
            _ => self.memory_instruction(fields),
        }
    }

    fn binary(&mut self, fields: &mut Fields) -> Result<()> {
        let record = fields.record;
        let (left, ty) = self.value(fields, "left operand")?;
        let right = self.value_of(fields, ty, "right operand")?;
        let op = binary_op(fields.next("operation")?, self.is_float(ty), record)?;
        let flags = binary_flags(op, fields.opt().unwrap_or(0));
        self.define(record, Op::Binary(op, flags, [left, right]), ty)
    }

    fn unary(&mut self, fields: &mut Fields) -> Result<()> {
        let record = fields.record;
        let (value, ty) = self.value(fields, "operand")?;
        match fields.next("operation")? {
            0 => {
                let flags = fast_math(fields.opt().unwrap_or(0));
                self.define(record, Op::FNeg(flags, value), ty)
            }
            op => Err(record.fault(format!("unary operation {op} is not supported"))),
        }
    }

    fn cast(&mut self, fields: &mut Fields) -> Result<()> {
        let record = fields.record;
        let (value, from) = self.value(fields, "operand")?;
        let ty = self.ty(fields, "result type")?;
        let op = cast_op(fields.next("conversion")?, record)?;
        let flags = cast_flags(op, fields.opt().unwrap_or(0));
        let op = byte_cast(&self.module.module, op, self.module.table.id(from), self.module.table.id(ty));
        self.define(record, Op::Cast(op, flags, value), ty)?;
        let (from, ty) = (self.module.table.id(from), self.module.table.id(ty));
        let types = &self.module.module.types;
        if op == CastOp::Bitcast && from == ty && types.address_space(types.scalar(ty)).is_some() {
            self.copy_of(value);
        }
        Ok(())
    }

    fn compare(&mut self, fields: &mut Fields) -> Result<()> {
        let record = fields.record;
        let (left, ty) = self.value(fields, "left operand")?;
        let right = self.value_of(fields, ty, "right operand")?;
        let predicate = fields.next("predicate")?;
        let bits = fields.opt().unwrap_or(0);
        let op = if self.is_float(ty) {
            Op::FCmp(float_predicate(predicate, record)?, fast_math(bits), [left, right])
        } else {
            let flags = if bits & 1 == 1 { InstFlags::SAME_SIGN } else { InstFlags::empty() };
            Op::ICmp(int_predicate(predicate, record)?, flags, [left, right])
        };
        let result = self.bool_like(ty);
        self.define(record, op, result)
    }

    fn select(&mut self, fields: &mut Fields) -> Result<()> {
        let record = fields.record;
        let (yes, ty) = self.value(fields, "value if true")?;
        let no = self.value_of(fields, ty, "value if false")?;
        let condition = if record.code == function::INST_VSELECT {
            self.value(fields, "condition")?.0
        } else {
            let bool = self.bool();
            self.value_of(fields, bool, "condition")?
        };
        let flags = fast_math(fields.opt().unwrap_or(0));
        self.define(record, Op::Select(flags, [condition, yes, no]), ty)
    }

    fn extract_value(&mut self, fields: &mut Fields) -> Result<()> {
        let record = fields.record;
        let (aggregate, mut ty) = self.value(fields, "aggregate")?;
        let path = indices(fields)?;
        for &index in &path {
            let element = self.module.table.element(ty, index.into(), &self.module.module.types);
            ty = element.ok_or_else(|| record.fault(format!("no element {index}")))?;
        }
        self.define(record, Op::ExtractValue(aggregate, path.into()), ty)
    }

    fn shuffle(&mut self, fields: &mut Fields) -> Result<()> {
        let record = fields.record;
        let (left, ty) = self.value(fields, "first vector")?;
        let right = self.value_of(fields, ty, "second vector")?;
        let (mask, mask_type) = self.value(fields, "mask")?;
        let element = self.vector_element(ty, record)?;
        let lanes = self.module.module.types.element_count(self.module.table.id(mask_type));
        // The record names a mask of any length.
        self.module.budget.spend((lanes as usize).saturating_mul(size_of::<i32>()), record)?;
        let mask = self.mask(mask, mask_type).ok_or_else(|| record.fault("a mask that is no constant vector"))?;
        let len = mask.len() as u32;
        let result = self.module.table.vector(element, len, &mut self.module.module.types);
        self.define(record, Op::Shuffle([left, right], mask), result)
    }

    /// The elements of a shuffle's mask; -1 for those that may be anything.
    fn mask(&self, mask: Value, ty: TypeIndex) -> Option<Box<[i32]>> {
        let constants = &self.module.module.constants;
        let (_, len) = self.module.module.types.as_vector(self.module.table.id(ty))?;
        let same = |element: i32| Some(vec![element; len as usize].into());
        match &constants[mask.constant()?] {
            Constant::Undef(_) | Constant::Poison(_) => same(-1),
            Constant::Zero(_) => same(0),
            Constant::Aggregate(_, items) => {
                let item = |&item| match &constants[item] {
                    Constant::Int(_, index) => i32::try_from(*index).ok(),
                    Constant::Undef(_) | Constant::Poison(_) => Some(-1),
                    _ => None,
                };
                items.iter().map(item).collect()
            }
            _ => None,
        }
    }

    fn phi(&mut self, fields: &mut Fields) -> Result<()> {
        let record = fields.record;
        let ty = self.ty(fields, "type")?;
        let next = self.module.values.len() as u64;
        let mut incoming = smallvec::SmallVec::new();
        // An operand without a partner at the end are fast-math flags.
        for pair in fields.rest().chunks_exact(2) {
            let number = match self.module.relative {
                true => next.wrapping_sub(signed(pair[0]) as u64),
                false => pair[0],
            };
            let value = self.value_numbered(number, ty, record)?;
            incoming.push((self.block(pair[1], record)?, value));
        }
        self.define(record, Op::Phi(incoming), ty)
    }

    fn branch(&mut self, fields: &mut Fields) -> Result<()> {
        let record = fields.record;
        let yes = self.block(fields.next("target")?, record)?;
        if fields.left() == 0 {
            return self.effect(record, Op::Br(yes));
        }
        let no = self.block(fields.next("second target")?, record)?;
        let bool = self.bool();
        let condition = self.value_of(fields, bool, "condition")?;
        self.effect(record, Op::CondBr(condition, [yes, no]))
    }

    fn switch(&mut self, fields: &mut Fields) -> Result<()> {
        /// In the upper half of the first operand: the form with ranges of LLVM 3.2 and 3.3.
        const RANGES: u64 = 0x4B5;
        let record = fields.record;
        if record.ops.first().is_some_and(|first| first >> 16 == RANGES) {
            return self.switch_with_ranges(fields);
        }
        let ty = self.ty(fields, "operand's type")?;
        let value = self.value_of(fields, ty, "operand")?;
        let default = self.block(fields.next("default target")?, record)?;
        let mut cases = Vec::with_capacity(fields.left() / 2);
        for pair in fields.rest().chunks_exact(2) {
            let constant = self.module.values.constant(pair[0]).map(|(id, _)| id);
            match constant.map(|id| &self.module.module.constants[id]) {
                Some(&Constant::Int(own, case)) if own == self.module.table.id(ty) => {
                    cases.push((case, self.block(pair[1], record)?));
                }
                _ => return Err(record.fault(format!("value {} as a case", pair[0]))),
            }
        }
        self.effect(record, Op::Switch { value, default, cases })
    }

    /// The form of LLVM 3.2 and 3.3: values stand in the record, by themselves or as ranges.
    fn switch_with_ranges(&mut self, fields: &mut Fields) -> Result<()> {
        let record = fields.record;
        fields.next("mark")?;
        let ty = self.ty(fields, "operand's type")?;
        let bits = self.module.module.types.int_bits(self.module.table.id(ty)).filter(|&bits| bits <= 64);
        let bits = bits.ok_or_else(|| record.fault("the operand is no integer of at most 64 bits"))?;
        let value = self.value_of(fields, ty, "operand")?;
        let default = self.block(fields.next("default target")?, record)?;
        let mut cases = Vec::new();
        for _ in 0..fields.next("number of cases")? {
            let first = cases.len();
            for _ in 0..fields.next("number of ranges")? {
                let single = fields.next("kind of range")? != 0;
                let low = case(fields, bits)?;
                let high = if single { low } else { case(fields, bits)? };
                // A range of many numbers is short in the file.
                let count = high.saturating_sub(low).saturating_add(1);
                self.module.budget.spend((count as usize).saturating_mul(size_of::<(u128, BlockId)>()), record)?;
                cases.extend((low..=high).map(|case| (u128::from(case), default)));
            }
            let target = self.block(fields.next("target")?, record)?;
            cases[first..].iter_mut().for_each(|(_, block)| *block = target);
        }
        self.effect(record, Op::Switch { value, default, cases })
    }

    /// The entry of `i1`.
    pub(super) fn bool(&mut self) -> TypeIndex {
        self.module.table.of(TypeId::I1, &self.module.module.types)
    }

    /// The entry of `i1`, or of a vector of as many as `ty` has elements.
    fn bool_like(&mut self, ty: TypeIndex) -> TypeIndex {
        let bool = self.bool();
        match self.module.module.types.as_vector(self.module.table.id(ty)) {
            Some((_, len)) => self.module.table.vector(bool, len, &mut self.module.module.types),
            None => bool,
        }
    }

    fn is_float(&self, ty: TypeIndex) -> bool {
        let types = &self.module.module.types;
        types.is_float(types.scalar(self.module.table.id(ty)))
    }

    fn vector_element(&self, ty: TypeIndex, record: &Record) -> Result<TypeIndex> {
        match self.module.module.types[self.module.table.id(ty)] {
            Type::Vector(..) => Ok(self.module.table.parts(ty)[0]),
            _ => Err(record.fault("an operand that is no vector")),
        }
    }
}

/// The number of a case, zero-extended.
fn case(fields: &mut Fields, bits: u32) -> Result<u64> {
    let value = signed(fields.next("number of a case")?) as u64;
    Ok(if bits == 64 { value } else { value & ((1 << bits) - 1) })
}

/// The rest of a record: a path into an aggregate.
fn indices(fields: &mut Fields) -> Result<Vec<u32>> {
    let mut path = Vec::with_capacity(fields.left());
    while fields.left() > 0 {
        path.push(fields.next_u32("index")?);
    }
    if path.is_empty() {
        return Err(fields.record.fault("no index"));
    }
    Ok(path)
}
