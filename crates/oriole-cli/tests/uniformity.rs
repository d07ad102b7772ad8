//! `compile --uniformity`: the listing, the same as JSON, and whether what it says is so when kernels run.

#[allow(dead_code, unused_imports)]
use crate::launch::{Launch, launches};
use oriole_codegen::{CompileOptions, Limits, PassEvent, Session, compile_in, kernels};
use oriole_cubin::Cubin;
use oriole_device::Memory;
use oriole_device::argument::{self, Argument};
use oriole_isa::{Arch, RegFile};
use oriole_ori::analysis::{Cfg, Liveness, Sameness, UniformityLevels, post_dominators};
use oriole_ori::{Block, Function, InstId};
use oriole_prerequisites::{in_turn, is_thorough};
use oriole_sim::{Options, Simulator, Spectator, Step};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Mutex;

/// Lines 6 to 8 read where a thread and a block are, line 10 branches by the thread.
const KERNEL: &str = ".version 8.0
.target sm_80
.address_size 64
.shared .b32 s[4];
.visible .entry k(.param .u64 out) .reqntid 64,2,1 { .reg .b32 %r<9>; .reg .b64 %d<4>; .reg .pred %p, %q;
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %tid.y;
setp.lt.u32 %p, %r1, 7;
@%p bra low;
atom.shared.add.u32 %r8, [s], %r2;
st.shared.u32 [s+4], %r8; mov.u32 %r4, %r2; bra join;
low: mov.u32 %r4, 3;
join: mov.u32 %r5, %warpid;
mov.u32 %r6, %tid.z;
add.u32 %r6, %r6, %r3;
add.u32 %r7, %r5, %r2;
setp.eq.u32 %q, %r3, 0; @!%q bar.sync 1, 128; ld.shared.u32 %r0, [s+8]; st.shared.u32 [s+8], %r7; @%q bar.arrive 1, 128;
ld.param.u64 %d1, [out];
mad.wide.u32 %d2, %r1, 16, %d1;
st.global.v2.u32 [%d2], {%r4, %r6}; st.global.u32 [%d2+2048], %r7; st.global.u32 [%d2+3072], %r0;
shr.u32 %r5, %r1, 5; st.global.u32 [%d2+3076], %r5;
ret; }
";

/// Options that leave the branch as it is, and the read of a thread's place where all have the same.
const PLAIN: [&str; 4] = ["--disable-pass", "OriDoPredication", "--disable-pass", "ReplaceUniformsWithImm"];

fn oriole(folder: &Path, options: &[&str]) -> Output {
    std::fs::write(folder.join("k.ptx"), KERNEL).expect("it can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_oriole"));
    command.current_dir(folder).args(["compile", "k.ptx", "-o", "k.cubin"]).args(options);
    command.output().expect("it runs")
}

fn printed(options: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let done = oriole(folder.path(), options);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("text")
}

/// The comment on the one instruction that has these words.
fn comment<'t>(text: &'t str, words: &str) -> &'t str {
    let mut lines = text.lines().filter_map(|line| line.split_once(" // ")).filter(|(inst, _)| inst.contains(words));
    match (lines.next(), lines.next()) {
        (Some((_, comment)), None) => comment,
        _ => panic!("not one instruction with '{words}':\n{text}"),
    }
}

