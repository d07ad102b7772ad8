//! Changes one control word at a time in cubins that are right, and counts by kind what the checker reports. What it does not
//! report stands on standard error: the file, the section, the address, the kind.
//!
//! cargo run --release -p oriole-check --features examples --example mutations -- SEED CHANGES-PER-CUBIN CUBIN...

use oriole_check::check;
use oriole_cubin::{Cubin, SectionKind};
use oriole_isa::{Control, Inst, OperandFlags, code, decode, encode};
use std::collections::BTreeMap;
use std::fs;

/// The changes that a control word allows, each with its name.
fn changes(inst: &Inst) -> Vec<(&'static str, Inst)> {
    let control = inst.control;
    let with = |control| Inst { control, ..inst.clone() };
    let mut all = Vec::new();
    if control.stall > 1 {
        all.push(("stall one less", with(Control { stall: control.stall - 1, ..control })));
        all.push(("stall 1", with(Control { stall: 1, ..control })));
    }
    for at in (0..6).filter(|at| control.wait_mask >> at & 1 != 0) {
        all.push(("wait left out", with(Control { wait_mask: control.wait_mask & !(1 << at), ..control })));
    }
    let none = Control::NO_SCOREBOARD;
    if control.write_scoreboard != none {
        let other = (control.write_scoreboard + 1) % 6;
        all.push(("write scoreboard left out", with(Control { write_scoreboard: none, ..control })));
        all.push(("write scoreboard another", with(Control { write_scoreboard: other, ..control })));
    }
    if control.read_scoreboard != none {
        all.push(("read scoreboard left out", with(Control { read_scoreboard: none, ..control })));
    }
    let marked = inst.operands.iter().enumerate().skip(1).map(|(at, _)| {
        let mut kept = with(Control { stay: true, stall: control.stall.clamp(1, 11), ..control });
        kept.operands[at].flags = kept.operands[at].flags.with(OperandFlags::REUSE);
        ("operand kept", kept)
    });
    all.extend(marked);
    all
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = || arguments.next().and_then(|text| text.parse::<u64>().ok()).expect("a number");
    let (mut seed, per_cubin) = (number() | 1, number());
    let mut random = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed as usize % below.max(1)
    };
    let mut counts: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for path in arguments {
        let Ok(mut cubin) = Cubin::parse(&fs::read(&path).expect("a readable file")) else { continue };
        let Ok(arch) = cubin.target.to_string().parse() else { continue };
        if !check(&cubin, &[]).is_ok_and(|report| report.findings.is_empty()) {
            continue;
        }
        let texts = (0..cubin.sections.len()).filter(|at| cubin.sections[*at].kind == SectionKind::Text);
        let sections: Vec<usize> = texts.collect();
        for _ in 0..per_cubin {
            let section = sections[random(sections.len())];
            let words = code::words(&cubin.sections[section].data, arch);
            let (address, word) = words[random(words.len())];
            let Ok(inst) = decode(word, arch, address) else { continue };
            let all = changes(&inst);
            if all.is_empty() {
                continue;
            }
            let (kind, changed) = &all[random(all.len())];
            let Some(changed) = encode(changed, arch, address).ok().filter(|changed| *changed != word) else {
                continue;
            };
            let at = address as usize..address as usize + 16;
            cubin.sections[section].data[at.clone()].copy_from_slice(&changed.to_le_bytes());
            let is_reported = check(&cubin, &[]).is_ok_and(|report| !report.findings.is_empty());
            cubin.sections[section].data[at].copy_from_slice(&word.to_le_bytes());
            let count = counts.entry((*kind).to_owned()).or_default();
            count[0] += 1;
            count[1] += usize::from(is_reported);
            if !is_reported {
                eprintln!("{path}\t{}\t{address:#x}\t{kind}", cubin.sections[section].name);
            }
        }
    }
    let total = counts.values().fold([0, 0], |all, one| [all[0] + one[0], all[1] + one[1]]);
    for (kind, [tried, reported]) in counts.into_iter().chain([("all".to_owned(), total)]) {
        println!("{kind}: {reported} of {tried}");
    }
}
