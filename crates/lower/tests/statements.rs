//! What the checker takes of the statements that it once judged otherwise than ptxas is lowered, too.

use oriole_isa::Arch;

#[path = "../../ptx/tests/statements/mod.rs"]
mod rows;

use rows::{module, rows};

/// What is taken, and has no lowering yet.
const NOT_BUILT: [&str; 1] = ["tcgen05.ld.red"];

#[test]
fn what_is_taken_is_lowered() {
    let (mut refused, mut count) = (Vec::new(), 0);
    for row in rows().filter(|row| row.accepted) {
        let Ok(ast) = oriole_ptx::load(&module(row)) else { panic!("{row:?} is not taken") };
        let arch: Arch = row.target.trim_end_matches('a').parse().expect("a generation");
        let options = oriole_lower::Options::new(arch);
        count += 1;
        let built = oriole_lower::lower(&ast, &options).map_err(|errors| errors[0].message.clone());
        let verified = built.and_then(|module| {
            let verify = |function| oriole_ori::verify::verify(function, arch).map_err(|errors| errors[0].to_string());
            module.functions.values().try_for_each(verify)
        });
        // A statement by itself reads what nobody has written: slot 0 settles that, behind lowering.
        if let Err(error) = verified
            && !error.contains("Referencing undefined register")
            && !NOT_BUILT.iter().any(|name| row.text.contains(name))
        {
            refused.push(format!("{error}: {row:?}"));
        }
    }
    assert!(count > 100, "{count} statements");
    assert!(refused.is_empty(), "{} of {count}:\n{}", refused.len(), refused.join("\n"));
}
