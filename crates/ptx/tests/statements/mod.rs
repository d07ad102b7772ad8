//! Single statements with the verdict of ptxas 13.0.88: kinds of which the checker once judged otherwise. The lowering's
//! tests read them too. `tools/compare_grammar.py` has found them, asks again, and says how `changes.tsv` is written.

/// One statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// `.target`
    pub(crate) target: &'static str,
    /// `.version`
    pub(crate) version: &'static str,
    /// Oriole takes it.
    pub(crate) accepted: bool,
    /// The instruction.
    pub(crate) text: &'static str,
}

const DATA: &str = include_str!("../data/changes.tsv");

/// All of them.
pub(crate) fn rows() -> impl Iterator<Item = Row> {
    DATA.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let [target, version, verdict, text] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        // A star says that ours differs on purpose.
        Row { target, version, accepted: verdict.starts_with("ok") != verdict.ends_with('*'), text }
    })
}

/// What the head of the file says under a name, and a version where it is only for later ones.
fn head(name: &str, version: &str) -> String {
    let number = |version: &str| version.split('.').map(|part| part.parse::<u32>().unwrap()).collect::<Vec<_>>();
    let fields = |line: &'static str| line.strip_prefix('#').map(|line| line.split('\t').collect::<Vec<_>>());
    let found = DATA.lines().filter_map(fields).filter(|fields| fields[0] == name);
    found.filter(|fields| fields.len() == 2 || number(fields[1]) <= number(version)).map(|f| f[f.len() - 1]).collect()
}

/// A module of one statement.
pub(crate) fn module(row: Row) -> String {
    let Row { target, version, text, .. } = row;
    let part = |name| head(name, version);
    format!(
        ".version {version}\n.target {target}\n.address_size 64\n{}\n{}{}{text}{}\n",
        part("before"),
        part("kernel"),
        part("since"),
        part("behind")
    )
}
