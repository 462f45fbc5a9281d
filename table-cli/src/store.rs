//! Opening the store of a command.

use std::{
    env, fmt, fs,
    io::Write,
    path::{self, Path},
};

use clap::Args;
use table_runtime::{Tables, inventory::Inventory};

use crate::{failure::Failure, rows::is_forbidden};

const VARIABLE: &str = "AZURE_TABLES_CONNECTION_STRING";

/// The arguments that name a store.
#[derive(Args)]
pub(crate) struct StoreArguments {
    #[allow(clippy::doc_markdown, reason = "the text of the help")]
    /// The store: a file, a connection string, or env:NAME. AZURE_TABLES_CONNECTION_STRING if it is missing.
    #[arg(long, short, value_name = "STORE", global = true)]
    store: Option<String>,
    /// Only the tables whose names begin with this prefix, which is left out of the names.
    #[arg(long, value_name = "PREFIX", global = true)]
    prefix: Option<String>,
}

/// Omits the store, which may be a connection string.
impl fmt::Debug for StoreArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreArguments").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

/// The purpose for which a store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Read,
    Write,
    /// As for reading, but a file that does not exist is an empty store.
    DryRun,
}

impl Mode {
    pub(crate) const fn writing(dry_run: bool) -> Self {
        if dry_run { Self::DryRun } else { Self::Write }
    }
}

/// An open store.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) tables: Tables,
    /// False for an account, whose requests cost time and money.
    pub(crate) is_file: bool,
    /// Location of the store, and the prefix; without a secret.
    pub(crate) identity: String,
    /// True if the file was made.
    is_new: bool,
    /// The only table that the store's shared access signature is for.
    pub(crate) signed_table: Option<String>,
}

impl Store {
    /// Checks that the file exists to which an earlier run has written what is before its cursor.
    pub(crate) fn check_begun(&self, is_begun: bool) -> Result<(), Failure> {
        if is_begun && self.is_new {
            return Err(Failure::input(
                "the store of the cursor does not exist any more; delete the cursor to begin anew",
            ));
        }
        Ok(())
    }

    /// Returns the tables and what the catalog records; `None` if the credential may not read it.
    pub(crate) async fn inventory(&self) -> Result<Option<Inventory>, Failure> {
        match self.tables.inventory().await {
            Err(error) if is_forbidden(&error) => Ok(None),
            inventory => Ok(Some(inventory?)),
        }
    }
}

impl StoreArguments {
    /// Opens the store for reading.
    pub(crate) fn open_read_only(&self) -> Result<Store, Failure> {
        self.open_for(Mode::Read)
    }

    /// Opens the store for writing.
    pub(crate) fn open(&self) -> Result<Store, Failure> {
        self.open_for(Mode::Write)
    }

    /// Opens the store.
    pub(crate) fn open_for(&self, mode: Mode) -> Result<Store, Failure> {
        self.opened(&self.named()?, mode)
    }

    /// Opens another store than the one that `--store` names.
    pub(crate) fn open_other(&self, store: &str, mode: Mode) -> Result<Store, Failure> {
        self.opened(&resolved(store)?, mode)
    }

    /// Returns the identity of a store that need not exist: its location, and the prefix. It has no secret.
    pub(crate) fn identity(&self, store: &str) -> Result<String, Failure> {
        self.prefixed_location(&resolved(store)?)
    }

    fn prefixed_location(&self, store: &str) -> Result<String, Failure> {
        let location = if is_connection_string(store) { account(store) } else { location(Path::new(store))? };
        Ok(format!("{location}\n{}", self.prefix.as_deref().unwrap_or_default()))
    }

    fn opened(&self, store: &str, mode: Mode) -> Result<Store, Failure> {
        let is_new = !is_connection_string(store) && !Path::new(store).exists();
        let (tables, is_file) = open(store, mode)?;
        let tables = match &self.prefix {
            None => tables,
            Some(prefix) => tables.with_prefix(prefix),
        };
        let signed_table = signed_table(store, self.prefix.as_deref().unwrap_or_default());
        Ok(Store { tables, is_file, identity: self.prefixed_location(store)?, is_new, signed_table })
    }

    /// Opens a file for writing, which repairs it.
    pub(crate) fn repair(&self, file: Option<&str>) -> Result<(), Failure> {
        let store = self.file(file.map_or_else(|| self.named(), resolved)?, "opened")?;
        self.opened(&store, Mode::Write).map(drop)
    }

    /// Checks that the store is the file of an embedded store.
    fn file(&self, store: String, done: &str) -> Result<String, Failure> {
        if self.prefix.is_some() || is_secret(&store) || store.contains("://") {
            return Err(Failure::input(format!("only the file of an embedded store is {done}, and as a whole")));
        }
        if Path::new(&store).is_file() { Ok(store) } else { Err(no_file()) }
    }

    /// Compacts the file of the store, and prints its sizes.
    pub(crate) fn compact(&self, out: &mut impl Write) -> Result<(), Failure> {
        let store = self.file(self.named()?, "compacted")?;
        let path = Path::new(&store);
        let freed = Tables::compact(path)?;
        let size = fs::metadata(path)?.len();
        writeln!(out, "{} bytes, {size} now", size + freed)?;
        Ok(())
    }

