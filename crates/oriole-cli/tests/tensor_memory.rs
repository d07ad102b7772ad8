//! Allocation of tensor memory (`tcgen05.alloc` and its like), compiled and run on the strict simulator: what is held at
//! a time does not overlap, what is given back can be had again, and who breaks the rules faults. With `ORIOLE_ORACLE`, a
//! folder with ptxas, its code is run as well.

use crate::read_back;

use std::process::{Command, Output};

fn oriole(arguments: &[&str]) -> Output {
    read_back::run(Command::new(env!("CARGO_BIN_EXE_oriole")).args(arguments))
}

/// Runs the body in `warps` warps of each of `blocks` blocks, which are one cluster; it stores words at `%own`, of which
/// each warp has `WORDS`. Once for our code and, where there is a ptxas, once for its.
fn run(body: &str, blocks: u32, warps: u32) -> Vec<Result<Vec<u32>, String>> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("a UTF-8 path").to_owned();
    let cluster = if blocks > 1 { format!(".reqnctapercluster {blocks}, 1, 1") } else { String::new() };
    let text = format!(
        ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 at) {cluster} {{\n\
         .shared .align 4 .b32 place[8]; .reg .b32 %v<9>, %n, %w, %b, %place; .reg .b64 %own; .reg .pred %p;\n\
         ld.param.u64 %own, [at]; mov.u32 %w, %tid.x; shr.u32 %w, %w, 5; mov.u32 %b, %ctaid.x;\n\
         mov.u32 %place, place; mad.lo.u32 %place, %w, 4, %place;\n\
         mad.lo.u32 %n, %b, {warps}, %w; mad.wide.u32 %own, %n, {}, %own;\n{body}\nret;\n}}\n",
        4 * WORDS
    );
    std::fs::write(at("k.ptx"), text).expect("the folder is there");
    std::fs::write(at("in"), vec![0xee; 4 * WORDS * (blocks * warps) as usize]).expect("the folder is there");
    let compiled = oriole(&["compile", &at("k.ptx"), "-o", &at("ours"), "--arch", "sm_100a"]);
    assert!(compiled.status.success(), "{body}: {}", String::from_utf8_lossy(&compiled.stderr));
    let mut files = vec!["ours"];
    if let Some(tool) = oriole_prerequisites::tool("ptxas") {
        let ptxas = Command::new(tool).args(["-arch", "sm_100a", "-o", &at("theirs"), &at("k.ptx")]).status();
        assert!(ptxas.expect("ptxas starts").success(), "{body}");
        files.push("theirs");
    }
    let outcome = |file: &str| {
        let buffer = format!("inout:{}:{}", at("in"), at("out"));
        let (blocks, threads) = (blocks.to_string(), (32 * warps).to_string());
        let done =
            oriole(&["run", &at(file), "--entry", "k", "--grid", &blocks, "--block", &threads, "--strict", &buffer]);
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).into_owned());
        }
        let bytes = std::fs::read(at("out")).expect("the run wrote it");
        Ok(bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect())
    };
    files.into_iter().map(outcome).collect()
}

/// Words of output of each warp.
const WORDS: usize = 8;

/// PTX that allocates and keeps the address in `%v<number>`.
fn allocate(group: u32, number: u32, columns: u32) -> String {
    format!(
        "tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [%place], {columns};\n\
         ld.volatile.shared.b32 %v{number}, [%place]; st.global.b32 [%own+{}], %v{number};\n",
        4 * number
    )
}

fn give_back(group: u32, number: u32, columns: u32) -> String {
    format!("tcgen05.dealloc.cta_group::{group}.sync.aligned.b32 %v{number}, {columns};\n")
}

/// Whether the allocations, address and columns, may be held together.
fn may_be_held(allocations: &[(u32, u32)]) -> bool {
    let inside = |(at, columns): &(u32, u32)| at % columns == 0 && at + columns <= 512;
    let apart = |(a, b): (&(u32, u32), &(u32, u32))| a.0 + a.1 <= b.0 || b.0 + b.1 <= a.0;
    let pairs = allocations.iter().enumerate().flat_map(|(k, a)| allocations[..k].iter().map(move |b| (a, b)));
    allocations.iter().all(inside) && pairs.into_iter().all(apart)
}

