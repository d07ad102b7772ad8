//! Damaged files: an error or images, never a panic and never without end.

use crate::bundled;
use oriole_cubin::Target;
use oriole_fatbin::{Compression, Container, NewImage, Reason, select, write};
use proptest::prelude::*;
use std::path::Path;

/// Read, and where that works, walk over everything.
fn exercise(bytes: &[u8]) {
    let Ok(Some(container)) = Container::read(bytes) else { return };
    for image in container.images(Path::new("file"), true) {
        assert!(image.entry.range.end <= bytes.len());
        let _ = (image.entry.image(), image.entry.is_relocatable());
    }
    for module in &container.modules {
        let _ = select(&module.entries, Target::new(90));
    }
}

/// Small files of all forms.
fn files() -> Vec<Vec<u8>> {
    ["named.fatbin", "lz4.fatbin", "zstd.fatbin", "ptx.fatbin", "uses.o", "rdc.a", "lto.o"].map(bundled::read).into()
}

#[test]
fn cut_anywhere() {
    for file in files() {
        for size in (0..file.len()).step_by(7) {
            exercise(&file[..size]);
        }
    }
}

#[test]
fn each_byte_of_headers_changed() {
    for file in files() {
        for at in 0..file.len().min(192) {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut file = file.clone();
                file[at] = value;
                exercise(&file);
            }
        }
    }
}

proptest! {
    #[test]
    fn bytes_changed(which in 0..7_usize, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut file = files().swap_remove(which);
        for (at, value) in changes {
            let at = at.index(file.len());
            file[at] = value;
        }
        exercise(&file);
    }

    #[test]
    fn any_bytes_behind_a_magic_number(mut bytes in prop::collection::vec(any::<u8>(), 0..300), which in 0..3_usize) {
        let magic: [&[u8]; 3] = [b"\x50\xed\x55\xba\x01\0\x10\0", b"!<arch>\n", b"\x7fELF\x02\x01\x01\0"];
        bytes.splice(0..0, magic[which].iter().copied());
        exercise(&bytes);
    }
}

/// The sizes that packed images claim are believed only as far as such bytes can become so many.
#[test]
fn a_small_file_takes_no_large_memory() {
    const UNPACKED_SIZE: usize = 16 + 56;
    for compression in [Compression::Lz4, Compression::Zstd] {
        let text = "// nothing\n".repeat(20);
        let image = NewImage::ptx(&text, Target::new(80), (9, 0), "");
        let entry = image.entry(compression);
        let mut file = write([&entry[..]]);
        for size in [0, 1, 220, 222, u64::from(u32::MAX), u64::MAX] {
            file[UNPACKED_SIZE..UNPACKED_SIZE + 8].copy_from_slice(&size.to_le_bytes());
            let container = Container::read(&file).unwrap().unwrap();
            let error = container.modules[0].entries[0].image();
            assert!(matches!(error.unwrap_err().reason, Reason::Packed { .. }), "{compression:?} {size}");
        }
    }
}

#[test]
fn errors_have_places() {
    let file = bundled::read("plain.fatbin");
    let message = |bytes: &[u8]| Container::read(bytes).unwrap_err().to_string();
    assert_eq!(message(&file[..8]), "offset 0x0: the header of the fatbinary needs 16 bytes, of which 8 are there");
    let needed = file.len();
    assert_eq!(
        message(&file[..100]),
        format!("offset 0x0: the fatbinary needs {needed} bytes, of which 100 are there")
    );
    let mut wrong = file.clone();
    wrong[4] = 2;
    assert_eq!(message(&wrong), "offset 0x4: the version of the fatbinary is 2, which it cannot be");
    let mut wrong = file.clone();
    wrong[16 + 4] = 9;
    assert_eq!(message(&wrong), "offset 0x14: the size of an entry's header is 9, which it cannot be");
}
