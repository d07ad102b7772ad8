//! Forms of text, one by one: what they are read as.

use oriole_nvptx::ir::{
    Attachment, CallingConvention, ConstExpr, Constant, FnFlags, Linkage, MemoryEffects, Meta, MetaField, Module, Op,
    ParamFlags, Type, TypeId,
};
use oriole_nvptx::text::print;

use super::module;

/// The initial value of the variable `@x` in a text.
fn init(text: &str) -> (Module, Constant) {
    let module = module(text);
    let symbol = &module.symbols[module.symbol("x").expect("the text has `@x`")];
    let init = symbol.variable().and_then(|variable| variable.init).expect("the text gives it a value");
    let constant = module.constants[init].clone();
    (module, constant)
}

#[test]
fn numbers() {
    // Width and zero-extended value, or the bits, computed by hand from the formats' definitions.
    let cases: &[(&str, Constant)] = &[
        ("i32 -1", Constant::Int(TypeId::I32, 0xFFFF_FFFF)),
        ("i8 255", Constant::Int(TypeId::I8, 255)),
        ("i1 true", Constant::Int(TypeId::I1, 1)),
        ("i1 -1", Constant::Int(TypeId::I1, 1)),
        ("i128 -170141183460469231731687303715884105728", Constant::Int(TypeId::I128, 1 << 127)),
        ("i128 340282366920938463463374607431768211455", Constant::Int(TypeId::I128, u128::MAX)),
        ("i16 u0xFFFF", Constant::Int(TypeId::I16, 0xFFFF)),
        ("i16 s0xFF", Constant::Int(TypeId::I16, 0xFFFF)),
        ("i16 s0x7F", Constant::Int(TypeId::I16, 0x7F)),
        ("float 1.000000e+00", Constant::Float(TypeId::FLOAT, 0x3F80_0000)),
        ("float -0.0", Constant::Float(TypeId::FLOAT, 0x8000_0000)),
        ("float 0x36A0000000000000", Constant::Float(TypeId::FLOAT, 1)),
        ("float 0x7FF0000020000000", Constant::Float(TypeId::FLOAT, 0x7F80_0001)),
        ("float 0xFFF8000000000000", Constant::Float(TypeId::FLOAT, 0xFFC0_0000)),
        ("double 1.000000e-01", Constant::Float(TypeId::DOUBLE, 0x3FB9_9999_9999_999A)),
        ("double 0x7FF0000000000001", Constant::Float(TypeId::DOUBLE, 0x7FF0_0000_0000_0001)),
        ("half 0xH3C00", Constant::Float(TypeId::HALF, 0x3C00)),
        ("half 1.5", Constant::Float(TypeId::HALF, 0x3E00)),
        ("bfloat 0xR3F80", Constant::Float(TypeId::BFLOAT, 0x3F80)),
        ("bfloat 1.5", Constant::Float(TypeId::BFLOAT, 0x3FC0)),
        ("ptr null", Constant::Null(TypeId::PTR)),
        ("i32* null", Constant::Null(TypeId::PTR)),
        ("i32 undef", Constant::Undef(TypeId::I32)),
        ("i32 poison", Constant::Poison(TypeId::I32)),
        ("i32 zeroinitializer", Constant::Int(TypeId::I32, 0)),
        ("float zeroinitializer", Constant::Float(TypeId::FLOAT, 0)),
    ];
    for (text, wanted) in cases {
        assert_eq!(init(&format!("@x = global {text}")).1, *wanted, "{text}");
    }
}

