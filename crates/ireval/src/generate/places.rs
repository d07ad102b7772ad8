//! Memory: local variables, tables, loads, stores, blocks of memory, atomic operations.

use super::function::{Maker, Region};
use super::options::{Kinds, THREADS};
use oriole_nvptx::ir::{
    AddressSpace, CastOp, Constant, GepFlags, InstFlags, Linkage, Op, Ordering, RmwOp, Symbol, SymbolKind, SyncScope,
    Type, TypeId, Value, Variable,
};
use smallvec::{SmallVec, smallvec};

/// Bytes of shared memory that a thread has.
const SHARED_STRIDE: u32 = 48;

impl Maker {
    /// Read-only variables of global, constant and generic memory.
    pub(super) fn tables(&mut self) {
        for number in 0..self.random.u32(1..4) {
            let element = self.memory_scalar();
            let len = 1 << self.random.u32(2..5);
            let ty = self.module.types.intern(Type::Array(element, len));
            let init = self.constant(ty);
            let name = format!("table{number}");
            let id = self.module.symbol_or_new(&name);
            let space = self.choose(&[AddressSpace::GLOBAL, AddressSpace::CONSTANT, AddressSpace::GLOBAL]);
            let align = self.module.layout.align(&self.module.types, ty).max(self.choose(&[1, 4, 16]));
            let variable = Variable {
                ty,
                constant: true,
                init: Some(init),
                thread_local: false,
                externally_initialized: false,
                attributes: Default::default(),
            };
            let kind = SymbolKind::Variable(variable);
            self.module.symbols[id] =
                Symbol { linkage: Linkage::Internal, space, align, kind, ..Symbol::undefined(&name) };
            let pointer = self.module.types.pointer(space);
            let mut address = Constant::Symbol(pointer, id);
            let mut pointer_type = pointer;
            if self.chance(3) {
                let symbol = self.module.constants.intern(address);
                let cast = oriole_nvptx::ir::ConstExpr::Cast(CastOp::AddrSpaceCast, symbol);
                address = Constant::Expr(TypeId::PTR, Box::new(cast));
                pointer_type = TypeId::PTR;
            }
            let address = self.module.constants.intern(address).into();
            let size = self.module.layout.size(&self.module.types, ty) as u32;
            self.regions.push(Region { address, ty: pointer_type, size, align, writable: false, atomic: false });
        }
    }

    /// Shared memory, of which each thread has a slice.
    pub(super) fn shared_memory(&mut self) {
        let ty = self.module.types.intern(Type::Array(TypeId::I8, u64::from(THREADS * SHARED_STRIDE)));
        let init = self.module.constants.intern(Constant::Undef(ty));
        let id = self.module.symbol_or_new("table9");
        let variable = Variable {
            ty,
            constant: false,
            init: Some(init),
            thread_local: false,
            externally_initialized: false,
            attributes: Default::default(),
        };
        let (space, kind) = (AddressSpace::SHARED, SymbolKind::Variable(variable));
        self.module.symbols[id] =
            Symbol { linkage: Linkage::Internal, space, align: 16, kind, ..Symbol::undefined("table9") };
    }

    /// The thread's slice of shared memory, with all its bytes set.
    pub(super) fn shared_slice(&mut self, thread: Value) {
        let Some(id) = self.module.symbol("table9") else { return };
        let ty = self.module.types.pointer(AddressSpace::SHARED);
        let base = self.module.constants.intern(Constant::Symbol(ty, id)).into();
        let source = self.module.types.intern(Type::Array(TypeId::I8, u64::from(SHARED_STRIDE)));
        let op = Op::Gep { source, flags: GepFlags::INBOUNDS, base, indices: smallvec![thread] };
        let address = self.emit(op, ty);
        let region = Region { address, ty, size: SHARED_STRIDE, align: 16, writable: true, atomic: true };
        self.fill(region);
        self.regions.push(region);
    }

