//! Linking, by what LLVM's rules say of small modules.

use crate::canonical;

use oriole_nvptx::bitcode::LazyModule;
use oriole_nvptx::ir::{Linkage, Module, Op, SymbolKind, verify};
use oriole_nvptx::link::{Error, Reflect, link, link_library, resolve_reflect, strip_unused};

fn module(name: &str, text: &str) -> Module {
    let mut module = oriole_nvptx::text::parse(text, name).unwrap_or_else(|error| panic!("{error}"));
    module.name = name.to_owned();
    module
}

/// Links the second module to the first.
fn linked(first: &str, second: &str, lazy: bool) -> Result<Module, Error> {
    let mut into = module("first", first);
    link(&mut into, module("second", second), lazy)?;
    verify(&into).unwrap();
    Ok(into)
}

/// The number that a function returns.
fn returned(module: &Module, name: &str) -> u128 {
    let function = module.symbols[module.symbol(name).unwrap()].function().unwrap();
    let body = function.body.as_deref().unwrap_or_else(|| panic!("{name} is not defined"));
    let inst = body.terminator(body.layout[0]).unwrap();
    let Op::Ret(Some(value)) = &body[inst].op else { panic!("{name} returns nothing") };
    module.constants.as_int(value.constant().unwrap()).unwrap()
}

