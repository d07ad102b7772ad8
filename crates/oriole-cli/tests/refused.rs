//! Cubins that a driver would not load: `check` says why, and nothing runs.

use crate::scratch::{Scratch, error_text, text};

const KERNEL: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q)\n\
                      .reqntid 64\n{ .reg .b64 %a; .reg .b32 %r<4>;\nld.param.u64 %a, [p]; bar.sync 0;\n\
                      ld.global.u32 %r1, [%a]; st.global.u32 [%a+4], %r1; ret; }\n";

/// What is changed in the cubin's text, what it becomes, and what `check` says of it.
const CHANGES: [(&[(&str, &str)], &str); 11] = [
    (&[("ident=7f454c4602010141", "ident=7f454c4602010103")], "the file is for OS ABI 0x3"),
    // The types of the two notes.
    (&[("d00700006f72696f", "d10700006f72696f")], "section '.note.nv.tkinfo' with a note of type 2000 is missing"),
    (&[("e80300006f72696f", "e90300006f72696f")], "section '.note.nv.cuinfo' with a note of type 1000 is missing"),
    // EIATTR_REGCOUNT of the kernel's symbol.
    (&[("042f08000700000006000000", "042f08000700000001010000")], "it asks for 257 registers; a thread has 255"),
    (&[("042f08000700000006000000", "042f080007000000ffff0000")], "it asks for 65535 registers"),
    // 1024 threads by EIATTR_REQNTID.
    (
        &[("042f08000700000006000000", "042f080007000000ff000000"), ("04100c0040000000", "04100c0000040000")],
        "a block of 1024 threads with 255 registers each does not fit",
    ),
    // EIATTR_NUM_BARRIERS.
    (&[("024c0100", "024c1100")], "it uses 17 barriers; a block has 16"),
    // EIATTR_CBANK_PARAM_SIZE.
    (&[("03191000", "0319f00f")], "constant bank 0 has 544 bytes; the parameters end at 4608"),
    (
        &[("flags=0x6 addr=0x0 offset=0x400 size=0x80", "flags=0x2 addr=0x0 offset=0x400 size=0x80")],
        "not marked as code",
    ),
    (
        &[("flags=0x6 addr=0x0 offset=0x400 size=0x80", "flags=0x4 addr=0x0 offset=0x400 size=0x80")],
        "not marked as code",
    ),
    (&[("info=0x7 align=0x80", "info=0x7 align=0x30")], "section '.text.k' is aligned to 48, not to 128"),
];

/// The same of what the driver cannot see, and `check` can.
const IN_CODE: [(&str, &str, &str); 3] = [
    ("024c0100", "024c0000", "barrier 0, where the kernel has 0"),
    ("BRA `(.L_x_0)", "@P0 BRA 0x28", "jump to nowhere"),
    ("BRA `(.L_x_0)", "BRA 0x100060", "jump to nowhere"),
];

/// The kernel's cubin as text.
fn listing(scratch: &Scratch) -> String {
    scratch.write("k.ptx", KERNEL);
    scratch.says("compile k.ptx -o k.cubin", 0);
    text(&scratch.run("disasm --all k.cubin"))
}

fn changed(scratch: &Scratch, listing: &str, changes: &[(&str, &str)]) {
    let mut listing = listing.to_owned();
    for (from, to) in changes {
        assert!(listing.contains(from), "no '{from}' in:\n{listing}");
        listing = listing.replacen(from, to, 1);
    }
    scratch.write("changed.sass", listing);
    scratch.says("asm changed.sass -o changed.cubin", 0);
}

#[test]
fn what_a_driver_would_not_load_is_reported_and_does_not_run() {
    let scratch = Scratch::new();
    let listing = listing(&scratch);
    scratch.says("check k.cubin", 0);
    scratch.says("run k.cubin --entry k --block 64 zero:4096 u64:0", 0);
    for (changes, reason) in CHANGES {
        changed(&scratch, &listing, changes);
        let checked = scratch.run("check changed.cubin");
        let said = text(&checked);
        assert!(checked.status.code() == Some(1) && said.contains(reason), "{reason}: {said}{}", error_text(&checked));
        let said = scratch.says("run changed.cubin --entry k --block 64 zero:4096 u64:0", 1);
        assert!(said.contains("a driver would not load it") && said.contains(reason), "{reason}: {said}");
    }
}

#[test]
fn what_code_does_against_its_records_is_reported() {
    let scratch = Scratch::new();
    let listing = listing(&scratch).replace("EXIT ;", "@P0 EXIT ;");
    for (from, to, reason) in IN_CODE {
        changed(&scratch, &listing, &[(from, to)]);
        let checked = scratch.run("check changed.cubin");
        assert!(checked.status.code() == Some(1) && text(&checked).contains(reason), "{reason}: {}", text(&checked));
    }
    // What is no instruction's address has no label.
    let said = text(&scratch.run("disasm changed.cubin"));
    assert!(said.contains("BRA 0x100060"), "{said}");
}
