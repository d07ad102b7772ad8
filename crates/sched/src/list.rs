//! List scheduling before allocation: by critical path as long as there are registers, else by what frees some.
//!
//! After Goodman and Hsu, "Code scheduling and register allocation in large basic blocks" (1988): of the instructions
//! whose operands are there, the one with the longest way to the block's end issues next if its results find room, those first
//! whose unit is free. Where
//! nothing fits, what takes no more registers than it frees issues as soon as it can, and where there is no such
//! instruction the first of an order that is known to come to an end with few: that of the source, or one made for that
//! ([`crate::backward`]).

use crate::dependence::Graph;
use crate::lives::{Counts, Lives};
use crate::units::Units;
use fixedbitset::FixedBitSet;
use oriole_checkpoint::checkpoint;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Candidates that are looked at for one that fits.
const TRIES: usize = 16;

/// An order of a block's instructions, and what it costs.
#[derive(Clone)]
pub(crate) struct Order {
    pub(crate) insts: Vec<u32>,
    /// Cycles until the last one issues.
    pub(crate) cycles: u32,
    /// Most registers in use.
    pub(crate) peak: Counts,
}

/// What an order of the instructions costs.
pub(crate) fn in_order(graph: &Graph, lives: Lives, insts: impl Iterator<Item = u32>) -> Order {
    let mut clock = Clock::new(graph, lives);
    insts.for_each(|at| clock.issue(at));
    clock.order
}

/// An order that is followed where nothing fits, and within sight of which the list stays.
#[derive(Clone, Copy)]
pub(crate) struct Followed<'a> {
    /// By instruction: its place in it.
    pub(crate) ranks: &'a [u32],
    /// From so many registers on its ranks decide what is next, not the heights.
    pub(crate) from: Counts,
    /// How far ahead of the first that has not issued an instruction may stand in it to issue.
    pub(crate) window: u32,
}

/// The order that is short and keeps within `aim` where it can. Of the instructions that find room those with the longest
/// way go first.
pub(crate) fn list_order(graph: &Graph, heights: &[u32], lives: Lives, aim: Counts, followed: Followed<'_>) -> Order {
    let Followed { ranks, from: ranks_from, window } = followed;
    let mut list = List {
        heights,
        ranks,
        window,
        issued_ranks: FixedBitSet::with_capacity(ranks.len()),
        next_rank: 0,
        outside: BinaryHeap::new(),
        incoming: graph.incoming.clone(),
        clock: Clock::new(graph, lives),
        aim,
        ranks_from,
        waiting: Queue::new(),
        ready: Queue::new(),
        by_rank: None,
        issued: vec![false; graph.incoming.len()],
    };
    (0..graph.incoming.len() as u32).filter(|at| graph.incoming[*at as usize] == 0).for_each(|at| list.open(at));
    while let Some(at) = list.choose() {
        checkpoint(8);
        list.issue(at);
    }
    list.clock.order
}

/// Issues instructions: when, and with how many registers in use.
struct Clock<'g> {
    graph: &'g Graph,
    /// By instruction: when its operands are there.
    earliest: Vec<u32>,
    /// A choice goes by them, the cycles do not: other warps want them, too.
    units: Units,
    now: u32,
    lives: Lives,
    order: Order,
}

impl<'g> Clock<'g> {
    fn new(graph: &'g Graph, lives: Lives) -> Self {
        let order = Order { insts: Vec::with_capacity(graph.incoming.len()), cycles: 0, peak: lives.live };
        Clock { graph, earliest: vec![0; graph.incoming.len()], units: Units::default(), now: 0, lives, order }
    }

    /// The instruction issues as soon as its operands are there.
    fn issue(&mut self, at: u32) {
        self.now = self.now.max(self.earliest[at as usize]);
        self.units.issue(self.graph.demands[at as usize], self.now);
        self.order.insts.push(at);
        self.order.cycles = self.now;
        for edge in self.graph.edges.row(at as usize) {
            let earliest = &mut self.earliest[edge.to as usize];
            *earliest = (*earliest).max(self.now + edge.latency);
        }
        self.lives.issue(at);
        self.order.peak = self.order.peak.max(self.lives.live);
        self.now += 1;
    }
}

