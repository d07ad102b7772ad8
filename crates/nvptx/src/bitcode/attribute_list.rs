//! What lists of attributes say.

use rustc_hash::FxHashMap;

use crate::ir::{Attributes, TypeId};

/// The attributes of one thing that a list speaks of.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// The attributes.
    pub(super) attributes: Attributes,
    /// `byval` of the time when the type was that of the pointer.
    pub(super) untyped_by_val: bool,
    /// `sret` of that time.
    pub(super) untyped_sret: bool,
}

/// The attributes of a function or call.
#[derive(Clone, Debug, Default)]
pub(super) struct AttributeList {
    /// Of the function itself.
    pub(super) function: Attributes,
    /// Of its result.
    pub(super) ret: Attributes,
    /// Of its parameters, by index, ascending.
    pub(super) params: Vec<(u32, Part)>,
    /// About how many bytes a copy takes.
    pub(super) bytes: usize,
}

/// Groups by id: what they speak of, and the attributes.
pub(super) type Groups = FxHashMap<u64, (u64, Part)>;

impl Part {
    /// About how many bytes a copy takes.
    pub(super) fn bytes(&self) -> usize {
        let string = |(key, value): &(Box<str>, Box<str>)| 2 * size_of::<Box<str>>() + key.len() + value.len();
        size_of::<Part>() + self.attributes.strings.iter().map(string).sum::<usize>()
    }

    /// The attributes of a parameter, if it is a typed pointer of one to `pointee`.
    pub(super) fn of_param(&self, pointee: Option<TypeId>) -> Attributes {
        let mut attributes = self.attributes.clone();
        if self.untyped_by_val {
            attributes.by_val = attributes.by_val.or(pointee);
        }
        if self.untyped_sret {
            attributes.sret = attributes.sret.or(pointee);
        }
        attributes
    }
}

impl AttributeList {
    /// What the list says of parameter `index`.
    pub(super) fn param(&self, index: u32) -> Option<&Part> {
        let at = self.params.binary_search_by_key(&index, |(other, _)| *other).ok()?;
        Some(&self.params[at].1)
    }

    pub(super) fn add(&mut self, index: u64, part: &Part) {
        match index {
            0 => self.ret.merge(&part.attributes),
            0xFFFF_FFFF => self.function.merge(&part.attributes),
            _ => self.params.push(((index - 1) as u32, part.clone())),
        }
        self.bytes += part.bytes();
    }

    /// Puts together what was said of one parameter in several groups.
    pub(super) fn merge_params(&mut self) {
        self.params.sort_by_key(|(index, _)| *index);
        self.params.dedup_by(|(index, part), (first, own)| {
            let same = index == first;
            if same {
                own.attributes.merge(&part.attributes);
                own.untyped_by_val |= part.untyped_by_val;
                own.untyped_sret |= part.untyped_sret;
            }
            same
        });
    }
}
