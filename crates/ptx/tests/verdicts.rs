//! What ptxas accepts and refuses among the neighbours of modules that were once judged wrongly: vector registers, sums in
//! the place of values, elements of arrays, bases of addresses, matrix fragments, calls, initial values.
//! `tools/ptx_verdicts.py` has asked it, and says how `data/verdicts.tsv` is written.

use std::collections::HashMap;

const REGISTERS: &str =
    ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f32 %f<40>; .reg .f64 %d<9>;";

/// Version, target, file-level text and declarations around a line's statements.
type Context<'t> = (&'t str, &'t str, &'t str, &'t str);

fn module((version, target, before, declarations): Context<'_>, text: &str) -> String {
    let (own, statements) = text.rsplit_once("@@").unwrap_or(("", text));
    format!(
        ".version {version}\n.target {target}\n.address_size 64\n{before}\n{own}\n.visible .entry k(.param .u64 p)\n{{\n\
         {REGISTERS}\n{declarations}\nld.param.u64 %rd0, [p];\n{statements}\nret;\n}}\n"
    )
}

#[test]
fn as_ptxas() {
    let mut contexts: HashMap<&str, Context<'_>> = HashMap::new();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for line in include_str!("data/verdicts.tsv").lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            [head, before, declarations] if head.starts_with("#context ") => {
                let words: Vec<&str> = head.split(' ').collect();
                contexts.insert(words[1], (words[2], words[3], before, declarations));
            }
            [context, verdict, text] if !line.starts_with('#') => {
                let accepted = oriole_ptx::load(&module(contexts[context], text)).is_ok();
                let expected = verdict.starts_with("ok") != verdict.ends_with('*');
                count += 1;
                if accepted != expected {
                    wrong.push(format!("{context}: {verdict}: {text}"));
                }
            }
            _ => {}
        }
    }
    assert!(count > 1000, "{count} lines");
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}