struct List<'g> {
    /// By instruction: cycles from its issue to the end.
    heights: &'g [u32],
    /// By instruction: its place in the order to be followed.
    ranks: &'g [u32],
    /// See [`Followed::window`].
    window: u32,
    /// The ranks of what has issued, and the first that is not one of them.
    issued_ranks: FixedBitSet,
    next_rank: u32,
    /// What has no predecessors left and stands too far ahead, by rank.
    outside: BinaryHeap<Reverse<(u32, u32)>>,
    incoming: Vec<u32>,
    clock: Clock<'g>,
    /// Registers that are to be used at most.
    aim: Counts,
    /// With more in use the rank decides what is next, not the height.
    ranks_from: Counts,
    /// What has no predecessors left: by the time when its operands are there, or by height if they are. What has issued may still
    /// stand there.
    waiting: Queue<Reverse<(u32, u32)>>,
    ready: Queue<(u32, Reverse<u32>)>,
    /// The same by rank, from the first time on that what is ready finds no room by height: mostly there is room.
    by_rank: Option<ByRank>,
    issued: Vec<bool>,
}

/// What has no predecessors left by rank: what is ready, and all. What has issued may still stand there.
struct ByRank {
    ready: Queue<Reverse<(u32, u32)>>,
    all: BinaryHeap<Reverse<(u32, u32)>>,
}

impl List<'_> {
    /// All predecessors of the instruction have issued.
    fn open(&mut self, at: u32) {
        let rank = self.ranks[at as usize];
        if rank - self.next_rank < self.window {
            self.offer(at);
        } else {
            self.outside.push(Reverse((rank, at)));
        }
    }

    fn offer(&mut self, at: u32) {
        self.waiting.push(Reverse((self.clock.earliest[at as usize], at)));
        if let Some(by_rank) = &mut self.by_rank {
            by_rank.all.push(Reverse((self.ranks[at as usize], at)));
        }
    }

    fn issue(&mut self, at: u32) {
        self.issued[at as usize] = true;
        self.clock.issue(at);
        self.advance(self.ranks[at as usize]);
        let graph = self.clock.graph;
        for edge in graph.edges.row(at as usize) {
            let incoming = &mut self.incoming[edge.to as usize];
            *incoming -= 1;
            if *incoming == 0 {
                self.open(edge.to);
            }
        }
    }

    /// The instruction of a rank has issued: others may have come within sight.
    fn advance(&mut self, rank: u32) {
        if self.window == u32::MAX {
            return;
        }
        self.issued_ranks.insert(rank as usize);
        while self.issued_ranks.contains(self.next_rank as usize) {
            self.next_rank += 1;
        }
        let (next_rank, window) = (self.next_rank, self.window);
        let in_sight = |entry: &Reverse<(u32, u32)>| entry.0.0 - next_rank < window;
        while let Some(Reverse((_, at))) = self.outside.peek().copied().filter(in_sight) {
            self.outside.pop();
            self.offer(at);
        }
    }

    fn choose(&mut self) -> Option<u32> {
        loop {
            self.wake();
            let (issued, clock) = (&self.issued, &self.clock);
            let [room, room_for_height] = [self.aim, self.ranks_from].map(|limit| limit.room(clock.lives.live));
            let fits = |at: u32| clock.lives.change(at).fits(room);
            let is_free = |at: u32| clock.units.free(clock.graph.demands[at as usize].unit as usize) <= clock.now;
            let fits_well = |at: u32| clock.lives.change(at).fits(room_for_height);
            let ready = self.ready.take_best(|(_, Reverse(at))| *at, issued, fits_well, is_free);
            if ready.is_some() {
                return ready;
            }
            if self.ready.0.is_empty() {
                match self.waiting.0.last() {
                    Some(Reverse((time, _))) => self.clock.now = *time,
                    None => return None,
                }
                continue;
            }
            let (ranks, waiting, ready) = (self.ranks, &mut self.waiting, &self.ready);
            let by_rank = self.by_rank.get_or_insert_with(|| ByRank::of(waiting, ready, issued, ranks));
            return (by_rank.ready.take_fitting(|Reverse((_, at))| *at, issued, fits))
                .or_else(|| waiting.take_fitting(|Reverse((_, at))| *at, issued, fits))
                .or_else(|| by_rank.first(issued));
        }
    }

    /// What has its operands by now is ready.
    fn wake(&mut self) {
        while let Some(Reverse((_, at))) = self.waiting.0.pop_if(|Reverse((time, _))| *time <= self.clock.now) {
            if !self.issued[at as usize] {
                self.ready.push((self.heights[at as usize], Reverse(at)));
                if let Some(by_rank) = &mut self.by_rank {
                    by_rank.ready.push(Reverse((self.ranks[at as usize], at)));
                }
            }
        }
    }
}

