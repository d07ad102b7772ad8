//! The latency tables against code that the reference assembler made: within straight-line code it
//! never goes below a distance of the tables. `tests/data/code` holds ptxas 13.0.88's code of a few
//! kernels of `../shared/kernels`: `F name`, then address and word of each instruction.

use oriole_isa::latency::{self, LatencyClass, Slot};
use oriole_isa::{Arch, Control, Effects, Inst, RegFile, Value, decode};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

/// One register of one operand (or the guard).
struct Touch {
    register: (RegFile, u16),
    slot: Slot,
}

/// A read or write that later instructions may depend on.
struct Event {
    cycle: u64,
    inst: Inst,
    slot: Slot,
}

fn touches(inst: &Inst, definitions: bool) -> Vec<Touch> {
    let mut all = Vec::new();
    if !definitions && inst.guard.predicate != 7 {
        let file = if inst.opcode.info().guard_uniform { RegFile::UP } else { RegFile::P };
        all.push(Touch { register: (file, inst.guard.predicate.into()), slot: Slot::Guard });
    }
    for (i, _) in inst.opcode.signature().iter().enumerate().filter(|(_, s)| s.is_def == definitions) {
        let (file, first, width) = match inst.operands[i].value {
            Value::Reg(file, number) if file.zero() != Some(number) => (file, number, inst.width(i)),
            Value::ConstBindless { ureg, .. } => (RegFile::UR, ureg, 2),
            _ => continue,
        };
        let index = u8::try_from(i).expect("signatures are short");
        for register in 0..width {
            let slot = Slot::Operand { index, register };
            all.push(Touch { register: (file, first + u16::from(register)), slot });
        }
    }
    all
}

/// The two never execute in the same thread: one predicate guards them, in opposite sense.
fn exclude_each_other(a: &Inst, b: &Inst) -> bool {
    a.guard.predicate != 7 && a.guard.predicate == b.guard.predicate && a.guard.negated != b.guard.negated
}

/// After it nothing is known of the time that the next instruction issues.
fn blocks(inst: &Inst) -> bool {
    inst.opcode.info().effects.contains(Effects::SIDE_EFFECT) || inst.opcode.info().latency == LatencyClass::Bar
}

#[derive(Default)]
struct Walk {
    cycle: u64,
    /// Pairs that begin before this cycle have a wait in between, of unknown length.
    known_since: u64,
    writes: HashMap<(RegFile, u16), Vec<Event>>,
    reads: HashMap<(RegFile, u16), Vec<Event>>,
    pairs: usize,
    faults: Vec<String>,
}

impl Walk {
    fn step(&mut self, inst: Inst, arch: Arch) {
        if inst.control.wait_mask != 0 {
            self.known_since = self.cycle + 1;
        }
        let (uses, definitions) = (touches(&inst, false), touches(&inst, true));
        for touch in &uses {
            self.check(&inst, touch, true, arch, |earlier, slot| {
                (!latency::is_variable(earlier, arch)).then(|| latency::raw(earlier, slot, &inst, touch.slot, arch))
            });
        }
        for touch in &definitions {
            self.check(&inst, touch, true, arch, |earlier, slot| {
                (!latency::is_variable(earlier, arch)).then(|| latency::waw(earlier, slot, &inst, arch))
            });
            self.check(&inst, touch, false, arch, |earlier, slot| {
                (!latency::reads_late(earlier, slot, arch)).then(|| latency::war(earlier, slot, &inst, arch))
            });
        }
        self.record(&inst, uses, definitions);
        self.cycle += u64::from(inst.control.stall.max(1));
        if blocks(&inst) {
            self.known_since = self.cycle;
        }
    }

    fn check(
        &mut self,
        inst: &Inst,
        touch: &Touch,
        written: bool,
        arch: Arch,
        needed: impl Fn(&Inst, Slot) -> Option<u8>,
    ) {
        let events = if written { &self.writes } else { &self.reads };
        for event in events.get(&touch.register).into_iter().flatten() {
            if event.cycle < self.known_since || exclude_each_other(&event.inst, inst) {
                continue;
            }
            let Some(needed) = needed(&event.inst, event.slot) else { continue };
            self.pairs += 1;
            let distance = self.cycle - event.cycle;
            if u64::from(needed) > distance {
                let texts = (event.inst.display(arch), inst.display(arch));
                self.faults.push(format!("{} -> {}: the table says {needed}, ptxas {distance}", texts.0, texts.1));
            }
        }
    }

    fn record(&mut self, inst: &Inst, uses: Vec<Touch>, definitions: Vec<Touch>) {
        let event = |slot| Event { cycle: self.cycle, inst: inst.clone(), slot };
        for touch in uses {
            self.reads.entry(touch.register).or_default().push(event(touch.slot));
        }
        for touch in definitions {
            let writes = self.writes.entry(touch.register).or_default();
            if inst.guard.predicate == 7 {
                writes.clear();
                self.reads.remove(&touch.register);
            }
            writes.push(event(touch.slot));
        }
        let jumps = inst.opcode.info().effects.contains(Effects::BRANCH);
        if jumps && inst.guard.predicate == 7 {
            self.writes.clear();
            self.reads.clear();
        }
    }
}

