//! Values in forms that the service does not write, but other writers do. A value is read only if exactly one meaning
//! is possible.

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use crate::{Guid, Ticks};

/// Reads a time with or without seconds and their fraction. The time is in UTC (`Z`, or no zone, since the service has
/// no other zone) or at an offset such as `+02:00`.
pub fn date_time(text: &str) -> Option<Ticks> {
    const PER_MINUTE: i64 = 600_000_000;
    if let Ok(ticks) = text.parse() {
        return Some(ticks);
    }
    let (local, minutes) = match text.strip_suffix(['Z', 'z']) {
        Some(local) => (local, 0),
        None => split_offset(text).unwrap_or((text, 0)),
    };
    let seconds = if local.len() == "2010-05-28T00:00".len() { ":00Z" } else { "Z" };
    let ticks: Ticks = format!("{local}{seconds}").parse().ok()?;
    let utc = ticks.get().cast_signed() - minutes * PER_MINUTE;
    Ticks::new(u64::try_from(utc).ok()?)
}

/// Splits off an offset such as `-07:30`, and returns the rest and the offset in minutes.
fn split_offset(text: &str) -> Option<(&str, i64)> {
    let (local, offset) = text.split_at_checked(text.len().checked_sub("+00:00".len())?)?;
    let &[sign, h1, h2, b':', m1, m2] = offset.as_bytes() else { return None };
    let sign = match sign {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digit = |byte: u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
    let (hours, minutes) = (digit(h1)? * 10 + digit(h2)?, digit(m1)? * 10 + digit(m2)?);
    (hours <= 14 && minutes < 60).then_some((local, sign * (hours * 60 + minutes)))
}

/// Reads a GUID with or without hyphens, bare or in braces or parentheses, in upper or lower case.
pub(crate) fn guid(text: &str) -> Option<Guid> {
    let bare = |open, close| text.strip_prefix(open)?.strip_suffix(close);
    let text = bare('{', '}').or_else(|| bare('(', ')')).unwrap_or(text);
    if let Ok(guid) = text.parse() {
        return Some(guid);
    }
    if text.len() != 32 || !text.is_ascii() {
        return None;
    }
    let hyphens = [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]].join("-");
    hyphens.parse().ok()
}

/// Reads a number that is written as a text. A number that is not finite is read only from its name.
pub(crate) fn double(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" | "INF" => Some(f64::INFINITY),
        "-Infinity" | "-INF" => Some(f64::NEG_INFINITY),
        text => text.parse().ok().filter(|number: &f64| number.is_finite()),
    }
}

/// Reads a whole number that is written with a point or an exponent, if the double represents no other whole number.
#[allow(clippy::cast_possible_truncation, reason = "the number is whole and in range")]
pub(crate) fn whole(number: f64) -> Option<i64> {
    /// Limit below which each whole number has a double of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (number.fract() == 0.0 && number.abs() < EXACT).then_some(number as i64)
}

/// Reads `true` or `false` that is written as a text, in upper or lower case.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    let is = |name| text.eq_ignore_ascii_case(name);
    if is("true") || is("false") { Some(is("true")) } else { None }
}

/// Reads base64, with or without padding.
pub(crate) fn binary(text: &str) -> Option<Vec<u8>> {
    const ENGINE: GeneralPurpose = GeneralPurpose::new(
        &alphabet::STANDARD,
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    ENGINE.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_converted_to_utc() {
        for (text, expected) in [
            ("2010-05-28T00:00:00.1234567Z", Some("2010-05-28T00:00:00.1234567Z")),
            ("2010-05-28T00:00:00.12+01:30", Some("2010-05-27T22:30:00.1200000Z")),
            ("2010-05-28T00:00-14:00", Some("2010-05-28T14:00:00.0000000Z")),
            ("2010-05-28T00:00:00", Some("2010-05-28T00:00:00.0000000Z")),
            ("2010-05-28t00:00", Some("2010-05-28T00:00:00.0000000Z")),
            ("0001-01-01T01:00:00+01:00", Some("0001-01-01T00:00:00.0000000Z")),
            ("0001-01-01T00:59:00+01:00", None),
            ("9999-12-31T23:59:59-00:01", None),
            ("2010-05-28T00:00:00+15:00", None),
            ("2010-05-28T00:00:00+01:60", None),
            ("2010-05-28T00:00:00Z+01:00", None),
            ("2010-05-28T00:00:00+01:00Z", None),
            ("2010-05-28T00:00:00+1:00", None),
            ("2010-05-28", None),
            ("+00:00", None),
            ("ä00:00", None),
            ("", None),
        ] {
            assert_eq!(date_time(text).map(|ticks| ticks.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn guids_are_read_in_every_form_of_dotnet() {
        let expected = "c9da6455-213d-42c9-9a79-3e9149a57833".parse().ok();
        for text in [
            "c9da6455-213d-42c9-9a79-3e9149a57833",
            "C9DA6455213D42C99A793E9149A57833",
            "{c9da6455-213d-42c9-9a79-3e9149a57833}",
            "(c9da6455-213d-42c9-9a79-3e9149a57833)",
        ] {
            assert_eq!(guid(text), expected, "{text}");
        }
        for text in
            ["", "{}", "(c9da6455-213d-42c9-9a79-3e9149a57833}", "ääääääääääääääää", "c9da6455213d42c99a793e9149a5783"]
        {
            assert_eq!(guid(text), None, "{text}");
        }
    }

    #[test]
    fn values_with_one_possible_meaning_are_read() {
        assert_eq!((double("5"), double("INF")), (Some(5.0), Some(f64::INFINITY)));
        assert_eq!((double("1e999"), double("infinity"), double("nan"), double("")), (None, None, None, None));
        assert_eq!((whole(-5.0), whole(5.5), whole(f64::NAN), whole(1e300)), (Some(-5), None, None, None));
        assert_eq!(
            (whole(9_007_199_254_740_991.0), whole(9_007_199_254_740_992.0)),
            (Some(9_007_199_254_740_991), None)
        );
        assert_eq!((boolean("True"), boolean("false"), boolean("1")), (Some(true), Some(false), None));
        assert_eq!(
            (binary("/w=="), binary("/w"), binary("/x=="), binary("_w")),
            (Some(vec![255]), Some(vec![255]), None, None)
        );
    }
}
