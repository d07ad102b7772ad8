//! Damaged input: an error or a cubin, never a panic and never without end.

use oriole_cubin::image::{self, Bases, Image, NoExternals};
use oriole_cubin::nvinfo::{self, Attribute, Value};
use oriole_cubin::spec::{
    AddressSlot, DebugSpec, ExternVariable, FunctionLines, FunctionSpec, LineRow, Memory, ModuleSpec, ParamSpec,
    RelocSpec, SourcePlace, SymbolSpec, VariableSpec,
};
use oriole_cubin::{Binding, Cubin, CubinError, FileKind, LineKind, SourceLine, Target, WriteError, reloc, write};
use proptest::prelude::*;

fn module(target: Target) -> ModuleSpec {
    let mut kernel = FunctionSpec::kernel("k", vec![0; 128], 24);
    kernel.params = vec![ParamSpec::plain(0, 8)];
    kernel.shared_size = 64;
    kernel.shared_symbols = vec![SymbolSpec { name: "s".into(), offset: 0, size: 64 }];
    let to = |symbol: &str| RelocSpec { offset: 0, kind: &reloc::ABS32_LO_32, symbol: symbol.into(), addend: 0 };
    kernel.relocations = vec![to("g")];
    let mut module = ModuleSpec::new(target);
    module.functions = vec![kernel];
    let init = vec![1, 2, 3, 4];
    let binding = Binding::Global;
    module.globals = vec![VariableSpec {
        name: "g".into(),
        binding,
        size: 16,
        align: 8,
        offset: None,
        init,
        relocations: Vec::new(),
    }];
    module.address_table = vec![AddressSlot { symbol: "g".into(), addend: 0 }];
    module.debug = Some(DebugSpec {
        files: vec!["/src/a.cu".into()],
        ptx: "ret;\n".into(),
        functions: vec![FunctionLines { symbol: "k".into(), size: 128, rows: ROWS.to_vec() }],
        ..DebugSpec::default()
    });
    module
}

/// The same as a file that is still to be linked, with shared memory of all kinds.
fn object(sm: u32) -> Vec<u8> {
    let mut module = module(Target::new(sm));
    module.kind = FileKind::Relocatable;
    let shared = |name: &str, align| VariableSpec {
        name: name.into(),
        binding: Binding::Local,
        size: 24,
        align,
        offset: None,
        init: Vec::new(),
        relocations: Vec::new(),
    };
    module.shared = vec![shared("first", 4), shared("second", 16)];
    module.extern_variables = vec![ExternVariable { name: "dynamic".into(), memory: Memory::Shared, size: 0 }];
    let to = |symbol: &str, offset| RelocSpec { offset, kind: &reloc::ABS32_32, symbol: symbol.into(), addend: 0 };
    let kernel = &mut module.functions[0];
    (kernel.shared_size, kernel.shared_symbols) = (0, Vec::new());
    kernel.relocations.extend([to("first", 16), to("second", 32), to("dynamic", 48)]);
    write(&module).unwrap()
}

/// Files of both kinds, for old and new targets.
fn files() -> [Vec<u8>; 4] {
    [small(80), small(90), object(80), object(90)]
}

/// Lines of the kernel's code.
const ROWS: [LineRow; 2] = [
    LineRow { offset: 0, ptx_line: 1, source: Some(SourcePlace { file: 0, line: 30, column: 2 }) },
    LineRow { offset: 48, ptx_line: 2, source: Some(SourcePlace { file: 0, line: 7, column: 0 }) },
];

fn small(sm: u32) -> Vec<u8> {
    write(&module(Target::new(sm))).unwrap()
}

/// Reads and, where that works, walks over everything.
fn exercise(bytes: &[u8]) -> Result<(), CubinError> {
    let cubin = Cubin::parse(bytes)?;
    for function in &cubin.functions {
        let _ = cubin.code(function).len() + cubin.constant_banks_of(function).count();
    }
    for table in [LineKind::Source, LineKind::Ptx].into_iter().filter_map(|kind| cubin.line_table(kind).ok()) {
        let _ = cubin.functions.iter().filter_map(|function| table.at(function.section, function.offset)).count();
    }
    Image::link(&cubin, Bases { code: 0x1000, global: u64::MAX - 0x1_0000 }, &NoExternals).map(drop)
}

/// What is written is read: the line of every instruction, and none behind the code.
#[test]
fn lines_come_back() {
    let cubin = Cubin::parse(&small(90)).unwrap();
    let section = cubin.kernel("k").unwrap().section;
    let (source, ptx) = (cubin.line_table(LineKind::Source).unwrap(), cubin.line_table(LineKind::Ptx).unwrap());
    let place = |file, line, column| Some(SourceLine { file, line, column });
    for offset in (0..128).step_by(16) {
        let at_first = offset < 48;
        let (want, line) = if at_first { (place("/src/a.cu", 30, 2), 1) } else { (place("/src/a.cu", 7, 0), 2) };
        assert_eq!(source.at(section, offset), want, "{offset}");
        assert_eq!(ptx.at(section, offset), place(".nv_debug_ptx_txt", line, 0), "{offset}");
    }
    assert_eq!((source.at(section, 128), source.at(section + 1, 0)), (None, None));
    assert_eq!(cubin.ptx_of(".nv_debug_ptx_txt").as_deref(), Some("ret;\n"));
}

#[test]
fn every_truncation_is_an_error_or_a_cubin() {
    for bytes in files() {
        exercise(&bytes).unwrap();
        let failures = (0..bytes.len()).filter(|&length| exercise(&bytes[..length]).is_err()).count();
        assert!(failures > bytes.len() / 2);
    }
}

