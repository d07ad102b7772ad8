//! Registers and local memory of a function of a whole program.

use super::super::lines::Lines;
use super::super::templates::Class;
use super::tree::{SCRATCH, registers};

/// `text` has that name, and not only as the start of a longer one.
pub(super) fn uses(text: &str, name: &str) -> bool {
    text.contains(name)
}

/// Registers and local memory of a function with that body.
pub(super) fn declarations(scope: &str, masks: usize, counters: usize, body: &str) -> String {
    let mut out = Lines { text: String::new(), indent: 1 };
    for class in Class::ALL {
        let count = registers(class) + usize::from(class == Class::Predicate);
        out.line(format_args!(".reg .{} {}<{count}>;", class.ty(), class.prefix()));
    }
    out.line(".reg .pred %sp, %false; .reg .b16 %sh<3>; .reg .b32 %sw<4>; .reg .b64 %sd<4>;");
    out.line(".reg .b64 %in, %own, %out; .reg .b32 %together, %depth, %deeper, %uniform;");
    out.line(".reg .b16 %zero16; .reg .b32 %zero32; .reg .b64 %zero64;");
    out.line(format_args!(".reg .b32 %m<{}>, %i<{}>; .reg .pred %f<{}>;", masks + 1, counters + 1, masks + 1));
    if uses(body, &format!("{scope}_local")) {
        out.line(format_args!(".local .align 16 .b8 {scope}_local[{SCRATCH}];"));
    }
    if uses(body, "%v") {
        out.line(".reg .v2 .b32 %v<2>;");
        out.line("mov.b32 %sw0, 1; mov.b32 %sw1, 0x7fffffff;");
        out.line("mov.v2.b32 %v0, {%sw0, %sw1}; mov.v2.b32 %v1, {%sw1, %sw0};");
    }
    if uses(body, "%u0") || uses(body, "%u1") {
        out.line(".reg .v2 .b16 %u<2>;");
        out.line("mov.b32 %sw0, 0x00017fff; mov.b32 %u0, %sw0; mov.b32 %u1, %sw0;");
    }
    if uses(body, "%q") {
        out.line(".reg .v4 .b32 %q<2>;");
        out.line("mov.b32 %sw0, 1; mov.b32 %sw1, 0x7fffffff;");
        out.line("mov.v4.b32 %q0, {%sw0, %sw1, %sw1, %sw0}; mov.v4.b32 %q1, %q0;");
    }
    if uses(body, "%false") {
        out.line("setp.ne.u32 %false, 0, 0;");
    }
    out.text
}

/// First values of local memory, if the body uses it.
pub(super) fn local_values(out: &mut Lines, body: &str, scope: &str) {
    if uses(body, &format!("{scope}_local")) {
        for word in 0..SCRATCH / 4 {
            out.line(format_args!("st.local.u32 [{scope}_local+{}], {};", 4 * word, word * 0x0101_0101));
        }
    }
}
