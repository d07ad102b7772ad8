//! Functions of a module that are worked on at a time. What comes out does not depend on the number of threads: work
//! that uses other functions' results waits for them, and results are put together in the order of the functions.

use crate::error::CompileError;
use oriole_ori::FuncId;
use oriole_ori::analysis::CallNode;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::BTreeMap;

/// Bytes of a worker's stack: as many as the first thread of a process has.
const STACK: usize = 8 << 20;

/// The threads of a compilation.
pub(crate) struct Workers(Option<ThreadPool>);

impl Workers {
    /// So many threads; with 1 the caller's own does the work.
    pub(crate) fn new(jobs: usize) -> Result<Workers, CompileError> {
        if jobs <= 1 {
            return Ok(Workers(None));
        }
        let pool = ThreadPoolBuilder::new().num_threads(jobs).stack_size(STACK).build();
        pool.map(|pool| Workers(Some(pool))).map_err(|error| CompileError::Threads(error.to_string()))
    }

    /// What `work` makes of each item, in the order of the items.
    pub(crate) fn each<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Sync + Send) -> Vec<R> {
        match &self.0 {
            Some(pool) => pool.install(|| items.into_par_iter().map(work).collect()),
            None => items.into_iter().map(work).collect(),
        }
    }
}

/// The functions of `order`, callees first, in groups: none calls another of its group, and what it calls is in a
/// group before, but for what calls it in turn. What calls by address may call anything, and comes in a group of its
/// own after all that the order has before it. Members are numbers in the order.
pub(crate) fn groups(order: &[CallNode]) -> Vec<Vec<usize>> {
    let mut group_of: BTreeMap<FuncId, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (number, node) in order.iter().enumerate() {
        let before = node.callees.iter().filter_map(|callee| group_of.get(callee));
        let group = if node.open { groups.len() } else { before.map(|group| group + 1).max().unwrap_or(0) };
        group_of.insert(node.function, group);
        if groups.len() <= group {
            groups.resize_with(group + 1, Vec::new);
        }
        groups[group].push(number);
    }
    groups
}
