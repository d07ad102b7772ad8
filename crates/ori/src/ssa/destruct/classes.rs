//! Values that share registers: classes of neighbouring places, each with the live ranges of what stands there.

use super::ranges::{Range, Ranges};
use oriole_isa::RegFile;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// A value, or what a MovPhi passes on, by number.
pub(super) type Node = u32;

/// When one place of a class is taken.
enum Taken {
    /// By one node alone, whose ranges say it; or by none.
    One(Option<Node>),
    /// By several: start and end of each stretch.
    Several(BTreeMap<u32, u32>),
}

struct Class {
    members: SmallVec<[Node; 1]>,
    places: SmallVec<[Taken; 1]>,
    align: u8,
}

/// The partition of all nodes.
pub(super) struct Classes {
    ranges: Vec<Ranges>,
    files: Vec<RegFile>,
    class_of: Vec<u32>,
    place_of: Vec<u8>,
    classes: Vec<Option<Class>>,
}

/// Where a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub(super) class: u32,
    /// Registers from the class's first.
    pub(super) at: u8,
}

impl Classes {
    /// Of no nodes yet, with room for so many.
    pub(super) fn new(count: usize) -> Self {
        Classes {
            ranges: Vec::with_capacity(count),
            files: Vec::with_capacity(count),
            class_of: Vec::with_capacity(count),
            place_of: Vec::with_capacity(count),
            classes: Vec::with_capacity(count),
        }
    }

    /// One more node, by itself.
    pub(super) fn add(&mut self, ranges: Ranges, file: RegFile) -> Node {
        let node = self.class_of.len() as Node;
        self.ranges.push(ranges);
        self.files.push(file);
        self.class_of.push(node);
        self.place_of.push(0);
        let places = std::iter::once(Taken::One(Some(node))).collect();
        self.classes.push(Some(Class { members: SmallVec::from_slice(&[node]), places, align: 1 }));
        node
    }

    /// What no class has for a number.
    pub(super) fn bound(&self) -> usize {
        self.classes.len()
    }

    pub(super) fn place(&self, node: Node) -> Place {
        Place { class: self.class_of[node as usize], at: self.place_of[node as usize] }
    }

    pub(super) fn file(&self, node: Node) -> RegFile {
        self.files[node as usize]
    }

    /// Registers of a class, and what their first must be a multiple of.
    pub(super) fn shape(&self, class: u32) -> (u8, u8) {
        self.classes[class as usize].as_ref().map_or((1, 1), |class| (class.places.len() as u8, class.align))
    }

    /// Put all nodes side by side, the first at a multiple of `align`, where none of them then meets another.
    pub(super) fn line_up(&mut self, nodes: &[Node], align: u8) -> bool {
        let Some((&first, rest)) = nodes.split_first() else { return true };
        let all = rest.iter().zip(1..).all(|(node, k)| self.join(first, *node, k, nodes.len()));
        all && self.set_align(first, align)
    }

    /// Whether all nodes stand side by side, the first at a multiple of `align`.
    pub(super) fn stand_in_line(&self, nodes: &[Node], align: u8) -> bool {
        let Some(&first) = nodes.first() else { return true };
        let Place { class, at } = self.place(first);
        let aligned = at % align == 0 && self.shape(class).1 >= align;
        aligned && nodes.iter().zip(at..).all(|(node, at)| self.place(*node) == Place { class, at })
    }

    fn set_align(&mut self, node: Node, align: u8) -> bool {
        let Place { class, at } = self.place(node);
        let fits = at % align == 0;
        if let Some(class) = self.classes[class as usize].as_mut().filter(|_| fits) {
            class.align = class.align.max(align);
        }
        fits
    }

    /// Put `b` into the place `delta` after that of `a`, if nothing meets then and the class grows to `widest` or not at
    /// all. Whether they stand so now.
    pub(super) fn join(&mut self, a: Node, b: Node, delta: u8, widest: usize) -> bool {
        let (at_a, at_b) = (self.place(a), self.place(b));
        // Where class b would begin, counted from the beginning of class a.
        let shift = i32::from(at_a.at) + i32::from(delta) - i32::from(at_b.at);
        if at_a.class == at_b.class {
            return shift == 0;
        }
        let Some([class_a, class_b]) = self.both(at_a.class, at_b.class) else { return false };
        let (move_a, move_b) = ((-shift).max(0), shift.max(0));
        let span = (class_a.places.len() as i32 + move_a).max(class_b.places.len() as i32 + move_b);
        let allowed = widest.max(class_a.places.len()).max(class_b.places.len()) as i32;
        let aligned = move_a % i32::from(class_a.align) == 0 && move_b % i32::from(class_b.align) == 0;
        if self.files[a as usize] != self.files[b as usize] || span > allowed || !aligned {
            return false;
        }
        let meet = class_b.places.iter().enumerate().any(|(k, taken)| {
            let k = k as i32 + move_b - move_a;
            usize::try_from(k).ok().and_then(|k| class_a.places.get(k)).is_some_and(|other| self.meet(taken, other))
        });
        if !meet {
            self.merge(at_a.class, at_b.class, move_a as u8, move_b as u8, span as usize);
        }
        !meet
    }

