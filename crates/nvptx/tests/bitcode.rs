//! Bitcode made by LLVM, against what its source says.

use crate::canonical;

use oriole_nvptx::bitcode::{LazyModule, read};
use oriole_nvptx::ir::{
    BinaryOp, Callee, CallingConvention, Constant, InstFlags, Linkage, Meta, MetaField, Module, Op, Ordering, RmwOp,
    Subnormals, SyncScope, Type, TypeId,
};

const OPAQUE: &[u8] = include_bytes!("data/bitcode/opaque.bc");
const TYPED: &[u8] = include_bytes!("data/bitcode/typed.bc");
const LLVM_23: &[u8] = include_bytes!("data/bitcode/llvm23.bc");

fn init<'a>(module: &'a Module, name: &str) -> &'a Constant {
    let variable = module.symbols[module.symbol(name).unwrap()].variable().unwrap();
    &module.constants[variable.init.unwrap()]
}

/// The instructions of a function, in order.
fn ops<'a>(module: &'a Module, name: &str) -> Vec<&'a Op> {
    let body = module.symbols[module.symbol(name).unwrap()].function().unwrap().body.as_deref().unwrap();
    body.insts_in_order().map(|(_, inst)| &body[inst].op).collect()
}

/// LLVM's assembler and our reader of bitcode, against our reader of the text that the assembler got.
#[test]
fn both_readers_agree() {
    for (text, bitcode) in [
        (include_str!("data/bitcode/opaque.ll"), OPAQUE),
        (include_str!("data/bitcode/typed.ll"), TYPED),
        (include_str!("data/bitcode/llvm23.ll"), LLVM_23),
    ] {
        let from_text = oriole_nvptx::text::parse(text, "text").unwrap();
        let from_bitcode = read(bitcode, "bitcode").unwrap();
        assert_eq!(canonical::lines(&from_bitcode), canonical::lines(&from_text));
    }
}

/// LLVM 23 writes these modes; its back end flushes subnormals in the first function.
#[test]
fn denormal_fpenv_of_bitcode() {
    let module = read(LLVM_23, "llvm23.bc").unwrap();
    let subnormals = |name| module.symbols[module.symbol(name).unwrap()].function().unwrap().subnormals();
    assert_eq!(subnormals("flushed"), Subnormals::Flushed);
    assert_eq!(subnormals("of_caller"), Subnormals::OfCaller);
    assert_eq!(subnormals("address"), Subnormals::Kept);
    assert!(module.warnings.is_empty());
}

#[test]
fn module_level() {
    let module = read(OPAQUE, "opaque.bc").unwrap();
    assert_eq!(module.name, "opaque.cu");
    assert_eq!(module.triple, "nvptx64-nvidia-cuda");
    assert_eq!(
        module.asm.iter().map(|line| &**line).collect::<Vec<_>>(),
        [".extern .func first", ".extern .func second"]
    );
    assert_eq!(init(&module, "wide"), &Constant::Int(TypeId::I128, 1 << 127 | 1));
    let Constant::Bytes(_, text) = init(&module, "text") else { panic!("no bytes") };
    assert_eq!(&**text, b"a\"b\n\xC3\0");
    let Constant::Aggregate(_, floats) = init(&module, "floats") else { panic!("no aggregate") };
    let bits: Vec<&Constant> = floats.iter().map(|&item| &module.constants[item]).collect();
    let expected = [0x3F80_0000, 0x8000_0000, 0x7FC0_0000].map(|bits| Constant::Float(TypeId::FLOAT, bits));
    assert_eq!(bits, expected.iter().collect::<Vec<_>>());
    let zero = &module.symbols[module.symbol("zero").unwrap()];
    assert_eq!(zero.linkage, Linkage::Weak);
    assert!(zero.variable().unwrap().externally_initialized);
    assert_eq!(module.symbols[module.symbol("nested").unwrap()].section.as_deref(), Some("data"));
    assert!(module.symbols.values().all(|symbol| symbol.is_definition() == symbol.linkage_needs_definition()));
}

/// Whether the test's source defines a symbol.
trait Defined {
    fn linkage_needs_definition(&self) -> bool;
}

impl Defined for oriole_nvptx::ir::Symbol {
    fn linkage_needs_definition(&self) -> bool {
        !matches!(&*self.name, "llvm.nvvm.read.ptx.sreg.tid.x" | "vprintf" | "take" | "elsewhere")
    }
}

#[test]
fn instructions() {
    let module = read(OPAQUE, "opaque.bc").unwrap();
    let ops = ops(&module, "kernel");
    assert_eq!(ops.len(), 55);
    assert!(ops.iter().any(|op| matches!(op, Op::Binary(BinaryOp::FAdd, InstFlags::FAST, _))));
    assert!(ops.iter().any(|op| matches!(op, Op::Binary(BinaryOp::FMul, InstFlags::CONTRACT, _))));
    let shuffle = ops.iter().find_map(|op| if let Op::Shuffle(_, mask) = op { Some(&**mask) } else { None });
    assert_eq!(shuffle, Some(&[0, -1, 5, 7][..]));
    let rmw = ops.iter().filter_map(|op| match op {
        Op::AtomicRmw { op, scope, ordering, .. } => Some((*op, *scope, *ordering)),
        _ => None,
    });
    assert_eq!(
        rmw.collect::<Vec<_>>(),
        [(RmwOp::Add, SyncScope::Device, Ordering::Monotonic), (RmwOp::FAdd, SyncScope::System, Ordering::SeqCst),]
    );
    let asm = ops.iter().find_map(|op| match op {
        Op::Call(call) => match &call.callee {
            Callee::Asm(asm) => Some(asm),
            Callee::Value(_) => None,
        },
        _ => None,
    });
    let asm = asm.unwrap();
    assert_eq!((&*asm.text, &*asm.constraints), ("mov.b64 {$0, $1}, $2;", "=r,=r,l,~{memory}"));
    let Some(Op::Switch { cases, .. }) = ops.iter().find(|op| matches!(op, Op::Switch { .. })) else { panic!("none") };
    assert_eq!(cases.iter().map(|(value, _)| *value).collect::<Vec<_>>(), [0, 0xFFFF_FFFB, 0x7FFF_FFFF]);
}

