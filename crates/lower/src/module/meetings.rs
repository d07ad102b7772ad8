//! Exchanges among lanes whose members may meet at two different instructions.
//!
//! By the PTX manual the members of a mask wait for each other at instructions with the same qualifiers, wherever each of them
//! stands. Two such instructions find each other only where no path goes from one to the other without going round a loop: in both arms of a
//! branch. (Where a path does, lanes at the second one are behind the place where the arms meet, and wait there for the others.) A call counts as
//! all exchanges of what it may call.

use crate::module::plan::Plan;
use oriole_checkpoint::checkpoint;
use oriole_ptx::ast::{Block, Function, Instruction, Modifier, Name, Opcode, Operand, Statement, Sym, Word};
use oriole_ptx::mentions;
use rustc_hash::{FxHashMap, FxHashSet};

/// Where an exchange may meet another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// In another arm of a branch of its function.
    InFunction,
    /// In another function too.
    AcrossCalls,
}

/// The exchanges that may meet others, by where they start in the source.
#[derive(Debug, Default)]
pub(crate) struct Meetings(FxHashMap<u32, Meeting>);

/// What exchanges have in common that may meet: opcode and modifiers.
type Kind<'a> = (Opcode, &'a [Modifier]);

impl Meetings {
    /// Looks at the functions that are lowered.
    pub(crate) fn new(plan: &Plan<'_>) -> Meetings {
        let mut found = Meetings::default();
        let exchanges = plan.wanted.iter().map(|&number| exchanges(plan.functions[number])).sum::<usize>();
        if exchanges < 2 {
            return found;
        }
        let bodies: Vec<(usize, Flow<'_>)> =
            plan.wanted.iter().map(|&number| (number, Flow::new(plan, plan.functions[number]))).collect();
        let reach = Reach::new(plan, &bodies);
        for (_, flow) in &bodies {
            found.look_at(flow, &reach);
        }
        found
    }

    /// Whether the exchange may meet another one.
    pub(crate) fn of(&self, instruction: &Instruction) -> Option<Meeting> {
        self.0.get(&instruction.span.start).copied()
    }

    fn look_at<'a>(&mut self, flow: &Flow<'a>, reach: &Reach<'a>) {
        let places: Vec<(usize, Place<'a>)> =
            flow.nodes.iter().enumerate().filter_map(|(node, at)| Some((node, at.place?))).collect();
        let kinds: Vec<FxHashMap<Kind<'a>, FxHashSet<u32>>> = places.iter().map(|(_, at)| reach.of(*at)).collect();
        let mut numbers: FxHashMap<Kind<'a>, Vec<usize>> = FxHashMap::default();
        for (number, has) in kinds.iter().enumerate() {
            has.keys().for_each(|kind| numbers.entry(*kind).or_default().push(number));
        }
        numbers.retain(|_, members| members.len() > 1);
        if numbers.is_empty() {
            return;
        }
        let ahead = flow.ahead(&places.iter().map(|(node, _)| *node).collect::<Vec<_>>());
        let reaches = |from: usize, to: usize| ahead[places[from].0][to / 64] >> (to % 64) & 1 != 0;
        for (kind, members) in &numbers {
            for (at, &one) in members.iter().enumerate() {
                for &other in members[at + 1..].iter().filter(|&&other| !reaches(one, other) && !reaches(other, one)) {
                    self.meet(&kinds[one][kind], &kinds[other][kind], [places[one].1, places[other].1]);
                }
            }
        }
    }

    /// The exchanges of two places may meet.
    fn meet(&mut self, one: &FxHashSet<u32>, other: &FxHashSet<u32>, places: [Place<'_>; 2]) {
        if let [Place::Exchange(one), Place::Exchange(other)] = places {
            for start in [one.span.start, other.span.start] {
                self.0.entry(start).or_insert(Meeting::InFunction);
            }
            return;
        }
        let all: FxHashSet<u32> = one.union(other).copied().collect();
        // A single instruction brings all together.
        if all.len() > 1 {
            self.0.extend(all.into_iter().map(|start| (start, Meeting::AcrossCalls)));
        }
    }
}

/// What a node of the flow is there for.
#[derive(Clone, Copy, Debug)]
enum Place<'a> {
    Exchange(&'a Instruction),
    /// A call of a function of the plan, by its number.
    Call(usize),
    /// A call by address.
    AnyCall,
}

#[derive(Debug, Default)]
struct Node<'a> {
    place: Option<Place<'a>>,
    succs: Vec<usize>,
}

/// A function's exchanges and calls, and the ways between them.
struct Flow<'a> {
    nodes: Vec<Node<'a>>,
}

