//! What single PTX instructions become: mnemonics, modifiers, guards, offsets.

use oriole_isa::{Arch, Field, Mem, MemSize, Opcode, Role};
use oriole_ori::{Function, FunctionKind, Inst, Module, OperandKind, SymbolKind};

const HEAD: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";
const KERNEL: &str = ".visible .entry k(.param .u64 in, .param .u32 n, .param .b8 small) {\n\
    .reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;\n";

/// Lowers a body of one kernel.
fn lower(body: &str, arch: Arch) -> Module {
    lower_module(&format!("{HEAD}{KERNEL}{body}\nret;\n}}\n"), arch)
}

fn lower_module(text: &str, arch: Arch) -> Module {
    let ast = oriole_ptx::load(text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let options = oriole_lower::Options { source: Some(("test.ptx", text)), ..oriole_lower::Options::new(arch) };
    let module = oriole_lower::lower(&ast, &options).unwrap_or_else(|errors| panic!("{errors:?}"));
    for function in module.functions.values() {
        oriole_ori::verify::verify(function, arch).unwrap_or_else(|errors| panic!("{}: {errors:?}", function.name()));
    }
    module
}

fn kernel(module: &Module) -> &Function {
    module.functions.values().find(|f| f.kind() == FunctionKind::Entry).expect("every test has a kernel")
}

fn insts(function: &Function) -> Vec<&Inst> {
    function.iter_insts().map(|(_, id)| &function[id]).collect()
}

/// The first instruction with this mnemonic in the kernel.
fn find(module: &Module, opcode: Opcode) -> Inst {
    let found = insts(kernel(module)).into_iter().find(|inst| inst.opcode == opcode);
    found.unwrap_or_else(|| panic!("no {}", opcode.name())).clone()
}

fn count(module: &Module, opcode: Opcode) -> usize {
    insts(kernel(module)).iter().filter(|inst| inst.opcode == opcode).count()
}

fn operand(inst: &Inst, role: Role) -> OperandKind {
    inst.operands[inst.opcode.position(role).expect("the opcode has the role")].kind()
}

#[test]
fn parameters_come_from_bank_0_in_each_targets_way() {
    let body = "ld.param.u32 %r0, [n]; st.global.u32 [%rd0], %r0;";
    let body = format!("ld.param.u64 %rd0, [in]; {body}");
    let old = lower(&body, Arch::Sm80);
    let constants: Vec<OperandKind> =
        insts(kernel(&old)).into_iter().filter(|i| i.opcode == Opcode::MOV).map(|i| operand(i, Role::B)).collect();
    // Offsets: CUDA's parameters begin at 0x160 on sm_80, at 0x210 on sm_90.
    let bank = |offset| OperandKind::Const { bank: 0, offset };
    assert_eq!(constants, [bank(0x160), bank(0x164), bank(0x168)]);
    let new = lower(&body, Arch::Sm90);
    let loads: Vec<OperandKind> =
        insts(kernel(&new)).into_iter().filter(|i| i.opcode == Opcode::LDC).map(|i| operand(i, Role::Bank)).collect();
    assert_eq!(loads, [bank(0x210), bank(0x218)]);
}

#[test]
fn loads_fold_offsets_and_keep_cache_hints() {
    let module = lower(
        "ld.param.u64 %rd0, [in]; ld.global.nc.L1::no_allocate.v4.u32 {%r0,%r1,%r2,%r3}, [%rd0+-16];",
        Arch::Sm80,
    );
    let load = find(&module, Opcode::LDG);
    assert_eq!(operand(&load, Role::Offset), OperandKind::Imm((-16i32) as u32, oriole_ori::ImmKind::Signed));
    assert_eq!((load.get(Field::MEM_SIZE), load.get(Field::MEM)), (MemSize::B128, Mem::CONSTANT));
    assert_eq!(load.get(Field::EVICT), oriole_isa::Evict::NA);
}

#[test]
fn far_offsets_are_added() {
    let module =
        lower("ld.param.u64 %rd0, [in]; ld.global.u32 %r0, [%rd0+8388608]; st.global.u32 [%rd0], %r0;", Arch::Sm80);
    assert_eq!(operand(&find(&module, Opcode::LDG), Role::Offset), OperandKind::Imm(0, oriole_ori::ImmKind::Signed));
    assert_eq!(count(&module, Opcode::IADD3), 2);
}

#[test]
fn narrow_loads_extend_as_their_type_says() {
    let sizes = [("u8", MemSize::U8), ("s8", MemSize::S8), ("b16", MemSize::U16), ("s16", MemSize::S16)];
    for (ty, size) in sizes {
        let module = lower(
            &format!("ld.param.u64 %rd0, [in]; ld.global.{ty} %r0, [%rd0]; st.global.u32 [%rd0], %r0;"),
            Arch::Sm90,
        );
        assert_eq!(find(&module, Opcode::LDG).get(Field::MEM_SIZE), size, "{ty}");
    }
}

#[test]
fn guards_stay_on_single_instructions() {
    let module = lower(
        "ld.param.u64 %rd0, [in]; ld.param.u32 %r0, [n]; setp.eq.u32 %p0, %r0, 7; @!%p0 st.global.u32 [%rd0+4], %r0;",
        Arch::Sm80,
    );
    let guard = find(&module, Opcode::STG).guard().expect("the store is guarded");
    assert!(guard.negated);
    assert_eq!(kernel(&module).layout().len(), 1);
}

#[test]
fn orderings_bring_fences() {
    let module = lower(
        "ld.param.u64 %rd0, [in]; ld.acquire.gpu.global.u32 %r0, [%rd0]; st.release.sys.global.u32 [%rd0], %r0;",
        Arch::Sm80,
    );
    assert_eq!(find(&module, Opcode::LDG).get(Field::MEM), Mem::STRONG_GPU);
    assert_eq!(find(&module, Opcode::STG).get(Field::MEM), Mem::STRONG_SYS);
    let kinds: Vec<&str> = insts(kernel(&module)).iter().map(|i| i.opcode.name()).collect();
    let tail = ["LDG", "CCTL", "MEMBAR", "ERRBAR", "STG", "EXIT"];
    assert_eq!(kinds[kinds.len() - tail.len()..], tail);
}

#[test]
fn shared_variables_lie_where_the_target_wants_them() {
    let body = ".shared .align 4 .b32 s[8]; ld.param.u32 %r0, [n]; st.shared.u32 [s+4], %r0;";
    let old = lower(body, Arch::Sm80);
    assert_eq!(operand(&find(&old, Opcode::STS), Role::Offset), OperandKind::Imm(4, oriole_ori::ImmKind::Signed));
    assert_eq!(kernel(&old).attributes().shared_bytes, 32);
    // On sm_90 the system has the first 1024 bytes, and byte 3 is the block's number in its cluster.
    let new = lower(body, Arch::Sm90);
    assert_eq!(operand(&find(&new, Opcode::STS), Role::Offset), OperandKind::Imm(0x404, oriole_ori::ImmKind::Signed));
    assert!(matches!(operand(&find(&new, Opcode::STS), Role::Base), OperandKind::Reg(..)));
}

#[test]
fn kernels_that_share_nothing_use_the_same_shared_bytes() {
    let kernel = |name: &str, variable: &str| {
        format!(".visible .entry {name}() {{ .reg .b32 %r; mov.u32 %r, 1; st.shared.u32 [{variable}], %r; ret; }}\n")
    };
    let text = format!(
        "{HEAD}.shared .align 4 .b8 a[100];\n.shared .align 4 .b8 b[200];\n{}{}",
        kernel("first", "a"),
        kernel("second", "b")
    );
    let module = lower_module(&text, Arch::Sm80);
    let bytes: Vec<u32> = module.functions.values().map(|f| f.attributes().shared_bytes).collect();
    assert_eq!(bytes, [100, 200]);
    let offsets: Vec<Option<u64>> = module
        .symbols
        .values()
        .filter_map(|s| match &s.kind {
            SymbolKind::Variable(variable) => Some(variable.offset),
            _ => None,
        })
        .collect();
    assert_eq!(offsets, [Some(0), Some(0)]);
}

#[test]
fn atomics_without_a_use_of_the_result_are_reductions() {
    let module = lower("ld.param.u64 %rd0, [in]; ld.param.u32 %r0, [n]; red.global.add.u32 [%rd0], %r0;", Arch::Sm90);
    assert_eq!(count(&module, Opcode::REDG), 1);
    let module = lower(
        "ld.param.u64 %rd0, [in]; ld.param.u32 %r0, [n]; atom.global.add.u32 %r1, [%rd0], %r0; st.global.u32 [%rd0], %r1;",
        Arch::Sm90,
    );
    assert_eq!(count(&module, Opcode::ATOMG), 1);
}

#[test]
fn shared_float_addition_is_a_loop() {
    let body = ".shared .align 4 .f32 s; mov.f32 %f0, 0f3F800000; atom.shared.add.f32 %f1, [s], %f0; \
                ld.param.u64 %rd0, [in]; st.global.f32 [%rd0], %f1;";
    let module = lower(body, Arch::Sm80);
    let function = kernel(&module);
    let swap = find(&module, Opcode::ATOMS);
    assert_eq!(swap.get(Field::ATOM_OP), oriole_isa::AtomOp::CAS);
    let loops = function.layout().iter().any(|block| function.succs(*block).contains(block));
    assert!(loops, "the swap is tried again");
}

/// Registers of the arguments and the results of a call; `others` stands between the function and the kernel.
fn call_registers(others: &str) -> [Vec<u16>; 2] {
    let text = format!(
        "{HEAD}.func (.param .b32 r) f(.param .b32 a, .param .b64 b) {{ .reg .b32 %a; .reg .b64 %b; \
         ld.param.b32 %a, [a]; ld.param.b64 %b, [b]; st.global.b32 [%b], %a; st.param.b32 [r], %a; ret; }}\n{others}\
         .visible .entry k(.param .u64 out) {{ .reg .b32 %x; .reg .b64 %o; ld.param.u64 %o, [out]; mov.u32 %x, 5;\n\
         {{ .param .b32 a0; .param .b64 a1; .param .b32 r0; st.param.b32 [a0], %x; st.param.b64 [a1], %o;\n\
         call (r0), f, (a0, a1); ld.param.b32 %x, [r0]; }}\n st.global.u32 [%o], %x; ret; }}\n"
    );
    let module = lower_module(&text, Arch::Sm80);
    let function = kernel(&module);
    let call = find(&module, Opcode::CALL);
    let site = &function[call.call.expand().expect("a call has a site")];
    let numbers = |list: &[oriole_ori::Operand]| -> Vec<u16> {
        list.iter().filter_map(|o| function.physical(*o).map(|(_, number, _)| number)).collect()
    };
    [numbers(&site.args), numbers(&site.results)]
}

#[test]
fn calls_follow_the_convention() {
    // a in R4, b in the next even pair R6:R7, the return address in R20:R21, the result in R4.
    let named = ".global .u64 table[1] = { f };\n";
    assert_eq!(call_registers(named), [vec![4, 6, 7, 20], vec![4]]);
    // Where nobody but its callers names the function, the return address has the next pair.
    assert_eq!(call_registers(""), [vec![4, 6, 7, 8], vec![4]]);
}

/// The messages of a module that does not lower.
fn errors(text: &str, arch: Arch) -> Vec<oriole_ptx::diag::Diagnostic> {
    let ast = oriole_ptx::load(text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let options = oriole_lower::Options { source: Some(("test.ptx", text)), ..oriole_lower::Options::new(arch) };
    oriole_lower::lower(&ast, &options).expect_err("it does not lower")
}

#[test]
fn every_unsupported_instruction_is_named_with_its_place() {
    let text = format!(
        "{}{KERNEL}tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 {{%r0, %r1}}, %r2, [%r3];\nmov.u32 %r0, 1;\n\
         tcgen05.ld.red.sync.aligned.32x32b.x2.max.f32 {{%f0, %f1}}, %f2, [%r3];\nret;\n}}\n",
        HEAD.replace("sm_90", "sm_103a")
    );
    let found = errors(&text, Arch::Sm100);
    let messages: Vec<&str> = found.iter().map(|d| d.message.as_str()).collect();
    let names = ["tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32", "tcgen05.ld.red.sync.aligned.32x32b.x2.max.f32"];
    assert_eq!(messages, names.map(|name| format!("the instruction '{name}' is not supported")));
    assert_eq!(&text[found[0].span.range()], names[0]);
}

#[test]
fn external_functions_are_refused_by_name() {
    let text = format!(
        "{HEAD}.extern .func helper();\n.visible .entry k() {{ call helper; ret; }}\n.visible .entry k2() {{ ret; }}\n"
    );
    let found = errors(&text, Arch::Sm90);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].message, "the external function 'helper' is not supported");
    assert!(found[0].help.as_deref().is_some_and(|help| help.contains("vprintf")));
}

