//! Splitting of stored keys at the delimiters between their parts.

use super::info::{LayoutInfo, PartInfo};

/// Returns the delimiter between this part of a key and the next: the layout's separator if it has one, otherwise the
/// delimiter of the part's type.
#[inline]
pub fn delimiter(layout: &LayoutInfo, part: &PartInfo) -> char {
    layout.separator.unwrap_or(if part.self_delimiting { '_' } else { ' ' })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Example, PartType};

    #[test]
    fn a_part_without_its_delimiter_has_the_rest_of_the_key() {
        let part = |kind| PartType { kind, self_delimiting: kind != "text", example: Example::default() };
        let parts = ["text", "u32", "text"].map(|kind| part(kind).of(kind, "plain", false));
        let split = |layout: &LayoutInfo, key| texts(layout, &parts, key).map(|(_, text, _)| text).collect::<Vec<_>>();
        let layout = LayoutInfo::default();
        assert_eq!(split(&layout, "a 1_b_c d"), [Ok("a"), Ok("1"), Ok("b_c d")]);
        assert_eq!(split(&layout, "a 1 b"), [Ok("a"), Err("1 b"), Err("")]);
        assert_eq!(split(&layout, "a"), [Err("a"), Err(""), Err("")]);
        let separated = LayoutInfo { separator: Some('+'), ..LayoutInfo::default() };
        assert_eq!(split(&separated, "a 1+2_+b"), [Ok("a 1"), Ok("2_"), Ok("b")]);
    }
}
