//! A set of hashes within a bound of memory.

use serde::{Deserialize, Serialize};

/// Memory of a job for hashes unless its option sets another: 4,194,304 hashes of 16 bytes.
pub const MEMORY: usize = 64 << 20;

/// The number of values of the leading half of a hash, by which ranges are bounded.
const VALUES: u128 = 1 << 64;

/// A range of hashes: those of one pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HashRange {
    from: u64,
    /// The end, exclusive; `None` for the last range.
    to: Option<u64>,
}

impl HashRange {
    /// The range of all hashes.
    pub const ALL: Self = Self { from: 0, to: None };

    /// Checks whether the range, which may come from a cursor, has any values.
    pub fn is_valid(self) -> bool {
        self.to.is_none_or(|to| self.from < to)
    }

    fn contains(self, hash: u128) -> bool {
        let value = leading(hash);
        self.from <= value && self.to.is_none_or(|to| value < to)
    }

    /// Drops the upper half. Returns false if the range has one value only.
    fn halve(&mut self) -> bool {
        let width = self.to.map_or(VALUES, u128::from) - u128::from(self.from);
        // Half of a width is at most 2⁶³.
        let half = u64::try_from(width / 2).unwrap_or(u64::MAX);
        if half == 0 {
            return false;
        }
        self.to = self.from.checked_add(half);
        true
    }
}

fn leading(hash: u128) -> u64 {
    u64::try_from(hash >> 64).unwrap_or(u64::MAX)
}

/// The hashes of one range, each of which can be marked.
///
/// The number of hashes need not be known beforehand: when the memory is full, the set drops the upper half of its
/// range, which is left to a later pass.
pub(super) struct Hashes {
    range: HashRange,
    /// Maximum number of hashes.
    capacity: usize,
    all: Vec<u128>,
    /// A bit for each hash, once they are sorted.
    marks: Vec<u64>,
    unmarked: usize,
    /// Number of the hashes after the range.
    dropped: usize,
}

impl Hashes {
    /// Returns an empty set of hashes in a range.
    pub(super) const fn new(range: HashRange, memory: usize) -> Self {
        let capacity = match memory / size_of::<u128>() {
            0 => 1,
            capacity => capacity,
        };
        Self { range, capacity, all: Vec::new(), marks: Vec::new(), unmarked: 0, dropped: 0 }
    }

    pub(super) const fn range(&self) -> HashRange {
        self.range
    }

    /// Checks whether a hash is in the range, so that [`mark`](Self::mark) says whether it was added.
    pub(super) fn covers(&self, hash: u128) -> bool {
        self.range.contains(hash)
    }

    /// Adds a hash. A hash outside of the range is only counted.
    pub(super) fn add(&mut self, hash: u128) {
        while self.covers(hash) && self.all.len() >= self.capacity && self.range.halve() {
            let (before, range) = (self.all.len(), self.range);
            self.all.retain(|hash| range.contains(*hash));
            self.dropped += before - self.all.len();
        }
        if self.covers(hash) {
            // Doubling beyond the bound would reserve memory that is never used.
            if self.all.len() == self.all.capacity() {
                let more = self.all.len().max(64).min(self.capacity.saturating_sub(self.all.len()));
                self.all.reserve_exact(more.max(1));
            }
            self.all.push(hash);
        } else if leading(hash) >= self.range.from {
            self.dropped += 1;
        }
    }

    /// Returns the number of hashes that were added, those of later passes included.
    pub(super) const fn count(&self) -> usize {
        self.all.len() + self.dropped
    }

    /// Sorts the hashes. From now on they can be marked, and none can be added.
    pub(super) fn sort(&mut self) {
        self.all.sort_unstable();
        self.unmark();
    }

    fn unmark(&mut self) {
        self.unmarked = self.all.len();
        self.marks.clear();
        self.marks.resize(self.all.len().div_ceil(64), 0);
    }

