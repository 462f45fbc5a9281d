//! Case folding, character by character, with the crate's own tables.
//!
//! Folding never depends on the context of a character, so that a prefix of a text folds to a prefix of the folded
//! text: `ΟΔΟΣ` becomes `οδοσ`, although a final `σ` is usually written `ς`.

mod tables;

use tables::FoldRun;

/// The result of folding a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Folded {
    One(char),
    Many(&'static str),
}

/// Returns the lower case of a character.
#[inline]
pub(super) fn lower(character: char) -> Folded {
    if character.is_ascii() {
        return Folded::One(character.to_ascii_lowercase());
    }
    fold(character, &tables::LOWER, &tables::LOWER_MANY)
}

/// Returns the upper case of a character.
#[inline]
pub(super) fn upper(character: char) -> Folded {
    if character.is_ascii() {
        return Folded::One(character.to_ascii_uppercase());
    }
    fold(character, &tables::UPPER, &tables::UPPER_MANY)
}

fn fold(character: char, runs: &[FoldRun], many: &[(char, &'static str)]) -> Folded {
    let code = u32::from(character);
    let run = runs.get(runs.partition_point(|(_, last, ..)| *last < code));
    if let Some((first, _, step, distance)) = run.copied()
        && first <= code
        && (code - first).is_multiple_of(step)
        && let Some(folded) = code.checked_add_signed(distance).and_then(char::from_u32)
    {
        return Folded::One(folded);
    }
    match many.binary_search_by_key(&character, |(from, _)| *from) {
        Ok(at) => Folded::Many(many[at].1),
        Err(_) => Folded::One(character),
    }
}

#[cfg(test)]
mod tests {
    use twox_hash::XxHash3_64;

    use super::*;

    fn hash(fold: fn(char) -> Folded) -> u64 {
        let folded: String = ('\0'..=char::MAX)
            .flat_map(|character| {
                let folded = match fold(character) {
                    Folded::One(one) => one.to_string(),
                    Folded::Many(many) => many.to_owned(),
                };
                [folded, "\n".to_owned()]
            })
            .collect();
        XxHash3_64::oneshot(folded.as_bytes())
    }

    /// Stored keys depend on every entry of the tables: a changed hash means that stored data is lost.
    #[test]
    fn the_tables_are_frozen() {
        assert_eq!(hash(lower), 2_891_267_828_194_603_479, "lower");
        assert_eq!(hash(upper), 9_775_737_195_539_497_729, "upper");
    }

    #[test]
    fn folding_does_not_depend_on_context() {
        let fold = |text: &str, fold: fn(char) -> Folded| -> String {
            let folded = |character| match fold(character) {
                Folded::One(one) => one.to_string(),
                Folded::Many(many) => many.to_owned(),
            };
            text.chars().map(folded).collect()
        };
        assert_eq!(fold("ΟΔΟΣ", lower), "οδοσ");
        assert_eq!(fold("Straße", upper), "STRASSE");
        assert_eq!(fold("Straße", lower), "straße");
        assert_eq!(fold("İ", lower), "i\u{307}");
    }
}
