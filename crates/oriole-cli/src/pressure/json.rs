//! Pressure as JSON, which `docs/cli.md` describes.

use super::gain;
use oriole_codegen::{LiveValue, Peak, Pressure, PressureCounts, PressureInst};
use serde_json::{Map, Value, json};

/// Names of the files, in the order of the counts.
pub(super) const FILES: [&str; 5] = ["R", "UR", "P", "UP", "B"];

pub(super) fn document(functions: &[Pressure]) -> Value {
    json!({ "functions": functions.iter().map(function).collect::<Value>() })
}

fn function(pressure: &Pressure) -> Value {
    let peaks = FILES.into_iter().zip(&pressure.peaks).filter_map(|(file, found)| {
        let found = found.as_ref()?;
        Some((file.to_owned(), peak(file, found)))
    });
    let steps = pressure
        .steps
        .iter()
        .map(|step| json!({ "registers": step.registers, "warps": step.warps, "blocks": step.blocks }));
    json!({
        "name": pressure.function,
        "kernel": pressure.is_kernel,
        "registers": pressure.registers,
        "peaks": peaks.collect::<Map<_, _>>(),
        "occupancy": steps.filter(|_| pressure.is_kernel).collect::<Value>(),
        "gain": gain(pressure),
        "instructions": pressure.insts.iter().map(instruction).collect::<Value>(),
    })
}

fn counts(counts: PressureCounts) -> Map<String, Value> {
    FILES.into_iter().zip(counts).map(|(file, count)| (file.to_owned(), count.into())).collect()
}

fn instruction(inst: &PressureInst) -> Value {
    json!({
        "block": inst.block,
        "line": inst.line,
        "text": inst.text,
        "live": counts(inst.counts),
    })
}

fn peak(file: &str, peak: &Peak) -> Value {
    let value = |value: &LiveValue| {
        json!({
            "register": format!("{file}{}", value.register),
            "name": value.name,
            "written": value.written,
            "read": value.read,
        })
    };
    json!({ "live": peak.count, "instruction": peak.inst, "values": peak.values.iter().map(value).collect::<Value>() })
}
