//! The bundled files against what cuobjdump 13.0 has said of them (`tests/data/fatbin/cuobjdump.txt`).

use crate::{bundled, listing};
use oriole_fatbin::Container;
use std::fmt::Write;

#[test]
fn listings_and_extraction_are_as_cuobjdump_s() {
    let mut said = String::new();
    for path in bundled::files() {
        let bytes = std::fs::read(&path).unwrap();
        let container = Container::read(&bytes).unwrap().unwrap();
        let name = path.file_name().unwrap().to_string_lossy();
        writeln!(said, "$ -lelf -lptx {name}\n{}", listing::names(&container, &path, false)).unwrap();
        writeln!(said, "$ -all -lelf -lptx {name}\n{}", listing::names(&container, &path, true)).unwrap();
        writeln!(said, "$ -all {name}\n{}", listing::facts(&container, &path)).unwrap();
        writeln!(said, "$ -all -xelf all -xptx all {name}").unwrap();
        for (name, data) in listing::extracted(&container, &path) {
            writeln!(said, "{name} {} {:016x}", data.len(), fnv(&data)).unwrap();
        }
    }
    let recorded = String::from_utf8(bundled::read("cuobjdump.txt")).unwrap();
    let lines = |text: &str| text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let (said, recorded) = (lines(&said), lines(&recorded));
    for (at, (said, recorded)) in said.iter().zip(&recorded).enumerate() {
        assert_eq!(said, recorded, "line {}", at + 1);
    }
    assert_eq!(said.len(), recorded.len());
}

/// FNV-1a of 64 bits.
fn fnv(data: &[u8]) -> u64 {
    data.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
