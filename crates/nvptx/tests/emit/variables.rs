//! Variables: declarations, initial values, order, what is left out.

use oriole_nvptx::emit::{EmitOptions, Error};
use oriole_nvptx::ir::{AddressSpace, CastOp, ConstExpr, ConstId, Constant, GepFlags, Linkage, SymbolId, Type, TypeId};
use oriole_nvptx::machine::{Base, Operand, RegClass};

use super::build::Build;

fn array(build: &mut Build, element: TypeId, len: u64) -> TypeId {
    build.ir.types.intern(Type::Array(element, len))
}

fn int(build: &mut Build, ty: TypeId, value: u128) -> ConstId {
    build.ir.constants.intern(Constant::Int(ty, value))
}

fn address(build: &mut Build, symbol: SymbolId) -> ConstId {
    let space = build.ir.symbols[symbol].space;
    let ty = build.ir.types.pointer(space);
    build.ir.constants.intern(Constant::Symbol(ty, symbol))
}

fn generic(build: &mut Build, inner: ConstId) -> ConstId {
    let cast = ConstExpr::Cast(CastOp::AddrSpaceCast, inner);
    build.ir.constants.intern(Constant::Expr(TypeId::PTR, Box::new(cast)))
}

/// The declarations of a module without functions.
fn declarations(mut build: Build) -> Vec<String> {
    build.name();
    let text = build.text();
    text.lines().skip(4).map(str::to_owned).collect()
}

#[test]
fn values_by_their_types() {
    let mut build = Build::default();
    let global = |build: &mut Build, name: &str, space, constant: Constant| {
        let init = build.ir.constants.intern(constant);
        let ty = build.ir.constants.ty(init);
        build.variable(name, space, Linkage::External, ty, Some(init))
    };
    global(&mut build, "byte", 1, Constant::Int(TypeId::I8, 200));
    global(&mut build, "flag", 1, Constant::Int(TypeId::I1, 1));
    global(&mut build, "half", 1, Constant::Float(TypeId::HALF, 0x3C00));
    global(&mut build, "single", 4, Constant::Float(TypeId::FLOAT, 0x3F80_0000));
    global(&mut build, "long", 0, Constant::Int(TypeId::I64, u128::from(u64::MAX)));
    global(&mut build, "wide", 1, Constant::Int(TypeId::I128, 5));
    let words = array(&mut build, TypeId::I32, 4);
    let [one, two, none] = [1, 2, 0].map(|value| int(&mut build, TypeId::I32, value));
    global(&mut build, "words", 1, Constant::Aggregate(words, [one, two, none, none].into()));
    global(&mut build, "zeros", 1, Constant::Zero(words));
    let text = array(&mut build, TypeId::I8, 4);
    global(&mut build, "text", 1, Constant::Bytes(text, (*b"abc\0").into()));
    let bits = build.ir.types.vector(TypeId::I1, 4);
    let [no, yes] = [0, 1].map(|value| int(&mut build, TypeId::I1, value));
    global(&mut build, "bits", 1, Constant::Aggregate(bits, [yes, no, yes, yes].into()));
    assert_eq!(
        declarations(build),
        [
            ".visible .global .align 1 .b8 byte = 200;",
            ".visible .global .align 1 .b8 flag = 1;",
            ".visible .global .align 2 .b16 half = 15360;",
            ".visible .const .align 4 .f32 single = 0f3F800000;",
            ".visible .global .align 8 .b64 long = -1;",
            ".visible .global .align 16 .b8 wide[16] = {5};",
            ".visible .global .align 4 .b32 words[4] = {1, 2};",
            ".visible .global .align 4 .b32 zeros[4];",
            ".visible .global .align 1 .b8 text[4] = {97, 98, 99};",
            ".visible .global .align 1 .b8 bits[1] = {13};",
        ]
    );
}

