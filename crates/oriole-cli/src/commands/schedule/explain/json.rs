//! The answer for programs.

use super::Chosen;
use crate::commands::disasm_json::{scoreboard, waits};
use oriole_check::BlockTimeline;
use oriole_isa::access::Register;
use oriole_sched::{Cause, Dependence, Passed, Reasons};
use serde_json::{Map, Value, json};

pub(super) fn document(chosen: &[Chosen]) -> Value {
    let block = |one: &Chosen| {
        json!({
            "function": one.timeline.function,
            "block": one.block.address,
            "cycles": one.order.length(),
            "longest": one.order.longest(),
            "loops": one.loops,
            "instructions": one.reasons().map(|(at, reasons)| instruction(one.block, at, &reasons)).collect::<Value>(),
        })
    };
    chosen.iter().map(block).collect()
}

fn instruction(block: &BlockTimeline, at: usize, reasons: &Reasons) -> Value {
    let issue = &block.instructions[at];
    let control = issue.inst.control;
    let dependences =
        |all: &[Dependence]| all.iter().map(|dependence| self::dependence(block, dependence)).collect::<Value>();
    json!({
        "address": issue.address,
        "text": issue.text,
        "position": at,
        "cycle": reasons.cycle,
        "stall": control.stall,
        "wait": waits(control).collect::<Vec<u8>>(),
        "write": scoreboard(control.write_scoreboard),
        "read": scoreboard(control.read_scoreboard),
        "earliest": reasons.earliest,
        "follows": dependences(&reasons.follows),
        "passed": reasons.passed.iter().map(|(other, why)| passed(block, *other, *why)).collect::<Value>(),
        "height": reasons.height,
        "slack": reasons.slack,
        "critical": reasons.is_critical,
        "fence": reasons.is_fence,
        "followed_by": dependences(&reasons.followed_by),
    })
}

fn dependence(block: &BlockTimeline, dependence: &Dependence) -> Value {
    let kind = match dependence.cause {
        Cause::ReadAfterWrite(_) => "read-after-write",
        Cause::WriteAfterWrite(_) => "write-after-write",
        Cause::WriteAfterRead(_) => "write-after-read",
        Cause::Memory => "memory",
        Cause::Effect => "effect",
        Cause::Behind => "behind-fence",
        Cause::Ahead => "ahead-of-fence",
    };
    json!({
        "address": block.instructions[dependence.other].address,
        "kind": kind,
        "register": register(dependence.cause),
        "latency": dependence.latency,
        "from": dependence.from,
    })
}

/// The name of the register that a dependence is about.
pub(super) fn register(cause: Cause<Option<Register>>) -> Option<String> {
    match cause {
        Cause::ReadAfterWrite(register) | Cause::WriteAfterWrite(register) | Cause::WriteAfterRead(register) => {
            register.map(|register| register.to_string())
        }
        Cause::Memory | Cause::Effect | Cause::Behind | Cause::Ahead => None,
    }
}

fn passed(block: &BlockTimeline, other: usize, why: Passed) -> Value {
    let address = |at: usize| block.instructions[at].address;
    let (reason, more) = match why {
        Passed::Filler => ("filler", json!({})),
        Passed::MayMiss { of } => ("may-miss", json!({ "of": address(of) })),
        Passed::NotReady { of } => ("not-ready", json!({ "of": address(of) })),
        Passed::AsksForLine => ("asks-for-line", json!({})),
        Passed::Busy { unit, cycles } => ("busy", json!({ "unit": unit.name(), "cycles": cycles })),
        Passed::Paced { cycles } => ("paced", json!({ "cycles": cycles })),
        Passed::LongerWay { theirs, ours } => ("longer-way", json!({ "theirs": theirs, "ours": ours })),
        Passed::Tie => ("tie", json!({})),
        Passed::OtherOrder => ("other-order", json!({})),
    };
    let mut all = Map::from_iter([("address".to_owned(), address(other).into()), ("reason".to_owned(), reason.into())]);
    if let Value::Object(more) = more {
        all.extend(more);
    }
    Value::Object(all)
}