impl<'a> Flow<'a> {
    fn new(plan: &Plan<'a>, function: &'a Function) -> Flow<'a> {
        let mut builder = Builder { plan, nodes: vec![Node::default()], at: Some(0), scopes: Vec::new() };
        if let Some(body) = &function.body {
            builder.scope(body);
        }
        Flow { nodes: builder.nodes }
    }

    /// Which of the places, a bit each, come behind each node on a way that goes back to no node before it.
    fn ahead(&self, places: &[usize]) -> Vec<Vec<u64>> {
        let numbers: FxHashMap<usize, usize> =
            places.iter().enumerate().map(|(number, node)| (*node, number)).collect();
        let mut ahead = vec![vec![0u64; places.len().div_ceil(64)]; self.nodes.len()];
        // A node is done once all that come behind it are; one that is begun and not done is a loop's start.
        let (mut begun, mut done) = (vec![false; self.nodes.len()], vec![false; self.nodes.len()]);
        let mut stack = vec![(0, 0)];
        begun[0] = true;
        while let Some((node, next)) = stack.pop() {
            if let Some(&succ) = self.nodes[node].succs.get(next) {
                stack.push((node, next + 1));
                if !std::mem::replace(&mut begun[succ], true) {
                    stack.push((succ, 0));
                }
                continue;
            }
            done[node] = true;
            let mut all = std::mem::take(&mut ahead[node]);
            for &succ in self.nodes[node].succs.iter().filter(|succ| done[**succ] && **succ != node) {
                all.iter_mut().zip(&ahead[succ]).for_each(|(bits, more)| *bits |= more);
                if let Some(number) = numbers.get(&succ) {
                    all[number / 64] |= 1 << (number % 64);
                }
            }
            ahead[node] = all;
        }
        ahead
    }
}

/// What a name of a scope stands for.
enum Bound {
    Label(usize),
    Targets(Vec<Name>),
}

/// Walks a body and draws its flow.
struct Builder<'p, 'a> {
    plan: &'p Plan<'a>,
    nodes: Vec<Node<'a>>,
    /// Where the next instruction goes; nowhere behind a jump.
    at: Option<usize>,
    scopes: Vec<FxHashMap<Sym, Bound>>,
}

impl<'a> Builder<'_, 'a> {
    fn scope(&mut self, block: &'a Block) {
        let mut names = FxHashMap::default();
        for statement in &block.statements {
            match statement {
                Statement::Label(name) => {
                    let node = self.new_node();
                    names.insert(name.sym, Bound::Label(node));
                }
                Statement::BranchTargets(list) => {
                    names.insert(list.label.sym, Bound::Targets(list.targets.clone()));
                }
                _ => {}
            }
        }
        self.scopes.push(names);
        for statement in &block.statements {
            match statement {
                Statement::Label(name) => {
                    checkpoint(4);
                    if let Some(node) = self.label(name.sym) {
                        self.go_to(node);
                        self.at = Some(node);
                    }
                }
                Statement::Instruction(instruction) => self.instruction(instruction),
                Statement::Block(inner) => self.scope(inner),
                _ => {}
            }
        }
        self.scopes.pop();
    }

    fn instruction(&mut self, instruction: &'a Instruction) {
        match instruction.opcode {
            Opcode::Bra | Opcode::Brx => {
                for target in self.targets(instruction) {
                    self.go_to(target);
                }
                self.ends(instruction);
            }
            Opcode::Ret | Opcode::Exit | Opcode::Trap => self.ends(instruction),
            Opcode::Call => {
                let callee = instruction.call().and_then(|call| call.callee.name());
                let known = callee.and_then(|name| self.plan.by_name.get(&name.sym));
                self.place(known.map_or(Place::AnyCall, |number| Place::Call(*number)));
            }
            _ if is_exchange(instruction) => self.place(Place::Exchange(instruction)),
            _ => {}
        }
    }

    /// The nodes that a jump names.
    fn targets(&self, instruction: &Instruction) -> Vec<usize> {
        let Some(name) = instruction.operands.last().and_then(Operand::name) else { return Vec::new() };
        match self.bound(name.sym) {
            Some(Bound::Label(node)) => vec![*node],
            Some(Bound::Targets(names)) => names.iter().filter_map(|name| self.label(name.sym)).collect(),
            None => Vec::new(),
        }
    }

    fn bound(&self, sym: Sym) -> Option<&Bound> {
        self.scopes.iter().rev().find_map(|scope| scope.get(&sym))
    }

    fn label(&self, sym: Sym) -> Option<usize> {
        match self.bound(sym) {
            Some(Bound::Label(node)) => Some(*node),
            _ => None,
        }
    }

    /// A node of its own for the place, and another one behind it.
    fn place(&mut self, place: Place<'a>) {
        let node = self.new_node();
        self.nodes[node].place = Some(place);
        self.go_to(node);
        let next = self.new_node();
        self.nodes[node].succs.push(next);
        self.at = self.at.map(|_| next);
    }

    fn new_node(&mut self) -> usize {
        self.nodes.push(Node::default());
        self.nodes.len() - 1
    }

    fn go_to(&mut self, node: usize) {
        if let Some(at) = self.at {
            self.nodes[at].succs.push(node);
        }
    }

    /// Behind a jump only those go on that its guard lets pass.
    fn ends(&mut self, instruction: &Instruction) {
        if instruction.guard.is_none() {
            self.at = None;
        }
    }
}