    /// Marks a hash, once for each time that it was added. Returns false if it is not in the set.
    pub(super) fn mark(&mut self, hash: u128) -> bool {
        let first = self.all.partition_point(|own| *own < hash);
        let equal = self.all[first..].iter().take_while(|own| **own == hash).count();
        let is_marked = |at: &usize| self.marks[at / 64] & (1 << (at % 64)) != 0;
        if let Some(at) = (first..first + equal).find(|at| !is_marked(at)) {
            self.marks[at / 64] |= 1 << (at % 64);
            self.unmarked -= 1;
        }
        equal > 0
    }

    /// Keeps the hashes that are not marked.
    pub(super) fn keep_unmarked(&mut self) {
        let mut at = 0..;
        let marks = &self.marks;
        self.all.retain(|_| at.next().is_none_or(|at| marks[at / 64] & (1 << (at % 64)) == 0));
        self.unmark();
    }

    /// Returns the number of hashes that are not marked.
    pub(super) const fn unmarked(&self) -> usize {
        self.unmarked
    }

    /// Returns the number of passes that are left, as far as it is known.
    pub(super) fn passes_left(&self) -> usize {
        // The hashes are spread evenly, but not exactly so.
        let filled = (self.capacity - self.capacity / 8).max(1);
        if self.range.to.is_none() { 0 } else { self.dropped.div_ceil(filled).max(1) }
    }

    /// Returns the range of the next pass; `None` if there is none.
    pub(super) fn next_range(&self) -> Option<HashRange> {
        let from = self.range.to?;
        let passes = u128::try_from(self.passes_left()).unwrap_or(1);
        let width = ((VALUES - u128::from(from)) / passes).max(1);
        Some(HashRange { from, to: u64::try_from(u128::from(from) + width).ok().filter(|_| passes > 1) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use twox_hash::XxHash3_128;

    use super::*;

    #[test]
    fn a_range_of_one_value_is_kept() {
        let mut hashes = Hashes::new(HashRange::ALL, 1);
        // Their leading halves are equal, so that no range divides them.
        for low in 0..100 {
            hashes.add(low);
        }
        hashes.sort();
        assert_eq!(hashes.unmarked(), 100);
        assert_eq!(hashes.range(), HashRange { from: 0, to: Some(1) });
    }

    depth::laws! {
        256;

        fn every_hash_is_in_one_pass(count in 0_u32..2_000, capacity in 1_usize..400) {
            let all: Vec<_> = (0..count).map(|number| XxHash3_128::oneshot(&number.to_le_bytes())).collect();
            let (mut range, mut seen, mut passes) = (Some(HashRange::ALL), Vec::new(), 0);
            while let Some(own) = range {
                let mut hashes = Hashes::new(own, capacity * 16);
                for hash in &all {
                    hashes.add(*hash);
                }
                hashes.sort();
                prop_assert!(hashes.unmarked() <= capacity && hashes.all.capacity() <= capacity.max(64));
                let covered: Vec<_> = all.iter().copied().filter(|hash| hashes.covers(*hash)).collect();
                prop_assert_eq!(covered.len(), hashes.unmarked());
                // Every other one is marked, and the others are left.
                prop_assert!(covered.iter().step_by(2).all(|hash| hashes.mark(*hash) && hashes.mark(*hash)));
                hashes.keep_unmarked();
                prop_assert_eq!(hashes.unmarked(), covered.len() / 2);
                prop_assert!(covered.iter().skip(1).step_by(2).all(|hash| hashes.mark(*hash)));
                prop_assert_eq!(hashes.unmarked(), 0);
                seen.extend(covered);
                range = hashes.next_range();
                passes += 1;
            }
            seen.sort_unstable();
            let mut sorted = all;
            sorted.sort_unstable();
            prop_assert_eq!(seen, sorted);
            // Half of the memory is used in the first pass at least, and later ones are planned with their number
            // known.
            let needed = usize::try_from(count).unwrap_or_default().div_ceil(capacity);
            prop_assert!(capacity < 100 || passes <= needed * 2 + 2, "{} passes instead of {}", passes, needed);
        }
    }
}
