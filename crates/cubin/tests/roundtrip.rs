//! A cubin made of instruction words of the golden vectors is written, then read back by our
//! reader and by `object`'s own; with the reference tools present they must read it too and show
//! the vectors' text.

use crate::common;

use object::read::elf::{FileHeader, SectionHeader};
use oriole_cubin::image::{Bases, Image, Placement};
use oriole_cubin::nvinfo::number;
use oriole_cubin::spec::{
    AddressSlot, Exchange, FunctionSpec, HalfWord, MaskRegister, MbarrierAccess, MbarrierKind, Mbarriers, ModuleSpec,
    ObjectKind, ObjectSlot, ObjectSpec, ParamSpec, RelocSpec, SymbolSpec, VariableSpec,
};
use oriole_cubin::{
    Binding, Cubin, FileKind, SectionKind, SymbolKind, Target, param_base, reloc, reserved_shared, write,
};

const TARGETS: [&str; 8] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a"];

/// Words and texts of one target's vectors that mean the same at any address.
fn vectors(arch: &str, count: usize) -> Option<Vec<(u128, String)>> {
    let file = common::shared(&format!("vectors/{arch}.tsv"))?;
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().filter_map(|line| {
        let mut columns = line.split('\t');
        let word = u128::from_str_radix(columns.next()?, 16).ok()?;
        let text = columns.nth(1)?.to_owned();
        let movable = !text.contains("`(") && !text.contains("BRX") && !text.contains("c[0x");
        movable.then_some((word, text))
    });
    let all: Vec<_> = lines.collect();
    let step = (all.len() / count).max(1);
    Some(all.into_iter().step_by(step).take(count).collect())
}

fn code(words: &[(u128, String)]) -> Vec<u8> {
    words.iter().flat_map(|(word, _)| word.to_le_bytes()).collect()
}

fn variable(name: &str, size: u64, init: Vec<u8>) -> VariableSpec {
    VariableSpec {
        name: name.into(),
        binding: Binding::Global,
        size,
        align: 8,
        offset: None,
        init,
        relocations: Vec::new(),
    }
}

/// A module with one of everything.
fn module(target: Target, code: Vec<u8>) -> ModuleSpec {
    let mut kernel = FunctionSpec::kernel("first", code.clone(), 24);
    kernel.barriers = 2;
    kernel.params = vec![ParamSpec::plain(0, 8), ParamSpec::plain(8, 1)];
    kernel.shared_size = 0x130;
    kernel.shared_symbols = vec![SymbolSpec { name: "tile".into(), offset: 0x10, size: 0x100 }];
    kernel.literals = vec![1, 2, 3, 4, 5, 6, 7, 8];
    kernel.limits.max_threads = Some([128, 2, 1]);
    kernel.exits = vec![0x10];
    kernel.frame_size = 16;
    kernel.min_stack_size = 48;
    kernel.callees = vec!["vprintf".into()];
    kernel.syscalls = vec![0x20];
    let reloc = |offset, kind, symbol: &str, addend| RelocSpec { offset, kind, symbol: symbol.into(), addend };
    kernel.relocations = vec![
        reloc(0, &reloc::ABS32_32, "tile", 4),
        reloc(16, &reloc::ABS32_LO_32, "zeroed", 0),
        reloc(32, &reloc::ABS32_HI_32, "table", 12),
        reloc(48, &reloc::ABS16_32, "coefficients", 0),
    ];
    let mut helper = FunctionSpec::device("helper", code, 10);
    helper.binding = Binding::Local;
    let mut table = variable("table", 32, vec![0xaa; 16]);
    table.relocations = vec![reloc(16, &reloc::G64, "zeroed", 0x20), reloc(24, &reloc::R64, "helper", 0)];
    let mut module = ModuleSpec::new(target);
    module.functions = vec![kernel, helper];
    module.globals = vec![variable("zeroed", 100, Vec::new()), table];
    module.constants = vec![variable("padding", 20, vec![9]), variable("coefficients", 8, vec![7; 8])];
    module.externs = vec!["vprintf".into()];
    let slot = |symbol: &str| AddressSlot { symbol: symbol.into(), addend: 0 };
    module.address_table = vec![slot("vprintf"), slot("table")];
    module
}

