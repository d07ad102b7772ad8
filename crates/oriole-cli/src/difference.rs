//! Lines in which two texts differ.

use similar::{ChangeTag, TextDiff};

/// Lines that stay around each change of a unified difference.
const CONTEXT: usize = 3;

/// The lines that go and those that come, without what stays.
pub(crate) fn changed_lines(before: &str, after: &str) -> String {
    let difference = TextDiff::from_lines(before, after);
    let line = |change: similar::Change<&str>| match change.tag() {
        ChangeTag::Equal => None,
        tag => Some(format!("{tag} {}\n", change.value().trim_end_matches('\n'))),
    };
    difference.iter_all_changes().filter_map(line).collect()
}

/// A unified difference with these names of the texts; nothing where they are equal.
pub(crate) fn unified(before: (&str, &str), after: (&str, &str)) -> String {
    let difference = TextDiff::from_lines(before.1, after.1);
    difference.unified_diff().context_radius(CONTEXT).header(before.0, after.0).to_string()
}