/// How many exchanges there are in a function.
fn exchanges(function: &Function) -> usize {
    let mut count = 0;
    if let Some(body) = &function.body {
        mentions::instructions(body, &mut |instruction| count += usize::from(is_exchange(instruction)));
    }
    count
}

/// Whether lanes exchange values here under a mask.
fn is_exchange(instruction: &Instruction) -> bool {
    let waits =
        matches!(instruction.opcode, Opcode::Shfl | Opcode::Vote | Opcode::Match | Opcode::Redux | Opcode::Elect);
    waits && instruction.has(Word::Sync)
}

/// The exchanges of each function and of all that it calls: where they start, by kind.
struct Reach<'a> {
    of: FxHashMap<usize, FxHashMap<Kind<'a>, FxHashSet<u32>>>,
    /// What a call by address may get to: all that is no kernel.
    any: FxHashMap<Kind<'a>, FxHashSet<u32>>,
}

impl<'a> Reach<'a> {
    fn new(plan: &Plan<'a>, bodies: &[(usize, Flow<'a>)]) -> Reach<'a> {
        let flows: FxHashMap<usize, &Flow<'a>> = bodies.iter().map(|(number, flow)| (*number, flow)).collect();
        let devices: Vec<usize> =
            bodies.iter().map(|(number, _)| *number).filter(|number| !plan.functions[*number].is_entry).collect();
        let of = devices.iter().map(|number| (*number, gather(vec![*number], &flows, &devices))).collect();
        Reach { of, any: gather(devices.clone(), &flows, &devices) }
    }

    fn of(&self, place: Place<'a>) -> FxHashMap<Kind<'a>, FxHashSet<u32>> {
        match place {
            Place::Exchange(instruction) => {
                let start = FxHashSet::from_iter([instruction.span.start]);
                FxHashMap::from_iter([(kind_of(instruction), start)])
            }
            Place::Call(number) => self.of.get(&number).cloned().unwrap_or_default(),
            Place::AnyCall => self.any.clone(),
        }
    }
}

fn kind_of(instruction: &Instruction) -> Kind<'_> {
    (instruction.opcode, &instruction.modifiers)
}

/// The exchanges of the functions and of all that they call.
fn gather<'a>(
    mut from: Vec<usize>,
    flows: &FxHashMap<usize, &Flow<'a>>,
    devices: &[usize],
) -> FxHashMap<Kind<'a>, FxHashSet<u32>> {
    let mut seen: FxHashSet<usize> = from.iter().copied().collect();
    let mut kinds: FxHashMap<Kind<'a>, FxHashSet<u32>> = FxHashMap::default();
    while let Some(flow) = from.pop().map(|number| flows.get(&number)) {
        for place in flow.iter().flat_map(|flow| &flow.nodes).filter_map(|node| node.place) {
            match place {
                Place::Exchange(instruction) => {
                    kinds.entry(kind_of(instruction)).or_default().insert(instruction.span.start);
                }
                Place::Call(number) if seen.insert(number) => from.push(number),
                Place::Call(_) => {}
                Place::AnyCall => from.extend(devices.iter().copied().filter(|number| seen.insert(*number))),
            }
        }
    }
    kinds
}