#[test]
fn expressions_fold() {
    let cases: &[(&str, Constant)] = &[
        ("i8 add (i8 200, i8 100)", Constant::Int(TypeId::I8, 44)),
        ("i8 sub nsw (i8 1, i8 2)", Constant::Int(TypeId::I8, 255)),
        ("i8 mul (i8 16, i8 17)", Constant::Int(TypeId::I8, 16)),
        ("i8 udiv (i8 -1, i8 2)", Constant::Int(TypeId::I8, 127)),
        ("i8 sdiv exact (i8 -8, i8 2)", Constant::Int(TypeId::I8, 252)),
        ("i8 urem (i8 -1, i8 16)", Constant::Int(TypeId::I8, 15)),
        ("i8 srem (i8 -7, i8 4)", Constant::Int(TypeId::I8, 253)),
        ("i8 shl (i8 3, i8 7)", Constant::Int(TypeId::I8, 128)),
        ("i8 lshr (i8 -128, i8 7)", Constant::Int(TypeId::I8, 1)),
        ("i8 ashr (i8 -128, i8 7)", Constant::Int(TypeId::I8, 255)),
        ("i8 and (i8 12, i8 10)", Constant::Int(TypeId::I8, 8)),
        ("i8 or (i8 12, i8 10)", Constant::Int(TypeId::I8, 14)),
        ("i8 xor (i8 12, i8 10)", Constant::Int(TypeId::I8, 6)),
        ("i1 icmp slt (i8 -1, i8 0)", Constant::Int(TypeId::I1, 1)),
        ("i1 icmp ult (i8 -1, i8 0)", Constant::Int(TypeId::I1, 0)),
        ("i1 fcmp olt (float 1.0, float 2.0)", Constant::Int(TypeId::I1, 1)),
        ("i1 fcmp ueq (float 1.0, float 0x7FF8000000000000)", Constant::Int(TypeId::I1, 1)),
        ("i1 fcmp one (float 1.0, float 0x7FF8000000000000)", Constant::Int(TypeId::I1, 0)),
        ("float fadd (float 1.0, float 2.0)", Constant::Float(TypeId::FLOAT, 0x4040_0000)),
        ("half fdiv (half 1.0, half 3.0)", Constant::Float(TypeId::HALF, 0x3555)),
        ("float fneg (float 1.0)", Constant::Float(TypeId::FLOAT, 0xBF80_0000)),
        ("i32 select (i1 true, i32 1, i32 2)", Constant::Int(TypeId::I32, 1)),
        ("i64 sext (i8 -1 to i64)", Constant::Int(TypeId::I64, u128::from(u64::MAX))),
        ("i8 trunc (i32 511 to i8)", Constant::Int(TypeId::I8, 255)),
        ("float sitofp (i8 -1 to float)", Constant::Float(TypeId::FLOAT, 0xBF80_0000)),
        ("float uitofp (i8 -1 to float)", Constant::Float(TypeId::FLOAT, 0x437F_0000)),
        ("i8 fptosi (float -1.5 to i8)", Constant::Int(TypeId::I8, 255)),
        ("double fpext (float 1.5 to double)", Constant::Float(TypeId::DOUBLE, 0x3FF8_0000_0000_0000)),
        ("half fptrunc (double 0x3FB999999999999A to half)", Constant::Float(TypeId::HALF, 0x2E66)),
        ("i32 bitcast (float 1.0 to i32)", Constant::Int(TypeId::I32, 0x3F80_0000)),
        ("float bitcast (i32 1065353216 to float)", Constant::Float(TypeId::FLOAT, 0x3F80_0000)),
        ("i64 ptrtoint (ptr null to i64)", Constant::Int(TypeId::I64, 0)),
        ("ptr inttoptr (i64 0 to ptr)", Constant::Null(TypeId::PTR)),
        ("i32 extractelement (<2 x i32> <i32 7, i32 8>, i32 1)", Constant::Int(TypeId::I32, 8)),
        (
            "i32 extractvalue ({ i8, [2 x i32] } { i8 1, [2 x i32] [i32 7, i32 8] }, 1, 1)",
            Constant::Int(TypeId::I32, 8),
        ),
        (
            "i32 extractelement (<2 x i32> insertelement (<2 x i32> undef, i32 5, i32 0), i32 0)",
            Constant::Int(TypeId::I32, 5),
        ),
        (
            "i32 extractelement (<2 x i32> shufflevector (<2 x i32> <i32 1, i32 2>, <2 x i32> <i32 3, i32 4>, \
             <2 x i32> <i32 3, i32 0>), i32 0)",
            Constant::Int(TypeId::I32, 4),
        ),
        ("i32 extractvalue ({ i32 } insertvalue ({ i32 } undef, i32 5, 0), 0)", Constant::Int(TypeId::I32, 5)),
    ];
    for (text, wanted) in cases {
        assert_eq!(init(&format!("@x = global {text}")).1, *wanted, "{text}");
    }
}

