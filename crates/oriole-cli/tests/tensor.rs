//! Matrix instructions, compiled and run on the strict simulator, against the PTX interpreter and against
//! sums on the host.

use crate::read_back;

use std::path::Path;
use std::process::Command;

const HEAD: &str = ".version 9.0\n.target @\n.address_size 64\n\
    .visible .entry k(.param .u64 in, .param .u64 out) {\n\
    .reg .b32 %a<16>, %b<16>, %c<16>, %d<16>, %m, %t; .reg .f32 %f<16>, %g<16>; .reg .b64 %in, %out, %own, %to;\n\
    ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x;\n\
    mad.wide.u32 %own, %t, 64, %in; mad.wide.u32 %to, %t, 64, %out;\n";

fn oriole(arguments: &[&str]) {
    let done = read_back::run(Command::new(env!("CARGO_BIN_EXE_oriole")).args(arguments));
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Bytes as a linear congruential generator gives them, with sign, exponent and fraction of moderate halves
/// where `halves`.
fn bytes(count: usize, halves: bool) -> Vec<u8> {
    let mut state = 0x2545_f491_u32;
    (0..count)
        .map(|at| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let byte = (state >> 24) as u8;
            // The upper byte of a half: exponents from 2^-3 to 2^4.
            if halves && at % 2 == 1 { (byte & 0x83) | (0x30 + ((byte >> 2) & 0x1c)) } else { byte }
        })
        .collect()
}

/// What one warp writes for `input`, run by the given words of `oriole run`.
fn run(folder: &Path, file: &str, target: &str, words: &[&str], input: &[u8]) -> Vec<u8> {
    let (from, to) = (folder.join("in"), folder.join("out"));
    std::fs::write(&from, input).expect("the folder is there");
    let file = folder.join(file);
    let (from, to) = (format!("in:{}", from.display()), format!("out:{}:2048", to.display()));
    let file = file.to_str().expect("a UTF-8 path");
    let mut all = vec!["run", file, "--entry", "k", "--arch", target, "--block", "32"];
    all.extend_from_slice(words);
    all.extend([from.as_str(), to.as_str()]);
    oriole(&all);
    std::fs::read(folder.join("out")).expect("the run wrote it")
}

/// The results of our code at both ends of `-O`, and the interpreter's.
fn results(body: &str, target: &str, input: &[u8]) -> [Vec<u8>; 3] {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("a UTF-8 path").to_owned();
    let text = format!("{}{body}\nret;\n}}\n", HEAD.replace('@', target));
    std::fs::write(at("k.ptx"), text).expect("the folder is there");
    let compiled = |level: &str| {
        oriole(&["compile", &at("k.ptx"), "-o", &at("k.cubin"), "--arch", target, level]);
        oriole(&["check", &at("k.cubin")]);
        run(folder.path(), "k.cubin", target, &["--strict"], input)
    };
    let ours = [compiled("-O3"), compiled("-O0")];
    let [first, last] = ours;
    [first, last, run(folder.path(), "k.ptx", target, &["--engine", "ptx"], input)]
}

/// `{%x0,%x1,…}`
fn list(prefix: &str, count: usize) -> String {
    let names: Vec<String> = (0..count).map(|k| format!("{prefix}{k}")).collect();
    format!("{{{}}}", names.join(","))
}

/// Loads the fragments from the thread's 64 bytes, computes, stores D.
fn product(instruction: &str, [a, b, sum]: [usize; 3], extra: &str) -> String {
    let mut body = String::new();
    let names = [("%a", a), ("%b", b), ("%c", sum)];
    let registers = names.iter().flat_map(|(prefix, count)| (0..*count).map(move |k| format!("{prefix}{k}")));
    for (at, register) in registers.enumerate() {
        body += &format!("ld.global.b32 {register}, [%own+{}];\n", 4 * at);
    }
    let (a, b, c, d) = (list("%a", a), list("%b", b), list("%c", sum), list("%d", sum));
    body += &format!("{instruction} {d}, {a}, {b}, {c}{extra};\n");
    for at in 0..sum {
        body += &format!("st.global.b32 [%to+{}], %d{at};\n", 4 * at);
    }
    body
}

#[test]
fn products_are_those_of_the_interpreter() {
    let both: &[&str] = &["sm_80", "sm_90"];
    let cases: [(&str, [usize; 3], &[&str], bool); 12] = [
        ("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", [4, 2, 2], both, true),
        ("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", [2, 1, 4], both, true),
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", [4, 2, 4], both, true),
        ("mma.sync.aligned.m8n8k4.row.row.f32.f16.f16.f32", [2, 2, 8], both, true),
        ("mma.sync.aligned.m8n8k4.col.col.f16.f16.f16.f16", [2, 2, 4], both, true),
        ("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32", [4, 2, 4], both, false),
        ("mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32", [4, 2, 4], both, false),
        ("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s4.s4.s32", [2, 1, 4], both, false),
        ("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.xor.popc", [2, 1, 4], both, false),
        ("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", [4, 2, 4], both, false),
        ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", [4, 2, 4], &["sm_89", "sm_90"], true),
        ("wmma.mma.sync.aligned.row.col.m8n32k16.f32.bf16.bf16.f32", [2, 8, 8], &["sm_80"], true),
    ];
    for (instruction, counts, targets, floats) in cases {
        for target in targets {
            // Words of 16 (18, at most 32) registers overlap between threads: only the values matter.
            let input = bytes(64 * 32 + 64, floats);
            let [ours, plain, expected] = results(&product(instruction, counts, ""), target, &input);
            assert!(expected.iter().any(|byte| *byte != 0), "{instruction}: nothing was computed");
            assert!(ours == expected, "{instruction} on {target}");
            assert!(plain == expected, "{instruction} on {target} at -O0");
        }
    }
}