#[test]
fn ptxas_keeps_the_distances() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/code");
    for arch in [Arch::Sm80, Arch::Sm86, Arch::Sm89, Arch::Sm90] {
        let text = fs::read_to_string(folder.join(format!("{arch}.txt"))).expect("committed code");
        let mut walk = Walk::default();
        for line in text.lines() {
            let (address, word) = line.split_once(' ').expect("two cells");
            if address == "F" {
                walk = Walk { pairs: walk.pairs, faults: walk.faults, ..Walk::default() };
                continue;
            }
            let pc = u64::from_str_radix(address, 16).expect("hexadecimal");
            let word = u128::from_str_radix(word, 16).expect("hexadecimal");
            walk.step(decode(word, arch, pc).expect("a known instruction"), arch);
        }
        println!("{arch}: {} pairs", walk.pairs);
        assert!(walk.pairs > 500, "{arch}: only {} pairs", walk.pairs);
        assert!(walk.faults.is_empty(), "{arch}: {:#?}", walk.faults);
    }
}

/// Figures that several publications agree on.
#[test]
fn well_known_latencies() {
    let parse = |text: &str, arch| oriole_isa::parse(text, arch, &|_| None).expect("a known instruction");
    let d = Slot::Operand { index: 0, register: 0 };
    let raw = |first: &str, second: &str, place, arch| {
        latency::raw(&parse(first, arch), d, &parse(second, arch), place, arch)
    };
    let at = |index| Slot::Operand { index, register: 0 };
    for arch in [Arch::Sm80, Arch::Sm86, Arch::Sm89, Arch::Sm90] {
        assert_eq!(raw("FADD R0, R1, R2", "FADD R3, R0, R4", at(1), arch), 4);
        assert_eq!(raw("ISETP.GE.AND P0, PT, R0, R1, PT", "@P0 EXIT", Slot::Guard, arch), 13);
        assert!(latency::is_variable(&parse("LDS R0, [R1]", arch), arch));
        assert_eq!(latency::is_variable(&parse("DADD R0, R2, R4", arch), arch), arch != Arch::Sm90);
        assert_eq!(latency::raw(&parse("LDS R0, [R1]", arch), d, &parse("FADD R3, R0, R4", arch), at(1), arch), 0);
    }
    // VIADD runs on the multiply-add pipe: one cycle more to an ALU reader, unlike IADD3.
    assert_eq!(raw("VIADD R0, R1, 0x1", "LOP3.LUT R3, R0, R4, RZ, 0xc0, !PT", at(2), Arch::Sm90), 5);
}

/// Figures from ptxas's code (docs/sources.md, Latencies) for the targets around Ampere to Hopper, by another route than
/// the tables' generator.
#[test]
fn other_generations() {
    let parse = |text: &str, arch| oriole_isa::parse(text, arch, &|_| None).expect("a known instruction");
    let d = Slot::Operand { index: 0, register: 0 };
    let raw = |first: &str, second: &str, place, arch| {
        latency::raw(&parse(first, arch), d, &parse(second, arch), place, arch)
    };
    let at = |index| Slot::Operand { index, register: 0 };
    let (and, min) = ("LOP3.LUT R0, R0, R4, RZ, 0xc0, !PT", "FMNMX R0, R0, R2, !PT");
    let lop_source = |arch| {
        let inst = parse(and, arch);
        let source = inst.opcode.signature().iter().position(|o| o.role == oriole_isa::Role::A);
        at(u8::try_from(source.expect("an operand")).expect("short"))
    };
    for arch in [Arch::Sm70, Arch::Sm75, Arch::Sm100, Arch::Sm120] {
        assert_eq!(raw("FADD R0, R1, R2", "FADD R3, R0, R4", at(1), arch), 4, "{arch}");
        assert_eq!(latency::is_variable(&parse("DADD R0, R2, R4", arch), arch), arch != Arch::Sm100, "{arch}");
    }
    // The two halves of sm_120's ALU.
    for (arch, across) in [(Arch::Sm75, 4), (Arch::Sm100, 4), (Arch::Sm120, 5)] {
        let lop = "LOP3.LUT R0, R1, R4, RZ, 0xc0, !PT";
        let inst = parse(lop, arch);
        let def = inst.opcode.signature().iter().position(|o| o.is_def && o.role == oriole_isa::Role::D);
        let def = Slot::Operand { index: u8::try_from(def.expect("a result")).expect("short"), register: 0 };
        assert_eq!(latency::raw(&inst, def, &parse(and, arch), lop_source(arch), arch), 4, "{arch}");
        assert_eq!(latency::raw(&parse(min, arch), d, &parse(and, arch), lop_source(arch), arch), across, "{arch}");
        assert_eq!(latency::raw(&parse(min, arch), d, &parse(min, arch), at(1), arch), across, "{arch}");
    }
    // Matrices: by shape, and by scoreboard on Turing.
    let product = "HMMA.16816.F32 R0, R4, R8, R0";
    for (arch, cycles) in [(Arch::Sm80, 24), (Arch::Sm100, 20), (Arch::Sm120, 29)] {
        assert_eq!(raw(product, product, at(3), arch), cycles, "{arch}");
    }
    assert!(latency::is_variable(&parse("HMMA.1688.F32 R0, R4, R8, R0", Arch::Sm75), Arch::Sm75));
    // No table: the longest distance, for every reader.
    assert_eq!(raw("FADD R0, R1, R2", "FADD R3, R0, R4", at(1), Arch::Sm50), 14);
}

