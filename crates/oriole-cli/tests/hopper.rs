//! What sm_90 and later targets add to memory, matrices and conversions, compiled and run on the strict simulator,
//! against the host, the encoder of tensor maps and the PTX interpreter.

use crate::read_back;

use oriole_device::tensor_map::{Element, Fill, Shape, Swizzle, TensorMap};
use std::path::Path;
use std::process::Command;

fn oriole(arguments: &[&str]) {
    let done = read_back::run(Command::new(env!("CARGO_BIN_EXE_oriole")).args(arguments));
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// What one warp makes of `memory`, which the kernel `k` gets the address of: our code's, or, with `--engine ptx`,
/// the interpreter's.
fn run(declarations: &str, body: &str, target: &str, memory: &[u8], words: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("a UTF-8 path").to_owned();
    let text = format!(
        ".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 at) {{\n\
         .reg .b32 %t; .reg .b64 %at, %own; {declarations}\n\
         ld.param.u64 %at, [at]; mov.u32 %t, %tid.x; mad.wide.u32 %own, %t, 64, %at;\n{body}\nret;\n}}\n"
    );
    std::fs::write(at("k.ptx"), text).expect("the folder is there");
    std::fs::write(at("in"), memory).expect("the folder is there");
    let mut file = at("k.ptx");
    if words.is_empty() {
        file = at("k.cubin");
        oriole(&["compile", &at("k.ptx"), "-o", &file, "--arch", target]);
        oriole(&["check", &file]);
    }
    let buffer = format!("inout:{}:{}", at("in"), at("out"));
    let mut all = vec!["run", &file, "--entry", "k", "--arch", target, "--block", "32"];
    all.extend(if words.is_empty() { &["--strict"] } else { words });
    all.push(&buffer);
    oriole(&all);
    std::fs::read(Path::new(&at("out"))).expect("the run wrote it")
}

/// Bytes as a linear congruential generator gives them.
fn bytes(count: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..count).map(|_| next()).collect()
}

fn word(memory: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(memory[at..at + 4].try_into().expect("four bytes"))
}

#[test]
fn tensor_maps_get_every_field() {
    let old = TensorMap {
        address: 0x7f00_1234_5670,
        element: Element::F32,
        rank: 4,
        dims: [64, 7, 6, 5, 1],
        strides: [256, 0xab_cdef_0120, 4096, 0],
        shape: Shape::Tile([8, 2, 3, 4, 1]),
        element_strides: [1, 2, 3, 4, 1],
        swizzle: Swizzle::B128,
        fill: Fill::Nan,
    };
    let new = TensorMap {
        address: 0x0055_aaaa_0010,
        element: Element::Bf16,
        rank: 4,
        dims: [1 << 32, 99, 98, 97, 1],
        strides: [0xfe_dcba_9870, 0x12_3456_7890, 48, 0],
        shape: Shape::Tile([16, 256, 1, 77, 1]),
        element_strides: [8, 1, 2, 7, 1],
        swizzle: Swizzle::B64,
        fill: Fill::Zero,
    };
    let Shape::Tile(sizes) = new.shape else { unreachable!("both are tiled") };
    for space in ["", ".global"] {
        // bf16 is element 10, the 64-byte swizzle mode 2 (PTX manual, tensormap.replace). The instruction never clears
        // the mark of TensorFloat-32, as with ptxas, so the old element is another.
        let mut body = format!(
            "tensormap.replace.tile.global_address{space}.b1024.b64 [%at], {};\n\
             tensormap.replace.tile.rank{space}.b1024.b32 [%at], 3;\n\
             tensormap.replace.tile.elemtype{space}.b1024.b32 [%at], 10;\n\
             tensormap.replace.tile.interleave_layout{space}.b1024.b32 [%at], 0;\n\
             tensormap.replace.tile.swizzle_mode{space}.b1024.b32 [%at], 2;\n\
             tensormap.replace.tile.fill_mode{space}.b1024.b32 [%at], 0;\n",
            new.address
        );
        let axes = new.dims.iter().zip(sizes).zip(new.element_strides).take(4);
        for (dimension, ((size, edge), step)) in axes.enumerate() {
            // A size of 2^32 is written as 0.
            let size = *size as u32;
            for (field, value) in [("global_dim", size), ("box_dim", edge), ("element_stride", step)] {
                body += &format!(
                    "mov.b32 %v, {value}; tensormap.replace.tile.{field}{space}.b1024.b32 [%at], {dimension}, %v;\n"
                );
            }
        }
        for (dimension, stride) in new.strides[..3].iter().enumerate() {
            body += &format!(
                "mov.b64 %d, {stride}; tensormap.replace.tile.global_stride{space}.b1024.b64 [%at], {dimension}, %d;\n"
            );
        }
        let start = old.encode().expect("a valid tensor map");
        let mut expected = new.encode().expect("a valid tensor map");
        // No field names the bytes that a copy moves, nor those after which a swizzle comes again.
        [64..68, 72..76].into_iter().for_each(|kept| expected[kept.clone()].copy_from_slice(&start[kept]));
        let changed = run(".reg .b32 %v; .reg .b64 %d;", &body, "sm_90a", &start, &[]);
        assert_eq!(changed, expected, "{space:?}");
        let back = TensorMap::decode(changed[..].try_into().expect("128 bytes"));
        assert_eq!(back.as_ref(), Ok(&new));
    }
}

