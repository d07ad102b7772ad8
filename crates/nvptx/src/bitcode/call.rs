//! Calls.

use crate::ir::{
    Attributes, Call, Callee, CallingConvention, Constant, HARMLESS_BUNDLES, Op, Tail, Type, TypeId, is_annotation,
};

use super::error::Result;
use super::function::BodyReader;
use super::inst::fast_math;
use super::stream::{Fields, Record};
use super::type_table::TypeIndex;
use super::values::{Slot, What};

/// A calling convention by number.
pub(super) fn convention(number: u64) -> CallingConvention {
    match number {
        0 => CallingConvention::C,
        8 => CallingConvention::Fast,
        9 => CallingConvention::Cold,
        71 => CallingConvention::PtxKernel,
        72 => CallingConvention::PtxDevice,
        other => CallingConvention::Other(other as u32),
    }
}

/// Bits of a call's second operand, around the calling convention.
mod flag {
    pub(super) const TAIL: u64 = 1;
    pub(super) const MUST_TAIL: u64 = 1 << 14;
    pub(super) const EXPLICIT_TYPE: u64 = 1 << 15;
    pub(super) const NO_TAIL: u64 = 1 << 16;
    pub(super) const FAST_MATH: u64 = 1 << 17;
}

impl BodyReader<'_, '_> {
    pub(super) fn call(&mut self, fields: &mut Fields) -> Result<()> {
        let record = fields.record;
        let list = fields.next("attributes")?;
        let flags = fields.next("calling convention")?;
        let math = if flags & flag::FAST_MATH != 0 { fields.next("fast-math flags")? } else { 0 };
        let explicit = if flags & flag::EXPLICIT_TYPE != 0 { Some(self.ty(fields, "function type")?) } else { None };
        let slot = self.slot(fields, "callee")?;
        let (callee, own) = self.callee(slot, record)?;
        let signature = explicit.or(own).ok_or_else(|| record.fault("no function type"))?;
        let id = self.module.table.id(signature);
        let Type::Function { varargs, .. } = self.module.module.types[id] else {
            return Err(record.fault("a call of what is no function"));
        };
        self.check_bundles(&callee, record)?;
        let is_annotation = self.callee_name(&callee).is_some_and(is_annotation);

        let mut call = Call {
            callee,
            signature: id,
            args: smallvec::SmallVec::new(),
            attributes: Attributes::default(),
            ret_attributes: Attributes::default(),
            arg_attributes: Vec::new(),
            convention: convention(flags >> 1 & 0x3FF),
            tail: match flags {
                _ if flags & flag::MUST_TAIL != 0 => Tail::Must,
                _ if flags & flag::TAIL != 0 => Tail::Tail,
                _ if flags & flag::NO_TAIL != 0 => Tail::Not,
                _ => Tail::None,
            },
            flags: fast_math(math),
        };
        let mut types = Vec::new();
        // Part 0 of a function type is its result.
        for at in 1..self.module.table.parts(signature).len() {
            let ty = self.module.table.parts(signature)[at];
            call.args.push(self.value_of(fields, ty, "argument")?);
            types.push(ty);
        }
        while fields.left() > 0 {
            if !varargs {
                return Err(record.fault("more arguments than parameters"));
            }
            let (value, ty) = self.value(fields, "argument")?;
            call.args.push(value);
            types.push(ty);
        }
        self.attributes(&mut call, list, &types, record)?;
        let ret = self.module.table.parts(signature)[0];
        self.define(record, Op::Call(Box::new(call)), ret)?;
        if is_annotation && self.module.table.id(ret) == TypeId::VOID {
            self.drop_last();
        }
        Ok(())
    }

    /// What is called, and the function type that it brings along.
    fn callee(&self, slot: Slot, record: &Record) -> Result<(Callee, Option<TypeIndex>)> {
        let pointee = self.module.table.pointee(slot.ty, &self.module.module.types);
        match slot.what {
            What::Asm(index) => {
                let asm = &self.module.values.asms[index as usize];
                self.module.budget.spend(asm.asm.text.len() + asm.asm.constraints.len(), record)?;
                Ok((Callee::Asm(Box::new(asm.asm.clone())), asm.signature.or(pointee)))
            }
            _ => Ok((Callee::Value(self.plain(slot, record)?), pointee)),
        }
    }

    /// The name of the function that is called directly.
    fn callee_name(&self, callee: &Callee) -> Option<&str> {
        let Callee::Value(value) = callee else { return None };
        match self.module.module.constants[value.constant()?] {
            Constant::Symbol(_, symbol) => Some(&self.module.module.symbols[symbol].name),
            _ => None,
        }
    }

    /// Operand bundles are hints on `llvm.assume`; on other calls most of them mean something.
    fn check_bundles(&mut self, callee: &Callee, record: &Record) -> Result<()> {
        let bundles = std::mem::take(&mut self.bundles);
        if bundles.is_empty() || self.callee_name(callee) == Some("llvm.assume") {
            return Ok(());
        }
        for tag in bundles {
            let name = usize::try_from(tag).ok().and_then(|tag| self.module.bundle_tags.get(tag));
            let name = name.map_or("", String::as_str);
            if !HARMLESS_BUNDLES.contains(&name) {
                return Err(record.fault(format!("the operand bundle `{name}` is not supported")));
            }
        }
        Ok(())
    }

    /// Puts the attributes of a list, by number, where they belong.
    fn attributes(&self, call: &mut Call, list: u64, types: &[TypeIndex], record: &Record) -> Result<()> {
        let Some(list) = self.module.attribute_list(list, record)? else { return Ok(()) };
        call.attributes = list.function.clone();
        call.ret_attributes = list.ret.clone();
        for (index, part) in &list.params {
            let Some(&ty) = types.get(*index as usize) else { continue };
            let pointee = self.module.table.pointee(ty, &self.module.module.types);
            let attributes = part.of_param(pointee.map(|ty| self.module.table.id(ty)));
            if attributes != Attributes::default() {
                call.arg_attributes.push((*index, attributes));
            }
        }
        Ok(())
    }
}
