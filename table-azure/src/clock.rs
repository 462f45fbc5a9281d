//! The clock of the service, as far as its answers show it.

use std::{
    sync::atomic::{AtomicBool, AtomicI64, Ordering},
    time::{Duration, SystemTime},
};

use table_store::{
    Ticks,
    backend::{BoxFuture, Clock, Sleep, SystemClock},
};

/// Resolution of the header `Date`, in milliseconds.
const RESOLUTION: i64 = 1000;

/// The clock of the host, whose time of day is corrected by the `Date` of the service's answers. All programs of one
/// account then have about the same time, whatever the clocks of their hosts show.
///
/// An answer shows that the service's clock was between its `Date` and a second more at some moment between the request
/// and the answer. As long as the present correction agrees with that, it stays.
#[derive(Debug, Default)]
pub(super) struct ServiceClock {
    /// Number of milliseconds by which the service is ahead.
    difference: AtomicI64,
    is_known: AtomicBool,
}

impl ServiceClock {
    /// Returns by how many milliseconds the service's clock is ahead; `None` before the first answer.
    pub(super) fn difference(&self) -> Option<i64> {
        self.is_known.load(Ordering::Acquire).then(|| self.difference.load(Ordering::Relaxed))
    }

    /// Notes the `Date` of an answer to a request that was sent at `sent`.
    pub(super) fn note(&self, date: &str, sent: SystemTime, received: SystemTime) {
        let Ok(date) = httpdate::parse_http_date(date) else { return };
        let (date, sent, received) = (unix(date), unix(sent), unix(received));
        // The host's clock may have been set back meanwhile.
        let (least, most) = (date - received, (date + RESOLUTION - sent).max(date - received));
        let present = self.difference.load(Ordering::Relaxed);
        self.difference.store(present.clamp(least, most), Ordering::Relaxed);
        self.is_known.store(true, Ordering::Release);
    }
}

/// Returns the number of milliseconds since 1970.
fn unix(time: SystemTime) -> i64 {
    let since = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4);
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => since(after),
        Err(before) => -since(before.duration()),
    }
}

impl Clock for ServiceClock {
    fn monotonic(&self) -> Duration {
        SystemClock.monotonic()
    }

    fn wall(&self) -> Ticks {
        let (host, difference) = (SystemClock.wall(), self.difference.load(Ordering::Relaxed));
        let corrected = host.get().saturating_add_signed(difference.saturating_mul(10_000));
        Ticks::new(corrected).unwrap_or(host)
    }

    fn sleep(&self, time: Duration, purpose: Sleep) -> BoxFuture<'_, ()> {
        match purpose {
            // Each write begins a timer for its lease. The runtime's timers cost less than those of the system's clock, which
            // wake a thread of their own.
            Sleep::Answer | Sleep::Retry => Box::pin(tokio::time::sleep(time)),
            // The runtime's time can be paused, and other programs go on.
            Sleep::Whole => SystemClock.sleep(time, purpose),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATE: &str = "Thu, 28 May 2026 09:30:00 GMT";

    fn at(milliseconds: i64) -> SystemTime {
        let date = httpdate::parse_http_date(DATE).expect("a date");
        let offset = Duration::from_millis(milliseconds.unsigned_abs());
        if milliseconds < 0 { date - offset } else { date + offset }
    }

    #[test]
    fn a_clock_that_may_be_right_is_not_corrected() {
        let clock = ServiceClock::default();
        assert_eq!(clock.difference(), None);
        for sent in [0, 500, 999] {
            clock.note(DATE, at(sent), at(sent + 20));
            assert_eq!(clock.difference(), Some(0));
        }
    }

    #[test]
    fn each_answer_narrows_the_difference() {
        let clock = ServiceClock::default();
        // The host is 10 seconds behind: the service is ahead by at least 9.98 and at most 11 seconds.
        clock.note(DATE, at(-10_000), at(-9_980));
        assert_eq!(clock.difference(), Some(9_980));
        // Another answer of the same second, sent later, shows that it is at most 10.4 seconds, which still agrees.
        clock.note(DATE, at(-9_400), at(-9_380));
        assert_eq!(clock.difference(), Some(9_980));
        // The host's clock was set: it is now 5 seconds ahead.
        clock.note(DATE, at(5_000), at(5_020));
        assert_eq!(clock.difference(), Some(-4_000));
        let (host, service) = (SystemClock.wall().get(), clock.wall().get());
        assert!(host - service >= 39_000_000 && host - service <= 40_000_000, "{host} {service}");
    }

    #[test]
    fn a_date_that_cannot_be_read_changes_nothing() {
        let clock = ServiceClock::default();
        clock.note("yesterday", at(0), at(0));
        assert_eq!(clock.difference(), None);
    }
}