#[test]
fn tensor_floats_are_singles_with_a_mark() {
    let map = TensorMap {
        address: 16,
        element: Element::F32,
        rank: 1,
        dims: [64, 1, 1, 1, 1],
        strides: [0; 4],
        shape: Shape::Tile([8, 1, 1, 1, 1]),
        element_strides: [1; 5],
        swizzle: Swizzle::None,
        fill: Fill::Zero,
    };
    for (number, element) in [(7, Element::F32), (11, Element::Tf32), (12, Element::Tf32Ftz)] {
        let body = format!("tensormap.replace.tile.elemtype.global.b1024.b32 [%at], {number};");
        let changed = run("", &body, "sm_90a", &map.encode().expect("a valid tensor map"), &[]);
        let back = TensorMap::decode(changed[..].try_into().expect("128 bytes"));
        assert_eq!(back, Ok(TensorMap { element, ..map }));
    }
}

#[test]
fn a_multicast_address_of_one_device_is_its_memory() {
    // Thread t has 64 bytes: at 0 the word that the others see, at 16 and 32 what it adds and stores.
    let declarations = ".reg .b32 %v<4>, %a, %s; .reg .f32 %f<4>;";
    let body = "ld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%own+16]; ld.global.b32 %s, [%own+32];\n\
        multimem.red.release.sys.global.add.u32 [%own], %v0;\n\
        multimem.ld_reduce.acquire.sys.global.max.u32 %a, [%own];\n\
        multimem.st.relaxed.gpu.global.b32 [%own+4], %s;\n\
        st.global.b32 [%own+8], %a;\n\
        mov.b32 %f0, 0f3f800000; mov.b32 %f1, 0f40000000;\n\
        st.global.v2.f32 [%own+48], {%f0, %f1};\n\
        multimem.red.relaxed.gpu.global.add.v2.f32 [%own+48], {%f1, %f1};\n\
        multimem.ld_reduce.relaxed.gpu.global.add.v2.f32 {%f2, %f3}, [%own+48];\n\
        st.global.v2.f32 [%own+56], {%f2, %f3};";
    let memory = bytes(64 * 32);
    let after = run(declarations, body, "sm_90", &memory, &[]);
    for own in (0..32).map(|thread| 64 * thread) {
        let sum = word(&memory, own).wrapping_add(word(&memory, own + 16));
        assert_eq!([word(&after, own), word(&after, own + 8)], [sum; 2]);
        assert_eq!(word(&after, own + 4), word(&memory, own + 32));
        let sums = [word(&after, own + 56), word(&after, own + 60)].map(f32::from_bits);
        assert_eq!(sums, [3.0, 4.0]);
    }
}

