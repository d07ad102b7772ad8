//! The same file with our cubins in it.

use super::{FatbinArgs, container};
use crate::commands::failure::{Failure, rejected};
use crate::commands::{compile, files};
use crate::console;
use oriole_cubin::{Cubin, Target};
use oriole_fatbin::{
    Compression, Container, Entry, Form, Image, Kind, Module, NewImage, compiled_for, replace, select, write,
};
use oriole_ptxas::{Host, Message, Request, Source};
use std::path::Path;

/// Compile the PTX of each fatbinary and write the file.
pub(super) fn run(args: &FatbinArgs, bytes: &[u8], output: &Path) -> Result<(), Failure> {
    let container = container(&args.input, bytes)?;
    let wanted: Vec<Target> = args.arch.iter().map(|name| compile::compile_target(name)).collect::<Result<_, _>>()?;
    let images = container.images(&args.input, true);
    let mut fatbinaries = Vec::new();
    for module in &container.modules {
        let is_of_it = |image: &&Image<'_, '_>| image.module.range == module.range;
        fatbinaries.push(Fatbinary::new(args, &wanted, module, images.iter().filter(is_of_it).collect())?);
    }
    if fatbinaries.iter().all(|fatbinary| fatbinary.ours.is_empty()) {
        return Err(Failure::file(&args.input, "no PTX in it becomes code for the targets that are asked for"));
    }
    let file = with_room(args, bytes, &container, &fatbinaries)?;
    files::write(output, &file)
}

/// The file: with each cubin packed as asked for or as that whose place it takes, or all by Zstandard where that has no room.
fn with_room(
    args: &FatbinArgs,
    bytes: &[u8],
    container: &Container<'_>,
    fatbinaries: &[Fatbinary<'_, '_>],
) -> Result<Vec<u8>, Failure> {
    let replaced = |compression: Option<Compression>| {
        let changed =
            fatbinaries.iter().filter(|fatbinary| !fatbinary.ours.is_empty() || container.form == Form::Fatbinary);
        let new: Vec<_> =
            changed.map(|fatbinary| (fatbinary.module.range.clone(), fatbinary.bytes(compression))).collect();
        replace(bytes, container.form, &new)
    };
    let asked = args.compress.map(Compression::from);
    let file = replaced(asked).or_else(|no_room| match asked {
        Some(_) => Err(no_room),
        None => replaced(Some(Compression::Zstd)),
    });
    file.map_err(|no_room| {
        let advice =
            "the linker has put something behind it; ask for fewer targets with --arch, or for --compress zstd";
        Failure::file(&args.input, format!("{no_room}: {advice}"))
    })
}

/// A fatbinary of the file, and what has been made for it.
struct Fatbinary<'m, 'a> {
    module: &'m Module<'a>,
    ours: Vec<Ours>,
}

/// A cubin that has been made.
struct Ours {
    image: NewImage,
    /// The entry whose place it takes, by its number in the fatbinary.
    in_place_of: Option<usize>,
    /// How that was packed.
    compression: Compression,
}

impl<'m, 'a> Fatbinary<'m, 'a> {
    fn new(
        args: &FatbinArgs,
        wanted: &[Target],
        module: &'m Module<'a>,
        images: Vec<&Image<'_, 'a>>,
    ) -> Result<Fatbinary<'m, 'a>, Failure> {
        let mut ours: Vec<Ours> = Vec::new();
        if !has_functions(module) {
            return Ok(Fatbinary { module, ours });
        }
        for target in targets(module, wanted) {
            let ptx = select(module.entries.iter().filter(|entry| entry.kind == Kind::Ptx), target);
            let Some(image) = images.iter().find(|image| ptx.is_some_and(|ptx| std::ptr::eq(ptx, image.entry))) else {
                let kept = images.iter().find(|image| image.entry.kind == Kind::Cubin && image.entry.target == target);
                let without =
                    kept.map_or("there is no code for it".to_owned(), |image| format!("{} stays as it is", image.name));
                console::say(format_args!("warning: {target}: no PTX that becomes code for it: {without}"));
                continue;
            };
            let target = compiled_for(image.entry.target, target);
            if ours.iter().any(|one| one.image.target == target) {
                continue;
            }
            let in_place_of =
                module.entries.iter().position(|entry| entry.kind == Kind::Cubin && entry.target == target);
            let compression = in_place_of.map_or(Compression::None, |at| module.entries[at].compression());
            let image = compiled(args, image, target)?;
            ours.push(Ours { image, in_place_of, compression });
        }
        Ok(Fatbinary { module, ours })
    }