fn defined(module: &Module) -> Vec<&str> {
    let mut names: Vec<&str> =
        module.symbols.values().filter(|symbol| symbol.is_definition()).map(|symbol| &*symbol.name).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_definition_takes_the_place_of_a_declaration() {
    let first = "declare i32 @f()\ndefine i32 @g() { %r = call i32 @f() ret i32 %r }";
    let module = linked(first, "define i32 @f() { ret i32 7 }", false).unwrap();
    assert_eq!(defined(&module), ["f", "g"]);
    assert_eq!(returned(&module, "f"), 7);
    let module = linked("define i32 @f() { ret i32 7 }", first, false).unwrap();
    assert_eq!(defined(&module), ["f", "g"]);
    assert_eq!(returned(&module, "f"), 7);
}

#[test]
fn stronger_definitions_win() {
    let body = |linkage: &str, number: u32| format!("define {linkage} i32 @f() {{ ret i32 {number} }}");
    for (first, second, winner) in [
        ("weak", "", 2),
        ("", "weak", 1),
        ("weak", "weak", 1),
        ("linkonce_odr", "weak_odr", 2),
        ("weak_odr", "linkonce_odr", 1),
        ("available_externally", "linkonce_odr", 2),
        ("available_externally", "", 2),
        ("", "available_externally", 1),
        ("linkonce", "linkonce", 1),
    ] {
        let module = linked(&body(first, 1), &body(second, 2), false).unwrap();
        assert_eq!(returned(&module, "f"), winner, "`{first}` and `{second}`");
    }
    let error = linked(&body("", 1), &body("", 2), false).unwrap_err();
    assert_eq!(error.to_string(), "`f` is defined in both `first` and `second`");
}

#[test]
fn internal_symbols_keep_apart() {
    let text = |number: u32, caller: &str| {
        format!(
            "define internal i32 @help() {{ ret i32 {number} }}\n\
             define i32 @{caller}() {{ %r = call i32 @help() ret i32 %r }}"
        )
    };
    let module = linked(&text(1, "a"), &text(2, "b"), false).unwrap();
    assert_eq!(defined(&module), ["a", "b", "help", "help.1"]);
    for (caller, callee) in [("a", "help"), ("b", "help.1")] {
        let lines = canonical::lines(&module);
        let at = lines.iter().position(|line| line.starts_with(&format!("@{caller} "))).unwrap();
        assert!(lines[at..].iter().find(|line| line.contains("Call(")).unwrap().contains(&format!("@{callee} ")));
    }
    assert_eq!((returned(&module, "help"), returned(&module, "help.1")), (1, 2));
    // An external symbol has the right to its name.
    let module = linked(&text(1, "a"), "define i32 @help() { ret i32 3 }", false).unwrap();
    assert_eq!((returned(&module, "help"), returned(&module, "help.1")), (3, 1));
}

#[test]
fn common_and_appending_variables() {
    let used = |name: &str| {
        format!(
            "@{name} = global i32 0\n@llvm.used = appending global [1 x ptr] [ptr @{name}], section \"llvm.metadata\""
        )
    };
    let module = linked(&used("a"), &used("b"), false).unwrap();
    let list = module.symbols[module.symbol("llvm.used").unwrap()].variable().unwrap();
    assert_eq!(module.types.text(list.ty), "[2 x ptr]");
    let common = |len: u32| format!("@room = common global [{len} x i8] zeroinitializer");
    for (first, second) in [(4, 8), (8, 4)] {
        let module = linked(&common(first), &common(second), false).unwrap();
        let room = module.symbols[module.symbol("room").unwrap()].variable().unwrap();
        assert_eq!(module.types.text(room.ty), "[8 x i8]");
    }
    let error = linked("@x = addrspace(1) global i32 0", "@x = external addrspace(3) global i32", false).unwrap_err();
    assert_eq!(error.to_string(), "`x` is in address space 1 in `first`, but in address space 3 in `second`");
}

#[test]
fn metadata_is_put_together() {
    let text = |name: &str, flag: u32| {
        format!(
            "define void @{name}() {{ ret void }}\n\
             !nvvm.annotations = !{{!0}}\n!llvm.module.flags = !{{!1}}\n!llvm.ident = !{{!2}}\n\
             !0 = !{{ptr @{name}, !\"kernel\", i32 1}}\n!1 = !{{i32 4, !\"nvvm-reflect-ftz\", i32 {flag}}}\n!2 = !{{!\"clang\"}}"
        )
    };
    let module = linked(&text("a", 1), &text("b", 0), false).unwrap();
    let count = |name: &str| module.metadata.named(name).count();
    assert_eq!((count("nvvm.annotations"), count("llvm.module.flags"), count("llvm.ident")), (2, 1, 1));
    let lines = canonical::lines(&module);
    let flags = lines.iter().find(|line| line.starts_with("!llvm.module.flags")).unwrap();
    assert!(flags.contains("i32 1}"), "what the first module says stays: {flags}");
}

#[test]
fn lazily_only_what_is_needed() {
    let library = "\
        @table = internal constant [2 x ptr] [ptr @deep, ptr null]\n\
        define i32 @wanted() { %p = load ptr, ptr @table %r = call i32 %p() ret i32 %r }\n\
        define i32 @deep() { ret i32 1 }\n\
        define i32 @other() { %r = call i32 @more() ret i32 %r }\n\
        define i32 @more() { ret i32 2 }\n\
        !nvvm.annotations = !{!0}\n!0 = !{ptr @other, !\"kernel\", i32 1}";
    let module = linked("declare i32 @wanted()\ndefine i32 @f() { %r = call i32 @wanted() ret i32 %r }", library, true);
    let module = module.unwrap();
    assert_eq!(defined(&module), ["deep", "f", "table", "wanted"]);
    let linkage = |name: &str| module.symbols[module.symbol(name).unwrap()].linkage;
    assert_eq!(["deep", "table", "wanted", "f"].map(linkage)[..3], [Linkage::Internal; 3]);
    assert_eq!(linkage("f"), Linkage::External);
    assert!(module.metadata.named.is_empty());
}

#[test]
fn a_library_in_bitcode() {
    let mut library = LazyModule::open(include_bytes!("data/bitcode/opaque.bc"), "opaque.bc").unwrap();
    let mut into =
        module("user", "declare i32 @other_name(i32)\ndefine i32 @f() { %r = call i32 @other_name(i32 3) ret i32 %r }");
    link_library(&mut into, &mut library).unwrap();
    verify(&into).unwrap();
    // The alias, and the function behind it; not the kernel.
    assert_eq!(defined(&into), ["f", "helper", "other_name"]);
    assert_eq!(library.module().definitions().count(), 1, "only that body was read");
    assert!(matches!(into.symbols[into.symbol("other_name").unwrap()].kind, SymbolKind::Alias(_)));
}

#[test]
fn reflect() {
    let text = |flag: u32| {
        format!(
            "@ftz = private constant [11 x i8] c\"__CUDA_FTZ\\00\"\n\
             @arch = private addrspace(4) constant [12 x i8] c\"__CUDA_ARCH\\00\"\n\
             @sqrt = private constant [17 x i8] c\"__CUDA_PREC_SQRT\\00\"\n\
             @what = private constant [8 x i8] c\"unknown\\00\"\n\
             declare i32 @__nvvm_reflect(ptr)\n\
             declare i32 @llvm.nvvm.reflect.p4(ptr addrspace(4))\n\
             declare ptr @llvm.nvvm.ptr.constant.to.gen.p0.p4(ptr addrspace(4))\n\
             define i32 @f() {{ %r = call i32 @__nvvm_reflect(ptr getelementptr inbounds ([11 x i8], ptr @ftz, i32 0, i32 0)) ret i32 %r }}\n\
             define i32 @a() {{ %r = call i32 @__nvvm_reflect(ptr addrspacecast (ptr addrspace(4) @arch to ptr)) ret i32 %r }}\n\
             define i32 @b() {{ %r = call i32 @llvm.nvvm.reflect.p4(ptr addrspace(4) @arch) ret i32 %r }}\n\
             define i32 @c() {{ %p = call ptr @llvm.nvvm.ptr.constant.to.gen.p0.p4(ptr addrspace(4) @arch) %r = call i32 @__nvvm_reflect(ptr %p) ret i32 %r }}\n\
             define i32 @s() {{ %r = call i32 @__nvvm_reflect(ptr @sqrt) ret i32 %r }}\n\
             define i32 @u() {{ %r = call i32 @__nvvm_reflect(ptr @what) ret i32 %r }}\n\
             define i32 @p(ptr %q) {{ %r = call i32 @__nvvm_reflect(ptr %q) ret i32 %r }}\n\
             !llvm.module.flags = !{{!0}}\n!0 = !{{i32 4, !\"nvvm-reflect-ftz\", i32 {flag}}}"
        )
    };
    let answers = |flag: u32, reflect: Reflect| {
        let mut module = module("m", &text(flag));
        assert_eq!(resolve_reflect(&mut module, &reflect), 6, "the call with a pointer that is not known stays");
        verify(&module).unwrap();
        ["f", "a", "b", "c", "s", "u"].map(|name| returned(&module, name))
    };
    assert_eq!(answers(0, Reflect::new(80)), [0, 800, 800, 800, 1, 0]);
    assert_eq!(answers(1, Reflect { prec_sqrt: false, ..Reflect::new(90) }), [1, 900, 900, 900, 0, 0]);
    assert_eq!(answers(1, Reflect { ftz: Some(false), ..Reflect::new(75) })[0], 0);
}

#[test]
fn unused_things_are_dropped() {
    let mut module = module(
        "m",
        "@used = internal global i32 0\n@unused = internal global ptr @only_from_unused\n\
         @kept = internal global i32 1\n@llvm.used = appending global [1 x ptr] [ptr @kept], section \"llvm.metadata\"\n\
         declare void @called()\ndeclare void @never()\n\
         define internal void @only_from_unused() { call void @never() ret void }\n\
         define linkonce_odr void @once() { ret void }\n\
         define weak void @weak() { ret void }\n\
         define ptx_kernel void @kernel() { store i32 1, ptr @used call void @called() ret void }\n\
         !nvvm.annotations = !{!0, !1}\n!0 = !{ptr @kernel, !\"a\", i32 1}\n!1 = !{ptr @once, !\"b\", i32 1}",
    );
    assert_eq!(strip_unused(&mut module), 4);
    verify(&module).unwrap();
    let mut names: Vec<&str> = module.symbols.values().map(|symbol| &*symbol.name).collect();
    names.sort_unstable();
    assert_eq!(names, ["called", "kept", "kernel", "llvm.used", "used", "weak"]);
    assert_eq!(module.metadata.named("nvvm.annotations").count(), 1);
    let before = canonical::lines(&module);
    assert_eq!(strip_unused(&mut module), 0);
    assert_eq!(canonical::lines(&module), before);
}
