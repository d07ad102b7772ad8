//! Hazards of the uniform datapath, by ptxas's schedules: both the strict simulator and `oriole check` report what comes a cycle
//! too early or waits for no scoreboard, and nothing else.

use crate::read_back;

use oriole_check::{Kind, check};
use oriole_codegen::{CompileOptions, compile};
use oriole_cubin::{Cubin, FunctionSpec, ModuleSpec, Target, write};
use oriole_device::{FaultKind, Launch, Memory};
use oriole_isa::access::{Touch, Touches};
use oriole_isa::{Arch, Control, Inst, RegFile, code, decode, encode, latency, parse};
use oriole_sim::{Options, RunError, Simulator};
use std::collections::BTreeMap;

const TARGETS: [(&str, Arch, u32); 4] =
    [("sm_80", Arch::Sm80, 80), ("sm_90", Arch::Sm90, 90), ("sm_100", Arch::Sm100, 100), ("sm_120", Arch::Sm120, 120)];

/// What strict simulation of the kernel `k` reports: the kind and the register.
fn simulated(cubin: &Cubin, params: Vec<u8>) -> Option<(&'static str, String)> {
    let options = Options { strict: true, max_instructions: 100_000, ..Options::default() };
    let simulator = Simulator::new(cubin, options).expect("it loads");
    let launch = Launch { grid: [1, 1, 1], block: [32, 1, 1], params, ..Launch::default() };
    match simulator.launch("k", &launch, &mut Memory::new()) {
        Err(RunError::Fault(fault)) => match fault.kind {
            FaultKind::Hazard(hazard) => Some((hazard.kind, hazard.register)),
            _ => None,
        },
        _ => None,
    }
}

/// What the checker reports, and where.
fn checked(cubin: &Cubin) -> Vec<(Kind, u64)> {
    let findings = check(cubin, &[]).expect("known latencies").findings;
    findings.iter().map(|finding| (finding.kind, finding.later.address)).collect()
}

/// A kernel of three instructions: the two and the end.
fn kernel(arch: Arch, number: u32, texts: [&str; 2], controls: [Control; 2]) -> Cubin {
    let end = ("EXIT".to_owned(), Control { stall: 5, ..Control::NONE });
    // `-> N`: a branch to that instruction.
    let place = |text: &str| match text.split_once("-> ") {
        Some((before, line)) => format!("{before}{:#x}", 16 * line.parse::<u32>().expect("a line")),
        None => text.to_owned(),
    };
    let lines = texts.map(place).into_iter().zip(controls).chain([end]);
    let word = |(at, (text, control)): (usize, (String, Control))| {
        let mut inst = parse(&text, arch, &|_| None).unwrap_or_else(|error| panic!("{arch} {text}: {error}"));
        inst.control = control;
        encode(&inst, arch, 16 * at as u64).unwrap_or_else(|error| panic!("{arch} {text}: {error}")).to_le_bytes()
    };
    let code: Vec<u8> = lines.enumerate().flat_map(word).collect();
    let module =
        ModuleSpec { functions: vec![FunctionSpec::kernel("k", code, 64)], ..ModuleSpec::new(Target::new(number)) };
    Cubin::parse(&write(&module).expect("a module")).expect("a cubin")
}

fn stalled(stall: u8) -> Control {
    Control { stall, stay: (1..12).contains(&stall), ..Control::NONE }
}

/// A line of the table of pairs.
struct Pair<'t> {
    arch: Arch,
    number: u32,
    texts: [&'t str; 2],
    register: &'t str,
    /// `None`: a scoreboard.
    cycles: Option<u8>,
}

