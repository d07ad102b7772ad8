//! Vectors of which only some lanes count: `llvm.vp.*`, `llvm.get.active.lane.mask`.
//!
//! What the other lanes give is poison, so that an operation without side effects is done for all; a division gets 1 to divide by there.
//! Source: the LLVM language reference, "Vector Predication Intrinsics".

use super::request::Request;
use super::written::{Written, fast_math, metadata_strings};
use crate::analysis::View;
use crate::ir::{BinaryOp, Call, CastOp, TypeId};

/// What stands for a call of `llvm.NAME`.
pub(super) fn request(view: View<'_>, name: &str, call: &Call, ty: TypeId) -> Option<Request> {
    if name.starts_with("get.active.lane.mask.") {
        return active_lane_mask(Written::new(view, name, call, ty), ty);
    }
    let kind = name.strip_prefix("vp.").or_else(|| name.strip_prefix("experimental.vp."))?;
    let written = Written::new(view, name, call, ty);
    if let Some(kind) = kind.strip_prefix("reduce.") {
        return reduction(written, kind.split('.').next()?, ty);
    }
    let stem = kind.split('.').next()?;
    match stem {
        "load" | "store" | "gather" | "scatter" | "strided" => memory(view, written, kind, call),
        "select" | "merge" => choice(written, stem),
        "icmp" | "fcmp" => comparison(written, stem, metadata_strings(view, call).next()?, call),
        _ => lanes_of(written, kind, call, ty),
    }
}

/// `<i32 0, i32 1, …>`
fn numbers(element: &str, lanes: u32) -> String {
    let all: Vec<String> = (0..lanes).map(|lane| format!("{element} {lane}")).collect();
    format!("<{}>", all.join(", "))
}

/// Puts a value into all lanes of a vector called `%NAME`.
fn splat(written: &mut Written<'_>, name: &str, element: &str, value: &str, lanes: u32) {
    let vector = format!("<{lanes} x {element}>");
    written.line(format!("%{name}.one = insertelement {vector} poison, {element} {value}, i64 0"));
    written.line(format!(
        "%{name} = shufflevector {vector} %{name}.one, {vector} poison, <{lanes} x i32> zeroinitializer"
    ));
}

/// `%active`: the lanes of the mask, an argument like the length, that come before the length; how many lanes there are.
fn active_of(written: &mut Written<'_>, mask: usize, length: usize) -> Option<u32> {
    let (_, lanes) = written.vector(written.arg_type(mask)?)?;
    splat(written, "length", "i32", &format!("%{length}"), lanes);
    let all = numbers("i32", lanes);
    written.line(format!("%within = icmp ult <{lanes} x i32> {all}, %length"));
    written.line(format!("%active = and <{lanes} x i1> %{mask}, %within"));
    Some(lanes)
}

/// The same where mask and length are the last arguments, as of all but `select` and `merge`.
fn active(written: &mut Written<'_>) -> Option<u32> {
    let mask = written.count().checked_sub(2)?;
    active_of(written, mask, mask + 1)
}

/// Lane `i` counts if `base + i`, without bounds, is below the limit.
fn active_lane_mask(mut written: Written<'_>, ty: TypeId) -> Option<Request> {
    let (_, lanes) = written.vector(ty)?;
    let element = written.arg_text(0)?;
    let function = format!("llvm.usub.sat.{element}");
    written.declare(&element, &function, &[&element, &element]);
    written.line(format!("%left = call {element} @{function}({element} %1, {element} %0)"));
    splat(&mut written, "limit", &element, "%left", lanes);
    let all = numbers(&element, lanes);
    written.line(format!("%r = icmp ult <{lanes} x {element}> {all}, %limit"));
    written.line(format!("ret <{lanes} x i1> %r"));
    Some(written.finish())
}

/// `select` gives poison behind the length, `merge` the second value.
fn choice(mut written: Written<'_>, stem: &str) -> Option<Request> {
    let ty = written.arg_text(1)?;
    let (lanes, condition) = match stem {
        "merge" => (active_of(&mut written, 0, 3)?, "%active"),
        _ => (written.vector(written.arg_type(0)?)?.1, "%0"),
    };
    written.line(format!("%r = select <{lanes} x i1> {condition}, {ty} %1, {ty} %2"));
    written.line(format!("ret {ty} %r"));
    Some(written.finish())
}

