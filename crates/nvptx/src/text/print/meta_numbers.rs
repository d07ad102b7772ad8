//! Numbers of metadata nodes in the text.

use cranelift_entity::SecondaryMap;

use crate::ir::{Meta, MetaField, MetaId, Module};

/// The numbers that nodes are printed with: by their first mention in the text, so that reading
/// it back gives them the same order.
pub(super) struct MetaNumbers {
    /// One more than the number; 0 for none yet.
    numbers: SecondaryMap<MetaId, u32>,
    /// The nodes by number.
    pub(super) order: Vec<MetaId>,
}

impl MetaNumbers {
    pub(super) fn new(module: &Module) -> MetaNumbers {
        let mut numbers = MetaNumbers { numbers: SecondaryMap::new(), order: Vec::new() };
        for (_, _, function, body) in module.definitions() {
            function.debug.expand().into_iter().for_each(|id| numbers.mention(id));
            for (_, inst) in body.insts_in_order() {
                body[inst].loc.expand().into_iter().for_each(|id| numbers.mention(id));
                body.attachments.get(&inst).into_iter().flatten().for_each(|&(_, id)| numbers.mention(id));
            }
        }
        for (_, nodes) in &module.metadata.named {
            nodes.iter().for_each(|&id| numbers.mention(id));
        }
        // Those that are named by other nodes, then what nothing names.
        let (mut at, mut rest) = (0, module.metadata.nodes.keys());
        loop {
            while let Some(&id) = numbers.order.get(at) {
                at += 1;
                for_each_node(&module.metadata[id], |id| numbers.mention(id));
            }
            match rest.next() {
                Some(id) => numbers.mention(id),
                None => return numbers,
            }
        }
    }

    fn mention(&mut self, id: MetaId) {
        if self.numbers[id] == 0 {
            self.order.push(id);
            self.numbers[id] = self.order.len() as u32;
        }
    }

    pub(super) fn number(&self, id: MetaId) -> u32 {
        self.numbers[id].saturating_sub(1)
    }
}

/// Calls `f` with the nodes that a node names.
fn for_each_node(meta: &Meta, mut f: impl FnMut(MetaId)) {
    let mut field = |field: &MetaField| {
        if let MetaField::Node(id) = field {
            f(*id);
        }
    };
    match meta {
        Meta::Node(fields) => fields.iter().for_each(field),
        Meta::Special(_, fields) => fields.iter().for_each(|(_, value)| field(value)),
        Meta::Undefined | Meta::String(_) | Meta::Constant(_) => {}
    }
}
