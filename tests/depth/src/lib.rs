//! The depth of the searches, and the seeds of their random values.
//!
//! Every run of the same code tests the same values, so that it gives the same answer on every machine. Only searches of the
//! depth [`Full`](Depth::Full) then try new seeds, and print them.
//!
//! What each depth leaves out:
//!
//! | test | quick | deep | full |
//! |---|---|---|---|
//! | `index_interleavings`: every order of the requests of a few operations, for each scope and content of an index | pairs of operations, each operation beside a backfill, and sets of three that are known to be hard; of two indexes in their own tables, six pairs | also a backfill of two items whose rows are written in steps, more hard sets of indexes in the entity's table and of `unique_elsewhere`, two more pairs of two indexes | all pairs and all sets of three; the sets that take long |
//! | `event_interleavings` | two operations with a relay; of items that are written in steps one | three operations of items that are written in steps; a lost answer of three | |
//! | `expiry_interleavings` | pairs of operations, and sets of three of items with indexes in their partition; of a list with a claim, some pairs | all pairs | the sets of three also with indexes in other partitions |
//! | `deployments` | the sets of two programs, and most of three | the same | all sets |
//! | `migration_interleavings` | a migration beside each writer; a crash at every ninth wait | the same | a crash at every wait; two runs side by side; longer times |
//! | `index_faults` | each fault of each write; a second write on the stores that the first one damaged, or on a third of them if they are many | on all of them | the same |
//! | `random_programs`, `relayed_programs`, `differential`, `damaged_files` | the first seeds | 5 times as many | 40 times as many |
//! | `killed_relay` | 15 kills | 100 | 1,000 |
//! | `killed_backfill`, `killed_migration`, `fan_out_model` | tens of thousands of rows | hundreds of thousands, or more than a million | the same |
//! | the conformance suite on Azurite through the transport of the Azure SDK | the contract of `Backend` | the whole suite | the same |
//! | three cases of the conformance suite, on Azurite | one index to build, two pages to migrate, a backfill resumed in each eighth pass | two indexes, three pages, each pass | the same |

use std::env;

pub use proptest;
use proptest::{
    strategy::Strategy,
    test_runner::{Config, RngSeed, TestCaseResult, TestRunner},
};

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

/// Returns a seed that no earlier run has used.
///
/// # Panics
/// If the operating system has no random numbers.
pub fn new_seed() -> u64 {
    getrandom::u64().expect("random numbers of the operating system")
}

/// Calls `check` with the configuration of a property test of so many cases.
///
/// Their seed is `PROPTEST_RNG_SEED`, which `.cargo/config.toml` sets. A search of the depth [`Full`](Depth::Full) then checks
/// as many cases with each of ten new seeds. The output of a test that fails ends with its seed.
pub fn for_each_seed(cases: u32, mut check: impl FnMut(Config)) {
    check(Config { cases, ..Config::default() });
    if Depth::Full.is_reached() {
        for _ in 0..10 {
            let seed = new_seed();
            eprintln!("PROPTEST_RNG_SEED={seed} runs the following cases again");
            check(Config { cases, rng_seed: RngSeed::Fixed(seed), ..Config::default() });
        }
    }
}

/// Checks that a law holds for so many values. [`for_each_seed`] says which these are.
///
/// # Panics
/// If it does not hold.
pub fn check<S: Strategy>(cases: u32, strategy: S, law: impl Fn(S::Value) -> TestCaseResult) {
    for_each_seed(cases, |config| {
        if let Err(error) = TestRunner::new(config).run(&strategy, &law) {
            panic!("{error}");
        }
    });
}

/// Declares tests of properties that hold for all values, in the syntax of [`proptest!`](proptest::proptest), of which the
/// first line is the number of cases. [`for_each_seed`] says which seeds they run.
#[macro_export]
macro_rules! laws {
    ($cases:expr; $($(#[$meta:meta])* fn $name:ident($($value:tt)+) $body:block)+) => {$(
        $(#[$meta])*
        #[test]
        fn $name() {
            $crate::for_each_seed($cases, |config| $crate::proptest::proptest!(config, |($($value)+)| $body));
        }
    )+};
}