fn comparison(mut written: Written<'_>, stem: &str, predicate: &str, call: &Call) -> Option<Request> {
    let (ty, ret) = (written.arg_text(0)?, written.ret().to_owned());
    written.depends_on(predicate);
    let flags = if stem == "fcmp" { fast_math(call.flags) } else { String::new() };
    written.line(format!("%r = {stem} {flags}{predicate} {ty} %0, %1"));
    written.line(format!("ret {ret} %r"));
    Some(written.finish())
}

/// An operation, a conversion, or an intrinsic, on all lanes.
fn lanes_of(mut written: Written<'_>, kind: &str, call: &Call, ty: TypeId) -> Option<Request> {
    let (stem, rest) = kind.split_once('.')?;
    let (from, ret) = (written.arg_text(0)?, written.ret().to_owned());
    written.vector(ty)?;
    let flags = fast_math(call.flags);
    if let Some(op) = BinaryOp::from_name(stem) {
        let mut divisor = "%1".to_owned();
        if op.is_int_division() {
            let lanes = active(&mut written)?;
            let (element, _) = written.vector(ty)?;
            let element = written.text(element);
            let ones = vec![format!("{element} 1"); lanes as usize].join(", ");
            written.line(format!("%divisor = select <{lanes} x i1> %active, {from} %1, {from} <{ones}>"));
            "%divisor".clone_into(&mut divisor);
        }
        written.line(format!("%r = {stem} {}{from} %0, {divisor}", if op.is_float() { flags } else { String::new() }));
    } else if CastOp::from_name(stem).is_some() {
        written.line(format!("%r = {stem} {from} %0 to {ret}"));
    } else if stem == "fneg" {
        written.line(format!("%r = fneg {flags}{from} %0"));
    } else {
        // Lengths of names differ: `is.fpclass` has a dot.
        let (stem, rest) = if stem == "is" { ("is.fpclass", rest.strip_prefix("fpclass.")?) } else { (stem, rest) };
        let function = format!("llvm.{stem}.{rest}");
        let types: Vec<String> = (0..written.count().checked_sub(2)?).filter_map(|at| written.arg_text(at)).collect();
        written.declare(&ret, &function, &types.iter().map(String::as_str).collect::<Vec<_>>());
        // What may be undefined, and which classes, are constants.
        let arg = |(at, ty): (usize, &String)| match call.args.get(at).and_then(|&arg| written.int(arg)) {
            Some(value) if !ty.starts_with('<') => format!("{ty} {value}"),
            _ => format!("{ty} %{at}"),
        };
        let args: Vec<String> = types.iter().enumerate().map(arg).collect();
        let constants: Vec<&str> = args.iter().filter(|arg| !arg.contains('%')).map(String::as_str).collect();
        let constants = constants.join(".");
        written.line(format!("%r = call {flags}{ret} @{function}({})", args.join(", ")));
        if !constants.is_empty() {
            written.depends_on(&constants);
        }
    }
    written.line(format!("ret {ret} %r"));
    Some(written.finish())
}

/// What a reduction starts from, and how the start that is given is added to it.
struct Reduction {
    name: &'static str,
    /// The number that changes nothing, as text of the element type.
    neutral: fn(bits: u32) -> String,
    combine: &'static str,
}

/// Of integers the operation is one of LLVM's or an intrinsic; of floats `fadd` and `fmul` take the start themselves.
const REDUCTIONS: &[Reduction] = &[
    Reduction { name: "add", neutral: |_| "0".into(), combine: "add" },
    Reduction { name: "mul", neutral: |_| "1".into(), combine: "mul" },
    Reduction { name: "and", neutral: |_| "-1".into(), combine: "and" },
    Reduction { name: "or", neutral: |_| "0".into(), combine: "or" },
    Reduction { name: "xor", neutral: |_| "0".into(), combine: "xor" },
    Reduction { name: "umax", neutral: |_| "0".into(), combine: "llvm.umax" },
    Reduction { name: "umin", neutral: |_| "-1".into(), combine: "llvm.umin" },
    Reduction { name: "smax", neutral: |bits| (i128::MIN >> (128 - bits)).to_string(), combine: "llvm.smax" },
    Reduction { name: "smin", neutral: |bits| (i128::MAX >> (128 - bits)).to_string(), combine: "llvm.smin" },
    Reduction { name: "fadd", neutral: |_| "-0.0".into(), combine: "" },
    Reduction { name: "fmul", neutral: |_| "1.0".into(), combine: "" },
    // The greater of a number and no number is the number.
    Reduction { name: "fmax", neutral: |_| "+qnan".into(), combine: "llvm.maxnum" },
    Reduction { name: "fmin", neutral: |_| "+qnan".into(), combine: "llvm.minnum" },
    Reduction { name: "fmaximum", neutral: |_| "-inf".into(), combine: "llvm.maximum" },
    Reduction { name: "fminimum", neutral: |_| "+inf".into(), combine: "llvm.minimum" },
];

