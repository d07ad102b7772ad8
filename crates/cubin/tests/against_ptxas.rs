//! ptxas's cubins taken apart into descriptions and written again by us: what differs from the
//! original is only what `docs/cubin.md` says.

use crate::common;

use std::collections::{BTreeMap, BTreeSet};

use oriole_cubin::nvinfo::{Attribute, number};
use oriole_cubin::spec::{
    AddressSlot, Exchange, FunctionSpec, HalfWord, InnerFunctionSpec, MaskRegister, MbarrierAccess, MbarrierKind,
    Mbarriers, ModuleSpec, ParamSpec, RelocSpec, VariableSpec,
};
use oriole_cubin::{Cubin, Function, SectionKind, Symbol, SymbolKind, Variable, reserved_shared, write};

const FILES: [&str; 12] = [
    "vecadd",
    "memory_kinds",
    "control_flow",
    "sysio",
    "gemm_tiled",
    "reduce",
    "warp_ops",
    "atomics",
    "sha256",
    "async_copy",
    "nbody",
    "half",
];
const TARGETS: [(&str, &str); 4] = [("sm_80", "sm_80"), ("sm_86", "sm_80"), ("sm_89", "sm_80"), ("sm_90", "sm_90")];

/// The description from which ptxas could have written this cubin.
fn describe(cubin: &Cubin) -> ModuleSpec {
    let mut module = ModuleSpec::new(cubin.target);
    let owners = cubin.functions.iter().filter(|f| cubin.sections[f.section].name == format!(".text.{}", f.name));
    module.functions = owners.map(|f| describe_function(cubin, f)).collect();
    module.globals = cubin.globals.iter().map(|v| describe_variable(cubin, v)).collect();
    module.constants = cubin.constants.iter().map(|v| describe_variable(cubin, v)).collect();
    let is_extern = |s: &&Symbol| s.section.is_none() && s.kind == SymbolKind::Function;
    module.externs = cubin.symbols.iter().filter(is_extern).map(|s| s.name.clone()).collect();
    let mut slots: Vec<_> = relocations(cubin, ".nv.constant4", 0, u64::MAX);
    slots.sort_by_key(|r| r.offset);
    module.address_table = slots.into_iter().map(|r| AddressSlot { symbol: r.symbol, addend: r.addend }).collect();
    module
}

fn describe_function(cubin: &Cubin, function: &Function) -> FunctionSpec {
    let mut spec = FunctionSpec::kernel(&function.name, cubin.code(function).to_vec(), function.registers);
    let words = |number| function.info.iter().find(|a| a.number == number).map(Attribute::as_words);
    spec.is_kernel = function.is_kernel;
    spec.binding = cubin.symbols[function.symbol].binding;
    spec.barriers = function.barriers;
    spec.frame_size = function.frame_size;
    spec.min_stack_size = function.min_stack_size;
    spec.params = function.params.iter().map(|p| ParamSpec::plain(p.offset, p.size)).collect();
    let reserved = reserved_shared(cubin.target);
    spec.shared_size = (function.shared_size as u32).saturating_sub(reserved);
    spec.uses_dynamic_shared = function.shared_section.is_some() && spec.shared_size == 0;
    spec.limits = function.limits.clone();
    spec.exits = words(number::EXIT_INSTR_OFFSETS).unwrap_or_default();
    spec.syscalls = words(number::SYSCALL_OFFSETS).unwrap_or_default();
    let externs = words(number::EXTERNS).unwrap_or_default();
    spec.callees = externs.iter().map(|&i| cubin.symbols[i as usize].name.clone()).collect();
    spec.uses_ctaid_z = words(number::CTAIDZ_USED).is_some();
    spec.gathers = words(number::CRS_STACK_SIZE).is_some();
    spec.added_exchanges = words(number::INT_WARP_WIDE_INSTR_OFFSETS).unwrap_or_default();
    let offsets = words(number::COOP_GROUP_INSTR_OFFSETS).unwrap_or_default();
    let masks = words(number::COOP_GROUP_MASK_REGIDS).unwrap_or_default();
    spec.exchanges =
        offsets.into_iter().zip(masks).map(|(offset, mask)| Exchange { offset, mask: mask_register(mask) }).collect();
    let pairs = |words: Option<Vec<u32>>| words.unwrap_or_default().chunks_exact(2).map(|w| (w[0], w[1])).collect();
    spec.unused_bytes = pairs(words(number::UNUSED_LOAD_BYTE_OFFSET));
    let halves: Vec<(u32, u32)> = pairs(words(number::ATOM16_EMUL_INSTR_REG_MAP));
    let address = |register: u32| u8::try_from(register).ok().filter(|register| *register != u8::MAX);
    spec.half_words =
        halves.into_iter().map(|(offset, register)| HalfWord { offset, address: address(register) }).collect();
    spec.mbarriers = words(number::NUM_MBARRIERS).map(|count| Mbarriers {
        initialised: (count != [0xffff]).then(|| count[0] as u16),
        accesses: words(number::MBARRIER_INSTR_OFFSETS).unwrap_or_default().chunks(4).map(mbarrier_access).collect(),
    });
    let literals = cubin.constant_banks_of(function).find(|b| b.bank == 2);
    spec.literals = literals.map(|b| cubin.sections[b.section].data.clone()).unwrap_or_default();
    let inner = cubin.functions.iter().filter(|f| f.section == function.section && f.symbol != function.symbol);
    spec.inner_functions = inner
        .map(|f| InnerFunctionSpec {
            name: f.name.clone(),
            offset: f.offset as u32,
            size: f.size as u32,
            frame_size: f.frame_size,
            unwind: Default::default(),
        })
        .collect();
    spec
}