/// Instructions that need no vectors, for tests of everything but the code.
fn plain_code() -> Vec<u8> {
    (0u8..128).collect()
}

#[test]
fn what_is_written_is_read_back() {
    for name in TARGETS {
        let target = Target::from_name(name).unwrap();
        let module = module(target, plain_code());
        let bytes = write(&module).unwrap();
        assert_eq!(bytes, write(&module).unwrap(), "same input, same bytes");
        let cubin = Cubin::parse(&bytes).unwrap();
        assert_eq!(cubin.target, target);
        assert_eq!(cubin.kind, FileKind::Executable);
        check_kernel(&cubin);
        check_variables(&cubin);
        let helper = cubin.functions.iter().find(|f| f.name == "helper").unwrap();
        assert!(!helper.is_kernel && helper.registers == 10);
        assert_eq!(cubin.code(helper), plain_code());
        let call = cubin.calls.iter().map(|&(a, b)| (&*cubin.symbols[a].name, &*cubin.symbols[b].name));
        assert_eq!(call.collect::<Vec<_>>(), [("first", "vprintf")]);
    }
}

/// Names, symbol types and relocations of objects, as ptxas 13.0 writes them for the same declarations.
#[test]
fn objects_have_symbols_and_words_of_bank_0() {
    let object = |name: &str, kind| ObjectSpec {
        name: name.into(),
        kind,
        kernel: (name == "own").then(|| "k".to_owned()),
        modes: 0x01ff_0400,
        unnormalized: Some(true),
    };
    let slot = |offset, objects: &[&str]| ObjectSlot { offset, objects: objects.iter().map(|&o| o.into()).collect() };
    for (name, apart, base) in [("sm_80", 7, 0x160), ("sm_90", 101, 0x210)] {
        let mut module = ModuleSpec::new(Target::from_name(name).unwrap());
        let mut kernel = FunctionSpec::kernel("k", plain_code(), 10);
        kernel.params = vec![ParamSpec::plain(0, 8), ParamSpec::object("own")];
        kernel.object_slots = vec![slot(base + 8, &["t", "s"]), slot(base + 12, &["own"])];
        module.functions = vec![kernel];
        let kinds = [("t", ObjectKind::Texture), ("s", ObjectKind::Sampler), ("own", ObjectKind::Surface)];
        module.objects = kinds.map(|(name, kind)| object(name, kind)).into();
        let cubin = Cubin::parse(&write(&module).unwrap()).unwrap();
        let symbol = |name: &str| cubin.symbols.iter().find(|s| s.name == name).unwrap();
        assert_eq!(["t", "s", "own"].map(|name| symbol(name).kind), [10, 11, 12].map(SymbolKind::Other));
        assert!(symbol("t").section.is_none() && symbol("own").section.is_some());
        let mut found: Vec<(u64, u32, &str)> = cubin
            .relocations
            .iter()
            .filter(|r| cubin.sections[r.section].name == ".nv.constant0.k")
            .map(|r| (r.offset, r.kind.unwrap().number, &*cubin.symbols[r.symbol].name))
            .collect();
        found.sort_unstable();
        let base = u64::from(base);
        assert_eq!(found, [(base + 8, 6, "t"), (base + 8, apart, "s"), (base + 12, 52, "own")]);
        let kernel = cubin.kernel("k").unwrap();
        assert_eq!(kernel.params.iter().map(|p| p.is_object()).collect::<Vec<_>>(), [false, true]);
        let info = cubin.info.iter().find(|a| a.number == number::SAMPLER_INIT).unwrap();
        assert_eq!(info.as_words()[1], 0x01ff_0400);
    }
}