impl ByRank {
    /// Of what waits and what is ready.
    fn of(
        waiting: &Queue<Reverse<(u32, u32)>>,
        ready: &Queue<(u32, Reverse<u32>)>,
        issued: &[bool],
        ranks: &[u32],
    ) -> ByRank {
        let ranked = |at: u32| (!issued[at as usize]).then(|| Reverse((ranks[at as usize], at)));
        let mut ready: Vec<_> = ready.0.iter().filter_map(|(_, Reverse(at))| ranked(*at)).collect();
        ready.sort_unstable();
        let waiting = waiting.0.iter().filter_map(|Reverse((_, at))| ranked(*at));
        let all = waiting.chain(ready.iter().copied()).collect();
        ByRank { ready: Queue(ready), all }
    }

    /// Takes the first out. What has issued is dropped on the way.
    fn first(&mut self, issued: &[bool]) -> Option<u32> {
        while let Some(Reverse((_, at))) = self.all.pop() {
            if !issued[at as usize] {
                return Some(at);
            }
        }
        None
    }
}

/// Candidates, the best last. Several of the best are looked at each time and few are taken: a heap would have to take them all
/// out and put them back.
struct Queue<E>(Vec<E>);

impl<E: Ord> Queue<E> {
    fn new() -> Self {
        Queue(Vec::new())
    }

    fn push(&mut self, entry: E) {
        let place = self.0.partition_point(|other| *other < entry);
        self.0.insert(place, entry);
    }

    /// Takes the best instruction out that fits, of the first few. What has issued is dropped on the way.
    fn take_fitting(&mut self, inst: impl Fn(&E) -> u32, issued: &[bool], fits: impl Fn(u32) -> bool) -> Option<u32> {
        self.take_best(inst, issued, fits, |_| true)
    }

    /// Takes the best instruction out that fits and is wanted, of the first few, else the best that fits.
    fn take_best(
        &mut self,
        inst: impl Fn(&E) -> u32,
        issued: &[bool],
        fits: impl Fn(u32) -> bool,
        is_wanted: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let (mut passed, mut second) = (0, None);
        for place in (0..self.0.len()).rev() {
            let at = inst(&self.0[place]);
            if issued[at as usize] {
                self.0.remove(place);
                // What stands behind has moved.
                second = second.map(|(place, at)| (place - 1, at));
                continue;
            }
            if fits(at) {
                if is_wanted(at) {
                    self.0.remove(place);
                    return Some(at);
                }
                second = second.or(Some((place, at)));
            }
            passed += 1;
            if passed == TRIES {
                break;
            }
        }
        second.map(|(place, at)| {
            self.0.remove(place);
            at
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Followed, TRIES, in_order, list_order};
    use crate::dependence::Graph;
    use crate::lives::{Class, Counts, Lives};
    use crate::order::heights;
    use crate::sample::Sample;
    use crate::units::NOTHING;
    use fastrand::Rng;
    use oriole_graph::Rows;

    fn registers(count: i32) -> Counts {
        Counts([count; 4])
    }

    /// Where all values live on, and nothing waits for anything.
    struct Choice<'a> {
        by_height: &'a [u32],
        by_rank: &'a [u32],
        /// By instruction: how many values it writes.
        writes: &'a [i32],
    }

    impl Choice<'_> {
        /// The first by height that keeps within `ranks_from`, else the first by rank that keeps within `aim`, else the first.
        fn expected(&self, ranks_from: i32, aim: i32) -> Vec<u32> {
            let mut order: Vec<u32> = Vec::new();
            for _ in self.writes {
                let live: i32 = order.iter().map(|at| self.writes[*at as usize]).sum();
                let first = |of: &[u32], limit: i32| {
                    let fits = |at: u32| self.writes[at as usize] == 0 || live + self.writes[at as usize] <= limit;
                    of.iter().copied().find(|at| !order.contains(at) && fits(*at))
                };
                let next = first(self.by_height, ranks_from).or_else(|| first(self.by_rank, aim));
                order.extend(next.or_else(|| first(self.by_rank, i32::MAX)));
            }
            order
        }
    }

