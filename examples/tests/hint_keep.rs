//! The example `hint_keep`, a web service, in memory: requests as a client sends them, at times that the test chooses.

#[path = "../examples/hint_keep.rs"]
#[allow(dead_code, reason = "the program has a `main`, and opens its store itself")]
mod example;

use std::{
    cell::Cell,
    collections::BTreeMap,
    future::pending,
    pin::pin,
    sync::{Arc, Mutex},
    task::Poll,
    time::{Duration, SystemTime},
};

use anyhow::{Context as _, Result, ensure};
use argon2::{Algorithm, Argon2, Params, Version};
use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode, header},
};
use futures_util::poll;
use hmac::{Hmac, KeyInit as _};
use serde_json::{Value, json};
use table_runtime::{
    Guid, Tables,
    backend::{BackendExt as _, InMemoryBackend, KeyRange, Partitions, Scan},
    events::Delivered,
    row::{Row, RowRef},
    testing::{Clocked, Counting, PartitionReach, Requests, Run, Schedule, Scheduled, TestTime, for_each_fault},
};
use tokio::task::yield_now;
use tower::ServiceExt as _;
use uuid::Uuid;

use example::{App, Mail, REGISTRATION, RESET, SESSION, Token, User};

const SECOND: Duration = Duration::from_secs(1);
const PASSWORD: &str = "correct horse";

/// The mails that were sent, the last one at the end.
type Mails = Arc<Mutex<Vec<Mail>>>;

/// The service, its store, its time, and the mails that it has sent.
struct World {
    app: App,
    service: Router,
    /// The service whose requests to the store the test grants.
    slow: Router,
    slow_tables: Tables,
    schedule: Schedule,
    store: Arc<InMemoryBackend>,
    tables: Tables,
    time: TestTime,
    requests: Requests,
    mails: Mails,
}

/// An answer of the service.
#[derive(Debug)]
struct Answer {
    status: StatusCode,
    etag: Option<String>,
    body: Value,
}

impl Answer {
    /// Checks the status and the body.
    #[track_caller]
    fn is(self, status: u16, body: Value) {
        assert_eq!((self.status.as_u16(), self.body), (status, body));
    }

    /// Checks the status, and returns the body.
    #[track_caller]
    fn body(self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        self.body
    }

    /// Checks that the request failed in this way.
    #[track_caller]
    fn fails(self, status: u16, error: &str) {
        self.is(status, json!({ "error": error }));
    }

    fn etag(&self) -> String {
        self.etag.clone().expect("an ETag")
    }
}

const NO_SESSION: &str = "log in first";
const NO_TOKEN: &str = "the token is not valid";
const MISSING: &str = "it does not exist";
const CHANGED: &str = "it has changed meanwhile";
const IN_BIN: &str = "`name` is already taken, in the bin";

impl World {
    async fn new() -> Result<Self> {
        let store = Arc::new(InMemoryBackend::new()?);
        // A transaction is one partition, as in an account.
        let (backend, time) = Clocked::new(PartitionReach(Arc::clone(&store)), start());
        let (slow, schedule) = Scheduled::new(backend.clone());
        let (backend, requests) = Counting::new(backend);
        let tables = Tables::new(backend);
        example::create(&tables).await?;
        let (app, mails) = app_of(tables.clone());
        let clock = time.clone();
        let app = App {
            now: Arc::new(move || {
                // No two moments are equal, as on a real clock.
                clock.advance(Duration::from_nanos(100));
                clock.now().into()
            }),
            ..app
        };
        let slow_tables = Tables::new(slow);
        let slow = example::service(App { tables: slow_tables.clone(), ..app.clone() });
        let service = example::service(app.clone());
        Ok(Self { app, service, slow, slow_tables, schedule, store, tables, time, requests, mails })
    }

    /// Sends a request, with the token of a session and the ETag that the client has seen.
    async fn send(&self, request: &str, session: &str, etag: Option<&str>, body: Value) -> Result<Answer> {
        send_to(&self.service, request, session, etag, body).await
    }

    /// Runs `slow`, which uses the slow service or its store, and `meanwhile` before its `n`th request to the store,
    /// counted from 0. Returns both results; the second one is `None` if there is no such request.
    async fn interrupt<S, T>(
        &self,
        slow: impl Future<Output = S>,
        n: usize,
        meanwhile: impl Future<Output = T>,
    ) -> (S, Option<T>) {
        let (mut slow, mut meanwhile, mut done) = (pin!(slow), Some(meanwhile), None);
        let mut granted = 0;
        loop {
            if let Poll::Ready(answer) = poll!(&mut slow) {
                return (answer, done);
            }
            if self.schedule.waiting().is_empty() {
                yield_now().await; // it computes a hash
                continue;
            }
            if granted == n
                && let Some(meanwhile) = meanwhile.take()
            {
                done = Some(meanwhile.await);
            }
            self.schedule.grant(0);
            granted += 1;
        }
    }

