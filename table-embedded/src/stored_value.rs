//! A row's value in the file: a version byte, the time stamp, the unchanged bytes of the properties, and a checksum.
//!
//! The checksum covers everything before it and the row's key, so that a value cannot be mistaken for the value of
//! another row. Every read of a row compares the checksum first.

use table_store::{DamagedProperties, Properties, PropertiesRef, Ticks};
use twox_hash::XxHash3_64;

/// First byte of a value: the version of its encoding.
const VERSION: u8 = 3;
/// Length of the version byte and the time stamp's ticks, which begin with the highest byte.
const HEADER: usize = 1 + size_of::<u64>();
/// Length of the checksum, which ends a value.
const CHECKSUM: usize = size_of::<u64>();
/// Number of bytes of a value in addition to its properties.
pub(super) const OVERHEAD: usize = HEADER + CHECKSUM;

/// A row's value whose checksum matched.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredValue<'a> {
    /// Time of the write, which is also the `ETag`.
    pub(super) timestamp: Ticks,
    /// Bytes of the properties, which are not checked yet: see [`properties`](Self::properties).
    bytes: &'a [u8],
}

impl<'a> StoredValue<'a> {
    /// Reads the value of the row with this key.
    pub(super) fn read(key: &[u8], value: &'a [u8]) -> Result<Self, DamagedProperties> {
        let (value, found) = value.split_last_chunk::<CHECKSUM>().ok_or(DamagedProperties)?;
        if checksum(key, value) != u64::from_le_bytes(*found) {
            return Err(DamagedProperties);
        }
        let (header, bytes) = value.split_first_chunk::<HEADER>().ok_or(DamagedProperties)?;
        let [VERSION, ticks @ ..] = header else { return Err(DamagedProperties) };
        let timestamp = Ticks::new(u64::from_be_bytes(*ticks)).ok_or(DamagedProperties)?;
        Ok(Self { timestamp, bytes })
    }

    /// Returns the properties. Reads all of them, so that damage is found here and not mistaken for their end.
    pub(super) fn properties(self) -> Result<PropertiesRef<'a>, DamagedProperties> {
        PropertiesRef::from_bytes(self.bytes)
    }

    /// Returns the unchecked properties, for a caller that detects damage while it reads them.
    pub(super) fn unread(self) -> PropertiesRef<'a> {
        PropertiesRef::trusted(self.bytes)
    }

    /// Returns only the named properties. Copies them into `kept`, whose memory is reused, and reads all properties, so
    /// that damage is found here.
    pub(super) fn select<'k>(
        self,
        names: &[&str],
        kept: &'k mut Vec<u8>,
    ) -> Result<PropertiesRef<'k>, DamagedProperties> {
        kept.clear();
        let mut rest = PropertiesRef::trusted(self.bytes);
        loop {
            let from = rest.as_bytes();
            let Some((name, _)) = rest.try_next()? else { break };
            if names.contains(&name) {
                kept.extend_from_slice(&from[..from.len() - rest.as_bytes().len()]);
            }
        }
        Ok(PropertiesRef::trusted(kept))
    }
}

fn checksum(key: &[u8], value: &[u8]) -> u64 {
    XxHash3_64::oneshot(value) ^ XxHash3_64::oneshot(key).rotate_left(32)
}

/// Appends a value to `values`. Its time stamp and checksum are [set](stamp) when it is written.
pub(super) fn encode_into(values: &mut Vec<u8>, properties: &Properties) {
    values.reserve(OVERHEAD + properties.as_bytes().len());
    values.push(VERSION);
    values.extend_from_slice(&[0; HEADER - 1]);
    values.extend_from_slice(properties.as_bytes());
    values.extend_from_slice(&[0; CHECKSUM]);
}

/// Sets the time stamp and the checksum of the value of the row with this key.
pub(super) fn stamp(key: &[u8], value: &mut [u8], timestamp: Ticks) {
    let Some((value, sum)) = value.split_last_chunk_mut::<CHECKSUM>() else { return };
    if let Some(ticks) = value.get_mut(1..HEADER) {
        ticks.copy_from_slice(&timestamp.get().to_be_bytes());
    }
    *sum = checksum(key, value).to_le_bytes();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use table_store::{Value, ValueRef};

    use super::*;

    #[test]
    fn a_value_reads_back() {
        let properties: Properties =
            [("A", Value::Int32(1)), ("B", Value::String("x".into())), ("C", Value::Boolean(true))]
                .into_iter()
                .collect();
        let mut value = Vec::new();
        encode_into(&mut value, &properties);
        stamp(b"key", &mut value, Ticks::UNIX_EPOCH);
        let stored = StoredValue::read(b"key", &value).expect("what was written");
        assert_eq!(stored.timestamp, Ticks::UNIX_EPOCH);
        assert_eq!(stored.properties().map(PropertiesRef::to_properties), Ok(properties));
        let mut kept = vec![1, 2, 3];
        let selected = stored.select(&["C", "B", "D"], &mut kept).expect("what was written");
        assert_eq!(selected.collect::<Vec<_>>(), [("B", ValueRef::String("x")), ("C", ValueRef::Boolean(true))]);
    }

    #[test]
    fn other_versions_and_shorter_values_are_refused() {
        let mut value = Vec::new();
        encode_into(&mut value, &Properties::default());
        stamp(b"key", &mut value, Ticks::UNIX_EPOCH);
        assert!(StoredValue::read(b"key", &value).is_ok());
        for end in 0..OVERHEAD {
            assert!(StoredValue::read(b"key", &value[..end]).is_err());
        }
        value[0] = VERSION + 1;
        stamp(b"key", &mut value, Ticks::UNIX_EPOCH);
        assert!(StoredValue::read(b"key", &value).is_err());
    }

    /// Checks the bytes of the format, because files outlive a release.
    #[test]
    fn the_bytes_of_a_value_do_not_change_between_releases() {
        let mut value = Vec::new();
        encode_into(&mut value, &[("A", Value::Int32(1))].into_iter().collect());
        stamp(b"p\x00r", &mut value, Ticks::UNIX_EPOCH);
        let expected = [
            0x03, 0x08, 0x9F, 0x7F, 0xF5, 0xF7, 0xB5, 0x80, 0x00, // the version and the time stamp
            0x01, 0x41, 0x03, 0x02, // the properties
            0x84, 0x94, 0x52, 0xE9, 0x99, 0x8D, 0xAB, 0x5E, // the checksum
        ];
        assert_eq!(value, expected);
    }

    depth::laws! {
        256;

        fn a_changed_byte_is_found(
            text in any::<String>(), key in prop::collection::vec(any::<u8>(), 1..40), at in any::<prop::sample::Index>(), flip in 1_u8..,
        ) {
            let mut value = Vec::new();
            encode_into(&mut value, &[("A", Value::String(text))].into_iter().collect());
            stamp(&key, &mut value, Ticks::UNIX_EPOCH);
            let mut both = [key.as_slice(), value.as_slice()].concat();
            both[at.index(key.len() + value.len())] ^= flip;
            let (other_key, other_value) = both.split_at(key.len());
            prop_assert!(StoredValue::read(other_key, other_value).is_err());
        }

        fn any_bytes_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), OVERHEAD..100)) {
            bytes[0] = VERSION;
            let (value, sum) = bytes.split_last_chunk_mut::<CHECKSUM>().expect("room for it");
            *sum = checksum(b"key", value).to_le_bytes();
            if let Ok(stored) = StoredValue::read(b"key", &bytes) {
                let _ = stored.properties();
                let _ = stored.select(&["A"], &mut Vec::new());
            }
        }
    }
}
