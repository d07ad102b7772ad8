//! `.debug_frame` against what happens: programs with functions run on the simulator, and at each instruction the frame, the return address and the
//! registers of the caller have to be where the section says. What they are was seen when the function was called.

mod frames;

use self::frames::{COMPUTED, Entry, Row, Rule, entries, value};
use oriole_cli::fuzz::{Argument, Case};
use oriole_codegen::{CompileOptions, compile};
use oriole_cubin::{Cubin, Target};
use oriole_device::{Launch, Memory};
use oriole_isa::{Field, Inst, MemSize, Opcode, RegFile, Role, Value};
use oriole_sim::{Options, Simulator, Spectator, Step};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;

const STACK_POINTER: u16 = 1;
const INST_BYTES: u64 = 16;

/// What a thread's caller had when it called.
struct Frame {
    /// R0 to R254.
    registers: Vec<u32>,
    back: u64,
}

/// A thread.
#[derive(Default)]
struct Thread {
    /// Its callers, the kernel first.
    frames: Vec<Frame>,
    /// Words of local memory that were stored to the stack.
    local: BTreeMap<u64, u32>,
    /// Where it has to be next: it has returned.
    next: Option<u64>,
}

/// What was seen of all threads, and what is wrong.
#[derive(Default)]
struct Seen {
    threads: BTreeMap<(u64, u32, usize), Thread>,
    /// Rules of registers that held.
    held: usize,
    /// Instructions of functions with callers.
    instructions: usize,
    tail_calls: usize,
    wrong: BTreeSet<String>,
}

struct Watch {
    entries: Vec<Entry>,
    seen: Mutex<Seen>,
}

impl Watch {
    fn entry(&self, offset: u64) -> Option<&Entry> {
        self.entries.iter().find(|entry| (entry.start..entry.end).contains(&offset))
    }

    /// Looks at a thread ahead of the instruction at `offset`.
    fn look(&self, seen: &mut Seen, offset: u64, key: (u64, u32, usize), read: &dyn Fn(u16) -> u32) {
        let Some(entry) = self.entry(offset) else { return };
        let Some((frame, local)) =
            seen.threads.get(&key).and_then(|thread| Some((thread.frames.last()?, &thread.local)))
        else {
            return;
        };
        let row = entry.row(offset);
        let word = |address: u64| u64::from(local.get(&address).copied().unwrap_or(0xdead_beef));
        let callers = u64::from(read(row.frame.0)) + row.frame.1;
        let mut faults = Vec::new();
        if callers != u64::from(frame.registers[usize::from(STACK_POINTER)]) {
            faults.push("the caller's frame".to_owned());
        }
        let mut held = 0;
        for (number, rule) in &row.rules {
            let is_address = *number == COMPUTED;
            let index = (number & 0xffff) as usize;
            // R1 is the frame, R255 is zero.
            if !is_address && (index == usize::from(STACK_POINTER) || index >= frame.registers.len()) {
                continue;
            }
            let wanted = if is_address { frame.back } else { frame.registers[index].into() };
            let found = match rule {
                Rule::Lost if is_address => u64::MAX,
                Rule::Lost => continue,
                Rule::Same => read(index as u16).into(),
                Rule::Register(other) => read(*other).into(),
                Rule::Offset(bytes) => word(callers.wrapping_add_signed(*bytes)),
                Rule::Value(expression) => value(expression, callers, |number| read(number).into(), word),
            };
            held += 1;
            if found != wanted {
                faults.push(format!("register {number:#x}, {rule:?}: {found:#x} for {wanted:#x}"));
            }
        }
        seen.held += held;
        seen.instructions += 1;
        if entry.column == COMPUTED && !row.rules.contains_key(&COMPUTED) {
            faults.push("no return address".to_owned());
        }
        seen.wrong.extend(
            faults.into_iter().map(|fault| format!("{offset:#x} of a function at {:#x}: {fault}", entry.start)),
        );
    }

    /// A call, or a tail call: which of both the return address that the callee gets says.
    fn call(&self, seen: &mut Seen, offset: u64, target: u64, key: (u64, u32, usize), read: &dyn Fn(u16) -> u32) {
        let Some(entry) = self.entry(target) else { return };
        let row: &Row = entry.row(entry.start);
        let Some(Rule::Value(expression)) = row.rules.get(&COMPUTED) else { return };
        let address = value(expression, 0, |number| read(number).into(), |_| 0);
        let registers = (0..255).map(read).collect();
        let thread = seen.threads.entry(key).or_default();
        if address == offset + INST_BYTES {
            thread.frames.push(Frame { registers, back: address });
            return;
        }
        seen.tail_calls += 1;
        let back = thread.frames.last().map(|frame| frame.back);
        if back != Some(address) {
            seen.wrong.insert(format!("{offset:#x}: a tail call that returns to {address:#x}, not to {back:x?}"));
        }
    }
}