fn check_kernel(cubin: &Cubin) {
    let kernel = cubin.kernel("first").unwrap();
    assert_eq!((kernel.registers, kernel.barriers), (24, 2));
    assert_eq!((kernel.frame_size, kernel.min_stack_size), (16, 48));
    let params: Vec<_> = kernel.params.iter().map(|p| (p.ordinal, p.offset, p.size)).collect();
    assert_eq!(params, [(0, 0, 8), (1, 8, 1)]);
    let area = kernel.param_area.unwrap();
    assert_eq!((Some(area.base), area.size), (param_base(cubin.target, 9), 9));
    assert_eq!(kernel.shared_size, 0x130 + u64::from(reserved_shared(cubin.target)));
    assert_eq!(kernel.limits.max_threads, Some([128, 2, 1]));
    let words = |number| kernel.info.iter().find(|a| a.number == number).unwrap().as_words();
    assert_eq!(words(number::EXIT_INSTR_OFFSETS), [0x10]);
    let vprintf = words(number::EXTERNS)[0] as usize;
    assert_eq!(cubin.symbols[vprintf].name, "vprintf");
    let banks: Vec<_> = cubin.constant_banks_of(kernel).map(|b| (b.bank, b.size)).collect();
    assert!(banks.contains(&(0, u64::from(area.base) + 9)) && banks.contains(&(2, 8)));
    assert!(banks.contains(&(3, 32)) && banks.contains(&(4, 16)));
}

fn check_variables(cubin: &Cubin) {
    struct Loader;
    impl Placement for Loader {
        fn external(&self, name: &str) -> Option<u64> {
            (name == "vprintf").then_some(0xdead_0000)
        }
    }
    let bases = Bases { code: 0x4_0000_0000, global: 0x7f12_3456_0000 };
    let image = Image::link(cubin, bases, &Loader).unwrap();
    let address = |name: &str| oriole_cubin::image::address_of(cubin, &image, name).unwrap();
    let section = |name: &str| cubin.sections.iter().position(|s| s.name == name).unwrap();
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    assert_ne!(address("zeroed"), address("table"));
    assert_eq!(cubin.globals.iter().map(|v| v.size).sum::<u64>(), 132);
    assert_eq!(cubin.constants[1].offset, 24);
    let table = &image.contents[section(".nv.global.init")];
    assert_eq!(table[..16], [0xaa; 16]);
    assert_eq!(word(table, 16), address("zeroed") + 0x20);
    assert_eq!(word(table, 24), address("helper"));
    let slots = &image.contents[section(".nv.constant4")];
    assert_eq!((word(slots, 0), word(slots, 8)), (0xdead_0000, address("table")));
    let text = &image.contents[section(".text.first")];
    let immediate = |i: usize| u32::from_le_bytes(text[16 * i + 4..16 * i + 8].try_into().unwrap());
    assert_eq!(immediate(0), 0x10 + 4);
    assert_eq!(immediate(1), address("zeroed") as u32);
    assert_eq!(immediate(2), ((address("table") + 12) >> 32) as u32);
    let expected = u32::from_le_bytes([24, 0, plain_code()[54], plain_code()[55]]);
    assert_eq!(immediate(3), expected, "only 16 bits are patched");
}

#[test]
fn object_library_reads_it() {
    use object::{Endianness, elf};
    for name in TARGETS {
        let bytes = write(&module(Target::from_name(name).unwrap(), plain_code())).unwrap();
        let header = elf::FileHeader64::<Endianness>::parse(&*bytes).unwrap();
        let endian = header.endian().unwrap();
        assert_eq!(header.e_machine(endian).0, 190);
        let sections = header.sections(endian, &*bytes).unwrap();
        let text = sections.section_by_name(endian, b".text.first").unwrap().1;
        assert_eq!(text.data(endian, &*bytes).unwrap().len(), plain_code().len());
        for segment in header.program_headers(endian, &*bytes).unwrap() {
            let end = segment.p_offset.get(endian) + segment.p_filesz.get(endian);
            assert!(end <= bytes.len() as u64);
        }
        let symbols = sections.symbols(endian, &*bytes, elf::SHT_SYMTAB).unwrap();
        assert!(symbols.iter().any(|s| symbols.symbol_name(endian, s) == Ok(b"first")));
    }
}

