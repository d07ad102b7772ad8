//! Instructions on memory.

use crate::ir::{GepFlags, Op, Ordering, RmwOp, SyncScope, Type};

use super::codes::function;
use super::error::Result;
use super::function::BodyReader;
use super::inst::gep_flags;
use super::stream::{Fields, Record};
use super::type_table::TypeIndex;

/// Operations of `atomicrmw` by number.
const RMW: &[RmwOp] = &[
    RmwOp::Xchg,
    RmwOp::Add,
    RmwOp::Sub,
    RmwOp::And,
    RmwOp::Nand,
    RmwOp::Or,
    RmwOp::Xor,
    RmwOp::Max,
    RmwOp::Min,
    RmwOp::UMax,
    RmwOp::UMin,
    RmwOp::FAdd,
    RmwOp::FSub,
    RmwOp::FMax,
    RmwOp::FMin,
    RmwOp::UIncWrap,
    RmwOp::UDecWrap,
    RmwOp::USubCond,
    RmwOp::USubSat,
    RmwOp::FMaximum,
    RmwOp::FMinimum,
    RmwOp::FMaximumNum,
    RmwOp::FMinimumNum,
];

impl BodyReader<'_, '_> {
    /// Reads an instruction on memory, or refuses the record.
    pub(super) fn memory_instruction(&mut self, fields: &mut Fields) -> Result<()> {
        match fields.record.code {
            function::INST_LOAD | function::INST_LOADATOMIC => self.load(fields),
            function::INST_STORE
            | function::INST_STORE_OLD
            | function::INST_STOREATOMIC
            | function::INST_STOREATOMIC_OLD => self.store(fields),
            function::INST_ALLOCA => self.alloca(fields),
            function::INST_GEP | function::INST_GEP_OLD | function::INST_INBOUNDS_GEP_OLD => self.gep(fields),
            function::INST_CMPXCHG | function::INST_CMPXCHG_OLD => self.cmpxchg(fields),
            function::INST_ATOMICRMW | function::INST_ATOMICRMW_OLD => self.atomicrmw(fields),
            function::INST_FENCE => {
                let ordering = self.ordering(fields)?;
                let scope = self.scope(fields)?;
                self.effect(fields.record, Op::Fence(ordering, scope))
            }
            _ => Err(fields.record.fault("instructions of this kind are not supported")),
        }
    }

    fn load(&mut self, fields: &mut Fields) -> Result<()> {
        let record = fields.record;
        let atomic = record.code == function::INST_LOADATOMIC;
        let (ptr, ptr_type) = self.value(fields, "address")?;
        let behind = if atomic { 4 } else { 2 };
        let ty = if fields.left() > behind { self.ty(fields, "type")? } else { self.pointee(ptr_type, record)? };
        let align = self.align(fields, ty)?;
        let volatile = fields.next("volatile flag")? != 0;
        let (ordering, scope) = self.atomic(fields, atomic)?;
        self.define(record, Op::Load { ptr, align, volatile, ordering, scope }, ty)
    }

    fn store(&mut self, fields: &mut Fields) -> Result<()> {
        let record = fields.record;
        let atomic = matches!(record.code, function::INST_STOREATOMIC | function::INST_STOREATOMIC_OLD);
        let (ptr, ptr_type) = self.value(fields, "address")?;
        let (value, ty) = if matches!(record.code, function::INST_STORE | function::INST_STOREATOMIC) {
            self.value(fields, "value")?
        } else {
            let ty = self.pointee(ptr_type, record)?;
            (self.value_of(fields, ty, "value")?, ty)
        };
        let align = self.align(fields, ty)?;
        let volatile = fields.next("volatile flag")? != 0;
        let (ordering, scope) = self.atomic(fields, atomic)?;
        self.effect(record, Op::Store { value, ptr, align, volatile, ordering, scope })
    }

    fn alloca(&mut self, fields: &mut Fields) -> Result<()> {
        const EXPLICIT_TYPE: u64 = 1 << 6;
        let record = fields.record;
        let ty = self.ty(fields, "type")?;
        let count_type = self.ty(fields, "count's type")?;
        // Unlike other operands the count is never relative.
        let number = fields.next("count")?;
        let count = self.value_numbered(number, count_type, record)?;
        let flags = fields.next("alignment")?;
        // Five bits of the alignment, and three more above the flags.
        let align = flags & 0x1F | (flags >> 8 & 7) << 5;
        let space = match fields.opt() {
            Some(space) => crate::ir::AddressSpace(space as u32),
            None => self.module.alloca_space,
        };
        let (element, result) = if flags & EXPLICIT_TYPE == 0 {
            (self.pointee(ty, record)?, ty)
        } else {
            (ty, self.module.table.pointer_to(ty, space, &mut self.module.module.types))
        };
        let align = self.align_or_abi(align, element, record)?;
        let op = Op::Alloca { element: self.module.table.id(element), count, align };
        self.define(record, op, result)
    }

