//! Which instructions are to be explained.

use super::{Chosen, hottest, orders};
use oriole_check::{Issue, Timeline};
use std::collections::BTreeSet;
use std::str::FromStr;

/// What `--explain-schedule` names: of one function, or of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct What {
    function: Option<String>,
    place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// The longest way through the hottest block.
    LongestWay,
    /// The instruction at this address, as `disasm` prints it.
    Address(u64),
    /// All with this in their text, in whatever case.
    Text(String),
}

/// `FUNCTION:PLACE` or one of the two, neither; a place is an address with `0x`, or text. No instruction's text has a colon.
impl FromStr for What {
    type Err = String;

    fn from_str(text: &str) -> Result<What, String> {
        let (function, place) = match text.rsplit_once(':') {
            Some(("", _)) => return Err(format!("'{text}' names no function ahead of the colon")),
            Some((function, place)) => (Some(function.to_owned()), place),
            None => (None, text),
        };
        let address =
            |digits| u64::from_str_radix(digits, 16).map_err(|_| format!("'{place}' is no address such as 0x00d0"));
        let place = match place.strip_prefix("0x") {
            Some(digits) => Place::Address(address(digits)?),
            None if place.is_empty() => Place::LongestWay,
            None => Place::Text(place.to_ascii_uppercase()),
        };
        Ok(What { function, place })
    }
}

/// The instructions of that name, block by block.
///
/// # Errors
/// There are none; the message says what there is.
pub(super) fn chosen<'t>(timelines: &'t [Timeline], what: &What) -> Result<Vec<Chosen<'t>>, String> {
    let of_that_name = |one: &&Timeline| what.function.as_ref().is_none_or(|name| *name == one.function);
    let functions: Vec<&Timeline> = timelines.iter().filter(of_that_name).collect();
    if let (Some(name), true) = (&what.function, functions.is_empty()) {
        let known: Vec<&str> = timelines.iter().map(|one| one.function.as_str()).collect();
        return Err(format!("no function '{name}'; there are: {}", known.join(", ")));
    }
    let found: Vec<Chosen> = match &what.place {
        Place::LongestWay => functions.iter().filter_map(|one| longest_way(one)).collect(),
        Place::Address(address) => all(&functions, |issue| issue.address == *address),
        Place::Text(text) => all(&functions, |issue| issue.text.to_ascii_uppercase().contains(text)),
    };
    if found.is_empty() { Err(nothing(&functions, &what.place)) } else { Ok(found) }
}

fn longest_way(timeline: &Timeline) -> Option<Chosen<'_>> {
    let (at, loops) = hottest::block(timeline)?;
    let order = orders(timeline).nth(at)?;
    let instructions = order.longest_way();
    Some(Chosen { timeline, block: &timeline.blocks[at], order, instructions, loops: Some(loops) })
}

fn all<'t>(functions: &[&'t Timeline], is_meant: impl Fn(&Issue) -> bool) -> Vec<Chosen<'t>> {
    let mut found = Vec::new();
    for timeline in functions {
        for (block, order) in timeline.blocks.iter().zip(orders(timeline)) {
            let meant = block.instructions.iter().enumerate().filter(|(_, issue)| is_meant(issue));
            let instructions: Vec<usize> = meant.map(|(at, _)| at).collect();
            if !instructions.is_empty() {
                found.push(Chosen { timeline, block, order, instructions, loops: None });
            }
        }
    }
    found
}

/// What there is instead.
fn nothing(functions: &[&Timeline], place: &Place) -> String {
    let issues = functions.iter().flat_map(|one| one.blocks.iter().flat_map(|block| &block.instructions));
    match place {
        Place::LongestWay => "there are no instructions".to_owned(),
        Place::Address(address) => {
            let ranges = functions.iter().filter_map(|one| {
                let last = one.blocks.last()?.instructions.last()?.address;
                Some(format!("{} has {:#06x} to {last:#06x}", one.function, one.blocks.first()?.address))
            });
            format!("no instruction is at {address:#06x}; {}", ranges.collect::<Vec<_>>().join(", "))
        }
        Place::Text(text) => {
            let there: BTreeSet<&str> = issues.map(|issue| issue.inst.opcode.name()).collect();
            let there: Vec<&str> = there.into_iter().collect();
            format!("no instruction has '{text}' in its text; there are: {}", there.join(", "))
        }
    }
}
