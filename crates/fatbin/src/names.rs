//! The names that cuobjdump gives images (`-lelf`, `-lptx`, `-xelf`, `-xptx`).

use crate::container::{Container, Form};
use crate::entry::{Entry, Kind};
use crate::module::Module;
use oriole_cubin::{Suffix, Target};
use std::path::Path;

/// An image with its name.
#[derive(Clone, Debug)]
pub struct Image<'c, 'a> {
    /// The name of the file that cuobjdump would write it into.
    pub name: String,
    /// Its number among the images of its kind, from 1.
    pub number: usize,
    /// The fatbinary that it is in.
    pub module: &'c Module<'a>,
    /// The image.
    pub entry: &'c Entry<'a>,
}

impl<'a> Container<'a> {
    /// The images with their names, for a file at this path; with `all` those too that a linker has taken ([`Container::shown`]).
    pub fn images(&self, path: &Path, all: bool) -> Vec<Image<'_, 'a>> {
        let own = stems(&path.file_name().unwrap_or_default().to_string_lossy());
        let mut counts: Vec<(Kind, usize)> = Vec::new();
        let mut images = Vec::new();
        for (module, entry) in
            self.shown(all).flat_map(|module| module.entries.iter().map(move |entry| (module, entry)))
        {
            let at = counts.iter().position(|(kind, _)| *kind == entry.kind).unwrap_or_else(|| {
                counts.push((entry.kind, 0));
                counts.len() - 1
            });
            counts[at].1 += 1;
            let number = counts[at].1;
            let stem = match (&*entry.name, self.form) {
                ("", Form::Cubin) => own.clone(),
                ("", _) => format!("{own}.{number}"),
                (name, _) => stems(name),
            };
            images.push(Image { name: format!("{stem}.{}", ending(entry)), number, module, entry });
        }
        images
    }
}

/// Of each word the file's name without what stands behind its last dot, with dashes between them: a fatbinary that was linked names all
/// of its sources.
fn stems(text: &str) -> String {
    let stem = |word: &str| {
        let name = word.rsplit('/').next().unwrap_or(word);
        name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
    };
    text.split_ascii_whitespace().map(stem).collect::<Vec<_>>().join("-")
}

/// `sm_90a.cubin`. Of a cubin cuobjdump does not say that it is for a family, nor that it is for one architecture where only the fatbinary does:
/// nvlink 12.4 leaves that out of the cubin.
fn ending(entry: &Entry<'_>) -> String {
    let (target, sm) = (entry.target, entry.target.sm);
    let is_plain = || {
        let cubin = entry.image().ok();
        cubin.and_then(|cubin| Target::of_header(&cubin)).is_some_and(|own| own.suffix == Suffix::None)
    };
    match (entry.kind, target.suffix) {
        (Kind::Cubin, Suffix::Family) => format!("sm_{sm}.cubin"),
        (Kind::Cubin, Suffix::Arch) if is_plain() => format!("sm_{sm}.cubin"),
        (Kind::Cubin, _) => format!("{target}.cubin"),
        (Kind::Ptx, _) => format!("{target}.ptx"),
        (Kind::Lto, _) => format!("{target}.ltoir"),
        (Kind::Other(number), _) => format!("{target}.kind{number}"),
    }
}
