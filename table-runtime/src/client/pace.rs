//! The number of requests that a bulk write or a scan has in flight: additive increase, multiplicative decrease.
//!
//! The store counts the answers that show an overload
//! ([`Description::overloads`](crate::backend::Description::overloads)). If there were any when a transaction completes, the limit is halved. The transactions in flight at that moment were
//! sent under the old limit, so their overloads are the same one, and nothing changes until they have completed. As
//! long as there is no overload, the limit grows by one after each window, which is as many transactions as the limit.
//! Before the first overload it doubles.

/// The limit of the transactions in flight, as the answers of the store change it.
#[derive(Debug)]
pub struct Pace {
    limit: usize,
    most: usize,
    /// Number of overloads that the store had counted when the limit was last looked at.
    overloads: u64,
    /// True until the first overload.
    is_starting: bool,
    /// Number of transactions in flight that were sent under a higher limit.
    settling: usize,
    /// Number of transactions that have completed in this window.
    completed: usize,
    /// True if as many transactions as the limit were in flight in this window.
    is_reached: bool,
}

impl Pace {
    /// Creates a limit that begins at `start` and is never higher than `most`. `overloads` is what the store has
    /// counted before.
    pub fn new(start: usize, most: usize, overloads: u64) -> Self {
        let most = most.max(1);
        let limit = start.clamp(1, most);
        Self { limit, most, overloads, is_starting: true, settling: 0, completed: 0, is_reached: false }
    }

    /// Returns the number of transactions that may be in flight: at least 1.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Notes that one of `in_flight` transactions has completed, and that the store has counted so many overloads.
    pub fn note(&mut self, in_flight: usize, overloads: u64) {
        let is_overloaded = overloads > self.overloads;
        self.overloads = overloads;
        if self.settling > 0 {
            self.settling -= 1;
        } else if is_overloaded {
            self.limit = (self.limit / 2).max(1);
            self.settling = in_flight.saturating_sub(1);
            self.is_starting = false;
            (self.completed, self.is_reached) = (0, false);
        } else {
            self.completed += 1;
            self.is_reached |= in_flight >= self.limit;
            if self.completed >= self.limit {
                // A limit that is not reached, because the input is slow, shows nothing about the store.
                let growth = if self.is_starting { self.limit } else { 1 };
                self.limit = if self.is_reached { (self.limit + growth).min(self.most) } else { self.limit };
                (self.completed, self.is_reached) = (0, false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Completes a window: as many transactions as the limit allows are sent at once, and the first answer that is
    /// noted shows an overload if `is_overloaded` is true. Returns the limit of the next window.
    fn window(pace: &mut Pace, overloads: &mut u64, is_overloaded: bool) -> usize {
        *overloads += u64::from(is_overloaded);
        for in_flight in (1..=pace.limit()).rev() {
            pace.note(in_flight, *overloads);
        }
        pace.limit()
    }

    /// Completes a window in which each transaction that completes is followed by another one.
    fn sliding(pace: &mut Pace, overloads: u64) -> usize {
        (0..pace.limit()).for_each(|_| pace.note(pace.limit(), overloads));
        pace.limit()
    }

    #[test]
    fn the_limit_doubles_until_the_first_overload_and_then_grows_by_one() {
        let (mut pace, mut overloads) = (Pace::new(2, 40, 7), 7);
        let begun: Vec<_> = (0..6).map(|_| sliding(&mut pace, overloads)).collect();
        assert_eq!(begun, [4, 8, 16, 32, 40, 40]);
        let overloaded: Vec<_> = (0..8).map(|_| window(&mut pace, &mut overloads, true)).collect();
        assert_eq!(overloaded, [20, 10, 5, 2, 1, 1, 1, 1]);
        let recovered: Vec<_> = (0..50).map(|_| sliding(&mut pace, overloads)).collect();
        let expected: Vec<_> = (2..=40).chain([40; 11]).collect();
        assert_eq!(recovered, expected);
    }

    #[test]
    fn a_limit_that_is_not_reached_does_not_grow() {
        let mut pace = Pace::new(4, 100, 0);
        (0..1000).for_each(|_| pace.note(3, 0));
        assert_eq!(pace.limit(), 4);
    }

    /// A store that completes transactions in some order and counts overloads, and a load that keeps to the limit.
    #[derive(Clone, Debug)]
    enum Event {
        /// The load sends as many transactions as it may.
        Send,
        /// A transaction completes.
        Complete,
        /// The store refuses requests.
        Overload(u8),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![4 => Just(Event::Send), 8 => Just(Event::Complete), 1 => (1..5u8).prop_map(Event::Overload)]
    }

    depth::laws! {
        256;

        fn the_limit_follows_the_model(
            (start, most) in (0..40usize, 0..40usize),
            events in prop::collection::vec(event(), 0..400),
        ) {
            let mut pace = Pace::new(start, most, 0);
            // The model keeps the limit under which each transaction was sent, which the controller does not.
            let (mut sent, mut counted, mut seen, mut epoch) = (Vec::new(), 0, 0, 0);
            // Number of transactions that have completed since the limit changed.
            let mut completed = 0;
            for event in events {
                let before = pace.limit();
                match event {
                    Event::Send => (sent.len()..before).for_each(|_| sent.push(epoch)),
                    Event::Overload(more) => counted += u64::from(more),
                    Event::Complete if sent.is_empty() => {}
                    Event::Complete => {
                        let in_flight = sent.len();
                        let is_of_epoch = sent.remove(0) == epoch;
                        pace.note(in_flight, counted);
                        let (after, is_overloaded) = (pace.limit(), counted > seen);
                        seen = counted;
                        completed += usize::from(is_of_epoch);
                        if is_of_epoch && is_overloaded {
                            prop_assert_eq!(after, (before / 2).max(1));
                            epoch += 1;
                            completed = 0;
                        } else if after != before {
                            let grown = if epoch == 0 { 2 * before } else { before + 1 };
                            prop_assert_eq!(after, grown.min(most));
                            prop_assert!(is_of_epoch && completed >= before);
                            completed = 0;
                        }
                    }
                }
                prop_assert!((1..=most.max(1)).contains(&pace.limit()));
            }
        }
    }
}
