//! Calls: arguments into the callee's frame, results back.

use super::{Next, Warp};
use crate::code::{Action, Argument, Call, Callee, Element, Function, Outcome, Parameter};
use crate::env::{Env, Halt};
use crate::lanes::lanes_of;
use crate::pc::{NOWHERE, Pc};
use crate::state::State;
use crate::threads::{Caller, Threads, Wait};
use crate::{layout, runtime};
use oriole_device::FaultKind;

/// Calls that may be open at a time.
const MOST_CALLS: usize = 1 << 14;

/// The bytes of all arguments or results, one after the other, of each lane that takes part.
type Bytes = Vec<(usize, Vec<u8>)>;

impl Warp {
    /// A `call` by the threads `active` of group `at`.
    pub(crate) fn call(
        &mut self,
        env: &mut Env<'_>,
        functions: &[Function<'_>],
        at: usize,
        call: &Call,
        active: u32,
    ) -> Result<Next, Halt> {
        self.part_inactive(at, active);
        let group = &self.threads.groups()[at];
        let (pc, next) = (group.pc, group.pc + 1);
        let lane = Threads::first_lane(active);
        let number = match call.callee {
            Callee::Function(number) => number,
            Callee::System(system) => {
                for lane in lanes_of(active) {
                    let args = argument_bytes(&self.state, lane, &call.args);
                    let result = runtime::call(system, &mut self.state, env, lane, &args);
                    deliver_lane(&mut self.state, lane, &call.rets, &result.map_err(|kind| Halt { lane, kind })?);
                }
                self.threads.group_mut(at).pc = next;
                return Ok(Next::Go(at));
            }
            Callee::Address(source) => {
                let address = self.state.get(&source, lane);
                let same = |&lane: &usize| self.state.get(&source, lane) == address;
                let together = lanes_of(active).filter(same).fold(0, |mask, lane| mask | 1 << lane);
                if together != active {
                    // Threads that call another function execute the call again by themselves.
                    self.threads.expect_meeting(at, next);
                    self.threads.split(at, active & !together, pc, next);
                    return Ok(Next::Go(at));
                }
                match u64::try_from(address).ok().and_then(layout::function_at) {
                    Some(number) if (number as usize) < functions.len() => number,
                    _ => return Err(Halt { lane, kind: FaultKind::BadJump(address as u64) }),
                }
            }
        };
        self.enter(functions, at, number, call, active).map_err(|kind| Halt { lane, kind })?;
        Ok(Next::Go(at))
    }

    /// A `ret` by the threads `active` of group `at`.
    pub(super) fn return_from(&mut self, functions: &[Function<'_>], at: usize, active: u32) -> Result<Next, Halt> {
        let group = &self.threads.groups()[at];
        let (rest, next, function) = (group.mask & !active, group.pc + 1, group.function);
        if rest != 0 {
            self.threads.split(at, rest, next, NOWHERE);
        }
        let results = results(functions, &self.state, function, active);
        let Some((at, Caller { function, pc, base })) = self.threads.leave_function(at) else {
            return Ok(Next::Leave);
        };
        self.state.leave(active);
        self.state.base = base;
        deliver(functions, &mut self.state, function, pc - 1, active, &results);
        Ok(match self.threads.groups()[at].wait {
            Wait::Nothing => Next::Go(at),
            _ => Next::Leave,
        })
    }

    fn enter(
        &mut self,
        functions: &[Function<'_>],
        at: usize,
        number: u32,
        call: &Call,
        active: u32,
    ) -> Result<(), FaultKind> {
        let callee = &functions[number as usize];
        if callee.declaration.body.is_none() {
            return Err(FaultKind::Unsupported(format!("the function {} has no body", callee.name)));
        }
        let group = &self.threads.groups()[at];
        if group.calls.len() >= MOST_CALLS {
            return Err(FaultKind::Misuse("the call stack has overflown".to_owned()));
        }
        let (function, base, next) = (group.function, group.base, group.pc + 1);
        let args: Bytes = lanes_of(active).map(|lane| (lane, argument_bytes(&self.state, lane, &call.args))).collect();
        let inner = base + functions[function as usize].slots;
        self.state.enter(active, inner, callee.slots, callee.frame)?;
        self.threads.expect_meeting(at, next);
        let group = self.threads.group_mut(at);
        group.calls.push(Caller { function, pc: next, base });
        (group.function, group.pc, group.base) = (number, 0, inner);
        self.threads.renew_stop(at);
        self.state.base = inner;
        let sizes: Vec<usize> = call.args.iter().map(Argument::size).collect();
        for (lane, bytes) in &args {
            put_parameters(&mut self.state, *lane, callee, &sizes, bytes)?;
        }
        Ok(())
    }
}

impl Argument {
    fn size(&self) -> usize {
        match self {
            Argument::Value(sources, bytes) => sources.len() * *bytes as usize,
            Argument::Frame { size, .. } => *size as usize,
        }
    }
}

fn argument_bytes(state: &State, lane: usize, args: &[Argument]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for arg in args {
        match arg {
            Argument::Value(sources, size) => {
                for source in sources {
                    bytes.extend_from_slice(&state.get(source, lane).to_le_bytes()[..*size as usize]);
                }
            }
            Argument::Frame { offset, size } => bytes.extend_from_slice(frame_bytes(state, lane, *offset, *size)),
        }
    }
    bytes
}

fn frame_bytes(state: &State, lane: usize, offset: u32, size: u32) -> &[u8] {
    let start = state.local[lane].address(offset) as usize;
    state.local[lane].bytes().get(start..start + size as usize).unwrap_or_default()
}

fn put_frame(state: &mut State, lane: usize, offset: u32, bytes: &[u8]) {
    let start = state.local[lane].address(offset) as usize;
    if let Some(place) = state.local[lane].bytes_mut().get_mut(start..start + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

fn value_of(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u128::from(byte))
}

/// The next `size` bytes of `bytes`; fewer at the end.
fn take<'b>(bytes: &mut &'b [u8], size: usize) -> &'b [u8] {
    let (first, rest) = bytes.split_at(size.min(bytes.len()));
    *bytes = rest;
    first
}

fn put_parameters(
    state: &mut State,
    lane: usize,
    callee: &Function<'_>,
    sizes: &[usize],
    mut bytes: &[u8],
) -> Result<(), FaultKind> {
    for (parameter, &given) in callee.params.iter().zip(sizes) {
        let mut value = take(&mut bytes, given);
        match parameter {
            Parameter::Register(elements) => {
                for Element { destination, .. } in elements {
                    let bytes = take(&mut value, destination.bytes() as usize);
                    state.set(destination, lane, value_of(bytes));
                }
            }
            Parameter::Frame { offset, size: 0 } => {
                // An unsized array is the last thing in the frame and grows with what is given.
                let end = state.local[lane].address(*offset) + value.len() as u32;
                let missing = end.saturating_sub(state.local[lane].top());
                state.local[lane].allocate(missing, 1)?;
                put_frame(state, lane, *offset, value);
            }
            Parameter::Frame { offset, size } => {
                put_frame(state, lane, *offset, &value[..value.len().min(*size as usize)]);
            }
        }
    }
    Ok(())
}

/// The results of `function`, whose frame is open, for the threads of `mask`.
fn results(functions: &[Function<'_>], state: &State, function: u32, mask: u32) -> Bytes {
    let of_lane = |lane: usize| {
        let mut bytes = Vec::new();
        for ret in &functions[function as usize].rets {
            match ret {
                Parameter::Register(elements) => {
                    for Element { source, destination } in elements {
                        let size = destination.bytes() as usize;
                        bytes.extend_from_slice(&state.get(source, lane).to_le_bytes()[..size]);
                    }
                }
                Parameter::Frame { offset, size } => {
                    bytes.extend_from_slice(frame_bytes(state, lane, *offset, *size));
                }
            }
        }
        (lane, bytes)
    };
    lanes_of(mask).map(of_lane).collect()
}

/// Puts the results of the call at `pc` of `function` where the caller wants them; its frame is open.
fn deliver(functions: &[Function<'_>], state: &mut State, function: u32, pc: Pc, mask: u32, results: &Bytes) {
    let op = &functions[function as usize].ops[pc as usize];
    if let Action::Call(call) = &op.action {
        for (lane, bytes) in results.iter().filter(|(lane, _)| mask >> lane & 1 != 0) {
            deliver_lane(state, *lane, &call.rets, bytes);
        }
    }
}

fn deliver_lane(state: &mut State, lane: usize, rets: &[Outcome], mut bytes: &[u8]) {
    for ret in rets {
        match ret {
            Outcome::Register(destinations, size) => {
                for destination in destinations {
                    state.set(destination, lane, value_of(take(&mut bytes, *size as usize)));
                }
            }
            Outcome::Frame { offset, size } => put_frame(state, lane, *offset, take(&mut bytes, *size as usize)),
        }
    }
}
