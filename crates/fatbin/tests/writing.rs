//! What is written is what NVIDIA's tools write, as far as they are there.

use crate::bundled;
use oriole_fatbin::{Compression, Container, Flags, Form, Kind, NewImage, NoRoom, replace, write};

/// The image that an entry was made of.
fn image_of(entry: &oriole_fatbin::Entry<'_>) -> NewImage {
    let bytes = entry.image().unwrap().into_owned();
    let mut image = match entry.kind {
        Kind::Cubin => NewImage::cubin(bytes, entry.target).unwrap(),
        _ => {
            let text = String::from_utf8(bytes).unwrap();
            NewImage::ptx(&text, entry.target, entry.version, &entry.options_text())
        }
    };
    image.name = entry.name.clone().into_owned();
    image.flags |= entry.flags & Flags::DEBUG;
    image
}

/// Files without packed images, written again from their images, have the same bytes: nvcc 13.0 made them.
#[test]
fn plain_files_are_written_as_fatbinary_writes_them() {
    for name in ["plain.fatbin", "named.fatbin"] {
        let file = bundled::read(name);
        let container = Container::read(&file).unwrap().unwrap();
        let entries: Vec<Vec<u8>> =
            container.modules[0].entries.iter().map(|entry| image_of(entry).entry(Compression::None)).collect();
        assert!(write(entries.iter().map(Vec::as_slice)) == file, "{name}");
    }
}

/// Of packed ones the headers are the same but for the sizes, and the images come out again.
#[test]
fn packed_files_are_written_as_fatbinary_writes_them() {
    let cases = [
        ("lz4.fatbin", Compression::Lz4),
        ("zstd.fatbin", Compression::Zstd),
        ("cuda12-lz4.fatbin", Compression::Lz4),
        ("cuda12-zstd.fatbin", Compression::Zstd),
        ("cuda12-named.fatbin", Compression::Lz4),
    ];
    for (name, compression) in cases {
        let file = bundled::read(name);
        let container = Container::read(&file).unwrap().unwrap();
        for theirs in &container.modules[0].entries {
            let compression = if theirs.compression() == Compression::None { Compression::None } else { compression };
            let file = write([&image_of(theirs).entry(compression)[..]]);
            let again = Container::read(&file).unwrap().unwrap();
            let ours = &again.modules[0].entries[0];
            assert_eq!((ours.kind, ours.target, ours.version), (theirs.kind, theirs.target, theirs.version), "{name}");
            assert_eq!((ours.flags, &ours.name, ours.options), (theirs.flags, &theirs.name, theirs.options), "{name}");
            assert_eq!(ours.compression(), compression);
            assert_eq!(ours.image().unwrap(), theirs.image().unwrap(), "{name}");
        }
    }
}

#[test]
fn replaced_in_place_or_refused() {
    let host = bundled::read("host");
    let container = Container::read(&host).unwrap().unwrap();
    let places: Vec<_> = container.modules.iter().map(|module| module.range.clone()).collect();
    let small = bundled::read("ptx.fatbin");
    let last = places.last().unwrap().clone();
    let changed = replace(&host, Form::Host, &[(last.clone(), small.clone())]).unwrap();
    assert_eq!(changed.len(), host.len());
    assert_eq!((&changed[..last.start], &changed[last.end..]), (&host[..last.start], &host[last.end..]));
    let again = Container::read(&changed).unwrap().unwrap();
    assert_eq!(again.modules.len(), places.len());
    assert_eq!(again.modules.last().unwrap().entries.len(), 1);

    let large = vec![0; last.len() + 1];
    let refused = replace(&host, Form::Host, &[(last.clone(), large)]).unwrap_err();
    assert_eq!(refused, NoRoom { needed: last.len() + 1, place: last });
}
