//! The 64 bits of an mbarrier from sm_90 on.
//!
//! | bits | content | source |
//! |---|---|---|
//! | 1–20 | minus the arrivals that each phase expects | `mbarrier.init` as ptxas lowers it |
//! | 21–42 | arrivals of transactions less those expected, in bytes, with sign | our choice: no code of ptxas reads it |
//! | 43–62 | minus the arrivals that the phase still waits for | `mbarrier.init`, `mbarrier.pending_count` |
//! | 63 | the phase | `mbarrier.test_wait.parity` |
//!
//! A phase is over when no arrival and no transaction is outstanding. All zero is no mbarrier.

/// Largest number of arrivals (PTX, "mbarrier: contents").
const MAX_COUNT: u32 = (1 << 20) - 1;
/// Where the fields are.
const EXPECTED: u32 = 1;
const TRANSACTIONS: u32 = 21;
const PENDING: u32 = 43;
const PHASE: u32 = 63;
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

    fn count(self, at: u32) -> u32 {
        ((self.0 >> at) as u32 & MAX_COUNT).wrapping_neg() & MAX_COUNT
    }

    fn with(self, at: u32, bits: u32, value: u64) -> Mbarrier {
        let mask = ((1u64 << bits) - 1) << at;
        Mbarrier(self.0 & !mask | value << at & mask)
    }

    fn with_count(self, at: u32, count: u32) -> Mbarrier {
        self.with(at, 20, u64::from(count).wrapping_neg())
    }

    /// The phase, as its lowest bit.
    pub(crate) fn phase(self) -> bool {
        self.0 >> PHASE != 0
    }

    /// Arrivals that each phase expects.
    fn expected(self) -> u32 {
        self.count(EXPECTED)
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
        let next = self.with_count(EXPECTED, expected).with_count(PENDING, pending);
        let next = next.with(TRANSACTIONS, TRANSACTION_BITS, transactions.wrapping_neg() as u64);
        Ok(match (pending, transactions) {
            (0, 0) => next.with_count(PENDING, expected).with(PHASE, 1, u64::from(!self.phase())),
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
    fn no_mbarrier_is_refused() {
        assert!(Mbarrier(0).change(0, 1, false).expect_err("all zero").contains("not initialised"));
        assert!(Mbarrier(0).is_over(false).is_err());
        assert_eq!(describe(init(5).0), "waits for 5 of 5 arrivals and 0 bytes in a phase of parity 0");
    }
}
