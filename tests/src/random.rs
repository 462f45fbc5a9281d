//! Random choices that a seed determines, on every platform and with every version of every crate.

use std::{env, ops::Range};

use explorer::depth::Depth;

/// Generator of random numbers (`SplitMix64`).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Returns the generator of this seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// Returns a number below `end`, which is not 0.
    #[allow(clippy::cast_possible_truncation, reason = "the result is below a `usize`")]
    pub const fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    /// Returns a number below `end`, which is not 0.
    #[allow(clippy::cast_possible_truncation, reason = "the result is below a `u8`")]
    pub const fn byte(&mut self, end: u8) -> u8 {
        (self.bits() % end as u64) as u8
    }

    /// Returns true `percent` times of 100.
    pub const fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Returns one of these, of which there is at least one.
    pub const fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Shuffles the items.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }
}

/// Seeds that a test program runs.
#[derive(Clone, Copy, Debug)]
pub enum Seeds {
    /// First seeds, of this number.
    First(u64),
    /// A single seed (`TABLE_TESTS_SEED`).
    One(u64),
}

impl Seeds {
    /// Returns the seed of the environment. If it asks for none, returns the first `quick` seeds, or more of them if the
    /// searches are [deeper](Depth).
    ///
    /// # Panics
    /// If a variable has a wrong value.
    pub fn of_environment(quick: u64) -> Self {
        match env::var("TABLE_TESTS_SEED") {
            Ok(seed) => Self::One(seed.parse().expect("TABLE_TESTS_SEED is a number")),
            Err(_) => Self::First(quick * Depth::choose(1, 5, 40)),
        }
    }

    /// Returns the seeds.
    pub fn range(self) -> Range<u64> {
        match self {
            Self::First(count) => 0..count,
            Self::One(seed) => seed..seed + 1,
        }
    }
}
