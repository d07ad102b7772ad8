//! What is said while many pieces of work are done side by side: a bar on a terminal, and what there is to say of each piece
//! as soon as that of all before it has been said.

use crate::console;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};

/// The outcomes so far.
pub(crate) struct Progress<'a, T> {
    bar: ProgressBar,
    say: Box<dyn Fn(&T) -> String + Sync + 'a>,
    has_failed: fn(&T) -> bool,
    ready: Mutex<Ready<T>>,
}

struct Ready<T> {
    outcomes: Vec<Option<T>>,
    /// How many have been said.
    said: usize,
    failed: usize,
}

impl<'a, T> Progress<'a, T> {
    /// Of so many pieces, which the bar calls `noun` where one is wanted. `say` is what is said of an outcome.
    pub(crate) fn new(
        pieces: usize,
        noun: &str,
        is_wanted: bool,
        say: impl Fn(&T) -> String + Sync + 'a,
        has_failed: fn(&T) -> bool,
    ) -> Self {
        let outcomes = std::iter::repeat_with(|| None).take(pieces).collect();
        let ready = Mutex::new(Ready { outcomes, said: 0, failed: 0 });
        Progress { bar: bar(pieces, noun, is_wanted), say: Box::new(say), has_failed, ready }
    }

    /// A piece is ready.
    pub(crate) fn ready(&self, number: usize, outcome: T) {
        // Nothing below leaves the outcomes half changed.
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        ready.failed += usize::from((self.has_failed)(&outcome));
        ready.outcomes[number] = Some(outcome);
        while let Some(Some(next)) = ready.outcomes.get(ready.said) {
            let text = (self.say)(next);
            if !text.is_empty() {
                self.bar.suspend(|| console::say_text(&text));
            }
            ready.said += 1;
        }
        self.bar.set_message(ready.failed.to_string());
        self.bar.inc(1);
    }

    /// All outcomes, in their order.
    pub(crate) fn finish(self) -> Vec<T> {
        self.bar.finish_and_clear();
        let ready = self.ready.into_inner().unwrap_or_else(PoisonError::into_inner);
        ready.outcomes.into_iter().flatten().collect()
    }
}

/// A bar of so many pieces on standard error, where that is a terminal; `noun` is what they are. Its message is how many
/// have failed.
fn bar(pieces: usize, noun: &str, is_wanted: bool) -> ProgressBar {
    let is_drawn = is_wanted && std::io::stderr().is_terminal();
    let target = if is_drawn { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(pieces as u64), target);
    let template = format!("{{bar:32}} {{pos}}/{{len}} {noun}, {{msg}} failed, {{elapsed}}");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar.set_message("0");
    bar
}
