//! Drops the blocks that the entry does not reach.

use super::Context;
use super::edit::remove_unreachable;
use crate::ir::Body;

/// Runs the pass.
pub(super) fn run(body: &mut Body, _: &mut Context<'_>) -> bool {
    remove_unreachable(body)
}
