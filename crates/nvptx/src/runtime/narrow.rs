//! What PTX has in registers of eight bits, which no type of LLVM stands for: pairs of `e2m1`, and bytes that are stored
//! asynchronously.

use super::request::Request;
use super::written::Written;
use crate::analysis::View;
use crate::ir::{Call, TypeId};

/// What stands for a call of `llvm.NAME`: a block of assembly with a register of its own.
pub(super) fn request(view: View<'_>, name: &str, call: &Call, ty: TypeId) -> Option<Request> {
    if let Some(how) = name.strip_prefix("nvvm.st.async.") {
        return stored_byte(view, how, name, call, ty);
    }
    let kind = name.strip_prefix("nvvm.").filter(|kind| kind.contains("e2m1x2"))?;
    let (from, rest) = kind.split_once(".to.")?;
    let (to, how) = rest.split_once('.')?;
    let mut written = Written::new(view, name, call, ty);
    let how = modifiers(how)?;
    let types: Vec<String> = (0..written.count()).filter_map(|at| written.arg_text(at)).collect();
    let scale = if how.contains(".scaled") { ", $2" } else { "" };
    let (body, constraints, args) = if to == "e2m1x2" {
        let (source, operands) = if from == "ff" { ("f32", "$1, $2") } else { (from, "$1") };
        let body = format!("cvt{how}.e2m1x2.{source} b, {operands}; cvt.u16.u8 $0, b;");
        let constraints = if from == "ff" { "=h,f,f".to_owned() } else { "=h,r".to_owned() };
        (body, constraints, types.iter().map(String::as_str).collect::<Vec<_>>())
    } else {
        let body = format!("cvt.u8.u16 b, $1; cvt{how}.{to}.e2m1x2 $0, b{scale};");
        let rest = if scale.is_empty() { "" } else { ",h" };
        (body, format!("=r,h{rest}"), types.iter().map(String::as_str).collect())
    };
    let mut values = Vec::new();
    for (at, arg) in args.iter().enumerate() {
        let word = if arg.starts_with('<') {
            written.line(format!("%w{at} = bitcast {arg} %{at} to i32"));
            format!("i32 %w{at}")
        } else {
            format!("{arg} %{at}")
        };
        values.push(word);
    }
    let ret = written.ret().to_owned();
    let own = if ret.starts_with('<') { "i32" } else { ret.as_str() };
    written.line(format!("%r = call {own} asm \"{{ .reg .b8 b; {body} }}\", \"{constraints}\"({})", values.join(", ")));
    if own == ret {
        written.line(format!("ret {ret} %r"));
    } else {
        written.line(format!("%v = bitcast {own} %r to {ret}"));
        written.line(format!("ret {ret} %v"));
    }
    Some(written.finish())
}

/// `st.async` of a byte; to a multimem address it may come from a wider register.
fn stored_byte(view: View<'_>, how: &str, name: &str, call: &Call, ty: TypeId) -> Option<Request> {
    let (how, flags) = match how.strip_suffix(".i8")? {
        "gpu" => (".release.gpu", 1),
        "sys" => (".release.sys", 1),
        "mmio.sys" => (".mmio.release.sys", 0),
        _ => return None,
    };
    let &[_, byte, ref flag @ ..] = call.args.as_slice() else { return None };
    if flag.len() != flags || flag.iter().any(|&flag| view.int(flag) != Some(0)) || view.ty(byte) != TypeId::I8 {
        return None;
    }
    let mut written = Written::new(view, name, call, ty);
    let address = written.arg_text(0)?;
    let body = format!("cvt.u8.u16 b, $1; st.async{how}.global.b8 [$0], b;");
    written.line("%w = zext i8 %1 to i16");
    written.line(format!(
        "call void asm sideeffect \"{{ .reg .b8 b; {body} }}\", \"l,h,~{{memory}}\"({address} %0, i16 %w)"
    ));
    written.line("ret void");
    Some(written.finish())
}

/// `rn.relu.satfinite.scale.n2.ue8m0` as PTX orders and calls it.
fn modifiers(how: &str) -> Option<String> {
    let (plain, scale) = match how.strip_suffix(".scale.n2.ue8m0") {
        Some(plain) => (plain, ".scaled::n2::ue8m0"),
        None => (how, ""),
    };
    let mut parts: Vec<&str> = plain.split('.').collect();
    if parts.iter().any(|part| !matches!(*part, "rn" | "relu" | "satfinite")) {
        return None;
    }
    // The saturation stands before `.relu`.
    parts.sort_by_key(|part| match *part {
        "rn" => 0,
        "satfinite" => 1,
        _ => 2,
    });
    Some(format!(".{}{scale}", parts.join(".")))
}
