//! Texts in constants; `str` and `Cow` have no `const` functions for them yet.

use std::borrow::Cow;

use table_store::unstable::PropertyName;

/// Returns the text.
#[allow(clippy::ptr_arg, reason = "a constant cannot dereference it")]
pub const fn text<'a>(of: &'a Cow<'static, str>) -> &'a str {
    match of {
        Cow::Borrowed(text) => text,
        Cow::Owned(text) => text.as_str(),
    }
}

/// Returns the items of a list.
#[allow(clippy::ptr_arg, reason = "a constant cannot dereference it")]
pub const fn items<'a, T: Clone>(list: &'a Cow<'static, [T]>) -> &'a [T] {
    match list {
        Cow::Borrowed(items) => items,
        Cow::Owned(items) => items.as_slice(),
    }
}

/// Checks whether two texts are the same.
pub const fn same(one: &str, other: &str) -> bool {
    one.len() == other.len() && begins(one, other)
}

/// Checks whether `text` begins with `prefix`.
pub const fn begins(text: &str, prefix: &str) -> bool {
    let (text, prefix) = (text.as_bytes(), prefix.as_bytes());
    if prefix.len() > text.len() {
        return false;
    }
    let mut at = 0;
    while at < prefix.len() {
        if text[at] != prefix[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// Checks whether two names in two pieces are the same.
pub const fn same_names(one: PropertyName<'_>, other: PropertyName<'_>) -> bool {
    if one.length() != other.length() {
        return false;
    }
    let mut at = 0;
    while at < one.length() {
        if byte(one, at) != byte(other, at) {
            return false;
        }
        at += 1;
    }
    true
}

/// Returns a byte of a name.
const fn byte(name: PropertyName<'_>, at: usize) -> u8 {
    let PropertyName { outer, inner } = name;
    if outer.is_empty() {
        inner.as_bytes()[at]
    } else if at < outer.len() {
        outer.as_bytes()[at]
    } else if at == outer.len() {
        b'_'
    } else {
        inner.as_bytes()[at - outer.len() - 1]
    }
}