#[test]
fn expressions_that_stay() {
    // Division by zero and shifts out of range have no value; addresses are not known yet.
    for text in [
        "i8 udiv (i8 1, i8 0)",
        "i8 srem (i8 1, i8 0)",
        "i8 sdiv (i8 -128, i8 -1)",
        "i8 shl (i8 1, i8 8)",
        "i64 ptrtoint (ptr @x to i64)",
        "i1 icmp eq (ptr @x, ptr null)",
        "ptr addrspace(1) addrspacecast (ptr @x to ptr addrspace(1))",
        "ptr getelementptr inbounds nuw inrange(-8, 8) (i8, ptr @x, i64 4)",
    ] {
        let (module, constant) = init(&format!("@x = global {text}"));
        assert!(matches!(constant, Constant::Expr(..)), "{text}: {constant:?}");
        let printed = print(&module);
        assert_eq!(print(&super::module(&printed)), printed, "{text}");
    }
}

#[test]
fn aggregates_take_their_shortest_form() {
    let (module, zero) = init("@x = global { i32, [2 x float] } { i32 0, [2 x float] zeroinitializer }");
    assert!(matches!(zero, Constant::Zero(_)));
    drop(module);
    assert!(matches!(init("@x = global <2 x i32> splat (i32 poison)").1, Constant::Poison(_)));
    assert!(matches!(init("@x = global [2 x i8] c\"\\00\\FF\"").1, Constant::Bytes(_, bytes) if *bytes == [0, 255]));
    let (_, vector) = init("@x = global <3 x i8> splat (i8 9)");
    assert!(matches!(vector, Constant::Aggregate(_, items) if items.len() == 3));
}

#[test]
fn typed_pointers() {
    let module = module(
        "%node = type { i32, %node*, void (%node*, ...)* }\n\
         define void @f(%node addrspace(1)* byval %s, i8* sret %r, %node** %t, [4 x %late*]* byval %u) { ret void }\n\
         %late = type { %node }\n",
    );
    let function = module.symbols[module.symbol("f").expect("it is there")].function().expect("a function");
    let types: Vec<String> = function.params.iter().map(|param| module.types.text(param.ty)).collect();
    assert_eq!(types, ["ptr addrspace(1)", "ptr", "ptr", "ptr"]);
    let by_val: Vec<Option<String>> =
        function.params.iter().map(|param| param.attributes.by_val.map(|ty| module.types.text(ty))).collect();
    assert_eq!(by_val, [Some("{ i32, ptr, ptr }".into()), None, None, Some("[4 x ptr]".into())]);
    assert_eq!(function.params[1].attributes.sret, Some(TypeId::I8));
}

#[test]
fn bit_casts_between_pointers_are_other_names() {
    let module = module(
        "define i8 @f(i32* %p) {\n  %q = bitcast i32* %p to i8*\n  %r = load i8, i8* %q\n  ret i8 %r\n}\n\
         define i8 @g(i1 %c) {\n  br label %a\nb:\n  %q = bitcast i32* %p to i8*\n  %r = load i8, i8* %q\n  ret i8 %r\n\
         a:\n  %p = inttoptr i64 64 to i32*\n  br label %b\n}\n",
    );
    let counts: Vec<usize> = module.definitions().map(|(.., body)| body.insts_in_order().count()).collect();
    // In `@g` the pointer is defined further on, so the cast stays.
    assert_eq!(counts, [2, 6]);
    assert!(print(&module).contains("load i8, ptr %p, align 1"));
}

