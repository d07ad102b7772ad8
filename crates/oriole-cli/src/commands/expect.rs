//! `oriole run --expect`: a buffer that is compared with a file.

use super::comparison::{NanPolicy, Tolerance, compare};
use super::failure::{Failure, usage};
use super::files;
use oriole_device::Memory;
use oriole_device::argument::{Argument, Bound};
use oriole_device::array::{self, ArrayType, Demand, is_npy};
use std::path::{Path, PathBuf};

/// What the buffer of an argument is to hold after the launch.
#[derive(Debug)]
pub(crate) struct Expectation {
    argument: usize,
    path: PathBuf,
    array: ArrayType,
    contents: Vec<u8>,
    tolerance: Tolerance,
}

impl Expectation {
    /// Reads `N=PATH[:TYPE][,rtol=R][,atol=A][,nan=equal|differ]`, and the file. Without a TYPE it is what a `.npy` file or
    /// else the argument says, and bytes where neither says any.
    pub(crate) fn parse(text: &str, arguments: &[Argument]) -> Result<Expectation, Failure> {
        let wrong = |reason: String| usage(format!("--expect {text}: {reason}"));
        let (number, rest) = text.split_once('=').ok_or_else(|| wrong("expected N=PATH".to_owned()))?;
        let argument: usize =
            number.parse().map_err(|_| wrong(format!("'{number}' is not the position of an argument, from 0")))?;
        let given = arguments.get(argument).and_then(|given| given.buffers().into_iter().next());
        let given = given.ok_or_else(|| wrong(format!("there is no argument {argument} that is a buffer")))?;
        let (rest, tolerance) = tolerance(rest).map_err(wrong)?;
        let (path, demand) = match rest.rsplit_once(':') {
            Some((path, ty)) => (path, Some(Demand::parse(ty).ok_or_else(|| wrong(format!("'{ty}' is no type")))?)),
            None => (rest, None),
        };
        let path = PathBuf::from(path);
        let file = files::read(&path)?;
        let demand = demand.as_ref().or(if is_npy(&path) { None } else { given.demand.as_ref() });
        let (array, contents) = of_file(&path, file, demand).map_err(|reason| Failure::file(&path, reason))?;
        Ok(Expectation { argument, path, array, contents, tolerance })
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What is wrong with the buffer, if anything is.
    pub(crate) fn judge(&self, bound: &Bound, memory: &Memory) -> Option<String> {
        let what = format!("error: argument {} is not {}: ", self.argument, self.path.display());
        let (_, got) = bound.contents(self.argument, memory)?;
        if got.len() != self.contents.len() {
            return Some(format!("{what}it has {} bytes, {} are expected", got.len(), self.contents.len()));
        }
        compare(&self.array, &got, &self.contents, self.tolerance).map(|difference| format!("{what}{difference}"))
    }
}

/// The array in a file's bytes, which a `.npy` file names itself; bytes where nothing is demanded.
pub(crate) fn of_file(path: &Path, file: Vec<u8>, demand: Option<&Demand>) -> Result<(ArrayType, Vec<u8>), String> {
    if is_npy(path) {
        return array::read(&file, demand);
    }
    let size = file.len() as u64;
    match demand {
        None => Ok((ArrayType::bytes(size), file)),
        Some(demand) => {
            let array =
                demand.of_size(size).ok_or_else(|| format!("the file has {size} bytes, which are no {demand}"))?;
            Ok((array, file))
        }
    }
}

/// What stands before the settings at the end of the text, and these.
fn tolerance(text: &str) -> Result<(&str, Tolerance), String> {
    let (mut rest, mut tolerance) = (text, Tolerance::default());
    while let Some((before, setting)) = rest.rsplit_once(',')
        && let Some((name, value)) = setting.split_once('=')
    {
        let number = || {
            let number = value.parse().ok().filter(|number: &f64| *number >= 0.0);
            number.ok_or_else(|| format!("{name}: '{value}' is no number from 0 on"))
        };
        match (name, value) {
            ("rtol", _) => tolerance.rtol = number()?,
            ("atol", _) => tolerance.atol = number()?,
            ("nan", "equal") => tolerance.nan = NanPolicy::Equal,
            ("nan", "differ") => tolerance.nan = NanPolicy::Differ,
            ("nan", _) => return Err(format!("nan is equal or differ, not '{value}'")),
            _ => return Err(format!("no setting '{name}'; there are rtol, atol, nan")),
        }
        rest = before;
    }
    Ok((rest, tolerance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_stand_at_the_end() {
        let (rest, found) = tolerance("a,b.bin:f32[2,3],rtol=1e-5,atol=0.5,nan=differ").expect("right");
        assert_eq!(rest, "a,b.bin:f32[2,3]");
        assert_eq!(found, Tolerance { rtol: 1e-5, atol: 0.5, nan: NanPolicy::Differ });
        assert_eq!(tolerance("a.npy").expect("none"), ("a.npy", Tolerance::default()));
        for wrong in ["a,rtol=x", "a,atol=-1", "a,nan=maybe", "a,tol=1", "a,rtol=nan"] {
            assert!(tolerance(wrong).is_err(), "{wrong}");
        }
    }
}