    /// An access through a pointer that is one of two, or has been in memory.
    fn chosen_place(&mut self) {
        let Some(first) = self.region(8, |_| true) else { return };
        let Some(second) = self.region(8, |region| region.ty == first.ty) else { return };
        let condition = self.value(TypeId::I1);
        let mut address =
            self.emit(Op::Select(InstFlags::empty(), [condition, first.address, second.address]), first.ty);
        if self.chance(3) {
            let slot = self.slot(first.ty, 8);
            self.store(address, slot, 8);
            address = self.load(slot, first.ty, 8);
        }
        let (size, align) = (first.size.min(second.size), first.align.min(second.align));
        let writable = first.writable && second.writable;
        let region = Region { address, size, align, writable, atomic: false, ..first };
        let ty = self.choose(&[TypeId::I8, TypeId::I16, TypeId::I32, TypeId::I64]);
        let bytes = self.module.layout.size(&self.module.types, ty) as u32;
        let (ptr, align) = self.place(region, bytes, bytes);
        if writable && self.chance(2) {
            let value = self.value(ty);
            self.store(value, ptr, align);
        }
        let value = self.load(ptr, ty, align);
        self.pool.push((value, ty));
    }

    /// A new local variable, in the first block: others would pile up in loops.
    pub(super) fn slot(&mut self, element: TypeId, align: u32) -> Value {
        let one = self.module.constants.int(TypeId::I32, 32, 1).into();
        let slot = self.body.make_inst(Op::Alloca { element, count: one, align }, TypeId::PTR);
        let entry = self.body.layout[0];
        self.body[entry].insts.insert(0, slot);
        Value::Local(self.body.result(slot))
    }

    /// Local variables at the start of a function, each with all its bytes set.
    pub(super) fn local_variables(&mut self) {
        if !self.has(Kinds::MEMORY) {
            return;
        }
        let one = self.module.constants.int(TypeId::I32, 32, 1).into();
        for _ in 0..self.random.u32(..4) {
            let element = match self.random.u32(..3) {
                0 => self.memory_type(),
                _ => {
                    let element = self.memory_scalar();
                    let len = self.random.u64(1..9);
                    self.module.types.intern(Type::Array(element, len))
                }
            };
            let align = self.module.layout.align(&self.module.types, element).max(self.choose(&[1, 4, 8, 16]));
            let address = self.emit(Op::Alloca { element, count: one, align }, TypeId::PTR);
            let size = self.module.layout.size(&self.module.types, element) as u32;
            let region = Region { address, ty: TypeId::PTR, size, align, writable: true, atomic: false };
            self.fill(region);
            self.regions.push(region);
        }
    }

    /// Gives all bytes of a region values.
    fn fill(&mut self, region: Region) {
        if self.has(Kinds::BLOCKS) && self.chance(2) {
            let byte = self.value(TypeId::I8);
            return self.memset(region.address, region.ty, region.align, byte, region.size);
        }
        let mut at = 0;
        while at < region.size {
            let steps = [(8, TypeId::I64), (4, TypeId::I32), (2, TypeId::I16), (1, TypeId::I8)];
            let (size, ty) = steps
                .into_iter()
                .find(|(size, _)| at + size <= region.size && region.align >= *size)
                .unwrap_or(steps[3]);
            let ptr = self.offset(region.address, region.ty, at);
            let value = self.value(ty);
            self.store(value, ptr, size.min(region.align));
            at += size;
        }
    }

    /// An address in a region where `size` bytes fit, and its alignment.
    fn place(&mut self, region: Region, size: u32, align: u32) -> (Value, u32) {
        let room = region.size - size;
        let align = if self.chance(6) { 1 } else { align.min(region.align) };
        let known = |offset: u32| region.align.min(1 << offset.trailing_zeros().min(6));
        let step = align.max(1);
        if room < step || self.chance(2) {
            let at = self.random.u32(..=room) / step * step;
            return (self.offset(region.address, region.ty, at), known(at).min(align.max(known(at))));
        }
        // A computed place: a number of steps below a power of two.
        let steps = room / step + 1;
        let mask = (1 << steps.ilog2()) - 1;
        let index_type = self.choose(&[TypeId::I32, TypeId::I64]);
        let index = self.value(index_type);
        let mask = self.int_splat(index_type, mask).into();
        let index =
            self.emit(Op::Binary(oriole_nvptx::ir::BinaryOp::And, InstFlags::empty(), [index, mask]), index_type);
        let source = match step {
            1 => TypeId::I8,
            2 => TypeId::I16,
            4 => TypeId::I32,
            8 => TypeId::I64,
            _ => self.module.types.intern(Type::Array(TypeId::I8, u64::from(step))),
        };
        let flags = if self.chance(3) { GepFlags::empty() } else { GepFlags::INBOUNDS };
        (self.emit(Op::Gep { source, flags, base: region.address, indices: smallvec![index] }, region.ty), step)
    }

