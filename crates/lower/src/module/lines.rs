//! The lines of the user's PTX.

use oriole_ptx::ast::Span;

/// Where each line starts.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    starts: Vec<u32>,
    /// The line, counted from 0, of the place that was last asked for: the next one is in it or in one of the next.
    last: usize,
}

impl Lines {
    /// The lines of a text.
    pub(crate) fn of(text: &str) -> Lines {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at as u32 + 1)).collect();
        Lines { starts, last: 0 }
    }

    /// Line, from 1, of a place; `None` when the text is not known.
    pub(crate) fn at(&mut self, span: Span) -> Option<u32> {
        /// Lines that are gone through one by one.
        const NEAR: usize = 4;
        let near = self.starts.get(self.last..)?;
        let ahead = near.iter().take(NEAR).take_while(|&&start| start <= span.start).count();
        self.last = match ahead {
            1..NEAR => self.last + ahead - 1,
            _ => self.starts.partition_point(|&start| start <= span.start).checked_sub(1)?,
        };
        Some(self.last as u32 + 1)
    }
}