fn reduction(mut written: Written<'_>, kind: &str, ty: TypeId) -> Option<Request> {
    let reduction = REDUCTIONS.iter().find(|reduction| reduction.name == kind)?;
    let (vector, element) = (written.arg_text(1)?, written.text(ty));
    let bits = written.int_bits(ty).unwrap_or(32).min(128);
    let lanes = active(&mut written)?;
    let neutral = vec![format!("{element} {}", (reduction.neutral)(bits)); lanes as usize].join(", ");
    written.line(format!("%counted = select <{lanes} x i1> %active, {vector} %1, {vector} <{neutral}>"));
    let function = format!("llvm.vector.reduce.{kind}.v{lanes}{}", super::template::name_of(&element));
    if reduction.combine.is_empty() {
        written.declare(&element, &function, &[&element, &vector]);
        written.line(format!("%r = call {element} @{function}({element} %0, {vector} %counted)"));
    } else {
        written.declare(&element, &function, &[&vector]);
        written.line(format!("%all = call {element} @{function}({vector} %counted)"));
        if let Some(name) = reduction.combine.strip_prefix("llvm.") {
            let suffix = if element.starts_with('i') { element.clone() } else { float_suffix(&element)?.to_owned() };
            let combine = format!("llvm.{name}.{suffix}");
            written.declare(&element, &combine, &[&element, &element]);
            written.line(format!("%r = call {element} @{combine}({element} %0, {element} %all)"));
        } else {
            written.line(format!("%r = {} {element} %0, %all", reduction.combine));
        }
    }
    written.line(format!("ret {element} %r"));
    Some(written.finish())
}

/// How names of intrinsics call a floating-point type.
fn float_suffix(element: &str) -> Option<&'static str> {
    [("half", "f16"), ("bfloat", "bf16"), ("float", "f32"), ("double", "f64")]
        .into_iter()
        .find(|(name, _)| *name == element)
        .map(|(_, suffix)| suffix)
}

/// Loads and stores, as accesses under the mask.
fn memory(view: View<'_>, mut written: Written<'_>, kind: &str, call: &Call) -> Option<Request> {
    let strided = kind.starts_with("strided.");
    let kind = kind.strip_prefix("strided.").unwrap_or(kind).split('.').next()?;
    let stores = matches!(kind, "store" | "scatter");
    let place = usize::from(stores);
    let value = if stores { written.arg_text(0)? } else { written.ret().to_owned() };
    let (element, _) = written.vector(if stores { written.arg_type(0)? } else { view.result_type(call) })?;
    let align = call.arg_attributes.iter().find(|(at, _)| *at as usize == place).map_or(0, |(_, own)| own.align);
    let align = if align > 0 { align } else { view.module.layout.align(&view.module.types, element) };
    written.depends_on(&align.to_string());
    let lanes = active(&mut written)?;
    let mut pointer = format!("{} %{place}", written.arg_text(place)?);
    let mut masked = kind;
    if strided {
        let step = written.arg_text(place + 1)?;
        splat(&mut written, "step", &step, &format!("%{}", place + 1), lanes);
        let all = numbers(&step, lanes);
        written.line(format!("%offsets = mul <{lanes} x {step}> {all}, %step"));
        written.line(format!("%places = getelementptr i8, {pointer}, <{lanes} x {step}> %offsets"));
        pointer = format!("<{lanes} x {}> %places", written.arg_text(place)?);
        masked = if stores { "scatter" } else { "gather" };
    }
    let (pointers, _) = pointer.rsplit_once(' ')?;
    let mask = format!("<{lanes} x i1>");
    let function = format!("llvm.masked.{masked}.{}", super::template::name_of(&format!("{value}{pointers}")));
    if stores {
        written.declare("void", &function, &[&value, pointers, "i32", &mask]);
        written.line(format!("call void @{function}({value} %0, {pointer}, i32 {align}, {mask} %active)"));
        written.line("ret void");
    } else {
        written.declare(&value, &function, &[pointers, "i32", &mask, &value]);
        written.line(format!("%r = call {value} @{function}({pointer}, i32 {align}, {mask} %active, {value} poison)"));
        written.line(format!("ret {value} %r"));
    }
    Some(written.finish())
}
