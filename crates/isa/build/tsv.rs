//! Tables of cells between tabs, with comments behind `#` and a line of column names.

use std::fs;
use std::path::Path;

/// A file of `spec/`, read.
pub(crate) struct Tsv {
    /// Its path, for messages.
    pub(crate) path: String,
    text: String,
}

/// A line after the column names.
pub(crate) struct Line<'a, const N: usize> {
    /// Path and line number, for messages.
    pub(crate) place: String,
    /// One cell per column.
    pub(crate) cells: [&'a str; N],
}

impl Tsv {
    /// Reads the file at `path`.
    pub(crate) fn read(path: &Path) -> Result<Tsv, String> {
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Tsv { path: path.display().to_string(), text })
    }

    /// All lines but comments, that with the column names first.
    pub(crate) fn lines<const N: usize>(&self) -> Result<Vec<Line<'_, N>>, String> {
        let lines = self.text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
        lines.map(|(number, text)| self.line(number, text)).collect()
    }

    /// The lines after the column names.
    pub(crate) fn rows<const N: usize>(&self) -> Result<Vec<Line<'_, N>>, String> {
        Ok(self.lines()?.into_iter().skip(1).collect())
    }

    fn line<'a, const N: usize>(&self, number: usize, text: &'a str) -> Result<Line<'a, N>, String> {
        let place = format!("{}:{}", self.path, number + 1);
        let cells: Vec<&str> = text.split('\t').collect();
        let cells = cells.try_into().map_err(|_| format!("{place}: {N} cells expected"))?;
        Ok(Line { place, cells })
    }
}
