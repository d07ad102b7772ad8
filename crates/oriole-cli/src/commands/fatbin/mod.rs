//! `oriole fatbin`: the images of a fatbinary, or of a host executable, library, object or archive.

mod list;
mod rewrite;

use super::failure::{Failure, usage};
use super::files;
use super::images::ImageArgs;
use clap::{Args, ValueEnum};
pub(super) use list::list;
use oriole_fatbin::{Compression, Container, Image, Kind};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(crate) struct FatbinArgs {
    /// A fatbinary, a host executable, shared library or object, an archive, or a cubin; `-` for standard input.
    pub(crate) input: PathBuf,
    /// List the images; so too if nothing else is asked for.
    #[arg(long, conflicts_with_all = ["extract", "output"])]
    pub(crate) list: bool,
    /// With the list: print JSON.
    #[arg(long, conflicts_with_all = ["extract", "output"])]
    pub(crate) json: bool,
    /// Write the images into this folder, unpacked, under the names that the list gives them.
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    pub(crate) extract: Option<PathBuf>,
    /// Of the images take this one.
    #[command(flatten)]
    pub(crate) image: ImageArgs,
    /// Compile the PTX, and write the same file with our cubins in place of those that are for the same targets.
    #[arg(short, long)]
    pub(crate) output: Option<PathBuf>,
    /// With -o: make cubins for these targets, beside the others; those of the file's cubins by default.
    #[arg(long, value_name = "TARGET,…", value_delimiter = ',', requires = "output")]
    pub(crate) arch: Vec<String>,
    /// With -o: the optimisation level; 3 by default.
    #[arg(short = 'O', value_name = "LEVEL", requires = "output", value_parser = clap::value_parser!(u8).range(0..=3))]
    pub(crate) opt_level: Option<u8>,
    /// With -o: how our cubins are packed; as those that they take the place of by default, and in a host file by zstd where they do not
    /// fit otherwise.
    #[arg(long, value_enum, value_name = "HOW", requires = "output")]
    pub(crate) compress: Option<Packing>,
}

/// `--compress`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Packing {
    /// Not at all.
    None,
    /// LZ4.
    Lz4,
    /// Zstandard.
    Zstd,
}

impl From<Packing> for Compression {
    fn from(packing: Packing) -> Compression {
        match packing {
            Packing::None => Compression::None,
            Packing::Lz4 => Compression::Lz4,
            Packing::Zstd => Compression::Zstd,
        }
    }
}

/// List, take out, or compile.
pub(crate) fn run(args: &FatbinArgs) -> Result<(), Failure> {
    if args.image.image.is_some() && args.extract.is_none() {
        return Err(usage("--image: needs --extract DIR"));
    }
    files::keep_apart([args.input.as_path()], args.output.as_deref())?;
    let bytes = files::read(&args.input)?;
    match (&args.extract, &args.output) {
        (Some(folder), _) => extract(&args.input, &bytes, &args.image, folder),
        (None, Some(output)) => rewrite::run(args, &bytes, output),
        (None, None) => list(&args.input, &bytes, args.json),
    }
}

/// The device code in a file.
fn container<'a>(path: &Path, bytes: &'a [u8]) -> Result<Container<'a>, Failure> {
    let container = Container::read(bytes).map_err(|error| Failure::file(path, error))?;
    let container = container.ok_or_else(|| Failure::file(path, "is no ELF file, fatbinary or archive"))?;
    if container.modules.iter().all(|module| module.entries.is_empty()) {
        return Err(Failure::file(path, format!("a {} that holds no device code", container.form.name())));
    }
    Ok(container)
}

/// Write the images of a file into a folder. An image whose name another has already gets its number into it.
pub(super) fn extract(path: &Path, bytes: &[u8], wanted: &ImageArgs, folder: &Path) -> Result<(), Failure> {
    let container = container(path, bytes)?;
    let is_wanted = |image: &Image<'_, '_>| wanted.image.as_ref().is_none_or(|name| *name == image.name);
    let images: Vec<Image<'_, '_>> = container.images(path, true).into_iter().filter(is_wanted).collect();
    if let (Some(name), []) = (&wanted.image, &images[..]) {
        return Err(Failure::file(path, format!("no image '{name}'; `oriole fatbin FILE` lists them")));
    }
    files::make_folder(folder)?;
    let mut outputs = files::Outputs::default();
    let mut taken = BTreeSet::new();
    let mut said = String::new();
    for image in images.iter().filter(|image| matches!(image.entry.kind, Kind::Cubin | Kind::Ptx)) {
        let mut name = image.name.clone();
        while !taken.insert(name.clone()) {
            name = numbered(&name, image.number);
        }
        let code = image.entry.image().map_err(|error| Failure::file(path, error))?;
        outputs.add(&folder.join(&name), &code)?;
        said += &format!("{name}\n");
    }
    outputs.print(&said);
    outputs.finish()
}

/// `a.sm_80.cubin` with a number in front of the target.
fn numbered(name: &str, number: usize) -> String {
    match name.rfind(".sm_") {
        Some(at) => format!("{}.{number}{}", &name[..at], &name[at..]),
        None => format!("{name}.{number}"),
    }
}
