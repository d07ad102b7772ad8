//! `oriole check` and the strict simulator judge each other: nothing is found in compiled kernels, and whatever
//! the simulator reports of one whose control words were changed is found without running it too.

// The comparison of results belongs to other tests.
#[allow(dead_code, unused_imports)]
use crate::read_back;

use crate::launch::{Launch, launches};
use oriole_check::{Kind, check};
use oriole_codegen::{CompileOptions, compile};
use oriole_cubin::Cubin;
use oriole_device::argument::{Argument, bind};
use oriole_device::{FaultKind, Memory};
use oriole_isa::{Arch, Control, code, decode, encode};
use oriole_prerequisites::{is_thorough, sample};
use oriole_sim::{Options, RunError, Simulator};
use std::path::Path;

fn compiled(launch: &Launch, arch: Arch) -> Cubin {
    let text = std::fs::read_to_string(launch.ptx(arch.name())).expect("committed PTX");
    let entry = vec![launch.entry().to_owned()];
    let options = CompileOptions { target: Some(arch.into()), entries: entry, ..CompileOptions::default() };
    let cubin = compile(&text, &options).expect("it compiles").cubin;
    read_back::cubin(&cubin);
    Cubin::parse(&cubin).expect("a cubin")
}

#[test]
fn nothing_is_found_in_compiled_kernels() {
    for arch in [Arch::Sm80, Arch::Sm90] {
        for launch in launches() {
            let report = check(&compiled(&launch, arch), &[]).expect("known latencies");
            let found: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
            assert!(found.is_empty(), "{} {arch}:\n{}", launch.name(), found.join("\n"));
            assert!(report.instructions > 0, "{} {arch}", launch.name());
        }
    }
}

/// What can be wrong with a control word: one cycle less, a wait left out, a scoreboard left out.
fn mutations(control: Control) -> Vec<Control> {
    let mut all = Vec::new();
    if control.stall > 1 {
        all.push(Control { stall: control.stall - 1, ..control });
        all.push(Control { stall: 1, ..control });
    }
    for at in (0..6).filter(|at| control.wait_mask >> at & 1 != 0) {
        all.push(Control { wait_mask: control.wait_mask & !(1 << at), ..control });
    }
    if control.write_scoreboard != Control::NO_SCOREBOARD {
        all.push(Control { write_scoreboard: Control::NO_SCOREBOARD, ..control });
    }
    if control.read_scoreboard != Control::NO_SCOREBOARD {
        all.push(Control { read_scoreboard: Control::NO_SCOREBOARD, ..control });
    }
    all
}

/// The section of the kernel, and all that its control words may be changed to: number of the instruction, word.
fn mutants(cubin: &Cubin, launch: &Launch, arch: Arch) -> (usize, Vec<(usize, u128)>) {
    let kernel = cubin.functions.iter().find(|f| f.name == launch.entry()).expect("the kernel");
    let words = code::words(&cubin.sections[kernel.section].data, arch);
    let of_one = |(number, &(address, word)): (usize, &(u64, u128))| {
        let inst = decode(word, arch, address).expect("our own code");
        let changed = mutations(inst.control).into_iter().map(move |control| {
            let inst = oriole_isa::Inst { control, ..inst.clone() };
            (number, encode(&inst, arch, address).expect("a control word"))
        });
        changed.collect::<Vec<_>>()
    };
    (kernel.section, words.iter().enumerate().flat_map(of_one).collect())
}

/// One block of the launch, which does what all do, and the arguments, from the words of `oriole run`.
fn parsed(words: &[String]) -> (oriole_device::Launch, Vec<Argument>) {
    let mut launch = oriole_device::Launch { grid: [1, 1, 1], ..Default::default() };
    let mut arguments = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().expect("an option's value").as_str();
        match word.as_str() {
            "--block" => {
                let sizes: Vec<u32> = value().split(',').map(|size| size.parse().expect("a number")).collect();
                launch.block = sizes.try_into().expect("three numbers");
            }
            "--shared" => launch.shared_bytes = value().parse().expect("a number"),
            "--grid" | "--entry" => {
                value();
            }
            argument => arguments.push(Argument::parse(argument).expect("an argument")),
        }
    }
    (launch, arguments)
}

/// Runs a launch under strict simulation; true if a hazard stops it.
fn has_hazard(cubin: &Cubin, launch: &Launch, folder: &Path) -> bool {
    // A wrong result may make a loop endless.
    let options = Options { strict: true, max_instructions: 2_000_000, ..Options::default() };
    let simulator = Simulator::new(cubin, options).expect("it loads");
    let (words, _) = launch.arguments(folder);
    let (shape, arguments) = parsed(&words);
    let mut memory = Memory::new();
    let bound = bind(&arguments, &simulator.parameters(launch.entry()).expect("its parameters"), &mut memory);
    let shape = oriole_device::Launch { params: bound.expect("arguments fit").params, ..shape };
    match simulator.launch(launch.entry(), &shape, &mut memory) {
        Err(RunError::Fault(fault)) => matches!(fault.kind, FaultKind::Hazard(_)),
        _ => false,
    }
}

/// How many of so many mutations each judge reports.
#[derive(Debug, Default)]
struct Count {
    mutations: usize,
    by_simulator: usize,
    by_checker: usize,
}

