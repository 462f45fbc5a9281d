//! Connection strings, in the form that the Azure portal shows.

use reqwest::Url;
use table_store::{Error, Result};

/// The account of the emulator, and its key, which is public.
pub(super) const EMULATOR_ACCOUNT: &str = "devstoreaccount1";
const EMULATOR_ACCOUNT_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// The settings of a connection string that concern tables. Not `Debug`, because it holds secrets.
#[derive(Default)]
pub(super) struct ConnectionString<'a> {
    pub(super) account: Option<&'a str>,
    pub(super) key: Option<&'a str>,
    pub(super) sas: Option<&'a str>,
    /// Address of the tables, if the string determines one: its `TableEndpoint`, the emulator's address, or an address
    /// that is built from the account's name.
    pub(super) endpoint: Option<String>,
    /// Address of the tables in the secondary region, if the string has it.
    pub(super) secondary_endpoint: Option<&'a str>,
    protocol: Option<&'a str>,
    suffix: Option<&'a str>,
    emulator: bool,
    proxy: Option<&'a str>,
}

impl<'a> ConnectionString<'a> {
    /// Reads the settings of tables, and skips those of other services. The text and each value may be in quotes: files of
    /// environment variables have them around the text, and .NET writes them around a value with `=`.
    ///
    /// Errors name a setting and never quote the text, because a damaged string may contain a secret anywhere.
    pub(super) fn parse(text: &'a str) -> Result<Self> {
        let mut read = Self::default();
        let mut endpoint = None;
        let mut development = None;
        let text = text.trim();
        let text = match unquoted(text) {
            // The last value may end with a quote of its own.
            None if text.starts_with(QUOTES) => {
                let reason = "the connection string begins with a quote, and does not end with it";
                return Err(Error::Configuration(reason.to_owned()));
            }
            inner => inner.unwrap_or(text),
        };
        let settings = text.split(';').map(str::trim).filter(|setting| !setting.is_empty());
        for (n, setting) in settings.enumerate() {
            let Some((name, value)) = setting.split_once('=') else {
                let reason = format!("setting {} of the connection string is not `Name=value`", n + 1);
                return Err(Error::Configuration(reason));
            };
            let known: [(&'static str, &mut Option<&'a str>); 9] = [
                ("AccountName", &mut read.account),
                ("AccountKey", &mut read.key),
                ("SharedAccessSignature", &mut read.sas),
                ("TableEndpoint", &mut endpoint),
                ("TableSecondaryEndpoint", &mut read.secondary_endpoint),
                ("DefaultEndpointsProtocol", &mut read.protocol),
                ("EndpointSuffix", &mut read.suffix),
                ("UseDevelopmentStorage", &mut development),
                ("DevelopmentStorageProxyUri", &mut read.proxy),
            ];
            let Some((name, place)) = known.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name.trim()))
            else {
                continue;
            };
            let value = value.trim();
            let value = unquoted(value).unwrap_or(value);
            if value.starts_with(QUOTES) || value.ends_with(QUOTES) {
                let reason = format!("the connection string's {name} has a quote at one end");
                return Err(Error::Configuration(reason));
            }
            if value.is_empty() {
                return Err(Error::Configuration(format!("the connection string's {name} is empty")));
            }
            if place.replace(value).is_some() {
                return Err(Error::Configuration(format!("the connection string has {name} twice")));
            }
        }
        read.emulator = match development {
            None => false,
            Some(value) if value.eq_ignore_ascii_case("true") => true,
            Some(_) => {
                let reason = "the connection string's UseDevelopmentStorage can only be `true`";
                return Err(Error::Configuration(reason.to_owned()));
            }
        };
        read.endpoint = read.find_endpoint(endpoint)?;
        if read.emulator {
            read.account.get_or_insert(EMULATOR_ACCOUNT);
            read.key.get_or_insert(EMULATOR_ACCOUNT_KEY);
        }
        read.check()?;
        Ok(read)
    }

    fn find_endpoint(&self, endpoint: Option<&str>) -> Result<Option<String>> {
        if let Some(endpoint) = endpoint {
            return Ok(Some(endpoint.to_owned()));
        }
        if self.emulator {
            // As in Microsoft's clients, the port is always that of the emulator.
            let proxy = Url::parse(self.proxy.unwrap_or("http://127.0.0.1")).ok();
            let host = proxy.as_ref().and_then(|proxy| Some((proxy.scheme(), proxy.host_str()?)));
            let Some((scheme, host)) = host else {
                let reason = "the connection string's DevelopmentStorageProxyUri is not an address";
                return Err(Error::Configuration(reason.to_owned()));
            };
            return Ok(Some(format!("{scheme}://{host}:10002/{EMULATOR_ACCOUNT}")));
        }
        let Some(account) = self.account else { return Ok(None) };
        let protocol = match self.protocol {
            None => "https",
            Some(protocol) if protocol.eq_ignore_ascii_case("https") => "https",
            Some(protocol) if protocol.eq_ignore_ascii_case("http") => "http",
            Some(_) => {
                let reason = "the connection string's DefaultEndpointsProtocol is neither `https` nor `http`";
                return Err(Error::Configuration(reason.to_owned()));
            }
        };
        let suffix = self.suffix.unwrap_or("core.windows.net").trim_end_matches('/');
        Ok(Some(format!("{protocol}://{account}.table.{suffix}")))
    }

    /// Checks that the required settings are present and do not contradict each other.
    fn check(&self) -> Result<()> {
        let missing = |what: &str| Err(Error::Configuration(format!("the connection string has no {what}")));
        match (self.key, self.sas, self.account) {
            (Some(_), Some(_), _) => {
                let reason = "the connection string has both AccountKey and SharedAccessSignature; keep one";
                Err(Error::Configuration(reason.to_owned()))
            }
            (None, None, None) if self.endpoint.is_none() => {
                missing("AccountName and AccountKey, nor SharedAccessSignature and TableEndpoint")
            }
            (None, None, _) => missing("AccountKey, nor SharedAccessSignature"),
            (Some(_), None, None) => missing("AccountName, which its AccountKey belongs to"),
            _ if self.endpoint.is_none() => missing("TableEndpoint, nor AccountName to derive it from"),
            _ => Ok(()),
        }
    }
}