    fn gep(&mut self, fields: &mut Fields) -> Result<()> {
        let record = fields.record;
        let (flags, source) = match record.code {
            function::INST_GEP => {
                let flags = gep_flags(fields.next("flags")?);
                (flags, Some(self.ty(fields, "source type")?))
            }
            function::INST_INBOUNDS_GEP_OLD => (GepFlags::INBOUNDS, None),
            _ => (GepFlags::empty(), None),
        };
        let (base, base_type) = self.value(fields, "address")?;
        let source = match source {
            Some(source) => source,
            None => self.pointee(self.scalar(base_type), record)?,
        };
        let mut lanes = self.lanes(base_type);
        let mut indices = smallvec::SmallVec::new();
        let mut reached = Some(source);
        while fields.left() > 0 {
            let (index, ty) = self.value(fields, "index")?;
            lanes = lanes.or(self.lanes(ty));
            if !indices.is_empty() {
                reached = reached.and_then(|reached| self.step(reached, index));
            }
            indices.push(index);
        }
        let result = self.address_of(self.scalar(base_type), reached, record)?;
        let result = match lanes {
            Some(len) => self.module.table.vector(result, len, &mut self.module.module.types),
            None => result,
        };
        let op = Op::Gep { source: self.module.table.id(source), flags, base, indices };
        self.define(record, op, result)
    }

    /// What an index leads to.
    fn step(&self, ty: TypeIndex, index: crate::ir::Value) -> Option<TypeIndex> {
        let types = &self.module.module.types;
        match types[self.module.table.id(ty)] {
            Type::Struct { .. } => {
                let index = self.module.module.constants.as_int(index.constant()?)?;
                self.module.table.element(ty, u64::try_from(index).ok()?, types)
            }
            Type::Array(..) | Type::Vector(..) => self.module.table.parts(ty).first().copied(),
            _ => None,
        }
    }

    /// The entry of a pointer like `base` to what was reached. Only typed pointers need to know that.
    fn address_of(&mut self, base: TypeIndex, reached: Option<TypeIndex>, record: &Record) -> Result<TypeIndex> {
        let types = &mut self.module.module.types;
        let space = types.address_space(self.module.table.id(base));
        let space = space.ok_or_else(|| record.fault("an address that is no pointer"))?;
        if self.module.table.pointee(base, types).is_none() {
            return Ok(base);
        }
        let reached = reached.ok_or_else(|| record.fault("indices that do not fit the type"))?;
        Ok(self.module.table.pointer_to(reached, space, types))
    }

    fn cmpxchg(&mut self, fields: &mut Fields) -> Result<()> {
        let record = fields.record;
        let (ptr, ptr_type) = self.value(fields, "address")?;
        let (expected, ty) = if record.code == function::INST_CMPXCHG {
            self.value(fields, "expected value")?
        } else {
            let ty = self.pointee(ptr_type, record)?;
            (self.value_of(fields, ty, "expected value")?, ty)
        };
        let new = self.value_of(fields, ty, "new value")?;
        let volatile = fields.next("volatile flag")? != 0;
        let success = self.ordering(fields)?;
        let scope = self.scope(fields)?;
        let failure = if fields.left() > 0 { self.ordering(fields)? } else { failure_ordering(success) };
        // Before LLVM 3.5 the result was what had been in memory.
        let (plain, weak) = match fields.opt() {
            Some(weak) => (false, weak != 0),
            None => (true, false),
        };
        let align = self.align_or_size(fields.opt(), ty, record)?;
        let orderings = [success, failure];
        let bool = self.bool();
        let result = self.module.table.structure(&[ty, bool], &mut self.module.module.types);
        let op = Op::CmpXchg { ptr, expected, new, align, volatile, weak, orderings, scope };
        if plain { self.define_first_of(record, op, result, ty) } else { self.define(record, op, result) }
    }

