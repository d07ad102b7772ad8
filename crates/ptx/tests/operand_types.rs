//! The type rules against what ptxas accepts: `data/operand_types.tsv` holds
//! its verdict on every pair of an instruction's operand and a register type.

const TYPES: [&str; 17] = [
    "pred", "b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "f32",
    "f64",
];

fn module(statement: &str) -> String {
    let registers: String = TYPES.iter().map(|ty| format!(".reg .{ty} %v{ty}; ")).collect();
    format!(
        ".version 9.0\n.target sm_100a\n.address_size 64\n.global .b32 g_v[8];\n.entry k() {{ {registers}\n{statement}\nret; }}\n"
    )
}

#[test]
fn as_ptxas() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in include_str!("data/operand_types.tsv").lines().filter(|line| !line.starts_with('#')) {
        let (template, accepted) = line.split_once('\t').unwrap();
        let accepted: Vec<&str> = accepted.split(' ').collect();
        for ty in TYPES {
            let statement = template.replace("REG", &format!("%v{ty}"));
            let ours = oriole_ptx::load(&module(&statement)).is_ok();
            count += 1;
            if ours != accepted.contains(&ty) {
                wrong.push(format!(
                    "{statement}: we {}",
                    if ours { "accept, ptxas does not" } else { "refuse, ptxas does not" }
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}
