//! Versions of PTX: those that are known, those to come, and those that there never were.

fn module(version: &str, body: &str) -> String {
    format!(".version {version}\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n    {body}\n    ret;\n}}\n")
}

/// ptxas 13.5.37 reads 1.0 to 9.5 (`--list-version`).
#[test]
fn all_versions_of_cuda_13_5_are_read() {
    for version in ["8.8", "9.0", "9.1", "9.2", "9.3", "9.4", "9.5"] {
        let module = oriole_ptx::load(&module(version, "")).expect(version);
        assert_eq!(oriole_ptx::newer_version(&module), None, "{version}");
    }
    assert_eq!(oriole_ptx::newest_version(), (9, 5));
}

#[test]
fn a_version_to_come_is_read_with_a_warning() {
    for version in ["9.6", "10.0", "99.99"] {
        let module = oriole_ptx::load(&module(version, "")).expect(version);
        let warning = oriole_ptx::newer_version(&module).expect("it is not known");
        assert!(warning.message.starts_with(&format!("PTX {version} is newer than")), "{}", warning.message);
        assert_eq!(warning.span, module.header[0]);
    }
}

/// What is refused is what is not known, by its name.
#[test]
fn what_a_version_to_come_adds_is_refused_by_name() {
    let errors = oriole_ptx::load(&module("9.9", "frobnicate.sync 1;")).expect_err("nobody knows it");
    assert_eq!(errors.len(), 1);
    assert!(errors[0].message.contains("frobnicate"), "{}", errors[0].message);
}

#[test]
fn a_version_between_two_is_refused() {
    let errors = oriole_ptx::load(&module("8.9", "")).expect_err("there never was one");
    assert_eq!(errors[0].message, "there is no PTX 8.9");
}
