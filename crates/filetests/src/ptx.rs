//! PTX as the text of a case: a module without its three first lines, or the body of a kernel.

use crate::header::Header;

/// The newest language that is read.
const VERSION: &str = "9.5";

/// What the body of a kernel may use without declaring it.
const REGISTERS: &str = ".reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<64>; .reg .b64 %rd<32>; .reg .b128 %q<8>; \
                         .reg .f32 %f<64>; .reg .f64 %d<16>;";

/// The whole module.
pub(crate) fn module(header: &Header, input: &str) -> String {
    let head = format!(".version {VERSION}\n.target {}\n.address_size 64\n", header.target);
    if input.contains(".entry") || input.contains(".func") {
        return head + input;
    }
    format!("{head}.visible .entry k() {{\n{REGISTERS}\n{input}ret;\n}}\n")
}