/// The words that a store to the stack writes: register of the base, offset, first register, how many.
fn stack_store(inst: &Inst) -> Option<(u16, i64, u16, u16)> {
    let operand = |role: Role| inst.opcode.position(role).map(|at| inst.operands[at].value);
    let (Some(Value::Reg(_, base)), Some(Value::Reg(_, data))) = (operand(Role::Base), operand(Role::Data)) else {
        return None;
    };
    let offset = if let Some(Value::Imm(offset)) = operand(Role::Offset) { offset as i64 } else { 0 };
    let words = match inst.get(Field::MEM_SIZE) {
        MemSize::B64 => 2,
        MemSize::B128 => 4,
        _ => 1,
    };
    (inst.opcode == Opcode::STL).then_some((base, offset, data, words))
}

impl Spectator for Watch {
    fn executed(&self, step: &Step<'_>) {
        let Some(inst) = step.inst() else { return };
        let mut seen = self.seen.lock().expect("nobody panics");
        let offset = step.offset();
        let target = || inst.opcode.position(Role::Target).map(|at| inst.operands[at].value);
        for lane in (0..32).filter(|lane| step.active() >> lane & 1 != 0) {
            let key = (step.block(), step.warp(), lane);
            let read = |number: u16| if number < 255 { step.value(RegFile::R, number, lane).unwrap_or(0) } else { 0 };
            let next = seen.threads.get_mut(&key).and_then(|thread| thread.next.take());
            if next.is_some_and(|next| next != offset) {
                seen.wrong.insert(format!("{offset:#x}: it was to return to {next:x?}"));
            }
            match inst.opcode {
                Opcode::CALL => {
                    let base = inst.opcode.position(Role::Base).map(|at| inst.operands[at].value);
                    let target = match (target(), base) {
                        (_, Some(Value::Reg(_, base))) if base != 255 => u64::from(read(base)),
                        (Some(Value::Label(address)), _) => address as u64,
                        _ => continue,
                    };
                    self.call(&mut seen, offset, target, key, &read);
                }
                Opcode::RET => {
                    let thread = seen.threads.entry(key).or_default();
                    thread.next = thread.frames.pop().map(|frame| frame.back);
                }
                // Where it goes on is seen there.
                Opcode::BRA | Opcode::BRX | Opcode::EXIT | Opcode::BSYNC | Opcode::BREAK => {}
                _ => {
                    if let Some((base, bytes, data, words)) = stack_store(inst) {
                        let start = u64::from(read(base)).wrapping_add_signed(bytes);
                        let thread = seen.threads.entry(key).or_default();
                        for word in 0..words {
                            thread.local.insert(start + 4 * u64::from(word), read(data + word));
                        }
                    }
                    self.look(&mut seen, offset + INST_BYTES, key, &read);
                }
            }
        }
    }
}

/// Runs a program at a level, and says what was seen.
fn watch(case: &Case, target: Target, opt_level: u8) -> Seen {
    let options = CompileOptions { target: Some(target), opt_level, ..CompileOptions::default() };
    let compiled = compile(&case.ptx, &options).expect("it compiles");
    let cubin = Cubin::parse(&compiled.cubin).expect("a cubin");
    let plan = &case.plan;
    let watch = Watch { entries: entries(&cubin, &plan.kernel), seen: Mutex::default() };
    let simulator = Simulator::new(&cubin, Options { strict: true, ..Options::default() }).expect("it loads");
    let (mut memory, mut params) = (Memory::new(), Vec::new());
    for argument in &plan.arguments {
        let (bits, bytes) = match argument {
            Argument::Out(bytes) => (memory.allocate("out", *bytes as u64), 8),
            Argument::In(buffer) | Argument::InOut(buffer) => (memory.allocate_with("in", &buffer.bytes()), 8),
            Argument::Value(element, bits) => (*bits, element.bytes()),
        };
        params.resize(params.len().next_multiple_of(bytes), 0);
        params.extend_from_slice(&bits.to_le_bytes()[..bytes]);
    }
    let launch =
        Launch { grid: plan.grid, block: plan.block, cluster: plan.cluster, shared_bytes: plan.shared, params };
    simulator.launch_watched(&plan.kernel, &launch, &mut memory, &watch).expect("it runs");
    watch.seen.into_inner().expect("nobody panics")
}

#[test]
fn callers_are_where_the_section_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    let (mut held, mut instructions, mut tail_calls) = (0, 0, 0);
    let mut wrong = Vec::new();
    for file in std::fs::read_dir(&folder).expect("the folder is committed") {
        let path = file.expect("a readable folder").path();
        let text = std::fs::read_to_string(&path).expect("PTX is text");
        // Functions of the run-time system are not in the file.
        let calls = path.extension().is_some_and(|ext| ext == "ptx")
            && text.contains(".func")
            && !text.contains(".extern .func");
        let Some(case) = calls.then(|| Case::parse(&text).expect("a program")) else { continue };
        for target in &case.targets {
            for level in [0, 3] {
                let seen = watch(&case, *target, level);
                (held, instructions) = (held + seen.held, instructions + seen.instructions);
                tail_calls += seen.tail_calls;
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                wrong.extend(seen.wrong.into_iter().map(|fault| format!("{name} {target} -O{level} {fault}")));
            }
        }
    }
    println!("{instructions} instructions, {held} rules, {tail_calls} tail calls");
    assert!(wrong.is_empty(), "{} of {held}:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
    assert!(instructions > 100_000 && held > 200_000 && tail_calls > 100, "{instructions} {held} {tail_calls}");
}
