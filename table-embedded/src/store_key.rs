//! A row's key in the file: `fix(PartitionKey) 0x00 fix(RowKey)`.
//!
//! `fix` is UTF-8 in which the lead bytes of U+E000 to U+FFFF, 0xEE and 0xEF, become 0xFE and 0xFF. They are then above
//! the lead bytes of the characters after U+FFFF, so the order of the bytes is the order of the UTF-16 units, which is
//! the service's order. No key contains U+0000, so the delimiter between the two keys is below every byte that could
//! continue a longer partition key.

use std::{borrow::Cow, ops::Bound};

use table_store::{
    backend::{Continuation, KeyRange, Partitions, Scan},
    unstable::text,
};

/// Delimiter of the two keys, which is below every character that a key may contain.
const DELIMITER: u8 = 0x00;
/// Byte above `DELIMITER`, and still below every character that a key may contain.
const PAST_DELIMITER: u8 = 0x01;

/// Returns the key of a row.
pub(super) fn encode(partition_key: &str, row_key: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(partition_key.len() + 1 + row_key.len());
    encode_into(&mut key, partition_key, row_key);
    key
}

/// Memory for the key of one row: on the stack, unless the key is long.
pub(super) struct KeySpace {
    short: [u8; 128],
    long: Vec<u8>,
}

impl KeySpace {
    pub(super) const fn new() -> Self {
        Self { short: [0; 128], long: Vec::new() }
    }

    /// Returns the key of a row.
    pub(super) fn encode(&mut self, partition_key: &str, row_key: &str) -> &[u8] {
        let (partition, row) = (partition_key.as_bytes(), row_key.as_bytes());
        let length = partition.len() + 1 + row.len();
        let Some(key) = self.short.get_mut(..length) else {
            encode_into(&mut self.long, partition_key, row_key);
            return &self.long;
        };
        key[..partition.len()].copy_from_slice(partition);
        key[partition.len()] = DELIMITER;
        key[partition.len() + 1..].copy_from_slice(row);
        fix(key);
        key
    }
}

/// Appends the key of a row to `keys`.
pub(super) fn encode_into(keys: &mut Vec<u8>, partition_key: &str, row_key: &str) {
    let begin = keys.len();
    keys.extend_from_slice(partition_key.as_bytes());
    keys.push(DELIMITER);
    keys.extend_from_slice(row_key.as_bytes());
    fix(&mut keys[begin..]);
}

/// Returns the two keys of a row; `None` if [`encode`] did not write the bytes.
pub(super) fn decode(key: &[u8]) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
    let delimiter = key.iter().position(|byte| *byte == DELIMITER)?;
    Some((unfix(&key[..delimiter])?, unfix(&key[delimiter + 1..])?))
}

fn fix(text: &mut [u8]) {
    if text.is_ascii() {
        return;
    }
    for byte in text {
        if let 0xEE | 0xEF = *byte {
            *byte += 0x10;
        }
    }
}

fn unfix(bytes: &[u8]) -> Option<Cow<'_, str>> {
    // 0xFE and 0xFF do not occur in UTF-8.
    if let Some(text) = text(bytes) {
        return Some(Cow::Borrowed(text));
    }
    let text = bytes.iter().map(|byte| if *byte >= 0xFE { byte - 0x10 } else { *byte }).collect();
    String::from_utf8(text).ok().map(Cow::Owned)
}

/// The two ends of a range of stored keys.
pub(super) type StoreKeyRange<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// Range of the stored keys that a scan reads.
#[derive(Debug)]
pub(super) struct StoreRange<'a> {
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    /// Key of the partition if there is only one. It need not be read from each row.
    partition: Option<&'a str>,
}

