//! Whole files.

use oriole_nvptx::ir;
use oriole_nvptx::text::{parse, print};

use super::{kernels, own};

#[test]
fn what_is_printed_reads_back_as_the_same() {
    assert!(!own().is_empty());
    for path in own().into_iter().chain(kernels()) {
        let text = std::fs::read_to_string(&path).expect("the file is there");
        let name = path.display().to_string();
        let module = parse(&text, &name).unwrap_or_else(|error| panic!("{}", error.render(&text)));
        assert_eq!(ir::verify(&module), Ok(()), "{name}");
        let first = print(&module);
        let again = parse(&first, &name).unwrap_or_else(|error| panic!("{}", error.render(&first)));
        assert!(print(&again) == first, "{name} prints differently the second time");
        assert_eq!(shape(&module), shape(&again), "{name}");
    }
}

/// What of a module the printed text must keep, taken from the module itself.
fn shape(module: &ir::Module) -> Vec<String> {
    let symbols = module.symbols.values().map(|symbol| {
        let body = symbol.function().and_then(|function| function.body.as_deref());
        let counts = body.map(|body| {
            let ops = body.insts_in_order().map(|(_, inst)| std::mem::discriminant(&body[inst].op)).collect::<Vec<_>>();
            (body.layout.len(), body.attachments.len(), ops)
        });
        format!("{} {:?} {:?} {} {counts:?}", symbol.name, symbol.linkage, symbol.space, symbol.align)
    });
    // Ids of metadata and constants go by their first mention, which is elsewhere in the printed text.
    let mut nodes: Vec<String> = module.metadata.nodes.values().map(kind).collect();
    nodes.sort();
    symbols.chain([format!("{:?}", module.layout)]).chain(nodes).collect()
}

/// The kind of a node, and how much there is in it.
fn kind(meta: &ir::Meta) -> String {
    match meta {
        ir::Meta::Special(name, fields) => format!("{name} {}", fields.len()),
        ir::Meta::String(text) => format!("string {text}"),
        other => format!("{:?} {}", std::mem::discriminant(other), other.operands().len()),
    }
}
