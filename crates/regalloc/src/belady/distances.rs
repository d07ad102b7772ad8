//! How far the next reads are from the starts of blocks.

use super::{LOOP_EXIT, NEVER, Scene};
use crate::node::Component;
use oriole_ori::Block;

/// By block: the components of the file that are live at its start, and how many lines later each is read.
pub(crate) struct Distances {
    starts: Vec<Vec<(Component, u32)>>,
}

/// What is known of a block before distances are.
struct Own {
    /// How many lines it has.
    length: u32,
    /// Whether each component that is live at its start is read here, and at which line first; `NEVER` if not.
    first: Vec<u32>,
}

impl Distances {
    /// Carry distances against the flow until nothing changes.
    pub(crate) fn new(scene: &Scene<'_>) -> Self {
        let bound = scene.func.blocks().len();
        let mut this = Distances { starts: vec![Vec::new(); bound] };
        let mut own: Vec<Option<Own>> = (0..bound).map(|_| None).collect();
        let mut scratch = vec![NEVER; scene.lines.components as usize];
        for (place, block) in scene.func.layout().iter().enumerate() {
            let live = scene.live_in(*block);
            this.starts[block.as_u32() as usize] = live.map(|component| (component, NEVER)).collect();
            own[block.as_u32() as usize] = Some(this.own(scene, place, *block, &mut scratch));
        }
        while this.round(scene, &own, &mut scratch) {}
        this
    }

    /// What is live at the start of `block`, and how far the next reads are.
    pub(crate) fn at_start(&self, block: Block) -> &[(Component, u32)] {
        &self.starts[block.as_u32() as usize]
    }

    /// Call `visit` for what is live at the end of `block`, with the distance of the next read; some more than once.
    pub(crate) fn at_end(&self, scene: &Scene<'_>, block: Block, mut visit: impl FnMut(Component, u32)) {
        for succ in scene.func.succs(block) {
            let left = scene.loops.depth(block).saturating_sub(scene.loops.depth(*succ));
            for (component, distance) in self.at_start(*succ) {
                visit(*component, distance.saturating_add(left * LOOP_EXIT).min(NEVER - 1));
            }
        }
    }

    fn own(&self, scene: &Scene<'_>, place: usize, block: Block, scratch: &mut [u32]) -> Own {
        let length = scene.lines.lines(place).len() as u32;
        if self.at_start(block).is_empty() {
            return Own { length, first: Vec::new() };
        }
        for (line, access) in (0..).zip(scene.lines.lines(place)) {
            for component in access.reads.iter().flat_map(|read| read.components()) {
                let first = &mut scratch[component as usize];
                *first = (*first).min(line);
            }
        }
        let first = self.at_start(block).iter().map(|(component, _)| scratch[*component as usize]).collect();
        for access in scene.lines.lines(place) {
            access.reads.iter().flat_map(|read| read.components()).for_each(|read| scratch[read as usize] = NEVER);
        }
        Own { length, first }
    }

    /// Once over all blocks, from the last; whether anything has changed.
    fn round(&mut self, scene: &Scene<'_>, own: &[Option<Own>], scratch: &mut [u32]) -> bool {
        let mut changed = false;
        for block in scene.flow.cfg.rpo().iter().rev() {
            let at = block.as_u32() as usize;
            let Some(own) = &own[at] else { continue };
            self.at_end(scene, *block, |component, distance| {
                let nearest = &mut scratch[component as usize];
                *nearest = (*nearest).min(distance);
            });
            let mut start = std::mem::take(&mut self.starts[at]);
            for ((component, distance), first) in start.iter_mut().zip(&own.first) {
                let behind = scratch[*component as usize];
                let new = if *first != NEVER { *first } else { behind.saturating_add(own.length).min(NEVER - 1) };
                let new = if *first == NEVER && behind == NEVER { NEVER } else { new };
                changed |= std::mem::replace(distance, new) != new;
            }
            self.starts[at] = start;
            self.at_end(scene, *block, |component, _| scratch[component as usize] = NEVER);
        }
        changed
    }
}