impl<'a> StoreRange<'a> {
    /// Returns the keys of a scan, from its beginning or after the last row of a page.
    pub(super) fn new(scan: &'a Scan, from: Option<&Continuation>) -> Self {
        let (lower, upper, partition) = match &scan.partitions {
            Partitions::One(partition_key) => {
                let row = |row_key: &String| encode(partition_key, row_key);
                let lower = match &scan.rows.from {
                    Bound::Unbounded => Bound::Included(encode(partition_key, "")),
                    bound => bound.as_ref().map(row),
                };
                let upper = match &scan.rows.to {
                    Bound::Unbounded => Bound::Excluded(past_partition(partition_key)),
                    bound => bound.as_ref().map(row),
                };
                (lower, upper, Some(partition_key.as_str()))
            }
            Partitions::Range(KeyRange { from, to }) => {
                let lower = match from {
                    Bound::Included(first) => Bound::Included(encode(first, "")),
                    Bound::Excluded(before) => Bound::Included(past_partition(before)),
                    Bound::Unbounded => Bound::Unbounded,
                };
                let upper = match to {
                    Bound::Included(last) => Bound::Excluded(past_partition(last)),
                    Bound::Excluded(after) => Bound::Excluded(encode(after, "")),
                    Bound::Unbounded => Bound::Unbounded,
                };
                (lower, upper, None)
            }
        };
        let mut range = Self { lower, upper, partition };
        if let Some(Continuation { partition_key, row_key }) = from {
            let key = encode(partition_key, row_key.as_deref().unwrap_or_default());
            let below = match &range.lower {
                Bound::Unbounded => true,
                Bound::Included(lower) | Bound::Excluded(lower) => *lower <= key,
            };
            if below {
                range.lower = if row_key.is_some() { Bound::Excluded(key) } else { Bound::Included(key) };
            }
        }
        range
    }

    /// Returns the range for `redb`; `None` if no key can be in it, for example because its ends are swapped.
    pub(super) fn bounds(&self) -> Option<StoreKeyRange<'_>> {
        use Bound::{Excluded, Included};
        let holds = match (&self.lower, &self.upper) {
            (Included(lower), Included(upper)) => lower <= upper,
            (Included(lower) | Excluded(lower), Included(upper) | Excluded(upper)) => lower < upper,
            _ => true,
        };
        holds.then(|| (self.lower.as_ref().map(Vec::as_slice), self.upper.as_ref().map(Vec::as_slice)))
    }

    /// Returns the two keys of a row of this range.
    pub(super) fn decode<'k>(&'k self, key: &'k [u8]) -> Option<(Cow<'k, str>, Cow<'k, str>)> {
        let Some(partition) = self.partition else { return decode(key) };
        // `fix` keeps the length, so the row key begins at the same position in every row of the partition.
        let row_key = key.get(partition.len() + 1..)?;
        Some((Cow::Borrowed(partition), unfix(row_key)?))
    }
}

/// Returns the first key after all keys of the partition.
fn past_partition(partition_key: &str) -> Vec<u8> {
    let mut key = encode(partition_key, "");
    if let Some(delimiter) = key.last_mut() {
        *delimiter = PAST_DELIMITER;
    }
    key
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use table_store::unstable::limits::forbidden_in_keys;

    use super::*;

    /// Returns keys with characters whose order in UTF-8 differs from their order in UTF-16.
    pub(crate) fn key() -> impl Strategy<Value = String> {
        let corners = [' ', '!', '0', 'a', '~', '\u{A0}', 'é', '\u{7FF}', '\u{800}', '\u{D7FF}']
            .into_iter()
            .chain(['\u{E000}', '\u{EFFF}', '\u{F000}', '\u{FFFF}', '\u{10000}', '\u{3FFFF}', '\u{10FFFF}'])
            .collect::<Vec<_>>();
        let legal = any::<char>().prop_filter("legal in keys", |character| !forbidden_in_keys(*character));
        prop::collection::vec(prop_oneof![3 => prop::sample::select(corners), 1 => legal], 0..4)
            .prop_map(String::from_iter)
    }

    depth::laws! {
        20_000;

        fn bytes_are_in_the_order_of_utf16_units(left in (key(), key()), right in (key(), key())) {
            let units = |(partition, row): &(String, String)| {
                (partition.encode_utf16().collect::<Vec<_>>(), row.encode_utf16().collect::<Vec<_>>())
            };
            prop_assert_eq!(encode(&left.0, &left.1).cmp(&encode(&right.0, &right.1)), units(&left).cmp(&units(&right)));
        }

        fn keys_read_back(partition in key(), row in key()) {
            let stored = encode(&partition, &row);
            for partition in [partition.clone(), partition.repeat(50)] {
                let mut space = KeySpace::new();
                prop_assert_eq!(space.encode(&partition, &row), encode(&partition, &row));
            }
            let (found_partition, found_row) = decode(&stored).expect("what was written");
            prop_assert_eq!((&*found_partition, &*found_row), (&*partition, &*row));
        }

        fn a_partition_ends_before_the_next_one(partition in key(), row in key(), other in key()) {
            let (stored, past) = (encode(&other, &row), past_partition(&partition));
            let within = stored >= encode(&partition, "") && stored < past;
            prop_assert_eq!(within, partition == other);
        }

        fn any_bytes_are_read_or_refused(bytes in any::<Vec<u8>>()) {
            let _ = decode(&bytes);
        }
    }
}
