//! The depth of the searches.

use std::env;

/// Depth of the searches (`TABLE_TESTS_DEPTH`). A deeper search tries everything that a less deep one tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// The default: every search runs, with a bound that still finds the defect for which it was written.
    Quick,
    /// The searches of `.ci/run`, which take minutes.
    Deep,
    /// All searches, which take hours.
    Full,
}

impl Depth {
    /// Returns the depth that the environment asks for.
    ///
    /// # Panics
    /// If the variable has a wrong value.
    pub fn of_environment() -> Self {
        match env::var("TABLE_TESTS_DEPTH").as_deref() {
            Err(env::VarError::NotPresent) | Ok("quick") => Self::Quick,
            Ok("deep") => Self::Deep,
            Ok("full") => Self::Full,
            other => panic!("TABLE_TESTS_DEPTH is `quick`, `deep` or `full`, not {other:?}"),
        }
    }

    /// Checks whether the searches go to this depth, or deeper.
    pub fn is_reached(self) -> bool {
        Self::of_environment() >= self
    }

    /// Returns the value for the depth of the searches.
    pub fn choose<T>(quick: T, deep: T, full: T) -> T {
        match Self::of_environment() {
            Self::Quick => quick,
            Self::Deep => deep,
            Self::Full => full,
        }
    }
}
