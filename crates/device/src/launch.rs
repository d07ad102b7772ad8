//! What is launched.

/// One kernel launch, apart from the kernel's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Blocks of a cluster in x, y, z; all 1 without clusters.
    pub cluster: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared_bytes: u32,
    /// The kernel's parameters as they stand in constant bank 0, from the first parameter on.
    pub params: Vec<u8>,
}

impl Default for Launch {
    /// One block of one thread, without parameters.
    fn default() -> Self {
        Launch { grid: [1; 3], block: [1; 3], cluster: [1; 3], shared_bytes: 0, params: Vec::new() }
    }
}

/// Why a launch was refused before anything ran.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// A dimension of the grid, block or cluster is zero.
    #[error("the {what} has a dimension of zero")]
    EmptyDimension {
        /// `grid`, `block` or `cluster`.
        what: &'static str,
    },
    /// The block is larger than the hardware or the kernel allows.
    #[error("a block of {threads} threads is too large: {reason}")]
    BlockTooLarge {
        /// Threads asked for.
        threads: u64,
        /// Which limit.
        reason: String,
    },
    /// A grid dimension exceeds what the hardware takes.
    #[error("grid dimension {axis} is {size}; at most {limit}")]
    GridTooLarge {
        /// `x`, `y` or `z`.
        axis: char,
        /// Blocks asked for.
        size: u32,
        /// The hardware's limit.
        limit: u32,
    },
    /// The grid does not divide into clusters.
    #[error("the grid does not divide into clusters of {cluster:?}")]
    ClusterShape {
        /// Cluster shape.
        cluster: [u32; 3],
    },
    /// Clusters that the kernel or the target does not have.
    #[error("clusters of {cluster:?} blocks are impossible: {reason}")]
    Cluster {
        /// Cluster shape.
        cluster: [u32; 3],
        /// Why.
        reason: String,
    },
    /// More shared memory than a block may have.
    #[error("{bytes} bytes of shared memory are too many; a block may have {limit}")]
    SharedTooLarge {
        /// Static and dynamic bytes.
        bytes: u64,
        /// The target's limit.
        limit: u64,
    },
    /// The engine cannot do it (yet).
    #[error("{what} cannot be simulated yet")]
    Unsupported {
        /// What.
        what: &'static str,
    },
    /// The kernel demands another block shape (`.reqntid`).
    #[error("the kernel requires blocks of {required:?} threads, not {given:?}")]
    RequiredBlock {
        /// What the kernel demands.
        required: [u32; 3],
        /// What was asked for.
        given: [u32; 3],
    },
}

/// The product of the three sizes of a shape, or the greatest number where it is greater.
fn product(shape: [u32; 3]) -> u64 {
    shape.iter().fold(1, |product: u64, &size| product.saturating_mul(size.into()))
}

impl Launch {
    /// Threads of one block.
    pub fn threads(&self) -> u64 {
        product(self.block)
    }

    /// Blocks of the grid.
    pub fn blocks(&self) -> u64 {
        product(self.grid)
    }

    /// Block number `linear`, x running fastest.
    pub fn block_at(&self, linear: u64) -> [u32; 3] {
        let (x, y) = (u64::from(self.grid[0]).max(1), u64::from(self.grid[1]).max(1));
        // Each remainder is below a 32-bit dimension; the last is one because `linear` is a block.
        [(linear % x) as u32, (linear / x % y) as u32, (linear / x / y) as u32]
    }

    /// Blocks of a cluster.
    pub fn blocks_of_cluster(&self) -> u64 {
        product(self.cluster)
    }

    /// Clusters of the grid; a launch without clusters has one for each block.
    pub fn clusters(&self) -> u64 {
        self.blocks() / self.blocks_of_cluster().max(1)
    }