/// Three allocations, one in the place of the second, and in the end all of the memory.
fn sequence(group: u32) -> String {
    [
        allocate(group, 0, 64),
        allocate(group, 1, 32),
        allocate(group, 2, 128),
        give_back(group, 1, 32),
        allocate(group, 3, 256),
        allocate(group, 4, 32),
        give_back(group, 2, 128),
        give_back(group, 0, 64),
        give_back(group, 4, 32),
        give_back(group, 3, 256),
        "mov.b32 %n, 512;\n".to_owned(),
        allocate(group, 5, 512).replace("], 512", "], %n"),
        format!("tcgen05.relinquish_alloc_permit.cta_group::{group}.sync.aligned;\n"),
        give_back(group, 5, 512),
    ]
    .concat()
}

fn check_sequence(words: &[u32]) {
    let [a, b, c, d, e, all, ..] = *words else { panic!("{words:?}") };
    assert!(may_be_held(&[(a, 64), (b, 32), (c, 128)]), "{words:?}");
    assert!(may_be_held(&[(a, 64), (c, 128), (d, 256), (e, 32)]), "{words:?}");
    assert_eq!(all, 0, "{words:?}");
}

#[test]
fn what_is_held_does_not_overlap_and_what_is_given_back_is_free() {
    for outcome in run(&sequence(1), 1, 1) {
        check_sequence(&outcome.unwrap_or_else(|error| panic!("{error}")));
    }
}

#[test]
fn the_blocks_of_a_pair_hold_the_same() {
    for outcome in run(&sequence(2), 4, 1) {
        let words = outcome.unwrap_or_else(|error| panic!("{error}"));
        for pair in words.chunks_exact(2 * WORDS) {
            check_sequence(pair);
            assert_eq!(pair[..WORDS], pair[WORDS..]);
        }
    }
}

#[test]
fn a_warp_waits_until_others_have_given_back() {
    // Each of four warps takes all, notes what it has in its last word, and gives it back.
    let body =
        [allocate(1, 0, 512), "st.global.b32 [%own+28], %w; nanosleep.u32 50;\n".to_owned(), give_back(1, 0, 512)];
    for outcome in run(&body.concat(), 1, 4) {
        let words = outcome.unwrap_or_else(|error| panic!("{error}"));
        for (warp, words) in words.chunks_exact(WORDS).enumerate() {
            assert_eq!((words[0], words[7]), (0, warp as u32));
        }
    }
}

#[test]
fn generic_addresses_and_guards_are_served() {
    // A guard that holds in all threads, and one that holds in none.
    let body = "cvta.shared.u32 %v7, %place; .reg .b64 %g; cvt.u64.u32 %g, %place; cvta.shared.u64 %g, %g;\n\
        setp.eq.u32 %p, %w, 0; mov.b32 %v0, 7; st.shared.b32 [%place], %v0;\n\
        @!%p tcgen05.alloc.cta_group::1.sync.aligned.b32 [%g], 512; ld.volatile.shared.b32 %v1, [%place];\n\
        @%p tcgen05.alloc.cta_group::1.sync.aligned.b32 [%g], 512; ld.volatile.shared.b32 %v2, [%place];\n\
        st.global.v2.b32 [%own], {%v1, %v2};\n\
        tcgen05.dealloc.cta_group::1.sync.aligned.b32 %v2, 512;\n";
    let body = body.replace("cvta.shared.u32 %v7, %place; ", "");
    for outcome in run(&body, 1, 1) {
        assert_eq!(outcome.unwrap_or_else(|error| panic!("{error}"))[..2], [7, 0]);
    }
}

#[test]
fn who_breaks_the_rules_faults() {
    let given_up = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n".to_owned() + &allocate(1, 0, 32);
    let twice = [allocate(1, 0, 64), give_back(1, 0, 64), give_back(1, 0, 64)].concat();
    let too_much = [allocate(1, 0, 64), give_back(1, 0, 128)].concat();
    let not_the_first = [allocate(1, 0, 64), "add.u32 %v0, %v0, 32;\n".to_owned(), give_back(1, 0, 32)].concat();
    for body in [given_up, twice, too_much, not_the_first] {
        for outcome in run(&body, 1, 1) {
            let error = outcome.expect_err(&body);
            assert!(error.contains("trap") || error.contains("BPT"), "{body}: {error}");
        }
    }
}
