//! What the attributes of a function say of its floating-point arithmetic.
//!
//! Source: the LLVM language reference, "Function Attributes"; which instruction follows from which was looked up in what
//! `llc` 19 writes for NVPTX.

use super::inst::Op;
use super::module::{Function, Module};
use super::ops::InstFlags;
use super::types::TypeId;

/// What becomes of subnormal results of `float` operations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Subnormals {
    /// They are kept, as IEEE 754 says.
    #[default]
    Kept,
    /// They become zeros of their sign: `"denormal-fp-math-f32"="preserve-sign,…"`.
    Flushed,
    /// As in the caller, which is known where the function is inlined: `"dynamic,…"`. Elsewhere they are kept.
    OfCaller,
}

/// The attribute for `float`, and that for all types which it overrides.
pub(crate) const SUBNORMALS: [&str; 2] = ["denormal-fp-math-f32", "denormal-fp-math"];

/// String attributes that are `"true"` and the flags that all operations of their function have by them.
const PERMISSIONS: [(&str, InstFlags); 4] = [
    (
        "unsafe-fp-math",
        InstFlags::CONTRACT.union(InstFlags::APPROX_FUNC).union(InstFlags::ALLOW_RECIPROCAL).union(InstFlags::REASSOC),
    ),
    ("approx-func-fp-math", InstFlags::APPROX_FUNC),
    ("no-nans-fp-math", InstFlags::NO_NANS),
    ("no-signed-zeros-fp-math", InstFlags::NO_SIGNED_ZEROS),
];

impl Function {
    /// What becomes of subnormal results. `None` when the function does not say.
    #[must_use]
    pub fn stated_subnormals(&self) -> Option<Subnormals> {
        if self.attributes.string("nvptx-f32ftz") == Some("true") {
            return Some(Subnormals::Flushed);
        }
        let mode = SUBNORMALS.into_iter().find_map(|name| self.attributes.string(name))?;
        // The first word is about results, the second about operands.
        Some(match mode.split(',').next() {
            Some("preserve-sign") => Subnormals::Flushed,
            Some("dynamic") => Subnormals::OfCaller,
            _ => Subnormals::Kept,
        })
    }

    /// What becomes of subnormal results.
    #[must_use]
    pub fn subnormals(&self) -> Subnormals {
        self.stated_subnormals().unwrap_or_default()
    }

    /// Leaves it to callers what becomes of subnormal results.
    pub fn leave_subnormals_to_callers(&mut self) {
        self.attributes.strings.push((SUBNORMALS[0].into(), "dynamic,dynamic".into()));
    }

    fn permissions(&self) -> InstFlags {
        let given = |name| self.attributes.string(name) == Some("true");
        PERMISSIONS.into_iter().filter(|(name, _)| given(name)).map(|(_, flags)| flags).collect()
    }
}

impl Module {
    /// Gives each operation the flags that the attributes of its function grant, so that the attributes need not be asked
    /// again and the flags go with the operation where it is inlined.
    pub fn spread_float_permissions(&mut self) {
        let types = &self.types;
        for symbol in self.symbols.values_mut() {
            let Some(function) = symbol.function_mut() else { continue };
            let granted = function.permissions();
            let Some(body) = function.body.as_deref_mut().filter(|_| !granted.is_empty()) else { continue };
            let insts: Vec<_> = body.insts_in_order().map(|(_, inst)| inst).collect();
            for inst in insts {
                let is_float = matches!(
                    types.scalar(body[inst].ty),
                    TypeId::HALF | TypeId::BFLOAT | TypeId::FLOAT | TypeId::DOUBLE
                );
                match &mut body[inst].op {
                    Op::Binary(op, flags, _) if op.is_float() => *flags |= granted,
                    Op::FNeg(flags, _) | Op::FCmp(_, flags, _) => *flags |= granted,
                    Op::Call(call) if is_float => call.flags |= granted,
                    _ => {}
                }
            }
        }
    }
}