    fn named(&self) -> Result<String, Failure> {
        if let Some(store) = &self.store {
            return resolved(store);
        }
        env::var(VARIABLE)
            .ok()
            .filter(|value| !value.trim().is_empty())
            .ok_or_else(|| Failure::input(format!("no store: give --store, or set {VARIABLE}")))
    }
}

/// Returns the value of the variable that `env:NAME` names, or else the text itself.
fn resolved(store: &str) -> Result<String, Failure> {
    match store.strip_prefix("env:") {
        None => Ok(store.to_owned()),
        Some(name) => env::var(name).map_err(|_| Failure::input(format!("the environment variable {name} is not set"))),
    }
}

/// Opens a store. Returns true beside it if it is a file.
fn open(store: &str, mode: Mode) -> Result<(Tables, bool), Failure> {
    if is_connection_string(store) {
        return Ok((Tables::connect(store)?, false));
    }
    if is_secret(store) || store.contains("://") {
        return Err(Failure::input(
            "the store is neither a file nor a connection string; a URL with a shared access signature is written as \
             TableEndpoint=https://ACCOUNT.table.core.windows.net;SharedAccessSignature=SIGNATURE",
        ));
    }
    let path = Path::new(store);
    let tables = match mode {
        Mode::Write => Tables::open(path),
        Mode::DryRun if !path.exists() => Tables::in_memory(),
        Mode::Read | Mode::DryRun if path.is_file() => Tables::open_read_only(path),
        Mode::Read | Mode::DryRun => return Err(no_file()),
    };
    Ok((tables?, true))
}

/// Returns the table for which a connection string has a shared access signature, after the prefix.
fn signed_table(store: &str, prefix: &str) -> Option<String> {
    let mut parameters = store.split(['?', '&', ';', '=']).skip_while(|text| !text.eq_ignore_ascii_case("tn"));
    let table = parameters.nth(1).filter(|_| is_connection_string(store))?;
    let (before, own) = table.split_at_checked(prefix.len())?;
    before.eq_ignore_ascii_case(prefix).then(|| own.to_owned())
}

/// Returns the failure of a command whose store does not exist. It does not name the store: what was given may be the key
/// of an account alone.
fn no_file() -> Failure {
    Failure::missing("there is no file with the path that was given as the store".to_owned())
}

/// Returns the location of a file that need not exist.
pub(crate) fn location(path: &Path) -> Result<String, Failure> {
    Ok(path::absolute(path)?.to_string_lossy().into_owned())
}

/// Returns the settings that say which account a connection string names. The others are secrets, which are replaced now
/// and then.
fn account(connection_string: &str) -> String {
    const SETTINGS: [&str; 4] = ["accountname", "tableendpoint", "endpointsuffix", "usedevelopmentstorage"];
    let setting = |setting: &str| {
        let (name, value) = setting.split_once('=')?;
        let name = name.trim().to_ascii_lowercase();
        // The query of an endpoint may be a signature.
        let value = value.split('?').next().unwrap_or_default().trim().trim_end_matches('/');
        SETTINGS.contains(&name.as_str()).then(|| format!("{name}={}", value.to_ascii_lowercase()))
    };
    let mut settings: Vec<_> = connection_string.split(';').filter_map(setting).collect();
    settings.sort_unstable();
    settings.join(";")
}

/// Names of the settings of connection strings.
const SETTINGS: [&str; 9] = [
    "AccountName",
    "AccountKey",
    "SharedAccessSignature",
    "TableEndpoint",
    "BlobEndpoint",
    "DefaultEndpointsProtocol",
    "EndpointSuffix",
    "UseDevelopmentStorage",
    "DevelopmentStorageProxyUri",
];

/// Checks whether the text is a connection string, which must not be printed.
pub(crate) fn is_connection_string(text: &str) -> bool {
    let is_setting = |setting: &str| {
        let name = setting.split('=').next().unwrap_or_default().trim();
        setting.contains('=') && SETTINGS.iter().any(|known| known.eq_ignore_ascii_case(name))
    };
    text.split(';').any(is_setting)
}

/// Checks whether the text is a connection string, or holds a shared access signature. Then it must not be printed.
pub(crate) fn is_secret(text: &str) -> bool {
    is_connection_string(text) || holds_signature(text) || is_account_key(text)
}

/// Checks whether the text is the key of an account: 64 bytes in base64.
fn is_account_key(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    text.trim().strip_suffix("==").is_some_and(|digits| digits.len() == 86 && digits.bytes().all(is_digit))
}

/// Checks whether the text holds the signature of a shared access signature, such as the query of a URL.
fn holds_signature(text: &str) -> bool {
    text.to_ascii_lowercase().split(['?', '&', ';', ' ', '`', '\'', '"']).any(|parameter| parameter.starts_with("sig="))
}

/// Checks whether the text holds a setting of a connection string, or a signature, anywhere.
pub(crate) fn holds_setting(text: &str) -> bool {
    if holds_signature(text) {
        return true;
    }
    let is_setting = |before: &str| {
        let before = before.trim_end().to_ascii_lowercase();
        SETTINGS.iter().any(|known| before.ends_with(&known.to_ascii_lowercase()))
    };
    text.match_indices('=').any(|(at, _)| is_setting(&text[..at]))
}