    /// Sends a request without a session.
    async fn post(&self, path: &str, body: Value) -> Result<Answer> {
        self.send(&format!("POST {path}"), "", None, body).await
    }

    async fn get(&self, session: &str, path: &str) -> Result<Answer> {
        self.send(&format!("GET {path}"), session, None, Value::Null).await
    }

    /// Returns the token in the mail that was sent last, which went to this address.
    fn token(&self, address: &str) -> String {
        let mails = self.mails.lock().expect("no test panics in it");
        let Mail { to, token, .. } = mails.last().expect("a mail");
        assert_eq!(to, address);
        token.clone()
    }

    /// Sends the mails that are due, as the program does in the background.
    async fn send_mails(&self) -> Result<()> {
        let done = send_mails(&self.app).await?;
        assert_eq!((done.failed, done.waiting), (0, 0));
        Ok(())
    }

    /// Registers an address. Its mail is sent.
    async fn register(&self, email: &str) -> Result<Answer> {
        let answer = self.post("/registrations", json!({ "email": email })).await?;
        self.send_mails().await?;
        Ok(answer)
    }

    /// Asks for a reset. Its mail is sent.
    async fn reset(&self, email: &str) -> Result<Answer> {
        let answer = self.post("/resets", json!({ "email": email })).await?;
        self.send_mails().await?;
        Ok(answer)
    }

    async fn set_password(&self, token: &str, password: &str) -> Result<Answer> {
        self.post("/password", json!({ "token": token, "password": password })).await
    }

    async fn log_in(&self, email: &str, password: &str) -> Result<Answer> {
        self.post("/sessions", json!({ "email": email, "password": password })).await
    }

    /// Registers and activates a user, and returns the token of a session.
    async fn user(&self, email: &str) -> Result<String> {
        self.register(email).await?.is(202, Value::Null);
        self.set_password(&self.token(email), PASSWORD).await?.is(204, Value::Null);
        self.session(email).await
    }

    async fn session(&self, email: &str) -> Result<String> {
        let body = self.log_in(email, PASSWORD).await?.body(201);
        Ok(body["token"].as_str().context("a token")?.to_owned())
    }

    /// Adds an account, and returns its id and its ETag.
    async fn account(&self, session: &str, name: &str) -> Result<(String, String)> {
        let added = self.send("POST /accounts", session, None, json!({ "name": name })).await?;
        let etag = added.etag();
        let body = added.body(201);
        let id = body["id"].as_str().context("an id")?;
        assert_eq!(body, json!({ "id": id, "name": name, "hint": null, "deleted": null }));
        Ok((id.to_owned(), etag))
    }

    /// Returns all rows of a table, also those that no reader sees.
    async fn rows(&self, table: &str) -> Result<Vec<Row>> {
        let (partitions, rows) = (Partitions::ALL, KeyRange::ALL);
        let scan = Scan { table: table.to_owned().into(), partitions, rows, filter: None, select: None, page: 1000 };
        let page = self.store.query(&scan, None).await?;
        Ok(page.rows.iter().map(RowRef::to_row).collect())
    }

    async fn names(&self, session: &str, path: &str) -> Result<Vec<String>> {
        let list = self.get(session, path).await?.body(200);
        let name = |account: &Value| account["name"].as_str().expect("a name").to_owned();
        Ok(list["entities"].as_array().context("a list")?.iter().map(name).collect())
    }
}

fn start() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_hours(500_000)
}

/// Returns what a process has, and the mails that it sends. All have the same key.
fn app_of(tables: Tables) -> (App, Mails) {
    let mails = Mails::default();
    let (clock, sent) = (tables.clone(), Arc::clone(&mails));
    let app = App {
        tables,
        now: Arc::new(move || clock.now().into()),
        mail: Arc::new(move |mail| {
            sent.lock().expect("no test panics in it").push(mail);
            Ok(())
        }),
        key: Hmac::new_from_slice(b"of a test").expect("any length"),
        argon2: Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(8, 1, 1, None).expect("cheap")),
    };
    (app, mails)
}

/// Sends the mails that are due.
async fn send_mails(app: &App) -> table_runtime::Result<Delivered> {
    app.tables.relay().deliver_once(async |event| example::send_token(app, &event).await).await
}

async fn send_to(service: &Router, request: &str, session: &str, etag: Option<&str>, body: Value) -> Result<Answer> {
    let (method, path) = request.split_once(' ').context("a method and a path")?;
    let mut builder = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, "application/json");
    if !session.is_empty() {
        builder = builder.header(header::AUTHORIZATION, format!("Bearer {session}"));
    }
    if let Some(etag) = etag {
        builder = builder.header(header::IF_MATCH, etag);
    }
    let response = service.clone().oneshot(builder.body(Body::from(body.to_string()))?).await?;
    let status = response.status();
    let etag = response.headers().get(header::ETAG).map(|etag| etag.to_str().map(str::to_owned)).transpose()?;
    let bytes = to_bytes(response.into_body(), usize::MAX).await?;
    let body = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes)? };
    Ok(Answer { status, etag, body })
}