/// A register by its DWARF number.
fn mask_register(number: u32) -> Option<MaskRegister> {
    match number >> 24 {
        5 => Some(MaskRegister::Thread(number as u8)),
        0xb => Some(MaskRegister::Uniform(number as u8)),
        _ => None,
    }
}

fn mbarrier_access(words: &[u32]) -> MbarrierAccess {
    const KINDS: [MbarrierKind; 13] = [
        MbarrierKind::Init,
        MbarrierKind::Arrive,
        MbarrierKind::ArriveNoComplete,
        MbarrierKind::ArriveDrop,
        MbarrierKind::ArriveDropNoComplete,
        MbarrierKind::TestWait,
        MbarrierKind::TestWaitParity,
        MbarrierKind::CopyArrive,
        MbarrierKind::Invalidate,
        MbarrierKind::TryWait,
        MbarrierKind::TryWaitParity,
        MbarrierKind::ExpectTx,
        MbarrierKind::CompleteTx,
    ];
    let &[at, base, offset, how] = words else { panic!("a record of {} words", words.len()) };
    MbarrierAccess {
        at,
        kind: KINDS[how as usize & 0xf],
        base: base as u8,
        uniform_base: (how >> 16) as u8,
        offset: offset as i32,
        scale: [1, 4, 8, 16][how as usize >> 4 & 3],
    }
}

fn describe_variable(cubin: &Cubin, variable: &Variable) -> VariableSpec {
    let section = &cubin.sections[variable.section];
    let end = variable.offset + variable.size;
    let init = section.data.get(variable.offset as usize..end as usize).unwrap_or_default();
    VariableSpec {
        name: variable.name.clone(),
        binding: cubin.symbols[variable.symbol].binding,
        size: variable.size,
        align: 1 << variable.offset.trailing_zeros().min(section.align.trailing_zeros()),
        offset: None,
        init: init.to_vec(),
        relocations: relocations(cubin, &section.name, variable.offset, end),
    }
}

/// The relocations in a range of a section, with offsets from its start.
fn relocations(cubin: &Cubin, section: &str, start: u64, end: u64) -> Vec<RelocSpec> {
    let inside = cubin
        .relocations
        .iter()
        .filter(|r| cubin.sections[r.section].name == section && r.offset >= start && r.offset < end);
    let specs = inside.map(|r| RelocSpec {
        offset: (r.offset - start) as u32,
        kind: r.kind.unwrap(),
        symbol: cubin.symbols[r.symbol].name.clone(),
        addend: r.addend.unwrap_or(0),
    });
    specs.collect()
}

/// Records about a function, without those that `docs/cubin.md` lists as left out, and with
/// symbol indices replaced by names.
fn notes(cubin: &Cubin, function: &Function) -> Vec<(u8, Vec<String>)> {
    const LEFT_OUT: [u8; 4] =
        [number::INSTR_REG_MAP, number::ATOM_SYS_INSTR_OFFSETS, number::LD_CACHEMOD_INSTR_OFFSETS, number::WMMA_USED];
    let kept = function.info.iter().filter(|a| !LEFT_OUT.contains(&a.number));
    let named = kept.map(|a| {
        let mut words: Vec<String> = a.as_words().iter().map(|w| format!("{w:#x}")).collect();
        let symbols = match a.number {
            number::EXTERNS => words.len(),
            number::PARAM_CBANK => 1,
            _ => 0,
        };
        for (word, raw) in words.iter_mut().zip(a.as_words()).take(symbols) {
            *word = cubin.symbols[raw as usize].name.clone();
        }
        if a.number == number::KPARAM_INFO {
            words[2] = format!("{}", a.as_words()[2] >> 18);
        }
        (a.number, words)
    });
    named.collect()
}

fn section_names(cubin: &Cubin) -> BTreeSet<String> {
    let empty = |s: &&oriole_cubin::Section| s.size == 0;
    cubin.sections.iter().filter(|s| !empty(s)).map(|s| s.name.clone()).collect()
}

/// Sections that only ptxas's files have.
const THEIRS_ONLY: [&str; 1] = [".nv.rel.action"];