#[test]
fn relocatable_files_keep_their_relocations() {
    let mut module = module(Target::new(80), plain_code());
    module.kind = FileKind::Relocatable;
    let cubin = Cubin::parse(&write(&module).unwrap()).unwrap();
    assert_eq!(cubin.kind, FileKind::Relocatable);
    let text = cubin.sections.iter().position(|s| s.name == ".text.first").unwrap();
    let kinds: Vec<_> = cubin.relocations.iter().filter(|r| r.section == text).collect();
    assert_eq!(kinds.len(), 4);
    assert_eq!(kinds.iter().filter(|r| r.addend.is_none()).count(), 2, "addend 0 is REL on sm_80");
}

#[test]
fn nvlink_links_our_object_files() {
    let Some(oracle) = common::oracle() else { return };
    for name in ["sm_80", "sm_90"] {
        let mut module = module(Target::from_name(name).unwrap(), plain_code());
        module.kind = FileKind::Relocatable;
        let linked = oracle.nvlink(&write(&module).unwrap(), name).expect("nvlink refuses the file");
        let cubin = Cubin::parse(&linked).unwrap();
        check_kernel_facts(&cubin);
        let text = cubin.sections.iter().find(|s| s.name == ".text.first").unwrap();
        let immediate = u32::from_le_bytes(text.data[4..8].try_into().unwrap());
        // nvlink places shared variables anew: `tile` is the only one.
        assert_eq!(immediate, 4, "{name}: `tile` + 4");
    }
}

fn check_kernel_facts(cubin: &Cubin) {
    let kernel = cubin.kernel("first").unwrap();
    assert_eq!((kernel.registers, kernel.frame_size), (24, 16));
    assert_eq!(kernel.params.len(), 2);
    assert_eq!(cubin.globals.iter().map(|v| v.size).sum::<u64>(), 132);
}

#[test]
fn reference_tools_read_it() {
    let Some(oracle) = common::oracle() else { return };
    for name in TARGETS {
        let Some(words) = vectors(name, 400) else { return };
        let mut module = module(Target::from_name(name).unwrap(), code(&words));
        for function in &mut module.functions {
            function.relocations.clear();
        }
        let bytes = write(&module).unwrap();
        let listing = oracle.dump("nvdisasm", &["-c"], &bytes);
        let shown: Vec<String> = instructions(&listing, "first");
        assert_eq!(shown.len(), words.len(), "{name}");
        for ((_, text), shown) in words.iter().zip(&shown) {
            assert_eq!(text, shown, "{name}");
        }
        let dump = oracle.dump("cuobjdump", &["-elf"], &bytes);
        assert!(dump.contains(&format!("sm={}", &name[3..])), "{name}: {}", dump.lines().nth(1).unwrap_or(""));
        for section in Cubin::parse(&bytes).unwrap().sections.iter().filter(|s| s.kind == SectionKind::Text) {
            assert!(dump.contains(&section.name));
        }
        for word in
            ["EIATTR_REGCOUNT", "EIATTR_KPARAM_INFO", "EIATTR_EXTERNS", "Ordinal : 0x1\tOffset  : 0x8\tSize    : 0x1"]
        {
            assert!(dump.contains(word), "{name}: {word}");
        }
        assert!(!dump.contains("unknown"), "{name}");
    }
}

/// The instruction texts of one function in nvdisasm's listing.
fn instructions(listing: &str, function: &str) -> Vec<String> {
    let start = format!("{function}:");
    let body = listing.lines().skip_while(|line| line.trim() != start).skip(1);
    let body = body.take_while(|line| !line.starts_with("//---"));
    let texts = body.filter_map(|line| {
        let text = line.trim_start().strip_prefix("/*")?.split_once("*/")?.1.trim();
        let text = text.trim_end_matches(';').trim_matches(|c| c == '{' || c == '}' || c == ' ');
        Some(text.to_owned())
    });
    texts.collect()
}