/// The cells of a table: file, first and second class to the number per target, `-` where there is none.
fn cells(path: &str, keys: usize) -> BTreeMap<Vec<String>, BTreeMap<String, String>> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a committed table");
    let mut lines = text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').map(str::to_owned));
    let head: Vec<String> = lines.next().expect("a head").collect();
    let is_target = |name: &String| name.starts_with("sm_");
    let row = |line: Vec<String>| {
        let numbers = head.iter().zip(&line).filter(|(name, _)| is_target(name));
        (line[..keys].to_vec(), numbers.map(|(name, cell)| (name.clone(), cell.clone())).collect())
    };
    lines.map(|line| row(line.collect())).collect()
}

/// Scheduler, checker and strict simulator share the tables, so that none of them sees a wrong number. Here every
/// cell is compared with what it rests on: the distances mined from ptxas's code, and the published numbers, as
/// `tools/latency_evidence.py` takes them from there.
#[test]
fn every_cell_is_what_was_mined_or_published() {
    let evidence = cells("tests/data/latency.tsv", 4);
    let mut rows = 0;
    let mut faults = Vec::new();
    for kind in ["raw", "waw", "war"] {
        for (key, numbers) in cells(&format!("spec/latency/{kind}.tsv"), 3) {
            rows += 1;
            let key: Vec<String> = std::iter::once(kind.to_owned()).chain(key).collect();
            let wanted = evidence.get(&key).unwrap_or_else(|| panic!("{key:?}: nothing tells what it rests on"));
            for (target, number) in numbers {
                let wanted = wanted[&target].trim_end_matches(char::is_alphabetic);
                if number != wanted {
                    faults.push(format!("{key:?} {target}: {number}, the evidence says {wanted}"));
                }
            }
        }
    }
    assert_eq!(rows, evidence.len(), "rows that are not in the tables");
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Own stalls, as ptxas's code has them: docs/isa/latency.md, Facts that are code, not rows.
#[test]
fn control_flow_stalls_by_itself() {
    let parse = |text: &str, arch| oriole_isa::parse(text, arch, &|_| Some(0)).expect("a known instruction");
    let all = [Arch::Sm75, Arch::Sm80, Arch::Sm86, Arch::Sm89, Arch::Sm90, Arch::Sm100, Arch::Sm120];
    // On sm_75, from sm_80 to sm_89, from sm_90 on.
    for (first, next, cycles) in [
        ("EXIT", None, [5, 5, 5]),
        ("BSYNC B0", None, [5, 5, 5]),
        ("RET.REL.NODEC R20 `(f)", None, [5, 5, 5]),
        ("BRA `(f)", None, [5, 5, 5]),
        ("DEPBAR.LE SB0, 0x0", None, [4, 4, 4]),
        ("MEMBAR.SC.GPU", None, [5, 6, 6]),
        ("BREAK B0", None, [1, 1, 5]),
        ("NANOSLEEP 0x10", None, [1, 1, 5]),
        ("BSSY B0, `(f)", Some("BRA `(f)"), [1, 1, 4]),
        ("BSSY B0, `(f)", Some("BSYNC B0"), [1, 1, 8]),
        ("BSSY B0, `(f)", Some("FADD R0, R1, R2"), [1, 1, 1]),
        ("WARPSYNC R4", None, [4, 1, 5]),
        ("CCTL.IVALL", None, [5, 5, 1]),
        ("BAR.SYNC.DEFER_BLOCKING 0x0", Some("FADD R0, R1, R2"), [1, 1, 1]),
        ("BAR.SYNC.DEFER_BLOCKING 0x0", Some("LDS R0, [R1]"), [5, 6, 6]),
        ("BAR.SYNC.DEFER_BLOCKING 0x0", Some("BAR.SYNC.DEFER_BLOCKING 0x0"), [5, 6, 6]),
        ("FADD R0, R1, R2", None, [1, 1, 1]),
        ("LDS R0, [R1]", None, [1, 1, 1]),
    ] {
        for arch in all {
            let wanted = cycles[usize::from(arch >= Arch::Sm80) + usize::from(arch >= Arch::Sm90)];
            let next = next.map(|next| parse(next, arch));
            assert_eq!(latency::stall_after(&parse(first, arch), next.as_ref(), arch), wanted, "{first} on {arch}");
        }
    }
    assert_eq!(latency::SET_TO_WAIT, 2);
    let cycles = |stall, stay| Control { stall, stay, ..Control::NONE }.cycles();
    assert_eq!([cycles(0, false), cycles(1, true), cycles(4, false), cycles(15, false)], [45, 1, 4, 15]);
}
