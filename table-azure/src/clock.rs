//! The clock of the service, as far as its answers show it.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use reqwest::header::{AGE, DATE, HeaderMap, HeaderValue};
use table_store::{
    Ticks,
    backend::{BoxFuture, Clock, Sleep, SystemClock},
};

use super::headers::{self, REQUEST_ID};

/// Resolution of the header `Date`, in milliseconds.
const RESOLUTION: i64 = 1000;
/// Change of the correction that one answer alone does not prove, in milliseconds.
const JUMP: i64 = 5 * 60 * 1000;
/// The service refuses a signature that is 15 minutes away from its clock. Its answer may be some time on its way.
const SIGNATURE: Duration = Duration::from_mins(14);

/// An answer of the service that shows its clock.
pub(super) struct Dated {
    /// Its `Date`.
    pub(super) text: String,
    date: SystemTime,
    /// Its `x-ms-request-id`.
    request: String,
}

impl Dated {
    /// Returns the date of an answer of the service. Gateways have a clock of their own, and give requests no identifier;
    /// caches repeat what the service said before.
    pub(super) fn of(answer: &HeaderMap) -> Option<Self> {
        let request = answer.get(REQUEST_ID).map(headers::text).filter(|id| !id.is_empty())?;
        let text = answer.get(DATE).map(headers::text).filter(|_| !answer.contains_key(AGE))?;
        let date = httpdate::parse_http_date(&text).ok()?;
        Some(Self { text, date, request })
    }

    /// Returns true if the service refuses a request that was signed at this time.
    pub(super) fn is_far_from(&self, signed: &HeaderValue) -> bool {
        let signed = httpdate::parse_http_date(&headers::text(signed));
        signed.is_ok_and(|signed| {
            let distance = self.date.duration_since(signed).or_else(|_| signed.duration_since(self.date));
            distance.is_ok_and(|distance| distance >= SIGNATURE)
        })
    }
}

/// The clock of the host, whose time of day is corrected by the `Date` of the service's answers. All programs of one
/// account then have about the same time, whatever the clocks of their hosts show.
///
/// An answer shows that the service's clock was between its `Date` and a second more at some moment between the request
/// and the answer. As long as the present correction agrees with that, it stays. A correction by minutes needs the answers
/// to two requests. Between them the clock shows the earlier of the two times, so that nothing expires because of it.
#[derive(Debug, Default)]
pub(super) struct ServiceClock(Mutex<Correction>);

#[derive(Debug, Default)]
struct Correction {
    /// Number of milliseconds by which the service is ahead; `None` before the first answer.
    difference: Option<i64>,
    /// What one answer has shown alone.
    doubtful: Option<Doubtful>,
}

#[derive(Debug)]
struct Doubtful {
    difference: i64,
    /// The request whose answer has shown it.
    request: String,
}

impl ServiceClock {
    /// Returns by how many milliseconds the service's clock is ahead, as its last answer has shown; `None` before the first
    /// answer.
    pub(super) fn difference(&self) -> Option<i64> {
        let correction = self.lock();
        correction.doubtful.as_ref().map(|doubtful| doubtful.difference).or(correction.difference)
    }

    /// Returns the time that the last answer of the service has shown.
    pub(super) fn latest(&self) -> SystemTime {
        let (host, difference) = (SystemTime::now(), self.difference().unwrap_or_default());
        let distance = Duration::from_millis(difference.unsigned_abs());
        let corrected = if difference < 0 { host.checked_sub(distance) } else { host.checked_add(distance) };
        corrected.unwrap_or(host)
    }

    /// Notes the answer to a request that was sent at `sent`.
    pub(super) fn note(&self, answer: &Dated, sent: SystemTime, received: SystemTime) {
        let (date, sent, received) = (unix(answer.date), unix(sent), unix(received));
        // The host's clock may have been set back meanwhile.
        let (least, most) = (date - received, (date + RESOLUTION - sent).max(date - received));
        let near =
            |before: i64| Some(before.clamp(least, most)).filter(|now| now.abs_diff(before) <= JUMP.unsigned_abs());
        let mut correction = self.lock();
        let present = correction.difference.unwrap_or_default();
        let confirmed = correction.doubtful.as_ref().filter(|doubtful| doubtful.request != answer.request);
        let confirmed = confirmed.and_then(|doubtful| near(doubtful.difference));
        *correction = match near(present).or(confirmed) {
            Some(difference) => Correction { difference: Some(difference), doubtful: None },
            None => {
                let doubtful = Doubtful { difference: present.clamp(least, most), request: answer.request.clone() };
                Correction { doubtful: Some(doubtful), ..*correction }
            }
        };
    }