const QUOTES: [char; 2] = ['"', '\''];

/// Returns the text inside of the quotes around it; `None` if it has none.
fn unquoted(text: &str) -> Option<&str> {
    QUOTES.iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "c2VjcmV0";

    fn endpoint(text: &str) -> String {
        ConnectionString::parse(text).ok().and_then(|read| read.endpoint).unwrap_or_default()
    }

    #[test]
    fn the_endpoint_is_read_or_derived() {
        let key = format!("AccountName=acc;AccountKey={KEY}");
        for (settings, address) in [
            (key.clone(), "https://acc.table.core.windows.net"),
            (format!(" {key} ; "), "https://acc.table.core.windows.net"),
            (format!("DefaultEndpointsProtocol=http;{key}"), "http://acc.table.core.windows.net"),
            (format!("{key};EndpointSuffix=core.chinacloudapi.cn"), "https://acc.table.core.chinacloudapi.cn"),
            (
                format!("{key};TableEndpoint=https://acc.table.cosmos.azure.com:443/;"),
                "https://acc.table.cosmos.azure.com:443/",
            ),
            (
                "BlobEndpoint=https://b/;TableEndpoint=http://h:1/acc;SharedAccessSignature=sv=1&sig=x%3D".to_owned(),
                "http://h:1/acc",
            ),
            ("UseDevelopmentStorage=true".to_owned(), "http://127.0.0.1:10002/devstoreaccount1"),
            ("UseDevelopmentStorage=TRUE;".to_owned(), "http://127.0.0.1:10002/devstoreaccount1"),
            (
                "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://azurite/".to_owned(),
                "http://azurite:10002/devstoreaccount1",
            ),
            (
                "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://azurite:8888/x".to_owned(),
                "http://azurite:10002/devstoreaccount1",
            ),
        ] {
            assert_eq!(endpoint(&settings), address, "{settings}");
        }
    }

    #[test]
    fn values_keep_their_equals_signs() -> Result<()> {
        let read = ConnectionString::parse("AccountName=acc;AccountKey=YQ==")?;
        assert_eq!(read.key, Some("YQ=="));
        let read = ConnectionString::parse("TableEndpoint=https://h;SharedAccessSignature=?sv=1&sig=a%3D")?;
        assert_eq!(read.sas, Some("?sv=1&sig=a%3D"));
        Ok(())
    }

    #[test]
    fn quotes_around_the_text_and_around_values_are_removed() -> Result<()> {
        for text in [
            r#""AccountName=acc;AccountKey=YQ==""#,
            " 'AccountName=acc;AccountKey=YQ==' ",
            r#"AccountName=acc;AccountKey="YQ==""#,
            r#"AccountName='acc';AccountKey="YQ==";"#,
            r#"'AccountName=acc;AccountKey="YQ=="'"#,
        ] {
            let read = ConnectionString::parse(text)?;
            assert_eq!((read.account, read.key), (Some("acc"), Some("YQ==")), "{text}");
        }
        Ok(())
    }

    #[test]
    fn the_emulator_has_its_well_known_credentials() -> Result<()> {
        let read = ConnectionString::parse("UseDevelopmentStorage=true")?;
        assert_eq!((read.account, read.key), (Some("devstoreaccount1"), Some(EMULATOR_ACCOUNT_KEY)));
        Ok(())
    }

    #[test]
    fn errors_name_the_setting_and_quote_nothing() {
        for (settings, expected) in [
            ("", "has no AccountName and AccountKey, nor SharedAccessSignature and TableEndpoint"),
            ("AccountName=acc", "has no AccountKey, nor SharedAccessSignature"),
            ("AcountName=acc;AccountKey=c2VjcmV0", "has no AccountName, which"),
            ("AccountName=acc;AccountKy=c2VjcmV0", "has no AccountKey"),
            ("SharedAccessSignature=sig=c2VjcmV0", "has no TableEndpoint, nor AccountName"),
            ("AccountName=acc;AccountKey=", "AccountKey is empty"),
            ("AccountName=acc;AccountKey=c2VjcmV0;AccountKey=c2VjcmV0", "AccountKey twice"),
            ("AccountName=acc;c2VjcmV0", "setting 2"),
            ("AccountName=acc;AccountKey=c2VjcmV0;SharedAccessSignature=sig=c2VjcmV0", "keep one"),
            ("UseDevelopmentStorage=c2VjcmV0", "can only be `true`"),
            ("UseDevelopmentStorage=true;DevelopmentStorageProxyUri=c2VjcmV0", "ProxyUri is not an address"),
            ("\"AccountName=acc;AccountKey=c2VjcmV0", "begins with a quote"),
            ("'AccountName=acc;AccountKey=c2VjcmV0\"", "begins with a quote"),
            ("AccountName=acc;AccountKey=c2VjcmV0\"", "AccountKey has a quote at one end"),
            ("AccountName=acc;AccountKey='c2VjcmV0", "AccountKey has a quote at one end"),
            ("DefaultEndpointsProtocol=c2VjcmV0;AccountName=a;AccountKey=c2VjcmV0", "neither `https` nor `http`"),
        ] {
            let error = ConnectionString::parse(settings).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(expected), "{settings}: {error}");
            assert!(!error.contains(KEY), "{settings}: {error}");
        }
    }
}
