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
const JUMP: u64 = 5 * 60 * 1000;
/// The service refuses a signature that is 15 minutes away from its clock. Its answer may be some time on its way. In
/// milliseconds.
const SIGNATURE: u64 = 14 * 60 * 1000;
/// The first moment that a header cannot have, in milliseconds since 1970.
const YEAR_10000: i64 = 253_402_300_800_000;

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
    fn is_far_from(&self, signed: &HeaderValue) -> bool {
        let signed = httpdate::parse_http_date(&headers::text(signed));
        signed.is_ok_and(|signed| unix(self.date).abs_diff(unix(signed)) >= SIGNATURE)
    }
}

/// The clock of the host, whose time of day is corrected by the `Date` of the service's answers. All programs of one
/// account then have about the same time, whatever the clocks of their hosts show.
///
/// An answer shows that the service's clock was between its `Date` and a second more at some moment between the request
/// and the answer. As long as the present correction agrees with that, it stays. A correction by minutes needs the answers
/// to two requests. Between them the earlier of the two times decides what has expired.
#[derive(Debug, Default)]
pub(super) struct ServiceClock(Mutex<Correction>);

#[derive(Debug, Default)]
struct Correction {
    /// Number of milliseconds by which the service is ahead; `None` before the first answer.
    difference: Option<i64>,
    /// What one answer has shown alone.
    doubtful: Option<Doubtful>,
    /// Number of milliseconds by which the time of signatures is ahead of the host's.
    signing: i64,
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

    /// Returns the time at which a request is signed: that of the host, unless the service has refused it.
    pub(super) fn signing_time(&self) -> SystemTime {
        let (host, signing) = (unix(SystemTime::now()), self.lock().signing);
        // A header has the years 1970 to 9999.
        let time = host.checked_add(signing).filter(|time| (0..YEAR_10000).contains(time)).unwrap_or(host.max(0));
        SystemTime::UNIX_EPOCH + Duration::from_millis(time.unsigned_abs())
    }

    /// Notes that the service has refused the signature of this time with 403. Returns true if the time explains it: further
    /// requests are signed by the service's clock. If it does not, they are signed by the host's again.
    pub(super) fn note_refusal(&self, answer: &Dated, signed: &HeaderValue) -> bool {
        let is_mistimed = answer.is_far_from(signed);
        self.lock().signing = if is_mistimed { unix(answer.date) - unix(SystemTime::now()) } else { 0 };
        is_mistimed
    }

    /// Notes the answer to a request that was sent at `sent`.
    pub(super) fn note(&self, answer: &Dated, sent: SystemTime, received: SystemTime) {
        let (date, sent, received) = (unix(answer.date), unix(sent), unix(received));
        // The host's clock may have been set back meanwhile.
        let (least, most) = (date - received, (date + RESOLUTION - sent).max(date - received));
        let near = |before: i64| Some(before.clamp(least, most)).filter(|now| now.abs_diff(before) <= JUMP);
        let mut correction = self.lock();
        let present = correction.difference.unwrap_or_default();
        let confirmed = correction.doubtful.as_ref().filter(|doubtful| doubtful.request != answer.request);
        let confirmed = confirmed.and_then(|doubtful| near(doubtful.difference));
        let known = near(present).or(confirmed);
        correction.doubtful = known
            .is_none()
            .then(|| Doubtful { difference: present.clamp(least, most), request: answer.request.clone() });
        correction.difference = known.or(correction.difference);
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

/// Returns the time of the host and so many milliseconds more.
fn shifted(difference: i64) -> Ticks {
    let host = SystemClock.wall();
    Ticks::new(host.get().saturating_add_signed(difference.saturating_mul(10_000))).unwrap_or(host)
}

impl Clock for ServiceClock {
    fn monotonic(&self) -> Duration {
        SystemClock.monotonic()
    }

    fn wall(&self) -> Ticks {
        shifted(self.lock().difference.unwrap_or_default())
    }

    fn earliest(&self) -> Ticks {
        let correction = self.lock();
        let present = correction.difference.unwrap_or_default();
        shifted(correction.doubtful.as_ref().map_or(present, |doubtful| doubtful.difference.min(present)))
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

    /// Returns by how many minutes the clock is ahead of the host, and the earliest time.
    fn ahead(clock: &ServiceClock) -> (i64, i64) {
        let host = SystemClock.wall().get();
        let minutes =
            |time: Ticks| (time.get().cast_signed() - host.cast_signed() + 300_000_000).div_euclid(600_000_000);
        (minutes(clock.wall()), minutes(clock.earliest()))
    }

    #[test]
    fn a_jump_needs_the_answers_to_two_requests() {
        const HOUR: i64 = 3_600_000;
        // An hour later, then an hour earlier than the host.
        for (sent, minutes) in [(-HOUR, 60), (HOUR, -60)] {
            let clock = ServiceClock::default();
            // The answer of a cache comes twice.
            for request in ["1", "1"] {
                note(&clock, request, sent);
                assert_eq!(ahead(&clock), (0, minutes.min(0)), "{sent}");
            }
            note(&clock, "2", sent);
            assert_eq!(ahead(&clock), (minutes, minutes), "{sent}");
            // An answer that agrees with the correction takes back the doubt of another one.
            note(&clock, "3", 0);
            note(&clock, "4", sent);
            note(&clock, "5", 0);
            assert_eq!(ahead(&clock), (minutes, minutes.min(0)), "{sent}");
            note(&clock, "6", 0);
            assert_eq!(ahead(&clock), (0, 0), "{sent}");
        }
    }

    #[test]
    fn the_time_of_signatures_follows_refusals_alone() {
        let clock = ServiceClock::default();
        let answer = |date: SystemTime| Dated { text: String::new(), date, request: "1".to_owned() };
        let distance = || unix(clock.signing_time()) - unix(SystemTime::now());
        let now = HeaderValue::from_str(&httpdate::fmt_http_date(SystemTime::now())).expect("a header");
        for request in ["1", "2"] {
            note(&clock, request, 3_600_000);
            assert!(distance().abs() < 1_000);
        }
        for hours in [1, 24, 1_000] {
            assert!(clock.note_refusal(&answer(SystemTime::now() + Duration::from_hours(hours)), &now));
            let expected = i64::try_from(hours).expect("some hours") * 3_600_000;
            assert!((distance() - expected).abs() < 1_000, "{hours}");
        }
        // The time was not the reason.
        assert!(!clock.note_refusal(&answer(SystemTime::now()), &now));
        assert!(distance().abs() < 1_000);
        // No date is too far away for a header.
        for date in ["Fri, 31 Dec 9999 23:59:59 GMT", "Thu, 01 Jan 1970 00:00:00 GMT"] {
            let date = httpdate::parse_http_date(date).expect("a date");
            assert!(clock.note_refusal(&answer(date), &now));
            for beyond in [-5_000, 5_000] {
                clock.lock().signing += beyond;
                httpdate::fmt_http_date(clock.signing_time());
            }
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
