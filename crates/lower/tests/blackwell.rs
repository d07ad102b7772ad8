//! What the instructions become that sm_100 and sm_120 add: tensor memory, tensor copies, the work of other blocks.
//!
//! The expected instructions and modifiers are those of ptxas 13.0's code for the same PTX (read with nvdisasm).

use oriole_isa::{
    ASpace, Arch, BBuffer, CpShape, CpUnpack, Field, Im2col, Opcode, Role, ScaleVec, Setting, SwsOp, TmNum, TmShape,
    WorkCast,
};
use oriole_ori::{Function, FunctionKind, Inst, Module};

/// Lowers a kernel with this body.
fn lower(body: &str, arch: Arch) -> Result<Module, String> {
    let names: Vec<String> = (0..128).map(|k| format!("%x{k}")).collect();
    let body = body.replace("X128", &names.join(",")).replace("X4", "%x0,%x1,%x2,%x3");
    let text = format!(
        ".version 9.0\n.target {arch}a\n.address_size 64\n.visible .entry k(.param .u64 in) {{\n.reg .b16 %h<4>;\n\
         .reg .b32 %r<9>, %x<128>; .reg .b64 %d<9>; .reg .pred %p<3>; .shared .align 128 .b8 s[1024];\n\
         .shared .align 8 .b64 m; ld.param.u64 %d0, [in]; ld.global.u64 %d1, [%d0]; ld.global.u64 %d2, [%d0+8];\n\
         ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%d0+16]; ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%d0+32];\n\
         setp.ne.b32 %p0, %r7, 0; cvt.u16.u32 %h0, %r6; mov.b16 %h1, %h0;\n{body}\nret;\n}}\n"
    );
    let ast = oriole_ptx::load(&text).map_err(|errors| format!("{errors:?}"))?;
    let options = oriole_lower::Options::new(arch);
    let module = oriole_lower::lower(&ast, &options).map_err(|errors| format!("{errors:?}"))?;
    for function in module.functions.values() {
        oriole_ori::verify::verify(function, arch).map_err(|errors| format!("{errors:?}"))?;
    }
    Ok(module)
}

fn all(module: &Module, opcode: Opcode) -> Vec<(&Function, &Inst)> {
    let kernel = module.functions.values().find(|f| f.kind() == FunctionKind::Entry).expect("every test has a kernel");
    let insts = kernel.iter_insts().map(|(_, id)| (kernel, &kernel[id]));
    insts.filter(|(_, inst)| inst.opcode == opcode).collect()
}

/// PTX, the instruction that it becomes, some of its modifiers.
type Row = (&'static str, Opcode, &'static [Setting]);

const TENSOR_MEMORY: [Row; 14] = [
    (
        "tcgen05.ld.sync.aligned.16x256b.x32.b32 {X128}, [%r0];",
        Opcode::LDTM,
        &[Field::TM_SHAPE.is(TmShape::DP16B256), Field::TM_NUM.is(TmNum::X32), Field::TM_PACK.is(false)],
    ),
    (
        "tcgen05.ld.sync.aligned.32x32b.x4.pack::16b.b32 {X4}, [%r0];",
        Opcode::LDTM,
        &[Field::TM_SHAPE.is(TmShape::DP32B32), Field::TM_NUM.is(TmNum::X4), Field::TM_PACK.is(true)],
    ),
    (
        "tcgen05.st.sync.aligned.16x128b.x2.unpack::16b.b32 [%r0], {%r0, %r1, %r2, %r3};",
        Opcode::STTM,
        &[Field::TM_SHAPE.is(TmShape::DP16B128), Field::TM_NUM.is(TmNum::X2), Field::TM_EXPAND.is(true)],
    ),
    ("tcgen05.wait::st.sync.aligned;", Opcode::FENCE, &[]),
    (
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], 64;",
        Opcode::UTCATOMSWS,
        &[Field::SWS_OP.is(SwsOp::FIND_AND_SET), Field::SWS_ALIGN.is(true), Field::CTA_PAIR.is(false)],
    ),
    (
        "tcgen05.alloc.cta_group::2.sync.aligned.b32 [%d1], %r1;",
        Opcode::UTCATOMSWS,
        &[Field::SWS_OP.is(SwsOp::FIND_AND_SET), Field::SWS_ALIGN.is(true), Field::CTA_PAIR.is(true)],
    ),
    (
        "tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r0, 32;",
        Opcode::UTCATOMSWS,
        &[Field::SWS_OP.is(SwsOp::AND), Field::CTA_PAIR.is(false)],
    ),
    ("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;", Opcode::UVIRTCOUNT, &[]),
    (
        "tcgen05.cp.cta_group::2.64x128b.warpx2::01_23.b8x16.b4x16_p64 [%r0], %d1;",
        Opcode::UTCCP,
        &[Field::CP_SHAPE.is(CpShape::DP64_01_23), Field::CP_UNPACK.is(CpUnpack::U4X16P64), Field::CTA_PAIR.is(true)],
    ),
    ("tcgen05.shift.cta_group::1.down [%r0];", Opcode::UTCSHIFT, &[Field::CTA_PAIR.is(false)]),
    (
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [m], %h0;",
        Opcode::UTCBAR,
        &[Field::MULTICAST.is(true)],
    ),
    (
        "tcgen05.mma.cta_group::2.kind::tf32.collector::a::use [%r0], [%r1], %d2, %r2, %p0, 3;",
        Opcode::UTCHMMA,
        &[Field::A_SPACE.is(ASpace::TMEM), Field::A_REUSE.is(true), Field::A_KEEP.is(true), Field::CTA_PAIR.is(true)],
    ),
    (
        "tcgen05.mma.ws.sp.cta_group::1.kind::i8.collector::b2::lastuse [%r0], %d1, %d2, [%r1], %r2, %p0;",
        Opcode::UTCIMMA,
        &[Field::WS.is(true), Field::B_REUSE.is(true), Field::B_KEEP.is(false), Field::B_BUFFER.is(BBuffer::BUFFER2)],
    ),
    (
        "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [%r0], %d1, %d2, %r2, [%r3], [%r4], %p0;",
        Opcode::UTCOMMA,
        &[Field::SCALE_VEC.is(ScaleVec::X4), Field::A_SPACE.is(ASpace::DESC)],
    ),
];