#[test]
fn intrinsics_of_typed_pointers_are_renamed() {
    let module = module(
        "declare void @llvm.memcpy.p0i8.p1i8.i64(i8*, i8 addrspace(1)*, i64, i1)\n\
         define void @f(i8* %p, i8 addrspace(1)* %q) {\n\
           call void @llvm.memcpy.p0i8.p1i8.i64(i8* %p, i8 addrspace(1)* %q, i64 4, i1 false)\n  ret void\n}\n",
    );
    assert!(module.symbol("llvm.memcpy.p0.p1.i64").is_some());
    assert!(module.symbol("llvm.memcpy.p0i8.p1i8.i64").is_none());
}

#[test]
fn attributes() {
    let cases: &[(&str, MemoryEffects)] = &[
        ("readnone", MemoryEffects::None),
        ("readonly", MemoryEffects::Read),
        ("readonly argmemonly", MemoryEffects::ReadArgs),
        ("argmemonly readonly", MemoryEffects::ReadArgs),
        ("argmemonly", MemoryEffects::Args),
        ("inaccessiblememonly", MemoryEffects::Inaccessible),
        ("inaccessiblemem_or_argmemonly", MemoryEffects::Any),
        ("writeonly", MemoryEffects::Any),
        ("memory(none)", MemoryEffects::None),
        ("memory(read)", MemoryEffects::Read),
        ("memory(argmem: read)", MemoryEffects::ReadArgs),
        ("memory(argmem: readwrite)", MemoryEffects::Args),
        ("memory(argmem: write)", MemoryEffects::Args),
        ("memory(argmem: read, inaccessiblemem: read)", MemoryEffects::Read),
        ("memory(inaccessiblemem: readwrite)", MemoryEffects::Inaccessible),
        ("memory(argmem: none, inaccessiblemem: write)", MemoryEffects::Inaccessible),
        ("memory(readwrite, argmem: none)", MemoryEffects::Any),
        ("memory(write)", MemoryEffects::Any),
        ("memory(read, errnomem: write)", MemoryEffects::Any),
    ];
    for &(words, wanted) in cases {
        for text in
            [format!("declare void @f() {words}"), format!("declare void @f() #0\nattributes #0 = {{ {words} }}")]
        {
            let module = module(&text);
            let function = module.symbols[module.symbol("f").expect("it is there")].function().expect("a function");
            assert_eq!(function.attributes.memory, wanted, "{text}");
        }
    }
}

#[test]
fn heads_of_functions() {
    let module = module(
        "$c = comdat any\n\
         define weak_odr hidden dso_local cc71 noundef zeroext i8 @f(ptr nest noalias nocapture align 16 future(1, (2)) %p, i8 \
         signext returned %x, ...) local_unnamed_addr addrspace(0) #0 section \"s\" partition \"p\" comdat($c) align 32 \
         gc \"g\" prefix i32 1 prologue i8 2 personality ptr @f !dbg !0 !prof !{} {\n  ret i8 %x\n}\n\
         attributes #0 = { convergent unheard_of other(3) allockind(\"alloc,zeroed\") alignstack=8 \"a\"=\"b\" }\n\
         !0 = distinct !DISubprogram(name: \"f\")\n",
    );
    let symbol = &module.symbols[module.symbol("f").expect("it is there")];
    let function = symbol.function().expect("a function");
    assert_eq!((symbol.linkage, symbol.align, symbol.section.as_deref()), (Linkage::Weak, 32, Some("s")));
    assert_eq!(function.convention, CallingConvention::PtxKernel);
    assert_eq!(function.ret_attributes.param, ParamFlags::NO_UNDEF | ParamFlags::ZERO_EXT);
    assert_eq!(function.params[0].attributes.param, ParamFlags::NO_ALIAS | ParamFlags::NO_CAPTURE);
    assert_eq!(function.params[0].attributes.align, 16);
    assert_eq!(function.params[1].attributes.param, ParamFlags::SIGN_EXT | ParamFlags::RETURNED);
    assert!(function.varargs);
    assert_eq!(function.attributes.function, FnFlags::CONVERGENT);
    assert_eq!(function.attributes.stack_align, 8);
    assert_eq!(function.attributes.string("a"), Some("b"));
    assert_eq!(module.metadata[function.debug.expect("it has one")].text("name"), Some("f"));
}