#[tokio::test]
async fn a_registration_that_is_not_completed_frees_its_address() -> Result<()> {
    let world = World::new().await?;
    world.register("Ada@x.org").await?.is(202, Value::Null);
    let token = world.token("Ada@x.org");
    world.register("ADA@X.org").await?.fails(409, "`email` is already taken");
    world.log_in("ada@x.org", PASSWORD).await?.fails(401, "the address or the password is wrong");
    world.time.advance(REGISTRATION.saturating_sub(SECOND));
    world.register("ada@x.org").await?.fails(409, "`email` is already taken");
    world.time.advance(SECOND);
    world.set_password(&token, PASSWORD).await?.fails(404, NO_TOKEN);
    world.register("ada@x.org").await?.is(202, Value::Null);
    world.set_password(&token, PASSWORD).await?.fails(404, NO_TOKEN);
    world.set_password(&world.token("ada@x.org"), PASSWORD).await?.is(204, Value::Null);
    // A user with a password does not expire.
    world.time.advance(REGISTRATION * 1000);
    assert!(world.log_in("ADA@x.org", PASSWORD).await?.body(201)["token"].is_string());
    world.register("ada@x.org").await?.fails(409, "`email` is already taken");
    Ok(())
}

#[tokio::test]
async fn of_two_who_register_a_freed_address_one_gets_it() -> Result<()> {
    for step in 0.. {
        let world = World::new().await?;
        world.register("Ada@x.org").await?.is(202, Value::Null);
        world.time.advance(REGISTRATION);
        let slow = send_to(&world.slow, "POST /registrations", "", None, json!({ "email": "ada@x.org" }));
        let (slow, fast) = world.interrupt(slow, step, world.register("ADA@x.org")).await;
        let slow = slow?;
        let Some(fast) = fast else {
            assert!(step > 3, "an insert has steps");
            slow.is(202, Value::Null);
            return Ok(());
        };
        let mut statuses = [slow.status.as_u16(), fast?.status.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [202, 409], "step {step}");
        world.send_mails().await?;
        let address = world.mails.lock().expect("no panic").last().context("a mail")?.to.clone();
        world.set_password(&world.token(&address), PASSWORD).await?.is(204, Value::Null);
        world.log_in("ada@x.org", PASSWORD).await?.body(201);
        assert_eq!(world.mails.lock().expect("no panic").len(), 2);
    }
    Ok(())
}

#[tokio::test]
async fn a_crash_at_any_step_of_a_registration_frees_the_address_in_time() -> Result<()> {
    for step in 0.. {
        let world = World::new().await?;
        let is_stopped = Cell::new(false);
        let stop = async {
            is_stopped.set(true);
            pending::<()>().await;
        };
        let slow = send_to(&world.slow, "POST /registrations", "", None, json!({ "email": "ada@x.org" }));
        let mut running = Box::pin(world.interrupt(slow, step, stop));
        while !is_stopped.get() {
            if let Poll::Ready((answer, _)) = poll!(&mut running) {
                assert!(step >= 3, "an insert has steps");
                answer?.is(202, Value::Null);
                return Ok(());
            }
            yield_now().await;
        }
        drop(running);
        // The user, the token and its event are there, or none is.
        let rows = world.rows("Users").await?;
        let is_committed = |row: &&Row| row.properties.get("IndexPending").is_none();
        assert!([0, 3].contains(&rows.iter().filter(is_committed).count()), "step {step}: {rows:?}");
        world.time.advance(REGISTRATION);
        world.register("Ada@x.org").await?.is(202, Value::Null);
        world.set_password(&world.token("Ada@x.org"), PASSWORD).await?.is(204, Value::Null);
        world.session("ada@x.org").await?;
        example::clean_up(&world.tables).await?;
        world.send_mails().await?;
        for (table, count) in [("Users", 1), ("UsersByEmail", 1)] {
            assert_eq!(world.rows(table).await?.len(), count, "step {step}, {table}");
        }
    }
    Ok(())
}

/// A store in which a transaction is one partition, as in an account. Pauses take no time.
type FaultyStore = Clocked<PartitionReach<Arc<InMemoryBackend>>>;

async fn store_without_pauses() -> Result<FaultyStore> {
    let (store, _) = Clocked::new(PartitionReach(Arc::new(InMemoryBackend::new()?)), start());
    let store = store.skip_pauses();
    example::create(&Tables::new(store.clone())).await?;
    Ok(store)
}

