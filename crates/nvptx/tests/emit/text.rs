//! The text of whole modules.

use oriole_nvptx::emit::{EmitOptions, Error};
use oriole_nvptx::ir::{Linkage, TypeId};
use oriole_nvptx::machine::{
    Asm, AsmPiece, Base, Call, Frame, Opcode, Operand, ParamDecl, ParamMove, PhysReg, Reg, RegClass, Terminator,
};
use oriole_ptx::ast::{ScalarType, Selector, SpecialReg};

use super::build::Build;

/// One function with a register of every class, a frame, calls, a table and inline assembly.
fn everything() -> Build {
    let mut build = Build::default();
    let kernel = build.declare("k", &[TypeId::PTR, TypeId::I32], TypeId::VOID, true);
    let double = build.declare("double.it", &[TypeId::I32], TypeId::I32, false);
    build.ir.symbols[double].linkage = Linkage::Internal;
    let vprintf = build.declare("vprintf", &[TypeId::PTR, TypeId::PTR], TypeId::I32, false);
    build.name();
    let (callee, print) = (build.sym(double), build.sym(vprintf));
    build.define(kernel, |code| {
        let out = code.param(0, RegClass::Int64, "ld.param.b64");
        let n = code.param(1, RegClass::Int32, "ld.param.b32");
        let tid = Operand::Part(Reg::Physical(PhysReg::Special(SpecialReg::Tid)), Selector::X);
        let tid = code.value(RegClass::Int32, "mov.b32", [tid]);
        let p = code.value(RegClass::Int1, "setp.lt.u32", [tid.into(), n.into()]);
        let [same, other] = [code.reg(RegClass::Int32), code.reg(RegClass::Float32)];
        code.push(Opcode::Copy, 1, [same.into(), tid.into()]);
        code.push(Opcode::Copy, 1, [other.into(), same.into()]);
        let short = code.value(RegClass::Int16, "cvt.u16.u32", [same.into()]);
        let half = code.value(RegClass::Int16Half, "cvt.rn.f16.f32", [other.into()]);
        let pair = code.value(RegClass::Int32Half, "mov.b32", [Operand::Vector([half.into(), half.into()].into())]);
        let double = code.value(RegClass::Float64, "cvt.f64.f32", [other.into()]);
        let wide = code.reg(RegClass::Int64);
        code.push(Opcode::Copy, 1, [wide.into(), double.into()]);
        let quad = code.value(RegClass::Int128, "mov.b128", [Operand::Vector([wide.into(), out.into()].into())]);
        code.inst("mov.b128", 1, [Operand::Vector([wide.into(), Operand::Sink].into()), quad.into()]);

        code.function.frame = Frame { bytes: 16, align: 8 };
        let frame = |offset| Operand::address(Base::Reg(Reg::Physical(PhysReg::Spl)), offset);
        code.inst("st.local.v2.b32", 0, [frame(0), Operand::Vector([same.into(), pair.into()].into())]);
        code.inst("st.local.b16", 0, [frame(8), short.into()]);
        let generic =
            code.value(RegClass::Int64, "add.s64", [Operand::Reg(Reg::Physical(PhysReg::Sp)), Operand::Imm(0)]);

        let (store, load) = ("st.param.b32", "ld.param.b32");
        let [store, load] = [store, load].map(|form| code.machine.forms.intern(form).unwrap());
        let store_wide = code.machine.forms.intern("st.param.b64").unwrap();
        let direct = code.function.calls.push(Call {
            callee: Some(callee),
            params: vec![ParamDecl::scalar(ScalarType::B32)],
            ret: Some(ParamDecl::scalar(ScalarType::B32)),
            results: vec![ParamMove { param: 0, offset: 0, form: load }],
            args: vec![ParamMove { param: 0, offset: 0, form: store }],
            no_return: false,
            varargs: false,
        });
        let doubled = code.reg(RegClass::Int32);
        code.push(Opcode::Call(direct), 1, [doubled.into(), same.into()]);
        let indirect = code.function.calls.push(Call { callee: None, ..code.function.calls[direct].clone() });
        let address = code.value(RegClass::Int64, "mov.b64", [Operand::Symbol(callee, 0)]);
        let again = code.reg(RegClass::Int32);
        code.push(Opcode::Call(indirect), 1, [again.into(), doubled.into(), address.into()]);
        let printing = code.function.calls.push(Call {
            callee: Some(print),
            params: vec![ParamDecl::scalar(ScalarType::B64); 2],
            args: [0, 1].map(|param| ParamMove { param, offset: 0, form: store_wide }).into(),
            results: Vec::new(),
            ..code.function.calls[direct].clone()
        });
        code.push(Opcode::Call(printing), 0, [generic.into(), generic.into()]);

        let text = |text: &str| AsmPiece::Text(text.into());
        let asm = code.function.asms.push(Asm {
            pieces: vec![
                text("{ .reg .b32 t; add.u32 t, "),
                AsmPiece::Operand(1),
                text(", 1; mov.b32 "),
                AsmPiece::Operand(0),
                text(", t; }"),
            ],
            ties: Vec::new(),
            side_effects: true,
            convergent: false,
            memory: false,
        });
        let inline = code.reg(RegClass::Int32);
        code.push(Opcode::Asm(asm), 1, [inline.into(), again.into()]);

        let [first, second, last] = [code.block(), code.block(), code.block()];
        let guard = code.block();
        code.end(Terminator::Branch { pred: p, negated: false, then: guard, otherwise: last });
        code.at(guard);
        code.end(Terminator::Table { index: tid, targets: vec![first, second, last] });
        code.at(first);
        code.inst("st.global.b32", 0, [Operand::address(Base::Reg(out.into()), 0), inline.into()]);
        code.end(Terminator::Goto(last));
        code.at(second);
        code.inst("st.global.b64", 0, [Operand::address(Base::Reg(out.into()), 8), wide.into()]);
        code.end(Terminator::Goto(last));
        code.at(last);
    });
    build.define(double, |code| {
        let value = code.param(0, RegClass::Int32, "ld.param.b32");
        let sum = code.value(RegClass::Int32, "add.s32", [value.into(), value.into()]);
        let (result, _) = code.function.ret.unwrap();
        code.inst("st.param.b32", 0, [Operand::address(Base::Symbol(result), 0), sum.into()]);
    });
    build
}

