//! Bodies of functions.

use std::fmt::Write;

use crate::ir::{
    BlockId, Call, Callee, CastOp, Constant, GepFlags, InlineAsm, Inst, InstFlags, InstId, Op, Ordering, SyncScope,
    Tail, TypeId, Value,
};

use super::super::instructions::FLAGS;
use super::printer::{Printer, Scope, put};
use crate::text::dialect::{self, Form};

impl Printer<'_> {
    /// The blocks of a function.
    pub(super) fn body(&mut self, scope: &Scope) {
        for (at, &block) in scope.body.layout.iter().enumerate() {
            match scope.body.block_names.get(&block) {
                Some(name) => {
                    self.out.push('\n');
                    self.bare_name(name);
                    self.out.push_str(":\n");
                }
                None if at == 0 => self.out.push('\n'),
                None => {
                    put!(self, "\n{}:\n", scope.numbers.block(block));
                }
            }
            for &inst in &scope.body[block].insts {
                self.inst(scope, inst);
            }
        }
    }

    /// An instruction without what is attached to it.
    pub(super) fn bare_inst(&mut self, scope: &Scope, id: InstId) {
        let inst = &scope.body[id];
        if let Some(result) = inst.result.expand() {
            self.local(scope.body, &scope.numbers, result);
            self.out.push_str(" = ");
        }
        self.op(scope, inst);
    }

    fn inst(&mut self, scope: &Scope, id: InstId) {
        let inst = &scope.body[id];
        self.out.push_str("  ");
        self.bare_inst(scope, id);
        if let Some(loc) = inst.loc.expand() {
            put!(self, ", !dbg !{}", self.meta.number(loc));
        }
        for (kind, node) in scope.body.attachments.get(&id).into_iter().flatten() {
            put!(self, ", !{} !{}", kind.as_str(), self.meta.number(*node));
        }
        self.out.push('\n');
    }

    fn value(&mut self, scope: &Scope, value: Value) {
        match value {
            Value::Local(id) => self.local(scope.body, &scope.numbers, id),
            Value::Const(id) => self.constant(id),
        }
    }

    fn type_of(&self, scope: &Scope, value: Value) -> TypeId {
        scope.body.type_of(value, &self.module.constants)
    }

    fn typed(&mut self, scope: &Scope, value: Value) {
        self.ty(self.type_of(scope, value));
        self.out.push(' ');
        self.value(scope, value);
    }

    /// Values with their types, with commas between.
    fn all_typed(&mut self, scope: &Scope, values: &[Value]) {
        for (at, &value) in values.iter().enumerate() {
            self.out.push_str(if at > 0 { ", " } else { "" });
            self.typed(scope, value);
        }
    }

    /// `name flags T %a, %b`
    fn pair(&mut self, scope: &Scope, name: &str, flags: InstFlags, how: &str, [a, b]: [Value; 2]) {
        self.out.push_str(name);
        self.flags(flags);
        put!(self, "{how} ");
        self.typed(scope, a);
        self.out.push_str(", ");
        self.value(scope, b);
    }

    /// Flags, each with a blank before.
    fn flags(&mut self, mut flags: InstFlags) {
        if flags.contains(InstFlags::FAST) {
            self.out.push_str(" fast");
            flags -= InstFlags::FAST;
        }
        for &(word, flag) in FLAGS.iter().filter(|(_, flag)| *flag != InstFlags::FAST) {
            if flags.contains(flag) {
                put!(self, " {}", word.as_str());
            }
        }
    }

    fn label(&mut self, scope: &Scope, block: BlockId) {
        self.out.push_str("label ");
        self.block_name(scope.body, &scope.numbers, block);
    }

    /// Flags without those that came later than the release that is printed for.
    fn known(&self, flags: InstFlags, since: &[(Form, InstFlags)]) -> InstFlags {
        since.iter().filter(|(form, _)| !self.has(*form)).fold(flags, |flags, (_, later)| flags - *later)
    }

    fn op(&mut self, scope: &Scope, inst: &Inst) {
        match &inst.op {
            Op::Binary(op, flags, args) => {
                let flags = self.known(*flags, &[(dialect::DISJOINT, InstFlags::DISJOINT)]);
                self.pair(scope, op.as_str(), flags, "", *args);
            }
            Op::ICmp(how, flags, args) => {
                let flags = self.known(*flags, &[(dialect::SAME_SIGN, InstFlags::SAME_SIGN)]);
                self.pair(scope, "icmp", flags, &format!(" {}", how.as_str()), *args);
            }
            Op::FCmp(how, flags, args) => self.pair(scope, "fcmp", *flags, &format!(" {}", how.as_str()), *args),
            Op::FNeg(flags, value) => self.unary(scope, "fneg", *flags, &[*value]),
            Op::Cast(op, flags, value) => {
                let flags = self.known(*flags, cast_flags(*op));
                self.unary(scope, op.as_str(), flags, &[*value]);
                put!(self, " to {}", self.module.types.text(inst.ty));
            }
            Op::Select(flags, args) => self.unary(scope, "select", *flags, args),
            Op::Freeze(value) => self.unary(scope, "freeze", InstFlags::empty(), &[*value]),
            Op::ExtractElement(args) => self.unary(scope, "extractelement", InstFlags::empty(), args),
            Op::InsertElement(args) => self.unary(scope, "insertelement", InstFlags::empty(), args),
            Op::ExtractValue(value, path) => {
                self.unary(scope, "extractvalue", InstFlags::empty(), &[*value]);
                self.path(path);
            }
            Op::InsertValue(args, path) => {
                self.unary(scope, "insertvalue", InstFlags::empty(), args);
                self.path(path);
            }
            Op::Shuffle(args, mask) => {
                self.unary(scope, "shufflevector", InstFlags::empty(), args);
                self.mask(mask);
            }
            Op::Phi(incoming) => {
                put!(self, "phi {} ", self.module.types.text(inst.ty));
                for (at, &(block, value)) in incoming.iter().enumerate() {
                    self.out.push_str(if at > 0 { ", [ " } else { "[ " });
                    self.value(scope, value);
                    self.out.push_str(", ");
                    self.block_name(scope.body, &scope.numbers, block);
                    self.out.push_str(" ]");
                }
            }
            Op::Call(call) => self.call(scope, call, inst.ty),
            Op::VaArg(list) => {
                self.unary(scope, "va_arg", InstFlags::empty(), &[*list]);
                put!(self, ", {}", self.module.types.text(inst.ty));
            }
            Op::Ret(None) => self.out.push_str("ret void"),
            Op::Ret(Some(value)) => self.unary(scope, "ret", InstFlags::empty(), &[*value]),
            Op::Br(block) => {
                self.out.push_str("br ");
                self.label(scope, *block);
            }
            Op::CondBr(condition, blocks) => {
                self.unary(scope, "br", InstFlags::empty(), &[*condition]);
                for &block in blocks {
                    self.out.push_str(", ");
                    self.label(scope, block);
                }
            }
            Op::Switch { value, default, cases } => self.switch(scope, *value, *default, cases),
            Op::IndirectBr(address, blocks) => {
                self.unary(scope, "indirectbr", InstFlags::empty(), &[*address]);
                self.out.push_str(", [");
                for (at, &block) in blocks.iter().enumerate() {
                    self.out.push_str(if at > 0 { ", " } else { "" });
                    self.label(scope, block);
                }
                self.out.push(']');
            }
            Op::Unreachable => self.out.push_str("unreachable"),
            _ => self.memory(scope, inst),
        }
    }

    /// A name, flags, and typed operands.
    fn unary(&mut self, scope: &Scope, name: &str, flags: InstFlags, args: &[Value]) {
        self.out.push_str(name);
        self.flags(flags);
        self.out.push(' ');
        self.all_typed(scope, args);
    }

    fn path(&mut self, path: &[u32]) {
        for at in path {
            put!(self, ", {at}");
        }
    }

    fn mask(&mut self, mask: &[i32]) {
        put!(self, ", <{} x i32> <", mask.len());
        for (at, element) in mask.iter().enumerate() {
            self.out.push_str(if at > 0 { ", i32 " } else { "i32 " });
            match element {
                -1 => self.out.push_str("poison"),
                element => {
                    put!(self, "{element}");
                }
            }
        }
        self.out.push('>');
    }

    fn switch(&mut self, scope: &Scope, value: Value, default: BlockId, cases: &[(u128, BlockId)]) {
        self.unary(scope, "switch", InstFlags::empty(), &[value]);
        self.out.push_str(", ");
        self.label(scope, default);
        self.out.push_str(" [\n");
        let ty = self.type_of(scope, value);
        let bits = self.module.types.int_bits(ty).unwrap_or(128);
        for &(case, block) in cases {
            let case = super::attributes::signed(bits, case);
            put!(self, "    {} {case}, ", self.module.types.text(ty));
            self.label(scope, block);
            self.out.push('\n');
        }
        self.out.push_str("  ]");
    }

    /// Instructions that address memory.
    fn memory(&mut self, scope: &Scope, inst: &Inst) {
        match &inst.op {
            Op::Load { ptr, align, volatile, ordering, scope: sync } => {
                self.access("load", *volatile, *ordering);
                put!(self, "{}, ", self.module.types.text(inst.ty));
                self.typed(scope, *ptr);
                self.order(*sync, &[*ordering]);
                put!(self, ", align {align}");
            }
            Op::Store { value, ptr, align, volatile, ordering, scope: sync } => {
                self.access("store", *volatile, *ordering);
                self.all_typed(scope, &[*value, *ptr]);
                self.order(*sync, &[*ordering]);
                put!(self, ", align {align}");
            }
            Op::Alloca { element, count, align } => {
                put!(self, "alloca {}", self.module.types.text(*element));
                let one = count
                    .constant()
                    .is_some_and(|id| matches!(self.module.constants[id], Constant::Int(TypeId::I32, 1)));
                if !one {
                    self.out.push_str(", ");
                    self.typed(scope, *count);
                }
                put!(self, ", align {align}");
                if let Some(space) = self.module.types.address_space(inst.ty).filter(|space| space.0 != 0) {
                    put!(self, ", addrspace({})", space.0);
                }
            }
            Op::Gep { source, flags, base, indices } => {
                put!(self, "getelementptr{} {}, ", gep_flags(*flags, self.version), self.module.types.text(*source));
                self.typed(scope, *base);
                for &index in indices {
                    self.out.push_str(", ");
                    self.typed(scope, index);
                }
            }
            Op::CmpXchg { ptr, expected, new, align, volatile, weak, orderings, scope: sync } => {
                self.out.push_str("cmpxchg ");
                self.out.push_str(if *weak { "weak " } else { "" });
                self.out.push_str(if *volatile { "volatile " } else { "" });
                self.all_typed(scope, &[*ptr, *expected, *new]);
                self.order(*sync, orderings);
                put!(self, ", align {align}");
            }
            Op::AtomicRmw { op, ptr, value, align, volatile, ordering, scope: sync } => {
                self.out.push_str("atomicrmw ");
                self.out.push_str(if *volatile { "volatile " } else { "" });
                put!(self, "{} ", op.as_str());
                self.all_typed(scope, &[*ptr, *value]);
                self.order(*sync, &[*ordering]);
                put!(self, ", align {align}");
            }
            Op::Fence(ordering, sync) => {
                self.out.push_str("fence");
                self.order(*sync, &[*ordering]);
            }
            // All others have been printed.
            _ => {}
        }
    }

    /// `load atomic volatile `
    fn access(&mut self, name: &str, volatile: bool, ordering: Ordering) {
        let atomic = if ordering == Ordering::NotAtomic { "" } else { "atomic " };
        let volatile = if volatile { "volatile " } else { "" };
        put!(self, "{name} {atomic}{volatile}");
    }

    /// Scope and orderings of what is atomic.
    fn order(&mut self, scope: SyncScope, orderings: &[Ordering]) {
        if orderings == [Ordering::NotAtomic] {
            return;
        }
        self.out.push_str(match scope {
            SyncScope::System => "",
            SyncScope::Device => " syncscope(\"device\")",
            SyncScope::Cluster => " syncscope(\"cluster\")",
            SyncScope::Block => " syncscope(\"block\")",
            SyncScope::Thread => " syncscope(\"singlethread\")",
        });
        for ordering in orderings {
            put!(self, " {}", ordering.as_str());
        }
    }

    fn call(&mut self, scope: &Scope, call: &Call, ty: TypeId) {
        self.out.push_str(match call.tail {
            Tail::None => "call",
            Tail::Tail => "tail call",
            Tail::Must => "musttail call",
            Tail::Not => "notail call",
        });
        self.flags(call.flags);
        self.out.push(' ');
        self.convention(call.convention);
        self.param_attributes(&call.ret_attributes, ty);
        let types = &self.module.types;
        let variadic = matches!(&types[call.signature], crate::ir::Type::Function { varargs: true, .. });
        self.ty(if variadic { call.signature } else { ty });
        self.out.push(' ');
        let mut lifetime = false;
        match &call.callee {
            Callee::Asm(asm) => self.asm(asm),
            Callee::Value(value) => {
                self.value(scope, *value);
                let symbol = value.constant().map(|id| &self.module.constants[id]);
                if let Some(Constant::Symbol(_, id)) = symbol {
                    lifetime = self.needs_size(&self.module.symbols[*id].name, call.args.len());
                }
            }
        }
        self.out.push_str(if lifetime { "(i64 -1, " } else { "(" });
        for (at, &arg) in call.args.iter().enumerate() {
            self.out.push_str(if at > 0 { ", " } else { "" });
            let ty = self.type_of(scope, arg);
            self.ty(ty);
            self.out.push(' ');
            if let Ok(found) = call.arg_attributes.binary_search_by_key(&(at as u32), |(index, _)| *index) {
                self.param_attributes(&call.arg_attributes[found].1, ty);
            }
            self.value(scope, arg);
        }
        if variadic && call.tail == Tail::Must {
            self.out.push_str(if call.args.is_empty() { "..." } else { ", ..." });
        }
        self.out.push(')');
        self.function_attributes(&call.attributes);
    }

    fn asm(&mut self, asm: &InlineAsm) {
        self.out.push_str(if asm.side_effects { "asm sideeffect " } else { "asm " });
        self.quoted(asm.text.as_bytes());
        self.out.push_str(", ");
        self.quoted(asm.constraints.as_bytes());
    }
}

