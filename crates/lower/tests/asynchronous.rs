//! What asynchronous copies and mbarriers become.
//!
//! The expected instructions and modifiers are those of ptxas 13.0's code for the same PTX (read with nvdisasm).

use oriole_isa::{
    Arch, ArrivesCount, AtomOp, BulkType, CopyDst, CopySrc, Field, Im2col, Ltc, MemSize, Opcode, Role, Setting,
    SyncsCount, SyncsOp, SyncsResult, TensorDim, TmaCctl,
};
use oriole_ori::{Function, FunctionKind, Inst, Module};

/// Values for the registers that the bodies read.
const VALUES: &str = "mov.u64 %d0, 4096; mov.u16 %h0, 3; mov.u32 %r0, 0; mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r3, 3; \
    mov.u32 %r4, 4;\n";

/// Lowers a kernel with this body.
fn lower(body: &str, arch: Arch) -> Result<Module, String> {
    let text = format!(
        ".version 9.0\n.target {arch}\n.address_size 64\n.visible .entry k() {{\n.reg .b16 %h<4>; .reg .b32 %r<9>; \
         .reg .b64 %d<9>; .reg .pred %p<3>; .shared .align 128 .b8 s[1024]; .shared .align 8 .b64 m;\n{VALUES}{body}\nret;\n}}\n"
    );
    let ast = oriole_ptx::load(&text).map_err(|errors| format!("{errors:?}"))?;
    let options = oriole_lower::Options::new(arch);
    let module = oriole_lower::lower(&ast, &options).map_err(|errors| format!("{errors:?}"))?;
    for function in module.functions.values() {
        oriole_ori::verify::verify(function, arch).map_err(|errors| format!("{errors:?}"))?;
    }
    Ok(module)
}

fn kernel(module: &Module) -> &Function {
    module.functions.values().find(|f| f.kind() == FunctionKind::Entry).expect("every test has a kernel")
}

fn all(function: &Function, opcode: Opcode) -> Vec<&Inst> {
    function.iter_insts().map(|(_, id)| &function[id]).filter(|inst| inst.opcode == opcode).collect()
}

/// PTX, the instruction that it becomes, some of its modifiers.
type Row = (&'static str, Opcode, &'static [Setting]);

const SINCE_SM80: [Row; 6] = [
    (
        "cp.async.ca.shared.global [s], [%d0], 4;",
        Opcode::LDGSTS,
        &[Field::MEM_SIZE.is(MemSize::B32), Field::BYPASS.is(false)],
    ),
    (
        "cp.async.cg.shared.global.L2::256B [s], [%d0], 16;",
        Opcode::LDGSTS,
        &[
            Field::MEM_SIZE.is(MemSize::B128),
            Field::BYPASS.is(true),
            Field::LTC.is(Ltc::LTC256B),
            Field::ZFILL.is(false),
        ],
    ),
    ("cp.async.ca.shared.global [s], [%d0], 16, 4;", Opcode::LDGSTS, &[Field::ZFILL.is(true)]),
    ("cp.async.ca.shared.global [s], [%d0], 8, %r0;", Opcode::LDGSTS, &[Field::ZFILL.is(true)]),
    ("cp.async.commit_group;", Opcode::LDGDEPBAR, &[]),
    ("cp.async.wait_group 3;", Opcode::DEPBAR, &[]),
];

const ON_SM80: [Row; 3] = [
    ("mbarrier.init.shared.b64 [m], 32;", Opcode::STS, &[Field::MEM_SIZE.is(MemSize::B64)]),
    ("mbarrier.arrive.shared.b64 %d0, [m];", Opcode::ATOMS, &[Field::ATOM_OP.is(AtomOp::ARRIVE)]),
    ("cp.async.mbarrier.arrive.noinc.shared.b64 [m];", Opcode::ARRIVES, &[Field::ARRIVES_COUNT.is(ArrivesCount::BOTH)]),
];

