//! Functions that users of other clients expect. None of them can be called: they exist for the compiler's message.

use table_store::Result;

use crate::{AzureBackend, AzureBuilder};

/// A constructor with a credential. Nothing implements it.
#[diagnostic::on_unimplemented(
    message = "a backend with an account and a credential is built",
    label = "write `AzureBackend::builder(account).access_key(key).build()?`",
    note = "a connection string, such as `UseDevelopmentStorage=true` for Azurite: `AzureBackend::connect(connection_string)?`"
)]
pub trait Built {}

/// The name of a credential. Nothing implements it.
#[diagnostic::on_unimplemented(
    message = "credentials are given with `access_key`, `sas`, `token_credential` or `token_source`",
    label = "not a function of `AzureBuilder`",
    note = "the account's key, in base64: `.access_key(key)`; a shared access signature: `.sas(\"sv=…&sig=…\")`",
    note = "a credential of the crate `azure_identity`: `.token_credential(credential)`, with the feature `entra`",
    note = "any other token: `.token_source(async || Ok(AccessToken::new(text, expiry)))`"
)]
pub trait Credentials {}

/// The name of an option. Nothing implements it.
#[diagnostic::on_unimplemented(
    message = "attempts are limited with `max_attempts`, `max_retry_time`, `timeout` and `connect_timeout`",
    label = "not a function of `AzureBuilder`",
    note = "write `.max_attempts(5)` for the number, and `.timeout(Duration::from_secs(10))` for the length of each"
)]
pub trait Attempts {}

/// The type that implements none of these traits.
#[derive(Debug)]
pub enum Setting {}

macro_rules! missing {
    ($hint:ident: $($name:ident),+) => {$(
        #[doc(hidden)]
        pub fn $name<T>(self, _: T) -> Self
        where
            for<'never> Setting: $hint,
        {
            unreachable!("no type implements the hint")
        }
    )+};
}

impl AzureBackend {
    #[doc(hidden)]
    pub fn new<K>(_: impl Into<String>, _: K) -> Result<Self>
    where
        for<'never> Setting: Built,
    {
        unreachable!("no type implements the hint")
    }
}

impl AzureBuilder {
    missing! { Credentials: account_key, key, shared_key, sas_token, credential, credentials, token, bearer_token }
    missing! { Attempts: retries, max_retries, retry, retry_policy, retry_options, request_timeout, with_timeout, with_retries }
}