#[test]
fn sparse_products_of_8_bit_floats_are_those_of_the_interpreter() {
    let names = ["%a", "%b", "%c"].map(|name| [0, 1, 2, 3].map(|k| format!("{name}{k}")));
    let lists = names.clone().map(|names| format!("{{{}}}", names.join(",")));
    let [a, b, c] = &lists;
    let mut body = String::new();
    for (at, register) in names.iter().flatten().enumerate() {
        body += &format!("ld.global.b32 {register}, [%own+{}];\n", 4 * at);
    }
    // Groups of four columns that keep two: all six ways to choose them, other ones in every thread.
    body += "shl.b32 %s, %t, 2; shf.l.wrap.b32 %m, 0x4e9d8ce4, 0x4e9d8ce4, %s;\n";
    let body = |kind: &str| {
        format!(
            "{body}mma.sp.sync.aligned.m16n8k64.row.col.{kind} {c}, {a}, {b}, {c}, %m, 0;\n\
             st.global.v4.b32 [%own], {c};"
        )
    };
    // Exponents of 2^-3 to 2^4 in both formats.
    let memory: Vec<u8> = bytes(64 * 32).into_iter().map(|byte| (byte & 0x8f) | 0x30).collect();
    for kind in ["f32.e4m3.e4m3.f32", "f32.e5m2.e4m3.f32"] {
        let declarations = ".reg .b32 %a<4>, %b<4>, %c<4>, %m, %s;";
        let ours = run(declarations, &body(kind), "sm_90", &memory, &[]);
        let expected = run(declarations, &body(kind), "sm_90", &memory, &["--engine", "ptx"]);
        assert!(expected != memory, "{kind}: nothing was computed");
        assert!(ours == expected, "{kind}");
    }
}

#[test]
fn shared_memory_is_cleared_in_bulk() {
    // 128 bytes of ones; the middle 64 are cleared. Every thread sees its own word.
    let declarations = ".reg .b32 %s, %v; .reg .b64 %a, %n, %o; .shared .align 16 .b8 room[128];";
    for (target, size) in [("sm_100a", "64"), ("sm_120a", "%n")] {
        let body = format!(
            "mov.u32 %s, room; mad.lo.u32 %s, %t, 4, %s; mov.b32 %v, -1; st.shared.b32 [%s], %v; bar.sync 0;\n\
             mov.u64 %a, room; ld.global.b64 %n, [%at]; and.b64 %n, %n, 0; add.u64 %n, %n, 64;\n\
             setp.eq.u32 %p, %t, 0; @%p st.bulk.shared::cta [%a+32], {size}, 0; bar.sync 0;\n\
             mad.wide.u32 %o, %t, 4, %at; ld.shared.b32 %v, [%s]; st.global.b32 [%o], %v;"
        );
        let after = run(&format!("{declarations} .reg .pred %p;"), &body, target, &bytes(128), &[]);
        let expected: Vec<u8> = (0..128).map(|at| if (32..96).contains(&at) { 0 } else { 0xff }).collect();
        assert_eq!(after, expected, "{target}");
    }
}

#[test]
fn floats_are_reduced_over_the_warp() {
    let values: Vec<f32> = (0..32).map(|k| [-7.5, 3.25, f32::NAN, 0.5][k % 4] * (1 + k / 4) as f32).collect();
    let memory: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let numbers = || values.iter().copied().filter(|value| !value.is_nan());
    let cases = [
        ("min", numbers().fold(f32::INFINITY, f32::min)),
        ("max.abs", numbers().map(f32::abs).fold(0.0, f32::max)),
        ("max.NaN", f32::NAN),
    ];
    for (op, expected) in cases {
        let body = format!(
            "mad.wide.u32 %own, %t, 4, %at; ld.global.f32 %f, [%own]; redux.sync.{op}.f32 %f, %f, -1;\n\
             st.global.f32 [%own], %f;"
        );
        let after = run(".reg .f32 %f;", &body, "sm_100a", &memory, &[]);
        for at in (0..128).step_by(4) {
            let got = f32::from_bits(word(&after, at));
            assert!(got == expected || got.is_nan() && expected.is_nan(), "{op}: {got} for {expected}");
        }
    }
}

