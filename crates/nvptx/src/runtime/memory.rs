//! Copies and fills of a length that is not known or long.

use super::request::Request;
use super::template::{self, Words, name_of};
use crate::analysis::View;
use crate::ir::{AddressSpace, Call, CastOp, TypeId, Value};
use crate::select::MAX_INLINE_COPY;

/// The loop for `llvm.experimental.memset.pattern`: a count of values behind each other.
fn pattern(view: View<'_>, call: &Call) -> Option<Request> {
    let &[to, value, count, volatile] = call.args.as_slice() else { return None };
    let align = call.arg_attributes.iter().find(|(at, _)| *at == 0).map_or(1, |(_, own)| own.align.max(1));
    let [place, of_value, of_count] = [to, value, count].map(|arg| view.module.types.text(view.ty(arg)));
    let how = if view.int(volatile) == Some(0) { "" } else { "volatile" };
    let name = [&place, &of_value, &of_count].map(|ty| name_of(ty)).join(".");
    let function = format!("oriole.pattern.{name}.{align}{how}");
    let words = vec![
        ("NAME", function.clone()),
        ("D", place),
        ("T", of_value),
        ("L", of_count),
        ("ALIGN", align.to_string()),
        ("V", how.to_owned()),
    ];
    let args = vec![to, value, count];
    Some(Request { elementwise: false, ..Request::new(function, template::PATTERN, words, args) })
}

/// The loop for `memcpy`, `memmove` or `memset`, unless selection writes it out.
pub(super) fn request(view: View<'_>, name: &str, call: &Call) -> Option<Request> {
    if name.starts_with("experimental.memset.pattern.") {
        return pattern(view, call);
    }
    let kind = name.split('.').next()?;
    let fill = kind == "memset";
    if !matches!(kind, "memcpy" | "memmove" | "memset") {
        return None;
    }
    let &[to, from, length, volatile] = call.args.as_slice() else { return None };
    if view.int(length).is_some_and(|length| length <= MAX_INLINE_COPY.into()) {
        return None;
    }
    let align = |index: usize| {
        let own = call.arg_attributes.iter().find(|(at, _)| *at as usize == index);
        own.map_or(1, |(_, attributes)| attributes.align.max(1))
    };
    let chunk = if fill { align(0).min(8) } else { align(0).min(align(1)).min(16) };
    let (own, other) = (view.ty(to), if fill { view.ty(to) } else { view.ty(from) });
    let space = |ty| view.module.types.address_space(ty);
    let (a, b) = (space(own)?, space(other)?);
    // Memory of different spaces does not overlap, unless one of them is any.
    let moves = kind == "memmove" && (a == b || a == AddressSpace::GENERIC || b == AddressSpace::GENERIC);
    let mixed = moves && a != b;
    let (target, source) = if mixed { (TypeId::PTR, TypeId::PTR) } else { (own, other) };
    let (stem, template) = match (fill, moves) {
        (true, _) => ("fill", template::FILL),
        (_, true) => ("move", template::COPY),
        _ => ("copy.up", template::COPY),
    };
    let volatile = view.int(volatile) != Some(0);
    let (function_name, words) = words(view, [target, source, view.ty(length)], chunk, volatile);
    let mut request = Request::new(format!("oriole.{stem}.{function_name}"), template, words, vec![to, from, length]);
    if mixed {
        let cast = |value: Value| (view.ty(value) != TypeId::PTR).then_some((CastOp::AddrSpaceCast, TypeId::PTR));
        request.casts = vec![cast(to), cast(from), None];
    }
    Some(request)
}

fn words(view: View<'_>, types: [TypeId; 3], chunk: u32, volatile: bool) -> (String, Words) {
    let [target, source, length] = types.map(|ty| view.module.types.text(ty));
    let chunk_type = match chunk {
        1 | 2 | 4 | 8 => format!("i{}", chunk * 8),
        _ => "<2 x i64>".to_owned(),
    };
    let how = if volatile { "volatile" } else { "" };
    let name = format!("{}.{}.{length}.{chunk}{how}", name_of(&target), name_of(&source));
    let words = vec![
        ("NAME", name.clone()),
        ("D", target),
        ("S", source),
        ("L", length),
        ("C", chunk_type),
        ("SIZE", chunk.to_string()),
        ("V", how.to_owned()),
    ];
    (name, words)
}
