//! The release of the tool that made the cubins of a file; those of CUDA 12.4 have no note of it.

use crate::bundled;
use oriole_cubin::Cubin;
use oriole_fatbin::{Container, Kind};
use oriole_isa::latency::Release;

#[test]
fn cubins_tell_the_release_that_made_them() {
    for (name, release) in [("default.fatbin", Some(Release(13, 0))), ("cuda12-main.o", None)] {
        let bytes = bundled::read(name);
        let container = Container::read(&bytes).unwrap().unwrap();
        let entries = container.shown(true).flat_map(|module| &module.entries);
        let cubins: Vec<Cubin> = entries
            .filter(|entry| entry.kind == Kind::Cubin)
            .map(|entry| Cubin::parse(&entry.image().unwrap()).unwrap())
            .collect();
        assert!(!cubins.is_empty(), "{name}");
        assert!(cubins.iter().all(|cubin| cubin.maker() == release), "{name}");
    }
}
