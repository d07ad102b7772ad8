//! An independent check of an allocation, after regalloc2's symbolic checker.
//!
//! It never looks at liveness or interference. A forward dataflow keeps, for every physical
//! register, the set of virtual components whose value it holds on every path; a write replaces the
//! set, a move between registers copies it, a call empties what it clobbers. At each read the
//! register's set must contain the component that the code names.

use crate::code::move_operands;
use oriole_isa::RegFile;
use oriole_ori::{Block, Clobbers, Function, InstId, RegMask, RegRef, SecondaryMap, Slot, VReg};
use smallvec::SmallVec;

/// A read that finds another value than the one it names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "function '{function}': {block}, instruction {inst:?}: component {component} of {reg} is read from {file:?}{physical}, which does not hold it"
)]
pub struct CheckError {
    /// The function.
    pub function: String,
    /// The block.
    pub block: Block,
    /// The instruction.
    pub inst: InstId,
    /// The virtual register.
    pub reg: VReg,
    /// Its component.
    pub component: u8,
    /// File of the physical register.
    pub file: RegFile,
    /// Number of the physical register.
    pub physical: u16,
}

/// Check an allocated function, before moves between equal registers are removed. Registers that
/// are read but written on no path are not this check's business.
pub fn check(func: &Function) -> Result<(), CheckError> {
    let mut entry: SecondaryMap<Block, Option<State>> = SecondaryMap::with_default(None);
    let Some(first) = func.entry() else { return Ok(()) };
    entry[first] = Some(at_function_entry(func));
    let mut work = vec![first];
    while let Some(block) = work.pop() {
        let Some(mut state) = entry[block].clone() else { continue };
        for inst in func.block_insts(block) {
            step(func, *inst, &mut state);
        }
        for succ in func.succs(block) {
            if merge(&mut entry[*succ], &state) {
                work.push(*succ);
            }
        }
    }
    for block in func.layout() {
        let Some(mut state) = entry[*block].clone() else { continue };
        for inst in func.block_insts(*block) {
            verify(func, *block, *inst, &state)?;
            step(func, *inst, &mut state);
        }
    }
    Ok(())
}

type Value = (VReg, u8);
type Values = SmallVec<[Value; 2]>;

/// What each physical register holds; `undefined` ones hold whatever is asked for.
#[derive(Clone, PartialEq)]
struct State(Vec<Holding>);

#[derive(Clone, PartialEq)]
enum Holding {
    /// Never written on any path so far.
    Undefined,
    /// Exactly the components that hold on every path.
    Values(Values),
}

/// R0–R254, UR0–UR79 (UR62 below sm_100), P0–P6, UP0–UP6, B0–B15 in one array.
const BASES: [(RegFile, usize, usize); 5] =
    [(RegFile::R, 0, 255), (RegFile::UR, 255, 80), (RegFile::P, 335, 7), (RegFile::UP, 342, 7), (RegFile::B, 349, 16)];
const LOCATIONS: usize = 365;

fn location(file: RegFile, number: u16) -> Option<usize> {
    let (_, base, count) = BASES.iter().find(|(f, ..)| *f == file)?;
    (usize::from(number) < *count).then(|| base + usize::from(number))
}

fn at_function_entry(func: &Function) -> State {
    let mut state = State(vec![Holding::Undefined; LOCATIONS]);
    for reg in func.live_in() {
        for k in 0..func[*reg].components {
            if let Some(at) = place(func, *reg, k) {
                state.0[at] = Holding::Values(SmallVec::from_slice(&[(*reg, k)]));
            }
        }
    }
    state
}

fn place(func: &Function, reg: VReg, k: u8) -> Option<usize> {
    let data = &func[reg];
    location(data.file(), data.physical? + u16::from(k))
}

fn step(func: &Function, inst: InstId, state: &mut State) {
    if let Some((to, from)) = move_operands(func, inst) {
        copy(func, inst, state);
        debug_assert!(to.as_reg().is_some() && from.as_reg().is_some());
        return;
    }
    if let Some(call) = func[inst].call.expand()
        && let Clobbers::Mask(mask) = &func[call].clobbers
    {
        clobber(mask, state);
    }
    func.for_each_def(inst, |mention| {
        for k in mention.range.clone() {
            write(func, &mention, k, state);
        }
    });
}