#[test]
fn functions_and_metadata() {
    let module = read(OPAQUE, "opaque.bc").unwrap();
    let kernel = module.symbols[module.symbol("kernel").unwrap()].function().unwrap();
    assert_eq!(kernel.convention, CallingConvention::PtxKernel);
    assert_eq!(kernel.attributes.string("nvvm.maxntid"), Some("256"));
    assert_eq!(kernel.params[0].attributes.align, 16);
    let program = &module.metadata[kernel.debug.unwrap()];
    assert_eq!((program.text("name"), program.int("line")), (Some("kernel"), Some(10)));
    let body = kernel.body.as_deref().unwrap();
    let located = body.insts_in_order().filter_map(|(_, inst)| body[inst].loc.expand());
    let lines: Vec<_> = located.map(|node| module.metadata[node].int("line").unwrap()).collect();
    assert_eq!(lines, [12, 30, 30]);
    let annotation = module.metadata.named("nvvm.annotations").next().unwrap();
    let [MetaField::Constant(kernel), MetaField::String(key), MetaField::Constant(threads), MetaField::Node(node)] =
        module.metadata[annotation].operands()
    else {
        panic!("not the annotation that was written");
    };
    assert!(
        matches!(module.constants[*kernel], Constant::Symbol(_, symbol) if symbol == module.symbol("kernel").unwrap())
    );
    assert_eq!((&**key, module.constants.as_int(*threads)), ("maxntidx", Some(256)));
    assert_eq!(
        module.metadata[*node],
        Meta::Node(vec![MetaField::Node(*node), MetaField::Null, MetaField::String("self".into())])
    );
}

#[test]
fn typed_pointers() {
    let module = read(TYPED, "typed.bc").unwrap();
    let walk = module.symbols[module.symbol("walk").unwrap()].function().unwrap();
    let node = walk.params[0].attributes.by_val.unwrap();
    assert_eq!(module.types.text(node), "{ ptr, i32, ptr }");
    assert!(matches!(module.types[walk.params[2].ty], Type::Vector(TypeId::PTR, 2)));
    let sources: Vec<String> = ops(&module, "walk")
        .iter()
        .filter_map(|op| if let Op::Gep { source, .. } = op { Some(module.types.text(*source)) } else { None })
        .collect();
    let tree = "{ { ptr, i32, ptr }, [2 x ptr] }";
    assert_eq!(sources, ["{ ptr, i32, ptr }", tree, "{ ptr, i32, ptr }", "i32"]);
}

#[test]
fn bodies_are_read_on_demand() {
    let mut lazy = LazyModule::open(OPAQUE, "opaque.bc").unwrap();
    let helper = lazy.module().symbol("helper").unwrap();
    assert!(lazy.is_defined(helper));
    assert!(!lazy.module().symbols[helper].is_definition());
    lazy.materialize(helper).unwrap();
    assert_eq!(lazy.module().definitions().count(), 1);
    let body = lazy.module().symbols[helper].function().unwrap().body.as_deref().unwrap();
    let ret = Op::Ret(Some(body.params[0].into()));
    assert_eq!(body.insts_in_order().map(|(_, inst)| &body[inst].op).collect::<Vec<_>>(), [&ret]);
}

#[test]
fn wrapper_and_errors() {
    let mut wrapped = [0x0B17_C0DEu32, 0, 20, OPAQUE.len() as u32, 7].map(u32::to_le_bytes).concat();
    wrapped.extend(OPAQUE);
    wrapped.extend([0; 12]);
    assert_eq!(read(&wrapped, "w").unwrap().definitions().count(), 2);
    let error = read(b"hello, world", "hello.bc").unwrap_err();
    assert_eq!(error.to_string(), "hello.bc: bit 0: no bitcode: it must start with the bytes 42 43 C0 DE");
    let error = read(&OPAQUE[..OPAQUE.len() / 2], "half.bc").unwrap_err();
    assert!(error.to_string().contains("MODULE_BLOCK goes beyond what encloses it"), "{error}");
}

/// Walking such a type part by part would take for ever. Type `%tN` is made of 3 * 2^N - 1.
#[test]
fn a_type_of_too_many_parts() {
    let start = std::time::Instant::now();
    let error = read(include_bytes!("data/bitcode/wide-type.bc"), "wide.bc").unwrap_err();
    assert!(
        error.to_string().contains("TYPE_BLOCK STRUCT_NAMED: a type 16 levels deep, made of 98303 types"),
        "{error}"
    );
    assert!(start.elapsed().as_millis() < 1000);
}