const COPIES: [Row; 5] = [
    (
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes.cta_group::2 \
         [s], [%d0, {%r0, %r1, %r2, %r3, %r4}], [m];",
        Opcode::UTMALDG,
        &[Field::IM2COL.is(Im2col::GATHER4), Field::CTA_PAIR.is(true)],
    ),
    (
        "cp.async.bulk.tensor.3d.shared::cta.global.im2col::w::128.mbarrier::complete_tx::bytes \
         [s], [%d0, {%r0, %r1, %r2}], [m], {%h0, %h1};",
        Opcode::UTMALDG,
        &[Field::IM2COL.is(Im2col::W128)],
    ),
    (
        "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%d0, {%r0, %r1, %r2, %r3, %r4}], [s];",
        Opcode::UTMASTG,
        &[Field::IM2COL.is(Im2col::SCATTER4)],
    ),
    (
        "cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [%d0, {%r0, %r1, %r2, %r3, %r4}];",
        Opcode::UTMAPF,
        &[Field::IM2COL.is(Im2col::GATHER4)],
    ),
    (
        "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 \
         [s], [m];",
        Opcode::UGETNEXTWORKID,
        &[Field::WORK_CAST.is(WorkCast::BROADCAST)],
    ),
];

#[test]
fn instructions_of_sm_100_are_those_of_ptxas() {
    for (ptx, opcode, fields) in TENSOR_MEMORY.iter().chain(&COPIES) {
        let module = lower(ptx, Arch::Sm100).unwrap_or_else(|error| panic!("{ptx}: {error}"));
        let found = all(&module, *opcode);
        let [(_, inst)] = found.as_slice() else { panic!("{ptx}: {} times {}", found.len(), opcode.name()) };
        for setting in *fields {
            let field = setting.field();
            let code = inst.mods.raw(field).unwrap_or(opcode.default_code(field));
            assert_eq!(code, setting.code(), "{ptx}: {field:?}");
        }
    }
}

#[test]
fn what_is_not_there_is_an_error_that_names_it() {
    let bodies = [
        ("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 32;", Arch::Sm90, "tcgen05.dealloc"),
        (
            "cp.async.bulk.tensor.3d.shared::cta.global.im2col::w::128.mbarrier::complete_tx::bytes \
             [s], [%d0, {%r0, %r1, %r2}], [m], {%h0, %h1};",
            Arch::Sm90,
            "im2col::w::128",
        ),
    ];
    for (body, arch, named) in bodies {
        let error = lower(body, arch).expect_err(body);
        assert!(error.contains(named), "{error}");
    }
}

#[test]
fn two_shapes_of_lanes_are_two_accesses() {
    let load = "tcgen05.ld.sync.aligned.16x32bx2.x4.b32 {X4}, [%r0], 16;";
    let module = lower(load, Arch::Sm100).expect("sm_100 has it");
    let shapes: Vec<_> = all(&module, Opcode::LDTM).iter().map(|(_, inst)| inst.mods.get(Field::TM_SHAPE)).collect();
    assert_eq!(shapes, [Some(TmShape::DP16B32_LOW), Some(TmShape::DP16B32_HIGH)]);
    // A row of tensor memory and a word of the descriptor: the operands are pairs of uniform registers.
    let product = "tcgen05.mma.sp.cta_group::1.kind::f16 [%r0], %d1, %d2, [%r1], %r2, %p0;";
    let module = lower(product, Arch::Sm100).expect("sm_100 has it");
    let found = all(&module, Opcode::UTCHMMA);
    for role in [Role::A, Role::B, Role::Meta] {
        let operand = found[0].1.operands[Opcode::UTCHMMA.position(role).expect("it has the role")];
        let register = operand.as_whole_reg().expect("a whole register");
        assert_eq!(found[0].0[register].components, 2, "{role:?}");
    }
}

/// Threads may choose scales differently: the product is then made for each choice, in the threads that made it.
#[test]
fn selectors_of_scales_in_registers_are_served_in_turn() {
    for (selectors, in_turn) in [("{1, 0}", false), ("{%h0, %h1}", true), ("{%h0, 0}", true)] {
        let product = format!(
            "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0 \
             {{%x0,%x1,%x2,%x3}}, {{%r0,%r1,%r2,%r3}}, {{%r4,%r5}}, {{%r0,%r1,%r2,%r3}}, %r6, {selectors}, %r7, {{0, 1}};"
        );
        let module = lower(&product, Arch::Sm120).unwrap_or_else(|error| panic!("{product}: {error}"));
        let found = all(&module, Opcode::QMMA_SF);
        let [(_, inst)] = found.as_slice() else { panic!("{product}: {} times", found.len()) };
        assert_eq!(inst.guard().is_some(), in_turn, "{selectors}");
        assert_eq!(all(&module, Opcode::R2UR).len(), usize::from(in_turn), "{selectors}");
    }
}