/// The numbers are those in ptxas's cubins of kernels with `mbarrier.init`, `mbarrier.arrive_drop` (sm_80), and with a shuffle under
/// masks in R5, in UR4 and in no register; of loads of three words of four, and of atomics on halves at an address in R7 and at a fixed one.
#[test]
fn a_list_longer_than_a_record_is_written_whole() {
    let mut kernel = FunctionSpec::kernel("k", vec![0; 0x80], 8);
    kernel.unused_bytes = (0..20_000).map(|n| (n * 0x10, 0xfff)).collect();
    let expected: Vec<u32> = kernel.unused_bytes.iter().flat_map(|&(offset, used)| [offset, used]).collect();
    let mut module = ModuleSpec::new(Target::from_name("sm_80").unwrap());
    module.functions.push(kernel);
    let cubin = Cubin::parse(&write(&module).unwrap()).unwrap();
    let lists = cubin.functions[0].info.iter().filter(|record| record.number == number::UNUSED_LOAD_BYTE_OFFSET);
    assert_eq!(lists.flat_map(|record| record.as_words()).collect::<Vec<_>>(), expected);
}

#[test]
fn lists_of_instructions_are_written() {
    let mut kernel = FunctionSpec::kernel("k", vec![0; 0x80], 8);
    kernel.gathers = true;
    kernel.added_exchanges = vec![0x10, 0x20];
    let masks = [Some(MaskRegister::Thread(5)), Some(MaskRegister::Uniform(4)), None];
    kernel.exchanges = (3..).zip(masks).map(|(at, mask)| Exchange { offset: at * 0x10, mask }).collect();
    let scaled = MbarrierAccess { at: 0x60, kind: MbarrierKind::Init, base: 9, uniform_base: 63, offset: 0, scale: 8 };
    let plain =
        MbarrierAccess { at: 0x70, kind: MbarrierKind::ArriveDrop, base: 255, uniform_base: 63, offset: 8, scale: 1 };
    kernel.mbarriers = Some(Mbarriers { initialised: Some(1), accesses: vec![scaled, plain] });
    kernel.unused_bytes = vec![(0x10, 0xfff)];
    kernel.half_words = vec![HalfWord { offset: 0xa0, address: Some(7) }, HalfWord { offset: 0x10, address: None }];
    let mut module = ModuleSpec::new(Target::from_name("sm_80").unwrap());
    module.functions.push(kernel);
    let counted = |module: &ModuleSpec| {
        let cubin = Cubin::parse(&write(module).unwrap()).unwrap();
        let info = cubin.functions[0].info.clone();
        move |number: u8| info.iter().find(|record| record.number == number).map(|record| record.as_words())
    };
    let words = counted(&module);
    assert_eq!(words(number::CRS_STACK_SIZE), Some(vec![0]));
    assert_eq!(words(number::INT_WARP_WIDE_INSTR_OFFSETS), Some(vec![0x10, 0x20]));
    assert_eq!(words(number::COOP_GROUP_INSTR_OFFSETS), Some(vec![0x30, 0x40, 0x50]));
    assert_eq!(words(number::COOP_GROUP_MASK_REGIDS), Some(vec![0x0500_0005, 0x0b00_0004, 0xffff_ffff]));
    assert_eq!(words(number::UNUSED_LOAD_BYTE_OFFSET), Some(vec![0x10, 0xfff]));
    assert_eq!(words(number::ATOM16_EMUL_INSTR_REG_MAP), Some(vec![0xa0, 7, 0x10, 255]));
    let accesses = vec![0x60, 9, 0, 0x3f_0120, 0x70, 255, 8, 0x3f_0103];
    assert_eq!(words(number::MBARRIER_INSTR_OFFSETS), Some(accesses));
    assert_eq!(words(number::NUM_MBARRIERS), Some(vec![1]));
    // A loop may initialise any number of them.
    module.functions[0].mbarriers.as_mut().unwrap().initialised = None;
    assert_eq!(counted(&module)(number::NUM_MBARRIERS), Some(vec![0xffff]));
}
