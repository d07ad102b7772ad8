//! The 64 bits of an mbarrier from sm_90 on.
//!
//! | bits | content | source |
//! |---|---|---|
//! | 1–20 | minus the arrivals that each phase expects | `mbarrier.init` as ptxas lowers it |
//! | 21–42 | arrivals of transactions less those expected, in bytes, with sign | our choice: no code of ptxas reads it |
//! | 43–62 | minus the arrivals that the phase still waits for | `mbarrier.init`, `mbarrier.pending_count` |
//! | 63 | the phase | `mbarrier.test_wait.parity` |
//!
//! Bit 0 says `.layout::v1`. On sm_107, and nowhere else, that is one with reports, whose counts have nine bits:
//!
//! | bits | content | source |
//! |---|---|---|
//! | 1, 2 | whether something was reported in this phase, in the one before | our choice |
//! | 3 | the conditional phase | our choice |
//! | 4–12 | minus the arrivals that each phase expects | `mbarrier.init` |
//! | 43–51 | minus the arrivals that the phase still waits for | `mbarrier.init` |
//!
//! Bit 20 tells the two: it is set in a count of 20 bits that is not above 2^9.
//!
//! A phase is over when no arrival and no transaction is outstanding. All zero is no mbarrier.

/// Largest number of arrivals (PTX, "mbarrier: contents").
const MAX_COUNT: u32 = (1 << 20) - 1;
/// Where the fields are.
const EXPECTED: u32 = 1;
const TRANSACTIONS: u32 = 21;
const PENDING: u32 = 43;
const PHASE: u32 = 63;
/// What one with reports has in other places.
mod with_reports {
    pub(super) const RUNNING: u32 = 1;
    pub(super) const LAST: u32 = 2;
    pub(super) const CONDITIONAL: u32 = 3;
    pub(super) const EXPECTED: u32 = 4;
    pub(super) const COUNT_BITS: u32 = 9;
}
/// Bits of the transaction count.
const TRANSACTION_BITS: u32 = 22;

/// An mbarrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mbarrier(
    /// Its bits.
    pub(crate) u64,
);

impl Mbarrier {
    /// One whose phases expect so many arrivals, in its first phase.
    pub(crate) fn new(arrivals: u32) -> Mbarrier {
        Mbarrier(0).with_count(EXPECTED, arrivals).with_count(PENDING, arrivals)
    }

    fn is_set(self, at: u32) -> bool {
        self.0 >> at & 1 != 0
    }

    /// Whether it keeps reports.
    fn has_reports(self) -> bool {
        self.is_set(0) && !self.is_set(20)
    }

    /// Where the expected arrivals are, and how many bits a count has.
    fn layout(self) -> (u32, u32) {
        if self.has_reports() { (with_reports::EXPECTED, with_reports::COUNT_BITS) } else { (EXPECTED, 20) }
    }

    fn count(self, at: u32) -> u32 {
        let most = (1u32 << self.layout().1) - 1;
        ((self.0 >> at) as u32 & most).wrapping_neg() & most
    }

    fn with(self, at: u32, bits: u32, value: u64) -> Mbarrier {
        let mask = ((1u64 << bits) - 1) << at;
        Mbarrier(self.0 & !mask | value << at & mask)
    }

    fn with_count(self, at: u32, count: u32) -> Mbarrier {
        self.with(at, self.layout().1, u64::from(count).wrapping_neg())
    }

    /// The phase, as its lowest bit.
    pub(crate) fn phase(self) -> bool {
        self.0 >> PHASE != 0
    }

    /// Arrivals that each phase expects.
    fn expected(self) -> u32 {
        self.count(self.layout().0)
    }

    /// Arrivals that this phase still waits for.
    fn pending(self) -> u32 {
        self.count(PENDING)
    }

    /// Bytes that are still to come in this phase.
    fn transactions(self) -> i64 {
        let unused = 64 - TRANSACTION_BITS;
        -((((self.0 >> TRANSACTIONS) << unused) as i64) >> unused)
    }

    /// Fails with what is wrong if this is no mbarrier.
    fn check(self) -> Result<(), String> {
        match self.0 {
            0 => Err("is not initialised".to_owned()),
            _ => Ok(()),
        }
    }

    /// Whether the phase with this bit is over. Fails with what is wrong.
    pub(crate) fn is_over(self, phase: bool) -> Result<bool, String> {
        self.check()?;
        Ok(self.phase() != phase)
    }

    /// Whether the conditional phase with this bit is over: as the other one, but where something was reported. Fails with what is wrong.
    pub(crate) fn is_conditionally_over(self, phase: bool) -> Result<bool, String> {
        match self.has_reports() {
            true => Ok(self.is_set(with_reports::CONDITIONAL) != phase),
            false => self.is_over(phase),
        }
    }

    /// Whether something was reported in the phase before this one.
    pub(crate) fn was_reported(self) -> bool {
        self.has_reports() && self.is_set(with_reports::LAST)
    }

    /// Something is reported in this phase. Fails with what is wrong.
    pub(crate) fn report(self) -> Result<Mbarrier, String> {
        self.check()?;
        match self.has_reports() {
            true => Ok(self.with(with_reports::RUNNING, 1, 1)),
            false => Err("gets a report, and keeps none: it is not of .layout::v1".to_owned()),
        }
    }

    /// The next phase, whose conditional one begins too if nothing was reported.
    fn next_phase(self) -> Mbarrier {
        let next = self.with_count(PENDING, self.expected()).with(PHASE, 1, u64::from(!self.phase()));
        if !self.has_reports() {
            return next;
        }
        let (reported, phase) = (self.is_set(with_reports::RUNNING), self.is_set(with_reports::CONDITIONAL));
        next.with(with_reports::CONDITIONAL, 1, u64::from(phase ^ !reported))
            .with(with_reports::LAST, 1, u64::from(reported))
            .with(with_reports::RUNNING, 1, 0)
    }