    fn lock(&self) -> MutexGuard<'_, Correction> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        let host = SystemClock.wall();
        let difference = {
            let correction = self.lock();
            let present = correction.difference.unwrap_or_default();
            correction.doubtful.as_ref().map_or(present, |doubtful| doubtful.difference.min(present))
        };
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

    /// Notes an answer with [`DATE`] to a request that the host sends at this number of milliseconds after it.
    fn note(clock: &ServiceClock, request: &str, sent: i64) {
        let answer = Dated { text: DATE.to_owned(), date: at(0), request: request.to_owned() };
        clock.note(&answer, at(sent), at(sent + 20));
    }

    #[test]
    fn a_clock_that_may_be_right_is_not_corrected() {
        let clock = ServiceClock::default();
        assert_eq!(clock.difference(), None);
        for sent in [0, 500, 979] {
            note(&clock, "1", sent);
            assert_eq!(clock.difference(), Some(0));
        }
    }

    #[test]
    fn each_answer_narrows_the_difference() {
        let clock = ServiceClock::default();
        // The host is 10 seconds behind: the service is ahead by at least 9.98 and at most 11 seconds.
        note(&clock, "1", -10_000);
        assert_eq!(clock.difference(), Some(9_980));
        // Another answer of the same second, sent later, shows that it is at most 10.4 seconds, which still agrees.
        note(&clock, "2", -9_400);
        assert_eq!(clock.difference(), Some(9_980));
        // The host's clock was set: it is now 5 seconds ahead.
        note(&clock, "3", 5_000);
        assert_eq!(clock.difference(), Some(-4_000));
        let (host, service) = (SystemClock.wall().get(), clock.wall().get());
        assert!(host - service >= 39_000_000 && host - service <= 40_000_000, "{host} {service}");
    }

    /// Returns by how many minutes the clock is ahead of the host.
    fn ahead(clock: &ServiceClock) -> i64 {
        let (host, service) = (SystemClock.wall().get(), clock.wall().get());
        let seconds = (i128::from(service) - i128::from(host)).div_euclid(10_000_000);
        (seconds + 30).div_euclid(60).try_into().expect("some minutes")
    }

    #[test]
    fn a_jump_needs_the_answers_to_two_requests() {
        const HOUR: i64 = 3_600_000;
        // An hour later, then an hour earlier than the host.
        for (sent, minutes) in [(-HOUR, 60), (HOUR, -60)] {
            let clock = ServiceClock::default();
            // The answer of a cache comes twice. The earlier of the two times is shown meanwhile.
            for request in ["1", "1"] {
                note(&clock, request, sent);
                assert_eq!(ahead(&clock), minutes.min(0), "{sent}");
            }
            // A request is signed by the last answer.
            let latest = unix(clock.latest()) - unix(SystemTime::now());
            assert!((latest + sent).abs() < 2_000, "{latest}");
            note(&clock, "2", sent);
            assert_eq!(ahead(&clock), minutes, "{sent}");
            // An answer that agrees with the correction takes back the doubt of another one.
            note(&clock, "3", 0);
            note(&clock, "4", sent);
            note(&clock, "5", 0);
            assert_eq!(ahead(&clock), minutes.min(0), "{sent}");
            note(&clock, "6", 0);
            assert_eq!(ahead(&clock), 0, "{sent}");
        }
    }

    #[test]
    fn only_the_service_shows_its_clock() {
        let dated = |headers: &[(&'static str, &'static str)]| {
            let headers = headers
                .iter()
                .map(|(name, value)| (reqwest::header::HeaderName::from_static(name), HeaderValue::from_static(value)));
            Dated::of(&headers.collect())
        };
        let (date, id) = (("date", DATE), ("x-ms-request-id", "17"));
        let found = dated(&[date, id]).expect("the service's answer");
        for (signed, is_far) in [
            ("Thu, 28 May 2026 09:15:30 GMT", true),
            ("Thu, 28 May 2026 09:44:30 GMT", true),
            ("Thu, 28 May 2026 09:29:00 GMT", false),
            ("yesterday", false),
        ] {
            assert_eq!(found.is_far_from(&HeaderValue::from_static(signed)), is_far, "{signed}");
        }
        for other in
            [&[date][..], &[id], &[date, ("x-ms-request-id", "")], &[date, id, ("age", "0")], &[("date", "x"), id]]
        {
            assert!(dated(other).is_none(), "{other:?}");
        }
    }
}