#[test]
fn a_function_with_everything() {
    insta::assert_snapshot!("everything", everything().text());
}

#[test]
fn the_version_is_the_least_that_will_do() {
    let version = |arch: &str, form: &str, class: RegClass| {
        let mut build = Build::default();
        let kernel = build.declare("k", &[], TypeId::VOID, true);
        build.name();
        build.define(kernel, |code| {
            let [a, b] = [class; 2].map(|class| code.reg(class));
            code.value(class, form, [a.into(), b.into()]);
        });
        build.emit(&EmitOptions { arch: arch.to_owned(), ..EmitOptions::default() }).map(|module| module.version)
    };
    assert_eq!(version("sm_75", "add.s32", RegClass::Int32).unwrap(), (6, 3));
    assert_eq!(version("sm_90a", "add.s32", RegClass::Int32).unwrap(), (8, 0));
    // `add.bf16` came with PTX 7.8, for sm_90.
    assert_eq!(version("sm_90", "add.bf16", RegClass::Int16Half).unwrap(), (7, 8));
    assert_eq!(version("sm_100", "add.rn.f32x2", RegClass::Int64).unwrap(), (8, 6));
    let error = version("sm_80", "add.bf16", RegClass::Int16Half).unwrap_err();
    assert_eq!(error.to_string(), "`k`: `add.bf16` needs the target `sm_90` or later, but this module is for `sm_80`");
}

#[test]
fn a_version_that_is_too_old_is_refused() {
    let options = EmitOptions { arch: "sm_90".to_owned(), ptx_version: Some((8, 0)), ..EmitOptions::default() };
    let error = everything().emit(&options).unwrap_err();
    assert_eq!(error.to_string(), "`k`: the type `.b128` needs PTX 8.3, but this module says 8.0");
    let options = EmitOptions { ptx_version: Some((8, 5)), ..options };
    assert_eq!(everything().emit(&options).unwrap().version, (8, 5));
}

#[test]
fn a_register_of_the_internal_class_ends_the_compilation() {
    let mut build = Build::default();
    let kernel = build.declare("k", &[], TypeId::VOID, true);
    build.name();
    build.define(kernel, |code| {
        code.value(RegClass::Special, "mov.b32", [Operand::Imm(1)]);
    });
    let error = build.emit(&EmitOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "Bad register class");
}

/// What is said of inline assembly with this text; `$` stands for its one result.
fn assembly(text: &str) -> Result<String, Error> {
    let mut build = Build::default();
    let kernel = build.declare("k", &[], TypeId::VOID, true);
    build.name();
    build.define(kernel, |code| {
        let mut pieces = Vec::new();
        for (at, piece) in text.split('$').enumerate() {
            if at > 0 {
                pieces.push(AsmPiece::Operand(0));
            }
            pieces.push(AsmPiece::Text(piece.into()));
        }
        let asm = Asm { pieces, ties: Vec::new(), side_effects: true, convergent: false, memory: false };
        let asm = code.function.asms.push(asm);
        let result = code.reg(RegClass::Int32);
        code.push(Opcode::Asm(asm), 1, [result.into()]);
    });
    build.emit(&EmitOptions::default()).map(|module| oriole_ptx::print(&module))
}

#[test]
fn inline_assembly_becomes_statements_of_the_function() {
    let text = assembly("mov.u32 $, %laneid;").unwrap();
    assert!(text.contains("\tmov.u32 %r0, %laneid;\n"), "{text}");
    let text = assembly("// nothing").unwrap();
    assert!(text.contains(".reg .b32 %r<1>;\n\n\tret;"), "{text}");
}

#[test]
fn wrong_inline_assembly_is_shown() {
    // What cannot be read, and what reads but means nothing.
    for (text, place, message) in [
        ("mov.u32 $, 1; mov.u32 $ 2;", 28, "expected `,` or `;`, found `2`"),
        ("mov.u32 $, %nowhere;", 13, "undefined register `%nowhere`"),
    ] {
        let error = assembly(text).unwrap_err();
        let Error::Asm { function, text: shown, diagnostics } = &error else { panic!("{error}") };
        assert_eq!((function.as_str(), shown.as_str()), ("k", text.replace('$', "%r0").as_str()));
        assert_eq!((diagnostics[0].message.as_str(), diagnostics[0].span.start), (message, place));
        assert!(error.to_string().contains(message), "{error}");
    }
}
