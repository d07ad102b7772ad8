//! What goes to package indexes says who made it, under which licence, and where it is developed.

use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn table(path: &Path) -> Table {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The value behind keys.
fn at<'t>(table: &'t Table, keys: &[&str]) -> Option<&'t Value> {
    let (first, rest) = keys.split_first()?;
    rest.iter().try_fold(table.get(*first)?, |value, key| value.get(key))
}

/// The folders of crates that are published, with their manifests.
fn published() -> Vec<(PathBuf, Table)> {
    let folders =
        std::fs::read_dir(root().join("crates")).expect("a folder").map(|entry| entry.expect("an entry").path());
    let crates = folders.map(|folder| (folder.clone(), table(&folder.join("Cargo.toml"))));
    crates.filter(|(_, manifest)| at(manifest, &["package", "publish"]) != Some(&Value::Boolean(false))).collect()
}

#[test]
fn crates_have_licences_and_say_where_they_are_developed() {
    let crates = published();
    assert!(crates.len() >= 20, "{} crates", crates.len());
    for (folder, manifest) in crates {
        for text in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let of_crate =
                std::fs::read(folder.join(text)).unwrap_or_else(|error| panic!("{}/{text}: {error}", folder.display()));
            assert!(of_crate == std::fs::read(root().join(text)).expect("it is there"), "{}/{text}", folder.display());
        }
        let description = at(&manifest, &["package", "description"]).and_then(Value::as_str);
        assert!(description.is_some_and(|text| !text.is_empty()), "{}", folder.display());
        for key in ["license", "homepage", "repository"] {
            let inherited = at(&manifest, &["package", key, "workspace"]);
            assert_eq!(inherited, Some(&Value::Boolean(true)), "{} of {}", key, folder.display());
        }
    }
}

/// The addresses of crates, of the wheel and of the Action are those of one place.
#[test]
fn all_packages_have_one_address() {
    let (workspace, wheel) = (table(&root().join("Cargo.toml")), table(&root().join("python/pyproject.toml")));
    let address = at(&workspace, &["workspace", "package", "repository"]).and_then(Value::as_str).expect("an address");
    assert!(address.starts_with("https://") && !address.contains("example."), "{address}");
    assert_eq!(at(&workspace, &["workspace", "package", "homepage"]).and_then(Value::as_str), Some(address));
    let urls = at(&wheel, &["project", "urls"]).and_then(Value::as_table).expect("addresses");
    assert!(["Homepage", "Repository", "Issues"].iter().all(|name| urls.contains_key(*name)), "{urls:?}");
    for (name, url) in urls {
        assert!(url.as_str().is_some_and(|url| url.starts_with(address)), "{name}: {url:?}");
    }
    let action = std::fs::read_to_string(root().join("action.yml")).expect("it is there");
    let place = address.strip_prefix("https://github.com/").expect("GitHub's");
    assert!(action.contains(&format!("default: {place}\n")), "{place}");
}
