//! What cuobjdump would say of a file, from what the reader has read.

use oriole_fatbin::{Compression, Container, Entry, Flags, Form, Image, Kind};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// `cuobjdump -lelf -lptx`, or with `all` also `-all`.
pub(crate) fn names(container: &Container<'_>, path: &Path, all: bool) -> String {
    with_members(container, path, all, |out, image| {
        let kind = match image.entry.kind {
            Kind::Cubin => "ELF",
            Kind::Ptx => "PTX",
            _ => return,
        };
        writeln!(out, "{kind} file {:4}: {}", image.number, image.name).unwrap();
    })
}

/// `cuobjdump -all`.
pub(crate) fn facts(container: &Container<'_>, path: &Path) -> String {
    if container.form == Form::Cubin {
        return String::new();
    }
    with_members(container, path, true, |out, image| facts_of(out, image.entry))
}

fn facts_of(out: &mut String, entry: &Entry<'_>) {
    let (kind, line, options) = match entry.kind {
        Kind::Cubin => ("elf", 16, None),
        Kind::Ptx => ("ptx", 16, Some("ptxasOptions")),
        _ => ("nvvm", 17, Some("nvvmOptions")),
    };
    let (major, minor) = entry.version;
    writeln!(out, "Fatbin {kind} code:\n{:=<line$}", "").unwrap();
    writeln!(out, "arch = {}\ncode version = [{major},{minor}]", entry.target).unwrap();
    let is = |flag| entry.flags.contains(flag);
    writeln!(out, "host = {}", if is(Flags::LINUX) { "linux" } else { "?" }).unwrap();
    writeln!(out, "compile_size = {}bit", if is(Flags::ADDRESS_64) { 64 } else { 32 }).unwrap();
    if is(Flags::DEBUG) {
        out.push_str("has debug info\n");
    }
    if entry.compression() != Compression::None {
        out.push_str("compressed\n");
    }
    if !entry.name.is_empty() {
        writeln!(out, "identifier = {}", entry.name).unwrap();
    }
    if let Some(options) = options {
        writeln!(out, "{options} = {}", entry.options_text()).unwrap();
    }
}

/// A line for each member of an archive in front of what is said of its images.
fn with_members(
    container: &Container<'_>,
    path: &Path,
    all: bool,
    mut say: impl FnMut(&mut String, &Image<'_, '_>),
) -> String {
    let (mut out, mut member) = (String::new(), None);
    for image in container.images(path, all) {
        if image.module.member != member {
            member.clone_from(&image.module.member);
            let name = path.file_name().unwrap().to_string_lossy();
            writeln!(out, "member {name}:{}:", member.as_deref().unwrap_or_default()).unwrap();
        }
        say(&mut out, &image);
    }
    out
}

/// The files that `cuobjdump -all -xelf all -xptx all` writes: of one name the last.
pub(crate) fn extracted(container: &Container<'_>, path: &Path) -> BTreeMap<String, Vec<u8>> {
    let images = container.images(path, true).into_iter();
    let code = images.filter(|image| matches!(image.entry.kind, Kind::Cubin | Kind::Ptx));
    code.map(|image| (image.name.clone(), image.entry.image().unwrap().into_owned())).collect()
}