    /// Expects `bytes` more bytes of transactions in this phase (fewer, if negative), then `count`
    /// threads arrive; where they `leave`, later phases do not expect them. Fails with what is wrong.
    pub(crate) fn change(self, bytes: i64, count: u32, leave: bool) -> Result<Mbarrier, String> {
        self.check()?;
        let transactions = self.transactions() + bytes;
        if transactions.unsigned_abs() > u64::from(MAX_COUNT) {
            return Err(format!("counts {transactions} bytes of transactions; it can count to {MAX_COUNT}"));
        }
        let Some(pending) = self.pending().checked_sub(count) else {
            return Err(format!("has {count} arrivals when it waits for {} more", self.pending()));
        };
        let stay = self.expected().checked_sub(if leave { count } else { 0 });
        let expected = stay.ok_or_else(|| format!("is left by {count} of {} threads", self.expected()))?;
        let next = self.with_count(self.layout().0, expected).with_count(PENDING, pending);
        let next = next.with(TRANSACTIONS, TRANSACTION_BITS, transactions.wrapping_neg() as u64);
        Ok(match (pending, transactions) {
            (0, 0) => next.next_phase(),
            _ => next,
        })
    }
}

/// What the mbarrier with these bits waits for, after "which".
pub(crate) fn describe(bits: u64) -> String {
    let barrier = Mbarrier(bits);
    match barrier.check() {
        Err(what) => what,
        Ok(()) => format!(
            "waits for {} of {} arrivals and {} bytes in a phase of parity {}",
            barrier.pending(),
            barrier.expected(),
            barrier.transactions(),
            u8::from(barrier.phase())
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As ptxas computes it: two words from the count.
    fn init(count: u32) -> Mbarrier {
        let minus = 0x10_0000u32.wrapping_sub(count);
        Mbarrier(u64::from(minus << 1) | u64::from(minus << 11) << 32)
    }

    fn pending_count(state: Mbarrier) -> u32 {
        0x10_0000 - ((state.0 >> 32) as u32 >> 11 & 0xf_ffff)
    }

    #[test]
    fn arrivals_end_phases() {
        let mut barrier = init(3);
        for round in 0..4 {
            let phase = round % 2 != 0;
            for left in [3, 2, 1] {
                assert_eq!((barrier.phase(), pending_count(barrier)), (phase, left));
                assert_eq!(barrier.is_over(phase), Ok(false));
                assert_eq!(barrier.is_over(!phase), Ok(true));
                barrier = barrier.change(0, 1, false).expect("it waits for it");
            }
        }
        assert_eq!(barrier, init(3), "an even number of phases later it is as it was");
    }

    #[test]
    fn transactions_hold_a_phase_and_come_in_any_order() {
        let arrived = init(1).change(4096, 1, false).expect("the only arrival");
        assert_eq!((arrived.phase(), arrived.transactions()), (false, 4096));
        let half = arrived.change(-1024, 0, false).expect("a part");
        assert!(!half.phase());
        assert!(half.change(-3072, 0, false).expect("the rest").phase());
        let early = init(1).change(-16, 0, false).expect("bytes may come before they are expected");
        assert_eq!((early.phase(), early.transactions()), (false, -16));
        assert!(early.change(16, 1, false).expect("now they are").phase());
        let largest = init(1).change(i64::from(MAX_COUNT), 0, false).expect("as far as it counts");
        assert!(largest.change(1, 0, false).expect_err("too many").contains("1048576 bytes"));
    }

    #[test]
    fn who_leaves_is_not_expected_again() {
        let left = init(2).change(0, 1, true).expect("one leaves");
        assert_eq!((left.pending(), left.expected()), (1, 1));
        let next = left.change(0, 1, false).expect("the other arrives");
        assert_eq!((next.phase(), next.pending()), (true, 1));
        assert!(next.change(0, 2, false).expect_err("too many").contains("waits for 1"));
    }

    #[test]
    fn reports_hold_the_conditional_phase_alone() {
        // As ptxas computes it for sm_107.
        let minus = 0x200u32 - 2;
        let mut barrier = Mbarrier(u64::from(minus << 4 | 1) | u64::from(minus << 11) << 32);
        let (mut phase, mut conditional) = (false, false);
        for reported in [false, true, true, false, false] {
            assert_eq!((barrier.expected(), barrier.pending(), barrier.transactions()), (2, 2, 0));
            barrier = barrier.change(16, 2, false).expect("it waits for both");
            if reported {
                barrier = barrier.report().expect("it keeps reports");
            }
            assert_eq!(barrier.is_over(phase), Ok(false));
            barrier = barrier.change(-16, 0, false).expect("the bytes");
            assert_eq!(barrier.is_over(phase), Ok(true));
            assert_eq!(barrier.is_conditionally_over(conditional), Ok(!reported));
            assert_eq!(barrier.was_reported(), reported);
            phase = !phase;
            conditional ^= !reported;
        }
        assert!(init(2).report().expect_err("it keeps none").contains(".layout::v1"));
    }

    #[test]
    fn no_mbarrier_is_refused() {
        assert!(Mbarrier(0).change(0, 1, false).expect_err("all zero").contains("not initialised"));
        assert!(Mbarrier(0).is_over(false).is_err());
        assert_eq!(describe(init(5).0), "waits for 5 of 5 arrivals and 0 bytes in a phase of parity 0");
    }
}