    /// Put a place that holds nothing but a copy of a value that lives on where the value is: there they may meet.
    pub(super) fn join_copy(&mut self, copy: Node, value: Node) -> bool {
        let [(start, end)] = self.ranges[copy as usize][..] else { return false };
        let of_value = &self.ranges[value as usize];
        let at = of_value.partition_point(|range| range.0 <= start);
        if at == 0 || of_value[at - 1].1 < end {
            return false;
        }
        self.vacate(copy, (start, end));
        let joined = self.join(copy, value, 0, 1);
        if !joined {
            self.ranges[copy as usize].push((start, end));
            if let Some(Taken::Several(set)) = self.taken_mut(copy) {
                insert(set, (start, end));
            }
        }
        joined
    }

    /// Take the one stretch of a node out of its place.
    fn vacate(&mut self, node: Node, (start, end): Range) {
        self.ranges[node as usize].clear();
        let Some(Taken::Several(set)) = self.taken_mut(node) else { return };
        let Some((&first, &last)) = set.range(..=start).next_back() else { return };
        set.remove(&first);
        set.extend([(first, start), (end, last)].into_iter().filter(|(start, end)| start < end));
    }

    /// Whether the place where a node stands is taken at some position of a stretch.
    pub(super) fn is_taken(&self, node: Node, range: Range) -> bool {
        let Place { class, at } = self.place(node);
        let class = self.classes[class as usize].as_ref();
        class.and_then(|class| class.places.get(usize::from(at))).is_some_and(|taken| self.overlaps(taken, range))
    }

    fn taken_mut(&mut self, node: Node) -> Option<&mut Taken> {
        let Place { class, at } = self.place(node);
        self.classes[class as usize].as_mut()?.places.get_mut(usize::from(at))
    }

    fn both(&self, a: u32, b: u32) -> Option<[&Class; 2]> {
        Some([self.classes[a as usize].as_ref()?, self.classes[b as usize].as_ref()?])
    }

    fn meet(&self, a: &Taken, b: &Taken) -> bool {
        match (a, b) {
            (Taken::One(None), _) | (_, Taken::One(None)) => false,
            (Taken::One(Some(node)), other) | (other, Taken::One(Some(node))) => {
                self.ranges[*node as usize].iter().any(|range| self.overlaps(other, *range))
            }
            (Taken::Several(few), Taken::Several(many)) => {
                let (few, many) = if few.len() <= many.len() { (few, b) } else { (many, a) };
                few.iter().any(|(start, end)| self.overlaps(many, (*start, *end)))
            }
        }
    }

    /// Whether a place is taken at some position of a stretch.
    fn overlaps(&self, taken: &Taken, (start, end): Range) -> bool {
        match taken {
            Taken::One(None) => false,
            Taken::One(Some(node)) => {
                let ranges = &self.ranges[*node as usize];
                let before = ranges.partition_point(|range| range.0 < end);
                before > 0 && ranges[before - 1].1 > start
            }
            Taken::Several(set) => set.range(..end).next_back().is_some_and(|(_, last)| *last > start),
        }
    }

    /// Make one class of two: the one with fewer members goes into the other.
    fn merge(&mut self, a: u32, b: u32, move_a: u8, move_b: u8, span: usize) {
        let size = |class: u32| self.classes[class as usize].as_ref().map_or(0, |class| class.members.len());
        let (into, from, move_into, move_from) =
            if size(a) >= size(b) { (a, b, move_a, move_b) } else { (b, a, move_b, move_a) };
        let Some(small) = self.classes[from as usize].take() else { return };
        let Some(mut large) = self.classes[into as usize].take() else { return };
        if move_into > 0 {
            for node in &large.members {
                self.place_of[*node as usize] += move_into;
            }
            large.places.insert_many(0, (0..move_into).map(|_| Taken::One(None)));
        }
        while large.places.len() < span {
            large.places.push(Taken::One(None));
        }
        for &node in &small.members {
            self.class_of[node as usize] = into;
            self.place_of[node as usize] += move_from;
        }
        large.members.extend(small.members);
        large.align = large.align.max(small.align);
        for (taken, place) in small.places.into_iter().zip(&mut large.places[usize::from(move_from)..]) {
            self.unite(place, taken);
        }
        self.classes[into as usize] = Some(large);
    }

    fn unite(&self, place: &mut Taken, other: Taken) {
        match (&mut *place, other) {
            (_, Taken::One(None)) => {}
            (Taken::One(None), other) => *place = other,
            (Taken::One(Some(node)), other) => {
                let mut set = self.set_of(*node);
                self.insert_all(&mut set, other);
                *place = Taken::Several(set);
            }
            (Taken::Several(set), Taken::Several(mut other)) if other.len() > set.len() => {
                std::mem::swap(set, &mut other);
                self.insert_all(set, Taken::Several(other));
            }
            (Taken::Several(set), other) => self.insert_all(set, other),
        }
    }

    fn set_of(&self, node: Node) -> BTreeMap<u32, u32> {
        self.ranges[node as usize].iter().copied().collect()
    }

    fn insert_all(&self, set: &mut BTreeMap<u32, u32>, taken: Taken) {
        match taken {
            Taken::One(None) => {}
            Taken::One(Some(node)) => self.ranges[node as usize].iter().for_each(|range| insert(set, *range)),
            Taken::Several(other) => other.into_iter().for_each(|range| insert(set, range)),
        }
    }
}

/// Add a stretch that overlaps none; those that touch it become one with it.
fn insert(set: &mut BTreeMap<u32, u32>, (start, end): Range) {
    let end = set.remove(&end).unwrap_or(end);
    match set.range_mut(..start).next_back() {
        Some((_, last)) if *last == start => *last = end,
        _ => {
            set.insert(start, end);
        }
    }
}
