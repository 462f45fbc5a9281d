//! Backends for tests, and the contract of [`Backend`](crate::backend::Backend) as test cases (feature `testing`).
//!
//! # Testing an application
//!
//! Each backend here is placed before another one, mostly the store in memory:
//!
//! - [`Counting`] counts the requests.
//! - [`Faulty`] makes a request fail, and [`for_each_fault`] makes each request of a program fail once in each way.
//! - [`PartitionReach`] limits each transaction to one partition, as the service does. In the embedded store, an entity and
//!   its index rows in other partitions are written in one transaction. So a test of the states between the steps of a
//!   write needs this backend before the store.
//! - [`Scheduled`] makes each request wait until the test grants it, so that the test chooses the order in which the
//!   requests of several tasks arrive.
//!
//! ```
//! use table_runtime::{
//!     Error, TableEntity, Tables,
//!     backend::InMemoryBackend,
//!     testing::{Counting, Fault, Faulty},
//! };
//!
//! #[derive(TableEntity)]
//! struct Post {
//!     #[partition_key]
//!     author: String,
//!     #[row_key]
//!     id: u32,
//!     title: String,
//! }
//!
//! # futures::executor::block_on(async {
//! let (store, requests) = Counting::new(InMemoryBackend::new()?);
//! let (store, faults) = Faulty::new(store);
//! let tables = Tables::new(store);
//! tables.create::<Post>().await?;
//! requests.take();
//!
//! let post = Post { author: "Marcus".into(), id: 1, title: "Keys".into() };
//! tables.insert(&post).await?;
//! assert_eq!(requests.take().total(), 1);
//!
//! // The next write is applied, and the application does not receive the answer.
//! faults.arm_write(Fault::AnswerLost, 0);
//! let deleted = tables.remove(Post::key("Marcus", 1)).await;
//! assert!(matches!(deleted, Err(Error::OutcomeUnknown(_))));
//! faults.disarm();
//! assert!(!Post::key("Marcus", 1).exists(&tables).await?);
//! # Ok::<(), Error>(())
//! # }).unwrap();
//! ```
//!
//! # Testing a backend
//!
//! [`conformance`] has a case for each rule of the trait. One test runs them all and reports each rule that the backend
//! breaks, with what was expected and what was found:
//!
//! ```
//! # use table_runtime::backend::InMemoryBackend as MyBackend;
//! use table_runtime::testing::conformance;
//!
//! // With `#[tokio::test]`, or with the executor of your choice.
//! async fn my_backend_keeps_the_contract() -> Result<(), conformance::Failures> {
//!     conformance::check(async || MyBackend::new().expect("a store")).await
//! }
//! # futures::executor::block_on(my_backend_keeps_the_contract()).unwrap();
//! ```

pub mod conformance;
mod counting;
mod faulty;
mod partition_reach;
mod request;
mod scheduled;

pub use counting::{Counting, Counts, Requests};
pub use faulty::{Fault, Faults, Faulty, Run, RunError, for_each_fault};
pub use partition_reach::PartitionReach;
pub use request::{Answer, Observer, Request};
pub use scheduled::{Schedule, Scheduled, Waiting};
