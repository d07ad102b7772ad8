//! Fewer registers for a function that is in order: what needs more than there shall be is put in order anew, and only that.

use crate::before::{SourceOrder, limit, undefined_late};
use crate::choice::Tables;
use crate::lives::Class;
use crate::survey::{Stretch, Survey, has_choice};
use crate::values::Values;
use oriole_isa::Arch;
use oriole_ori::analysis::Flow;
use oriole_ori::{Function, InstId};

/// What a lower order may cost.
#[derive(Clone, Copy, Debug)]
pub struct Lower {
    /// R registers that are to be in use at most.
    pub registers: u32,
    /// So many of them are better left free: wide values need neighbours.
    pub spare: u32,
    /// Cycles by which the stretches, each once, may take longer, if that matters.
    pub cycles: Option<u32>,
}

/// Values that allocation may find to be constants, which it computes again where they are read.
const CONSTANTS: i32 = 2;

/// Put what needs more registers in an order that needs fewer: that of the `source` if it does. The function's flow, which
/// stays as it is; `None` if that cannot be, and then the function is as it was.
pub fn order_lower(
    func: &mut Function,
    arch: Arch,
    flow: Option<Flow>,
    source: &SourceOrder,
    lower: Lower,
) -> Option<Flow> {
    let flow = flow.unwrap_or_else(|| Flow::new(func));
    let orders: Vec<(Stretch, Vec<InstId>)> = {
        let mut values = Values::new(func, arch);
        let survey = Survey::new(&values, func, &flow.live, has_choice);
        let most = lower.registers as i32;
        let limit = limit(most - lower.spare as i32, arch);
        let mut tables = Tables::new(values.registers(), 0);
        let mut longer = 0;
        let general = Class::General as usize;
        if survey.peak_elsewhere.0[general] > most + CONSTANTS {
            return None;
        }
        let stretches = survey.stretches.into_iter().filter(|stretch| stretch.peak.0[general] > limit.0[general]);
        let ordered = |stretch: Stretch| {
            let (order, more) = tables.lower(&mut values, &stretch, source, (limit, most + CONSTANTS))?;
            longer += more;
            lower.cycles.is_none_or(|most| longer <= i64::from(most)).then(|| (stretch, undefined_late(func, order)))
        };
        stretches.map(ordered).collect::<Option<_>>()?
    };
    for (stretch, order) in orders {
        func.edit().reorder(stretch.block, stretch.places.start, &order);
    }
    Some(flow)
}
