//! The clusters of a running launch that have not started: they start in order, or blocks that run take their work
//! over (`clusterlaunchcontrol`).

use crate::Launch;
use std::sync::atomic::{AtomicU64, Ordering};

/// The clusters of a launch from some number on; a launch without clusters has one of each block.
#[derive(Debug)]
pub struct Unstarted {
    launch: Launch,
    next: AtomicU64,
}

impl Unstarted {
    /// All clusters of a launch.
    #[must_use]
    pub fn new(launch: &Launch) -> Unstarted {
        Unstarted { launch: launch.clone(), next: AtomicU64::new(0) }
    }

    /// The number of the lowest one; that of all clusters if none is left.
    #[must_use]
    pub fn lowest(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Takes the lowest one: it starts, or nobody starts it any more.
    pub fn take(&self) -> Option<u64> {
        let end = self.launch.clusters();
        let next = |lowest: u64| (lowest < end).then_some(lowest + 1);
        self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()
    }

    /// The answer to a block that asks for the work of another: that of the lowest cluster, which then does not start.
    ///
    /// Of the four words, as code of ptxas reads them, the first is `%ctaid.x` of the cluster's first block, the second
    /// has y in its lower half and z in its upper one, and bit 0 of the third tells that there was a cluster.
    pub fn cancel(&self) -> [u32; 4] {
        let Some(cluster) = self.take() else { return [0; 4] };
        let [x, y, z] = self.launch.block_at(self.launch.block_of_cluster(cluster, 0));
        [x, y | z << 16, 1, 0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cluster_starts_or_is_cancelled() {
        let launch = Launch { grid: [4, 2, 3], cluster: [2, 1, 1], ..Launch::default() };
        let unstarted = Unstarted::new(&launch);
        assert_eq!((unstarted.lowest(), unstarted.take(), unstarted.take()), (0, Some(0), Some(1)));
        assert_eq!(unstarted.cancel(), [0, 1, 1, 0]);
        assert_eq!(unstarted.cancel(), [2, 1, 1, 0]);
        assert_eq!(unstarted.cancel(), [0, 1 << 16, 1, 0]);
        assert_eq!((5..12).map(|_| unstarted.cancel()).filter(|answer| answer[2] == 1).count(), 7);
        assert_eq!((unstarted.cancel(), unstarted.take(), unstarted.lowest()), ([0; 4], None, 12));
    }
}
