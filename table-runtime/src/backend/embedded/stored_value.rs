//! A row's value in the file: a version byte, the time stamp, the properties as they are.

use crate::{DamagedProperties, Properties, PropertiesRef, Ticks};

/// The first byte of a value: how the rest is written.
const VERSION: u8 = 1;
/// The version byte, and the time stamp's ticks, the highest byte first.
pub(super) const HEADER: usize = 1 + size_of::<u64>();

/// A row's value, read.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredValue<'a> {
    /// When it was written; its `ETag` too.
    pub(super) timestamp: Ticks,
    /// Unread yet: see [`properties`](Self::properties).
    bytes: &'a [u8],
}

impl<'a> StoredValue<'a> {
    pub(super) fn read(value: &'a [u8]) -> Result<Self, DamagedProperties> {
        let (header, bytes) = value.split_first_chunk::<HEADER>().ok_or(DamagedProperties)?;
        let [VERSION, ticks @ ..] = header else { return Err(DamagedProperties) };
        let timestamp = Ticks::new(u64::from_be_bytes(*ticks)).ok_or(DamagedProperties)?;
        Ok(Self { timestamp, bytes })
    }

    /// The properties, read through, so that damage is found here and not taken for their end.
    pub(super) fn properties(self) -> Result<PropertiesRef<'a>, DamagedProperties> {
        PropertiesRef::from_bytes(self.bytes)
    }

    /// The properties for who finds damage as it reads.
    pub(super) fn unread(self) -> PropertiesRef<'a> {
        PropertiesRef::trusted(self.bytes)
    }

    /// The named properties alone, read through, in `kept`, whose room is used again.
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

/// Adds a value after what is there; its time stamp is [stamped](stamp) when it is written.
pub(super) fn encode_into(values: &mut Vec<u8>, properties: &Properties) {
    values.reserve(HEADER + properties.as_bytes().len());
    values.push(VERSION);
    values.extend_from_slice(&[0; HEADER - 1]);
    values.extend_from_slice(properties.as_bytes());
}

/// Gives a value its time stamp.
pub(super) fn stamp(value: &mut [u8], timestamp: Ticks) {
    if let Some(ticks) = value.get_mut(1..HEADER) {
        ticks.copy_from_slice(&timestamp.get().to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Value, ValueRef};

    #[test]
    fn a_value_reads_back() {
        let properties: Properties =
            [("A", Value::Int32(1)), ("B", Value::String("x".into())), ("C", Value::Boolean(true))]
                .into_iter()
                .collect();
        let mut value = Vec::new();
        encode_into(&mut value, &properties);
        stamp(&mut value, Ticks::UNIX_EPOCH);
        let stored = StoredValue::read(&value).expect("what was written");
        assert_eq!(stored.timestamp, Ticks::UNIX_EPOCH);
        assert_eq!(stored.properties().map(PropertiesRef::to_properties), Ok(properties));
        let mut kept = vec![1, 2, 3];
        let selected = stored.select(&["C", "B", "D"], &mut kept).expect("what was written");
        assert_eq!(selected.collect::<Vec<_>>(), [("B", ValueRef::String("x")), ("C", ValueRef::Boolean(true))]);
    }

    #[test]
    fn other_versions_are_refused() {
        let mut value = Vec::new();
        encode_into(&mut value, &Properties::default());
        assert!(StoredValue::read(&value).is_ok());
        assert!(StoredValue::read(&value[..HEADER - 1]).is_err());
        value[0] = VERSION + 1;
        assert!(StoredValue::read(&value).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in any::<Vec<u8>>()) {
            if let Some(version) = bytes.first_mut() {
                *version = VERSION;
            }
            if let Ok(stored) = StoredValue::read(&bytes) {
                let _ = stored.properties();
                let _ = stored.select(&["A"], &mut Vec::new());
            }
        }
    }
}
