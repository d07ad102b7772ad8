//! Giving physical registers to the nodes of one graph.

use crate::fatpoint::{FatPoint, count, usable};
use crate::graph::{Graph, PhysicalSet};
use crate::in_turn::{Place, in_turn, most_within_a_block};
use crate::node::Node;
use crate::order::colouring_order;
use crate::repair::repair;
use oriole_ori::Callee;

/// A file's registers, as one function may use them.
#[derive(Clone, Copy)]
pub(crate) struct Registers<'a> {
    /// Those below may be used.
    pub(crate) most: u16,
    /// There must not be more: what does not fit and cannot be computed again is an error.
    pub(crate) is_firm: bool,
    /// What finds none may go elsewhere.
    pub(crate) may_spill: bool,
    /// Those that nothing is given.
    pub(crate) reserved: PhysicalSet,
    /// The same as long as nothing goes to memory.
    pub(crate) reserved_without_spills: PhysicalSet,
    /// Those that cost a store and a load each.
    pub(crate) saved: PhysicalSet,
    /// How many may be used at no cost if so many are needed.
    pub(crate) free: &'a dyn Fn(u16) -> u16,
    /// With how many, not many fewer than are needed, more warps run at a time.
    pub(crate) fewer: &'a dyn Fn(u16) -> Option<u16>,
}

/// What is done for nodes that found no register.
#[derive(Clone, Copy)]
struct Effort {
    /// Where more nodes found none, there are not enough: other orders do not help.
    most_failed: usize,
    /// Neighbours that are looked at to repair a colouring.
    patience: u32,
}

/// Where what is left without a register goes to memory. Of 1,250 colourings of the kernels under all limits that missed more nodes
/// than that one was brought to an end.
const USUAL: Effort = Effort { most_failed: 4, patience: 100_000 };
/// Where all or nothing is wanted. What fails still leaves a better beginning to the scan.
const LESS: Effort = Effort { most_failed: 16, patience: 8_000 };

/// What has become of a graph.
pub(crate) struct Assigned {
    /// The nodes that found no register.
    pub(crate) failed: Vec<Node>,
    /// With so many registers more warps would run, but they were too few.
    pub(crate) missed: Option<u16>,
}

/// Colour the graph. Where all nodes found a register, but with a few fewer more warps would run, that is tried; and what lives
/// within blocks is given registers in turn, of all that are free to be used.
pub(crate) fn assign(graph: &mut Graph, place: Place<'_>, registers: &Registers<'_>) -> Assigned {
    let effort = if registers.is_firm { LESS } else { USUAL };
    let (mut order, failed) = colour(graph, &registers.reserved, registers.most, effort);
    if !failed.is_empty() {
        return Assigned { failed, missed: None };
    }
    let needed = graph.registers();
    let reserved = &registers.reserved_without_spills;
    let may_fit = |fewer: &u16| graph.peak <= count(&usable(*fewer, reserved)) as usize;
    let mut missed = (registers.fewer)(needed);
    if let Some(fewer) = missed.filter(may_fit) {
        let before = placed(graph, &order);
        order.iter().for_each(|node| graph.unplace(*node));
        let (other, failed) = colour(graph, reserved, fewer, LESS);
        if failed.is_empty() {
            (order, missed) = (other, None);
        } else {
            restore(graph, &order, before);
        }
    }
    let needed = graph.registers();
    let free = (registers.free)(needed);
    if registers.saved != [0; 4] {
        save_less(graph, &order, registers, free);
    } else {
        let room = free.max(needed).min(room_between_calls(graph, needed, place));
        let reserved = if room > needed { registers.reserved } else { *reserved };
        take_turns(graph, &order, (room, reserved), place);
    }
    Assigned { failed, missed }
}

/// Registers that can be of use in turn: a call waits for all that is read and written before it, so that between two calls nobody waits
/// for a register any less if there are more than one for each value that lives there alone.
fn room_between_calls(graph: &Graph, needed: u16, place: Place<'_>) -> u16 {
    let calls = place.func.call_sites().values().any(|site| site.callee != Callee::Return);
    // A call ends its block.
    if calls { needed.saturating_add(most_within_a_block(graph, place.lines)) } else { u16::MAX }
}

