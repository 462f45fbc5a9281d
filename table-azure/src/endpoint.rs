//! The address of an account's tables, and the addresses of single tables and rows.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use reqwest::Url;
use table_store::{Error, Result, unstable::limits};

use super::{connection_string::EMULATOR_ACCOUNT, entity::Texts};

/// All characters except the unreserved ones of RFC 3986. A `+` must be encoded, because some servers read it as a
/// space.
const ENCODED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub(super) fn encode(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, &ENCODED)
}

/// The root address of an account's tables, without a slash at its end.
#[derive(Clone)]
pub(super) struct Endpoint(String);

impl Endpoint {
    /// Parses an `http` or `https` address, with or without a slash at its end.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let wrong = |what: &str| Error::Configuration(format!("the table endpoint {what}"));
        let url = Url::parse(text).map_err(|problem| wrong(&format!("is not an address: {problem}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("begins with neither `https://` nor `http://`"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("must not hold a user or a password"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("must not hold a query; give a shared access signature by itself"));
        }
        Ok(Self(url.as_str().trim_end_matches('/').to_owned()))
    }

    /// Checks that this is the address of an account, and not of one of its tables, as the portal shows it.
    pub(super) fn check_account(&self, account: &str) -> Result<()> {
        let Ok(url) = Url::parse(&self.0) else { return Ok(()) };
        let is_account =
            |part: &str| [account, EMULATOR_ACCOUNT].contains(&part.strip_suffix("-secondary").unwrap_or(part));
        let mut path = url.path().split('/').filter(|part| !part.is_empty()).rev();
        let Some(last) = path.next().filter(|last| !is_account(last)) else { return Ok(()) };
        // `{account}.table.core.windows.net` has the account already. In Azurite's addresses, the path is the account.
        let is_service = url.host_str().unwrap_or_default().split('.').skip(1).any(|label| label == "table");
        let is_after_account = path.next().is_some_and(|before| is_account(before) || is_local(&url));
        // Anything else may be a secret.
        let is_table = limits::check_table_name(last).is_ok();
        if !is_table || !is_service && !is_after_account {
            return Ok(());
        }
        Err(Error::Configuration(format!(
            "the table endpoint ends with `/{last}`, as the address of a table does: give that of the account, without it"
        )))
    }

    /// Returns the address of the same account's tables in the secondary region, as the service and Azurite name it:
    /// `https://{account}-secondary.table…`, or `http://127.0.0.1:10002/{account}-secondary`. Returns `None` for any
    /// other address, and for Cosmos DB.
    pub(super) fn secondary(&self) -> Option<Self> {
        let mut url = Url::parse(&self.0).ok()?;
        if self.is_azurite() {
            return Some(Self(format!("{}-secondary", self.0)));
        }
        let (account, service) = url.host_str()?.split_once('.')?;
        if !service.starts_with("table.") || service.starts_with("table.cosmos.") {
            return None;
        }
        let host = format!("{account}-secondary.{service}");
        url.set_host(Some(&host)).ok()?;
        Some(Self(url.as_str().trim_end_matches('/').to_owned()))
    }

    /// Returns true if requests can be read on their way, because they go over `http` to another machine.
    pub(super) fn exposed(&self) -> bool {
        let Ok(url) = Url::parse(&self.0) else { return true };
        url.scheme() == "http" && !is_local(&url)
    }

    /// Returns true if the endpoint is Azurite. The services have the account in the host's name, Azurite has it in the
    /// path.
    pub(super) fn is_azurite(&self) -> bool {
        Url::parse(&self.0).is_ok_and(|url| url.path() != "/")
    }

    /// Returns the encoding of texts in request bodies for this endpoint.
    pub(super) fn texts(&self) -> Texts {
        if self.is_azurite() { Texts::Ascii } else { Texts::Utf8 }
    }

    /// Returns `{root}/Posts`, the address at which rows are inserted.
    pub(super) fn table(&self, table: &str) -> String {
        format!("{}/{table}", self.0)
    }

    /// Returns `{root}/Posts()`, the address at which rows are queried.
    pub(super) fn rows(&self, table: &str) -> String {
        format!("{}/{table}()", self.0)
    }

    /// Returns the address of a row, `{root}/Posts(PartitionKey='Marcus',RowKey='1')`. Quotes in keys are doubled, and
    /// then each key is percent-encoded.
    pub(super) fn row(&self, table: &str, partition_key: &str, row_key: &str) -> String {
        let quoted = |key: &str| encode(&key.replace('\'', "''")).to_string();
        format!("{}/{table}(PartitionKey='{}',RowKey='{}')", self.0, quoted(partition_key), quoted(row_key))
    }

    /// Returns `{root}/$batch`, the address of transactions.
    pub(super) fn batch(&self) -> String {
        format!("{}/$batch", self.0)
    }

    /// Returns `{root}/Tables('Posts')`, the address at which a table is deleted.
    pub(super) fn named_table(&self, table: &str) -> String {
        format!("{}/Tables('{}')", self.0, encode(table))
    }

    /// Returns `{root}/?restype=service&comp=stats`, the address of the state of a secondary region.
    pub(super) fn statistics(&self) -> String {
        format!("{}/?restype=service&comp=stats", self.0)
    }

    /// Returns the protocols that a shared access signature for the endpoint allows.
    pub(super) fn protocols(&self) -> &'static str {
        if self.0.starts_with("http:") && (self.is_azurite() || !self.exposed()) { "https,http" } else { "https" }
    }

