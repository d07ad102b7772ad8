//! What matrix instructions become: which SASS instruction, how many of them, in which registers.
//!
//! The expected instructions are what ptxas 13.0 makes of the same PTX (read with nvdisasm), the register
//! counts those of the fragments in the PTX manual.

use oriole_isa::{Arch, Field, Gsb, Opcode, Role};
use oriole_ori::{Function, FunctionKind, Inst, Module, Operand};

/// Lowers a kernel with this body.
fn lower(body: &str, arch: Arch) -> Result<Module, String> {
    // wgmma is of sm_90a only, and sm_90a has all of sm_90.
    let target = if arch == Arch::Sm90 { "sm_90a" } else { arch.name() };
    let text = format!(
        ".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k() {{\n.reg .b32 %r<50>, %m; .reg .f32 %f<50>; \
         .reg .f64 %d<40>; .reg .b64 %p;\n{body}\nret;\n}}\n"
    );
    let ast = oriole_ptx::load(&text).map_err(|errors| format!("{errors:?}"))?;
    let options = oriole_lower::Options::new(arch);
    oriole_lower::lower(&ast, &options).map_err(|errors| format!("{errors:?}"))
}

fn kernel(module: &Module) -> &Function {
    module.functions.values().find(|f| f.kind() == FunctionKind::Entry).expect("every test has a kernel")
}

/// The instructions of an opcode in the kernel.
fn all(function: &Function, opcode: Opcode) -> Vec<&Inst> {
    function.iter_insts().map(|(_, id)| &function[id]).filter(|inst| inst.opcode == opcode).collect()
}

fn operand(inst: &Inst, role: Role) -> Operand {
    inst.operands[inst.opcode.position(role).expect("the opcode has the role")]
}

/// Registers and alignment of an operand.
fn width(function: &Function, inst: &Inst, role: Role) -> (u8, u8) {
    let reg = operand(inst, role).as_whole_reg().expect("a whole register");
    (function[reg].components, function[reg].align)
}

/// `{%x0,%x1,…}`
fn list(prefix: &str, first: usize, count: usize) -> String {
    let names: Vec<String> = (first..first + count).map(|k| format!("{prefix}{k}")).collect();
    format!("{{{}}}", names.join(","))
}