fn compare(name: &str, arch: Arch, every: usize, count: &mut Count) {
    let launch = launches().into_iter().find(|launch| launch.name() == name).expect("a launch of the list");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut cubin = compiled(&launch, arch);
    assert!(!has_hazard(&cubin, &launch, folder.path()), "{name} {arch}: as it was compiled");
    let (section, all) = mutants(&cubin, &launch, arch);
    let original = cubin.sections[section].data.clone();
    for &(number, word) in all.iter().step_by(every) {
        cubin.sections[section].data[16 * number..16 * number + 16].copy_from_slice(&word.to_le_bytes());
        let (simulator, report) =
            (has_hazard(&cubin, &launch, folder.path()), check(&cubin, &[]).expect("it is checked"));
        let checker = !report.findings.is_empty();
        let text =
            || decode(word, arch, 16 * number as u64).map(|inst| format!("{} {:?}", inst.display(arch), inst.control));
        assert!(checker || !simulator, "{name} {arch}: only the simulator sees {:#x} {:?}", 16 * number, text());
        count.mutations += 1;
        count.by_simulator += usize::from(simulator);
        count.by_checker += usize::from(checker);
        cubin.sections[section].data.copy_from_slice(&original);
    }
}

/// Launches whose kernels are changed, and which mutations are tried: each, each third one and so on.
const KERNELS: [(&str, usize); 7] = [
    ("vecadd", 1),
    ("dynamic_shared_multi", 2),
    ("local_array", 2),
    ("int_division", 11),
    ("scan_shuffle", 7),
    ("recursive_fib", 5),
    ("reduce_f32_256", 9),
];

/// All mutations with `ORIOLE_MUTATIONS=1`, every so many without, and half of those without `ORIOLE_THOROUGH=1`.
#[test]
fn whatever_strict_simulation_reports_is_found() {
    let all = std::env::var_os("ORIOLE_MUTATIONS").is_some();
    for arch in [Arch::Sm80, Arch::Sm90] {
        let mut count = Count::default();
        for (name, every) in KERNELS {
            let every = match all {
                true => 1,
                false if is_thorough() => every,
                false => 2 * every,
            };
            compare(name, arch, every, &mut count);
        }
        println!("{arch}: {count:?}");
        assert!(count.by_simulator as u64 > sample(20), "{arch}: {count:?}");
        assert!(count.by_checker >= count.by_simulator, "{arch}: {count:?}");
    }
}

/// A finding names both instructions, the register and what is missing.
#[test]
fn a_finding_names_both_instructions() {
    let launch = launches().into_iter().find(|launch| launch.name() == "vecadd").expect("the first kernel");
    let mut cubin = compiled(&launch, Arch::Sm90);
    let section = cubin.functions[0].section;
    let words = code::words(&cubin.sections[section].data, Arch::Sm90);
    let add = |inst: &oriole_isa::Inst| inst.opcode == oriole_isa::Opcode::FADD;
    let found = words.iter().find_map(|&(address, word)| {
        let inst = decode(word, Arch::Sm90, address).expect("our own code");
        add(&inst).then_some((address, inst))
    });
    let (address, mut inst) = found.expect("an addition");
    assert_ne!(inst.control.wait_mask, 0, "it waits for its loads");
    inst.control.wait_mask = 0;
    let word = encode(&inst, Arch::Sm90, address).expect("it encodes").to_le_bytes();
    let at = address as usize;
    cubin.sections[section].data[at..at + 16].copy_from_slice(&word);
    let report = check(&cubin, &[]).expect("it is checked");
    let finding = report.findings.iter().find(|f| f.kind == Kind::ReadAfterWrite).expect("a read too early");
    assert_eq!(finding.later.address, address);
    assert!(finding.earlier.as_ref().is_some_and(|earlier| earlier.text.contains("LDG")), "{finding}");
    assert!(finding.to_string().contains("no wait for SB"), "{finding}");
}

/// Local memory beyond the frame that the kernel declares is there for whoever does not look.
#[test]
fn strict_simulation_keeps_to_the_declared_frame() {
    let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 at) {
        .local .align 4 .b8 frame[32];
        .reg .b64 %rd<3>; .reg .b32 %r<5>;
        ld.param.u64 %rd1, [out];
        ld.param.u32 %r1, [at];
        mov.u32 %r2, frame;
        add.u32 %r2, %r2, %r1;
        st.local.u32 [%r2], %r1;
        ld.local.u32 %r3, [%r2];
        cvta.to.global.u64 %rd2, %rd1;
        st.global.u32 [%rd2], %r3;
        ret;
    }";
    let options = CompileOptions { target: Some(Arch::Sm80.into()), ..CompileOptions::default() };
    let cubin = Cubin::parse(&compile(ptx, &options).expect("it compiles").cubin).expect("a cubin");
    let runs = |strict: bool, at: i32| {
        let simulator = Simulator::new(&cubin, Options { strict, ..Options::default() }).expect("it loads");
        let mut memory = Memory::new();
        let out = memory.allocate_with("out", &[0; 4]);
        let values = [out.to_le_bytes().to_vec(), at.to_le_bytes().to_vec()].map(Argument::Value);
        let slots = simulator.parameters("k").expect("its parameters");
        let params = bind(&values, &slots, &mut memory).expect("arguments fit").params;
        let launch = oriole_device::Launch { grid: [1, 1, 1], block: [1, 1, 1], params, ..Default::default() };
        simulator.launch("k", &launch, &mut memory).is_ok()
    };
    assert!(runs(true, 28) && runs(false, 28));
    assert!(runs(false, -64) && !runs(true, -64));
}
