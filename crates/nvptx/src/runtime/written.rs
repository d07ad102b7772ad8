//! Functions whose body is written for one intrinsic: text of LLVM, a line after the other.

use std::fmt::Write;

use super::request::Request;
use super::template::{self, Words};
use crate::analysis::View;
use crate::ir::{Call, Constant, InstFlags, TypeId, Value};

/// The longest vectors of which each lane has lines of its own.
pub(super) const MAX_LANES: u32 = 4096;

/// A function that stands for a call of an intrinsic; its parameters are `%0`, `%1`… without those of type `metadata`.
pub(super) struct Written<'a> {
    view: View<'a>,
    /// The name of the intrinsic, without `llvm.`; behind it what else the body depends on.
    name: String,
    args: Vec<Value>,
    /// Its result, as text.
    ret: String,
    body: String,
    declarations: String,
}

impl<'a> Written<'a> {
    pub(super) fn new(view: View<'a>, name: &str, call: &Call, ty: TypeId) -> Written<'a> {
        let args = call.args.iter().copied().filter(|&arg| view.ty(arg) != TypeId::METADATA).collect();
        let ret = view.module.types.text(ty);
        Written { view, name: name.to_owned(), args, ret, body: String::new(), declarations: String::new() }
    }

    /// The type of an argument.
    pub(super) fn arg_type(&self, at: usize) -> Option<TypeId> {
        self.args.get(at).map(|&arg| self.view.ty(arg))
    }

    /// The same as text.
    pub(super) fn arg_text(&self, at: usize) -> Option<String> {
        self.arg_type(at).map(|ty| self.text(ty))
    }

    /// A type as text.
    pub(super) fn text(&self, ty: TypeId) -> String {
        self.view.module.types.text(ty)
    }

    /// The type of the result, as text.
    pub(super) fn ret(&self) -> &str {
        &self.ret
    }

    /// The element type and the lanes of a vector.
    pub(super) fn vector(&self, ty: TypeId) -> Option<(TypeId, u32)> {
        self.view.module.types.as_vector(ty).filter(|(_, lanes)| *lanes <= MAX_LANES)
    }

    /// The width of an integer type.
    pub(super) fn int_bits(&self, ty: TypeId) -> Option<u32> {
        self.view.module.types.int_bits(ty)
    }

    /// The value of an argument that is a constant integer.
    pub(super) fn int(&self, arg: Value) -> Option<u128> {
        self.view.int(arg)
    }

    /// How many arguments there are.
    pub(super) fn count(&self) -> usize {
        self.args.len()
    }

    /// What the body depends on beside the intrinsic's name.
    pub(super) fn depends_on(&mut self, what: &str) {
        self.name = format!("{}.{}", self.name, template::name_of(what));
    }

    /// Adds a line to the body.
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        // Writing to a `String` cannot fail.
        let _ = writeln!(self.body, "  {}", line.as_ref());
    }

    /// Declares a function that the body calls.
    pub(super) fn declare(&mut self, ret: &str, name: &str, params: &[&str]) {
        let line = format!("declare {ret} @{name}({})\n", params.join(", "));
        if !self.declarations.contains(&line) {
            self.declarations += &line;
        }
    }

    /// The call of the function.
    pub(super) fn finish(self) -> Request {
        let params = self.args.iter().map(|&arg| self.view.module.types.text(self.view.ty(arg)));
        let params = params.enumerate().map(|(at, ty)| format!("{ty} %{at}")).collect::<Vec<_>>().join(", ");
        let function = format!("oriole.{}", self.name);
        let words: Words = vec![
            ("R", self.ret),
            ("NAME", function.clone()),
            ("PARAMS", params),
            ("BODY", self.body),
            ("DECLARATIONS", self.declarations),
        ];
        Request { elementwise: false, ..Request::new(function, template::WRITTEN, words, self.args) }
    }
}

/// The strings among the arguments of type `metadata`.
pub(super) fn metadata_strings<'a>(view: View<'a>, call: &'a Call) -> impl Iterator<Item = &'a str> {
    let constants = &view.module.constants;
    call.args.iter().filter_map(|arg| match arg.constant().map(|id| &constants[id]) {
        Some(Constant::MetadataString(text)) => Some(&**text),
        _ => None,
    })
}

/// Fast-math flags as they stand behind an operation, each with a blank behind it.
pub(super) fn fast_math(flags: InstFlags) -> String {
    const NAMES: [(InstFlags, &str); 7] = [
        (InstFlags::NO_NANS, "nnan "),
        (InstFlags::NO_INFS, "ninf "),
        (InstFlags::NO_SIGNED_ZEROS, "nsz "),
        (InstFlags::ALLOW_RECIPROCAL, "arcp "),
        (InstFlags::CONTRACT, "contract "),
        (InstFlags::APPROX_FUNC, "afn "),
        (InstFlags::REASSOC, "reassoc "),
    ];
    NAMES.iter().filter(|(flag, _)| flags.contains(*flag)).map(|(_, name)| *name).collect()
}
