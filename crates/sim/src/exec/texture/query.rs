//! `TXQ`: the size of an image.

use super::operands::{Handle, Results, Words};
use crate::effect::{Effect, Env, Unsupported};
use crate::lanes::{Lanes, WARP};
use crate::state::State;
use oriole_isa::{Field, Inst, Opcode, TexQuery};

/// The effect of `inst` if it is of this family.
pub(super) fn compile(inst: &Inst) -> Result<Option<Effect>, Unsupported> {
    if inst.opcode != Opcode::TXQ {
        return Ok(None);
    }
    if inst.get(Field::TEX_QUERY) != TexQuery::DIMENSION {
        return Err(Unsupported("TXQ of anything but dimensions".into()));
    }
    let bindless = usize::from(inst.get(Field::TEX_B));
    let mut words = Words::of(inst, bindless + 1, 0);
    let handle = Handle::of_texture(inst, &mut words)?;
    let (level, results) = (words.take(), Results::of(inst));
    Ok(Some(Box::new(move |state: &mut State, env: &mut Env<'_>| {
        let mut components: [Lanes; 4] = [[0; WARP]; 4];
        for lane in state.active_lanes() {
            let (image, _) = handle.object(state, env, lane)?;
            let [width, height, depth] = image.dimensions(state.lane(level, lane));
            let values = [width, height, depth, image.levels];
            for (component, value) in components.iter_mut().zip(values) {
                component[lane] = value;
            }
        }
        results.write(state, &components);
        Ok(())
    })))
}