    fn atomicrmw(&mut self, fields: &mut Fields) -> Result<()> {
        let record = fields.record;
        let (ptr, ptr_type) = self.value(fields, "address")?;
        let (value, ty) = if record.code == function::INST_ATOMICRMW {
            self.value(fields, "operand")?
        } else {
            let ty = self.pointee(ptr_type, record)?;
            (self.value_of(fields, ty, "operand")?, ty)
        };
        let number = fields.next("operation")?;
        let op = usize::try_from(number).ok().and_then(|number| RMW.get(number).copied());
        let op = op.ok_or_else(|| record.fault(format!("operation {number} of atomicrmw is not supported")))?;
        let volatile = fields.next("volatile flag")? != 0;
        let ordering = self.ordering(fields)?;
        let scope = self.scope(fields)?;
        let align = self.align_or_size(fields.opt(), ty, record)?;
        self.define(record, Op::AtomicRmw { op, ptr, value, align, volatile, ordering, scope }, ty)
    }

    /// Ordering and scope of a load or store.
    fn atomic(&self, fields: &mut Fields, atomic: bool) -> Result<(Ordering, SyncScope)> {
        if atomic {
            Ok((self.ordering(fields)?, self.scope(fields)?))
        } else {
            Ok((Ordering::NotAtomic, SyncScope::System))
        }
    }

    fn ordering(&self, fields: &mut Fields) -> Result<Ordering> {
        let number = fields.next("ordering")?;
        let ordering = usize::try_from(number).ok().and_then(|number| Ordering::ALL.get(number).copied());
        ordering.ok_or_else(|| fields.record.fault(format!("memory ordering {number}")))
    }

    fn scope(&self, fields: &mut Fields) -> Result<SyncScope> {
        let number = fields.next("scope")?;
        let scope = usize::try_from(number).ok().and_then(|number| self.module.scopes.get(number));
        match scope {
            Some(Ok(scope)) => Ok(*scope),
            Some(Err(name)) => Err(fields.record.fault(format!("syncscope(\"{name}\") is not supported"))),
            None => Err(fields.record.fault(format!("scope {number} has no name"))),
        }
    }

    /// An alignment in bytes; that of the type's ABI when there is none.
    fn align(&self, fields: &mut Fields, ty: TypeIndex) -> Result<u32> {
        self.align_or_abi(fields.next("alignment")?, ty, fields.record)
    }

    fn align_or_abi(&self, number: u64, ty: TypeIndex, record: &Record) -> Result<u32> {
        let module = &self.module.module;
        Ok(alignment(number, record)?.unwrap_or_else(|| module.layout.align(&module.types, self.module.table.id(ty))))
    }

    /// An alignment in bytes; the size of the type when there is none.
    fn align_or_size(&self, number: Option<u64>, ty: TypeIndex, record: &Record) -> Result<u32> {
        let module = &self.module.module;
        let size = || module.layout.store_size(&module.types, self.module.table.id(ty)).clamp(1, 1 << 16);
        Ok(alignment(number.unwrap_or(0), record)?.unwrap_or_else(|| (size() as u32).next_power_of_two()))
    }

    /// What a typed pointer points to.
    fn pointee(&self, ty: TypeIndex, record: &Record) -> Result<TypeIndex> {
        let pointee = self.module.table.pointee(ty, &self.module.module.types);
        pointee.ok_or_else(|| record.fault("no type, and the address has none either"))
    }

    /// The element of a vector, or the type itself.
    fn scalar(&self, ty: TypeIndex) -> TypeIndex {
        if self.lanes(ty).is_some() { self.module.table.parts(ty)[0] } else { ty }
    }

    /// The number of elements of a vector.
    fn lanes(&self, ty: TypeIndex) -> Option<u32> {
        self.module.module.types.as_vector(self.module.table.id(ty)).map(|(_, len)| len)
    }
}

/// The ordering of a failure that follows from that of success.
fn failure_ordering(success: Ordering) -> Ordering {
    match success {
        Ordering::Release => Ordering::Monotonic,
        Ordering::AcqRel => Ordering::Acquire,
        same => same,
    }
}

/// An alignment as bitcode writes it: 0, or one more than its logarithm.
pub(super) fn alignment(number: u64, record: &Record) -> Result<Option<u32>> {
    match number {
        0 => Ok(None),
        1..=32 => Ok(Some(1 << (number - 1))),
        _ => Err(record.fault(format!("an alignment of 2^{}", number - 1))),
    }
}