impl<'t> Pair<'t> {
    fn read(line: &'t str) -> Pair<'t> {
        let cells: Vec<&str> = line.split('\t').collect();
        let (_, arch, number) = TARGETS.into_iter().find(|(name, ..)| *name == cells[0]).expect("a target");
        let cycles = (cells[4] != "scoreboard").then(|| cells[4].parse().expect("cycles"));
        Pair { arch, number, texts: [cells[1], cells[2]], register: cells[3], cycles }
    }

    /// Control words with which both say nothing, and some with which both report a read before the write is done.
    fn controls(&self) -> ([Control; 2], Vec<[Control; 2]>) {
        let end = stalled(15);
        let Some(cycles) = self.cycles else {
            let sets = Control { write_scoreboard: 0, ..stalled(2) };
            let waits = Control { wait_mask: 1, ..end };
            let elsewhere = Control { wait_mask: 2, ..end };
            return ([sets, waits], vec![[sets, end], [sets, elsewhere], [stalled(15), waits]]);
        };
        ([stalled(cycles), end], (1..cycles).map(|fewer| [stalled(fewer), end]).collect())
    }
}

#[test]
fn pairs_keep_the_distances_of_ptxas() {
    let table = include_str!("uniform_hazards/pairs.tsv");
    let mut pairs: BTreeMap<u32, usize> = BTreeMap::new();
    for pair in table.lines().filter(|line| !line.starts_with('#')).map(Pair::read) {
        let what = format!("{} {:?}", pair.arch, pair.texts);
        let judged = |controls| {
            let cubin = kernel(pair.arch, pair.number, pair.texts, controls);
            (simulated(&cubin, Vec::new()), checked(&cubin))
        };
        let (enough, too_few) = pair.controls();
        assert_eq!(judged(enough), (None, Vec::new()), "{what}, as ptxas has it");
        assert!(!too_few.is_empty(), "{what}");
        for controls in too_few {
            // Where the second writes the register, too, that comes too early as well.
            let (by_simulator, by_checker) = judged(controls);
            assert_eq!(by_simulator, Some(("read after write", pair.register.to_owned())), "{what}, {controls:?}");
            assert!(by_checker.contains(&(Kind::ReadAfterWrite, 0x10)), "{what}, {controls:?}: {by_checker:?}");
        }
        *pairs.entry(pair.number).or_default() += 1;
    }
    assert!(TARGETS.iter().all(|(_, _, number)| pairs[number] >= 10), "{pairs:?}");
}

/// Blocks that are counted, an address of shared memory and a loop that all threads take together.
const PTX: &str = ".visible .entry k(.param .u64 out, .param .u32 count) {
    .reg .b64 %d<9>; .reg .b32 %r<9>; .reg .pred %p<4>; .shared .align 16 .b8 buffer[1024];
    ld.param.u64 %d1, [out]; ld.param.u32 %r1, [count]; mov.u32 %r2, %ctaid.x; mov.u32 %r0, %tid.x;
    cvta.to.global.u64 %d1, %d1;
    mad.lo.u32 %r3, %r2, 12, %r1; and.b32 %r3, %r3, 60; mov.u32 %r4, buffer; add.u32 %r4, %r4, %r3;
    mov.u32 %r5, %r1;
LOOP:
    st.shared.u32 [%r4], %r0; ld.shared.u32 %r6, [%r4+4]; mad.lo.u32 %r0, %r0, %r3, %r6; bar.sync 0;
    mad.lo.u32 %r3, %r3, 5, %r5; sub.u32 %r5, %r5, 1; setp.gt.s32 %p1, %r5, 0; @%p1 bra LOOP;
    mov.u32 %r7, %tid.x; mul.wide.u32 %d2, %r7, 4; add.u64 %d1, %d1, %d2; st.global.u32 [%d1], %r0; ret;
}";

/// The second instruction reads a uniform register or predicate that the first writes.
fn depends(first: &Touches, second: &Touches) -> bool {
    let uniform = |touch: &&Touch| matches!(touch.register.file(), RegFile::UR | RegFile::UP);
    let written = |read: &Touch| first.writes.iter().any(|write| write.register == read.register);
    second.reads.iter().filter(uniform).any(written)
}

/// A change of compiled code that lets an instruction read too early.
struct Change {
    /// The instruction whose control word is another.
    at: usize,
    control: Control,
    writer: usize,
    reader: usize,
}