#[test]
fn what_serves_debuggers_is_dropped() {
    let module = module(
        "define void @f(i32 %x) !dbg !1 {\n\
         entry:\n\
           #dbg_value(i32 %x, !2, !DIExpression(DW_OP_plus_uconst, 4), !3)\n\
           #dbg_label(!4, !3)\n\
           call void @llvm.dbg.value(metadata !DIArgList(i32 %x, i32 1), metadata !2, metadata !DIExpression()), !dbg !3\n\
           ret void, !dbg !3, !annotation !5\n}\n\
         declare void @llvm.dbg.value(metadata, metadata, metadata)\n\
         !1 = distinct !DISubprogram()\n!2 = !DILocalVariable()\n!3 = !DILocation(line: 7, column: 3, scope: !1)\n\
         !4 = !DILabel(name: \"l\")\n!5 = !{!\"auto-init\"}\n",
    );
    let (.., body) = module.definitions().next().expect("one function");
    let insts: Vec<_> = body.insts_in_order().map(|(_, inst)| inst).collect();
    assert_eq!(insts.len(), 1);
    let loc = body[insts[0]].loc.expect("a location");
    assert_eq!((module.metadata[loc].int("line"), module.metadata[loc].int("column")), (Some(7), Some(3)));
}

#[test]
fn metadata() {
    let module = module(
        "!named = !{!0, !DIExpression()}\n\
         !0 = distinct !{!0, !\"s\\22\", i32 -5, null, !{ptr @x}, metadata !1}\n\
         !1 = !DIDerivedType(tag: DW_TAG_member, size: 64, flags: DIFlagPublic | DIFlagVirtual, extraData: i64 3, \
         baseType: null, isLocal: true, name: \"n\", elements: !{!0})\n\
         @x = global i32 0, !dbg !1\n^0 = module: (path: \"a\", hash: (1, 2))\n^1 = flags: 8\n",
    );
    let nodes: Vec<_> = module.metadata.named("named").collect();
    assert!(module.metadata.distinct.contains(nodes[0]));
    let operands = module.metadata[nodes[0]].operands();
    assert_eq!(operands[0], MetaField::Node(nodes[0]));
    assert_eq!(operands[1], MetaField::String("s\"".into()));
    assert!(matches!(operands[2], MetaField::Constant(_)));
    assert_eq!(operands[3], MetaField::Null);
    assert_eq!(module.metadata[nodes[1]], Meta::Special("DIExpression".into(), vec![]));
    let special = module.metadata.nodes.values().find(|node| node.field("tag").is_some()).expect("it is there");
    assert_eq!(special.int("size"), Some(64));
    assert_eq!(special.field("flags"), Some(&MetaField::Word("DIFlagPublic | DIFlagVirtual".into())));
    assert_eq!(special.text("name"), Some("n"));
}

#[test]
fn attachments() {
    let module = module(
        "define i32 @f(ptr %p) {\n  %x = load i32, ptr %p, align 4, !range !{i32 0, i32 5}, !unknown !9, !tbaa !0\n  ret i32 %x\n}\n\
         !0 = !{}\n!9 = !{}\n",
    );
    let (.., body) = module.definitions().next().expect("one function");
    let (_, inst) = body.insts_in_order().next().expect("two instructions");
    assert!(body.attachment(inst, Attachment::Range).is_some());
    assert!(body.attachment(inst, Attachment::Tbaa).is_some());
    assert_eq!(body.attachments[&inst].len(), 2);
}