/// Registers an address, and sends the mails that are due. Returns the status of the answer, and the mails.
async fn register_and_send(tables: Tables) -> Result<(u16, Vec<Mail>)> {
    let (app, mails) = app_of(tables);
    let service = example::service(app.clone());
    let answer = send_to(&service, "POST /registrations", "", None, json!({ "email": "ada@x.org" })).await?;
    // If it fails, the next process sends what is left.
    drop(send_mails(&app).await);
    let mails = mails.lock().expect("no panic").clone();
    Ok((answer.status.as_u16(), mails))
}

#[tokio::test]
async fn a_crash_at_any_request_loses_no_mail_and_sends_none_in_vain() -> Result<()> {
    let (sent_twice, left) = (Cell::new(0), Cell::new(0));
    let check = async |run: Run<FaultyStore, Result<(u16, Vec<Mail>)>>| {
        let (status, mut sent) = run.result?;
        let user = User::by_email("ada@x.org").get(&run.tables).await?;
        ensure!(user.is_some() || status != 202, "the client was told of a user who is missing");

        // A new process sends what the first one has left.
        let (app, mails) = app_of(run.tables.clone());
        let done = send_mails(&app).await?;
        ensure!((done.failed, done.waiting) == (0, 0), "{done:?}");
        sent.append(&mut mails.lock().expect("no panic"));
        left.set(left.get() + done.delivered);
        sent_twice.set(sent_twice.get() + usize::from(sent.len() > 1));
        ensure!(sent.is_empty() == user.is_none(), "{} mails, user: {}", sent.len(), user.is_some());
        // The mail service sends one mail, because the id is the same each time. So are the address and the token.
        ensure!(sent.iter().all(|mail| *mail == sent[0]), "{sent:?}");
        ensure!(send_mails(&app).await? == Delivered::default() && mails.lock().expect("no panic").is_empty());

        // Who registers again is registered, or was before. The token in the mail is valid.
        let service = example::service(app.clone());
        let again = send_to(&service, "POST /registrations", "", None, json!({ "email": "ada@x.org" })).await?;
        ensure!(again.status.as_u16() == if user.is_some() { 409 } else { 202 }, "{again:?}");
        send_mails(&app).await?;
        sent.append(&mut mails.lock().expect("no panic"));
        let token = sent.last().context("a mail")?.token.clone();
        let body = json!({ "token": token, "password": PASSWORD });
        send_to(&service, "POST /password", "", None, body).await?.is(204, Value::Null);
        Ok(())
    };
    let failed = for_each_fault(store_without_pauses, register_and_send, check).await?;
    // The requests of the registration, and those of the relay and of the mail.
    assert!(failed >= 50, "{failed}");
    assert!(sent_twice.get() > 0, "no mail was sent before a crash that kept its event");
    assert!(left.get() > sent_twice.get(), "no crash left a mail to the next process");
    Ok(())
}

#[tokio::test]
async fn a_mail_that_cannot_be_sent_is_sent_later_under_the_same_id() -> Result<()> {
    let tables = Tables::new(store_without_pauses().await?);
    let (app, _) = app_of(tables.clone());
    // A mail service that has an id already answers as the first time. Twice it gets a mail, and its answer is lost.
    let (accepted, asked) = (Arc::new(Mutex::new(BTreeMap::<Guid, Mail>::new())), Arc::new(Mutex::new(0)));
    let (known, count) = (Arc::clone(&accepted), Arc::clone(&asked));
    let mail = move |mail: Mail| {
        known.lock().expect("no panic").insert(mail.id, mail);
        *count.lock().expect("no panic") += 1;
        ensure!(*count.lock().expect("no panic") > 2, "no connection");
        Ok(())
    };
    let app = App { mail: Arc::new(mail), ..app };
    let service = example::service(app.clone());
    let body = json!({ "email": "ada@x.org" });
    send_to(&service, "POST /registrations", "", None, body).await?.is(202, Value::Null);
    let began = tables.now();
    let done = send_mails(&app).await?;
    assert_eq!((done.delivered, done.failed, done.waiting), (1, 0, 0));
    assert_eq!(tables.now().duration_since(began)?, Duration::from_secs(3), "pauses of 1 and 2 seconds");
    assert_eq!((*asked.lock().expect("no panic"), accepted.lock().expect("no panic").len()), (3, 1));
    Ok(())
}

#[tokio::test]
async fn a_token_that_is_no_longer_valid_is_not_sent() -> Result<()> {
    let world = World::new().await?;
    world.user("ada@x.org").await?;
    let count = || world.mails.lock().expect("no panic").len();
    let before = count();
    // The second one replaces the first one.
    for _ in 0..2 {
        world.post("/resets", json!({ "email": "ada@x.org" })).await?.is(202, Value::Null);
    }
    world.send_mails().await?;
    assert_eq!(count(), before + 1);
    world.set_password(&world.token("ada@x.org"), PASSWORD).await?.is(204, Value::Null);
    world.post("/resets", json!({ "email": "ada@x.org" })).await?.is(202, Value::Null);
    world.time.advance(RESET);
    world.send_mails().await?;
    assert_eq!(count(), before + 1, "a used and an expired token");
    assert_eq!(world.tables.relay::<Token>().failed().await?.len(), 0);
    Ok(())
}

