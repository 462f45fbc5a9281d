//! Credentials that authorize requests.

use std::fmt;

use azure_core::auth::Secret;
use azure_storage::StorageCredentials;
use base64::Engine;

use super::token::TokenSource;
use crate::{Error, Result};

#[derive(Clone)]
pub(super) enum Credential {
    Key(Secret),
    Sas(Secret),
    Token(TokenSource),
}

impl Credential {
    /// Returns the SDK's credentials for the account. Errors never quote a secret.
    pub(super) fn of(&self, account: &str) -> Result<StorageCredentials> {
        let wrong = |what: &str| Error::Configuration(what.to_owned());
        match self {
            Self::Key(key) => {
                if account.is_empty() {
                    return Err(wrong("an account key needs the account's name"));
                }
                let engine = base64::engine::general_purpose::STANDARD;
                if engine.decode(key.secret()).map_or(true, |key| key.is_empty()) {
                    return Err(wrong("the account key (AccountKey) is not base64"));
                }
                Ok(StorageCredentials::access_key(account, key.clone()))
            }
            Self::Sas(sas) => {
                let sas = sas.secret().trim_start_matches('?');
                if !sas.split('&').any(|pair| pair.strip_prefix("sig=").is_some_and(|sig| !sig.is_empty())) {
                    return Err(wrong("the shared access signature (SharedAccessSignature) has no `sig=`"));
                }
                // The SDK's error is dropped because it would quote the signature.
                StorageCredentials::sas_token(sas)
                    .map_err(|_| wrong("the shared access signature (SharedAccessSignature) cannot be read"))
            }
            // The SDK would request a token from its own trait for each request. The last policy adds it instead.
            Self::Token(_) => Ok(StorageCredentials::anonymous()),
        }
    }
}

/// Formats only the kind of credential.
impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key(_) => "account key",
            Self::Sas(_) => "shared access signature",
            Self::Token(_) => "token source",
        })
    }
}
