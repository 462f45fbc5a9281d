//! The Azure backend: on a scripted server, on Azurite and on a live account.

mod azurite_launcher;
mod orders;
mod protocol;
mod service;
mod service_answers;
mod throttling;