#[tokio::test]
async fn a_token_activates_once() -> Result<()> {
    let world = World::new().await?;
    world.register("no address").await?.fails(422, "it is no address");
    world.register("ada@x.org").await?.is(202, Value::Null);
    let token = world.token("ada@x.org");
    let (user, _) = token.split_once('.').context("two parts")?;
    let guessed = format!("{user}.{}", "0".repeat(32));
    for wrong in ["", "x.y", &guessed] {
        world.set_password(wrong, PASSWORD).await?.fails(404, NO_TOKEN);
    }
    world.set_password(&token, "short").await?.fails(422, "a password has 8 characters at least");
    world.set_password(&token, PASSWORD).await?.is(204, Value::Null);
    world.set_password(&token, PASSWORD).await?.fails(404, NO_TOKEN);
    Ok(())
}

#[tokio::test]
async fn of_two_requests_with_one_token_one_succeeds() -> Result<()> {
    for step in 0.. {
        let world = World::new().await?;
        world.register("ada@x.org").await?.is(202, Value::Null);
        let token = world.token("ada@x.org");
        let body = json!({ "token": token, "password": "the slow one" });
        let slow = send_to(&world.slow, "POST /password", "", None, body);
        let (slow, fast) = world.interrupt(slow, step, world.set_password(&token, "the fast one")).await;
        let slow = slow?;
        let Some(fast) = fast else {
            slow.is(204, Value::Null);
            return Ok(());
        };
        let (winner, loser) = match (slow.status.as_u16(), fast?.status.as_u16()) {
            (204, 404) => ("the slow one", "the fast one"),
            (404, 204) => ("the fast one", "the slow one"),
            other => panic!("step {step}: {other:?}"),
        };
        world.log_in("ada@x.org", winner).await?.body(201);
        world.log_in("ada@x.org", loser).await?.fails(401, "the address or the password is wrong");
    }
    Ok(())
}

#[tokio::test]
async fn each_request_prolongs_a_session() -> Result<()> {
    let world = World::new().await?;
    world.get("", "/accounts").await?.fails(401, NO_SESSION);
    world.get("nonsense", "/accounts").await?.fails(401, NO_SESSION);
    let session = world.user("ada@x.org").await?;
    let empty = json!({ "entities": [], "next": null });
    for _ in 0..5 {
        world.time.advance(SESSION.saturating_sub(SECOND));
        world.get(&session, "/accounts").await?.is(200, empty.clone());
    }
    // A session is that of its own token only.
    let other = world.session("ada@x.org").await?;
    world.time.advance(SESSION.saturating_sub(SECOND));
    world.get(&other, "/accounts").await?.is(200, empty.clone());
    world.time.advance(SECOND);
    world.get(&session, "/accounts").await?.fails(401, NO_SESSION);
    world.get(&session, "/accounts").await?.fails(401, NO_SESSION);
    world.send("DELETE /session", &other, None, Value::Null).await?.is(204, Value::Null);
    world.get(&other, "/accounts").await?.fails(401, NO_SESSION);
    world.send("DELETE /session", &other, None, Value::Null).await?.fails(401, NO_SESSION);
    Ok(())
}

#[tokio::test]
async fn a_reset_works_once_and_in_time() -> Result<()> {
    let world = World::new().await?;
    world.user("ada@x.org").await?;
    let reset = async |email| world.reset(email).await;
    let sent = world.mails.lock().expect("no panic").len();
    reset("eve@x.org").await?.is(202, Value::Null);
    assert_eq!(world.mails.lock().expect("no panic").len(), sent, "the address is unknown");

    reset("ADA@x.org").await?.is(202, Value::Null);
    let late = world.token("ada@x.org");
    world.time.advance(RESET);
    world.set_password(&late, "a new password").await?.fails(404, NO_TOKEN);

    reset("ada@x.org").await?.is(202, Value::Null);
    let replaced = world.token("ada@x.org");
    reset("ada@x.org").await?.is(202, Value::Null);
    let token = world.token("ada@x.org");
    world.time.advance(RESET.saturating_sub(SECOND));
    let session = world.session("ada@x.org").await?;
    world.get(&session, "/bin").await?.body(200);
    world.set_password(&replaced, "a new password").await?.fails(404, NO_TOKEN);
    world.set_password(&token, "a new password").await?.is(204, Value::Null);
    world.set_password(&token, "another password").await?.fails(404, NO_TOKEN);
    // The sessions have ended, and the old password is no longer valid.
    world.get(&session, "/bin").await?.fails(401, NO_SESSION);
    world.log_in("ada@x.org", PASSWORD).await?.fails(401, "the address or the password is wrong");
    world.log_in("ada@x.org", "a new password").await?.body(201);
    Ok(())
}

