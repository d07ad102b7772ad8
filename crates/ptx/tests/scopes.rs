//! Name resolution, beside what the error snapshots show.

use oriole_ptx::ast::{Module, ScalarType, Statement};
use oriole_ptx::scope::{Binding, Scopes};

fn module(body: &str) -> Module {
    let text = format!(".version 9.0\n.target sm_90\n.entry k(.param .u32 a) {{\n{body}\n}}\n");
    let parsed = oriole_ptx::parse(&text);
    assert!(parsed.errors.is_empty(), "{:?}", parsed.errors);
    parsed.module
}

/// The meaning of `name` after all statements of the kernel's own scope.
fn meaning<'m>(module: &'m Module, name: &str) -> Option<Binding<'m>> {
    let (mut scopes, _) = Scopes::new(module);
    let kernel = module.functions().next().unwrap();
    assert!(scopes.enter_function(kernel).is_empty());
    for statement in &kernel.body.as_ref().unwrap().statements {
        assert!(scopes.declare(statement).is_empty());
    }
    scopes.lookup(module.symbols.get(name)?)
}

fn register(module: &Module, name: &str) -> Option<(u32, ScalarType)> {
    match meaning(module, name)? {
        Binding::Register(register) => Some((register.id, register.ty)),
        _ => None,
    }
}

#[test]
fn ranges() {
    let m = module(
        ".reg .b32 %x; .reg .f32 %f<12>; .reg .b64 %f1<2>; .reg .b16 %f0007; mov.u32 %f0, %f11; mov.u32 %f12, %f10; mov.u32 %f01, %f0007;",
    );
    assert_eq!(register(&m, "%x"), Some((0, ScalarType::B32)));
    assert_eq!(register(&m, "%f0"), Some((1, ScalarType::F32)));
    assert_eq!(register(&m, "%f0007"), Some((15, ScalarType::B16)));
    assert_eq!(register(&m, "%f12"), None, "one more than %f<12> and %f1<2> declare");
    assert_eq!(register(&m, "%f01"), None, "a leading zero is another name");
    assert!(register(&m, "%f11").is_some() && register(&m, "%f10").is_some(), "declared by both ranges");
}

#[test]
fn a_range_that_no_array_could_hold() {
    let m = module(".reg .b32 %r<4294967295>; mov.u32 %r0, %r4294967294;");
    assert_eq!(register(&m, "%r4294967294"), Some((4_294_967_294, ScalarType::B32)));
}

#[test]
fn inner_scopes_hide_and_end() {
    let m = module(".reg .b32 %r<4>; { .reg .f32 %r<2>; mov.f32 %r0, %r3; } mov.u32 a, k;");
    let (mut scopes, _) = Scopes::new(&m);
    let kernel = m.functions().next().unwrap();
    scopes.enter_function(kernel);
    let r0 = m.symbols.get("%r0").unwrap();
    let r3 = m.symbols.get("%r3").unwrap();
    let ty = |scopes: &Scopes<'_>, sym| match scopes.lookup(sym) {
        Some(Binding::Register(register)) => Some(register.ty),
        _ => None,
    };
    let body = kernel.body.as_ref().unwrap();
    scopes.declare(&body.statements[0]);
    let Statement::Block(block) = &body.statements[1] else { panic!("expected a block") };
    scopes.enter_block(block);
    scopes.declare(&block.statements[0]);
    assert_eq!((ty(&scopes, r0), ty(&scopes, r3)), (Some(ScalarType::F32), Some(ScalarType::B32)));
    scopes.leave();
    assert_eq!(ty(&scopes, r0), Some(ScalarType::B32));
    assert!(matches!(scopes.lookup(m.symbols.get("a").unwrap()), Some(Binding::Variable(_))));
    assert!(matches!(scopes.lookup(m.symbols.get("k").unwrap()), Some(Binding::Function(_))));
    assert_eq!(scopes.register_count(), 6);
    scopes.leave();
    assert_eq!(ty(&scopes, r0), None);
}