#[test]
fn the_listing_says_of_each_value_over_which_threads_it_is_the_same_and_why() {
    let text = printed(&[&["--uniformity"], &PLAIN[..]].concat());
    assert!(comment(&text, "SR_TID.X").ends_with(" varying: S2R SR_TID.X, line 6"), "{text}");
    assert!(comment(&text, "SR_CTAID.X").ends_with(" block-uniform: S2R SR_CTAID.X, line 7"), "{text}");
    assert!(comment(&text, "SR_TID.Y").ends_with(" warp-uniform: S2R SR_TID.Y, line 8"), "rows of 64 threads: {text}");
    assert!(comment(&text, "SHF{").contains(" warp-uniform: reads %R"), "rows are whole warps: {text}");
    assert!(comment(&text, "SR_TID.Z").ends_with(" grid-uniform"), "{text}");
    assert!(comment(&text, "ATOMS").ends_with(" varying: ATOMS, line 11: each thread's own"), "{text}");
    assert!(comment(&text, "LDS").ends_with(" warp-uniform: LDS, line 18: what others may write"), "{text}");
    let phi = comment(&text, ";phi");
    assert!(phi.contains(" varying: phi behind the divergent branch of bix"), "{phi}");
    assert!(phi.ends_with(", line 10, from S2R SR_TID.X, line 6"), "{phi}");
    let branch = comment(&text, "BRA");
    assert!(
        branch.starts_with("branch varying: reads %P") && branch.ends_with(", from S2R SR_TID.X, line 6"),
        "{branch}"
    );
    assert!(comment(&text, "SR_VIRTID").contains(" varying: S2R SR_VIRTID"), "the lane is in it");
    assert!(comment(&text, "PRMT").contains(" warp-uniform: reads %R"), "%warpid: {text}");
    // It is Ori: without comments it is read again, and printed the same.
    let func: Function = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(func.first_value().is_some(), "it is in SSA form");
}

#[test]
fn the_same_is_there_as_json_and_at_level_0() {
    let text = printed(&[&["--uniformity=json"], &PLAIN[..]].concat());
    let mut document: Value = serde_json::from_str(&text).expect("it is JSON");
    let function = document["functions"][0].take();
    assert_eq!((function["name"].as_str(), function["kernel"].as_bool()), (Some("k"), Some(true)));
    let insts = function["instructions"].as_array().expect("a list");
    let named = |name: &str| {
        insts.iter().find(|inst| inst["text"].as_str().is_some_and(|text| text.contains(name))).expect("it is there")
    };
    let read = named("SR_TID.X");
    assert_eq!((read["line"].as_u64(), &read["branch"]), (Some(6), &Value::Null));
    let state = &read["results"][0];
    assert_eq!((state["state"].as_str(), state["causes"].as_array().map(Vec::len)), (Some("varying"), Some(1)));
    assert_eq!(state["causes"][0]["text"].as_str(), Some("S2R SR_TID.X, line 6"));
    assert!(state["register"].as_str().is_some_and(|name| name.starts_with("%R")));
    let branch = &named("BRA")["branch"];
    assert_eq!(branch["state"].as_str(), Some("varying"));
    assert_eq!(branch["causes"].as_array().and_then(|causes| causes.last()), Some(&state["causes"][0]));
    let plain = printed(&["--uniformity", "-O0"]);
    assert!(comment(&plain, "SR_TID.Y").ends_with(" warp-uniform: S2R SR_TID.Y, line 8"), "{plain}");
}

#[test]
fn json_stands_alone_on_standard_output() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let status = |options: &[&str]| oriole(folder.path(), options).status.code();
    assert_eq!(status(&["--uniformity=json", "--stats"]), Some(2));
    assert_eq!(status(&["--uniformity=svg"]), Some(2));
    assert_eq!(status(&["--uniformity", "--stats"]), Some(0));
}

/// What is said of a kernel's code before allocation, which takes copies away; and the final code.
struct Expected<'f> {
    func: &'f Function,
    before: Function,
    levels: UniformityLevels,
    insts: Vec<(Block, InstId)>,
    /// Blocks that control can come back to.
    in_loops: BTreeSet<Block>,
    found: Mutex<Found>,
}

/// A register by its file and number.
type Register = (RegFile, u16);

#[derive(Default)]
struct Found {
    /// The values that blocks, and the grid, have: by place, which register, and which block.
    shared: BTreeMap<(usize, Register, Option<u64>), u32>,
    checked: BTreeMap<Sameness, u64>,
    wrong: Vec<String>,
}

