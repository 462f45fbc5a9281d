//! Splitting of stored keys at the delimiters between their parts.

use super::info::PartInfo;

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
    key: &'k str,
    parts: &'p [PartInfo],
    separator: Option<char>,
) -> Result<&'k str, (&'p PartInfo, &'k str)> {
    parts.iter().try_fold(key, |key, part| split(key, part.delimiter(separator)).1.ok_or((part, key)))
}
