//! Secrets are never printed: not by `Debug`, not in errors, and not in traces of any level of any crate.

use std::{
    borrow::Cow,
    cell::RefCell,
    error::Error,
    fmt::Write as _,
    io,
    sync::{
        Arc, LazyLock, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, SystemTime},
};

use anyhow::Result;
use table_runtime::{
    ETag, Ticks, Value,
    backend::{
        AccessToken, Action, AzureBackend, AzureBuilder, BackendExt, Group, IfMatch, KeyRange, Operation, Partitions,
        Scan,
        sdk::{azure_core::ClientOptions, azure_storage::StorageCredentials},
    },
    row::Properties,
};
use tests::scripted::{Answer, Scripted, Step};
use tracing_subscriber::filter::LevelFilter;

/// Account key in base64.
const KEY: &str = "czNjcjN0czNjcjN0";
const SIGNATURE: &str = "s3cr3tS1gnatur3";
const TOKEN: &str = "s3cr3tT0k3n";
/// Identifier that the service gives a request.
const SERVICE_ID: &str = "1b2c3d4e-5002-0011-8a7b-0123456789ab";
/// Key and value of a row.
const ROW_KEY: &str = "k3yOfARow";
const VALUE: &str = "valu3OfAProperty";

/// The log of a credential. Its clones are the same log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

thread_local! {
    /// The log of the messages of this thread.
    static LOG: RefCell<Option<Log>> = const { RefCell::new(None) };
}

/// The log of the threads that have none, such as those that a crate starts.
static OTHERS: LazyLock<Log> = LazyLock::new(Log::default);

impl Log {
    /// Returns the log of this thread.
    fn of_this_thread() -> Self {
        LOG.with_borrow(Clone::clone).unwrap_or_else(|| OTHERS.clone())
    }

    fn text(&self) -> String {
        let log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&log).into_owned()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the next token of a source: the first one has to be refreshed soon, then comes an error, and then a token for
/// an hour.
fn next_token(calls: &AtomicUsize) -> Result<AccessToken, Box<dyn Error + Send + Sync>> {
    let valid = match calls.fetch_add(1, Ordering::Relaxed) {
        0 => Duration::from_millis(500),
        1 => return Err("the login has expired".into()),
        _ => Duration::from_hours(1),
    };
    Ok(AccessToken::new(TOKEN, SystemTime::now() + valid))
}

/// Returns the ways in which the server answers.
fn steps() -> [Step; 5] {
    [
        Answer::new(204).header("ETag", "x").into(),
        Answer::new(403)
            .header("x-ms-request-id", SERVICE_ID)
            .body("<Error><Code>AuthenticationFailed</Code></Error>")
            .into(),
        Answer::new(503).json(r#"{"odata.error":{"code":"ServerBusy"}}"#).into(),
        Step::ReadAndClose,
        Answer::new(200).after(Duration::from_secs(1)).into(),
    ]
}

/// A way in which requests are authorized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Credential {
    Key,
    Sas,
    Token,
    /// An account key that the Azure SDK signs with.
    Sdk,
}

impl Credential {
    fn builder(self, endpoint: String) -> Result<AzureBuilder> {
        Ok(match self {
            Self::Key => AzureBackend::builder("acc").endpoint(endpoint).access_key(KEY),
            Self::Sas => AzureBuilder::from_connection_string(&format!(
                "TableEndpoint={endpoint};SharedAccessSignature=sv=2019-02-02&sig={SIGNATURE}"
            ))?,
            Self::Sdk => {
                let credentials = StorageCredentials::access_key("acc", KEY.to_owned());
                AzureBackend::builder("acc").endpoint(endpoint).sdk(credentials, ClientOptions::default())
            }
            Self::Token => {
                let calls = AtomicUsize::new(0);
                let source = move || std::future::ready(next_token(&calls));
                AzureBackend::builder("acc").endpoint(endpoint).token_source(source)
            }
        })
    }
}

/// Sends every kind of request and gets the answer of a step. Returns the texts of all errors and `Debug` outputs.
async fn use_it(server: &Scripted, builder: AzureBuilder, step: &Step) -> Result<String> {
    let mut shown = format!("{builder:?} {builder:#?}");
    let service = builder.timeout(Duration::from_millis(100)).max_attempts(2).build()?;
    write!(shown, "{service:?} {service:#?}")?;
    let properties = Properties::from_iter([("Property", Value::String(VALUE.to_owned()))]);
    let actions = [
        Action::Insert(properties.clone()),
        Action::Upsert(properties.clone()),
        Action::Merge(properties.clone(), IfMatch::Any),
        Action::Replace(properties.clone(), IfMatch::ETag(ETag::from(Ticks::UNIX_EPOCH))),
        Action::Delete(IfMatch::Any),
    ];
    let operations = |actions: &[Action]| {
        let operations = actions.iter().enumerate();
        operations
            .map(|(n, action)| Operation { row_key: format!("{ROW_KEY}{n}"), action: action.clone() })
            .collect::<Vec<_>>()
    };
    let mut groups: Vec<_> = actions.iter().map(|action| operations(std::slice::from_ref(action))).collect();
    groups.push(operations(&actions));
    let scan = Scan {
        table: Cow::Borrowed("Posts"),
        partitions: Partitions::One(ROW_KEY.to_owned()),
        rows: KeyRange::ALL,
        filter: None,
        select: None,
        page: 1000,
    };
    let again = || {
        server.clear();
        server.then(step.clone()).then(step.clone());
    };
    for operations in &groups {
        again();
        let group = Group { table: "Posts".into(), partition_key: "p".to_owned(), operations: operations.clone() };
        let answer = service.execute_group(&group).await;
        // An error may name the row, which its writer knows.
        write!(shown, "{answer:?} {}", answer.as_ref().err().map(ToString::to_string).unwrap_or_default())?;
    }
    again();
    write!(shown, "{:?}", service.get("Posts", "p", ROW_KEY, None).await)?;
    again();
    write!(shown, "{:?}", service.query(&scan, None).await)?;
    again();
    write!(shown, "{:?}", service.list_tables("Po").await)?;
    again();
    write!(shown, "{:?}", service.create_table("Posts").await)?;
    again();
    write!(shown, "{:?}", service.delete_table("Posts").await)?;
    Ok(shown)
}

/// Returns the signature of each request.
fn signatures(server: &Scripted) -> Vec<String> {
    let requests = server.requests();
    let headers = requests.iter().filter_map(|request| request.header("Authorization"));
    headers.filter_map(|header| header.split(':').nth(1)).map(str::to_owned).collect()
}

/// Uses a server that answers with this step. Returns what was shown, and the secrets of the requests.
fn run(credential: Credential, step: &Step) -> Result<(String, Vec<String>)> {
    // All tasks run on this thread.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = Scripted::start().await?;
        let shown = use_it(&server, credential.builder(server.endpoint())?, step).await?;
        Ok((shown, signatures(&server)))
    })
}