#[test]
fn addresses_of_blocks() {
    let module = module(
        "@before = global ptr blockaddress(@f, %b)\n\
         @number = global ptr blockaddress(@g, %1)\n\
         define void @f(ptr %p) {\n  store ptr blockaddress(@f, %c), ptr %p\n  br label %b\nb:\n  br label %c\nc:\n  ret void\n}\n\
         define void @g() {\n  br label %1\n1:\n  ret void\n}\n\
         @after = global ptr blockaddress(@f, %b)\n@later = global ptr blockaddress(@g, %1)\n",
    );
    let init = |name: &str| module.symbols[module.symbol(name).expect("it is there")].variable().and_then(|v| v.init);
    assert_eq!(init("before"), init("after"));
    assert_eq!(init("number"), init("later"));
    assert_ne!(init("before"), init("number"));
    let Some(Constant::BlockAddress(_, _, block)) = init("before").map(|id| module.constants[id].clone()) else {
        panic!("an address of a block")
    };
    let (_, _, _, body) = module.definitions().next().expect("two functions");
    assert_eq!(body.block_names.get(&block).map(|name| &**name), Some("b"));
}

#[test]
fn symbols_are_in_order_of_the_text() {
    let module = module("@a = global ptr @c\n@b = global ptr @d\n@c = global i32 0\ndeclare void @d()\n");
    let names: Vec<&str> = module.symbols.values().map(|symbol| &*symbol.name).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    for name in names {
        assert_eq!(&*module.symbols[module.symbol(name).expect("by name too")].name, name);
    }
    let init = module.symbols[module.symbol("b").expect("it is there")].variable().and_then(|v| v.init);
    let Constant::Symbol(_, target) = module.constants[init.expect("it has one")] else { panic!("an address") };
    assert_eq!(&*module.symbols[target].name, "d");
}

#[test]
fn names_and_numbers() {
    let module = module(
        "@\"a b\" = global i32 0\n@0 = private global i32 1\n\
         define i32 @f(i32, i32 %\"x\\22y\") {\n  %2 = add i32 %0, %\"x\\22y\"\n  br label %3\n3:\n  %\"5\" = add i32 %2, 1\n  \
         %10 = add i32 %\"5\", 1\n  br label %-odd.label$\n-odd.label$:\n  add i32 1, 2\n  ret i32 %10\n}\n\
         uselistorder ptr @\"a b\", { 1, 0 }\n",
    );
    assert!(module.symbol("a b").is_some() && module.symbol("__unnamed_0").is_some());
    let printed = print(&module);
    for text in ["@\"a b\" = ", "%\"x\\22y\"", "%\"5\" = add i32 %2, 1", "-odd.label$:"] {
        assert!(printed.contains(text), "no {text} in\n{printed}");
    }
}

#[test]
fn constants_of_expressions_keep_their_parts() {
    let (module, constant) = init("@x = global ptr getelementptr inbounds ([4 x i32], ptr @x, i64 0, i64 2)");
    let Constant::Expr(TypeId::PTR, expr) = constant else { panic!("an expression") };
    let ConstExpr::Gep { source, indices, .. } = *expr else { panic!("an address") };
    assert_eq!(module.types[source], Type::Array(TypeId::I32, 4));
    assert_eq!(indices.iter().map(|&id| module.constants.as_int(id)).collect::<Vec<_>>(), [Some(0), Some(2)]);
}

#[test]
fn default_alignments_are_those_of_the_layout() {
    let module = module(
        "target datalayout = \"e-i64:64-i128:128-v16:16-v32:32-n16:32:64\"\n\
         define void @f(ptr %p) {\n  %a = load i128, ptr %p\n  %b = load <3 x float>, ptr %p\n  %c = load [2 x i16], ptr %p\n  ret void\n}\n",
    );
    let (.., body) = module.definitions().next().expect("one function");
    let aligns: Vec<u32> = body
        .insts_in_order()
        .filter_map(|(_, inst)| match body[inst].op {
            Op::Load { align, .. } => Some(align),
            _ => None,
        })
        .collect();
    assert_eq!(aligns, [16, 16, 2]);
}
