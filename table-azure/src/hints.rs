//! Functions that users of other clients expect: see [`hints`](table_store::unstable::hints).

use table_store::{hints, missing};

use crate::{AzureBackend, AzureBuilder};

hints! {
    Built: "a backend with an account and a credential is built",
        "write `AzureBackend::builder(account).access_key(key).build()?`",
        "a connection string, such as `UseDevelopmentStorage=true` for Azurite: `AzureBackend::connect(connection_string)?`";
    Credentials: "credentials are given with `access_key`, `sas`, `token_credential` or `token_source`",
        "not a function of `AzureBuilder`",
        "the account's key, in base64: `.access_key(key)`; a shared access signature: `.sas(\"sv=…&sig=…\")`",
        "a credential of the crate `azure_identity`: `.token_credential(credential)`, with the feature `entra`",
        "any other token: `.token_source(async || Ok(AccessToken::new(text, expiry)))`";
    Connected: "a connection string makes a backend at once", "write `AzureBackend::connect(connection_string)?`",
        "options on top of it: `AzureBuilder::from_connection_string(connection_string)?`";
    Account: "the account is the argument of `AzureBackend::builder`", "write `AzureBackend::builder(account)`";
    Attempts: "attempts are limited with `max_attempts`, `max_retry_time`, `timeout` and `connect_timeout`",
        "not a function of `AzureBuilder`",
        "write `.max_attempts(5)` for the number, and `.timeout(Duration::from_secs(10))` for the length of each";
}

impl AzureBackend {
    missing! { static Built: new(_, _) }
}

impl AzureBuilder {
    missing! {
        Credentials:
            account_key(_), key(_), shared_key(_), sas_token(_), credential(_), credentials(_), token(_), bearer_token(_)
    }
    missing! { Connected: connection_string(_), with_connection_string(_), connect(_) }
    missing! { Account: account(_), account_name(_), storage_account(_) }
    missing! {
        Attempts:
            retries(_), max_retries(_), retry(_), retry_policy(_), retry_options(_), request_timeout(_), with_timeout(_),
            with_retries(_)
    }
}
