//! "Did you mean": the nearest of a list of names.

/// The candidate nearest to `name`, if one is near enough to be meant: at
/// most a third of its letters differ. Of several as near, one with the same first letter.
pub(crate) fn closest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// Names longer than this are not compared: the work grows with the square.
    const LONGEST: usize = 64;
    // One letter is like any other.
    if name.len() < 2 || name.len() > LONGEST {
        return None;
    }
    let limit = (name.len() / 3).max(1);
    candidates
        .filter(|other| other.len().abs_diff(name.len()) <= limit && *other != name)
        .map(|other| (distance(name, other), other.as_bytes().first() != name.as_bytes().first(), other))
        .filter(|(far, ..)| *far <= limit)
        .min()
        .map(|(.., other)| other)
}

/// Number of insertions, deletions, replacements and swaps of neighbours that
/// turn `a` into `b` (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut before = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (above[j] + 1).min(row[j - 1] + 1).min(above[j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = above;
        above = row;
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_name() {
        let names = || ["add", "sub", "setp"].into_iter();
        assert_eq!(closest("ad", names()), Some("add"));
        assert_eq!(closest("step", names()), Some("setp"));
        assert_eq!(closest("quux", names()), None);
        assert_eq!(closest("neq", ["eq", "ne"].into_iter()), Some("ne"));
    }
}