#[test]
fn addresses_stand_behind_what_they_name() {
    let mut build = Build::default();
    let function = build.declare("callee", &[], TypeId::VOID, false);
    let to_function = address(&mut build, function);
    let target = build.ir.symbol_or_new("target");
    build.ir.symbols[target].space = AddressSpace::GLOBAL;
    let plain = address(&mut build, target);
    let cast = generic(&mut build, plain);
    let [two, index] = [2, 3].map(|value| int(&mut build, TypeId::I32, value));
    let inside = build.ir.constants.intern(Constant::Expr(
        TypeId::PTR,
        Box::new(ConstExpr::Gep { source: TypeId::I64, flags: GepFlags::empty(), base: cast, indices: [index].into() }),
    ));
    let fields = [TypeId::PTR, TypeId::I32];
    let loose = build.ir.types.intern(Type::Struct { fields: fields.into(), packed: false });
    let tight = build.ir.types.intern(Type::Struct { fields: [TypeId::I8, TypeId::PTR].into(), packed: true });
    let byte = int(&mut build, TypeId::I8, 1);
    let record = build.ir.constants.intern(Constant::Aggregate(loose, [inside, two].into()));
    let packed = build.ir.constants.intern(Constant::Aggregate(tight, [byte, to_function].into()));
    build.variable("record", 1, Linkage::External, loose, Some(record));
    build.variable("packed", 1, Linkage::External, tight, Some(packed));
    let pointer = build.ir.types.pointer(AddressSpace::GLOBAL);
    build.variable("raw", 1, Linkage::External, pointer, Some(plain));
    let numbers = array(&mut build, TypeId::I64, 8);
    let zero = build.ir.constants.intern(Constant::Zero(numbers));
    build.variable("target", 1, Linkage::Internal, numbers, Some(zero));
    let masks: Vec<_> = (0..8).map(|byte| format!("{:#x}(callee)", 0xFFu64 << (8 * byte))).collect();
    assert_eq!(
        declarations(build),
        [
            ".extern .func callee();",
            ".global .align 8 .b64 target[8];",
            ".visible .global .align 8 .u64 record[2] = {generic(target)+24, 2};",
            &format!(".visible .global .align 1 .u8 packed[9] = {{1, {}}};", masks.join(", ")),
            ".visible .global .align 8 .u64 raw = target;",
        ]
    );
}

#[test]
fn two_variables_that_need_each_other_are_refused() {
    let mut build = Build::default();
    let [a, b] = ["a", "b"].map(|name| build.ir.symbol_or_new(name));
    let [to_a, to_b] = [a, b].map(|id| address(&mut build, id));
    build.variable("a", 0, Linkage::External, TypeId::PTR, Some(to_b));
    build.variable("b", 0, Linkage::External, TypeId::PTR, Some(to_a));
    build.name();
    let error = build.emit(&EmitOptions::default()).expect_err("a circle");
    assert_eq!(error.to_string(), "`b`: its initial value and that of `a` need each other");
}

#[test]
fn shared_variables_of_one_function_are_its_own() {
    let mut build = Build::default();
    let undef = build.ir.constants.intern(Constant::Undef(TypeId::I32));
    let own = build.variable("own", 3, Linkage::Internal, TypeId::I32, Some(undef));
    let both = build.variable("both", 3, Linkage::Internal, TypeId::I32, Some(undef));
    build.variable("nobody", 3, Linkage::Internal, TypeId::I32, Some(undef));
    let open = array(&mut build, TypeId::I8, 0);
    let dynamic = build.variable("dynamic", 3, Linkage::External, open, None);
    let kernels = ["first", "second"].map(|name| build.declare(name, &[], TypeId::VOID, true));
    build.name();
    let [own, both, dynamic] = [own, both, dynamic].map(|id| build.sym(id));
    for (kernel, variables) in kernels.into_iter().zip([vec![own, both], vec![both, dynamic]]) {
        build.define(kernel, |code| {
            for variable in variables {
                code.value(RegClass::Int32, "ld.shared.b32", [Operand::address(Base::Symbol(variable), 0)]);
            }
        });
    }
    let text = build.text();
    let declared: Vec<_> = text.lines().filter(|line| line.contains(".align")).collect();
    assert_eq!(
        declared,
        [".shared .align 4 .b32 both;", ".extern .shared .align 1 .b8 dynamic[];", "\t.shared .align 4 .b32 own;"]
    );
}

#[test]
fn what_ptx_has_not_is_refused_by_name() {
    let mut build = Build::default();
    let value = int(&mut build, TypeId::I32, 1);
    let zero = int(&mut build, TypeId::I32, 0);
    for (name, space, init, expected) in [
        ("in_shared", 3, value, "`in_shared`: a variable in shared memory has no initial value in PTX"),
        ("elsewhere", 9, zero, "`elsewhere`: a variable in address space 9"),
    ] {
        let mut build = Build { ir: build.ir.clone(), machine: Default::default() };
        build.variable(name, space, Linkage::External, TypeId::I32, Some(init));
        build.name();
        let error = build.emit(&EmitOptions::default()).expect_err("refused");
        assert!(matches!(error, Error::Unsupported { .. }));
        assert_eq!(error.to_string(), expected);
    }
}