/// Checks what was shown and logged with a credential.
fn check(credential: Credential) -> Result<()> {
    let log = Log::default();
    let steps = steps();
    // The requests mostly wait. Each step has a thread, whose log is that of the credential.
    let ran = thread::scope(|scope| {
        let threads = steps.each_ref().map(|step| {
            let log = log.clone();
            scope.spawn(move || {
                LOG.set(Some(log));
                run(credential, step)
            })
        });
        threads.map(|thread| thread.join().expect("no panic"))
    });
    let (mut shown, mut signatures) = (String::new(), Vec::new());
    for ran in ran {
        let (text, signed) = ran?;
        shown += &text;
        signatures.extend(signed);
    }
    let log = log.text();
    let is_key = matches!(credential, Credential::Key | Credential::Sdk);
    assert_eq!(signatures.len() > 30, is_key, "requests were signed");
    let mut secrets = vec![KEY.to_owned(), SIGNATURE.to_owned(), TOKEN.to_owned()];
    secrets.extend(signatures);
    let others = OTHERS.text();
    for secret in &secrets {
        assert!(!shown.contains(secret), "{credential:?}: {shown}");
        let line = log.lines().chain(others.lines()).find(|line| line.contains(secret.as_str()));
        assert_eq!(line, None, "{credential:?}");
    }
    // The log has no keys, values and addresses of rows either.
    for data in [ROW_KEY, VALUE, "PartitionKey="] {
        assert_eq!(log.lines().chain(others.lines()).find(|line| line.contains(data)), None, "{credential:?}");
    }
    // The log has the expected messages.
    let request_id = format!("request_id=\"{SERVICE_ID}\"");
    let ours: Vec<_> = log.lines().filter(|line| line.contains("table_runtime::backend::azure")).collect();
    for (field, count) in [
        ("table=\"Posts\"", 60),
        ("operation=\"transaction\"", 5),
        ("attempt=2", 10),
        ("status=403", 9),
        ("client_request_id=", 60),
        (&request_id, 9),
        ("duration=", 60),
    ] {
        let found = ours.iter().filter(|line| line.contains(field)).count();
        assert!(found >= count, "{credential:?}, {field}: {found} of {}", ours.len());
    }
    let tokens = ["a token was received", "no token was received", "the login has expired"];
    let logged = tokens.map(|text| ours.iter().any(|line| line.contains(text)));
    assert_eq!(logged, [credential == Credential::Token; 3], "{credential:?}");
    Ok(())
}

// There is only one test, since a program has only one subscriber.
#[test]
fn secrets_are_never_printed() -> Result<()> {
    // The logs have all messages of all crates, through `tracing` or `log`.
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_ansi(false)
        .with_writer(Log::of_this_thread)
        .init();
    let credentials = [Credential::Key, Credential::Sas, Credential::Token, Credential::Sdk];
    thread::scope(|scope| {
        let threads = credentials.map(|credential| scope.spawn(move || check(credential)));
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })
}
