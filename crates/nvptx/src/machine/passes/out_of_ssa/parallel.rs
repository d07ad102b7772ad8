//! Copies that happen at once, one after the other.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

use super::copies::move_to;
use crate::machine::{Forms, Function, Inst, Operand, VReg};

/// Puts parallel copies in order. Kept between uses for its tables.
#[derive(Default)]
pub(super) struct Sequence {
    /// What a register still has to get.
    source: SecondaryMap<VReg, PackedOption<VReg>>,
    /// Where the value now is that a register held at first.
    place: SecondaryMap<VReg, PackedOption<VReg>>,
}

impl Sequence {
    /// Appends instructions with the effect of all `moves` at once. A register that is written more
    /// than once gets the same value each time.
    ///
    /// A register is written when what it held has been copied to where it is needed; a circle is
    /// opened by a copy to a new register. Constants come last, when nothing is read any more.
    pub(super) fn emit(
        &mut self,
        moves: &[(VReg, Operand)],
        function: &mut Function,
        forms: &mut Forms,
        out: &mut Vec<Inst>,
    ) {
        let pairs: Vec<(VReg, VReg)> = moves.iter().filter_map(|(to, from)| Some((*to, from.vreg()?))).collect();
        for &(to, from) in &pairs {
            self.source[to] = from.into();
            self.place[from] = from.into();
        }
        let is_free = |to: &VReg| self.place[*to].is_none();
        let mut ready: Vec<VReg> = pairs.iter().map(|&(to, _)| to).filter(is_free).collect();
        for &(first, _) in &pairs {
            self.drain(&mut ready, function, forms, out);
            if self.source[first].is_some() {
                let class = function.regs[first];
                let spare = function.regs.push(class);
                out.push(move_to(spare, &first.into(), class, forms));
                self.place[first] = spare.into();
                ready.push(first);
            }
        }
        self.drain(&mut ready, function, forms, out);
        for (to, from) in pairs {
            self.source[to] = None.into();
            self.place[from] = None.into();
        }
        let constants = moves.iter().filter(|(_, from)| from.vreg().is_none());
        out.extend(constants.map(|(to, from)| move_to(*to, from, function.regs[*to], forms)));
    }

    /// Writes the registers whose own value nothing needs any more.
    fn drain(&mut self, ready: &mut Vec<VReg>, function: &Function, forms: &mut Forms, out: &mut Vec<Inst>) {
        while let Some(to) = ready.pop() {
            let Some(from) = self.source[to].take() else { continue };
            let Some(place) = self.place[from].expand() else { continue };
            out.push(move_to(to, &place.into(), function.regs[to], forms));
            self.place[from] = to.into();
            if place == from && self.source[from].is_some() {
                ready.push(from);
            }
        }
    }
}