#[tokio::test]
async fn names_are_unique_for_each_user_regardless_of_case() -> Result<()> {
    let world = World::new().await?;
    let (ada, eve) = (world.user("ada@x.org").await?, world.user("eve@x.org").await?);
    let (shop, etag) = world.account(&ada, "Shop").await?;
    for name in ["bank", "Post"] {
        world.account(&ada, name).await?;
    }
    world.account(&eve, "shop").await?;
    let again = json!({ "name": "SHOP" });
    world.send("POST /accounts", &ada, None, again.clone()).await?.fails(409, "`name` is already taken");
    assert_eq!(world.names(&ada, "/accounts").await?, ["bank", "Post", "Shop"]);

    // A page, and the next one.
    let first = world.get(&ada, "/accounts?size=2").await?.body(200);
    let next = first["next"].as_str().context("a cursor")?;
    assert_eq!(world.names(&ada, &format!("/accounts?size=2&cursor={next}")).await?, ["Shop"]);
    world.get(&ada, &format!("/bin?cursor={next}")).await?.fails(400, "the cursor is not valid here");

    // A rename takes the version that the client has seen, and returns the next one.
    let path = format!("/accounts/{shop}");
    let read = world.get(&ada, &path).await?;
    assert_eq!(read.etag(), etag);
    read.is(200, json!({ "id": shop, "name": "Shop", "hint": null, "deleted": null }));
    let rename = async |etag, name| world.send(&format!("PUT {path}"), &ada, etag, json!({ "name": name })).await;
    rename(None, "x").await?.fails(428, "If-Match is missing");
    rename(Some("*"), "x").await?.fails(400, "If-Match is not an ETag");
    rename(Some(&etag), "POST").await?.fails(409, "`name` is already taken");
    let renamed = rename(Some(&etag), "SHOP").await?;
    let newer = renamed.etag();
    renamed.is(200, json!({ "id": shop, "name": "SHOP", "hint": null, "deleted": null }));
    rename(Some(&etag), "stale").await?.fails(412, CHANGED);
    world.send(&format!("DELETE {path}"), &ada, Some(&etag), Value::Null).await?.fails(412, CHANGED);
    rename(Some(&newer), "Store").await?.body(200);
    world.account(&ada, "shop").await?;

    // Nobody else finds an account.
    world.get(&eve, &path).await?.fails(404, MISSING);
    let foreign = world.send(&format!("PUT {path}"), &eve, Some(&newer), json!({ "name": "mine" })).await?;
    foreign.fails(404, MISSING);
    Ok(())
}

#[tokio::test]
async fn an_account_in_the_bin_keeps_its_name_until_it_is_deleted() -> Result<()> {
    let world = World::new().await?;
    let session = world.user("ada@x.org").await?;
    let (shop, etag) = world.account(&session, "Shop").await?;
    let (bank, _) = world.account(&session, "Bank").await?;
    let (path, bin) = (format!("/accounts/{shop}"), format!("/bin/{shop}"));
    let send = async |request: String, etag| world.send(&request, &session, etag, Value::Null).await;
    for number in 0..200 {
        let hint = json!({ "text": format!("hint {number}") });
        world.send(&format!("POST {path}/hints"), &session, None, hint).await?.body(201);
    }
    send(format!("DELETE {path}"), Some(&etag)).await?.fails(412, CHANGED);
    let etag = world.get(&session, &path).await?.etag();
    send(format!("DELETE {bin}"), Some(&etag)).await?.fails(404, MISSING);
    let binned = send(format!("DELETE {path}"), Some(&etag)).await?;
    let binned_etag = binned.etag();
    assert!(binned.body(200)["deleted"].as_str().context("a time")?.starts_with("2027-01-15T"));

    // It is only in the bin.
    assert_eq!(world.names(&session, "/accounts").await?, ["Bank"]);
    let list = world.get(&session, "/bin").await?.body(200);
    assert_eq!((&list["entities"][0]["etag"], &list["entities"][0]["id"]), (&json!(binned_etag), &json!(shop)));
    world.get(&session, &path).await?.fails(404, MISSING);
    world.get(&session, &format!("{path}/hints")).await?.fails(404, MISSING);
    world.send(&format!("POST {path}/hints"), &session, None, json!({ "text": "x" })).await?.fails(404, MISSING);
    send(format!("DELETE {path}"), Some(&binned_etag)).await?.fails(404, MISSING);

    // Its name stays taken, and the answer says by whom.
    world.send("POST /accounts", &session, None, json!({ "name": "shop" })).await?.fails(409, IN_BIN);
    let seen = world.get(&session, &format!("/accounts/{bank}")).await?.etag();
    world
        .send(&format!("PUT /accounts/{bank}"), &session, Some(&seen), json!({ "name": "SHOP" }))
        .await?
        .fails(409, IN_BIN);

    // Restored, it is as it was.
    send(format!("POST /bin/{bank}/restore"), None).await?.fails(404, MISSING);
    let restored = send(format!("POST {bin}/restore"), None).await?;
    let etag = restored.etag();
    restored.is(200, json!({ "id": shop, "name": "Shop", "hint": "hint 199", "deleted": null }));
    send(format!("POST {bin}/restore"), None).await?.fails(404, MISSING);
    assert_eq!(world.names(&session, "/accounts").await?, ["Bank", "Shop"]);
    assert_eq!(world.names(&session, "/bin").await?, [""; 0]);

    // Deleted for good, it is gone with its hints, and its name is free.
    let binned = send(format!("DELETE {path}"), Some(&etag)).await?.etag();
    send(format!("DELETE {bin}"), Some(&binned_etag)).await?.fails(412, CHANGED);
    send(format!("DELETE {bin}"), None).await?.fails(428, "If-Match is missing");
    send(format!("DELETE {bin}"), Some(&binned)).await?.is(204, Value::Null);
    send(format!("DELETE {bin}"), Some(&binned)).await?.fails(404, MISSING);
    send(format!("POST {bin}/restore"), None).await?.fails(404, MISSING);
    world.account(&session, "shop").await?;
    assert_eq!(world.rows("Accounts").await?.len(), 4, "two accounts, and the index rows of their names");
    Ok(())
}

