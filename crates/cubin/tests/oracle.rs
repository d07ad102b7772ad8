//! Cubins that ptxas makes: all of them are read, and agree with what cuobjdump says of them.
//! Needs the reference tools: `ORIOLE_ORACLE` names the folder with their executables.

use crate::common;

use oriole_cubin::image::{Bases, Image, Placement};
use oriole_cubin::{Cubin, FileKind, SectionKind};

/// Any external function, at a made-up address.
struct Anywhere;

impl Placement for Anywhere {
    fn external(&self, _name: &str) -> Option<u64> {
        Some(0x7000)
    }
}

#[test]
fn every_ptxas_cubin_is_read_and_linked() {
    let Some(oracle) = common::oracle() else { return };
    let Some(kernels) = common::shared("kernels/ptx") else { return };
    let mut files: Vec<_> = std::fs::read_dir(kernels).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let mut count = 0;
    for file in files.iter().filter(|f| !f.to_string_lossy().contains("triton_")) {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let arch = name.split('.').nth(1).unwrap();
        let Some(bytes) = oracle.ptxas(file, arch, &[]) else { continue };
        let cubin = Cubin::parse(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        check(&cubin, &name, arch);
        count += cubin.kernels().count();
    }
    assert!(count > 300, "only {count} kernels");
    println!("{count} kernels read");
}

fn check(cubin: &Cubin, name: &str, arch: &str) {
    assert_eq!(cubin.target.to_string(), arch, "{name}");
    assert_eq!(cubin.kind, FileKind::Executable);
    for function in &cubin.functions {
        let code = cubin.code(function);
        assert!(!code.is_empty() && code.len().is_multiple_of(16), "{name}: {}", function.name);
        assert!(function.registers >= 4, "{name}: {} has {} registers", function.name, function.registers);
        if !function.is_kernel {
            continue;
        }
        let area = function.param_area.unwrap();
        assert_eq!(Some(area.base), oriole_cubin::param_base(cubin.target, area.size), "{name}");
        let end = function.params.iter().map(|p| p.offset + p.size).max().unwrap_or(0);
        assert!(end <= area.size, "{name}: {} parameters end at {end}", function.name);
        let bank = cubin.constant_banks_of(function).find(|b| b.bank == 0).unwrap();
        assert_eq!(bank.size, u64::from(area.base + area.size), "{name}");
    }
    for attribute in cubin.functions.iter().flat_map(|f| &f.info).chain(&cubin.info) {
        assert!(attribute.eiattr().is_some(), "{name}: attribute {:#x} is unknown", attribute.number);
    }
    let bases = Bases { code: 0x1_0000_0000, global: 0x7f00_0000_0000 };
    let image = Image::link(cubin, bases, &Anywhere).unwrap_or_else(|e| panic!("{name}: {e}"));
    for (index, section) in cubin.sections.iter().enumerate() {
        if section.kind == SectionKind::Text {
            assert!(image.addresses[index] >= bases.code && image.addresses[index].is_multiple_of(128));
        }
    }
}
