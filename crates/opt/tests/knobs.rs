//! Settings of knobs: each type, by the name and by the published one, and what is none.

use oriole_opt::knobs::{KNOBS, KnobError, Knobs, Value};

/// What is written of a default can be set, by either name.
#[test]
fn every_knob_takes_its_own_default() {
    for knob in KNOBS {
        for name in [Some(knob.name), knob.published].into_iter().flatten() {
            Knobs::default().set(&format!("{name}={}", knob.default)).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
    let names: std::collections::BTreeSet<&str> =
        KNOBS.iter().flat_map(|knob| [Some(knob.name), knob.published]).flatten().collect();
    let published = KNOBS.iter().filter(|knob| knob.published.is_some()).count();
    assert_eq!(names.len(), KNOBS.len() + published, "two knobs go by one name");
    let kinds: std::collections::BTreeSet<&str> = KNOBS.iter().map(|knob| knob.default.type_name()).collect();
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["bool", "double", "int"]);
}

#[test]
fn each_type_has_its_spellings() {
    let mut knobs = Knobs::default();
    assert!(knobs.is_set("uniform"));
    for (setting, is_set) in [("687=0", false), ("uniform=true", true), ("uniform=false", false), ("687=1", true)] {
        knobs.set(setting).expect("a bool");
        assert_eq!(knobs.is_set("uniform"), is_set, "{setting}");
    }
    for (setting, value) in [("unroll=0", 0), ("unroll=12", 12), ("unroll=-3", -3)] {
        knobs.set(setting).expect("an int");
        assert_eq!(knobs.int("unroll"), value, "{setting}");
    }
    for (setting, value) in [("extra-work=0.25", 0.25), ("extra-work=2", 2.0), ("extra-work=1e-3", 0.001)] {
        knobs.set(setting).expect("a double");
        assert_eq!(knobs.double("extra-work"), value, "{setting}");
    }
}

#[test]
fn what_is_not_of_the_type_is_refused_by_the_types_name() {
    let values = ["", "yes", "TRUE", "2", "-1", "0.5", "1.0", "inf", "NaN", "0x10", "9223372036854775808", " 1"];
    let takes = |kind: &str, value: &str| match kind {
        "bool" => false,
        "int" => ["2", "-1"].contains(&value),
        _ => ["2", "-1", "0.5", "1.0", "9223372036854775808"].contains(&value),
    };
    for knob in KNOBS {
        let kind = knob.default.type_name();
        for value in values {
            let done = Knobs::default().set(&format!("{}={value}", knob.name));
            assert_eq!(done.is_ok(), takes(kind, value), "{} {value:?}", knob.name);
            if let Err(error) = done {
                assert!(matches!(error, KnobError::Value { .. }), "{error}");
                assert!(error.to_string().contains(&format!("is no {kind}: ")), "{error}");
                assert!(error.to_string().contains(knob.name), "{error}");
            }
        }
    }
}

#[test]
fn what_is_no_setting_is_refused() {
    assert_eq!(Knobs::default().set("unroll"), Err(KnobError::Form("unroll".to_owned())));
    let error = Knobs::default().set("colour=3").expect_err("there is none");
    assert!(KNOBS.iter().all(|knob| error.to_string().contains(knob.name)), "{error}");
    assert!(matches!(Value::Bool(true).to_string().as_str(), "true"));
}