    /// The number in the grid of the block with this rank in cluster number `cluster`, x running fastest
    /// everywhere. The grid divides into clusters.
    pub fn block_of_cluster(&self, cluster: u64, rank: u64) -> u64 {
        let [x, y, z] = self.cluster.map(|n| u64::from(n).max(1));
        let [columns, rows, _] = self.grid.map(u64::from);
        let (across, up) = ((columns / x).max(1), (rows / y).max(1));
        let corner = [cluster % across * x, cluster / across % up * y, cluster / across / up * z];
        let inside = [rank % x, rank / x % y, rank / x / y];
        let [x, y, z] = std::array::from_fn(|axis| corner[axis] + inside[axis]);
        x + columns * (y + rows * z)
    }

    /// Thread number `linear` of a block, x running fastest.
    pub fn thread_at(&self, linear: u32) -> [u32; 3] {
        let (x, y) = (self.block[0].max(1), self.block[1].max(1));
        [linear % x, linear / x % y, linear / x / y]
    }

    /// Checks what every CUDA device checks: no empty dimension, at most 1024 threads (64 in z),
    /// 2^31 - 1 by 65535 by 65535 blocks, whole clusters (CUDA C++ guide, "Compute capabilities").
    pub fn check(&self) -> Result<(), LaunchError> {
        for (what, shape) in [("grid", self.grid), ("block", self.block), ("cluster", self.cluster)] {
            if shape.contains(&0) {
                return Err(LaunchError::EmptyDimension { what });
            }
        }
        let threads = self.threads();
        if threads > 1024 || self.block[2] > 64 {
            let reason = "at most 1024 threads, and 64 in z".to_owned();
            return Err(LaunchError::BlockTooLarge { threads, reason });
        }
        for ((axis, limit), size) in [('x', i32::MAX as u32), ('y', 65535), ('z', 65535)].into_iter().zip(self.grid) {
            if size > limit {
                return Err(LaunchError::GridTooLarge { axis, size, limit });
            }
        }
        if self.grid.iter().zip(self.cluster).any(|(grid, cluster)| grid % cluster != 0) {
            return Err(LaunchError::ClusterShape { cluster: self.cluster });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_clusters_are_neighbours() {
        let launch = Launch { grid: [4, 6, 2], cluster: [2, 3, 1], ..Launch::default() };
        assert_eq!(launch.clusters(), 8);
        let place = |cluster, rank| launch.block_at(launch.block_of_cluster(cluster, rank));
        assert_eq!(place(0, 0), [0, 0, 0]);
        assert_eq!(place(0, 5), [1, 2, 0]);
        assert_eq!(place(1, 2), [2, 1, 0]);
        assert_eq!(place(2, 0), [0, 3, 0]);
        assert_eq!(place(7, 5), [3, 5, 1]);
        let mut all: Vec<u64> = (0..8)
            .flat_map(|cluster| (0..6).map(move |rank| (cluster, rank)))
            .map(|(c, r)| launch.block_of_cluster(c, r))
            .collect();
        all.sort_unstable();
        assert_eq!(all, (0..48).collect::<Vec<u64>>());
    }

    #[test]
    fn coordinates_run_x_first() {
        let launch = Launch { grid: [3, 2, 2], block: [4, 2, 2], ..Launch::default() };
        assert_eq!(launch.block_at(0), [0, 0, 0]);
        assert_eq!(launch.block_at(4), [1, 1, 0]);
        assert_eq!(launch.block_at(11), [2, 1, 1]);
        assert_eq!(launch.thread_at(13), [1, 1, 1]);
    }

    #[test]
    fn impossible_shapes_are_refused() {
        let refuse = |change: fn(&mut Launch)| {
            let mut launch = Launch { grid: [4; 3], block: [32, 2, 2], ..Launch::default() };
            launch.check().expect("the base case is a proper launch");
            change(&mut launch);
            launch.check().expect_err("the change makes it impossible").to_string()
        };
        assert_eq!(refuse(|l| l.grid[1] = 0), "the grid has a dimension of zero");
        assert!(refuse(|l| l.block[0] = 512).contains("2048 threads"));
        assert!(refuse(|l| l.block = [1, 1, 65]).contains("64 in z"));
        assert!(refuse(|l| l.grid[2] = 70000).contains("at most 65535"));
        assert!(refuse(|l| l.cluster[0] = 3).contains("clusters"));
    }
}