    /// The same address as a generic one, at times.
    fn perhaps_generic(&mut self, ptr: Value, space: TypeId) -> Value {
        if space == TypeId::PTR || !self.chance(4) {
            return ptr;
        }
        self.emit(Op::Cast(CastOp::AddrSpaceCast, InstFlags::empty(), ptr), TypeId::PTR)
    }

    fn region(&mut self, size: u32, wanted: impl Fn(&Region) -> bool) -> Option<Region> {
        let fitting: Vec<Region> =
            self.regions.iter().copied().filter(|region| region.size >= size && wanted(region)).collect();
        (!fitting.is_empty()).then(|| self.choose(&fitting))
    }

    /// A loaded value of a type that any bytes are a value of; a constant if no memory is large enough.
    pub(super) fn load_somewhere(&mut self, ty: TypeId) -> Value {
        let size = self.module.layout.size(&self.module.types, ty) as u32;
        let natural = self.module.layout.align(&self.module.types, ty);
        let Some(region) = self.region(size, |_| true) else { return self.constant(ty).into() };
        let (ptr, align) = self.place(region, size, natural);
        let ptr = self.perhaps_generic(ptr, region.ty);
        self.load(ptr, ty, align)
    }

    /// A store to memory of this function.
    fn store_somewhere(&mut self) {
        let ty = self.memory_type();
        let size = self.module.layout.size(&self.module.types, ty) as u32;
        let natural = self.module.layout.align(&self.module.types, ty);
        if let Some(region) = self.region(size, |region| region.writable) {
            let value = self.value(ty);
            let (ptr, align) = self.place(region, size, natural);
            let ptr = self.perhaps_generic(ptr, region.ty);
            self.store(value, ptr, align);
        }
    }

    /// A variable of any type that is written and read again: through its fields or as a whole.
    fn through_a_variable(&mut self) {
        let ty = if self.chance(3) { self.aggregate_type(1) } else { self.value_type() };
        if !self.is_storable(ty) {
            return;
        }
        let align = self.module.layout.align(&self.module.types, ty);
        let slot = self.slot(ty, align);
        let value = self.value(ty);
        self.store(value, slot, align);
        let Type::Struct { fields, packed } = self.module.types[ty].clone() else {
            let value = self.load(slot, ty, align);
            return self.pool.push((value, ty));
        };
        let field = self.random.usize(..fields.len());
        let indices: SmallVec<[Value; 2]> =
            [0, field as u128].map(|at| self.module.constants.int(TypeId::I32, 32, at).into()).into();
        let ptr = self.emit(Op::Gep { source: ty, flags: GepFlags::INBOUNDS, base: slot, indices }, TypeId::PTR);
        let align = if packed { 1 } else { self.module.layout.align(&self.module.types, fields[field]) };
        if self.chance(2) {
            let value = self.value(fields[field]);
            self.store(value, ptr, align);
        }
        let value = self.load(ptr, fields[field], align);
        self.pool.push((value, fields[field]));
    }

    fn memset(&mut self, ptr: Value, pointer: TypeId, align: u32, byte: Value, size: u32) {
        let len = self.module.constants.int(TypeId::I64, 64, u128::from(size)).into();
        let volatile = self.module.constants.bool(false).into();
        let name = format!("llvm.memset.{}.i64", self.pointer_suffix(pointer));
        let types = [pointer, TypeId::I8, TypeId::I64, TypeId::I1];
        self.call_intrinsic(&name, &[ptr, byte, len, volatile], &types, TypeId::VOID, &[(0, align)]);
    }

    fn pointer_suffix(&self, pointer: TypeId) -> String {
        format!("p{}", self.module.types.address_space(pointer).unwrap_or(AddressSpace::GENERIC).0)
    }

