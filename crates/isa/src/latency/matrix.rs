//! Rows of the tables for the results of matrix instructions: one per shape, sparsity and kind of type.

use super::table;
use crate::{Field, Inst, Opcode};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// How an opcode's row is named: the field of its shape, and the fields whose values change the name.
struct Naming {
    opcode: Opcode,
    mnemonic: &'static str,
    shape: Shape,
    kinds: &'static [Field],
}

enum Shape {
    Field(Field),
    /// Dense and sparse shape of an instruction that has one of each.
    Fixed(&'static str, &'static str),
}

const NAMINGS: [Naming; 6] = [
    Naming { opcode: Opcode::HMMA, mnemonic: "HMMA", shape: Shape::Field(Field::HmmaShape), kinds: &[Field::HmmaType] },
    Naming {
        opcode: Opcode::IMMA,
        mnemonic: "IMMA",
        shape: Shape::Field(Field::ImmaShape),
        kinds: &[Field::IntA, Field::IntB],
    },
    Naming { opcode: Opcode::BMMA, mnemonic: "BMMA", shape: Shape::Field(Field::BmmaShape), kinds: &[] },
    Naming { opcode: Opcode::QMMA, mnemonic: "QMMA", shape: Shape::Field(Field::QmmaShape), kinds: &[] },
    Naming { opcode: Opcode::QMMA_SF, mnemonic: "QMMA", shape: Shape::Field(Field::QmmaShape), kinds: &[] },
    Naming { opcode: Opcode::OMMA, mnemonic: "OMMA", shape: Shape::Fixed("16864", "168128"), kinds: &[] },
];

/// The row of all matrix instructions without their own: as long as the longest of the others.
const ANY: &str = "MMA";

/// Opcode, and the values of sparsity, shape and types as far as the opcode has them.
type Key = (Opcode, [u8; 3]);

/// The row of the instruction's result.
pub(crate) fn row(inst: &Inst) -> &'static str {
    static ROWS: OnceLock<FxHashMap<Key, &'static str>> = OnceLock::new();
    let Some(naming) = NAMINGS.iter().find(|n| n.opcode == inst.opcode) else { return ANY };
    let value = |field| inst.get(field);
    let shape = match naming.shape {
        Shape::Field(field) => value(field),
        Shape::Fixed(..) => 0,
    };
    let kind = naming.kinds.iter().find(|field| !kind(**field, value(**field)).is_empty());
    let key = [value(Field::MmaSp), shape, kind.map_or(0, |field| value(*field))];
    ROWS.get_or_init(rows).get(&(inst.opcode, key)).copied().unwrap_or(ANY)
}

/// What the name of a row ends in for a value of a type field.
fn kind(field: Field, code: u8) -> &'static str {
    match field.value(code).map_or("", |v| v.name) {
        "TF32" => ".TF32",
        "U4" | "S4" => ".S4",
        _ => "",
    }
}

fn rows() -> FxHashMap<Key, &'static str> {
    let known: FxHashMap<&str, &'static str> = table::producers().map(|name| (name, name)).collect();
    let mut rows = FxHashMap::default();
    for naming in &NAMINGS {
        let kinds = naming.kinds.iter().flat_map(|field| field.values().iter().map(|v| (v.code, kind(*field, v.code))));
        let kinds: Vec<(u8, &str)> = kinds.filter(|(_, text)| !text.is_empty()).chain([(0, "")]).collect();
        for (sparse, infix) in [(0, ""), (1, "SP.")] {
            let shapes = match naming.shape {
                Shape::Field(field) => field.values().iter().map(|v| (v.code, v.text)).collect(),
                Shape::Fixed(dense, halved) => vec![(0, if sparse == 0 { dense } else { halved })],
            };
            for (shape, text) in shapes {
                for (code, suffix) in &kinds {
                    let name = format!("{}.{infix}{text}{suffix}", naming.mnemonic);
                    if let Some(row) = known.get(name.as_str()) {
                        rows.insert((naming.opcode, [sparse, shape, *code]), *row);
                    }
                }
            }
        }
    }
    rows
}
