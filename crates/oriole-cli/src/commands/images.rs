//! Which code of a file a command takes: files may hold several images, as host executables and fatbinaries do.

use super::arch::parse_arch;
use super::failure::{Failure, usage};
use clap::Args;
use oriole_cubin::{Cubin, Target};
use oriole_fatbin::{Container, Form, Image, Kind, compiled_for, select};
use std::path::{Path, PathBuf};

/// Most names that a message lists.
const MOST_NAMES: usize = 12;

// Which image of a file that holds several.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ImageArgs {
    /// Of a file with several images (a fatbinary, a host executable, library, object or archive) take the one of this name; `oriole
    /// fatbin FILE` lists them.
    #[arg(long, value_name = "NAME")]
    pub(crate) image: Option<String>,
}

/// What a command can do something with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Machine code, or PTX that becomes machine code.
    Code,
    /// PTX.
    Ptx,
}

/// What is looked for in a file.
pub(crate) struct Wish<'a> {
    /// The file.
    pub(crate) path: &'a Path,
    /// The chip for which a driver would take something.
    pub(crate) chip: Option<&'a str>,
    /// The chip does nothing but pick: to name one is a mistake where there is nothing to pick.
    pub(crate) chip_picks_only: bool,
    /// The name of an image.
    pub(crate) image: &'a ImageArgs,
    /// Functions, one of which an image must have if there are several images.
    pub(crate) entries: &'a [String],
    /// What the command takes.
    pub(crate) wanted: Wanted,
}

impl<'a> Wish<'a> {
    /// What a command takes that looks at finished code: a chip does nothing but pick there.
    pub(crate) fn of_code(path: &'a Path, chip: Option<&'a str>, image: &'a ImageArgs, entries: &'a [String]) -> Self {
        Wish { path, chip, chip_picks_only: true, image, entries, wanted: Wanted::Code }
    }
}

/// A file, or what has been taken out of one.
pub(crate) struct Taken {
    /// What messages call it: the file, or `FILE:IMAGE`.
    pub(crate) path: PathBuf,
    /// Its contents.
    pub(crate) bytes: Vec<u8>,
    /// If it has been taken out.
    pub(crate) image: Option<Facts>,
}

/// What a file says of an image in it.
pub(crate) struct Facts {
    /// PTX or a cubin.
    pub(crate) kind: Kind,
    /// Of PTX, what it is to be compiled for, if a chip was named.
    pub(crate) target: Option<Target>,
    /// It is PTX for a linker.
    pub(crate) is_relocatable: bool,
}

/// The only code that fits.
///
/// # Errors
/// There is none, or there are several.
pub(crate) fn one(wish: &Wish<'_>, bytes: Vec<u8>) -> Result<Taken, Failure> {
    let mut all = taken(wish, bytes)?;
    match (all.pop(), all.is_empty()) {
        (Some(only), true) => Ok(only),
        (last, _) => {
            all.extend(last);
            Err(several(wish, &all))
        }
    }
}

/// There are several where a command needs one.
pub(crate) fn several(wish: &Wish<'_>, all: &[Taken]) -> Failure {
    let prefix = format!("{}:", wish.path.display());
    let names = all.iter().map(|taken| taken.path.display().to_string().replacen(&prefix, "", 1));
    let names = listed(names.collect());
    let by_chip = if wish.chip.is_none() { "--arch picks as a driver does, " } else { "" };
    Failure::file(wish.path, format!("holds {} images that fit: {names}; {by_chip}--image NAME takes one", all.len()))
}

/// All code that fits: with a chip what a driver takes of each fatbinary, without one all cubins, and of a fatbinary without cubins all
/// PTX. The file itself, if it holds one image and nothing else.
///
/// # Errors
/// There is none.
pub(crate) fn taken(wish: &Wish<'_>, bytes: Vec<u8>) -> Result<Vec<Taken>, Failure> {
    let Some(Form::Fatbinary | Form::Host | Form::Archive) = Form::of(&bytes) else {
        let nothing_to_pick = |option| Err(usage(format!("{option}: {} holds one image", wish.path.display())));
        return match (&wish.image.image, wish.chip) {
            (Some(_), _) => nothing_to_pick("--image"),
            (None, Some(_)) if wish.chip_picks_only => nothing_to_pick("--arch"),
            _ => Ok(vec![Taken { path: wish.path.to_owned(), bytes, image: None }]),
        };
    };
    let refused = |reason: String| Failure::file(wish.path, reason);
    let container = Container::read(&bytes).map_err(|error| refused(error.to_string()))?;
    let container = container.ok_or_else(|| refused("holds no device code".to_owned()))?;
    let images: Vec<Image<'_, '_>> =
        container.images(wish.path, true).into_iter().filter(|image| wish.takes(image.entry.kind)).collect();
    if images.is_empty() {
        let what = if wish.wanted == Wanted::Ptx { "PTX" } else { "device code" };
        return Err(refused(format!("a {} that holds no {what}", container.form.name())));
    }
    let chip = wish.chip()?;
    let fitting: Vec<&Image<'_, '_>> = match &wish.image.image {
        Some(name) => images.iter().filter(|image| image.name == *name).collect(),
        None => fitting(&container, &images, chip),
    };
    if fitting.is_empty() {
        let names = listed(images.iter().map(|image| image.name.clone()).collect());
        let why = match (&wish.image.image, chip) {
            (Some(name), _) => format!("no image '{name}'"),
            (None, Some(chip)) => format!("nothing that runs on {chip}"),
            (None, None) => "nothing that a driver loads".to_owned(),
        };
        return Err(refused(format!("{why}; it holds: {names}")));
    }
    let all: Result<Vec<Taken>, Failure> = fitting.into_iter().map(|image| wish.take(image, chip)).collect();
    Ok(wish.with_entries(all?))
}