#[test]
fn every_single_byte_change_is_survived() {
    for original in files() {
        for at in 0..original.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bytes = original.clone();
                bytes[at] = value;
                let _ = exercise(&bytes);
            }
        }
    }
}

/// A variable of shared memory lies where no other of its kernel does, dynamic memory behind them.
#[test]
fn shared_variables_of_objects_have_places() {
    for (sm, kept) in [(80, 0), (90, 0x400)] {
        let cubin = Cubin::parse(&object(sm)).unwrap();
        let image = Image::link(&cubin, Bases { code: 0x1000, global: 0 }, &NoExternals).unwrap();
        let kernel = cubin.kernel("k").unwrap();
        let named = |offset: usize| {
            u32::from_le_bytes(image.contents[kernel.section][offset + 4..offset + 8].try_into().unwrap())
        };
        assert_eq!(
            [named(16), named(32), named(48)],
            [24, 0, 48],
            "{sm}: first behind second, which has to be aligned"
        );
        assert_eq!(image.shared_size(&cubin, kernel), kept + 48, "{sm}");
        let place = |name| image::address_of(&cubin, &image, name);
        assert_eq!((place("first"), place("second")), (Some(kept + 24), Some(kept)), "{sm}");
    }
}

#[test]
fn what_is_not_a_cubin_is_said_so() {
    assert!(matches!(Cubin::parse(b""), Err(CubinError::Elf(_))));
    assert!(matches!(Cubin::parse(&[0x7f; 4096]), Err(CubinError::Elf(_))));
    let mut other = small(80);
    other[18] = 62;
    assert_eq!(Cubin::parse(&other).unwrap_err(), CubinError::NotCuda { machine: 62 });
    let mut wrong_type = small(80);
    wrong_type[16] = 4;
    assert!(Cubin::parse(&wrong_type).unwrap_err().to_string().contains("file type 4"));
}

#[test]
fn sections_that_all_hold_the_whole_file_are_refused() {
    let mut large = module(Target::new(80));
    large.globals[0].size = 1 << 20;
    large.globals[0].init = vec![1; 1 << 20];
    let mut bytes = write(&large).unwrap();
    let length = (bytes.len() as u64).to_le_bytes();
    let headers = usize::try_from(u64::from_le_bytes(bytes[40..48].try_into().unwrap())).unwrap();
    for section in 4..16 {
        let header = headers + 64 * section;
        bytes[header + 24..header + 32].fill(0);
        bytes[header + 32..header + 40].copy_from_slice(&length);
    }
    let error = Cubin::parse(&bytes).unwrap_err();
    assert!(error.to_string().contains("overlap"), "{error}");
}

#[test]
fn bad_descriptions_are_refused() {
    let refused = |change: fn(&mut ModuleSpec)| {
        let mut module = module(Target::new(80));
        change(&mut module);
        write(&module).unwrap_err()
    };
    assert_eq!(refused(|m| m.target.sm = 52), WriteError::UnknownTarget("sm_52".into()));
    let twice = refused(|m| m.functions.push(FunctionSpec::kernel("k", vec![0; 16], 8)));
    assert!(matches!(twice, WriteError::DuplicateSymbol(_)));
    let missing = refused(|m| m.functions[0].relocations[0].symbol = "nowhere".into());
    assert_eq!(missing, WriteError::UndefinedSymbol { name: "nowhere".into(), user: "k".into() });
    let changes: [fn(&mut ModuleSpec); 10] = [
        |m| m.functions[0].code.truncate(100),
        |m| m.functions[0].code.clear(),
        |m| m.functions[0].registers = 256,
        |m| m.functions[0].barriers = 17,
        |m| m.functions[0].params[0].size = 70_000,
        |m| m.functions[0].relocations[0].offset = 124,
        |m| m.functions[0].relocations[0].offset = u32::MAX,
        |m| m.globals[0].align = 3,
        |m| m.globals[0].offset = Some(4),
        |m| m.globals[0].size = u64::MAX,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        assert!(matches!(refused(change), WriteError::OutOfRange { .. }), "change {number}");
    }
}

fn attribute() -> impl Strategy<Value = Attribute> {
    let value = prop_oneof![
        any::<u16>().prop_map(Value::None),
        any::<(u8, u8)>().prop_map(|(a, b)| Value::Byte(a, b)),
        any::<u16>().prop_map(Value::Half),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Value::Sized),
    ];
    (any::<u8>(), value).prop_map(|(number, value)| Attribute { number, value })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn many_changes_are_survived(sm in prop_oneof![Just(80), Just(90)],
                                 changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..24)) {
        let mut bytes = small(sm);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let _ = exercise(&bytes);
    }

    #[test]
    fn garbage_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = exercise(&bytes);
        let _ = nvinfo::decode(&bytes, 0);
    }

    #[test]
    fn records_come_back(records in prop::collection::vec(attribute(), 0..20)) {
        let bytes = nvinfo::encode(&records).unwrap();
        prop_assert_eq!(nvinfo::decode(&bytes, 0).unwrap(), records);
    }

    #[test]
    fn patched_values_are_extracted(number in 0u32..116, value: u64, before: [u8; 16]) {
        let kind = reloc::RelocKind::by_number(number).unwrap();
        let mut bytes = before;
        prop_assert!(kind.patch(&mut bytes, value, 5));
        let held = kind.extract(&bytes).unwrap();
        let mut again = bytes;
        prop_assert!(kind.patch(&mut again, held, 5));
        prop_assert_eq!(again, bytes, "{}", kind.name);
        let changed: u32 = before.iter().zip(&bytes).map(|(a, b)| (a ^ b).count_ones()).sum();
        let width: u32 = kind.fields.iter().map(|f| u32::from(f.width)).sum();
        prop_assert!(changed <= width);
    }
}
