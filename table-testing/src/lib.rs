//! Stores of `table-runtime` for tests: they count, fail or wait, and pass requests on to another store. The contract of
//! [`Backend`](table_store::backend::Backend), as test cases.
//!
//! Programs use the crate `table-runtime` with its feature `testing`, which exports all of this as `testing`.

mod clocked;
pub mod conformance;
mod counting;
mod faulty;
mod partition_reach;
mod request;
mod scheduled;

pub use clocked::{Clocked, TestTime};
pub use counting::{Counting, Counts, Requests};
pub use faulty::{Fault, Faults, Faulty};
pub use partition_reach::PartitionReach;
pub use request::{Answer, Observer, Request};
pub use scheduled::{Schedule, Scheduled, Waiting};
