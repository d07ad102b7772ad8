//! What a page shows beside what came: `…` alone stands for any lines, `…` within a line for any letters of it.

/// What becomes of a line.
#[derive(Clone, Copy, PartialEq)]
enum Kept {
    /// The page has it, and it came.
    Both(usize),
    /// Only the page has it.
    Old(usize),
    /// It came, and the page lacks it.
    New(usize),
}

/// What is different.
pub(crate) struct Difference {
    /// The lines of both, each with ` `, `-` (the page's) or `+` (what came) before it.
    pub(crate) text: String,
    /// What the page is to show: what came, with those `…` that still stand for something.
    pub(crate) renewed: Vec<String>,
    /// Lines with a `…` in them that nothing fits any longer.
    pub(crate) lost: Vec<String>,
}

/// What is different between the lines that a page shows and those that came, if anything is.
pub(crate) fn difference(shown: &[String], came: &[&str]) -> Option<Difference> {
    let kept = aligned(shown, came);
    if kept.iter().all(|kept| matches!(kept, Kept::Both(_))) {
        return None;
    }
    let mut difference = Difference { text: String::new(), renewed: Vec::new(), lost: Vec::new() };
    for kept in kept {
        let (sign, line) = match kept {
            Kept::Both(at) => (' ', &*shown[at]),
            Kept::Old(at) => ('-', &*shown[at]),
            Kept::New(at) => ('+', came[at]),
        };
        difference.text.push_str(&format!("{sign} {line}\n"));
        match kept {
            Kept::Old(_) if line.contains('…') => difference.lost.push(line.to_owned()),
            Kept::Old(_) => {}
            Kept::Both(_) => difference.renewed.push(line.to_owned()),
            Kept::New(_) => difference.renewed.push(without_times(line)),
        }
    }
    Some(difference)
}

/// Both texts along the cheapest path through them. A line in place of another costs what one that goes or one that comes does,
/// and what `…` stands for costs little, but something, so that it does not take in lines for which others stand.
fn aligned(shown: &[String], came: &[&str]) -> Vec<Kept> {
    const CHANGED: usize = 1000;
    const ELIDED: usize = 1;
    // The cost of the texts from each pair of lines on.
    let mut costs = vec![vec![0; came.len() + 1]; shown.len() + 1];
    let step = |costs: &[Vec<usize>], old: usize, new: usize| {
        let cost = |old: usize, new: usize, more: usize| costs[old][new] + more;
        let mut best = (usize::MAX, 0, 0);
        let mut offer = |cost: usize, olds: usize, news: usize| {
            if cost < best.0 {
                best = (cost, olds, news);
            }
        };
        let line = shown.get(old);
        let is_rest = line.is_some_and(|line| line.trim() == "…");
        if old < shown.len() {
            offer(cost(old + 1, new, if is_rest { 0 } else { CHANGED }), 1, 0);
        }
        if new < came.len() {
            offer(cost(old, new + 1, if is_rest { ELIDED } else { CHANGED }), 0, 1);
        }
        if let (Some(line), Some(other), false) = (line, came.get(new), is_rest) {
            offer(cost(old + 1, new + 1, if fits(line, other) { 0 } else { CHANGED }), 1, 1);
        }
        best
    };
    for old in (0..=shown.len()).rev() {
        for new in (0..=came.len()).rev().filter(|new| old < shown.len() || *new < came.len()) {
            costs[old][new] = step(&costs, old, new).0;
        }
    }
    let (mut old, mut new) = (0, 0);
    let mut kept = Vec::new();
    while old < shown.len() || new < came.len() {
        let (_, olds, news) = step(&costs, old, new);
        let is_rest = shown.get(old).is_some_and(|line| line.trim() == "…");
        match (olds, news) {
            (1, 0) if is_rest => kept.push(Kept::Both(old)),
            (0, 1) if is_rest => {}
            (1, 1) if fits(&shown[old], came[new]) => kept.push(Kept::Both(old)),
            _ => {
                kept.extend((olds == 1).then_some(Kept::Old(old)));
                kept.extend((news == 1).then_some(Kept::New(new)));
            }
        }
        (old, new) = (old + olds, new + news);
    }
    kept
}

/// A line with `…` in place of the seconds that something took on this machine. The times of models are in other units.
fn without_times(line: &str) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    for at in 1..words.len() {
        let is_time = matches!(words[at].trim_end_matches([',', '.']), "s" | "ms");
        let is_number = words[at - 1].contains('.') && words[at - 1].parse::<f64>().is_ok();
        if is_time && is_number {
            words[at - 1] = "…";
        }
    }
    words.join(" ")
}

/// Whether a line that a page shows stands for this one.
fn fits(shown: &str, came: &str) -> bool {
    let (shown, came) = (shown.trim_end(), came.trim_end());
    let mut parts = shown.split('…');
    let Some(mut rest) = parts.next().and_then(|first| came.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// What is the same, with and without parts left out, and what is not.
#[test]
fn elisions() {
    let differs = |shown: &str, came: &str| {
        let shown: Vec<String> = shown.lines().map(str::to_owned).collect();
        difference(&shown, &came.lines().collect::<Vec<_>>())
    };
    for (shown, came) in [
        ("a\nb", "a\nb"),
        ("a\n…\nd", "a\nb\nc\nd"),
        ("a\n…\nd", "a\nd"),
        ("…", ""),
        ("took … s", "took 1.5 s"),
        ("… of … s", "x of y of z s"),
    ] {
        assert!(differs(shown, came).is_none(), "{shown} stands for {came}");
    }
    for (shown, came, renewed) in [
        ("a\nb", "a\nc", "a\nc"),
        ("a\nb", "a", "a"),
        ("", "a", "a"),
        ("a\n…\nd\n", "a\nb\nc\ne", "a\n…\ne"),
        ("…\nd", "c\nd\ne", "…\nd\ne"),
        ("took … s", "took 1.5 ms.", "took … ms."),
        ("", "12 s, 1.2.3 s, 1.5 us, 0.1 s, 5", "12 s, 1.2.3 s, 1.5 us, … s, 5"),
    ] {
        let difference = differs(shown, came).unwrap_or_else(|| panic!("{shown} does not stand for {came}"));
        assert_eq!(difference.renewed.join("\n"), renewed);
    }
    let difference = differs("a\nb … d\ne", "a\nc\ne").expect("a difference");
    assert_eq!(difference.text, "  a\n- b … d\n+ c\n  e\n");
    assert_eq!(difference.lost, ["b … d"]);
}