#[test]
fn the_answer_about_a_cancelled_launch_is_taken_apart() {
    let declarations = ".reg .b128 %q; .reg .b32 %x, %y, %z, %w, %c; .reg .pred %p;";
    let body = "ld.global.b128 %q, [%own];\n\
        clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p, %q; selp.b32 %c, 1, 0, %p;\n\
        clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%x, %y, %z, _}, %q;\n\
        clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 %w, %q;\n\
        st.global.v4.b32 [%own+16], {%x, %y, %z, %w}; st.global.b32 [%own+32], %c;";
    let memory = bytes(64 * 32);
    for target in ["sm_100a", "sm_120a"] {
        let after = run(declarations, body, target, &memory, &[]);
        // x in the first word, y and z in the halves of the second, whether it was cancelled in bit 64: as ptxas's
        // code reads them.
        for own in (0..32).map(|thread| 64 * thread) {
            let (x, yz) = (word(&memory, own), word(&memory, own + 4));
            let got: Vec<u32> = (0..5).map(|k| word(&after, own + 16 + 4 * k)).collect();
            assert_eq!(got, [x, yz & 0xffff, yz >> 16, yz >> 16, word(&memory, own + 8) & 1]);
        }
    }
}

#[test]
fn asynchronous_accesses_to_global_memory_are_done() {
    let body = "ld.global.b64 %d, [%own]; st.async.release.gpu.global.b64 [%own+8], %d;\n\
        ld.global.b32 %v, [%own]; st.async.mmio.release.sys.global.b32 [%own+16], %v;\n\
        red.async.release.sys.global.add.u32 [%own+20], %v;";
    let memory = bytes(64 * 32);
    for target in ["sm_100a", "sm_120a"] {
        let after = run(".reg .b64 %d; .reg .b32 %v;", body, target, &memory, &[]);
        for own in (0..32).map(|thread| 64 * thread) {
            assert_eq!(after[own + 8..own + 16], memory[own..own + 8]);
            let (value, old) = (word(&memory, own), word(&memory, own + 20));
            assert_eq!([word(&after, own + 16), word(&after, own + 20)], [value, old.wrapping_add(value)]);
        }
    }
}

#[test]
fn narrow_floats_are_converted_as_the_interpreter_does() {
    let narrow = [("e2m3x2", "b16"), ("e3m2x2", "b16"), ("ue8m0x2", "b16")];
    let mut body = "ld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%own];\n".to_owned();
    for (at, (format, ty)) in narrow.into_iter().enumerate() {
        let (mode, wide) = if format == "ue8m0x2" { ("rz", "bf16x2") } else { ("rn", "f16x2") };
        body += &format!(
            "cvt.{mode}.satfinite.{format}.f32 %h, %v0, %v1; st.global.{ty} [%own+{}], %h;\n\
             cvt.rn.{wide}.{format} %w, %h; st.global.b32 [%own+{}], %w;\n",
            16 + 2 * at,
            32 + 4 * at
        );
    }
    // Singles with exponents from 2^-6 to 2^9, some of them too large for each format.
    let memory: Vec<u8> = (0..)
        .zip(bytes(64 * 32))
        .map(|(at, byte)| match at % 4 {
            3 => (byte & 0x80) | 0x3c | (byte & 7),
            _ => byte,
        })
        .collect();
    let declarations = ".reg .b32 %v<4>, %w; .reg .b16 %h;";
    let ours = run(declarations, &body, "sm_100a", &memory, &[]);
    let expected = run(declarations, &body, "sm_100a", &memory, &["--engine", "ptx"]);
    assert!(ours != memory, "nothing was computed");
    assert!(ours == expected);
}