    /// The fatbinary with our cubins: in the places of those for the same targets, the others at the end.
    fn bytes(&self, compression: Option<Compression>) -> Vec<u8> {
        let entry = |ours: &Ours| ours.image.entry(compression.unwrap_or(ours.compression));
        let in_place = |(at, old): (usize, &Entry<'_>)| {
            let ours = self.ours.iter().find(|ours| ours.in_place_of == Some(at));
            ours.map_or_else(|| old.bytes().to_vec(), entry)
        };
        let mut entries: Vec<Vec<u8>> = self.module.entries.iter().enumerate().map(in_place).collect();
        entries.extend(self.ours.iter().filter(|ours| ours.in_place_of.is_none()).map(entry));
        write(entries.iter().map(Vec::as_slice))
    }
}

/// Whether there is anything to compile. nvcc links a fatbinary without functions into each executable.
fn has_functions(module: &Module<'_>) -> bool {
    let has_some = |entry: &Entry<'_>| {
        let cubin = entry.image().ok().and_then(|image| Cubin::parse(&image).ok());
        cubin.is_none_or(|cubin| !cubin.functions.is_empty())
    };
    module.entries.iter().any(|entry| entry.kind != Kind::Cubin || has_some(entry))
}

/// The targets for which a fatbinary gets cubins: those that are asked for, those of its cubins, or those of its PTX.
fn targets(module: &Module<'_>, wanted: &[Target]) -> Vec<Target> {
    let of = |kind| module.entries.iter().filter(move |entry| entry.kind == kind).map(|entry| entry.target);
    let cubins: Vec<Target> = of(Kind::Cubin).collect();
    match (wanted, &cubins[..]) {
        ([], []) => of(Kind::Ptx).collect(),
        ([], _) => cubins,
        (wanted, _) => wanted.to_vec(),
    }
}

/// PTX as a cubin, with the options that the fatbinary has for ptxas.
fn compiled(args: &FatbinArgs, image: &Image<'_, '_>, target: Target) -> Result<NewImage, Failure> {
    let path = format!("{}:{}", args.input.display(), image.name);
    let refused = |why: String| Failure::file(Path::new(&path), why);
    let ptx = image.entry.image().map_err(|error| refused(error.to_string()))?;
    let text = String::from_utf8(ptx.into_owned()).map_err(|_| refused("is no text".to_owned()))?;
    let options = image.entry.options_text();
    let level = args.opt_level.map(|level| format!("-O{level}"));
    let words = options.split_ascii_whitespace().map(str::to_owned).chain(level).chain([format!("-arch={target}")]);
    let mut log = Log::default();
    let made = Request::read(words, &mut log)
        .and_then(|request| request.compile([Ok(Source { name: path.clone(), text })], None, &mut log));
    let cubin = made.map_err(|failure| match log.errors.is_empty() {
        true => refused(failure.to_string()),
        false => Failure::Rejected(log.errors.join("\n")),
    })?;
    let cubin = cubin.ok_or_else(|| refused("the options of this PTX make no cubin".to_owned()))?;
    console::say(format_args!("{path}: compiled for {target}: {} bytes", cubin.len()));
    let mut new = NewImage::cubin(cubin, target).map_err(rejected)?;
    new.name = image.entry.name.clone().into_owned();
    new.flags |= image.entry.flags & oriole_fatbin::Flags::DEBUG;
    Ok(new)
}

/// What ptxas says: errors are kept, what it says of its work is not asked for.
#[derive(Default)]
struct Log {
    errors: Vec<String>,
}

impl Host for Log {
    fn say(&mut self, message: Message) {
        if matches!(message.kind, oriole_ptxas::Kind::Error | oriole_ptxas::Kind::Fatal) {
            self.errors.push(message.quoted.clone().unwrap_or_else(|| message.to_string()));
        }
    }
}