/// Colour the graph with registers below `limit`: in which order, and which nodes found none.
fn colour(graph: &mut Graph, reserved: &PhysicalSet, limit: u16, effort: Effort) -> (Vec<Node>, Vec<Node>) {
    let mut order = colouring_order(graph, count(&usable(limit, reserved)) as usize);
    let mut failed = place_all(graph, &order, FatPoint::new(limit, *reserved));
    if (1..=effort.most_failed).contains(&failed.len()) {
        // What is wide suffers most from what stands in between.
        let mut other = order.clone();
        other.sort_by_key(|node| std::cmp::Reverse(graph.nodes[*node as usize].width));
        let before = placed(graph, &order);
        order.iter().for_each(|node| graph.unplace(*node));
        let failed_too = place_all(graph, &other, FatPoint::new(limit, *reserved));
        if failed_too.len() < failed.len() {
            (order, failed) = (other, failed_too);
        } else {
            restore(graph, &order, before);
        }
    }
    if (1..=effort.most_failed).contains(&failed.len()) {
        failed = repair(graph, failed, &mut FatPoint::new(limit, *reserved), effort.patience);
    }
    (order, failed)
}

/// Give each node the best register; those that found none.
fn place_all(graph: &mut Graph, order: &[Node], mut fat_point: FatPoint) -> Vec<Node> {
    let mut failed = Vec::new();
    for node in order {
        match fat_point.choose(graph, *node) {
            Some(first) => graph.place(*node, first),
            None => failed.push(*node),
        }
    }
    failed
}

/// Components up to which more is tried than one colouring and the spills that it asks for: in longer functions that takes long, and
/// seldom succeeds.
pub(crate) const FEW: usize = 512;

/// Give out the registers below `room` in turn: what lives within blocks, and if that makes these shorter all others, too.
fn take_turns(graph: &mut Graph, order: &[Node], (room, reserved): (u16, PhysicalSet), place: Place<'_>) {
    // Of most functions some file has nothing that could move.
    if order.is_empty() {
        return;
    }
    let cycles = in_turn(graph, FatPoint::new(room, reserved), place);
    if graph.owner.len() <= FEW {
        let turned = placed(graph, order);
        let is_better = spread(graph, order, FatPoint::new(room, reserved), room)
            && in_turn(graph, FatPoint::new(room, reserved), place) < cycles;
        if !is_better {
            restore(graph, order, turned);
        }
    }
}

/// Give out the registers below `room` in turn, in the order in which the code first names the nodes. Whether each found one.
fn spread(graph: &mut Graph, order: &[Node], mut fat_point: FatPoint, room: u16) -> bool {
    order.iter().for_each(|node| graph.unplace(*node));
    order.iter().all(|node| {
        let from = (graph.nodes[*node as usize].base % u32::from(room)) as u16;
        let first = fat_point.choose_by(graph, *node, |number| (number + room - from) % room);
        first.into_iter().for_each(|first| graph.place(*node, first));
        first.is_some()
    })
}

/// Give out the registers below `room` anew, those that have to be saved where there is no other. Where that leaves a node
/// without a register, all stays.
fn save_less(graph: &mut Graph, order: &[Node], registers: &Registers<'_>, room: u16) {
    let before = placed(graph, order);
    order.iter().for_each(|node| graph.unplace(*node));
    let fat_point = FatPoint::new(room, registers.reserved).with_last(registers.saved);
    if !place_all(graph, order, fat_point).is_empty() {
        restore(graph, order, before);
    }
}

fn placed(graph: &Graph, order: &[Node]) -> Vec<Option<u16>> {
    order.iter().map(|node| graph.nodes[*node as usize].physical).collect()
}

/// Put the nodes back to where they were.
fn restore(graph: &mut Graph, order: &[Node], before: Vec<Option<u16>>) {
    order.iter().for_each(|node| graph.unplace(*node));
    order.iter().zip(before).filter_map(|(node, first)| Some((node, first?))).for_each(|(node, first)| {
        graph.place(*node, first);
    });
}

/// What to spill so that `failed` can be coloured: each failed node, or the cheapest of its
/// neighbours where the node itself must not be spilled or is dearer.
pub(crate) fn spill_choice(graph: &Graph, failed: &[Node]) -> Vec<Node> {
    let mut chosen: Vec<Node> = failed.iter().filter_map(|node| cheapest_around(graph, *node)).collect();
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

fn cheapest_around(graph: &Graph, node: Node) -> Option<Node> {
    let cost = |n: Node| graph.nodes[n as usize].spill_cost;
    if cost(node).is_finite() {
        return Some(node);
    }
    let wide = graph.nodes[node as usize].width;
    let mut around = Vec::new();
    for component in graph.components(node) {
        graph.for_each_neighbour(component, |neighbour| around.push(graph.owner[neighbour as usize]));
    }
    around.into_iter().filter(|n| !graph.nodes[*n as usize].fixed && cost(*n).is_finite()).min_by(|a, b| {
        // A neighbour as wide as the node frees a whole slot.
        let short = |n: Node| graph.nodes[n as usize].width < wide;
        short(*a).cmp(&short(*b)).then(cost(*a).total_cmp(&cost(*b))).then(a.cmp(b))
    })
}
