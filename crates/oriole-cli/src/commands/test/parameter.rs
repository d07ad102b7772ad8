//! A kernel's parameter in a manifest: an `ARG` as `oriole run` takes it, or a table.

use super::contents::Contents;
use super::value::{NonNegative, Scalar, Type};
use crate::commands::comparison::{NanPolicy, Tolerance};
use oriole_device::argument::{Argument, Buffer, Contents as First};
use oriole_device::array::ArrayType;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A parameter.
#[derive(Clone, Debug)]
pub(super) enum Parameter {
    /// An `ARG` that writes no file.
    Text(String),
    /// A table.
    Table(Box<Table>),
}

/// `{ out = "f32[1000]", expect = "y.npy", rtol = 1e-6 }`: one of `value`, `in`, `inout`, `out`, `scratch`, and what goes
/// with it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    value: Option<Scalar>,
    #[serde(rename = "in")]
    input: Option<Contents>,
    inout: Option<Contents>,
    out: Option<Type>,
    scratch: Option<Type>,
    #[serde(rename = "type")]
    ty: Option<Type>,
    expect: Option<Contents>,
    rtol: Option<NonNegative>,
    atol: Option<NonNegative>,
    nan: Option<NanPolicy>,
}

/// A parameter, ready to be bound.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    /// As an `ARG`: what comes before the colon tells its kind.
    pub(super) text: String,
    /// What is bound.
    pub(super) argument: Argument,
    /// What the buffer is to hold afterwards.
    pub(super) expected: Option<Expected>,
}

/// What a buffer is to hold.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub(super) array: ArrayType,
    pub(super) contents: Arc<[u8]>,
    pub(super) tolerance: Tolerance,
}

impl Parameter {
    /// Reads the files, makes what is to be made; paths begin at `folder`, and `tolerance` is the launch's.
    pub(super) fn prepare(&self, folder: &Path, tolerance: Tolerance) -> Result<Prepared, String> {
        match self {
            Parameter::Text(text) => of_text(text, folder),
            Parameter::Table(table) => table.prepare(folder, tolerance),
        }
    }
}

fn of_text(text: &str, folder: &Path) -> Result<Prepared, String> {
    let mut argument = Argument::parse(text).map_err(|error| error.to_string())?;
    for buffer in argument.buffers_mut() {
        if buffer.output.is_some() {
            return Err(format!("'{text}' writes a file: a test has {{ out = TYPE, expect = … }} instead"));
        }
        if let First::File(path) = &mut buffer.first {
            *path = folder.join(&path);
            // Later this would be the failure of a launch.
            buffer.contents().map_err(|error| error.to_string())?;
        }
    }
    Ok(Prepared { text: text.to_owned(), argument, expected: None })
}

impl Table {
    /// What is wrong with the keys.
    fn check(&self) -> Result<(), String> {
        let roles = [
            ("value", self.value.is_some()),
            ("in", self.input.is_some()),
            ("inout", self.inout.is_some()),
            ("out", self.out.is_some()),
            ("scratch", self.scratch.is_some()),
        ];
        let given: Vec<&str> = roles.iter().filter(|(_, is_given)| *is_given).map(|(role, _)| *role).collect();
        let [role] = given.as_slice() else {
            return Err("a parameter has one of value, in, inout, out, scratch".to_owned());
        };
        let tolerance = self.rtol.is_some() || self.atol.is_some() || self.nan.is_some();
        let is_compared = matches!(*role, "inout" | "out");
        match *role {
            "value" if self.ty.is_none() => Err("value needs type, such as type = \"f32\"".to_owned()),
            "out" | "scratch" if self.ty.is_some() => Err(format!("{role} is a type: there can be no other")),
            "out" if self.expect.is_none() => {
                Err("out needs expect: what is not compared is scratch = TYPE".to_owned())
            }
            _ if self.expect.is_some() && !is_compared => {
                Err(format!("expect goes with inout and out, not with {role}"))
            }
            _ if tolerance && self.expect.is_none() => Err("rtol, atol and nan go with expect".to_owned()),
            _ => Ok(()),
        }
    }

    fn prepare(&self, folder: &Path, of_launch: Tolerance) -> Result<Prepared, String> {
        if let (Some(Scalar(value)), Some(ty)) = (&self.value, &self.ty) {
            return of_text(&format!("{}:{value}", ty.text), folder);
        }
        let undefined = |ty: &Type| {
            let array = ty.demand.as_ref().and_then(|demand| demand.array());
            let array = array.ok_or_else(|| format!("'{}' has no shape, such as f32[1000]", ty.text))?;
            Ok::<_, String>((First::Undefined, array))
        };
        let (first, array) = match (&self.input, &self.inout, self.out.as_ref().or(self.scratch.as_ref())) {
            (Some(contents), ..) | (_, Some(contents), _) => {
                let (array, bytes) = contents.make(self.ty.as_ref(), folder)?;
                (First::Bytes(bytes.into()), array)
            }
            (.., Some(ty)) => undefined(ty)?,
            (None, None, None) => return Err("a parameter that is nothing".to_owned()),
        };
        let size = array.size().ok_or_else(|| format!("{array} is too large"))?;
        let expected = self.expect.as_ref().map(|contents| self.expected(contents, &array, folder, of_launch));
        let buffer = Buffer { first, size: Some(size), demand: Some(array.clone().into()), output: None };
        let kind = if self.input.is_some() {
            "in"
        } else if self.inout.is_some() {
            "inout"
        } else {
            "out"
        };
        Ok(Prepared {
            text: format!("{kind}:{array}"),
            argument: Argument::Buffer(buffer),
            expected: expected.transpose()?,
        })
    }

    fn expected(
        &self,
        contents: &Contents,
        array: &ArrayType,
        folder: &Path,
        of_launch: Tolerance,
    ) -> Result<Expected, String> {
        let ty = Type { text: array.to_string(), demand: Some(array.clone().into()) };
        let (array, contents) = contents.make(Some(&ty), folder).map_err(|reason| format!("expect: {reason}"))?;
        let tolerance = Tolerance {
            rtol: self.rtol.map_or(of_launch.rtol, |NonNegative(value)| value),
            atol: self.atol.map_or(of_launch.atol, |NonNegative(value)| value),
            nan: self.nan.unwrap_or(of_launch.nan),
        };
        Ok(Expected { array, contents: contents.into(), tolerance })
    }
}

impl<'de> Deserialize<'de> for Parameter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ArgOrTable;
        impl<'de> Visitor<'de> for ArgOrTable {
            type Value = Parameter;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an ARG of oriole run such as \"u32:7\", or a table")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Parameter, E> {
                Ok(Parameter::Text(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Parameter, A::Error> {
                let table = Table::deserialize(MapAccessDeserializer::new(map))?;
                table.check().map_err(de::Error::custom)?;
                Ok(Parameter::Table(Box::new(table)))
            }
        }
        deserializer.deserialize_any(ArgOrTable)
    }
}
