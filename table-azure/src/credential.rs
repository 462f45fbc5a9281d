//! Credentials that authorize requests.

use std::{fmt, sync::Arc, time::Duration};

use table_store::{Error, Result};

#[cfg(feature = "azure_data_tables")]
use super::sdk::{Sdk, SdkTransport};
use super::{
    client::HttpClient,
    http::Transport,
    own::{OwnTransport, Scheme, SharedKey, Signer},
    token::TokenSource,
};

/// What a program gives to authorize requests, before it was checked.
#[derive(Clone)]
pub(super) enum Given {
    Key(String),
    Sas(String),
    Token(TokenSource),
    #[cfg(feature = "azure_data_tables")]
    Sdk(Sdk),
}

/// A credential of a backend.
#[derive(Clone)]
pub(super) enum Credential {
    Key(SharedKey),
    Sas,
    Token,
    #[cfg(feature = "azure_data_tables")]
    Sdk,
}

impl Given {
    /// Returns true if requests contain a secret that whoever reads them can use.
    pub(super) fn has_token(&self) -> bool {
        match self {
            Self::Token(_) => true,
            #[cfg(feature = "azure_data_tables")]
            Self::Sdk(sdk) => sdk.has_token(),
            Self::Key(_) | Self::Sas(_) => false,
        }
    }

    /// Returns the credential, and a transport that authorizes requests with it. Errors never quote a secret.
    pub(super) fn transport(
        self,
        account: &str,
        scheme: Scheme,
        client: HttpClient,
        timeout: Duration,
    ) -> Result<(Credential, Arc<dyn Transport>)> {
        let (credential, signer) = match self {
            Self::Key(key) => {
                let key = SharedKey::new(account, &key, scheme)?;
                (Credential::Key(key.clone()), Signer::Key(key))
            }
            Self::Sas(token) => (Credential::Sas, Signer::sas(&token)?),
            Self::Token(source) => (Credential::Token, Signer::tokens(source, timeout)),
            #[cfg(feature = "azure_data_tables")]
            Self::Sdk(sdk) => return Ok((Credential::Sdk, Arc::new(SdkTransport::new(client, sdk)))),
        };
        Ok((credential, Arc::new(OwnTransport::new(client, signer))))
    }
}

impl Credential {
    /// Returns the key that signs grants.
    pub(super) fn signing_key(&self) -> Result<&SharedKey> {
        let reason = match self {
            Self::Key(key) => return Ok(key),
            Self::Sas => "a shared access signature cannot sign another one",
            Self::Token => "Microsoft Entra ID has no shared access signatures for tables",
            #[cfg(feature = "azure_data_tables")]
            Self::Sdk => "the credentials of the Azure SDK are not used to sign grants",
        };
        Err(Error::Configuration(format!("{reason}; connect with the account's key")))
    }
}

/// Formats only the kind of credential.
impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key(_) => "account key",
            Self::Sas => "shared access signature",
            Self::Token => "token source",
            #[cfg(feature = "azure_data_tables")]
            Self::Sdk => "credentials of the Azure SDK",
        })
    }
}

/// Formats only the kind of credential.
impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key(_) => "account key",
            Self::Sas(_) => "shared access signature",
            Self::Token(_) => "token source",
            #[cfg(feature = "azure_data_tables")]
            Self::Sdk(_) => "credentials of the Azure SDK",
        })
    }
}