/// The modifiers of a product, its registers of A, B and D (of 32 bits; doubles: of 64), the opcode.
type Row = (&'static str, &'static str, [usize; 3], Opcode, &'static [Arch]);

const DIRECT: [Row; 10] = [
    ("m16n8k8.row.col.f16.f16.f16.f16", "%r", [2, 1, 2], Opcode::HMMA, &[Arch::Sm80, Arch::Sm86, Arch::Sm90]),
    ("m16n8k16.row.col.f16.f16.f16.f16", "%r", [4, 2, 2], Opcode::HMMA, &[Arch::Sm80, Arch::Sm86, Arch::Sm90]),
    ("m8n8k16.row.col.s32.u8.s8.s32", "%r", [1, 1, 2], Opcode::IMMA, &[Arch::Sm80, Arch::Sm86, Arch::Sm90]),
    ("m16n8k32.row.col.satfinite.s32.s8.s8.s32", "%r", [4, 2, 4], Opcode::IMMA, &[Arch::Sm80, Arch::Sm90]),
    ("m16n8k64.row.col.s32.s4.u4.s32", "%r", [4, 2, 4], Opcode::IMMA, &[Arch::Sm80, Arch::Sm89]),
    ("m16n8k256.row.col.s32.b1.b1.s32.xor.popc", "%r", [4, 2, 4], Opcode::BMMA, &[Arch::Sm80, Arch::Sm86]),
    ("m16n8k256.row.col.s32.b1.b1.s32.and.popc", "%r", [4, 2, 4], Opcode::BMMA, &[Arch::Sm80, Arch::Sm90]),
    ("m16n8k32.row.col.f16.e4m3.e5m2.f16", "%r", [4, 2, 2], Opcode::QMMA, &[Arch::Sm89]),
    ("m8n8k4.row.col.f64.f64.f64.f64", "%d", [1, 1, 2], Opcode::DMMA, &[Arch::Sm80, Arch::Sm90]),
    ("m16n8k16.row.col.f64.f64.f64.f64", "%d", [8, 4, 4], Opcode::DMMA, &[Arch::Sm90]),
];

#[test]
fn a_product_that_the_target_has_is_one_instruction() {
    for (form, prefix, [a, b, d], opcode, targets) in DIRECT {
        for arch in targets {
            let (first, second, third) = (list(prefix, 0, a), list(prefix, 10, b), list(prefix, 20, d));
            let body = format!("mma.sync.aligned.{form} {third}, {first}, {second}, {third};");
            let module = lower(&body, *arch).unwrap_or_else(|error| panic!("{form} on {arch}: {error}"));
            let function = kernel(&module);
            let found = all(function, opcode);
            assert_eq!(found.len(), 1, "{form} on {arch}");
            let words = if prefix == "%d" { 2 } else { 1 };
            for (role, count) in [(Role::A, a), (Role::B, b), (Role::C, d), (Role::D, d)] {
                let count = (count * words) as u8;
                assert_eq!(width(function, found[0], role), (count, count.min(8)), "{role:?} of {form} on {arch}");
            }
        }
    }
}

#[test]
fn products_that_the_target_lacks_are_made_of_others() {
    let four = [list("%r", 0, 2), list("%r", 10, 1), list("%r", 20, 4)];
    let [a, b, d] = &four;
    // Elements of 4 bits: lower and upper halves of bytes; bits that differ: set here or there.
    let nibbles = format!("mma.sync.aligned.m16n8k32.row.col.s32.u4.u4.s32 {d}, {a}, {b}, {d};");
    let module = lower(&nibbles, Arch::Sm90).expect("lowers");
    assert_eq!(all(kernel(&module), Opcode::IMMA).len(), 2);
    let bits = format!("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.xor.popc {d}, {a}, {b}, {d};");
    let module = lower(&bits, Arch::Sm90).expect("lowers");
    assert_eq!(all(kernel(&module), Opcode::BMMA).len(), 2);
    // Floats of 8 bits: halves, and C is added in the end.
    let d = list("%f", 20, 4);
    let narrow = format!("mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e4m3.f32 {d}, {a}, {b}, {d};");
    let module = lower(&narrow, Arch::Sm90).expect("lowers");
    let function = kernel(&module);
    let products = all(function, Opcode::HMMA);
    assert_eq!(products.len(), 2);
    assert!(operand(products[0], Role::C).is_zero());
    assert_eq!(all(function, Opcode::FADD).len(), 4);
}

#[test]
fn sparse_products_name_metadata_and_selector() {
    let body = format!(
        "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {d}, %m, 0x1;",
        a = list("%r", 0, 4),
        b = list("%r", 10, 4),
        d = list("%f", 0, 4)
    );
    let module = lower(&body, Arch::Sm80).expect("lowers");
    let function = kernel(&module);
    let found = all(function, Opcode::HMMA);
    assert_eq!(found.len(), 1);
    assert_eq!(operand(found[0], Role::MetaId).as_imm(), Some(1));
    assert!(operand(found[0], Role::Meta).as_whole_reg().is_some());
}

#[test]
fn fragments_of_the_wrong_size_are_errors_that_name_the_count() {
    let body = "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r0,%r1}, {%r2,%r3}, {%r4,%r5}, {%r0,%r1};";
    let error = lower(body, Arch::Sm80).expect_err("A has four registers");
    assert!(error.contains("has 2 elements") && error.contains('4'), "{error}");
}

#[test]
fn matrices_move_by_ldsm_stsm_and_movm() {
    let body = "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r0,%r1,%r2,%r3}, [%m+64];\n\
                movmatrix.sync.aligned.m8n8.trans.b16 %r4, %r0;\n\
                stmatrix.sync.aligned.m8n8.x2.shared.b16 [%m], {%r4,%r3};";
    let module = lower(body, Arch::Sm90).expect("lowers");
    let function = kernel(&module);
    let (load, store) = (all(function, Opcode::LDSM), all(function, Opcode::STSM));
    assert_eq!((load.len(), store.len(), all(function, Opcode::MOVM).len()), (1, 1, 1));
    assert_eq!(width(function, load[0], Role::D), (4, 4));
    assert_eq!(width(function, store[0], Role::Data), (2, 2));
    assert!(lower(body, Arch::Sm80).is_err_and(|error| error.contains("stmatrix")));
}

#[test]
fn wmma_goes_tile_by_tile_of_sixteen_by_eight() {
    // Shape and types; registers of A, B, C and D; the instruction and how many ptxas takes.
    let forms = [
        ("m16n16k16.f16.f16", "%r", [8, 8, 4, 4], Opcode::HMMA, 2),
        ("m32n8k16.f32.f32", "%f", [8, 8, 8, 8], Opcode::HMMA, 2),
        ("m8n32k16.f32.bf16.bf16.f32", "%f", [2, 8, 8, 8], Opcode::HMMA, 2),
        ("m16n16k8.f32.tf32.tf32.f32", "%f", [4, 4, 8, 8], Opcode::HMMA, 4),
        ("m16n16k16.s32.s8.s8.s32", "%r", [2, 2, 8, 8], Opcode::IMMA, 2),
    ];
    for (form, sums, [a, b, c, d], opcode, count) in forms {
        let body = format!(
            "wmma.mma.sync.aligned.row.col.{form} {}, {}, {}, {};",
            list(sums, 30, d),
            list("%r", 0, a),
            list("%r", 10, b),
            list(sums, 20, c),
        );
        let module = lower(&body, Arch::Sm80).unwrap_or_else(|error| panic!("{form}: {error}"));
        assert_eq!(all(kernel(&module), opcode).len(), count, "{form}");
    }
}

#[test]
fn wmma_moves_pairs_along_lines_and_transposes_across_them() {
    let load = |layout: &str| {
        format!("wmma.load.a.sync.aligned.{layout}.m16n16k16.global.f16 {}, [%p], 32;", list("%r", 0, 8))
    };
    for (layout, transpositions) in [("row", 0), ("col", 4)] {
        let module = lower(&load(layout), Arch::Sm80).expect("lowers");
        let function = kernel(&module);
        assert_eq!(all(function, Opcode::LDG).len(), 4, "{layout}");
        assert_eq!(all(function, Opcode::MOVM).len(), transpositions, "{layout}");
    }
    // Bytes across the lines are loaded one by one, singles along them in pairs.
    let bytes = "wmma.load.a.sync.aligned.col.m16n16k16.global.s8 {%r0,%r1}, [%p], 32;";
    let module = lower(bytes, Arch::Sm80).expect("lowers");
    assert_eq!(all(kernel(&module), Opcode::LDG).len(), 8);
    let store = format!("wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%m], {}, 16;", list("%f", 0, 8));
    let module = lower(&store, Arch::Sm80).expect("lowers");
    assert_eq!(all(kernel(&module), Opcode::STS).len(), 4);
}

#[test]
fn a_warpgroup_product_works_in_one_run_of_registers_and_ends_its_group() {
    // D of 64 x 256 singles: 128 registers of each thread.
    let body = format!(
        ".reg .f32 %g<128>; .reg .b64 %q; .reg .pred %x; setp.ne.u32 %x, %m, 0;\n\
         wgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {sums}, %p, %q, %x, 1, -1, 0, 1;\n\
         wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
        sums = list("%g", 0, 128)
    );
    let module = lower(&body, Arch::Sm90).expect("lowers");
    let function = kernel(&module);
    let found = all(function, Opcode::HGMMA);
    assert_eq!(found.len(), 1);
    assert_eq!(width(function, found[0], Role::D), (128, 8));
    assert_eq!(operand(found[0], Role::C), operand(found[0], Role::D));
    assert_eq!(width(function, found[0], Role::Desc), (4, 4));
    assert_eq!((found[0].get(Field::GMMA_NEG_B), found[0].get(Field::GMMA_TNSP_A)), (true, false));
    assert!(found[0].get(Field::GMMA_TNSP_B));
    assert_eq!(found[0].get(Field::GSB), Gsb::GSB0);
    // Whether C counts comes from a predicate of the thread; fence and wait are where the program has them.
    assert_eq!(all(function, Opcode::VOTEU).len(), 1);
    let order: Vec<Opcode> = function
        .iter_insts()
        .map(|(_, id)| function[id].opcode)
        .filter(|opcode| matches!(*opcode, Opcode::HGMMA | Opcode::WARPGROUP))
        .collect();
    let at = order.iter().position(|opcode| *opcode == Opcode::HGMMA).expect("it is there");
    assert_eq!(&order[at - 1..=at + 1], [Opcode::WARPGROUP, Opcode::HGMMA, Opcode::WARPGROUP]);
}