impl<'f> Expected<'f> {
    fn new(arch: Arch, before: Function, func: &'f Function) -> Self {
        let cfg = Cfg::new(&before);
        let (after, live) = (post_dominators(&before, &cfg), Liveness::new(&before, &cfg));
        let levels = UniformityLevels::new(&before, arch, &cfg, &after, &live);
        let cfg = Cfg::new(func);
        let comes_back = |block: &Block| {
            let (mut work, mut seen) = (cfg.succs(*block).to_vec(), BTreeSet::new());
            while let Some(next) = work.pop().filter(|next| next != block) {
                if seen.insert(next) {
                    work.extend_from_slice(cfg.succs(next));
                }
                if work.contains(block) {
                    return true;
                }
            }
            cfg.succs(*block).contains(block)
        };
        Expected {
            func,
            before,
            levels,
            insts: func.iter_insts().filter(|(_, inst)| func.emits_code(*inst)).collect(),
            in_loops: func.layout().iter().copied().filter(comes_back).collect(),
            found: Mutex::default(),
        }
    }

    /// The values of a register must be as equal as it is said to be.
    fn judge(&self, step: &Step<'_>, (at, block): (usize, Block), (file, number): Register, level: Sameness) {
        let mut found = self.found.lock().expect("nobody panics");
        let lanes = (0..32).filter(|lane| step.active() >> lane & 1 == 1);
        let values: BTreeSet<u32> = lanes.filter_map(|lane| step.value(file, number, lane)).collect();
        let Some(first) = values.first().copied() else { return };
        *found.checked.entry(level).or_default() += 1;
        // How often a warp has been round is known to itself: across warps only what happens once is compared.
        let group = match level {
            _ if self.in_loops.contains(&block) => None,
            Sameness::Grid => Some(None),
            Sameness::Block => Some(Some(step.block())),
            Sameness::Warp | Sameness::Varying => None,
        };
        let others = group.map(|group| *found.shared.entry((at, (file, number), group)).or_insert(first));
        if values.len() > 1 || others.is_some_and(|other| other != first) {
            let text = oriole_ori::text::inst_text(self.func, self.insts[at].1);
            found.wrong.push(format!(
                "{text}: {level}, block {}, warp {}: {values:x?} {others:x?}",
                step.block(),
                step.warp()
            ));
        }
    }
}

impl Spectator for Expected<'_> {
    fn executed(&self, step: &Step<'_>) {
        let at = (step.offset() / 16) as usize;
        // What is behind the kernel is another function's.
        let (Some((block, id)), Some(inst)) = (self.insts.get(at), step.inst()) else { return };
        assert_eq!(inst.opcode, self.func[*id].opcode, "the code is not where it was put");
        let mut results = Vec::new();
        self.func.for_each_def(*id, |result| {
            let (level, data) = (self.levels.of(result.reg), &self.func[result.reg]);
            let is_known = level < Sameness::Varying && self.before.regs().is_valid(result.reg);
            if let Some(base) = data.physical.filter(|_| is_known) {
                results.extend(result.range.map(|part| ((data.file(), base + u16::from(part)), level)));
            }
        });
        results.into_iter().for_each(|(register, level)| self.judge(step, (at, *block), register, level));
    }
}

/// How a kernel is launched.
struct Shape {
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    arguments: Vec<Argument>,
}

impl Shape {
    /// As the list of launches has it, but for few blocks: the others do the same.
    fn of(launch: &Launch, folder: &Path) -> Shape {
        let (words, _) = launch.arguments(folder);
        let value = |option: &str| words.iter().position(|word| word == option).map(|at| words[at + 1].as_str());
        let three = |option: &str| {
            let numbers = value(option).unwrap_or("1,1,1").split(',').map(|n| n.parse().expect("a number"));
            <[u32; 3]>::try_from(numbers.collect::<Vec<_>>()).expect("three numbers")
        };
        let arguments = words.iter().filter(|word| word.contains(':'));
        Shape {
            grid: three("--grid").map(|size| size.min(3)),
            block: three("--block"),
            shared_bytes: value("--shared").map_or(0, |bytes| bytes.parse().expect("a number")),
            arguments: arguments.map(|word| Argument::parse(word).unwrap_or_else(|e| panic!("{word}: {e}"))).collect(),
        }
    }
}