/// The images that are taken if none is named.
fn fitting<'i, 'c, 'a>(
    container: &Container<'a>,
    images: &'i [Image<'c, 'a>],
    chip: Option<Target>,
) -> Vec<&'i Image<'c, 'a>> {
    let mut fitting = Vec::new();
    for module in container.shown(false) {
        let of_module: Vec<&Image<'_, '_>> = images.iter().filter(|image| image.module.range == module.range).collect();
        match chip {
            Some(chip) => {
                let chosen = select(of_module.iter().map(|image| image.entry), chip);
                fitting.extend(
                    of_module.into_iter().filter(|image| chosen.is_some_and(|entry| std::ptr::eq(entry, image.entry))),
                );
            }
            None => {
                let has_cubins = of_module.iter().any(|image| image.entry.kind == Kind::Cubin);
                let is_taken = |image: &&Image<'_, '_>| !has_cubins || image.entry.kind == Kind::Cubin;
                fitting.extend(of_module.into_iter().filter(is_taken));
            }
        }
    }
    fitting
}

impl Wish<'_> {
    fn takes(&self, kind: Kind) -> bool {
        match self.wanted {
            Wanted::Code => matches!(kind, Kind::Cubin | Kind::Ptx),
            Wanted::Ptx => kind == Kind::Ptx,
        }
    }

    fn chip(&self) -> Result<Option<Target>, Failure> {
        let Some(name) = self.chip else { return Ok(None) };
        let arch = parse_arch(name)?;
        Ok(Some(Target::from_name(name).unwrap_or_else(|| Target::from(arch))))
    }

    fn take(&self, image: &Image<'_, '_>, chip: Option<Target>) -> Result<Taken, Failure> {
        let path = PathBuf::from(format!("{}:{}", self.path.display(), image.name));
        let bytes = image.entry.image().map_err(|error| Failure::file(&path, error))?.into_owned();
        let is_ptx = image.entry.kind == Kind::Ptx;
        let facts = Facts {
            kind: image.entry.kind,
            target: chip.filter(|_| is_ptx).map(|chip| compiled_for(image.entry.target, chip)),
            is_relocatable: image.entry.is_relocatable(),
        };
        Ok(Taken { path, bytes, image: Some(facts) })
    }

    /// Of several those that have a function that was named, or all if none has: who looks for it says that it is not there.
    fn with_entries(&self, all: Vec<Taken>) -> Vec<Taken> {
        if all.len() < 2 || self.entries.is_empty() {
            return all;
        }
        let (having, others): (Vec<Taken>, Vec<Taken>) =
            all.into_iter().partition(|taken| self.entries.iter().any(|name| taken.has(name)));
        if having.is_empty() { others } else { having }
    }
}

impl Taken {
    /// Whether it has a function of that name: in PTX, whether it speaks of one.
    fn has(&self, name: &str) -> bool {
        if self.is_ptx_image() {
            let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$%.".contains(byte);
            return self.bytes.split(|byte| !is_of_name(byte)).any(|word| word == name.as_bytes());
        }
        Cubin::parse(&self.bytes).is_ok_and(|cubin| cubin.functions.iter().any(|function| function.name == name))
    }

    /// Whether it is PTX that was taken out of a file.
    pub(crate) fn is_ptx_image(&self) -> bool {
        self.image.as_ref().is_some_and(|image| image.kind == Kind::Ptx)
    }
}

/// Names for a message.
fn listed(names: Vec<String>) -> String {
    let more = names.len().saturating_sub(MOST_NAMES);
    let shown = names[..names.len() - more].join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}
