//! Strict simulation tells of results in tensor memory that nobody has waited for: programs of the tables without one of their waits.

use oriole_cubin::Target;
use oriole_witness::{Engine, Kernel, run, tables};

/// What the strict simulator says of a program of a table, if this text in its code is left out.
fn without(table: &str, program: &str, text: &str) -> Result<Vec<u8>, String> {
    let tables = tables().expect("the tables are committed");
    let table = tables.iter().find(|known| known.name == table).expect("the table is there");
    let program = table.programs.iter().find(|known| known.name == program).expect("the program is there");
    let mut kernel = Kernel::of_program(program, &program.cases[0]);
    assert!(kernel.text.contains(text), "{}", kernel.text);
    kernel.text = kernel.text.replacen(text, "", 1);
    let target = Target::from_name("sm_100a").expect("a target");
    run(&Engine::Oriole(3), target, &[&kernel]).and_then(|mut outputs| outputs.remove(0))
}

#[test]
fn a_product_is_not_there_before_its_commit_was_seen() {
    let said = without("tensor/mma", "f16, rows of 32 bytes", "@!%done bra WAIT;");
    // The first look at the mbarrier sees that the phase is over, as products are done when they issue.
    said.expect("one look is enough here");
    let wait = "mbarrier.try_wait.parity.shared::cta.b64 %done, [bar], 0;\n@!%done bra WAIT;";
    let said = without("tensor/mma", "f16, rows of 32 bytes", wait).expect_err("nobody has waited");
    assert!(said.contains("tensor memory") && said.contains("UTCBAR"), "{said}");
}

#[test]
fn a_store_is_not_there_before_it_was_waited_for() {
    let said =
        without("tensor/loads", "ld 32x32b.x1", "tcgen05.wait::st.sync.aligned;").expect_err("nobody has waited");
    assert!(said.contains("tensor memory") && said.contains("FENCE"), "{said}");
}
