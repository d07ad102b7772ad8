//! Perfect hash tables: each name has a slot of its own, found with one hash and one small table.

use super::hash::{bucket, hash, slot};

/// A perfect hash table of some names, as an expression of type `NameIndex`: what it finds is the name's place in the
/// list. The names of a bucket share a number that moves them all to free slots.
pub(crate) fn table(names: &[&str]) -> Result<(String, String), String> {
    let least = (names.len() * 3 / 2).next_power_of_two();
    // Few names may have no luck with few slots.
    let found = [least, 2 * least, 4 * least].into_iter().find_map(|slots| table_of(names, slots));
    found.ok_or_else(|| "no perfect hash of the names is found".to_owned())
}

/// The same with so many slots, if there is one.
fn table_of(names: &[&str], slots: usize) -> Option<(String, String)> {
    let buckets = (names.len() / 4).max(1).next_power_of_two();
    let mut members = vec![Vec::new(); buckets];
    for (at, name) in names.iter().enumerate() {
        let hash = hash(name.as_bytes());
        members[bucket(hash, buckets)].push((at, hash));
    }
    let mut order: Vec<usize> = (0..buckets).collect();
    order.sort_by_key(|&bucket| std::cmp::Reverse(members[bucket].len()));
    let mut moves = vec![0; buckets];
    let mut taken: Vec<Option<usize>> = vec![None; slots];
    for bucket in order {
        let places =
            |by: u8| -> Vec<usize> { members[bucket].iter().map(|(_, hash)| slot(*hash, by, slots)).collect() };
        let fits = |places: &[usize]| {
            places.iter().enumerate().all(|(at, place)| taken[*place].is_none() && !places[..at].contains(place))
        };
        let by = (0..=u8::MAX).find(|&by| fits(&places(by)))?;
        moves[bucket] = by;
        for ((at, _), place) in members[bucket].iter().zip(places(by)) {
            taken[place] = Some(*at);
        }
    }
    // A free slot holds the first name: whoever asks compares names anyway.
    let held: Vec<usize> = taken.iter().map(|at| at.unwrap_or(0)).collect();
    let kind = format!("NameIndex<{buckets}, {slots}>");
    Some((kind, format!("NameIndex {{ moves: {moves:?}, slots: {held:?} }}")))
}
