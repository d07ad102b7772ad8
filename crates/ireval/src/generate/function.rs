//! The maker of a program: its state, and the outline of modules and functions.

use super::options::{INPUT_STRIDE, Kinds, OUTPUT_STRIDE, Options};
use oriole_nvptx::ir::{
    AddressSpace, Attributes, BinaryOp, BlockId, Body, CallingConvention, CastOp, FnFlags, Function, GepFlags,
    InstFlags, Linkage, Module, Op, Ordering, Param, Symbol, SymbolId, SymbolKind, SyncScope, Type, TypeId, Value,
};
use smallvec::smallvec;

/// Makes a program.
pub(super) struct Maker {
    pub(super) module: Module,
    pub(super) random: fastrand::Rng,
    options: Options,
    /// Functions that later ones may call.
    pub(super) functions: Vec<SymbolId>,
    /// The function being made.
    pub(super) body: Body,
    /// The block that grows.
    pub(super) block: BlockId,
    /// Values that may be read here.
    pub(super) pool: Vec<(Value, TypeId)>,
    /// Memory that may be used here.
    pub(super) regions: Vec<Region>,
    /// Statements that may still be made.
    pub(super) budget: u32,
    /// The result's type.
    pub(super) ret: TypeId,
}

/// Memory that is there: known bytes of any value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    pub(super) address: Value,
    pub(super) ty: TypeId,
    pub(super) size: u32,
    pub(super) align: u32,
    pub(super) writable: bool,
    /// Atomic operations are allowed: it is no local variable.
    pub(super) atomic: bool,
}

/// Bytes at the end of a thread's output that are working memory.
const SCRATCH: u32 = 64;

impl Maker {
    pub(super) fn new(random: fastrand::Rng, options: Options) -> Maker {
        let mut body = Body::default();
        let block = body.add_block();
        let mut module = Module::default();
        module.triple = "nvptx64-nvidia-cuda".into();
        Maker {
            module,
            random,
            options,
            functions: Vec::new(),
            body,
            block,
            pool: Vec::new(),
            regions: Vec::new(),
            budget: 0,
            ret: TypeId::VOID,
        }
    }

    pub(super) fn has(&self, kinds: Kinds) -> bool {
        self.options.kinds.contains(kinds)
    }