    /// `memcpy`, `memmove` or `memset`, of a known or a computed length.
    fn block_of_memory(&mut self) {
        let Some(to) = self.region(1, |region| region.writable) else { return };
        let most = to.size.min(24);
        if self.chance(3) {
            let size = self.random.u32(1..=most);
            let (ptr, align) = self.place(to, size, to.align);
            let byte = self.value(TypeId::I8);
            return self.memset(ptr, to.ty, align, byte, size);
        }
        let Some(from) = self.region(1, |region| region.address != to.address) else { return };
        let most = most.min(from.size);
        let size = self.random.u32(1..=most);
        let (target, target_align) = self.place(to, size, to.align);
        let (source, source_align) = self.place(from, size, from.align);
        let mut len = self.module.constants.int(TypeId::I64, 64, u128::from(size)).into();
        if self.has(Kinds::VARIABLE_BLOCKS) && self.chance(4) {
            let mask = self.module.constants.int(TypeId::I64, 64, (1 << size.ilog2()) - 1).into();
            let value = self.value(TypeId::I64);
            len =
                self.emit(Op::Binary(oriole_nvptx::ir::BinaryOp::And, InstFlags::empty(), [value, mask]), TypeId::I64);
        }
        let volatile = self.module.constants.bool(false).into();
        let movable = to.ty == from.ty || self.has(Kinds::ANY_MEMMOVE);
        let kind = if movable && self.chance(2) { "memmove" } else { "memcpy" };
        let name = format!("llvm.{kind}.{}.{}.i64", self.pointer_suffix(to.ty), self.pointer_suffix(from.ty));
        let types = [to.ty, from.ty, TypeId::I64, TypeId::I1];
        let aligns = [(0, target_align), (1, source_align)];
        self.call_intrinsic(&name, &[target, source, len, volatile], &types, TypeId::VOID, &aligns);
    }

    /// An atomic operation on memory that only this thread touches.
    fn atomic(&mut self) {
        let ty = self.choose(&[TypeId::I32, TypeId::I32, TypeId::I64]);
        let size = if ty == TypeId::I64 { 8 } else { 4 };
        let Some(region) = self.region(size, |region| region.atomic) else { return };
        let at = self.random.u32(..=(region.size - size) / size) * size;
        let ptr = self.offset(region.address, region.ty, at);
        let ptr = self.perhaps_generic(ptr, region.ty);
        let scope = self.choose(&[SyncScope::System, SyncScope::Device, SyncScope::Block]);
        let ordering = self.choose(&[Ordering::Monotonic, Ordering::Acquire, Ordering::Release, Ordering::AcqRel]);
        let (align, volatile) = (size, false);
        match self.random.u32(..4) {
            0 => {
                let [expected, new] = [self.value(ty), self.value(ty)];
                let pair = self.module.types.intern(Type::Struct { fields: [ty, TypeId::I1].into(), packed: false });
                let orderings = [ordering, Ordering::Monotonic];
                let op = Op::CmpXchg { ptr, expected, new, align, volatile, weak: false, orderings, scope };
                let both = self.emit(op, pair);
                self.define(Op::ExtractValue(both, smallvec![0]), ty);
                self.define(Op::ExtractValue(both, smallvec![1]), TypeId::I1);
            }
            1 => {
                let value = self.value(ty);
                self.push(Op::Store { value, ptr, align, volatile, ordering: Ordering::Monotonic, scope });
                self.define(Op::Load { ptr, align, volatile, ordering: Ordering::Monotonic, scope }, ty);
            }
            _ => {
                use RmwOp::*;
                let mut all = vec![Xchg, Add, Sub, And, Or, Xor, Max, Min, UMax, UMin];
                if self.has(Kinds::ATOMIC_LOOPS) {
                    all.extend([Nand, UIncWrap, UDecWrap]);
                }
                let op = self.choose(&all);
                let value = self.value(ty);
                self.define(Op::AtomicRmw { op, ptr, value, align, volatile, ordering, scope }, ty);
            }
        }
    }

    /// A statement that touches memory.
    pub(super) fn memory_statement(&mut self) {
        match self.random.u32(..10) {
            0..2 if self.has(Kinds::MEMORY) => self.store_somewhere(),
            2..4 if self.has(Kinds::MEMORY) => self.through_a_variable(),
            4..6 if self.has(Kinds::BLOCKS) => self.block_of_memory(),
            6 if self.has(Kinds::ATOMICS) => self.atomic(),
            7 if self.has(Kinds::POINTERS) => self.chosen_place(),
            _ => {
                let ty = self.memory_type();
                let value = self.load_somewhere(ty);
                self.pool.push((value, ty));
            }
        }
    }
}
