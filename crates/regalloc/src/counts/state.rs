//! How many registers a warp has at each place of a function, as a function of how many it has at the start.

use oriole_isa::{Field, KEPT_REGISTERS, MaxregOp, Opcode, Role};
use oriole_ori::analysis::Cfg;
use oriole_ori::{Block, CallId, Function, Inst, OperandKind, SecondaryMap};
use rustc_hash::FxHashMap;

/// The least that a warp may have at a place: what it began with, or what it was given on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// On some way nothing has changed since the start.
    unchanged: bool,
    /// The fewest that some way gives; [`NONE`] if all leave it unchanged.
    given: u16,
}

/// No way gives a number.
const NONE: u16 = u16::MAX;

impl State {
    /// At the start; and what a call leaves that changes nothing.
    pub(crate) const UNCHANGED: State = State { unchanged: true, given: NONE };
    /// Where no way leads.
    const NOWHERE: State = State { unchanged: false, given: NONE };

    fn given(count: u16) -> State {
        State { unchanged: false, given: count }
    }

    /// Where two ways meet.
    fn join(self, other: State) -> State {
        State { unchanged: self.unchanged || other.unchanged, given: self.given.min(other.given) }
    }

    /// Behind what does `then` to a warp that comes with `self`.
    fn then(self, then: State) -> State {
        if then.unchanged { State { unchanged: self.unchanged, given: self.given.min(then.given) } } else { then }
    }

    /// How many there are if there were `entry` at the start.
    pub(crate) fn of(self, entry: u16) -> u16 {
        if self.unchanged { self.given.min(entry) } else { self.given }
    }
}

/// The number that a USETMAXREG names, and whether it takes registers.
pub(crate) fn change_of(inst: &Inst) -> Option<(u16, bool)> {
    if inst.opcode != Opcode::USETMAXREG {
        return None;
    }
    match inst.operand(Role::A)?.kind() {
        OperandKind::Imm(count, _) => {
            Some((u16::try_from(count).ok()?, inst.get(Field::MAXREG_OP) == MaxregOp::TRY_ALLOC))
        }
        _ => None,
    }
}

/// What calls do that change the number; others leave it.
pub(crate) type CallEffects = FxHashMap<CallId, State>;

/// The states of a function.
pub(crate) struct States {
    /// By block: the fewest registers at any place in it. What is taken at its end is there behind it only.
    pub(crate) least: SecondaryMap<Block, Option<State>>,
    /// At the ends of the function.
    pub(crate) end: State,
    /// At the calls of this module's functions.
    pub(crate) calls: Vec<(CallId, State)>,
}

impl States {
    /// Forward over the blocks until nothing changes: states only fall.
    pub(crate) fn new(func: &Function, cfg: &Cfg, effects: &CallEffects) -> States {
        let mut starts: SecondaryMap<Block, State> = SecondaryMap::with_default(State::NOWHERE);
        if let Some(entry) = func.entry() {
            starts[entry] = State::UNCHANGED;
        }
        let mut changed = true;
        while changed {
            changed = false;
            for block in cfg.rpo() {
                let end = through(func, *block, starts[*block], effects, |_, _| {});
                for succ in func.succs(*block) {
                    let joined = starts[*succ].join(end);
                    changed |= std::mem::replace(&mut starts[*succ], joined) != joined;
                }
            }
        }
        let mut states = States { least: SecondaryMap::with_default(None), end: State::NOWHERE, calls: Vec::new() };
        for block in cfg.rpo() {
            let mut least = starts[*block];
            let end = through(func, *block, starts[*block], effects, |call, state| {
                least = least.join(state);
                states.calls.extend(call.map(|call| (call, state)));
            });
            states.least[*block] = Some(least.join(end));
            if func.succs(*block).is_empty() {
                states.end = states.end.join(end);
            }
        }
        states
    }
}

/// Through a block: `visit` sees the state before each change and each call. Gives that at its end.
fn through(
    func: &Function,
    block: Block,
    start: State,
    effects: &CallEffects,
    mut visit: impl FnMut(Option<CallId>, State),
) -> State {
    let mut state = start;
    for inst in func.block_insts(block) {
        let data = &func[*inst];
        if let Some((count, _)) = change_of(data) {
            visit(None, state);
            state = State::given(count);
        } else if let Some(call) = data.call.expand() {
            visit(Some(call), state);
            state = state.then(effects.get(&call).copied().unwrap_or(State::UNCHANGED));
        }
    }
    state
}

/// What is known of one function: with how many registers it begins, and which of its calls change that.
#[derive(Clone, Debug)]
pub(crate) struct FunctionCounts {
    pub(crate) entry: u16,
    pub(crate) effects: CallEffects,
}

impl FunctionCounts {
    /// By block of the function as it is: registers below this number may be used.
    pub(crate) fn limits(&self, func: &Function, cfg: &Cfg) -> SecondaryMap<Block, u16> {
        let states = States::new(func, cfg, &self.effects);
        let own = |block: Block| states.least[block].map_or(self.entry, |state| state.of(self.entry));
        let mut limits = SecondaryMap::new();
        for block in func.layout() {
            limits[*block] = own(*block).saturating_sub(KEPT_REGISTERS as u16);
        }
        limits
    }
}
