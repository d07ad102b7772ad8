//! What CUDA Tile and the CuTe DSL write besides: taken and refused as by ptxas 13.0.88 and 13.5.37.

fn kernel(version: &str, target: &str, parameters: &str, body: &str) -> String {
    format!(
        ".version {version}\n.target {target}\n.address_size 64\n.visible .entry k({parameters})\n{{\n\
         .reg .b16 %h<3>; .reg .b32 %r<9>; .reg .f32 %f<9>;\n{body}\nret;\n}}\n"
    )
}

const HIDDEN: &str = ".param .u64 a, .hidden .param .align 64 .b8 m[128]";

#[test]
fn hidden_parameters_are_of_kernels_from_8_8_on() {
    for (version, is_taken) in [("8.7", false), ("8.8", true), ("9.5", true)] {
        assert_eq!(oriole_ptx::load(&kernel(version, "sm_90", HIDDEN, "")).is_ok(), is_taken, "{version}");
    }
    let function = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .func f(.hidden .param .b64 x) { ret; }\n";
    let errors = oriole_ptx::load(function).expect_err("a function has none");
    assert_eq!(errors[0].message, "`.hidden` is only for kernel parameters");
    for wrong in [".param .hidden .b64 x", ".hidden .hidden .param .b64 x"] {
        assert!(oriole_ptx::load(&kernel("9.0", "sm_90", wrong, "")).is_err(), "{wrong}");
    }
    let variable = ".version 9.0\n.target sm_90\n.address_size 64\n.hidden .global .b32 g;\n";
    assert!(oriole_ptx::load(variable).is_err());
}

#[test]
fn hidden_parameters_are_printed_as_they_are_read() {
    let module = oriole_ptx::load(&kernel("9.0", "sm_90", HIDDEN, "")).expect("as ptxas has it");
    let printed = oriole_ptx::print(&module);
    assert!(printed.contains(".hidden .param .align 64 .b8 m[128]"), "{printed}");
    assert_eq!(oriole_ptx::print(&oriole_ptx::load(&printed).expect("it is a module")), printed);
}

#[test]
fn scales_and_metadata_may_stand_in_braces() {
    let scaled = |a: &str, b: &str| {
        format!(
            "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 \
             {{%f1,%f2,%f3,%f4}},{{%r1,%r1,%r1,%r1}},{{%r1,%r1}},{{%f1,%f2,%f3,%f4}},{a},{{%h1,%h1}},{b},{{%h1,%h1}};"
        )
    };
    let sparse = |metadata: &str| {
        format!(
            "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 \
             {{%f1,%f2,%f3,%f4}},{{%r1,%r1}},{{%r1,%r1}},{{%f1,%f2,%f3,%f4}},{metadata},0x0;"
        )
    };
    let cases = [
        (scaled("%r2", "%r2"), true),
        (scaled("{%r2}", "{%r2}"), true),
        (scaled("{%r2,%r2}", "%r2"), false),
        (scaled("{{%r2}}", "%r2"), false),
        (sparse("%r2"), true),
        (sparse("{%r2}"), true),
        ("add.u32 %r1,{%r2},%r3;".to_owned(), false),
        ("selp.u32 %r1,{%r2},%r3,0;".to_owned(), false),
    ];
    for (statement, is_taken) in cases {
        let result = oriole_ptx::load(&kernel("8.8", "sm_120a", "", &statement));
        assert_eq!(result.is_ok(), is_taken, "{statement}: {:?}", result.err().map(|errors| errors[0].message.clone()));
    }
}

/// `ptxas` takes more on targets of one chip (13.0.88: 0x38c00 at most), elsewhere where it is asked to.
#[test]
fn static_shared_memory_is_48_kilobytes_but_for_targets_of_one_chip() {
    use oriole_ptx::Leeway;
    for (target, bytes, is_taken) in [
        ("sm_90", 0xc000, true),
        ("sm_90", 0xc001, false),
        ("sm_100f", 0xc001, false),
        ("sm_90a", 0x38c00, true),
        ("sm_90a", 0x38c01, false),
    ] {
        let text = kernel("9.0", target, "", &format!(".shared .b8 s[{bytes}]; st.shared.u32 [s], %r1;"));
        assert_eq!(oriole_ptx::load(&text).is_ok(), is_taken, "{target} {bytes:#x}");
        let leeway = Leeway { extended_shared: true, ..Leeway::default() };
        assert!(oriole_ptx::load_with(&text, leeway).is_ok(), "{target} {bytes:#x}: the compiler knows the chip");
    }
}