fn write(func: &Function, mention: &RegRef, k: u8, state: &mut State) {
    let Some(at) = place(func, mention.reg, k) else { return };
    let value = (mention.reg, k);
    forget(func, value, at, state);
    match &mut state.0[at] {
        // Where the guard is false the old value stays, and only this name is true of both.
        Holding::Values(values) if mention.conditional => values.retain(|v| *v == value),
        holding => *holding = Holding::Values(SmallVec::from_slice(&[value])),
    }
    if let Holding::Values(values) = &mut state.0[at]
        && !values.contains(&value)
    {
        values.push(value);
    }
}

/// An old copy of a component elsewhere is stale once the component is written.
fn forget(func: &Function, value: Value, except: usize, state: &mut State) {
    let file = func[value.0].file();
    let Some((_, base, count)) = BASES.iter().find(|(f, ..)| *f == file) else { return };
    for at in (*base..base + count).filter(|at| *at != except) {
        if let Holding::Values(values) = &mut state.0[at] {
            values.retain(|v| *v != value);
        }
    }
}

fn copy(func: &Function, inst: InstId, state: &mut State) {
    let mut sources: SmallVec<[Option<usize>; 4]> = SmallVec::new();
    func.for_each_use(inst, |m| sources.extend(m.range.clone().map(|k| place(func, m.reg, k))));
    let held: SmallVec<[Holding; 4]> =
        sources.iter().map(|at| at.map_or(Holding::Undefined, |at| state.0[at].clone())).collect();
    func.for_each_def(inst, |mention| {
        for (k, held) in mention.range.clone().zip(&held) {
            let Some(at) = place(func, mention.reg, k) else { continue };
            let value = (mention.reg, k);
            forget(func, value, at, state);
            let mut values = match held {
                Holding::Values(values) => values.clone(),
                Holding::Undefined => Values::new(),
            };
            values.retain(|v| *v != value);
            values.push(value);
            state.0[at] = Holding::Values(values);
        }
    });
}

fn clobber(mask: &RegMask, state: &mut State) {
    for (file, base, count) in BASES {
        for number in (0..count as u16).filter(|n| mask.contains(file, *n)) {
            state.0[base + usize::from(number)] = Holding::Values(Values::new());
        }
    }
}

/// Meet `state` into a block's entry state; whether that changed it.
fn merge(entry: &mut Option<State>, state: &State) -> bool {
    let Some(old) = entry else {
        *entry = Some(state.clone());
        return true;
    };
    let mut changed = false;
    for (old, new) in old.0.iter_mut().zip(&state.0) {
        match (&mut *old, new) {
            (_, Holding::Undefined) => {}
            (Holding::Undefined, Holding::Values(_)) => {
                *old = new.clone();
                changed = true;
            }
            (Holding::Values(a), Holding::Values(b)) => {
                let before = a.len();
                a.retain(|v| b.contains(v));
                changed |= a.len() != before;
            }
        }
    }
    changed
}

fn verify(func: &Function, block: Block, inst: InstId, state: &State) -> Result<(), CheckError> {
    let mut result = Ok(());
    func.for_each_use(inst, |mention| {
        for k in mention.range.clone() {
            let data = &func[mention.reg];
            let held = place(func, mention.reg, k).map(|at| &state.0[at]);
            let fine = match held {
                Some(Holding::Values(values)) => values.contains(&(mention.reg, k)),
                // Never written, or a register that the check does not follow.
                Some(Holding::Undefined) => true,
                None => data.physical.is_some() && !matches!(mention.slot, Slot::Guard),
            };
            if !fine && result.is_ok() {
                result = Err(CheckError {
                    function: func.name().to_owned(),
                    block,
                    inst,
                    reg: mention.reg,
                    component: k,
                    file: data.file(),
                    physical: data.physical.map_or(u16::MAX, |p| p + u16::from(k)),
                });
            }
        }
    });
    result
}
