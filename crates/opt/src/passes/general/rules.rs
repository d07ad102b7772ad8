//! The rules of the bundles, and which of them look at which opcode.

use super::defs::FARTHEST;
use super::{
    Cx, address, both_words, bounds, bytes, choices, common, contract, conversions, divisions, extremes, fold, halves,
    identities, merge, narrow, signs, steps, sums, table, warpgroup, wide,
};
use oriole_isa::{Fold, Opcode, Role};
use oriole_ori::{BuildError, Inst, InstFlags};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a rule puts in an instruction's place.
pub(super) type Rewrite = SmallVec<[Inst; 1]>;

/// A rule.
pub(super) struct Rule {
    /// What its rewrites are counted by.
    name: &'static str,
    /// The instructions that it looks at.
    at: At,
    /// From what the instruction reads, it looks at definitions, and at those of what these read, and so on, so many times: with
    /// none, at the instruction and what its sources are copies of.
    reach: u8,
    /// Gives what shall stand in the instruction's place, or `None` where the rule does not apply.
    pub(super) apply: fn(&mut Cx<'_>, &Inst) -> Result<Option<Rewrite>, BuildError>,
}

/// The instructions that a rule looks at.
enum At {
    /// Those of a few opcodes.
    Opcodes(&'static [Opcode]),
    /// Those that constant folding evaluates.
    Folded,
    /// Those with an address whose offset may grow; the volatile ones too.
    Addresses,
    /// Those whose results may be shared.
    Shareable,
}

impl At {
    fn covers(&self, opcode: Opcode) -> bool {
        match self {
            At::Opcodes(opcodes) => opcodes.contains(&opcode),
            At::Folded => opcode.fold() != Fold::None,
            At::Addresses => [Role::Base, Role::SBase].iter().any(|role| opcode.position(*role).is_some()),
            At::Shareable => common::may_be_shared(opcode),
        }
    }
}

/// Rules in the order in which they are tried.
pub(super) struct Rules {
    rules: &'static [Rule],
    /// They are applied in several slots, each time to what has changed.
    pub(super) resume: bool,
    /// Per opcode, once it was asked for: the rules that look at it, and above them how far these look, and [`KNOWN`]. (A program
    /// has few opcodes: to ask all of them would take longer than the walk over a small one.)
    of_opcode: [AtomicU64; Opcode::ALL.len()],
}

/// Bits of the rules in a word for an opcode.
const SET: u64 = (1 << REACH) - 1;
/// The first bit of how far they look.
const REACH: u32 = 48;
const KNOWN: u64 = 1 << 63;

/// The rules that look at an instruction.
#[derive(Clone, Copy)]
pub(super) struct Looking {
    /// A bit for each.
    pub(super) rules: u64,
    /// How far they look ([`Rule::reach`]).
    pub(super) reach: usize,
}

impl Rules {
    const fn new(rules: &'static [Rule], resume: bool) -> Rules {
        assert!(rules.len() <= REACH as usize);
        let mut at = 0;
        while at < rules.len() {
            assert!(rules[at].reach as usize <= FARTHEST);
            at += 1;
        }
        Rules { rules, resume, of_opcode: [const { AtomicU64::new(0) }; Opcode::ALL.len()] }
    }

    /// The rules that look at an instruction, if there are any. What has a call site stays as it is; of what is volatile, only
    /// the address may be written in another way.
    pub(super) fn of(&self, inst: &Inst) -> Option<Looking> {
        if inst.call.is_some() {
            return None;
        }
        let known = &self.of_opcode[inst.opcode as usize];
        let mut word = known.load(Ordering::Relaxed);
        if word & KNOWN == 0 {
            word = self.covering(inst.opcode) | KNOWN;
            known.store(word, Ordering::Relaxed);
        }
        let set = if inst.flags.contains(InstFlags::VOLATILE) { word & self.addresses() } else { word & SET };
        (set != 0).then_some(Looking { rules: set, reach: (word & !KNOWN) as usize >> REACH })
    }

