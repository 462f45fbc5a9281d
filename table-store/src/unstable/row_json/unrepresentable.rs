//! JSON values that no Rust type can hold: texts with half a character (a lone UTF-16 surrogate, `\ud800`), which
//! writers in other languages may store, and numbers outside the range of a double. `serde_json` refuses a whole answer
//! because of one such value.
//!
//! The values are searched for only after such an error. Each one is then replaced by an object, so that the reader
//! knows which property it belongs to.

use std::fmt::Write;

const SURROGATE: &str = "a text with a lone surrogate, half a character";
const TOO_LARGE: &str = "a number beyond Edm.Double";

/// Returns the problem that `name` describes, if it is the member's name in the object of a [marked](mark) value.
pub(super) fn marked(name: &str) -> Option<&'static str> {
    [SURROGATE, TOO_LARGE, super::NO_DOUBLE].into_iter().find(|what| *what == name)
}

/// Replaces each such value by an object with its problem and, as far as possible, its text. In names, halves of
/// characters are replaced by U+FFFD. Returns `None` if there are no such values.
pub(super) fn mark(json: &str) -> Option<String> {
    let mut marked = String::with_capacity(json.len() + 128);
    let (mut rest, mut any) = (json, false);
    while let Some(at) = rest.find(|character: char| matches!(character, '"' | '-' | '0'..='9')) {
        let (before, token) = rest.split_at(at);
        marked.push_str(before);
        let (token, after) = token.split_at(if token.starts_with('"') { text_end(token) } else { number_end(token) });
        rest = after;
        if !token.starts_with('"') {
            let is_whole = token.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
            let problem = if token.parse().is_ok_and(f64::is_infinite) {
                Some(TOO_LARGE)
            } else {
                (is_whole && super::double_of(token).is_none() && token.parse::<i64>().is_err())
                    .then_some(super::NO_DOUBLE)
            };
            match problem {
                // Writing to a `String` never fails.
                Some(problem) => drop(write!(marked, "{{\"{problem}\":\"{token}\"}}")),
                None => marked.push_str(token),
            }
            any |= problem.is_some();
            continue;
        }
        match whole_characters(token) {
            None => marked.push_str(token),
            Some(text) => {
                any = true;
                let is_name = after.trim_start_matches([' ', '\t', '\n', '\r']).starts_with(':');
                let _ = if is_name { write!(marked, "{text}") } else { write!(marked, "{{\"{SURROGATE}\":{text}}}") };
            }
        }
    }
    marked.push_str(rest);
    any.then_some(marked)
}

/// Returns the position after the closing quote of the text that `json` begins with.
fn text_end(json: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in json.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    json.len()
}

fn number_end(json: &str) -> usize {
    json.find(|character: char| !matches!(character, '0'..='9' | '+' | '-' | '.' | 'e' | 'E')).unwrap_or(json.len())
}

/// Returns the text with U+FFFD in place of each lone surrogate; `None` if there are none.
fn whole_characters(text: &str) -> Option<String> {
    let unit = |at: usize| {
        let digits = text.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (mut whole, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(next) = text[at..].find('\\') {
        at += next;
        match (unit(at), unit(at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => at += 12,
            (Some(0xD800..=0xDFFF), _) => {
                whole.push_str(&text[copied..at]);
                whole.push('\u{FFFD}');
                at += 6;
                copied = at;
            }
            (Some(_), _) => at += 6,
            // The escaped character may be a backslash. In valid JSON it is ASCII.
            (None, _) => at = (at + 2).min(text.len()),
        }
        if !text.is_char_boundary(at) {
            return None;
        }
    }
    if copied == 0 {
        return None;
    }
    whole.push_str(&text[copied..]);
    Some(whole)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lone_surrogates_and_too_large_numbers_are_marked() {
        let marked = |json: &str| mark(json).unwrap_or_default();
        let expected = "{\"a\":{\"a text with a lone surrogate, half a character\":\"x\u{FFFD}\"}}";
        assert_eq!(marked(r#"{"a":"x\ud800"}"#), expected);
        assert_eq!(marked(r#"["\udc00\ud834\udd1e\ud834"]"#).matches('\u{FFFD}').count(), 2);
        assert_eq!(marked(r#"{"\ud800" : 1}"#), "{\"\u{FFFD}\" : 1}");
        assert_eq!(marked("[1,-1e400]"), r#"[1,{"a number beyond Edm.Double":"-1e400"}]"#);
        let long = marked("[18446744073709551616,18446744073709551617]");
        assert!(long.starts_with("[18446744073709551616,{\"a whole number that no Edm.Double holds"), "{long}");
        for valid in
            [r#"{"a":"\\ud800"}"#, r#""\ud834\udd1e""#, "1e308", "\"-1e400\"", "", "\"", "\"\\", "\"\\u", "\"\\ä"]
        {
            assert_eq!(mark(valid), None, "{valid}");
        }
    }

    depth::laws! {
        256;

        fn valid_json_is_unchanged_and_any_text_is_accepted(text in any::<String>(), parts in prop::collection::vec(
            prop::sample::select(vec!["\"", "\\", "\\u", "d800", "dc00", "ä", ":", "1e999", "-", "{", "\\ud834\\udd1e"]), 0..12,
        )) {
            let json = serde_json::to_string(&text).unwrap_or_default();
            prop_assert_eq!(mark(&json), None);
            let _ = mark(&parts.concat());
        }
    }
}
