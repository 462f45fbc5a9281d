//! Relays: the delivery of recorded events.

mod deliver;
mod engine;
mod event;
mod failed;
mod leases;
#[cfg(feature = "metrics")]
mod metrics;
mod options;
mod partition;
mod source;

pub use deliver::{Deliver, Relay};
pub use engine::Delivered;
pub use event::{Event, attempts, change};
pub use source::EventSource;
