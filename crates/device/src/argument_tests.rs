//! Tests of the argument forms of `oriole run`.

use super::*;

fn value(text: &str) -> Vec<u8> {
    match Argument::parse(text).expect("a value") {
        Argument::Value(bytes) => bytes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn values_of_every_type() {
    assert_eq!(value("u32:7"), 7u32.to_le_bytes());
    assert_eq!(value("s64:-1"), (-1i64).to_le_bytes());
    assert_eq!(value("b64:0xff"), 0xffu64.to_le_bytes());
    assert_eq!(value("s8:-128"), [0x80]);
    assert_eq!(value("f32:0.1"), 0.1f32.to_le_bytes());
    assert_eq!(value("f64:-2.5"), (-2.5f64).to_le_bytes());
    assert_eq!(value("f16:1.5"), 0x3e00u16.to_le_bytes());
    assert_eq!(value("f16:65504"), 0x7bffu16.to_le_bytes());
    assert_eq!(value("f16:65520"), 0x7c00u16.to_le_bytes(), "rounds up to infinity");
    assert_eq!(value("f16:6e-8"), 0x0001u16.to_le_bytes(), "subnormal");
    assert_eq!(value("f16:-0.0"), 0x8000u16.to_le_bytes());
    assert_eq!(value("bf16:1.0"), 0x3f80u16.to_le_bytes());
    assert_eq!(value("bf16:3.14159"), 0x4049u16.to_le_bytes());
}

#[test]
fn values_that_do_not_fit_are_refused() {
    for text in
        ["u8:256", "s8:-129", "u32:x", "q32:1", "u33:1", "f32:one", "7", "f8:1", "é:1", ":1", "out:p", "in:", "out::4"]
    {
        let error = Argument::parse(text).expect_err(text).to_string();
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn aggregates_hold_buffers() {
    let argument = Argument::parse("bytes:0102030405060708090a0b0c0d0e0f10@8=zero:32").expect("an aggregate");
    let mut memory = Memory::new();
    let bound = bind(&[argument], &[Slot { offset: 0, size: 16 }], &mut memory).expect("it binds");
    let address = u64::from_le_bytes(bound.params[8..].try_into().expect("eight bytes"));
    assert_eq!(bound.params[..8], [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(memory.read(address, 32), Some(vec![0; 32]));
    for bad in ["bytes:00@0=zero:1", "bytes:0", "bytes:zz", "bytes:0000000000000000@0=u32:1"] {
        assert!(Argument::parse(bad).is_err(), "{bad}");
    }
    match Argument::parse("bytes:0000000000000000@0=in:dir@x/file").expect("an @ in a path stays") {
        Argument::Aggregate { buffers, .. } => assert_eq!(buffers[0].1.input(), Some("dir@x/file".as_ref())),
        other => panic!("{other:?}"),
    }
}

#[test]
fn parameters_are_laid_out_and_outputs_read_back() {
    let folder = std::env::temp_dir().join(format!("oriole-argument-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let input = folder.join("in.bin");
    std::fs::write(&input, [9, 8, 7]).expect("a file");
    let texts = ["u32:5".to_owned(), format!("inout:{}:result", input.display()), "out:more:4".to_owned()];
    let arguments: Vec<Argument> = texts.iter().map(|text| Argument::parse(text).expect("proper")).collect();
    let slots = [Slot { offset: 0, size: 4 }, Slot { offset: 8, size: 8 }, Slot { offset: 16, size: 8 }];
    let mut memory = Memory::new();
    let bound = bind(&arguments, &slots, &mut memory).expect("it binds");
    std::fs::remove_dir_all(&folder).expect("it is ours");
    assert_eq!(bound.params.len(), 24);
    assert_eq!(bound.params[..4], [5, 0, 0, 0]);
    let address = u64::from_le_bytes(bound.params[8..16].try_into().expect("eight bytes"));
    assert!(memory.write(address + 1, &[1]));
    assert_eq!(
        bound.outputs(&memory).expect("they can be written"),
        [("result".into(), vec![9, 1, 7]), ("more".into(), vec![0; 4])]
    );
    assert_eq!(bound.contents(1, &memory), Some((ArrayType::bytes(3), vec![9, 1, 7])));
    assert_eq!(bound.contents(0, &memory), None);
}

#[test]
fn wrong_counts_and_sizes_are_refused() {
    let arguments = [Argument::Value(vec![0; 4])];
    let mut memory = Memory::new();
    let count = bind(&arguments, &[], &mut memory).expect_err("too many").to_string();
    assert_eq!(count, "the kernel takes 0 arguments, 1 were given");
    let size = bind(&arguments, &[Slot { offset: 0, size: 8 }], &mut memory).expect_err("too small").to_string();
    assert_eq!(size, "argument 0 has 4 bytes, the kernel's parameter 8");
    let missing = Argument::parse("in:/nonexistent/file").expect("the form is right");
    assert!(bind(&[missing], &[Slot { offset: 0, size: 8 }], &mut memory).is_err());
}
