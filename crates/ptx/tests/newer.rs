//! Statements of PTX 9.1 and later: from which version on, and for which targets, the checker takes them, against ptxas
//! (`tests/data/newer.tsv`, which `tools/newer_ptx.py` writes).

const VERDICTS: &str = include_str!("data/newer.tsv");
const VERSIONS: [&str; 6] = ["9.0", "9.1", "9.2", "9.3", "9.4", "9.5"];
const TARGETS: [&str; 24] = [
    "75", "80", "86", "89", "90", "90a", "100", "100f", "100a", "103", "103f", "103a", "107", "107f", "107a", "110",
    "110f", "110a", "120", "120f", "120a", "121", "121f", "121a",
];

/// The kernel around a statement; `tools/newer_ptx.py` has the same.
fn module(version: &str, target: &str, statement: &str) -> String {
    format!(
        ".version {version}\n.target sm_{target}\n.address_size 64\n.visible .entry k()\n{{\n\
         .reg .pred p<4>; .reg .b8 c<4>; .reg .b16 h<8>; .reg .b32 r<240>; .reg .b64 d<20>; .reg .b128 q<4>;\n\
         .reg .f32 f<20>; .reg .f64 e<4>;\n{statement}\nret;\n}}\n"
    )
}

#[test]
fn each_is_taken_as_by_ptxas() {
    let mut faults = Vec::new();
    for line in VERDICTS.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [least, targets, statement] = cells[..] else { panic!("three cells: {line}") };
        let targets: Vec<&str> = targets.split(' ').collect();
        for target in TARGETS {
            let first = if target.starts_with("107") { "9.4" } else { VERSIONS[0] };
            for version in VERSIONS.into_iter().filter(|version| *version >= first) {
                let is_expected = least != "-" && version >= least && targets.contains(&target);
                let result = oriole_ptx::load(&module(version, target, statement));
                if result.is_ok() != is_expected {
                    let why = result.err().map_or(String::new(), |errors| errors[0].message.clone());
                    faults.push(format!("{statement} for sm_{target}, {version}: expected {is_expected}: {why}"));
                }
            }
        }
    }
    let told: Vec<&str> = faults.iter().take(40).map(String::as_str).collect();
    assert!(faults.is_empty(), "{} differ\n{}", faults.len(), told.join("\n"));
}