#[tokio::test]
async fn an_account_that_is_restored_while_it_is_deleted_stays() -> Result<()> {
    for step in 0.. {
        let world = World::new().await?;
        let session = world.user("ada@x.org").await?;
        let (id, _) = world.account(&session, "Shop").await?;
        let (path, bin) = (format!("/accounts/{id}"), format!("/bin/{id}"));
        for number in 0..200 {
            let hint = json!({ "text": number.to_string() });
            world.send(&format!("POST {path}/hints"), &session, None, hint).await?.body(201);
        }
        let etag = world.get(&session, &path).await?.etag();
        let etag = world.send(&format!("DELETE {path}"), &session, Some(&etag), Value::Null).await?.etag();
        let (delete, restore) = (format!("DELETE {bin}"), format!("POST {bin}/restore"));
        let deletion = send_to(&world.slow, &delete, &session, Some(&etag), Value::Null);
        let restoration = world.send(&restore, &session, None, Value::Null);
        let (deleted, restored) = world.interrupt(deletion, step, restoration).await;
        let deleted = deleted?;
        let Some(restored) = restored else {
            assert!(step > 4, "it takes three transactions");
            deleted.is(204, Value::Null);
            assert_eq!(world.rows("Accounts").await?.len(), 0);
            return Ok(());
        };
        restored?.body(200);
        assert!([404, 412].contains(&deleted.status.as_u16()), "{deleted:?}");
        // What was deleted before are the oldest hints.
        let hints = pages(&world, &session, &path, 100).await?.concat();
        let newest: Vec<_> = (0..200).rev().take(hints.len()).map(|number| number.to_string()).collect();
        assert!(hints.len() >= 90 && hints == newest, "{hints:?}");
        assert_eq!(world.get(&session, &path).await?.body(200)["hint"], "199");
    }
    Ok(())
}

#[tokio::test]
async fn a_hint_and_the_latest_one_of_its_account_are_one_write() -> Result<()> {
    let world = World::new().await?;
    let session = world.user("ada@x.org").await?;
    let (shop, etag) = world.account(&session, "Shop").await?;
    let (path, hints) = (format!("/accounts/{shop}"), format!("/accounts/{shop}/hints"));
    let add = async |text: String| world.send(&format!("POST {hints}"), &session, None, json!({ "text": text })).await;
    for number in 1..=5 {
        world.requests.take();
        let added = add(format!("hint {number}")).await?;
        assert!(added.etag.is_some());
        assert_eq!(added.body(201)["text"], json!(format!("hint {number}")));
        assert_eq!(world.requests.take().executes, 2, "of the session, and of the account with its hint");
        world.time.advance(SECOND);
    }
    // What is refused leaves neither.
    add("x".repeat(40_000)).await?.fails(400, "it is too large");
    let read = world.get(&session, &path).await?;
    assert_ne!(read.etag(), etag, "a hint is a new version of the account");
    assert_eq!(read.body(200)["hint"], "hint 5");
    let [first, second, third] = [["hint 5", "hint 4"].as_slice(), &["hint 3", "hint 2"], &["hint 1"]];
    assert_eq!(pages(&world, &session, &path, 2).await?, [first, second, third]);
    Ok(())
}

/// Reads pages of hints, the newest first.
async fn pages(world: &World, session: &str, path: &str, size: usize) -> Result<Vec<Vec<String>>> {
    let (mut pages, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = world.get(session, &format!("{path}/hints?size={size}{cursor}")).await?.body(200);
        let text = |hint: &Value| hint["text"].as_str().expect("a text").to_owned();
        pages.push(page["entities"].as_array().context("a list")?.iter().map(text).collect());
        let Some(next) = page["next"].as_str() else { return Ok(pages) };
        cursor = format!("&cursor={next}");
    }
}

