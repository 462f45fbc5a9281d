//! Random choices that a seed determines, on every platform and with every version of every crate.

use std::{env, time::Duration};

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
    /// As many seeds as fit into this time (`TABLE_TESTS_RANDOM_SECONDS`).
    For(Duration),
}

impl Seeds {
    /// Returns what the environment asks for, or the first `usual` seeds.
    ///
    /// # Panics
    /// If a variable is set to something that is not a number.
    pub fn of_environment(usual: u64) -> Self {
        let number = |name| env::var(name).ok().map(|text: String| text.parse().expect("a number"));
        match (number("TABLE_TESTS_SEED"), number("TABLE_TESTS_RANDOM_SECONDS")) {
            (Some(seed), _) => Self::One(seed),
            (None, Some(seconds)) => Self::For(Duration::from_secs(seconds)),
            (None, None) => Self::First(usual),
        }
    }

    /// Returns the seed of the `n`th run, or `None` if the runs end after this time.
    pub fn nth(self, n: u64, elapsed: Duration) -> Option<u64> {
        match self {
            Self::First(count) => (n < count).then_some(n),
            Self::One(seed) => (n == 0).then_some(seed),
            Self::For(time) => (elapsed < time).then_some(n),
        }
    }
}