    /// Returns `{root}/Tables`, the address of the list of tables.
    pub(super) fn tables(&self) -> String {
        format!("{}/Tables", self.0)
    }
}

/// Returns true if the address is on this machine.
fn is_local(url: &Url) -> bool {
    matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"))
}

/// Formats the address, which contains no credentials.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_at_the_end_are_removed() -> Result<()> {
        for text in [
            "http://127.0.0.1:10002/devstoreaccount1",
            "http://127.0.0.1:10002/devstoreaccount1/",
            "HTTP://127.0.0.1:10002/devstoreaccount1//",
        ] {
            assert_eq!(Endpoint::parse(text)?.table("Posts"), "http://127.0.0.1:10002/devstoreaccount1/Posts");
        }
        assert_eq!(
            Endpoint::parse("https://a.table.cosmos.azure.com:443/")?.batch(),
            "https://a.table.cosmos.azure.com/$batch"
        );
        Ok(())
    }

    #[test]
    fn the_secondary_region_has_an_address_of_its_own() -> Result<()> {
        for (primary, secondary) in [
            ("https://acc.table.core.windows.net", Some("https://acc-secondary.table.core.windows.net")),
            ("https://acc.table.core.chinacloudapi.cn/", Some("https://acc-secondary.table.core.chinacloudapi.cn")),
            ("http://127.0.0.1:10002/acc", Some("http://127.0.0.1:10002/acc-secondary")),
            ("https://acc.table.cosmos.azure.com:443/", None),
            ("https://tables.example.com", None),
        ] {
            assert_eq!(
                Endpoint::parse(primary)?.secondary().map(|endpoint| endpoint.0).as_deref(),
                secondary,
                "{primary}"
            );
        }
        Ok(())
    }

    #[test]
    fn keys_are_quoted_and_encoded() -> Result<()> {
        let endpoint = Endpoint::parse("https://a")?;
        let row = endpoint.row("Posts", "a'b c", "50%+&é~-._");
        assert_eq!(row, "https://a/Posts(PartitionKey='a%27%27b%20c',RowKey='50%25%2B%26%C3%A9~-._')");
        assert_eq!(Url::parse(&row).map(String::from), Ok(row), "the `url` crate must not change it");
        Ok(())
    }

    #[test]
    fn an_invalid_endpoint_is_refused() {
        for text in ["", "table", "ftp://a", "https://user@a", "https://:c2VjcmV0@a", "https://a?sig=c2VjcmV0"] {
            let error = Endpoint::parse(text).map_or_else(|error| error.to_string(), |_| String::new());
            assert!(error.starts_with("the table endpoint ") && !error.contains("c2VjcmV0"), "{text}: {error}");
        }
    }

    #[test]
    fn the_address_of_a_table_is_refused() -> Result<()> {
        for (endpoint, account, is_account) in [
            ("https://acc.table.core.windows.net", "acc", true),
            ("https://acc.table.core.windows.net/Posts", "acc", false),
            ("https://acc.table.core.windows.net/Posts/", "", false),
            ("https://acc.z05.table.storage.azure.net/Posts", "acc", false),
            ("https://acc.table.cosmos.azure.com:443/Posts", "acc", false),
            ("http://127.0.0.1:10002/acc", "acc", true),
            ("http://127.0.0.1:10002/acc", "", true),
            ("http://127.0.0.1:10002/acc/Posts", "acc", false),
            ("http://127.0.0.1:10002/acc/Posts", "", false),
            ("http://azurite:10002/acc/Posts", "acc", false),
            ("http://azurite:10002/devstoreaccount1/Posts", "", false),
            ("http://azurite.table.svc:10002/devstoreaccount1", "", true),
            ("http://localhost:8080/azurite/devstoreaccount1", "", true),
            ("http://127.0.0.1:10002/acc-secondary", "acc", true),
            ("https://acc-secondary.table.core.windows.net/Posts", "acc", false),
            ("https://api.table.example.com/v1", "acc", true),
            ("https://acc.table.core.windows.net/sv=1&sig=c2VjcmV0", "acc", true),
            ("https://gateway.example.com/storage/acc", "acc", true),
            ("https://gateway.example.com/storage", "acc", true),
        ] {
            let checked = Endpoint::parse(endpoint)?.check_account(account);
            assert_eq!(checked.is_ok(), is_account, "{endpoint}: {checked:?}");
        }
        let error = Endpoint::parse("https://acc.table.core.windows.net/Posts")?.check_account("acc");
        let error = error.map_or_else(|error| error.to_string(), |()| String::new());
        assert!(error.contains("ends with `/Posts`, as the address of a table does"), "{error}");
        Ok(())
    }

    #[test]
    fn plain_http_to_another_machine_is_exposed() -> Result<()> {
        assert!(Endpoint::parse("http://a.table.core.windows.net")?.exposed());
        assert!(!Endpoint::parse("https://a.table.core.windows.net")?.exposed());
        assert!(!Endpoint::parse("http://127.0.0.1:10002/devstoreaccount1")?.exposed());
        Ok(())
    }
}
