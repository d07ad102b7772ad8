//! `--explain-schedule`: why an instruction stands where it stands.

mod choice;
mod hottest;
mod json;
mod text;

pub(crate) use choice::What;

use super::{Failure, Form};
use crate::commands::failure::{rejected, usage};
use oriole_check::{BlockTimeline, Timeline};
use oriole_sched::{BlockOrder, Explainer, Reasons};

/// Instructions of one block that are to be explained.
struct Chosen<'t> {
    timeline: &'t Timeline,
    block: &'t BlockTimeline,
    order: BlockOrder,
    /// By position in the block.
    instructions: Vec<usize>,
    /// They are the longest way through the block, which has so many loops around it.
    loops: Option<u32>,
}

impl Chosen<'_> {
    /// The instructions with what there is to say of each.
    fn reasons(&self) -> impl Iterator<Item = (usize, Reasons)> {
        self.instructions.iter().filter_map(|at| Some((*at, self.order.reasons(*at)?)))
    }
}

/// What there is to say, in a form.
///
/// # Errors
/// There is nothing of the kind, or the form is a drawing.
pub(super) fn explanation(timelines: &[Timeline], what: &What, form: Form) -> Result<String, Failure> {
    let chosen =
        || choice::chosen(timelines, what).map_err(|message| rejected(format!("--explain-schedule: {message}")));
    match form {
        Form::Text => Ok(text::document(&chosen()?)),
        Form::Json => {
            serde_json::to_string_pretty(&json::document(&chosen()?)).map(|text| text + "\n").map_err(rejected)
        }
        Form::Svg => Err(usage("--explain-schedule answers in text or JSON: there is no drawing of it")),
    }
}

/// The orders of a function's blocks.
fn orders(timeline: &Timeline) -> impl Iterator<Item = BlockOrder> {
    let mut explainer = Explainer::new(timeline.arch);
    timeline
        .blocks
        .iter()
        .map(move |block| explainer.block(block.instructions.iter().map(|issue| (&issue.inst, issue.cycle))))
}
