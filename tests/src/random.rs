//! Random choices that a seed determines, on every platform and with every version of every crate.

use std::env;

use depth::Depth;

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

/// Returns the seeds that a test runs: the one of the environment (`TABLE_TESTS_SEED`), or the first `quick` seeds. A
/// [deeper](Depth) search runs more of them, and a full one then runs as many new ones.
///
/// # Panics
/// If a variable has a wrong value.
pub fn seeds(quick: u64) -> Vec<u64> {
    if let Ok(seed) = env::var("TABLE_TESTS_SEED") {
        return vec![seed.parse().expect("TABLE_TESTS_SEED is a number")];
    }
    let first = 0..quick * Depth::choose(1, 5, 40);
    if !Depth::Full.is_reached() {
        return first.collect();
    }
    let new = depth::new_seed();
    first.clone().chain(first.map(|seed| new.wrapping_add(seed))).collect()
}
