//! Known names: their lists in messages, and suggestions for misspelt ones.

use syn::{Ident, ext::IdentExt as _};

use crate::errors::Errors;

/// Formats names as `` `a`, `b` and `c` ``.
pub(crate) fn list(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// Returns the position of a name among the known names, or reports an error. `noun` is the kind of the names, such as
/// "field".
pub(crate) fn find(ident: &Ident, noun: &str, known: &[&str], errors: &mut Errors) -> Option<usize> {
    let name = ident.unraw().to_string();
    let found = known.iter().position(|other| *other == name);
    if found.is_none() {
        let advice = match nearest(&name, known) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("the {noun}s are {}", list(known)),
        };
        errors.on(ident, format_args!("no {noun} is called `{name}`; {advice}"));
    }
    found
}

/// Returns the known name that the user probably meant: one that differs in a letter, or in a quarter of its letters, or else
/// one that starts with `name`.
pub(crate) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let distance = |other: &str| strsim::damerau_levenshtein(name, other);
    let best = known.iter().copied().min_by_key(|other| distance(other))?;
    let is_near = distance(best) <= (name.len().max(best.len()) / 4).max(1);
    let longer = || known.iter().copied().find(|other| name.len() > 2 && other.starts_with(name));
    is_near.then_some(best).or_else(longer)
}
