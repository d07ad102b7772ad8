//! Writes the enums of names and the tables by which names are found.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::model::{Spec, Vocabulary};
use super::perfect;

/// The spec file whose instructions take bytes and half-words of registers.
const VIDEO: &str = "video.grammar";

/// The text of `names.rs`.
pub(crate) fn names(spec: &Spec) -> Result<String, String> {
    let mut out = String::new();
    let opcodes: Vec<&str> = spec.chapters.keys().map(String::as_str).collect();
    let doc = "The first word of an instruction; everything after its first dot is a\n\
               [`Modifier`](super::Modifier) (`cp.async.bulk` is `Cp` with `async`, `bulk`).";
    enumeration(&mut out, "Opcode", doc, &opcodes)?;
    let words: Vec<&str> = spec.words.iter().map(String::as_str).collect();
    let doc = "A modifier that belongs to none of the typed vocabularies. Names that\n\
               start with a digit get a `D` in front (`D1d` is `.1d`).";
    enumeration(&mut out, "Word", doc, &words)?;
    let specials: Vec<&str> = spec.specials.iter().map(|special| special.name.as_str()).collect();
    let doc = "A special register, without its `%` and without a component.\n\n\
               `%tid`, `%ntid`, `%ctaid`, … are four-element vectors: the component is\n\
               the [`Selector`](super::Selector) of the operand.";
    enumeration(&mut out, "SpecialReg", doc, &specials)?;
    for (vocabulary, members) in &spec.vocabularies {
        let members: Vec<&str> = members.iter().map(String::as_str).collect();
        enumeration(&mut out, vocabulary.type_name(), vocabulary_doc(*vocabulary), &members)?;
    }
    let video: Vec<bool> = spec.chapters.values().map(|file| file.ends_with(VIDEO)).collect();
    array(&mut out, "True for the opcodes of `video.grammar`.", "IS_VIDEO", "bool", video.iter().map(bool::to_string));
    let bits = spec.types.iter().map(|(bits, _)| bits.to_string());
    array(&mut out, "By type: the width in bits.", "TYPE_BITS", "u16", bits);
    let classes = spec.types.iter().map(|(_, class)| format!("TypeClass::{}", identifier(class)));
    array(&mut out, "By type: what the bits mean.", "TYPE_CLASSES", "TypeClass", classes);
    // Plain words are not looked for in the vocabularies: `lo` is a word.
    let mut modifiers: Vec<&str> = words;
    modifiers.extend(spec.vocabularies.values().flatten().map(String::as_str).filter(|name| !spec.is_plain(name)));
    let rows = modifiers.iter().map(|name| spec.modifier(name));
    array(&mut out, "Every modifier but the shapes.", "MODIFIERS", "Modifier", rows);
    index(&mut out, "Places in `Opcode::ALL`.", "OPCODE_INDEX", &opcodes)?;
    index(&mut out, "Places in `SpecialReg::ALL`.", "SPECIAL_INDEX", &specials)?;
    index(&mut out, "Places in `MODIFIERS`.", "MODIFIER_INDEX", &modifiers)?;
    Ok(out)
}

fn vocabulary_doc(vocabulary: Vocabulary) -> &'static str {
    match vocabulary {
        Vocabulary::Type => "A type name. Widths are those of one value of the type, in bits.",
        Vocabulary::Space => "A state space, with the sub-spaces that instructions may name.",
        Vocabulary::Vector => "How many elements a vector type or access has.",
        Vocabulary::Rounding => "A rounding modifier.",
        Vocabulary::Cmp => "A comparison operator of `set`, `setp`, `vset`.",
        Vocabulary::Scope => "The set of threads that a memory operation is ordered against.",
        Vocabulary::Semantics => "The memory-ordering semantics of a load, store, atomic or fence.",
    }
}

/// An enum of names.
fn enumeration(out: &mut String, name: &str, doc: &str, members: &[&str]) -> Result<(), String> {
    let mut seen = BTreeMap::new();
    let _ = writeln!(out, "name_table! {{");
    for line in doc.lines() {
        let _ = writeln!(out, "    #[doc = {:?}]", format!(" {line}"));
    }
    let _ = writeln!(out, "    pub enum {name} {{");
    for member in members {
        let variant = identifier(member);
        let _ = writeln!(out, "        {variant} {member:?},");
        if let Some(other) = seen.insert(variant, member) {
            return Err(format!("`{other}` and `{member}` would both be one variant of `{name}`"));
        }
    }
    let _ = writeln!(out, "    }}\n}}\n");
    Ok(())
}

fn array(out: &mut String, doc: &str, name: &str, of: &str, rows: impl ExactSizeIterator<Item = String>) {
    let _ = writeln!(out, "/// {doc}\npub(crate) static {name}: [{of}; {}] = [", rows.len());
    for row in rows {
        let _ = writeln!(out, "    {row},");
    }
    let _ = writeln!(out, "];\n");
}

fn index(out: &mut String, doc: &str, name: &str, names: &[&str]) -> Result<(), String> {
    let (kind, table) = perfect::table(names)?;
    let _ = writeln!(out, "/// {doc}\npub(crate) static {name}: {kind} = {table};\n");
    Ok(())
}

/// The variant of a name: `L2::evict_first` is `L2EvictFirst`, `2d` is `D2d`, `pm0_64` is `Pm0_64`.
pub(crate) fn identifier(name: &str) -> String {
    let mut found = String::new();
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        found.push('D');
    }
    let mut before = ' ';
    for (at, c) in name.char_indices() {
        let digit_follows = name[at + c.len_utf8()..].starts_with(|next: char| next.is_ascii_digit());
        match c {
            '_' if before.is_ascii_digit() && digit_follows => found.push('_'),
            '_' | ':' => {}
            _ if at == 0 || matches!(before, '_' | ':') => found.push(c.to_ascii_uppercase()),
            _ => found.push(c),
        }
        before = c;
    }
    found
}