    pub(super) fn choose<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.random.usize(..all.len())]
    }

    pub(super) fn chance(&mut self, of: u32) -> bool {
        self.random.u32(..of) == 0
    }

    /// The whole program.
    pub(super) fn module(mut self) -> Module {
        if self.has(Kinds::MEMORY) {
            self.tables();
            self.shared_memory();
        }
        if self.has(Kinds::CALLS) {
            for number in 0..self.random.u32(..4) {
                self.function(number);
            }
        }
        self.kernel();
        self.module
    }

    /// Starts another function.
    pub(super) fn start(&mut self, params: &[TypeId], ret: TypeId, budget: u32) {
        self.body = Body::default();
        self.block = self.body.add_block();
        self.pool.clear();
        self.regions.retain(|region| region.address.constant().is_some());
        for &ty in params {
            let value = self.body.add_param(ty);
            self.pool.push((value.into(), ty));
        }
        (self.budget, self.ret) = (budget, ret);
    }

    /// Ends the function and gives it to the module.
    pub(super) fn finish(&mut self, name: &str, params: Vec<Param>, convention: CallingConvention) -> SymbolId {
        let signature =
            Type::Function { ret: self.ret, params: params.iter().map(|param| param.ty).collect(), varargs: false };
        let mut attributes = Attributes::default();
        if convention != CallingConvention::PtxKernel && self.chance(2) {
            attributes.function |= FnFlags::NO_INLINE;
        }
        let function = Function {
            signature: self.module.types.intern(signature),
            ret: self.ret,
            ret_attributes: Attributes::default(),
            params,
            varargs: false,
            attributes,
            convention,
            debug: None.into(),
            body: Some(Box::new(std::mem::take(&mut self.body))),
        };
        let id = self.module.symbol_or_new(name);
        let linkage = if convention == CallingConvention::PtxKernel { Linkage::External } else { Linkage::Internal };
        self.module.symbols[id] =
            Symbol { linkage, kind: SymbolKind::Function(Box::new(function)), ..Symbol::undefined(name) };
        id
    }

    /// The kernel: `@k(ptr addrspace(1) in, ptr addrspace(1) out, i64 uniform)`.
    fn kernel(&mut self) {
        let pointer = self.module.types.pointer(AddressSpace::GLOBAL);
        let params = [pointer, pointer, TypeId::I64];
        let budget = self.random.u32(4..=self.options.statements.max(4));
        self.start(&params, TypeId::VOID, budget);
        let [input, output] = [0, 1].map(|at| Value::Local(self.body.params[at]));
        self.pool.retain(|&(_, ty)| ty == TypeId::I64);
        let thread = self.intrinsic("llvm.nvvm.read.ptx.sreg.tid.x", &[], TypeId::I32);
        let wide = self.emit(Op::Cast(CastOp::ZExt, InstFlags::NNEG, thread), TypeId::I64);
        self.pool.push((thread, TypeId::I32));
        let [input, output] = [(input, INPUT_STRIDE), (output, OUTPUT_STRIDE)].map(|(base, stride)| {
            let stride = self.module.constants.int(TypeId::I64, 64, u128::from(stride));
            let offset = self
                .emit(Op::Binary(BinaryOp::Mul, InstFlags::NUW | InstFlags::NSW, [wide, stride.into()]), TypeId::I64);
            self.emit(
                Op::Gep { source: TypeId::I8, flags: GepFlags::INBOUNDS, base, indices: smallvec![offset] },
                pointer,
            )
        });
        let region =
            Region { address: input, ty: pointer, size: INPUT_STRIDE, align: 64, writable: false, atomic: false };
        self.regions.push(region);
        let scratch = self.offset(output, pointer, OUTPUT_STRIDE - SCRATCH);
        self.regions.push(Region { address: scratch, size: SCRATCH, writable: true, atomic: true, ..region });
        if self.has(Kinds::MEMORY) {
            self.shared_slice(thread);
        }
        self.local_variables();
        self.statements();
        self.store_all(output, pointer);
        self.push(Op::Ret(None));
        let params = params.map(|ty| Param { ty, attributes: Attributes::default() });
        self.finish("k", params.to_vec(), CallingConvention::PtxKernel);
    }

    /// Stores values of the pool one behind the other.
    fn store_all(&mut self, output: Value, pointer: TypeId) {
        let mut at = 0;
        for (value, ty) in std::mem::take(&mut self.pool).into_iter().rev() {
            if self.module.types.address_space(ty).is_some() || !self.is_storable(ty) {
                continue;
            }
            let size = self.module.layout.size(&self.module.types, ty) as u32;
            let natural = self.module.layout.align(&self.module.types, ty);
            let start = u32::next_multiple_of(at, natural.min(64));
            if start + size > OUTPUT_STRIDE - SCRATCH {
                break;
            }
            let ptr = self.offset(output, pointer, start);
            let align = natural.min(64) >> self.random.u32(..4).saturating_sub(2).min(natural.trailing_zeros());
            self.store(value, ptr, align);
            at = start + size;
        }
    }

    // -------------------------------------------------------------- instructions

    /// Adds an instruction without a result.
    pub(super) fn push(&mut self, op: Op) {
        self.body.push(self.block, op, TypeId::VOID);
    }

    /// Adds an instruction and answers its result.
    pub(super) fn emit(&mut self, op: Op, ty: TypeId) -> Value {
        let inst = self.body.push(self.block, op, ty);
        self.body.result(inst).into()
    }

    /// Adds an instruction whose result may be read from now on.
    pub(super) fn define(&mut self, op: Op, ty: TypeId) -> Value {
        let value = self.emit(op, ty);
        self.pool.push((value, ty));
        value
    }

    /// The address `bytes` behind another.
    pub(super) fn offset(&mut self, base: Value, pointer: TypeId, bytes: u32) -> Value {
        if bytes == 0 && self.chance(2) {
            return base;
        }
        let index = self.module.constants.int(TypeId::I64, 64, u128::from(bytes));
        let flags = if self.chance(3) { GepFlags::empty() } else { GepFlags::INBOUNDS };
        self.emit(Op::Gep { source: TypeId::I8, flags, base, indices: smallvec![index.into()] }, pointer)
    }

    pub(super) fn load(&mut self, ptr: Value, ty: TypeId, align: u32) -> Value {
        let (volatile, ordering, scope) = (self.volatile(), Ordering::NotAtomic, SyncScope::System);
        self.emit(Op::Load { ptr, align, volatile, ordering, scope }, ty)
    }

    pub(super) fn store(&mut self, value: Value, ptr: Value, align: u32) {
        let (volatile, ordering, scope) = (self.volatile(), Ordering::NotAtomic, SyncScope::System);
        self.push(Op::Store { value, ptr, align, volatile, ordering, scope });
    }

    // -------------------------------------------------------------- values

    fn volatile(&mut self) -> bool {
        self.has(Kinds::VOLATILE) && self.chance(16)
    }

    /// True when values of the type may be stored.
    pub(super) fn is_storable(&self, ty: TypeId) -> bool {
        let packed = self.module.types.as_vector(ty).is_some_and(|(element, _)| !self.is_plain(element));
        self.has(Kinds::PACKED_VECTORS) || !packed
    }

    /// A value of a type: one that is there, a constant, or a new one.
    pub(super) fn value(&mut self, ty: TypeId) -> Value {
        let there: Vec<Value> = self.pool.iter().filter(|(_, own)| *own == ty).map(|(value, _)| *value).collect();
        if !there.is_empty() && !self.chance(5) {
            // The later ones depend on more.
            let from = if self.chance(2) { there.len() / 2 } else { 0 };
            return self.choose(&there[from..]);
        }
        if self.chance(3) {
            return self.constant(ty).into();
        }
        self.new_value(ty)
    }

    /// A value that is no constant.
    fn new_value(&mut self, ty: TypeId) -> Value {
        match self.module.types[ty].clone() {
            Type::Int(1) => {
                let operands = [self.value(TypeId::I32), self.constant(TypeId::I32).into()];
                let predicate = self.int_predicate();
                self.emit(Op::ICmp(predicate, InstFlags::empty(), operands), ty)
            }
            Type::Int(bits) if !bits.is_power_of_two() || bits < 8 => {
                let wider = if bits < 32 { TypeId::I32 } else { TypeId::I64 };
                let value = self.value(wider);
                self.emit(Op::Cast(CastOp::Trunc, InstFlags::empty(), value), ty)
            }
            Type::Vector(element, len) if !self.is_plain(ty) => {
                let first = self.constant(ty).into();
                (0..len).fold(first, |vector, at| {
                    let element = self.value(element);
                    let index = self.module.constants.int(TypeId::I32, 32, u128::from(at));
                    self.emit(Op::InsertElement([vector, element, index.into()]), ty)
                })
            }
            Type::Struct { .. } | Type::Array(..) if !self.is_plain(ty) => self.constant(ty).into(),
            Type::Pointer(_) => self.constant(ty).into(),
            _ => self.load_somewhere(ty),
        }
    }

    /// True when any bytes are a value of the type.
    pub(super) fn is_plain(&self, ty: TypeId) -> bool {
        match &self.module.types[ty] {
            Type::Int(bits) => bits.is_power_of_two() && *bits >= 8,
            Type::Vector(element, _) | Type::Array(element, _) => self.is_plain(*element),
            Type::Struct { fields, .. } => fields.iter().all(|&field| self.is_plain(field)),
            Type::Pointer(_) => false,
            _ => true,
        }
    }
}
