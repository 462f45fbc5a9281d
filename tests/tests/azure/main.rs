//! The Azure backend: on a scripted server, on Azurite and on a live account.

mod azurite_launcher; // the launcher of Azurite: it stops its servers and reports what is missing
mod dependencies; // the packages that the features of the Azure backend bring
#[path = "../../../examples/tests/hint_keep.rs"]
mod hint_keep; // the example `hint_keep`, a web service, in memory
mod operator; // functions for operators: health, metrics, shared access signatures
mod orders; // the example `orders`, a web service, in memory and on Azurite: requests as a client sends them
#[path = "../../../examples/tests/orders.rs"]
mod orders_revenue; // the revenue that the example `orders` keeps by a relay, in memory
#[path = "protocol.rs"]
mod protocol; // protocol details that the service makes easy to get wrong, tested one by one on a scripted server
#[allow(clippy::duplicate_mod, reason = "the same tests with another transport")]
#[path = "protocol.rs"]
mod protocol_of_sdk; // the same with the transport of the Azure SDK
mod proxy; // proxies that the environment names, in a process of their own
mod sdk; // the transport of the Azure SDK, with a program's own policies
mod service; // the Azure backend on Azurite and, if one is configured, on a live account
mod service_answers; // answers that the service gives rarely and Azurite never, tested through the public API
mod throttling; // bulk writes on an overloaded store: fewer transactions in flight, nothing lost, nothing written twice
mod tls; // TLS with the client's own settings: the provider of cryptography, and the root certificates
#[path = "protocol/tokens.rs"]
mod tokens; // tokens of Microsoft Entra ID: when they are requested, refreshed and replaced
#[path = "../../../examples/tests/webhooks.rs"]
mod webhooks; // the example `webhooks`, a service with a work queue, in memory: requests, faults and workers side by side
