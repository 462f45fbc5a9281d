//! The part of a key that holds the time of a row's slice.

use table_store::Ticks;

use super::{
    encoding::Encoding,
    info::{LayoutInfo, PartInfo},
    segments,
    slice::SliceInfo,
};

/// The part of a key that holds the time of its slice.
#[derive(Clone, Copy, Debug)]
pub struct TimePart {
    /// `true` if it is a part of the partition key.
    pub in_partition: bool,
    /// Position among the parts of its key.
    pub number: usize,
    /// `true` if the newest time comes first.
    pub descending: bool,
}

impl TimePart {
    /// Returns the position of the time in the keys.
    pub fn of(slice: &SliceInfo, layout: &LayoutInfo) -> Option<Self> {
        let of = |parts: &[PartInfo]| {
            let is_time =
                |encoding: Encoding| encoding.is_time || encoding.is_reverse_time || encoding == Encoding::PLAIN;
            let is_of_slice = |part: &PartInfo| part.field == slice.field && is_time(Encoding::of(part));
            let number = parts.iter().position(is_of_slice)?;
            Some((number, Encoding::of(&parts[number]).is_reverse_time))
        };
        let part = |in_partition| move |(number, descending)| Self { in_partition, number, descending };
        of(&layout.partition).map(part(true)).or_else(|| of(&layout.row).map(part(false)))
    }

    /// Returns the time in the keys of a row; `None` if they have none.
    pub(crate) fn time_of(slice: &SliceInfo, layout: &LayoutInfo, keys: (&str, &str)) -> Option<Ticks> {
        let part = Self::of(slice, layout)?;
        let key = if part.in_partition { keys.0 } else { keys.1 };
        let (digits, _) = part.digits(part.begun_by(layout, key)?)?;
        part.time(digits)
    }

    /// Returns the rest of a key from this part on; `None` if a part before it is incomplete.
    pub fn begun_by<'k>(self, layout: &LayoutInfo, key: &'k str) -> Option<&'k str> {
        let (prefix, parts) = layout.keys()[usize::from(!self.in_partition)];
        // No part contains its own delimiter.
        segments::skip(layout, key.strip_prefix(prefix)?, &parts[..self.number]).ok()
    }

    /// Splits a text into the digits with which it begins and the rest.
    #[allow(clippy::unused_self, reason = "same call as `time`")]
    pub fn digits(self, text: &str) -> Option<(u64, &str)> {
        const DIGITS: usize = 19;
        let (digits, rest) = text.split_at_checked(DIGITS)?;
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some((digits.parse().ok()?, rest))
    }

    /// Returns the time that these digits encode.
    pub fn time(self, digits: u64) -> Option<Ticks> {
        let digits = Ticks::new(digits)?;
        if self.descending { Ticks::new(Ticks::MAX.get() - digits.get()) } else { Some(digits) }
    }
}