#[test]
fn wmma_multiplies_matrices_in_memory() {
    // A: 16 x 16 bytes by rows at 0, B: by columns at 256, both 16 apart; D by rows at 0 of the output, 20 apart.
    for (order, by_columns) in [("row", false), ("col", true)] {
        let body = format!(
            "mad.wide.u32 %own, 256, 1, %in;\n\
             wmma.load.a.sync.aligned.{order}.m16n16k16.global.s8 {a}, [%in], 16;\n\
             wmma.load.b.sync.aligned.col.m16n16k16.global.s8 {b}, [%own], 16;\n\
             wmma.load.c.sync.aligned.row.m16n16k16.global.s32 {c}, [%in], 16;\n\
             wmma.mma.sync.aligned.{order}.col.m16n16k16.s32.s8.s8.s32 {d}, {a}, {b}, {c};\n\
             wmma.store.d.sync.aligned.row.m16n16k16.global.s32 [%out], {d}, 20;",
            a = list("%a", 2),
            b = list("%b", 2),
            c = list("%c", 8),
            d = list("%d", 8),
        )
        .replace("mad.wide.u32 %own, 256, 1, %in;", "add.u64 %own, %in, 256;");
        let input = bytes(1024, false);
        let mut expected = vec![0; 2048];
        for row in 0..16 {
            for column in 0..16 {
                let at = 4 * (16 * row + column);
                let mut sum = i32::from_le_bytes(input[at..at + 4].try_into().expect("four bytes"));
                for k in 0..16 {
                    let a = input[if by_columns { 16 * k + row } else { 16 * row + k }] as i8;
                    let b = input[256 + 16 * column + k] as i8;
                    sum = sum.wrapping_add(i32::from(a) * i32::from(b));
                }
                let at = 4 * (20 * row + column);
                expected[at..at + 4].copy_from_slice(&sum.to_le_bytes());
            }
        }
        for target in ["sm_80", "sm_90"] {
            let [ours, plain, _] = results(&body, target, &input);
            assert!(ours == expected, "A by {order} on {target}");
            assert!(plain == expected, "A by {order} on {target} at -O0");
        }
    }
}

#[test]
fn matrices_loaded_and_stored_come_back_transposed() {
    // 8 x 8 halves: element (r, c) of the input is element (c, r) of the output.
    let body = ".shared .align 16 .b8 tile[256]; .reg .b32 %s, %u; mov.u32 %s, tile;\n\
        mul.lo.u32 %u, %t, 4; add.u32 %u, %u, %s; shl.b32 %m, %t, 2; cvt.u64.u32 %own, %m; add.u64 %to, %out, %own;\n\
        add.u64 %own, %own, %in; ld.global.b32 %a0, [%own]; st.shared.b32 [%u], %a0; bar.warp.sync -1;\n\
        and.b32 %m, %t, 7; shl.b32 %m, %m, 4; add.u32 %m, %m, %s;\n\
        ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%b0}, [%m];\n\
        movmatrix.sync.aligned.m8n8.trans.b16 %c0, %b0;\n\
        st.global.b32 [%to], %c0;";
    let input = bytes(128, false);
    let mut expected = vec![0; 2048];
    for (row, column) in (0..8).flat_map(|row| (0..8).map(move |column| (row, column))) {
        let (from, to) = (2 * (8 * row + column), 2 * (8 * column + row));
        expected[to..to + 2].copy_from_slice(&input[from..from + 2]);
    }
    for target in ["sm_80", "sm_90"] {
        let [ours, plain, _] = results(body, target, &input);
        assert!(ours == expected, "{target}");
        assert!(plain == expected, "{target} at -O0");
    }
}

/// Before clusters a generic address less the start of the shared window is one of shared memory: ptxas 13.0 reads
/// the window at the same place of bank 0.
#[test]
fn matrices_at_generic_addresses_lie_in_the_window() {
    let body = "ldmatrix.sync.aligned.m8n8.x1.b16 {%b0}, [%own]; st.global.b32 [%to], %b0;";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("a UTF-8 path").to_owned();
    std::fs::write(at("k.ptx"), format!("{}{body}\nret;\n}}\n", HEAD.replace('@', "sm_80")))
        .expect("the folder is there");
    oriole(&["compile", &at("k.ptx"), "-o", &at("k.cubin"), "--arch", "sm_80"]);
    let done = Command::new(env!("CARGO_BIN_EXE_oriole")).args(["disasm", &at("k.cubin")]).output();
    let text = String::from_utf8(done.expect("oriole starts").stdout).expect("text");
    assert!(text.contains("LDSM") && text.contains("c[0x0][0x18]"), "{text}");
}
