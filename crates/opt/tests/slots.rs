//! The published table: numbers, names and order as in the documents (docs/sources.md), and nothing said of a slot that
//! is not so.

use oriole_opt::pipeline::PIPELINE;
use oriole_opt::slots::{Content, SLOTS};
use oriole_prerequisites::shared;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

#[test]
fn every_slot_is_there_once() {
    let numbers: BTreeSet<u16> = SLOTS.iter().map(|slot| slot.number).collect();
    assert_eq!((numbers.len(), SLOTS.len()), (159, 159));
    assert_eq!((numbers.first(), numbers.last()), (Some(&0), Some(&158)));
    let names: BTreeSet<&str> = SLOTS.iter().map(|slot| slot.name).collect();
    assert_eq!(names.len(), 159, "two slots have one name");
}

/// The pairs of a number and a name in a text: `49 GvnCse`, `phase 23: GenerateMovPhi`.
fn pairs(text: &str) -> Vec<(u16, String)> {
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let pair = |two: &[&str]| {
        let number = two[0].parse().ok().filter(|number| *number < 159)?;
        let capitals = two[1].chars().filter(char::is_ascii_uppercase).count();
        let is_name = two[1].starts_with(|c: char| c.is_ascii_uppercase()) && capitals > 1 && two[1].len() > 5;
        is_name.then(|| (number, two[1].to_owned()))
    };
    words.windows(2).filter_map(pair).collect()
}

/// A page beside the repository copies the published table; it also says where the slots from 132 on stand.
#[test]
fn numbers_and_names_are_the_published_ones() {
    let Some(page) = shared("design/oriole.md") else { return };
    let text = std::fs::read_to_string(page).expect("a page");
    let (_, table) = text.split_once("\n### Phases").expect("a chapter on phases");
    let (table, _) = table.split_once("\nAlso named").expect("what has no numbers");
    let published: BTreeMap<u16, String> = pairs(table).into_iter().collect();
    assert_eq!(published.len(), 159 - 7 - 20, "all but 125-131 and 139-158 have names");
    for slot in SLOTS {
        match published.get(&slot.number) {
            Some(name) => assert_eq!(slot.name, name, "slot {}", slot.number),
            None => assert!(slot.name.ends_with(&slot.number.to_string()), "{} is no published name", slot.name),
        }
    }
    let plain: Vec<u16> = SLOTS.iter().map(|slot| slot.number).filter(|number| *number < 132).collect();
    assert!(plain.is_sorted(), "slots 0 to 131 are not in their order");
    let place = |number: u16| SLOTS.iter().position(|slot| slot.number == number).expect("a slot");
    for (number, before, behind) in
        [(132, 7, 8), (133, 13, 14), (134, 45, 46), (135, 71, 72), (136, 78, 79), (137, 79, 80), (138, 83, 84)]
    {
        assert!((place(before)..place(behind)).contains(&place(number)), "slot {number}");
    }
}

/// What the documents on ptxas's IR and on uniform registers say of single slots in passing.
#[test]
fn the_seeds_name_them_likewise() {
    let seeds = ["seeds/003_064f8b343cdd362d.txt", "seeds/004_74ce9c0a02311c03.txt"];
    for seed in seeds.into_iter().filter_map(shared) {
        let text = std::fs::read_to_string(seed).expect("a seed");
        let lines =
            text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()) || line.starts_with("Phase "));
        let named: Vec<(u16, String)> = lines.flat_map(pairs).collect();
        assert!(!named.is_empty());
        for (number, name) in named {
            let ours = SLOTS.iter().find(|slot| slot.number == number).map(|slot| slot.name);
            assert_eq!(ours, Some(name.as_str()), "slot {number}");
        }
    }
}

/// A slot is said to have a pass if a pass says that it fills it; the allocator and the two schedulers are no passes of
/// this crate. Each pass goes by the name of its slot.
#[test]
fn passes_stand_in_their_slots() {
    let said: BTreeSet<u16> =
        SLOTS.iter().filter(|slot| matches!(slot.content, Content::Pass(_))).map(|slot| slot.number).collect();
    let filled: BTreeSet<u16> = PIPELINE.iter().flat_map(|pass| pass.slots).copied().chain([97, 101, 106]).collect();
    assert_eq!(said, filled);
    for pass in PIPELINE {
        let slot = SLOTS.iter().find(|slot| slot.number == pass.number()).expect("a slot");
        assert_eq!(slot.name, pass.name);
    }
    // Uniform registers need the barriers of slot 99: docs/uniform.md.
    // Unrolling needs the counters that slot 29 finds: docs/opt.md.
    // Arguments are constants behind slot 29, and what they decide is folded by slot 37: docs/opt.md, Calls.
    // Constants are told by definitions, up to slot 73: docs/opt.md, Constants of 64 bits.
    // Equal conditions are one value behind slot 49: docs/opt.md, Conditions under conditions.
    // Counters are those of the loops that unrolling and predication leave: docs/opt.md, Counters.
    // What comes between slots 23 and 72 is simpler for it: docs/opt.md, Member masks.
    // Loops with loads under guards are of one block behind slot 63: docs/opt.md, Pipelining.
    // Slot 69 puts things where they are needed, and then they go ahead of side exits: docs/opt.md, Side exits.
    let elsewhere = [
        "AdvancedPhaseEarlyEnforceArgs",
        "DoTexMovement",
        "ConvertToUniformReg",
        "OriLoopUnrolling",
        "OriPipelining",
        "OriStrengthReduce",
        "LateArchOptimizeFirst",
        "OptimizeNestedCondBranches",
        "OptimizeSyncInstructions",
        "ExpandMbarrier",
    ];
    let in_place = PIPELINE.iter().filter(|pass| !elsewhere.contains(&pass.name));
    let places: Vec<_> = in_place.map(|pass| SLOTS.iter().position(|slot| slot.number == pass.number())).collect();
    assert!(places.is_sorted(), "passes do not run in the order of their slots");
}

/// Every page and paragraph that a reason sends its reader to is there.
#[test]
fn reasons_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for slot in SLOTS {
        let words = slot.content.words();
        assert!(!words.is_empty() && !words.contains("later"), "slot {}: {words}", slot.number);
        let Some(start) = words.find("docs/") else { continue };
        let (page, paragraph) = words[start..].split_once(", ").unwrap_or((&words[start..], ""));
        let page = page.split([';', ' ']).next().unwrap_or(page);
        let text = std::fs::read_to_string(root.join(page)).unwrap_or_else(|error| panic!("{page}: {error}"));
        if words.starts_with("not done") {
            assert!(text.contains(&format!("\n* **{paragraph}**")), "{page} has no paragraph '{paragraph}'");
        }
    }
}
