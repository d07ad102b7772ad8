//! What a file holds.

use super::container;
use crate::commands::failure::Failure;
use crate::commands::files;
use oriole_fatbin::{Compression, Flags, Form, Image, Kind, Linkage};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// Print the images of a file: a line each, or as JSON.
pub(crate) fn list(path: &Path, bytes: &[u8], as_json: bool) -> Result<(), Failure> {
    let container = container(path, bytes)?;
    let images = container.images(path, true);
    if as_json {
        let images: Vec<Value> = images.iter().map(json).collect();
        return files::print(&format!("{:#}\n", json!({ "form": container.form.name(), "images": images })));
    }
    let width = images.iter().map(|image| image.name.len()).max().unwrap_or_default();
    let (mut out, mut member) = (String::new(), None);
    for image in &images {
        if image.module.member != member {
            member.clone_from(&image.module.member);
            // Writing to a `String` cannot fail.
            let _ = writeln!(out, "{}:", member.as_deref().unwrap_or_default());
        }
        let facts = if container.form == Form::Cubin { String::new() } else { facts(image).join(", ") };
        let line = format!("{:4} {:4}  {:width$}  {facts}", kind(image.entry.kind), image.number, image.name);
        out += line.trim_end();
        out.push('\n');
    }
    files::print(&out)
}

/// The word with which a line begins: cuobjdump's.
fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Cubin => "ELF",
        Kind::Ptx => "PTX",
        Kind::Lto => "LTO",
        Kind::Other(_) => "?",
    }
}

/// What is said behind the name.
fn facts(image: &Image<'_, '_>) -> Vec<String> {
    let entry = image.entry;
    let size = match entry.compression() {
        Compression::None => format!("{} bytes", entry.unpacked_size()),
        packed => format!("{} bytes, {} by {}", entry.unpacked_size(), entry.stored_size(), packed.name()),
    };
    let (major, minor) = entry.version;
    let mut facts = vec![entry.target.to_string(), size];
    facts.extend((entry.kind == Kind::Ptx).then(|| format!("PTX {major}.{minor}")));
    facts.extend((image.module.linkage == Linkage::Relocatable).then(|| "for a linker".to_owned()));
    facts.extend(entry.flags.contains(Flags::DEBUG).then(|| "for a debugger".to_owned()));
    facts.extend((!entry.name.is_empty()).then(|| format!("of {}", entry.name.trim_end())));
    let options = entry.options_text();
    facts.extend((!options.trim().is_empty()).then(|| format!("options {}", options.trim())));
    facts
}

fn json(image: &Image<'_, '_>) -> Value {
    let entry = image.entry;
    json!({
        "name": image.name,
        "kind": kind(entry.kind),
        "number": image.number,
        "target": entry.target.to_string(),
        "version": [entry.version.0, entry.version.1],
        "bytes": entry.unpacked_size(),
        "stored": entry.stored_size(),
        "compression": entry.compression().name(),
        "debug": entry.flags.contains(Flags::DEBUG),
        "relocatable": image.module.linkage == Linkage::Relocatable,
        "source": entry.name,
        "options": entry.options_text(),
        "member": image.module.member,
        "offset": entry.range.start,
    })
}