#[test]
fn a_wanted_kernel_that_is_missing_lists_the_others() {
    let text = format!("{HEAD}.visible .entry one() {{ ret; }}\n.visible .entry two() {{ ret; }}\n");
    let ast = oriole_ptx::load(&text).unwrap_or_else(|errors| panic!("{errors:?}"));
    let entries = ["three".to_owned()];
    let options = oriole_lower::Options { entries: Some(&entries), ..oriole_lower::Options::new(Arch::Sm80) };
    let found = oriole_lower::lower(&ast, &options).expect_err("there is no such kernel");
    assert_eq!(found[0].message, "no kernel 'three' in this module");
    assert_eq!(found[0].help.as_deref(), Some("kernels: one two"));
}

/// Equal targets are one branch, a few are searched, two are told by bits, many have a table, as long as there is room in bank 2.
#[test]
fn jumps_by_index_have_their_forms() {
    let forms = |targets: Vec<String>, arms: usize| {
        let (list, last) = (targets.join(", "), arms - 1);
        let bodies: String = (0..=last).map(|n| format!("A{n}: st.global.u32 [%rd0], {n}; ret;\n")).collect();
        let text = format!(
            "ld.param.u64 %rd0, [in]; mov.u32 %r1, %tid.x;\nT: .branchtargets {list};\nbrx.idx %r1, T;\n{bodies}"
        );
        let module = lower(&text, Arch::Sm80);
        [Opcode::ISETP, Opcode::BRX].map(|opcode| count(&module, opcode))
    };
    let numbered = |count: usize| (0..count).map(|n| format!("A{n}")).collect::<Vec<_>>();
    // 45,000 comparisons took a minute.
    assert_eq!(forms(vec!["A0".to_owned(); 45_000], 1), [0, 0]);
    assert_eq!(forms(numbered(6), 6), [5, 0]);
    assert_eq!(forms((0..32).map(|n| format!("A{}", n & 1)).collect(), 2), [1, 0]);
    assert_eq!(forms((0..33).map(|n| format!("A{}", n & 1)).collect(), 2), [0, 1]);
    assert_eq!(forms(numbered(300), 300), [0, 1]);
    assert_eq!(forms(numbered(4_097), 4_097), [4_096, 0]);
}

