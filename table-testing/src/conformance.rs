//! The contract of [`Backend`], as test cases.
//!
//! [`check`] runs all cases. A test harness that has one test for each case lists them with [`cases`]:
//!
//! ```
//! # use table_runtime::{backend::InMemoryBackend as MyBackend, testing::conformance};
//! # futures::executor::block_on(async {
//! let backend = MyBackend::new().expect("a store");
//! for case in conformance::cases().filter(|case| case.name().starts_with("groups::")) {
//!     case.run(&backend).await.unwrap_or_else(|failure| panic!("{}: {failure}", case.name()));
//! }
//! # });
//! ```
//!
//! A case creates tables with random names and deletes them, so that cases can run on one store at the same time, and on
//! an account that has other tables. The input is checked input, as `Tables` sends it: no case sends a
//! key or a transaction that breaks the service's limits.

mod etags;
mod expect;
mod filters;
mod groups;
mod order;
mod pages;
mod ranges;
mod reads;
mod spanning;
mod table;
mod tables;
mod values;
mod writes;

use std::{error, fmt};

pub use self::expect::Failure;
use self::table::Table;

/// A rule of the contract, with its test.
#[derive(Clone, Copy)]
pub struct Case {
    name: &'static str,
    run: for<'a> fn(&'a Table<'a>) -> BoxFuture<'a, Result<(), Failure>>,
}

impl Case {
    /// Returns the name, such as `groups::a_failed_group_writes_nothing`.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Runs the case on new tables of the backend, and deletes them.
    ///
    /// # Errors
    /// The first difference between what the contract expects and what was found.
    pub async fn run(&self, backend: &dyn Backend) -> Result<(), Failure> {
        let table = Table::create(backend).await?;
        let result = (self.run)(&table).await;
        let deleted = table.delete().await;
        result.and(deleted)
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Case").field(&self.name).finish()
    }
}

/// Lists the cases of a module.
macro_rules! contract {
    ($module:literal: $($case:ident)*) => {
        pub(super) const CASES: &[super::Case] = &[$(super::Case {
            name: concat!($module, "::", stringify!($case)),
            run: |table| Box::pin($case(table)),
        }),*];
    };
}

use contract;
use table_store::backend::{Backend, BoxFuture};

const MODULES: [&[Case]; 11] = [
    tables::CASES,
    reads::CASES,
    writes::CASES,
    etags::CASES,
    groups::CASES,
    spanning::CASES,
    order::CASES,
    ranges::CASES,
    pages::CASES,
    filters::CASES,
    values::CASES,
];

/// Returns all cases.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    MODULES.into_iter().flatten()
}

/// Runs all cases, each on a backend from `make`. Clones of one backend are fine.
///
/// # Errors
/// The cases that failed, each with its reason.
pub async fn check<B: Backend>(make: impl AsyncFn() -> B) -> Result<(), Failures> {
    let mut failures = Vec::new();
    for case in cases() {
        if let Err(failure) = case.run(&make().await).await {
            failures.push((case.name, failure));
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(Failures(failures)) }
}

/// The cases that failed.
pub struct Failures(Vec<(&'static str, Failure)>);

impl Failures {
    /// Returns the names of the cases with their failures.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Failure)> {
        self.0.iter().map(|(name, failure)| (*name, failure))
    }
}

/// A line for each case.
impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} cases failed", self.0.len(), cases().count())?;
        self.iter().try_for_each(|(name, failure)| write!(f, "\n{name}: {failure}"))
    }
}

/// The same as [`Display`](fmt::Display): a test that returns the error prints it in this form.
impl fmt::Debug for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl error::Error for Failures {}
