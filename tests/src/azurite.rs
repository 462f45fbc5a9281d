//! Azurite, Microsoft's emulator of the table service, fetched from npm and run during the tests.

use std::{
    env, fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpListener,
    num::NonZero,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
    thread,
};

use anyhow::{Context, Result, bail};
use table_runtime::backend::{
    AzureBackend,
    sdk::{azure_core::ClientOptions, azure_storage::StorageCredentials},
};

const VERSION: &str = "3.37.0";
/// The emulator's only account. Its key is public and the same on every machine.
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// Running Azurite. It stops when it is dropped or when this process ends.
#[derive(Debug)]
pub struct Azurite {
    child: Child,
    port: u16,
}

impl Azurite {
    /// Fetches Azurite if necessary, starts it, and waits until it answers.
    pub fn start() -> Result<Self> {
        let main = install()?;
        let mut failures = String::new();
        // Another process may take the free port before it is bound.
        for _ in 0..5 {
            match Self::start_on(free_port()?, &main) {
                Ok(azurite) => return Ok(azurite),
                Err(failure) => failures = format!("{failure:#}"),
            }
        }
        bail!("Azurite does not start: {failures}");
    }

    fn start_on(port: u16, main: &Path) -> Result<Self> {
        // `node` runs the server directly, because a stopped `npx` would leave it running.
        let child = Command::new("node")
            .arg("--require")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/die_with_parent.cjs"))
            .arg(main)
            .args(["--tableHost", "127.0.0.1", "--tablePort", &port.to_string(), "--inMemoryPersistence"])
            .args(["--skipApiVersionCheck", "--silent", "--disableTelemetry"])
            // In seconds, longer than the client keeps an idle connection. Otherwise a write may be sent on a connection
            // that the server closes at that moment, and its answer is lost.
            .args(["--tableKeepAliveTimeout", "120"])
            .current_dir(folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("`node` cannot be started")?;
        // From here on, an error drops and thus stops the server.
        let mut azurite = Self { child, port };
        let mut output = BufReader::new(azurite.child.stdout.take().context("no standard output")?);
        let mut line = String::new();
        while output.read_line(&mut line)? > 0 {
            if line.contains("successfully started") {
                // The server must not block on a full pipe.
                thread::spawn(move || io::copy(&mut output, &mut io::sink()));
                let errors = azurite.child.stderr.take();
                thread::spawn(move || errors.map(|mut errors| io::copy(&mut errors, &mut io::sink())));
                return Ok(azurite);
            }
        }
        let mut errors = String::new();
        if let Some(mut stderr) = azurite.child.stderr.take() {
            stderr.read_to_string(&mut errors)?;
        }
        bail!("{}{}", line.trim(), errors.trim());
    }

    /// Returns the connection string of this server.
    pub fn connection_string(&self) -> String {
        format!(
            "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey={KEY};\
             TableEndpoint=http://127.0.0.1:{}/devstoreaccount1;",
            self.port
        )
    }

    /// Returns the server's process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Azurite {
    fn drop(&mut self) {
        // A test cannot handle a failure of either call. Closing the pipe stops the server too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns whether Azurite is switched off by `TABLE_TESTS_AZURITE=off`.
pub fn is_off() -> bool {
    env::var("TABLE_TESTS_AZURITE").is_ok_and(|value| value == "off")
}

/// The servers that the tests of a program share, and the number of calls that asked for one. A server that could not be started
/// is the reason.
static SHARED: Mutex<(usize, Vec<Result<Azurite, String>>)> = Mutex::new((0, Vec::new()));

/// Returns the connection string of an Azurite that the tests of this program share. The first calls start one for each
/// processor, because a server has one thread; further calls return them in turn.
///
/// If it [`is_off`], the result is `None`, which is reported on standard error, bypassing the test harness.
///
/// # Errors
/// Azurite cannot be fetched or started, for instance because Node is missing.
pub fn shared() -> Result<Option<String>> {
    if is_off() {
        let _ = writeln!(io::stderr(), "not tested: behaviour on Azurite, since TABLE_TESTS_AZURITE=off");
        return Ok(None);
    }
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let (calls, servers) = &mut *shared;
    let at = *calls % thread::available_parallelism().map_or(1, NonZero::get);
    *calls += 1;
    if at == servers.len() {
        servers.push(Azurite::start().map_err(|error| format!("{error:#}")));
    }
    match &servers[at] {
        Ok(azurite) => Ok(Some(azurite.connection_string())),
        Err(reason) => bail!("{reason}"),
    }
}

/// Stops the shared servers. A test program that does not know when its last test ended need not call this: they
/// stop with the process, when their standard input is closed.
pub fn stop_shared() {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner).1.clear();
}

/// Returns the connection string of a live account, if `AZURE_TABLES_CONNECTION_STRING` has one.
pub fn live() -> Option<String> {
    env::var("AZURE_TABLES_CONNECTION_STRING").ok().filter(|text| !text.trim().is_empty())
}

/// Returns the available services by name: Azurite, unless it is off, and a live account, if one is configured.
///
/// # Errors
/// Those of [`shared`], or the live account's connection string is wrong.
pub fn services() -> Result<Vec<(&'static str, AzureBackend)>> {
    let mut services = Vec::new();
    if let Some(azurite) = shared()? {
        services.push(("Azurite", AzureBackend::connect(&azurite)?));
        services.push(("Azurite through the Azure SDK", through_sdk(&azurite)?));
    }
    if let Some(live) = live() {
        services.push(("the live account", AzureBackend::connect(&live).context("AZURE_TABLES_CONNECTION_STRING")?));
    }
    Ok(services)
}

/// Returns a backend that sends requests through a pipeline of the Azure SDK.
///
/// # Errors
/// The connection string has no account, key or endpoint.
pub fn through_sdk(connection_string: &str) -> Result<AzureBackend> {
    let setting = |name: &str| {
        let mut settings = connection_string.split(';').filter_map(|setting| setting.split_once('='));
        let found = settings.find(|(other, _)| *other == name).map(|(_, value)| value.to_owned());
        found.with_context(|| format!("the connection string has no {name}"))
    };
    let account = setting("AccountName")?;
    let credentials = StorageCredentials::access_key(account.clone(), setting("AccountKey")?);
    let builder = AzureBackend::builder(account).endpoint(setting("TableEndpoint")?);
    Ok(builder.sdk(credentials, ClientOptions::default()).build()?)
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Returns the folder in which Azurite is installed for all test programs and runs.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/azurite")
}

/// Returns the file that starts Azurite's table service, after fetching it if it is missing.
fn install() -> Result<PathBuf> {
    let needed = "the tests run on Azurite, which needs Node 20 or newer with npm: install it \
                  (https://nodejs.org), or set TABLE_TESTS_AZURITE=off to go without";
    let node = Command::new("node").arg("--version").stdin(Stdio::null()).output();
    if !node.is_ok_and(|node| node.status.success()) {
        bail!("`node` is not found; {needed}");
    }
    let folder = folder();
    let parent = folder.parent().context("no folder above")?;
    fs::create_dir_all(parent)?;
    // Test programs may run at the same time. One fetches, and the others wait.
    let lock = fs::File::create(parent.join("azurite.lock"))?;
    lock.lock()?;
    let package = folder.join("node_modules/azurite");
    let version = format!("\"version\": \"{VERSION}\"");
    if !fs::read_to_string(package.join("package.json")).is_ok_and(|json| json.contains(&version)) {
        // The folder is renamed when it is complete, so that an interrupted fetch leaves nothing that looks complete.
        let fresh = parent.join("azurite.new");
        remove(&fresh)?;
        fs::create_dir_all(&fresh)?;
        let npm = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" })
            .args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"])
            .arg(&fresh)
            .arg(format!("azurite@{VERSION}"))
            .stdin(Stdio::null())
            .output();
        let npm = npm.with_context(|| format!("`npm` cannot be started; {needed}"))?;
        if !npm.status.success() {
            bail!("`npm install azurite@{VERSION}` failed: {}; {needed}", String::from_utf8_lossy(&npm.stderr).trim());
        }
        remove(&folder)?;
        fs::rename(&fresh, &folder)?;
    }
    Ok(package.join("dist/src/table/main.js"))
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