/// Which flags of a conversion came with which form.
const fn cast_flags(op: CastOp) -> &'static [(Form, InstFlags)] {
    const WRAP: InstFlags = InstFlags::NUW.union(InstFlags::NSW);
    match op {
        CastOp::ZExt => &[(dialect::ZEXT_NNEG, InstFlags::NNEG)],
        CastOp::Trunc => &[(dialect::TRUNC_WRAP, WRAP)],
        CastOp::FpTrunc | CastOp::FpExt => &[(dialect::RESIZE_FAST, InstFlags::FAST)],
        CastOp::UiToFp => &[(dialect::FROM_NNEG, InstFlags::NNEG), (dialect::FROM_FAST, InstFlags::FAST)],
        CastOp::SiToFp => &[(dialect::FROM_FAST, InstFlags::FAST)],
        _ => &[],
    }
}

/// The flags of `getelementptr` that a release has, each with a blank before.
pub(super) fn gep_flags(mut flags: GepFlags, release: u32) -> String {
    if !dialect::GEP_WRAP.is_in(release) {
        flags &= GepFlags::INBOUNDS;
    }
    let all = [(GepFlags::INBOUNDS, " inbounds"), (GepFlags::NUSW, " nusw"), (GepFlags::NUW, " nuw")];
    // `inbounds` says `nusw` too.
    let said = |flag| flags.contains(flag) && !(flag == GepFlags::NUSW && flags.contains(GepFlags::INBOUNDS));
    all.iter().filter(|(flag, _)| said(*flag)).map(|(_, text)| *text).collect()
}
