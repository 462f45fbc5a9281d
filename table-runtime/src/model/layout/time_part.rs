//! The part of a key that holds the time of a row's slice.

use table_store::{Result, Ticks, error::KeyProblem};

use super::{
    encoding::Encoding,
    info::{LayoutInfo, PartInfo},
    segments,
    slice::SliceInfo,
};

impl SliceInfo {
    /// Returns the position of the time in the keys.
    pub(crate) fn place(&self, layout: &LayoutInfo) -> Option<TimePart> {
        let of = |parts: &[PartInfo]| {
            let is_time = |part: &PartInfo| {
                let Encoding { is_time, is_reverse_time, .. } = part.parsed();
                is_time || is_reverse_time || part.parsed() == Encoding::PLAIN
            };
            let number = parts.iter().position(|part| part.field == self.field && is_time(part))?;
            Some((number, parts[number].parsed().is_reverse_time))
        };
        let part = |in_partition| move |(number, descending)| TimePart { in_partition, number, descending };
        of(&layout.partition).map(part(true)).or_else(|| of(&layout.row).map(part(false)))
    }

    fn time(&self, layout: &LayoutInfo, partition_key: &str, row_key: &str) -> Option<Ticks> {
        let part = self.place(layout)?;
        let key = if part.in_partition { partition_key } else { row_key };
        let (digits, _) = part.digits(part.begun_by(layout, key)?)?;
        part.time(digits)
    }
}

/// The part of a key that holds the time of its slice.
#[derive(Clone, Copy, Debug)]
pub struct TimePart {
    pub in_partition: bool,
    /// Position among the parts of its key.
    pub number: usize,
    pub descending: bool,
}

impl TimePart {
    /// Returns the rest of a key from this part on; `None` if a part before it is incomplete.
    pub fn begun_by<'k>(self, layout: &LayoutInfo, key: &'k str) -> Option<&'k str> {
        let (prefix, parts) = layout.keys()[usize::from(!self.in_partition)];
        // No part contains its own delimiter.
        segments::skip(key.strip_prefix(prefix)?, &parts[..self.number], layout.separator).ok()
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

impl LayoutInfo {
    /// Returns the slice of this rule that has the row with these keys.
    pub(super) fn slice_of(
        &'static self,
        slice: &'static SliceInfo,
        partition_key: &str,
        row_key: &str,
    ) -> Result<String> {
        match slice.time(self, partition_key, row_key) {
            Some(time) => Ok(slice.at(&self.table, time).table),
            None => Err(self.key_error(&slice.field, KeyProblem::malformed("a time", row_key)).into()),
        }
    }
}