/// Kernels with every launch attribute, large parameters and barriers.
const ATTRIBUTES: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry large(.param .align 8 .b8 p[3000], .param .u32 q) { ret; }
.visible .entry most(.param .u64 p) .maxntid 256,2,1 .minnctapersm 2 { ret; }
.visible .entry exact(.param .u64 p) .reqntid 128 { ret; }
.visible .entry registers(.param .u64 p) .maxnreg 40 { ret; }
.visible .entry none() { ret; }
.visible .entry shared(.param .u64 p) {
  .shared .align 4 .b8 s[100];
  .reg .u32 r<4>; .reg .u64 d<2>;
  ld.param.u64 d0,[p]; mov.u32 r0,%ctaid.z; st.shared.u32 [s+4], r0; bar.sync 0; bar.sync 3;
  ld.shared.u32 r1,[s]; st.global.u32 [d0], r1; ret; }
";

/// The same for what only sm_90 has.
const CLUSTERS: &str = "
.visible .entry cluster(.param .u64 p) .reqntid 128 .reqnctapercluster 2,1,1 { ret; }
.visible .entry explicit() .explicitcluster .maxclusterrank 8 { ret; }
.visible .entry huge(.param .align 8 .b8 p[20000], .param .u32 q) { ret; }
";

#[test]
fn attributes_are_written_as_ptxas_does() {
    let Some(oracle) = common::oracle() else { return };
    for (target, _) in TARGETS {
        let mut text = ATTRIBUTES.to_owned();
        if target == "sm_90" {
            text = text.replace("8.0", "8.1").replace("sm_80", "sm_90") + CLUSTERS;
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let theirs = Cubin::parse(&oracle.ptxas(file.path(), target, &[]).unwrap()).unwrap();
        let ours = Cubin::parse(&write(&describe(&theirs)).unwrap()).unwrap();
        assert!(compare(&theirs, &ours, target) >= 6);
    }
}

#[test]
fn differences_are_the_documented_ones() {
    let Some(oracle) = common::oracle() else { return };
    let mut functions = 0;
    for (target, source) in TARGETS {
        for file in FILES {
            let Some(path) = common::shared(&format!("kernels/ptx/{file}.{source}.ptx")) else { return };
            let Some(theirs) = oracle.ptxas(&path, target, &[]) else { panic!("ptxas refuses {file}") };
            let original = Cubin::parse(&theirs).unwrap();
            let bytes = write(&describe(&original)).unwrap_or_else(|e| panic!("{file} {target}: {e}"));
            let ours = Cubin::parse(&bytes).unwrap();
            functions += compare(&original, &ours, &format!("{file} {target}"));
            compare_listings(&oracle, &theirs, &bytes, &format!("{file} {target}"));
        }
    }
    println!("{functions} functions compared");
}

fn compare(theirs: &Cubin, ours: &Cubin, what: &str) -> usize {
    assert_eq!((theirs.target, theirs.e_flags, theirs.abi_version), (ours.target, ours.e_flags, ours.abi_version));
    let mut a = section_names(theirs);
    a.retain(|name| !THEIRS_ONLY.contains(&name.as_str()));
    assert_eq!(a, section_names(ours), "{what}: sections");
    let ours_by_name: BTreeMap<_, _> = ours.functions.iter().map(|f| (&f.name, f)).collect();
    for function in &theirs.functions {
        let same = ours_by_name[&function.name];
        assert_eq!(notes(theirs, function), notes(ours, same), "{what}: nv.info of {}", function.name);
        let facts = |f: &Function| {
            let numbers = (f.registers, f.barriers, f.frame_size, f.min_stack_size, f.shared_size, f.offset, f.size);
            (numbers, f.params.clone(), f.param_area, f.limits.clone(), f.is_kernel)
        };
        assert_eq!(facts(function), facts(same), "{what}: {}", function.name);
        let headers = |c: &Cubin, f: &Function| {
            let s = &c.sections[f.section];
            (s.sh_type, s.sh_flags, s.sh_info >> 24, s.align, s.data.clone())
        };
        assert_eq!(headers(theirs, function), headers(ours, same), "{what}: section of {}", function.name);
    }
    for section in theirs.sections.iter().filter(|s| matches!(s.kind, SectionKind::Constant { .. })) {
        let same = ours.sections.iter().find(|s| s.name == section.name).unwrap();
        assert_eq!(section.data, same.data, "{what}: {}", section.name);
    }
    theirs.functions.len()
}

/// nvdisasm shows the same instructions, and cuobjdump reads the file.
fn compare_listings(oracle: &common::Oracle, theirs: &[u8], ours: &[u8], what: &str) {
    let code = |bytes: &[u8]| {
        let listing = oracle.dump("nvdisasm", &["-c"], bytes);
        let lines: Vec<String> = listing.lines().filter(|l| l.contains("/*")).map(str::to_owned).collect();
        lines.into_iter().map(|l| l.split("`(.L").next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let (mut a, mut b) = (code(theirs), code(ours));
    a.sort();
    b.sort();
    assert_eq!(a, b, "{what}: listing");
    let dump = oracle.dump("cuobjdump", &["-elf"], ours);
    assert!(dump.contains("toolkit=13.0") && !dump.to_lowercase().contains("unknown"), "{what}");
}
