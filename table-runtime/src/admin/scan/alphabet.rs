//! The distance of keys, estimated by the characters that keys were seen to have.
//!
//! A key counts as a fraction: its characters are the digits of a number below one, and the digits are the places of the
//! characters among those that were seen. So the middle between two padded numbers is a padded number, and the middle
//! between two GUIDs is about halfway. An estimate that is wrong makes a scan ask more often, and changes no result.

use table_store::unstable::order;

/// Number of characters after the first difference that count.
const DIGITS: usize = 8;

/// The characters of keys, in the order of keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Alphabet(Vec<char>);

impl Alphabet {
    /// Adds the characters of a key.
    pub(super) fn learn(&mut self, key: &str) {
        for character in key.chars() {
            if let Err(at) = self.find(character) {
                self.0.insert(at, character);
            }
        }
    }

    /// Adds all characters of the kinds that a key has: digits, small and capital letters.
    pub(super) fn learn_kinds(&mut self, key: &str) {
        for kind in ["0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"] {
            if key.contains(|character| kind.contains(character)) {
                self.learn(kind);
            }
        }
    }

    fn find(&self, character: char) -> Result<usize, usize> {
        let text = |character: char| {
            let mut bytes = [0; 4];
            character.encode_utf8(&mut bytes).to_owned()
        };
        let sought = text(character);
        self.0.binary_search_by(|known| match (known.is_ascii(), character.is_ascii()) {
            (true, true) => known.cmp(&character),
            _ => order::compare(&text(*known), &sought),
        })
    }

    /// Returns the number of digits: one more than the characters, because a key may end.
    #[allow(clippy::cast_precision_loss, reason = "there are at most 1,112,064 characters")]
    fn base(&self) -> f64 {
        (self.0.len() + 1) as f64
    }

    /// Returns the fraction of a text.
    #[allow(clippy::cast_precision_loss, reason = "there are at most 1,112,064 characters")]
    fn fraction(&self, text: &str) -> f64 {
        let base = self.base();
        let (mut fraction, mut weight) = (0.0, 1.0);
        for character in text.chars().take(DIGITS) {
            weight /= base;
            let (Ok(at) | Err(at)) = self.find(character);
            fraction += (at + 1) as f64 * weight;
        }
        fraction
    }

    /// Returns the common beginning of two keys, and the fractions of their ends.
    fn ends<'k>(&self, from: &'k str, to: Option<&str>) -> (&'k str, f64, f64) {
        let Some(to) = to else { return ("", self.fraction(from), 1.0) };
        let common: usize =
            from.chars().zip(to.chars()).take_while(|(own, other)| own == other).map(|(own, _)| own.len_utf8()).sum();
        let (beginning, end) = from.split_at(common);
        (beginning, self.fraction(end), self.fraction(&to[common..]))
    }

    /// Returns the distance between two keys; `to` is `None` for the end of all keys.
    pub(super) fn distance(&self, from: &str, to: Option<&str>) -> f64 {
        let (beginning, from, to) = self.ends(from, to);
        let common = i32::try_from(beginning.chars().count()).unwrap_or(i32::MAX);
        (to - from).max(0.0) * self.base().powi(-common)
    }

    /// Returns a key at a share of the way between two others, and different from both; `None` if none is found.
    pub(super) fn between(&self, from: &str, to: Option<&str>, share: f64) -> Option<String> {
        let (beginning, begin, end) = self.ends(from, to);
        let mut fraction = begin + (end - begin) * share;
        let mut key = beginning.to_owned();
        for _ in 0..DIGITS {
            fraction *= self.base();
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is below the number of digits"
            )]
            let digit = fraction.max(0.0) as usize;
            let Some(character) = digit.checked_sub(1).and_then(|at| self.0.get(at)) else { break };
            key.push(*character);
            fraction = fraction.fract();
        }
        let is_between = order::compare(from, &key).is_lt() && to.is_none_or(|to| order::compare(&key, to).is_lt());
        is_between.then_some(key)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(keys: &[&str]) -> Alphabet {
        let mut alphabet = Alphabet::default();
        for key in keys {
            alphabet.learn(key);
        }
        alphabet
    }

    #[test]
    fn the_middle_of_padded_numbers_is_a_padded_number() {
        let digits = of(&["0123456789"]);
        assert_eq!(digits.between("0000", Some("0010"), 0.5).as_deref(), Some("0005444444"));
        // One of ten digits, and one of a hundred pairs of them.
        let (near, far) = (digits.distance("0001", Some("0002")), digits.distance("0001", Some("0011")));
        assert!(10.0 * near < far && far < 12.0 * near, "{near} {far}");
    }

    #[test]
    fn characters_are_in_the_order_of_keys() {
        assert_eq!(of(&["\u{FFFF}b\u{10000}a"]).0, ['a', 'b', '\u{10000}', '\u{FFFF}']);
    }

    depth::laws! {
        1024;

        fn a_key_between_is_between((from, to) in ("[a-e~é\u{FFFF}\u{10000}]{0,6}", "[a-e~é\u{FFFF}\u{10000}]{0,6}"), share in 0.0..1.0) {
            let alphabet = of(&[&from, &to]);
            for to in [None, Some(&*to)] {
                if let Some(key) = alphabet.between(&from, to, share) {
                    prop_assert!(order::compare(&from, &key).is_lt());
                    prop_assert!(to.is_none_or(|to| order::compare(&key, to).is_lt()));
                }
                prop_assert!(alphabet.distance(&from, to) >= 0.0);
            }
        }
    }
}