    /// Those that look at an opcode, with how far they look.
    fn covering(&self, opcode: Opcode) -> u64 {
        let covers = |rule: &Rule| rule.at.covers(opcode);
        let reach = self.rules.iter().filter(|rule| covers(rule)).map(|rule| rule.reach).max();
        self.bits(covers) | u64::from(reach.unwrap_or(0)) << REACH
    }

    fn addresses(&self) -> u64 {
        self.bits(|rule| matches!(rule.at, At::Addresses))
    }

    fn bits(&self, takes: impl Fn(&Rule) -> bool) -> u64 {
        (0..).zip(self.rules).filter(|(_, rule)| takes(rule)).fold(0, |set, (bit, _)| set | 1 << bit)
    }

    /// The rules of a set, in order, with their numbers among all.
    pub(super) fn in_set(&self, mut set: u64) -> impl Iterator<Item = (usize, &'static Rule)> + use<> {
        let rules = self.rules;
        std::iter::from_fn(move || {
            let at = set.trailing_zeros() as usize;
            let next = rules.get(at)?;
            set &= set - 1;
            Some((at, next))
        })
    }
}

use Opcode as O;

/// Copies aside (see `copies.rs`), what `GeneralOptimize*` does.
const GENERAL_RULES: &[Rule] = &[
    Rule { name: "fold: constants", at: At::Folded, reach: 0, apply: fold::constants },
    Rule {
        name: "identities: simplify",
        at: At::Opcodes(&identities::SIMPLIFIED),
        reach: 0,
        apply: identities::simplify,
    },
    Rule {
        name: "conversions: constants",
        at: At::Opcodes(&conversions::OPCODES),
        reach: 0,
        apply: conversions::constants,
    },
    Rule { name: "conversions: of words", at: At::Opcodes(&[O::I2F]), reach: 1, apply: conversions::of_words },
    Rule { name: "divisions: reciprocal", at: At::Opcodes(&[O::IMAD]), reach: 3, apply: divisions::reciprocal },
    Rule { name: "divisions: by power of two", at: At::Opcodes(&[O::IMAD]), reach: 1, apply: divisions::by_power },
    Rule { name: "table: logic", at: At::Opcodes(&[O::LOP3]), reach: 0, apply: table::logic },
    Rule { name: "table: predicates", at: At::Opcodes(&[O::PLOP3]), reach: 0, apply: table::predicates },
    Rule { name: "narrow: products", at: At::Opcodes(&[O::IMAD]), reach: 0, apply: narrow::products },
    Rule { name: "bounds: places", at: At::Opcodes(&[O::LOP3, O::SHF, O::ISETP]), reach: 4, apply: bounds::places },
    Rule { name: "address: offsets", at: At::Addresses, reach: 3, apply: address::offsets },
    Rule { name: "address: three summands", at: At::Addresses, reach: 1, apply: address::three_summands },
    Rule { name: "address: scale", at: At::Addresses, reach: 1, apply: address::scaled },
    Rule { name: "wide: shift to product", at: At::Opcodes(&[O::SHF]), reach: 2, apply: wide::shift_to_product },
    Rule { name: "wide: product and sum", at: At::Opcodes(&[O::IADD3]), reach: 4, apply: wide::product_and_sum },
    Rule { name: "steps: of products", at: At::Opcodes(&[O::IMAD]), reach: 3, apply: steps::of_product },
    Rule { name: "steps: of sums", at: At::Opcodes(&[O::IADD3]), reach: 4, apply: steps::of_sums },
    Rule { name: "wide: constant addend", at: At::Opcodes(&[O::IMAD]), reach: 2, apply: wide::constant_addend },
    Rule {
        name: "contract: product and sum",
        at: At::Opcodes(&[O::FADD, O::DADD, O::HADD2]),
        reach: 2,
        apply: contract::product_and_sum,
    },
    Rule { name: "sums: constants", at: At::Opcodes(&[O::IADD3]), reach: 2, apply: sums::constants },
    Rule { name: "sums: product and sum", at: At::Opcodes(&[O::IADD3]), reach: 2, apply: sums::product_and_sum },
    Rule { name: "sums: shift and sum", at: At::Opcodes(&[O::IADD3]), reach: 3, apply: sums::shift_and_sum },
    Rule { name: "sums: three summands", at: At::Opcodes(&[O::IADD3]), reach: 2, apply: sums::three_summands },
    Rule { name: "extremes: of a sum", at: At::Opcodes(&[O::VIMNMX]), reach: 2, apply: extremes::of_sum },
    Rule { name: "extremes: of three", at: At::Opcodes(&extremes::OF_TWO), reach: 2, apply: extremes::of_three },
    Rule { name: "merge: logic", at: At::Opcodes(&[O::LOP3]), reach: 2, apply: merge::logic },
    Rule { name: "merge: comparison", at: At::Opcodes(&[O::PLOP3]), reach: 2, apply: merge::comparison },
    Rule { name: "merge: bit test", at: At::Opcodes(&[O::ISETP]), reach: 3, apply: merge::bit_test },
    Rule { name: "choices: comparison", at: At::Opcodes(&[O::ISETP]), reach: 2, apply: choices::compared },
    Rule { name: "bytes: permutation", at: At::Opcodes(&bytes::OPCODES), reach: 2, apply: bytes::permutation },
    Rule { name: "signs: of operands", at: At::Opcodes(&signs::ARITHMETIC), reach: 1, apply: signs::taken },
    Rule { name: "halves: choice", at: At::Opcodes(&halves::CHOOSING), reach: 2, apply: halves::chosen },
    Rule { name: "warpgroup: addend", at: At::Opcodes(&warpgroup::PRODUCTS), reach: 1, apply: warpgroup::addend },
    Rule { name: "warpgroup: vote", at: At::Opcodes(&[O::VOTEU]), reach: 1, apply: warpgroup::vote },
    Rule { name: "narrow: loaded constant", at: At::Opcodes(&[O::LDC]), reach: 0, apply: narrow::loaded_constant },
    Rule { name: "narrow: constant pair", at: At::Opcodes(&[O::LDC]), reach: 0, apply: narrow::constant_pair },
];

/// What slot 49 does.
const COMMON_RULES: &[Rule] = &[
    Rule { name: "common: expression", at: At::Shareable, reach: 4, apply: common::expression },
    Rule { name: "common: both words", at: At::Opcodes(&[O::IMAD]), reach: 4, apply: both_words::product },
];

/// Of slots 29 and 65.
pub(super) static GENERAL: Rules = Rules::new(GENERAL_RULES, true);
/// Of slot 49.
pub(super) static COMMON: Rules = Rules::new(COMMON_RULES, false);

/// Counted beside rules, and before them: instructions in which copies were looked through, blocks whose MovPhis were
/// simplified, instructions swept.
pub(super) const COPIES: usize = 0;
pub(super) const PHIS: usize = 1;
pub(super) const UNUSED: usize = 2;
/// The number of the first rule.
pub(super) const FIRST_RULE: usize = 3;

/// What slots 29 and 65 count.
pub(crate) const GENERAL_NAMES: &[&str] = &names::<{ FIRST_RULE + GENERAL_RULES.len() }>(GENERAL_RULES);
/// What slot 49 counts.
pub(crate) const COMMON_NAMES: &[&str] = &names::<{ FIRST_RULE + COMMON_RULES.len() }>(COMMON_RULES);

const fn names<const COUNT: usize>(rules: &[Rule]) -> [&'static str; COUNT] {
    let mut names = [""; COUNT];
    (names[COPIES], names[PHIS], names[UNUSED]) = ("copies", "phis", "unused");
    let mut at = FIRST_RULE;
    while at < COUNT {
        names[at] = rules[at - FIRST_RULE].name;
        at += 1;
    }
    names
}