#[tokio::test]
async fn a_hint_that_is_added_while_its_account_changes_is_the_latest_one() -> Result<()> {
    for step in 0.. {
        let world = World::new().await?;
        let session = world.user("ada@x.org").await?;
        let path = format!("/accounts/{}", world.account(&session, "Shop").await?.0);
        let request = format!("POST {path}/hints");
        let slow = send_to(&world.slow, &request, &session, None, json!({ "text": "slow" }));
        let fast = world.send(&request, &session, None, json!({ "text": "fast" }));
        let (slow, fast) = world.interrupt(slow, step, fast).await;
        slow?.body(201);
        let Some(fast) = fast else { return Ok(()) };
        fast?.body(201);
        assert_eq!(pages(&world, &session, &path, 100).await?, [["slow", "fast"]]);
        assert_eq!(world.get(&session, &path).await?.body(200)["hint"], "slow");
    }
    Ok(())
}

#[tokio::test]
async fn cleaning_up_removes_the_rows_of_what_has_expired() -> Result<()> {
    let world = World::new().await?;
    let session = world.user("ada@x.org").await?;
    world.session("ada@x.org").await?;
    world.register("eve@x.org").await?.is(202, Value::Null);
    world.account(&session, "Shop").await?;
    let (bank, etag) = world.account(&session, "Bank").await?;
    world.send(&format!("DELETE /accounts/{bank}"), &session, Some(&etag), Value::Null).await?.body(200);
    let counts = async || -> Result<Vec<usize>> {
        // The events of tokens are rows too.
        world.send_mails().await?;
        let mut counts = Vec::new();
        for table in ["Users", "UsersByEmail", "Sessions", "Accounts"] {
            counts.push(world.rows(table).await?.len());
        }
        Ok(counts)
    };
    assert_eq!(counts().await?, [3, 2, 2, 4]);
    assert_eq!(example::clean_up(&world.tables).await?, 0);
    world.time.advance(SESSION);
    assert_eq!(example::clean_up(&world.tables).await?, 2, "the sessions");
    assert_eq!(counts().await?, [3, 2, 0, 4]);
    world.time.advance(REGISTRATION);
    assert_eq!(example::clean_up(&world.tables).await?, 2, "Eve, and the token that she did not use");
    assert_eq!(counts().await?, [1, 1, 0, 4], "the bin stays");
    assert_eq!(world.names(&world.session("ada@x.org").await?, "/bin").await?, ["Bank"]);
    Ok(())
}

#[tokio::test]
async fn cleaning_up_leaves_an_address_to_the_next_user_who_registers_it() -> Result<()> {
    for step in 0.. {
        let world = World::new().await?;
        world.register("ada@x.org").await?.is(202, Value::Null);
        world.time.advance(REGISTRATION);
        let (cleaned, registered) =
            world.interrupt(example::clean_up(&world.slow_tables), step, world.register("Ada@x.org")).await;
        cleaned?;
        let Some(registered) = registered else {
            assert!(step > 3, "it has steps");
            return Ok(());
        };
        registered?.is(202, Value::Null);
        world.register("ADA@x.org").await?.fails(409, "`email` is already taken");
        world.set_password(&world.token("Ada@x.org"), PASSWORD).await?.is(204, Value::Null);
        assert_eq!(example::clean_up(&world.tables).await?, 0);
        world.send_mails().await?;
        for table in ["Users", "UsersByEmail"] {
            assert_eq!(world.rows(table).await?.len(), 1, "step {step}, {table}");
        }
        world.session("ada@x.org").await?;
    }
    Ok(())
}

#[tokio::test]
async fn rows_contain_no_secret() -> Result<()> {
    let world = World::new().await?;
    let session = world.user("ada@x.org").await?;
    world.post("/resets", json!({ "email": "ada@x.org" })).await?.is(202, Value::Null);
    let due = world.rows("Users").await?;
    world.send_mails().await?;
    let mut secrets = vec![PASSWORD.to_owned()];
    for text in [session, world.token("ada@x.org")] {
        let secret: Uuid = text.split_once('.').context("two parts")?.1.parse()?;
        secrets.extend([secret.simple().to_string(), secret.hyphenated().to_string()]);
    }
    // Before the mail was sent, there are also the events of the token that was used, and of the new one.
    for (rows, count) in [(due, 4), (world.rows("Users").await?, 2), (world.rows("Sessions").await?, 1)] {
        assert_eq!(rows.len(), count, "{rows:?}");
        let rows = format!("{rows:?}");
        assert!(secrets.iter().all(|secret| !rows.contains(secret)), "{rows}");
    }
    Ok(())
}
