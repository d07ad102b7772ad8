//! Tables that no engine runs yet: the issue that builds their instructions takes them off this list. Until then their programs
//! compile.

use oriole_codegen::CompileOptions;
use oriole_cubin::Target;
use oriole_witness::{Program, header, tables};

/// Targets with tensor memory.
const TARGETS: [&str; 3] = ["sm_100a", "sm_103a", "sm_110a"];

fn without_engine(program: &Program) -> bool {
    ["interpreter", "simulator"].iter().all(|engine| program.without.iter().any(|except| except.engine == *engine))
}

#[test]
fn their_programs_compile() {
    let tables = tables().expect("the tables are committed");
    let programs = tables.iter().flat_map(|table| &table.programs).filter(|program| without_engine(program));
    let targets = TARGETS.map(|name| Target::from_name(name).expect("a target"));
    let mut compiled = 0;
    for program in programs {
        for target in targets.into_iter().filter(|target| program.needs.met_by(*target)) {
            let text = header(program.needs.version, target, program.mode.as_deref()) + &program.code;
            for opt_level in [0, 3] {
                let options = CompileOptions { target: Some(target), opt_level, ..CompileOptions::default() };
                let result = oriole_codegen::compile(&text, &options);
                assert!(result.is_ok(), "{} for {target} at -O{opt_level}: {:?}", program.name, result.err());
                compiled += 1;
            }
        }
    }
    assert!(compiled > 100, "{compiled} programs: the tables have become fewer");
}
