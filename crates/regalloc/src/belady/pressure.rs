//! How many components are live at a time.

use super::Scene;
use crate::code::Access;
use crate::live_set::LiveSet;

/// By place in the layout: the most components that are live at a time in the block.
pub(crate) fn most_live(scene: &Scene<'_>) -> Vec<u32> {
    let mut set = LiveSet::new(scene.lines.components as usize);
    let blocks = scene.func.layout().iter().enumerate();
    blocks
        .map(|(place, block)| {
            set.clear();
            scene.live_out(*block).for_each(|component| set.insert(component, 0));
            scene
                .lines
                .lines_backwards(place)
                .fold(set.members.len(), |most, access| most.max(step_back(&mut set, &access))) as u32
        })
        .collect()
}

/// Gives how many are live at the instruction.
fn step_back(set: &mut LiveSet, access: &Access<'_>) -> usize {
    access.writes.iter().flat_map(|write| write.components()).for_each(|part| set.insert(part, 0));
    let written = set.members.len();
    if !access.line.partly {
        access.writes.iter().flat_map(|write| write.components()).for_each(|part| set.remove(part, 0));
    }
    access.reads.iter().flat_map(|read| read.components()).for_each(|part| set.insert(part, 0));
    written.max(set.members.len())
}