const SINCE_SM90: [Row; 19] = [
    ("mbarrier.init.shared.b64 [m], 32;", Opcode::SYNCSU, &[]),
    ("mbarrier.arrive.shared.b64 %d0, [m];", Opcode::SYNCS, &[Field::SYNCS_COUNT.is(SyncsCount::A1T0)]),
    (
        "mbarrier.arrive_drop.shared.b64 %d0, [m], %r0;",
        Opcode::SYNCS,
        &[Field::SYNCS_COUNT.is(SyncsCount::ART0), Field::OPTOUT.is(true)],
    ),
    (
        "mbarrier.arrive.expect_tx.shared::cluster.b64 _, [m], 64;",
        Opcode::SYNCS,
        &[Field::SYNCS_COUNT.is(SyncsCount::A0T0), Field::SYNCS_RESULT.is(SyncsResult::RED)],
    ),
    (
        "mbarrier.complete_tx.shared.b64 [m], 16;",
        Opcode::SYNCS,
        &[Field::SYNCS_COUNT.is(SyncsCount::A0TX), Field::SYNCS_RESULT.is(SyncsResult::RED)],
    ),
    (
        "mbarrier.try_wait.parity.shared.b64 %p0, [m], 0;",
        Opcode::SYNCS,
        &[Field::SYNCS_OP.is(SyncsOp::PHASECHK), Field::TRYWAIT.is(true)],
    ),
    (
        "cp.async.mbarrier.arrive.noinc.shared.b64 [m];",
        Opcode::ARRIVES,
        &[Field::ARRIVES_COUNT.is(ArrivesCount::ARVCNT)],
    ),
    (
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%d0], 256, [m];",
        Opcode::UBLKCP,
        &[Field::COPY_DST.is(CopyDst::S), Field::COPY_SRC.is(CopySrc::G)],
    ),
    (
        "cp.async.bulk.global.shared::cta.bulk_group [%d0], [s], %r0;",
        Opcode::UBLKCP,
        &[Field::COPY_DST.is(CopyDst::G), Field::COPY_SRC.is(CopySrc::S)],
    ),
    ("cp.async.bulk.prefetch.L2.global [%d0], 64;", Opcode::UBLKPF, &[]),
    (
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%d0], [s], 64;",
        Opcode::UBLKRED,
        &[Field::ATOM_OP.is(AtomOp::ADD), Field::BULK_TYPE.is(BulkType::BF16)],
    ),
    ("cp.async.bulk.commit_group;", Opcode::UTMACMDFLUSH, &[]),
    (
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster \
         [s], [%d0, {%r0, %r1}], [m], %h0;",
        Opcode::UTMALDG,
        &[Field::TENSOR_DIM.is(TensorDim::D2), Field::MULTICAST.is(true), Field::IM2COL.is(Im2col::OFF)],
    ),
    (
        "cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group [%d0, {%r0, %r1, %r2}], [s];",
        Opcode::UTMASTG,
        &[Field::TENSOR_DIM.is(TensorDim::D3), Field::IM2COL.is(Im2col::ON)],
    ),
    (
        "cp.reduce.async.bulk.tensor.1d.global.shared::cta.max.bulk_group [%d0, {%r0}], [s];",
        Opcode::UTMAREDG,
        &[Field::ATOM_OP.is(AtomOp::MAX)],
    ),
    (
        "cp.async.bulk.prefetch.tensor.5d.L2.global.tile [%d0, {%r0, %r1, %r2, %r3, %r4}];",
        Opcode::UTMAPF,
        &[Field::TENSOR_DIM.is(TensorDim::D5)],
    ),
    ("prefetch.tensormap [%d0];", Opcode::UTMACCTL, &[Field::TMA_CCTL.is(TmaCctl::PF)]),
    ("fence.proxy.tensormap::generic.acquire.gpu [%d0], 128;", Opcode::UTMACCTL, &[Field::TMA_CCTL.is(TmaCctl::IV)]),
    (
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [s], {%r0, %r1}, [m];",
        Opcode::STAS,
        &[Field::MEM_SIZE.is(MemSize::B64)],
    ),
];

fn all_become(rows: &[Row], arch: Arch) {
    for (ptx, opcode, modifiers) in rows {
        let module = lower(ptx, arch).unwrap_or_else(|why| panic!("{ptx} on {arch}: {why}"));
        let found = all(kernel(&module), *opcode);
        let [inst, ..] = found.as_slice() else { panic!("{ptx} on {arch}: no {}", opcode.name()) };
        for setting in *modifiers {
            assert_eq!(inst.raw(setting.field()), setting.code(), "{ptx} on {arch}: {}", setting.field().name());
        }
    }
}

#[test]
fn copies_and_mbarriers_become_what_the_target_has() {
    all_become(&SINCE_SM80, Arch::Sm80);
    all_become(&SINCE_SM80, Arch::Sm90);
    all_become(&ON_SM80, Arch::Sm80);
    all_become(&SINCE_SM90, Arch::Sm90);
}

#[test]
fn what_the_target_lacks_is_an_error_that_names_it() {
    for (ptx, ..) in SINCE_SM90.iter().skip(7).filter(|(ptx, ..)| ptx.starts_with("cp.")) {
        let why = lower(ptx, Arch::Sm80).expect_err(ptx);
        assert!(why.contains("cp."), "{ptx}: {why}");
    }
}

#[test]
fn operands_of_the_copy_engine_lie_side_by_side() {
    // nvdisasm: UTMALDG.5D [UR8], [UR16] with the address in UR8, the mbarrier in UR9, coordinates in UR10–UR14.
    let ptx = "cp.async.bulk.tensor.5d.shared::cta.global.mbarrier::complete_tx::bytes \
               [s], [%d0, {%r0, %r1, %r2, %r3, %r4}], [m];";
    let module = lower(ptx, Arch::Sm90).expect("it lowers");
    let function = kernel(&module);
    let found = all(function, Opcode::UTMALDG);
    let inst = found.first().expect("a UTMALDG");
    let place = inst.opcode.position(Role::Dst).expect("it has a destination");
    let group = inst.operands[place].as_whole_reg().expect("a register");
    assert_eq!((function[group].components, function[group].align), (7, 8));
    let text = function.to_string();
    let again: Function = text.parse().expect("the text form of a group of uniform registers reads back");
    assert_eq!(again.to_string(), text);
}

#[test]
fn threads_take_turns_at_the_copy_engine() {
    // One election, and two branches around one copy: the body and the loop.
    let module = lower("cp.async.bulk.prefetch.L2.global [%d0], 64;", Arch::Sm90).expect("it lowers");
    let function = kernel(&module);
    assert_eq!(all(function, Opcode::ELECT).len(), 1);
    let guarded = all(function, Opcode::BRA).into_iter().filter(|inst| inst.guard().is_some()).count();
    assert_eq!((guarded, all(function, Opcode::UBLKPF).len()), (2, 1));
}