    fn places(order: &[u32]) -> Vec<u32> {
        let mut places = vec![0; order.len()];
        (0..).zip(order).for_each(|(place, at)| places[*at as usize] = place);
        places
    }

    #[test]
    fn from_so_many_registers_on_the_rank_decides() {
        for seed in 0..2_000 {
            let mut rng = Rng::with_seed(seed);
            let count = rng.u32(1..TRIES as u32);
            let writes: Vec<i32> = (0..count).map(|_| rng.i32(0..4)).collect();
            let (mut by_height, mut by_rank): (Vec<u32>, Vec<u32>) = ((0..count).collect(), (0..count).collect());
            rng.shuffle(&mut by_height);
            rng.shuffle(&mut by_rank);
            let heights: Vec<u32> = places(&by_height).into_iter().map(|place| count - place).collect();
            let all = writes.iter().sum::<i32>();
            let aim = rng.i32(0..=all);
            let ranks_from = rng.i32(0..=aim);

            let mut values = 0u32..;
            let insts: Vec<_> =
                writes.iter().map(|n| (Vec::new(), values.by_ref().take(*n as usize).collect())).collect();
            let lives = Lives::of(&vec![(Class::General, true); all as usize], &insts);
            let graph = Graph {
                edges: Rows::default(),
                incoming: vec![0; count as usize],
                demands: vec![NOTHING; count as usize],
            };
            let followed = Followed { ranks: &places(&by_rank), from: registers(ranks_from), window: u32::MAX };
            let order = list_order(&graph, &heights, lives, registers(aim), followed);
            let choice = Choice { by_height: &by_height, by_rank: &by_rank, writes: &writes };
            assert_eq!(order.insts, choice.expected(ranks_from, aim), "seed {seed}");
        }
    }

    /// An order has each instruction behind what it waits for, and costs what it says.
    #[test]
    fn nothing_stands_before_what_it_waits_for() {
        for seed in 0..1_000 {
            let mut rng = Rng::with_seed(seed);
            let count = rng.u32(1..60);
            let sample = Sample::new(&mut rng, count, 4);
            let ranks = places(&sample.any_order(&mut rng));
            let window = if rng.bool() { u32::MAX } else { rng.u32(1..20) };
            let followed = Followed { ranks: &ranks, from: registers(rng.i32(0..12)), window };
            let (aim, heights) = (registers(rng.i32(0..12)), heights(&sample.graph));
            let order = list_order(&sample.graph, &heights, sample.lives.clone(), aim, followed);
            assert!(sample.allows(&order.insts), "seed {seed}: {:?}", order.insts);
            for (place, at) in order.insts.iter().enumerate() {
                let first = order.insts[place..].iter().map(|at| ranks[*at as usize]).min();
                assert!(ranks[*at as usize] - first.unwrap_or(0) < window, "seed {seed}: {:?}", order.insts);
            }
            let again = in_order(&sample.graph, sample.lives, order.insts.iter().copied());
            assert_eq!((order.cycles, order.peak), (again.cycles, again.peak), "seed {seed}");
        }
    }
}
