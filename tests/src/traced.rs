//! Futures whose traces a test keeps.

use std::sync::LazyLock;

use tracing::{
    Dispatch, Subscriber,
    instrument::{WithDispatch, WithSubscriber as _},
    subscriber::NoSubscriber,
};

/// Subscribers that live as long as the program.
///
/// With a single one, `tracing` asks the subscriber of the thread that reaches an event first whether anybody wants it, and
/// keeps the answer for all threads: an event that another test reaches first would be lost here.
static OTHERS: LazyLock<[Dispatch; 2]> = LazyLock::new(|| [(); 2].map(|()| Dispatch::new(NoSubscriber::new())));

/// Returns the future with a subscriber of its own.
pub fn with_subscriber<F>(future: F, subscriber: impl Subscriber + Send + Sync + 'static) -> WithDispatch<F> {
    LazyLock::force(&OTHERS);
    future.with_subscriber(subscriber)
}
