//! What stands where: variables of shared and global memory by name.

use oriole_cubin::image::Image;
use oriole_cubin::{Cubin, Function, SectionKind};

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Variable {
    name: String,
    start: u64,
    size: u64,
}

/// The variables of one space, by address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables {
    variables: Vec<Variable>,
}

/// How a range lies to the variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lies {
    /// Inside one variable: its name and the offset.
    Inside(String),
    /// In none, or in more than one; with the nearest below.
    Outside(String),
}

impl Variables {
    /// The variables of the shared memory of `function`.
    pub(crate) fn shared(cubin: &Cubin, image: &Image, function: &Function) -> Self {
        Self::collect(cubin, image, |index| image.is_shared_variable_of(cubin, index, function))
    }

    /// The variables of the module in global memory.
    pub(crate) fn global(cubin: &Cubin, image: &Image) -> Self {
        let is_global = |kind: &SectionKind| matches!(kind, SectionKind::Global | SectionKind::GlobalInit);
        Self::collect(cubin, image, |index| {
            let symbol = &cubin.symbols[index];
            symbol.is_common || symbol.section.is_some_and(|section| is_global(&cubin.sections[section].kind))
        })
    }

    fn collect(cubin: &Cubin, image: &Image, belongs: impl Fn(usize) -> bool) -> Self {
        let symbols = cubin.symbols.iter().zip(&image.symbols).enumerate();
        let mut variables: Vec<Variable> = symbols
            .filter(|(index, (symbol, _))| symbol.size > 0 && belongs(*index))
            .map(|(_, (symbol, &start))| Variable { name: symbol.name.clone(), start, size: symbol.size })
            .collect();
        variables.sort_by_key(|variable| variable.start);
        Variables { variables }
    }

    /// Whether any is known.
    pub(super) fn is_empty(&self) -> bool {
        self.variables.is_empty()
    }

    /// One past the last byte of the last.
    pub(super) fn end(&self) -> u64 {
        self.variables.iter().map(|variable| variable.start + variable.size).max().unwrap_or(0)
    }

    /// How `bytes` bytes from `address` on lie.
    pub(super) fn locate(&self, address: u64, bytes: u32) -> Lies {
        let after = self.variables.partition_point(|variable| variable.start <= address);
        let Some(variable) = after.checked_sub(1).map(|at| &self.variables[at]) else {
            return Lies::Outside("below all variables".to_owned());
        };
        let Variable { name, start, size } = variable;
        let offset = address - start;
        match offset.saturating_add(u64::from(bytes)) <= *size {
            true => Lies::Inside(format!("'{name}'+{offset:#x}")),
            false => Lies::Outside(format!("'{name}'+{offset:#x}, past its {size} bytes")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_and_straddling_are_outside() {
        let variable = |name: &str, start, size| Variable { name: name.into(), start, size };
        let variables = Variables { variables: vec![variable("a", 16, 6), variable("b", 24, 8)] };
        assert_eq!(variables.locate(16, 4), Lies::Inside("'a'+0x0".into()));
        assert_eq!(variables.locate(24, 8), Lies::Inside("'b'+0x0".into()));
        for (address, bytes) in [(20, 4), (22, 1), (16, 16), (32, 1), (0, 4)] {
            assert!(matches!(variables.locate(address, bytes), Lies::Outside(_)), "{address}");
        }
        assert_eq!(variables.end(), 32);
    }
}
