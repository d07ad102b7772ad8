//! `clusterlaunchcontrol`: the work of clusters that have not started.

use super::asynchronous::complete;
use crate::arith::{Bits, Unsupported};
use crate::builder::{Builder, Location, form};
use crate::code::Action;
use crate::lane::Lane;
use crate::operand::Destination;
use crate::space::{Data, Named, Place, RANK_SHIFT};
use oriole_ptx::ast::{Instruction, Opcode, ScalarType, Space, Word};
use smallvec::SmallVec;

/// Bytes of an answer.
const ANSWER: u32 = 16;

/// What is asked of an answer.
type Query = fn(Bits) -> Bits;

/// The answer as [`oriole_device::Unstarted::cancel`] gives it.
const QUERIES: [(Word, Query); 4] = [
    (Word::IsCanceled, |answer| answer >> 64 & 1),
    (Word::GetFirstCtaidX, |answer| answer & 0xffff_ffff),
    (Word::GetFirstCtaidY, |answer| answer >> 32 & 0xffff),
    (Word::GetFirstCtaidZ, |answer| answer >> 48 & 0xffff),
];

pub(super) fn compile(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Option<Action>, Unsupported> {
    Ok(Some(match inst.opcode {
        Opcode::Clusterlaunchcontrol if inst.has(Word::TryCancel) => cancel(inst, builder)?,
        Opcode::Clusterlaunchcontrol => query(inst, builder)?,
        _ => return Ok(None),
    }))
}

/// `clusterlaunchcontrol.try_cancel.async{.space}.mbarrier::complete_tx::bytes{.multicast::cluster::all}.b128 [a], [mbar];`:
/// the answer comes at once, to the thread's block or to all of the cluster.
fn cancel(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let [to, barrier] = &inst.operands[..] else { return Err(form("clusterlaunchcontrol.try_cancel")) };
    // A generic address is that of shared memory too.
    let to = builder.location(to, Some(Space::SharedCta))?;
    let barrier = builder.location(barrier, Some(Space::SharedCta))?;
    let to_all = inst.has(Word::MulticastClusterAll);
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let blocks =
            if to_all { 0..lane.env.cluster.shared.len() } else { lane.env.block.rank..lane.env.block.rank + 1 };
        let mut answer = Data::default();
        for (n, word) in lane.env.resources.unstarted.cancel().into_iter().enumerate() {
            answer.set(n, 4, word.into());
        }
        for rank in blocks {
            let place = in_block(&to, rank, lane);
            lane.store(place, ANSWER, answer)?;
            let told = in_block(&barrier, rank, lane);
            complete(lane, Some(told), ANSWER.into())?;
        }
        Ok(())
    })))
}

/// A place at the same address in the shared memory of a block of the cluster.
fn in_block(location: &Location, rank: usize, lane: &Lane<'_, '_>) -> Place {
    let address = location.address(lane) & ((1 << RANK_SHIFT) - 1);
    Named::SharedCluster.place(address | (rank as u64) << RANK_SHIFT)
}

/// `clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, answer;`,
/// `….get_first_ctaid{::x|::y|::z}.b32.b128 d, answer;`, `….get_first_ctaid.v4.b32.b128 {x, y, z, _}, answer;`
fn query(inst: &Instruction, builder: &mut Builder<'_, '_>) -> Result<Action, Unsupported> {
    let [to, answer] = &inst.operands[..] else { return Err(form("clusterlaunchcontrol.query_cancel")) };
    let ty = if inst.has(Word::IsCanceled) { ScalarType::Pred } else { ScalarType::B32 };
    let to: SmallVec<[Destination; 4]> = builder.destinations(to, ty)?;
    let answer = builder.source(answer, ScalarType::B128)?;
    let named = QUERIES.iter().position(|(word, _)| inst.has(*word));
    // The fourth element of a vector is unspecified: it keeps its value.
    let queries = named.map_or(&QUERIES[1..], |at| &QUERIES[at..=at]);
    Ok(Action::Lanes(Box::new(move |lane: &mut Lane<'_, '_>| {
        let answer = lane.get(&answer);
        for (to, (_, query)) in to.iter().zip(queries) {
            lane.set(to, query(answer));
        }
        Ok(())
    })))
}