/// Places far outside of what is declared: no sum wraps, and ptxas's places where it has some.
#[test]
fn far_offsets_lower() {
    for offset in [-4, 3, 65_532, 65_535, 70_000, i64::from(i32::MAX), i64::from(u32::MAX), i64::MAX, 1 - i64::MAX] {
        let body = format!(
            ".shared .u32 sh; .local .u32 lo;\nld.param.u64 %rd1, [in+{offset}]; ld.param.u32 %r1, [in+{offset}];\n\
             ld.shared.u32 %r2, [sh+{offset}]; st.global.u32 [%rd1+{offset}], %r2; st.local.u32 [lo+{offset}], %r1;\n\
             mov.u64 %rd2, lo+{offset}; ld.global.u32 %r3, g[{offset}]; st.global.u64 [%rd1], %rd2+{offset};"
        );
        lower_module(&format!("{HEAD}.global .u32 g[4];\n{KERNEL}{body}\nret;\n}}\n"), Arch::Sm80);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let cases = [
        (
            ".shared .align 4 .b8 s[50000];",
            "mov.u64 %rd0, s;",
            "'k' uses 50000 bytes of static shared memory, of 49152",
        ),
        (
            ".global .b32 g[4][1000000000000000][9] = {{}, {{7}}};",
            "mov.u64 %rd0, g;",
            "variables with initial values take more than 268435456 bytes",
        ),
        (
            ".visible .global .u8 a[4294967295] = {1};",
            "",
            "variables with initial values take more than 268435456 bytes",
        ),
        ("", ".local .b8 l[600000]; mov.u64 %rd0, l;", "local variables need more than 524288 bytes"),
    ];
    for (variables, body, message) in cases {
        let text = format!("{HEAD}{variables}\n{KERNEL}{body}\nret;\n}}\n");
        let found = errors(&text, Arch::Sm80);
        assert_eq!(found[0].message, message);
    }
}
