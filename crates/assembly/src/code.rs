//! Code sections: words to lines and back.

use crate::bytes::write_bytes;
use oriole_isa::{Arch, Control, Inst, Operand, Value, code, decode, encode, parse};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

/// Wait mask, read and write scoreboard, stay bit, stall count: `B--2---:R-:W1:Y:S04`.
pub fn control_text(control: Control) -> String {
    let waits: String =
        (0..6).map(|i| if control.wait_mask >> i & 1 == 1 { char::from(b'0' + i) } else { '-' }).collect();
    let scoreboard = |number: u8| if number == Control::NO_SCOREBOARD { '-' } else { char::from(b'0' + number) };
    let stay = if control.stay { 'Y' } else { '-' };
    let (read, write) = (scoreboard(control.read_scoreboard), scoreboard(control.write_scoreboard));
    format!("B{waits}:R{read}:W{write}:{stay}:S{:02}", control.stall)
}

/// The inverse of [`control_text`]; `None` of what it never writes.
pub fn parse_control(text: &str) -> Option<Control> {
    let parts: Vec<&str> = text.split(':').collect();
    let [waits, read, write, stay, stall] = parts[..] else { return None };
    let waits = waits.strip_prefix('B').filter(|waits| waits.len() == 6)?;
    let mut wait_mask = 0;
    for (i, c) in waits.bytes().enumerate() {
        match c {
            b'-' => {}
            c if c == b'0' + i as u8 => wait_mask |= 1 << i,
            _ => return None,
        }
    }
    let scoreboard = |text: &str, letter: char| match text.strip_prefix(letter)? {
        "-" => Some(Control::NO_SCOREBOARD),
        number => number.parse().ok().filter(|number| *number < Control::NO_SCOREBOARD),
    };
    Some(Control {
        stall: stall.strip_prefix('S')?.parse().ok().filter(|stall| *stall < 16)?,
        stay: match stay {
            "Y" => true,
            "-" => false,
            _ => return None,
        },
        write_scoreboard: scoreboard(write, 'W')?,
        read_scoreboard: scoreboard(read, 'R')?,
        wait_mask,
        ..Control::NONE
    })
}

/// Writes a code section: a line per instruction, labels where something branches to and where `named`
/// symbols lie. A word whose text would not give it back is written as `.word`. Writes nothing and gives
/// false where text cannot say all of the bytes: a bundle's control word with its top bit set.
pub(crate) fn write(out: &mut String, data: &[u8], arch: Arch, named: &BTreeMap<u64, Vec<String>>) -> bool {
    let words = code::words(data, arch);
    let covered = code::bytes(&words.iter().map(|(_, word)| *word).collect::<Vec<_>>(), arch);
    let Some(rest) = data.strip_prefix(covered.as_slice()) else { return false };
    let insts: Vec<(u64, u128, Option<Inst>)> =
        words.iter().map(|(pc, word)| (*pc, *word, decode(*word, arch, *pc).ok())).collect();
    let labels = Labels::new(&insts, named);
    for (pc, word, inst) in &insts {
        for name in named.get(pc).into_iter().flatten() {
            let _ = writeln!(out, "{name}:");
        }
        if let Some(label) = labels.by_address.get(pc) {
            let _ = writeln!(out, "{label}:");
        }
        let line = inst.as_ref().and_then(|inst| labels.instruction(inst, *word, *pc, arch));
        let _ = match line {
            Some(line) => writeln!(out, "        /*{pc:04x}*/ {line} ;"),
            None => writeln!(out, "        /*{pc:04x}*/ .word {word:#034x}"),
        };
    }
    write_bytes(out, rest);
    true
}

/// The addresses that instructions branch to.
pub(crate) fn branch_targets<'a>(insts: impl Iterator<Item = &'a Inst>) -> BTreeSet<u64> {
    let target = |operand: &Operand| match operand.value {
        Value::Label(target) => u64::try_from(target).ok(),
        _ => None,
    };
    insts.flat_map(|inst| &inst.operands).filter_map(target).collect()
}

/// Names of the addresses in a section that are branched to.
struct Labels {
    by_address: BTreeMap<u64, String>,
    by_name: HashMap<String, i64>,
}

impl Labels {
    fn new(insts: &[(u64, u128, Option<Inst>)], named: &BTreeMap<u64, Vec<String>>) -> Labels {
        let is_instruction = |address: &u64| insts.binary_search_by_key(address, |(pc, ..)| *pc).is_ok();
        let targets = branch_targets(insts.iter().filter_map(|(_, _, inst)| inst.as_ref()));
        let targets = targets.into_iter().filter(is_instruction);
        let symbols: BTreeSet<&String> = named.values().flatten().collect();
        // The file's own symbols may have such names.
        let prefix = [".L_x_", ".L_b_", ".L_c_"].into_iter().find(|p| !symbols.iter().any(|name| name.starts_with(p)));
        let label = |number: usize| format!("{}{number}", prefix.unwrap_or(".L_oriole_"));
        let by_address: BTreeMap<u64, String> = targets.enumerate().map(|(n, at)| (at, label(n))).collect();
        let by_name = by_address.iter().map(|(at, name)| (name.clone(), *at as i64)).collect();
        Labels { by_address, by_name }
    }

    /// Control and text of an instruction, if they give the word back.
    fn instruction(&self, inst: &Inst, word: u128, pc: u64, arch: Arch) -> Option<String> {
        let name = |target: i64| u64::try_from(target).ok().and_then(|target| self.by_address.get(&target).cloned());
        let resolve = |name: &str| self.by_name.get(name).copied();
        let display = || inst.display(arch).labels(&name);
        let usual = display().to_string();
        let texts = std::iter::once(usual).chain(std::iter::once_with(|| display().explicit().to_string()));
        let text = { texts }.find(|text| assemble(text, inst.control, pc, arch, &resolve) == Ok(word))?;
        Some(format!("{} {text}", control_text(inst.control)))
    }
}

/// The word of an instruction's text.
pub(crate) fn assemble(
    text: &str,
    control: Control,
    pc: u64,
    arch: Arch,
    resolve: &dyn Fn(&str) -> Option<i64>,
) -> Result<u128, String> {
    let mut inst = parse(text, arch, resolve).map_err(|e| e.to_string())?;
    inst.control = control;
    encode(&inst, arch, pc).map_err(|e| e.to_string())
}
