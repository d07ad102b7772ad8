//! A set of components of one file, a bit each, in words as those of the interference matrix: the neighbours within it
//! are found a word at a time.

use crate::node::Component;

/// Components of one file.
#[derive(Debug)]
pub(crate) struct ComponentSet(Vec<u64>);

impl ComponentSet {
    /// Room for so many components; none is in it.
    pub(crate) fn new(components: usize) -> Self {
        ComponentSet(vec![0; components.div_ceil(64)])
    }

    pub(crate) fn insert(&mut self, component: Component) {
        self.0[component as usize / 64] |= 1 << (component % 64);
    }

    pub(crate) fn remove(&mut self, component: Component) {
        self.0[component as usize / 64] &= !(1 << (component % 64));
    }

    pub(crate) fn contains(&self, component: Component) -> bool {
        self.0[component as usize / 64] >> (component % 64) & 1 == 1
    }

    /// The lowest 64 components first, the lowest of them in the lowest bit.
    pub(crate) fn words(&self) -> &[u64] {
        &self.0
    }
}
