//! The Azure backend: on a scripted server, on Azurite and on a live account.

mod azurite_launcher;
mod dependencies;
#[path = "../../../examples/tests/hint_keep.rs"]
mod hint_keep;
mod operator;
mod orders;
#[path = "../../../examples/tests/orders.rs"]
mod orders_revenue;
#[path = "protocol.rs"]
mod protocol;
#[allow(clippy::duplicate_mod, reason = "the same tests with another transport")]
#[path = "protocol.rs"]
mod protocol_of_sdk;
mod proxy;
mod sdk;
mod service;
mod service_answers;
mod throttling;
mod tls;
#[path = "protocol/tokens.rs"]
mod tokens;
#[path = "../../../examples/tests/webhooks.rs"]
mod webhooks;
