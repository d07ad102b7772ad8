//! Reads `spec/special_registers.tsv` and writes it as a static table.

use crate::targets;
use std::fmt::Write;

/// `special_registers.rs`: one `SpecialRegister` per row, by number.
pub(crate) fn table(name: &str, text: &str) -> Result<String, String> {
    let mut rows = Vec::new();
    for (line, row) in text.lines().enumerate().filter(|(_, l)| !l.starts_with('#') && !l.starts_with("number\t")) {
        rows.push(self::row(row).map_err(|e| format!("{name}:{}: {e}", line + 1))?);
    }
    if let Some(pair) = rows.windows(2).find(|pair| pair[0].0 > pair[1].0) {
        return Err(format!("{name}: {} stands before {}", pair[0].0, pair[1].0));
    }
    let overlap = |(i, a): (usize, &Row)| rows[i + 1..].iter().any(|b| a.0 == b.0 && a.1 & b.1 != 0);
    if let Some((_, row)) = rows.iter().enumerate().find(|(i, row)| overlap((*i, row))) {
        return Err(format!("{name}: number {} has two rows for one target", row.0));
    }
    let mut out = format!("static TABLE: [SpecialRegister; {}] = [\n", rows.len());
    for (_, _, text) in rows {
        let _ = writeln!(out, "    {text},");
    }
    out.push_str("];\n");
    Ok(out)
}

/// Number, targets, expression.
type Row = (u8, targets::Targets, String);

fn row(line: &str) -> Result<Row, String> {
    let cells: Vec<&str> = line.split('\t').collect();
    let [number, name, ptx, scope, coupled, shaders, on, fields, meaning] = cells[..] else {
        return Err(format!("expected 9 columns, found {}", cells.len()));
    };
    let number: u8 = number.parse().map_err(|_| "S2R register must be between 0 and 255 inclusive".to_owned())?;
    let scope = match scope {
        "thread" => "Thread",
        "warp" => "Warp",
        "cta" => "Cta",
        "grid" => "Grid",
        "sm" => "Sm",
        "global" => "Global",
        _ => return Err(format!("unknown scope '{scope}'")),
    };
    let on = if on == "all" { targets::Targets::MAX } else { targets::list(on)? };
    let ptx = (ptx != "-").then_some(ptx);
    let fields = fields.split(' ').map(field).collect::<Result<Vec<_>, _>>()?.join(", ");
    let text = format!(
        "SpecialRegister {{ number: {number}, name: {name:?}, ptx: {ptx:?}, scope: Scope::{scope}, coupled: {}, \
         shaders: {shaders:?}, targets: {on}, fields: &[{fields}], meaning: {meaning:?} }}",
        coupled == "yes"
    );
    Ok((number, on, text))
}

/// `NAME=HIGH:LOW` or `HIGH:LOW`.
fn field(text: &str) -> Result<String, String> {
    let bad = || format!("bad field '{text}'");
    let (name, range) = text.split_once('=').unwrap_or(("", text));
    let (high, low) = range.split_once(':').ok_or_else(bad)?;
    let (high, low): (u8, u8) = (high.parse().map_err(|_| bad())?, low.parse().map_err(|_| bad())?);
    if high > 31 || low > high {
        return Err(bad());
    }
    Ok(format!("BitField {{ name: {name:?}, high: {high}, low: {low} }}"))
}
