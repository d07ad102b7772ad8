//! Pieces of syntax with the values that the PTX manual gives them.

use oriole_ptx::ast::{
    Imm, Instruction, Modifier, Module, Opcode, Operand, Rounding, ScalarType, Statement, SymbolTable,
};

fn body(text: &str) -> (Module, Vec<Instruction>) {
    let parsed = oriole_ptx::parse(&format!(".version 9.0\n.target sm_90\n.entry k() {{\n{text}\n}}\n"));
    assert!(parsed.errors.is_empty(), "{:?}", parsed.errors);
    let statements = &parsed.module.functions().next().unwrap().body.as_ref().unwrap().statements;
    let instructions = statements.iter().filter_map(|statement| match statement {
        Statement::Instruction(instruction) => Some((**instruction).clone()),
        _ => None,
    });
    let instructions = instructions.collect();
    (parsed.module, instructions)
}

fn value(expression: &str) -> Imm {
    let (_, instructions) = body(&format!("mov.b64 %rd1, {expression};"));
    match instructions[0].operands[1] {
        Operand::Imm(imm, _) => imm,
        ref other => panic!("{expression}: {other:?}"),
    }
}

#[test]
fn constants() {
    for (text, expected) in [
        ("017", Imm::S64(15)),
        ("0b101U", Imm::U64(5)),
        ("0x7fffffffffffffff", Imm::S64(i64::MAX)),
        ("0xffffffffffffffff", Imm::U64(u64::MAX)),
        ("-9223372036854775807 - 1", Imm::S64(i64::MIN)),
        ("0F3f800000", Imm::F32(1.0f32.to_bits())),
        ("-0d3FF0000000000000", Imm::F64((-1.0f64).to_bits())),
        ("1.5e-3", Imm::F64(1.5e-3f64.to_bits())),
        ("1e10", Imm::F64(1e10f64.to_bits())),
        ("2.", Imm::F64(2f64.to_bits())),
        ("WARP_SZ - 1", Imm::S64(31)),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

/// Precedence and types as in C; see "Constant Expressions" in the manual.
#[test]
fn expressions() {
    for (text, expected) in [
        ("1 + 2 * 3 - 4 / 2", Imm::S64(5)),
        ("10 - 4 - 3", Imm::S64(3)),
        ("1 << 4 | 0x30 & ~0x10", Imm::S64(0x30)),
        ("-(5 % 3)", Imm::S64(-2)),
        ("-7 / 2", Imm::S64(-3)),
        ("-1 < 0U", Imm::S64(0)),
        ("-1 < 0", Imm::S64(1)),
        ("3 > 2 ? 10 : 20", Imm::S64(10)),
        ("0 ? 1 : 0 ? 2 : 3", Imm::S64(3)),
        ("!5 || 0 && 1", Imm::S64(0)),
        ("-16 >> 2", Imm::S64(-4)),
        // Counts of shifts modulo 64, remainders of the unsigned values: ptxas's initial values.
        ("1 << 64", Imm::S64(1)),
        ("1 << -1", Imm::S64(i64::MIN)),
        ("-1 >> 64", Imm::S64(-1)),
        ("-7 % 3", Imm::S64(0)),
        ("7 % -3", Imm::S64(7)),
        ("-13 % 4U", Imm::U64(3)),
        ("(.u64)-1 >> 60", Imm::U64(15)),
        ("5 ^ 6 == 6", Imm::S64(4)),
        ("1.0 / 4", Imm::F64(0.25f64.to_bits())),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn accessors() {
    let (module, instructions) =
        body("cvt.rn.ftz.f32.s64 %f1, %rd1;\ncall (r), %rd1, (a, b), proto;\nsetp.lo.and.u32 %p1|_, %r1, %r2, !%p2;");
    assert_eq!(instructions[0].types().collect::<Vec<_>>(), [ScalarType::F32, ScalarType::S64]);
    let call = instructions[1].call().unwrap();
    assert_eq!((call.rets.len(), call.args.len()), (1, 2));
    assert_eq!(call.prototype.map(|name| module.text(name)), Some("proto"));
    assert_eq!(instructions[2].opcode, Opcode::Setp);
    assert_eq!(instructions[2].cmp().map(|cmp| cmp.as_str()), Some("lo"));
}

/// The line markers that a preprocessor leaves are passed over.
#[test]
fn line_markers() {
    let parsed = oriole_ptx::parse("# 1 \"a.cu\"\n.version 9.0\n#line 5 \"a.cu\"\n.target sm_90\n.global .b32 a;\n");
    assert!(parsed.errors.is_empty());
    assert_eq!(parsed.module.variables().count(), 1);
}

/// A declared register hides the special register of the same name.
#[test]
fn special_names() {
    let (_, instructions) = body("mov.u32 %r1, %clock; .reg .b32 %clock; mov.u32 %r1, %clock;");
    assert!(matches!(instructions[0].operands[1], Operand::Special { .. }));
    assert!(matches!(instructions[1].operands[1], Operand::Name(_)));
}

/// An opcode with its modifiers is read alike whether it has been read before or not, and however it is spaced.
#[test]
fn heads_repeat() {
    let rounding = Modifier::Rounding(Rounding::Rn);
    let single = Modifier::Type(ScalarType::F32);
    let heads = [
        ("fma.rn", &[rounding][..]),
        ("fma.rn.f32", &[rounding, single]),
        ("fma.rn .f32", &[rounding, single]),
        ("fma.rn.f32 /* again */ .f32", &[rounding, single, single]),
        ("fma .rn\n.f32", &[rounding, single]),
        ("fma.rn.f32", &[rounding, single]),
        ("@p fma.rn.f32", &[rounding, single]),
        ("fma", &[]),
        ("fma: fma.rn.f32", &[rounding, single]),
    ];
    let text: String = heads.iter().map(|(head, _)| format!("{head} a, b, c, d;")).collect();
    let (_, instructions) = body(&text);
    assert_eq!(instructions.len(), heads.len());
    for (instruction, (head, modifiers)) in instructions.iter().zip(heads) {
        assert_eq!((instruction.opcode, &instruction.modifiers[..]), (Opcode::Fma, modifiers), "{head}");
        let written = head.trim_start_matches("@p ").trim_start_matches("fma: ");
        assert_eq!(instruction.opcode_span.range().len(), written.len(), "{head}");
        assert_eq!(instruction.operands.len(), 4, "{head}");
    }
}

/// Names are told apart whatever their length, those that begin and end alike too.
#[test]
fn names_of_all_lengths() {
    let mut symbols = SymbolTable::new();
    let names: Vec<String> =
        (0..40).flat_map(|len| ["a", "b"].map(|end| format!("{}{end}", "a".repeat(len)))).collect();
    let ids: Vec<_> = names.iter().map(|name| symbols.intern(name)).collect();
    assert_eq!(symbols.len(), names.len());
    for (name, id) in names.iter().zip(ids) {
        assert_eq!((symbols.get(name), symbols.text(id)), (Some(id), name.as_str()));
    }
    assert_eq!(symbols.get("a\0"), None);
}
