//! Splitting of stored keys at the delimiters between their parts.

use super::info::{LayoutInfo, PartInfo};
use crate::key::Escape;

/// Returns the delimiter between this part of a key and the next: the layout's separator if it has one, otherwise the
/// delimiter of the part's type.
#[inline]
pub fn delimiter(layout: &LayoutInfo, part: &PartInfo) -> char {
    layout.separator.unwrap_or(if part.self_delimiting { '_' } else { ' ' })
}

/// Returns the escapes of a part of a key in this layout.
pub fn escape(layout: &LayoutInfo, last: bool) -> Escape {
    // The derive accepts only ASCII punctuation.
    Escape { last, separator: layout.separator.and_then(|separator| u8::try_from(separator).ok()) }
}

/// Returns the text before the first delimiter and the text after it; `None` if the key has no further delimiter.
#[inline]
pub fn split(key: &str, delimiter: char) -> (&str, Option<&str>) {
    match key.split_once(delimiter) {
        Some((part, rest)) => (part, Some(rest)),
        None => (key, None),
    }
}

/// Returns the rest of a key after these parts, each of which ends with its delimiter.
///
/// # Errors
/// The first part without its delimiter, and the text in its place.
pub fn skip<'k, 'p>(
    layout: &LayoutInfo,
    key: &'k str,
    parts: &'p [PartInfo],
) -> Result<&'k str, (&'p PartInfo, &'k str)> {
    parts.iter().try_fold(key, |key, part| split(key, delimiter(layout, part)).1.ok_or((part, key)))
}

/// Returns the parts of a key, each with its text, and with true for the last one. The text of a part without its delimiter is an
/// `Err` with the rest of the key, and so are those of the parts after it, without a text.
pub fn texts<'k, 'p>(
    layout: &LayoutInfo,
    parts: &'p [PartInfo],
    key: &'k str,
) -> impl Iterator<Item = (&'p PartInfo, Result<&'k str, &'k str>, bool)> {
    let mut rest = Ok(key);
    parts.iter().enumerate().map(move |(at, part)| {
        if at + 1 == parts.len() {
            return (part, rest, true);
        }
        let (text, after) = match rest.map(|rest| split(rest, delimiter(layout, part))) {
            Ok((text, Some(after))) => (Ok(text), Ok(after)),
            Ok((text, None)) => (Err(text), Err("")),
            Err(rest) => (Err(rest), Err(rest)),
        };
        rest = after;
        (part, text, false)
    })
}
