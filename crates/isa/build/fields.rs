//! Writes the modifier fields and the types of their values.

use crate::emit::{camel, enumeration};
use crate::model::{EnumDef, FieldDef, Spec};
use std::fmt::Write;

/// `fields.rs`: `FieldId`, a type for each set of named values, the typed fields, and texts for both.
pub(crate) fn fields(spec: &Spec) -> Result<String, String> {
    let mut out = String::new();
    enumeration(
        &mut out,
        "FieldId",
        "Which modifier field, whatever the type of its values: for code that treats all fields alike.",
        "u16",
        spec.fields.values().map(|f| (camel(&f.name), f.doc.clone(), f.name.clone())),
    );
    let _ = writeln!(out, "pub(crate) mod values {{\n    use super::{{FieldType, Setting}};\n    use std::fmt;\n");
    for def in spec.enums.values().filter(|def| !is_flag(spec, def)) {
        values(&mut out, def);
    }
    let _ = writeln!(out, "}}\n");
    for field in spec.fields.values() {
        typed_field(&mut out, field);
    }
    texts(&mut out, spec)?;
    Ok(out)
}

/// The values are off and on, a `bool`.
fn is_flag(spec: &Spec, def: &EnumDef) -> bool {
    spec.fields.get(&def.name).is_some_and(|field| field.is_flag)
}

/// The type of a set of named values.
fn values(out: &mut String, def: &EnumDef) {
    let doc = if def.doc.is_empty() { format!("Values of `{}`.", def.name) } else { def.doc.clone() };
    let _ = writeln!(out, "    field_values! {{\n        #[doc = {doc:?}]\n        {} {{", camel(&def.name));
    for value in &def.values {
        let shown = if value.text.is_empty() { "not printed".to_owned() } else { format!("`.{}`", value.text) };
        let _ = writeln!(out, "            #[doc = {shown:?}]\n            {} = {},", value.name, value.code);
    }
    let _ = writeln!(out, "        }}\n    }}");
}

fn typed_field(out: &mut String, field: &FieldDef) {
    let of = if field.is_flag { "bool".to_owned() } else { format!("values::{}", camel(&field.of)) };
    let _ = writeln!(
        out,
        "impl Field<{of}> {{\n    #[doc = {:?}]\n    pub const {}: Self = Field::new(FieldId::{});\n}}",
        field.doc,
        field.name.to_uppercase(),
        camel(&field.name)
    );
}

/// Names and printed texts of every field's values, and what the fields say.
fn texts(out: &mut String, spec: &Spec) -> Result<(), String> {
    let _ = writeln!(out, "static FIELD_VALUES: [&[FieldValue]; {}] = [", spec.fields.len());
    for field in spec.fields.keys() {
        let rows: Vec<String> = spec
            .enum_of(field)?
            .values
            .iter()
            .map(|v| format!("FieldValue {{ code: {}, name: {:?}, text: {:?} }}", v.code, v.name, v.text))
            .collect();
        let _ = writeln!(out, "    &[{}],", rows.join(", "));
    }
    let _ = writeln!(out, "];\n");
    let docs: Vec<&String> = spec.fields.values().map(|f| &f.doc).collect();
    let _ = writeln!(out, "static FIELD_DOCS: [&str; {}] = {docs:?};\n", docs.len());
    Ok(())
}
