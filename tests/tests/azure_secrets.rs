//! Secrets are never printed: not by `Debug`, not in errors, and not in traces of any level of any crate.

use std::{
    borrow::Cow,
    error::Error,
    fmt::Write as _,
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use anyhow::Result;
use table_runtime::{
    ETag, Properties, Ticks, Value,
    backend::{
        AccessToken, Action, AzureBackend, AzureBuilder, Backend, Group, IfMatch, KeyRange, Operation, Partitions, Scan,
    },
};
use tests::scripted::{Answer, Scripted, Step};
use tracing_subscriber::filter::LevelFilter;

/// Account key in base64.
const KEY: &str = "czNjcjN0czNjcjN0";
const SIGNATURE: &str = "s3cr3tS1gnatur3";
const TOKEN: &str = "s3cr3tT0k3n";
/// Key and value of a row.
const ROW_KEY: &str = "k3yOfARow";
const VALUE: &str = "valu3OfAProperty";

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn take(&self) -> String {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&std::mem::take(&mut *log)).into_owned()
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

/// Returns a token that has to be refreshed soon, then an error, and then a token for an hour.
async fn token() -> Result<AccessToken, Box<dyn Error + Send + Sync>> {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let valid = match CALLS.fetch_add(1, Ordering::Relaxed) {
        0 => Duration::from_millis(500),
        1 => return Err("the login has expired".into()),
        _ => Duration::from_secs(3600),
    };
    Ok(AccessToken::new(TOKEN, SystemTime::now() + valid))
}

/// Sends every kind of request and gets every kind of answer. Returns the texts of all errors and `Debug` outputs.
async fn use_it(server: &Scripted, builder: AzureBuilder) -> Result<String> {
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
    let steps: [Step; 5] = [
        Answer::new(204).header("ETag", "x").into(),
        Answer::new(403).body("<Error><Code>AuthenticationFailed</Code></Error>").into(),
        Answer::new(503).json(r#"{"odata.error":{"code":"ServerBusy"}}"#).into(),
        Step::ReadAndClose,
        Answer::new(200).after(Duration::from_secs(1)).into(),
    ];
    let scan = Scan {
        table: Cow::Borrowed("Posts"),
        partitions: Partitions::One(ROW_KEY.to_owned()),
        rows: KeyRange::ALL,
        filter: None,
        select: None,
        page: 1000,
    };
    for step in steps {
        let again = || {
            server.clear();
            server.then(step.clone()).then(step.clone());
        };
        for operations in &groups {
            again();
            let group = Group { table: "Posts".into(), partition_key: "p".to_owned(), operations: operations.clone() };
            let answer = service.execute(&group).await;
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
    }
    Ok(shown)
}

/// Returns the signature of each request.
fn signatures(server: &Scripted) -> Vec<String> {
    let requests = server.requests();
    let headers = requests.iter().filter_map(|request| request.header("Authorization"));
    headers.filter_map(|header| header.split(':').nth(1)).map(str::to_owned).collect()
}

// There is only one test, since a program has only one subscriber.
#[tokio::test]
async fn secrets_are_never_printed() -> Result<()> {
    let log = Log::default();
    let writer = log.clone();
    // The log has all messages of all crates, through `tracing` or `log`.
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .init();

    for credential in ["key", "sas", "token"] {
        let server = Scripted::start().await?;
        let endpoint = server.endpoint();
        let builder = match credential {
            "key" => AzureBackend::builder("acc").endpoint(endpoint).access_key(KEY),
            "sas" => AzureBuilder::from_connection_string(&format!(
                "TableEndpoint={endpoint};SharedAccessSignature=sv=2019-02-02&sig={SIGNATURE}"
            ))?,
            _ => AzureBackend::builder("acc").endpoint(endpoint).token_source(token),
        };
        let shown = use_it(&server, builder).await?;
        let log = log.take();
        let mut secrets = vec![KEY.to_owned(), SIGNATURE.to_owned(), TOKEN.to_owned()];
        let signatures = signatures(&server);
        assert_eq!(signatures.len() > 30, credential == "key", "requests were signed");
        secrets.extend(signatures);
        for secret in &secrets {
            assert!(!shown.contains(secret), "{credential}: {shown}");
            let line = log.lines().find(|line| line.contains(secret.as_str()));
            assert_eq!(line, None, "{credential}");
        }
        // The log has no keys, values and addresses of rows either.
        for data in [ROW_KEY, VALUE, "PartitionKey="] {
            assert_eq!(log.lines().find(|line| line.contains(data)), None, "{credential}");
        }
        // The log has the expected messages.
        let ours: Vec<_> = log.lines().filter(|line| line.contains("table_runtime::backend::azure")).collect();
        for (field, count) in [
            ("table=\"Posts\"", 60),
            ("operation=\"transaction\"", 5),
            ("attempt=2", 10),
            ("status=403", 9),
            ("duration=", 60),
        ] {
            let found = ours.iter().filter(|line| line.contains(field)).count();
            assert!(found >= count, "{field}: {found} of {}", ours.len());
        }
        let tokens = ["a token was received", "no token was received", "the login has expired"];
        let logged = tokens.map(|text| ours.iter().any(|line| line.contains(text)));
        assert_eq!(logged, [credential == "token"; 3], "{credential}");
    }
    Ok(())
}
