//! Text comparisons for constants; `str` has no `const` functions for them yet.

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
