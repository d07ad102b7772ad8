//! Fatbinaries and what holds them: an error, or images that unpack or do not.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oriole_fatbin::Container;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let Ok(Some(container)) = Container::read(bytes) else { return };
    for image in container.images(Path::new("file"), true) {
        let _ = image.entry.image();
    }
});
