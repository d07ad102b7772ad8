//! Arithmetic with a rounding mode: `llvm.experimental.constrained.*`.
//!
//! There are no floating-point exceptions, and nothing changes the mode of rounding while a program runs: `round.dynamic` is to nearest. What
//! rounds in another direction is an operation of PTX that does. Source: the LLVM language reference, "Constrained Floating-Point Intrinsics".

use super::request::Request;
use super::written::{Written, metadata_strings};
use crate::analysis::View;
use crate::ir::{BinaryOp, Call, CastOp, TypeId};

/// Rounding modes, and how names of NVVM call them; none: to nearest.
const MODES: [(&str, Option<&str>); 5] = [
    ("round.dynamic", None),
    ("round.tonearest", None),
    ("round.towardzero", Some("rz")),
    ("round.upward", Some("rp")),
    ("round.downward", Some("rm")),
];

/// Operations that round in all directions, and how names of NVVM call them.
const DIRECTED: [(&str, &str); 6] =
    [("fadd", "add"), ("fsub", "add"), ("fmul", "mul"), ("fdiv", "div"), ("fma", "fma"), ("sqrt", "sqrt")];

/// What stands for a call of `llvm.NAME`.
pub(super) fn request(view: View<'_>, name: &str, call: &Call, ty: TypeId) -> Option<Request> {
    let kind = name.strip_prefix("experimental.constrained.")?;
    let strings = || metadata_strings(view, call);
    let mode = match strings().find(|text| text.starts_with("round.")) {
        Some(mode) => MODES.iter().find(|(name, _)| *name == mode)?.1,
        None => None,
    };
    let (stem, rest) = kind.split_once('.')?;
    let mut written = Written::new(view, name, call, ty);
    if let Some(mode) = mode {
        written.depends_on(mode);
        return directed(written, stem, mode, ty);
    }
    let (from, ret) = (written.arg_text(0)?, written.ret().to_owned());
    match stem {
        "fcmp" | "fcmps" => {
            let predicate = strings().find(|text| !text.starts_with("fpexcept."))?;
            written.depends_on(predicate);
            written.line(format!("%r = fcmp {predicate} {from} %0, %1"));
        }
        _ if BinaryOp::from_name(stem).is_some() => written.line(format!("%r = {stem} {from} %0, %1")),
        _ if CastOp::from_name(stem).is_some() => written.line(format!("%r = {stem} {from} %0 to {ret}")),
        _ => {
            let types: Vec<String> = (0..written.count()).filter_map(|at| written.arg_text(at)).collect();
            let args: Vec<String> = types.iter().enumerate().map(|(at, ty)| format!("{ty} %{at}")).collect();
            let function = format!("llvm.{stem}.{rest}");
            written.declare(&ret, &function, &types.iter().map(String::as_str).collect::<Vec<_>>());
            written.line(format!("%r = call {ret} @{function}({})", args.join(", ")));
        }
    }
    written.line(format!("ret {ret} %r"));
    Some(written.finish())
}

/// The name of the intrinsic of NVVM that rounds so.
fn intrinsic(written: &Written<'_>, stem: &str, mode: &str, from: TypeId, to: TypeId) -> Option<String> {
    let letter = |ty| match ty {
        TypeId::FLOAT => Some("f"),
        TypeId::DOUBLE => Some("d"),
        _ => None,
    };
    if let Some((_, own)) = DIRECTED.iter().find(|(name, _)| *name == stem) {
        return Some(format!("llvm.nvvm.{own}.{mode}.{}", letter(to)?));
    }
    let integer = |unsigned: &str| match written.int_bits(from)? {
        32 => Some(format!("{unsigned}i")),
        64 => Some(format!("{unsigned}ll")),
        _ => None,
    };
    let from = match stem {
        "sitofp" => integer("")?,
        "uitofp" => integer("u")?,
        "fptrunc" if (from, to) == (TypeId::DOUBLE, TypeId::FLOAT) => "d".to_owned(),
        _ => return None,
    };
    Some(format!("llvm.nvvm.{from}2{}.{mode}", letter(to)?))
}

/// An operation that rounds in a direction, lane by lane.
fn directed(mut written: Written<'_>, stem: &str, mode: &str, ty: TypeId) -> Option<Request> {
    let whole = written.ret().to_owned();
    let lanes = written.vector(ty).map(|(_, lanes)| lanes);
    let scalar = |written: &Written<'_>, ty| written.vector(ty).map_or(ty, |(element, _)| element);
    let (to, from) = (scalar(&written, ty), scalar(&written, written.arg_type(0)?));
    let function = intrinsic(&written, stem, mode, from, to)?;
    let (to, from) = (written.text(to), written.text(from));
    let count = written.count();
    written.declare(&to, &function, &vec![from.as_str(); count]);
    for lane in 0..lanes.unwrap_or(1) {
        let mut args = Vec::new();
        for at in 0..count {
            let mut arg = format!("%{at}");
            if lanes.is_some() {
                let vector = written.arg_text(at)?;
                written.line(format!("%a{at}.{lane} = extractelement {vector} %{at}, i64 {lane}"));
                arg = format!("%a{at}.{lane}");
            }
            if stem == "fsub" && at == 1 {
                written.line(format!("%minus.{lane} = fneg {from} {arg}"));
                arg = format!("%minus.{lane}");
            }
            args.push(format!("{from} {arg}"));
        }
        written.line(format!("%r.{lane} = call {to} @{function}({})", args.join(", ")));
        if lanes.is_some() {
            let before = if lane == 0 { "poison".to_owned() } else { format!("%v.{}", lane - 1) };
            written.line(format!("%v.{lane} = insertelement {whole} {before}, {to} %r.{lane}, i64 {lane}"));
        }
    }
    let result = lanes.map_or("%r.0".to_owned(), |lanes| format!("%v.{}", lanes.saturating_sub(1)));
    written.line(format!("ret {whole} {result}"));
    Some(written.finish())
}
