//! `llvm.sin` and its like: instructions of PTX, approximations made of them, or functions of libdevice.
//!
//! Source of who is approximated by what under `afn`: LLVM 23 selects the instruction for `sin`, `cos` and `tanh`, LLVM 22 for
//! `log2` too, both `ex2.approx` for any `exp2`; what nvcc's `-use_fast_math` makes of the others is in the CUDA C++
//! programming guide, "Intrinsic functions".

use super::request::Request;
use super::target::Target;
use super::template::{self, Words};
use crate::analysis::View;
use crate::ir::{Call, CastOp, InstFlags, TypeId};

/// What `afn` makes of a function of `float`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Approximation {
    /// An instruction, which selection writes, from this target on.
    Instruction(u32),
    /// A function of `approximate.ll`, as of nvcc's `-use_fast_math`.
    Fast,
    /// The same, where no library has it: what it costs to be exact is little there.
    Fallback,
}

use Approximation::{Fallback, Fast, Instruction};

/// Functions that libdevice has as `__nv_NAME` for `double` and `__nv_NAMEf` for `float`.
const MATHEMATICS: [(&str, Approximation); 17] = [
    ("sin", Instruction(0)),
    ("cos", Instruction(0)),
    ("tan", Fast),
    ("asin", Fallback),
    ("acos", Fallback),
    ("atan", Fallback),
    ("sinh", Fallback),
    ("cosh", Fallback),
    ("tanh", Instruction(75)),
    ("exp", Fast),
    ("exp2", Instruction(0)),
    ("exp10", Fast),
    ("log", Fast),
    ("log2", Instruction(0)),
    ("log10", Fast),
    ("pow", Fast),
    ("atan2", Fallback),
];

/// The function that a call of `llvm.NAME` becomes.
pub(super) fn request(view: View<'_>, name: &str, call: &Call, ty: TypeId, target: Target) -> Option<Request> {
    let stem = name.split('.').next()?;
    let &(kind, approximation) = MATHEMATICS.iter().find(|(kind, _)| *kind == stem)?;
    let from = view.module.types.scalar(view.ty(*call.args.first()?));
    if ty != from {
        return None;
    }
    let narrow = match from {
        TypeId::FLOAT => false,
        TypeId::HALF | TypeId::BFLOAT => true,
        TypeId::DOUBLE => return target.has_math.then(|| of_library(format!("__nv_{kind}"), call)),
        _ => return None,
    };
    let rough = call.flags.contains(InstFlags::APPROX_FUNC);
    let request = match approximation {
        // That of `exp2` is as good as any.
        Instruction(since) if target.arch >= since && (rough || kind == "exp2") => return None,
        Fallback if rough && !target.has_math => approximated(kind, call),
        Instruction(_) | Fast if rough => approximated(kind, call),
        _ if target.has_math => of_library(format!("__nv_{kind}f"), call),
        _ => return None,
    };
    Some(if narrow {
        request.with_casts(Some((CastOp::FpExt, TypeId::FLOAT))).with_back(Some((TypeId::FLOAT, CastOp::FpTrunc)))
    } else {
        request
    })
}

fn approximated(kind: &str, call: &Call) -> Request {
    Request::new(format!("oriole.afn.{kind}"), template::APPROXIMATE, Words::new(), call.args.to_vec())
}

/// A function of a library that is linked.
fn of_library(function: String, call: &Call) -> Request {
    Request { function, instance: None, args: call.args.to_vec(), casts: Vec::new(), back: None, elementwise: true }
}