/// Of a result of fixed latency, for the next instruction: a cycle, which is never enough. Of one with a scoreboard: the one wait for it is
/// left out, if there is none for a later instruction of its in-order queue, which would do.
fn change(insts: &[Inst], touches: &[Touches], writer: usize, arch: Arch) -> Option<Change> {
    let reader = (writer + 1..insts.len()).find(|later| depends(&touches[writer], &touches[*later]))?;
    if !latency::is_variable(&insts[writer], arch) {
        let control = Control { stall: 1, stay: true, ..insts[writer].control };
        return (reader == writer + 1).then_some(Change { at: writer, control, writer, reader });
    }
    let bit = 1u8.checked_shl(insts[writer].control.write_scoreboard.into()).filter(|bit| bit & 63 != 0)?;
    let mut waits = (writer + 1..=reader).filter(|later| insts[*later].control.wait_mask & bit != 0);
    let at = waits.next().filter(|_| waits.next().is_none())?;
    let queue = latency::queue(&insts[writer], arch);
    let is_later = |later: &&Inst| queue.is_some() && latency::queue(later, arch) == queue;
    let waited = insts[writer + 1..=reader].iter().fold(0, |all, inst| all | inst.control.wait_mask);
    let set = |inst: &Inst| 1u8.checked_shl(inst.control.write_scoreboard.into()).unwrap_or(0);
    if insts[writer + 1..reader].iter().filter(is_later).any(|later| set(later) & waited & 63 != 0) {
        return None;
    }
    let control = Control { wait_mask: insts[at].control.wait_mask & !bit, ..insts[at].control };
    Some(Change { at, control, writer, reader })
}

#[test]
fn compiled_code_that_reads_too_early_is_found() {
    for (name, arch, _) in TARGETS {
        let text = format!(".version 8.7\n.target {name}\n.address_size 64\n{PTX}");
        let options = CompileOptions { target: Some(arch.into()), ..CompileOptions::default() };
        let bytes = compile(&text, &options).expect("it compiles").cubin;
        read_back::cubin(&bytes);
        let mut cubin = Cubin::parse(&bytes).expect("a cubin");
        let section = cubin.functions[0].section;
        let params = [vec![0; 8], 3u32.to_le_bytes().to_vec()].concat();
        assert_eq!((simulated(&cubin, params.clone()), checked(&cubin)), (None, Vec::new()), "{name}, as compiled");
        let original = cubin.sections[section].data.clone();
        let words = code::words(&original, arch);
        let insts: Vec<Inst> =
            words.iter().map(|(address, word)| decode(*word, arch, *address).expect("our own code")).collect();
        let touches: Vec<Touches> = insts.iter().map(|inst| Touches::of(inst, arch)).collect();
        let changes: Vec<Change> = (0..insts.len()).filter_map(|at| change(&insts, &touches, at, arch)).collect();
        for Change { at, control, reader, .. } in &changes {
            let inst = Inst { control: *control, ..insts[*at].clone() };
            let word = encode(&inst, arch, 16 * *at as u64).expect("a control word");
            cubin.sections[section].data[16 * at..16 * at + 16].copy_from_slice(&word.to_le_bytes());
            let what = format!("{name} {:#x} {}", 16 * reader, insts[*reader].display(arch));
            let by_checker = checked(&cubin);
            assert!(by_checker.contains(&(Kind::ReadAfterWrite, 16 * *reader as u64)), "{what}: {by_checker:?}");
            let by_simulator = simulated(&cubin, params.clone()).map(|(kind, _)| kind);
            assert_eq!(by_simulator, Some("read after write"), "{what}");
            cubin.sections[section].data.copy_from_slice(&original);
        }
        let text = |at: usize| insts[at].display(arch).to_string();
        let pairs: Vec<[String; 2]> = changes.iter().map(|change| [text(change.writer), text(change.reader)]).collect();
        assert!(pairs.len() >= 4, "{name}: {pairs:?}");
    }
}
