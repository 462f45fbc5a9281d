//! Faults of a backend, as the tests name them.

pub use table_runtime::testing::{Fault, Faults, Faulty, Run, RunError, for_each_fault};