/// Compile a kernel, run it, and judge each value: how many of each level there were, and what is wrong.
fn watch(ptx: &str, entry: &str, knob: &str, shape: &Shape) -> Found {
    let options =
        CompileOptions { entries: vec![entry.to_owned()], knobs: vec![knob.to_owned()], ..CompileOptions::default() };
    let before = Mutex::new(None);
    let observer = |event: &PassEvent<'_>| {
        if event.function.name() == entry && event.name == LAST {
            *before.lock().expect("nobody panics") = Some(event.function.clone());
        }
    };
    let session = Session::new(Some(&observer), None, Limits::default());
    let compiled = compile_in(ptx, &options, &session).unwrap_or_else(|error| panic!("{entry}: {error}"));
    let cubin = Cubin::parse(&compiled.cubin).expect("a cubin");
    let simulator = Simulator::new(&cubin, Options { strict: true, ..Options::default() }).expect("it loads");
    let mut memory = Memory::new();
    let slots = simulator.parameters(entry).expect("the kernel");
    let bound = argument::bind(&shape.arguments, &slots, &mut memory).expect("arguments that fit");
    let start = oriole_device::Launch {
        grid: shape.grid,
        block: shape.block,
        shared_bytes: shape.shared_bytes,
        params: bound.params.clone(),
        ..oriole_device::Launch::default()
    };
    let (_, func) = kernels(&compiled.module).next().expect("a kernel");
    let before = before.lock().expect("nobody panics").take().expect("the pass runs on every function");
    let expected = Expected::new(compiled.module.arch, before, func);
    let done = simulator.launch_watched(entry, &start, &mut memory, &expected);
    done.unwrap_or_else(|error| panic!("{entry}: {error}"));
    expected.found.into_inner().expect("nobody panics")
}

/// The last pass before allocation.
const LAST: &str = "OriRemoveNopCode";

/// With uniform registers, and with what would be in them in general ones.
const KNOBS: [&str; 2] = ["uniform=0", "uniform=1"];

/// Every launch, on the targets and with the knobs in turn.
#[test]
fn what_is_said_to_be_the_same_is_the_same_when_kernels_run() {
    let (mut checked, mut wrong) = (BTreeMap::<Sameness, u64>::new(), Vec::new());
    let launches = launches();
    let cases = launches.iter().enumerate().flat_map(|(number, launch)| {
        in_turn(number, ["sm_80", "sm_90"]).flat_map(move |target| {
            let turn = number / 2 % KNOBS.len();
            let knobs = if is_thorough() { &KNOBS[..] } else { &KNOBS[turn..=turn] };
            knobs.iter().map(move |knob| (launch, target, *knob))
        })
    });
    for (launch, target, knob) in cases {
        let ptx = std::fs::read_to_string(launch.ptx(target)).expect("committed PTX");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let found = watch(&ptx, launch.entry(), knob, &Shape::of(launch, folder.path()));
        let told = found.wrong.iter().take(3).map(|what| format!("{} {target} {knob}: {what}", launch.name()));
        wrong.extend(told);
        found.checked.into_iter().for_each(|(level, count)| *checked.entry(level).or_default() += count);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for level in [Sameness::Grid, Sameness::Block, Sameness::Warp] {
        assert!(checked.get(&level).is_some_and(|count| *count > 1000), "hardly any are {level}: {checked:?}");
    }
}

/// Here the shape of the block is known, the warp's number is read, and two warps write before the others read.
#[test]
fn facts_of_the_launch_are_so_when_it_happens() {
    let arguments = || vec![Argument::parse("zero:4096").expect("a buffer")];
    for knob in KNOBS {
        let shape = Shape { grid: [3, 1, 1], block: [64, 2, 1], shared_bytes: 0, arguments: arguments() };
        let found = watch(KERNEL, "k", knob, &shape);
        assert!(found.wrong.is_empty(), "{}", found.wrong.join("\n"));
        assert!(found.checked.get(&Sameness::Warp).is_some_and(|count| *count > 10), "{:?}", found.checked);
    }
}
