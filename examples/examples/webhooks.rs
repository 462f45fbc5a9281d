//! A service that calls the webhooks of its tenants: a message that a tenant publishes is sent to each of its endpoints.
//!
//! ```sh
//! cargo run -p examples --features webhooks --example webhooks -- webhooks.tables
//! curl localhost:8080/acme/endpoints -H 'Content-Type: application/json' -d '{"url":"http://localhost:9000/"}'
//! curl localhost:8080/acme/messages -H 'Content-Type: application/json' -d '{"id":"m1","body":{"paid":7}}'
//! curl localhost:8080/acme/attempts
//! ```
//!
//! The argument is the file of an embedded store, or the connection string of an account.
//!
//! - **A message is accepted once**, under the id that its sender has chosen: `get_or_insert`.
//! - **No accepted message is lost**: its transaction records an event, and a relay writes a delivery for each endpoint.
//! - **Workers** lease deliveries that are due, 32 of them with one transaction. A call that fails is made again, after pauses
//!   that double; after some failures it is put aside until somebody asks for it again.
//! - **What was done** is a log, written in the transaction that ends a delivery.
//! - **A counter** for each tenant and day limits the messages.
//!
//! An endpoint is called once at least for each message, with the same id each time.
//!
//! | table | `PartitionKey` | `RowKey` | other properties |
//! |---|---|---|---|
//! | `Endpoints` | the tenant | `id-{id}` | `Url`, `Secret`, `Paused` |
//! | `Endpoints` | the tenant | `url-{url}` | `IndexedEntityId` |
//! | `Messages` | the tenant | the id | `Body`, `Until`, `EventAt` |
//! | `Deliveries` | one of 8, a hash of the tenant | `id-{tenant}_{message}_{endpoint}` | `Due`, `Attempts`, `Until` |
//! | `Deliveries` | as above | `due-{time} {tenant}_{message}_{endpoint}` | `Until` |
//! | `Deliveries` | as above | `log-{tenant}_{reversed time}_{message}_{endpoint}` | `Problem`, `Until` |
//! | `Usages` | the tenant | the day, the newest first | `Messages`, `Refused` |
//!
//! A first service of this kind, written from the documentation of this crate alone, had 1,140 lines with its tests. This one
//! has 670, of which 540 are code. What was written by hand are functions now: `get_or_insert`, `lease`, `hash_partition`,
//! `create_all`, `sweep_all`, `plain`, `now_as`, and the answers and headers of the feature `axum`. The first service also had
//! plans with prices and an audit log.

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{Path, Query, State},
    http::StatusCode,
    response::{IntoResponse, Response, Result},
    routing::{get, patch, post},
};
use futures_util::future::{BoxFuture, join_all};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::Sha256;
use table_runtime::{
    BoxedRows, Error, Stored, TableEntity, Tables,
    axum::IfMatch,
    events::{Event, EventChange},
};
use time::{Date, OffsetDateTime};
use tokio::{net::TcpListener, signal, time::sleep};
use uuid::Uuid;

/// Time for which a worker has a delivery: longer than all of its calls take.
pub(crate) const LEASE: Duration = Duration::from_mins(1);
/// Number of deliveries that a worker takes at once.
const AT_ONCE: usize = 32;
/// Number of calls after which a delivery is put aside.
pub(crate) const ATTEMPTS: u32 = 6;
/// Time after which a worker looks again whether an endpoint is still paused.
pub(crate) const PAUSED: Duration = Duration::from_mins(5);
/// Number of queues: the hash partitions of the deliveries.
pub(crate) const QUEUES: usize = 8;
/// Number of messages that a tenant may publish in a day.
pub(crate) const MESSAGES: u32 = 1000;
/// Time for which messages and the log are kept.
const KEPT: Duration = Duration::from_hours(30 * 24);

#[derive(TableEntity, Serialize)]
#[table(name = "Endpoints")]
pub(crate) struct Endpoint {
    #[partition_key]
    #[serde(skip)]
    pub(crate) tenant: String,
    #[row_key]
    pub(crate) id: Uuid,
    #[index(url, same_partition, unique)]
    pub(crate) url: String,
    /// Key of the signatures of its calls. Only the answer to its creation has it.
    #[serde(skip)]
    pub(crate) secret: String,
    pub(crate) paused: bool,
}

#[derive(TableEntity, Serialize)]
#[table(name = "Messages", events(copy), expires = until)]
pub(crate) struct Message {
    #[partition_key]
    #[serde(skip)]
    tenant: String,
    #[row_key]
    id: String,
    #[property(json)]
    body: Value,
    #[serde(with = "time::serde::rfc3339")]
    until: OffsetDateTime,
}

/// A call that is to be made. A queue is a partition, so that one transaction leases many of them.
#[derive(TableEntity, Serialize)]
#[table(name = "Deliveries", expires = until)]
pub(crate) struct Delivery {
    #[partition_key(hash = 8)]
    #[row_key]
    #[serde(skip)]
    tenant: String,
    #[row_key]
    pub(crate) message: String,
    #[row_key]
    pub(crate) endpoint: Uuid,
    /// `None` if it was put aside.
    #[index(due, same_partition)]
    #[serde(with = "time::serde::rfc3339::option")]
    due: Option<OffsetDateTime>,
    attempts: u32,
    #[serde(skip)]
    until: OffsetDateTime,
}

/// A call that was made, in the partition of its delivery.
#[derive(TableEntity, Serialize)]
#[table(name = "Deliveries", expires = until)]
pub(crate) struct Attempt {
    #[partition_key(hash = 8)]
    #[row_key(prefix = "log-")]
    #[serde(skip)]
    tenant: String,
    #[row_key(reverse_time)]
    #[serde(with = "time::serde::rfc3339")]
    at: OffsetDateTime,
    #[row_key]
    pub(crate) message: String,
    #[row_key]
    pub(crate) endpoint: Uuid,
    pub(crate) problem: Option<String>,
    #[serde(skip)]
    until: OffsetDateTime,
}

#[derive(TableEntity, Serialize)]
#[table(name = "Usages", write_id)]
pub(crate) struct Usage {
    #[partition_key]
    #[serde(skip)]
    tenant: String,
    #[row_key(reverse)]
    day: Date,
    messages: u32,
    refused: u32,
}

/// The entities of the service.
pub(crate) type Webhooks = (Endpoint, Message, Delivery, Attempt, Usage);

/// A call of an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) url: String,
    /// The message's id, the same each time.
    pub(crate) id: String,
    pub(crate) body: String,
    /// HMAC-SHA256 of the body.
    pub(crate) signature: String,
}

impl Call {
    fn new(endpoint: &Endpoint, message: &Message) -> anyhow::Result<Self> {
        let body = message.body.to_string();
        let mut signature = Hmac::<Sha256>::new_from_slice(endpoint.secret.as_bytes())?;
        signature.update(body.as_bytes());
        let signature: Vec<_> = signature.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { url: endpoint.url.clone(), id: message.id.clone(), body, signature: signature.concat() })
    }
}

/// What a request and a worker need.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) tables: Tables,
    /// Makes a call. Its error says what went wrong.
    pub(crate) send: Arc<dyn Fn(Call) -> BoxFuture<'static, Result<(), String>> + Send + Sync>,
}

/// Returns the service.
pub(crate) fn service(app: App) -> Router {
    Router::new()
        .route("/{tenant}/endpoints", get(list_endpoints).post(add_endpoint))
        .route("/{tenant}/endpoints/{id}", patch(pause_endpoint).delete(delete_endpoint))
        .route("/{tenant}/messages", post(publish))
        .route("/{tenant}/attempts", get(list_attempts))
        .route("/{tenant}/aside", get(list_aside))
        .route("/{tenant}/aside/{message}/{endpoint}", post(retry))
        .route("/{tenant}/usage", get(list_usage))
        .with_state(app)
}

#[derive(Deserialize)]
struct NewEndpoint {
    url: String,
}

async fn add_endpoint(app: State<App>, Path(tenant): Path<String>, Json(new): Json<NewEndpoint>) -> Result<Response> {
    let (id, secret) = (Uuid::now_v7(), Uuid::new_v4().simple().to_string());
    let endpoint = Endpoint { tenant, id, url: new.url, secret, paused: false };
    let etag = app.tables.insert(&endpoint).await?;
    Ok((StatusCode::CREATED, etag, Json(json!({ "id": id, "url": endpoint.url, "secret": endpoint.secret })))
        .into_response())
}

#[derive(Deserialize)]
struct Paused {
    paused: bool,
}

async fn pause_endpoint(
    app: State<App>,
    Path((tenant, id)): Path<(String, Uuid)>,
    IfMatch(seen): IfMatch,
    Json(Paused { paused }): Json<Paused>,
) -> Result<Response> {
    let etag = app.tables.patch_if(Endpoint::key(&tenant, id), &seen, |endpoint| endpoint.paused.set(paused)).await?;
    Ok((StatusCode::NO_CONTENT, etag).into_response())
}

async fn delete_endpoint(app: State<App>, Path((tenant, id)): Path<(String, Uuid)>) -> Result<StatusCode> {
    let is_deleted = app.tables.remove(Endpoint::key(&tenant, id)).await?;
    Ok(if is_deleted { StatusCode::NO_CONTENT } else { StatusCode::NOT_FOUND })
}

#[derive(Deserialize)]
struct NewMessage {
    id: String,
    body: Value,
}

/// Accepts a message. Its sender repeats the request until it is answered.
async fn publish(app: State<App>, Path(tenant): Path<String>, Json(new): Json<NewMessage>) -> Result<Response> {
    let refused = |status: StatusCode, problem| (status, Json(json!({ "error": problem }))).into_response();
    let before = Message::key(&tenant, &new.id).get(&app.tables).await?;
    // Only new ones count.
    if before.is_none() && !is_allowed(&app.tables, &tenant).await? {
        return Ok(refused(StatusCode::TOO_MANY_REQUESTS, "too many messages today"));
    }
    let until = app.tables.now_as::<OffsetDateTime>() + KEPT;
    let message = Message { tenant, id: new.id, body: new.body, until };
    let (stored, is_new) = match before {
        Some(stored) => (stored, false),
        None => app.tables.get_or_insert(&message).await?,
    };
    if stored.body != message.body {
        return Ok(refused(StatusCode::CONFLICT, "another message has this id"));
    }
    Ok((if is_new { StatusCode::ACCEPTED } else { StatusCode::OK }, stored).into_response())
}

/// Counts a message of today, unless there are too many. Requests at the same time share a read and a write.
async fn is_allowed(tables: &Tables, tenant: &str) -> table_runtime::Result<bool> {
    let day = tables.now_as::<OffsetDateTime>().date();
    let first = Usage { tenant: tenant.to_owned(), day, messages: 1, refused: 0 };
    let mut is_allowed = true;
    let count = |usage: &mut Usage| {
        is_allowed = usage.messages < MESSAGES;
        *(if is_allowed { &mut usage.messages } else { &mut usage.refused }) += 1;
    };
    tables.modify_or_insert(&first, count).await?;
    Ok(is_allowed)
}

#[derive(Deserialize)]
struct Paging {
    cursor: Option<String>,
}

async fn page<T: Serialize + Send + 'static>(app: &App, at: &Paging, rows: BoxedRows<T>) -> Result<Response> {
    Ok(rows.page(&app.tables, 50, at.cursor.as_deref()).await?.into_response())
}

async fn list_endpoints(app: State<App>, Path(tenant): Path<String>, at: Query<Paging>) -> Result<Response> {
    let endpoints = Endpoint::by_key(&tenant).page(&app.tables, 50, at.cursor.as_deref()).await?;
    Ok(endpoints.with_etags().into_response())
}

/// Lists the calls that were made, the newest first.
async fn list_attempts(app: State<App>, Path(tenant): Path<String>, at: Query<Paging>) -> Result<Response> {
    page(&app, &at, Attempt::by_key().eq(&tenant).plain().boxed()).await
}

/// Lists the deliveries that were put aside.
async fn list_aside(app: State<App>, Path(tenant): Path<String>, at: Query<Paging>) -> Result<Response> {
    let aside = Delivery::by_key().eq(&tenant).filter(|it| it.attempts.ge(ATTEMPTS));
    page(&app, &at, aside.plain().boxed()).await
}

/// Makes a delivery due that was put aside.
async fn retry(
    app: State<App>,
    Path((tenant, message, endpoint)): Path<(String, String, Uuid)>,
) -> Result<Stored<Delivery>> {
    let retry = |it: &mut Delivery| {
        if it.due.is_none() {
            (it.due, it.attempts) = (Some(app.tables.now_as()), 0);
        }
    };
    Ok(app.tables.modify(Delivery::key(&tenant, &message, endpoint), retry).await?.ok_or(StatusCode::NOT_FOUND)?)
}

async fn list_usage(app: State<App>, Path(tenant): Path<String>, at: Query<Paging>) -> Result<Response> {
    page(&app, &at, Usage::by_key(&tenant).plain().boxed()).await
}

/// Writes the deliveries of a new message. The relay calls it again if it fails, so it leaves those that are there.
pub(crate) async fn distribute(tables: &Tables, event: &Event<Message>) -> anyhow::Result<()> {
    let (EventChange::Inserted, Some(message)) = (event.change(), event.entity()) else { return Ok(()) };
    for Endpoint { tenant, id: endpoint, .. } in Endpoint::by_key(&message.tenant).plain().all(tables).await? {
        let (id, due, until) = (message.id.clone(), Some(tables.now_as()), message.until);
        tables.get_or_insert(&Delivery { tenant, message: id, endpoint, due, attempts: 0, until }).await?;
    }
    Ok(())
}

/// Makes the calls of a queue that are due. Returns their number.
pub(crate) async fn work(app: &App, queue: usize) -> anyhow::Result<usize> {
    let due = Delivery::by_due().hash_partition(queue).range(..=app.tables.now_as::<OffsetDateTime>());
    let lease = |it: &mut Delivery| (it.due, it.attempts) = (Some(later(&app.tables, LEASE)), it.attempts + 1);
    let taken = due.lease(&app.tables, AT_ONCE, lease).await?;
    let done = join_all(taken.into_iter().map(|delivery| deliver(app, delivery))).await;
    Ok(done.into_iter().collect::<anyhow::Result<Vec<()>>>()?.len())
}

fn later(tables: &Tables, time: Duration) -> OffsetDateTime {
    tables.now_as::<OffsetDateTime>() + time
}

/// Makes a call. There is none to be made if its endpoint was deleted or is paused, or its message has expired.
async fn deliver(app: &App, mut delivery: Stored<Delivery>) -> anyhow::Result<()> {
    let endpoint = Endpoint::key(&delivery.tenant, delivery.endpoint).plain().get(&app.tables).await?;
    let message = Message::key(&delivery.tenant, &delivery.message).plain().get(&app.tables).await?;
    let (Some(endpoint), Some(message)) = (endpoint, message) else {
        return Ok(held(app.tables.delete(&delivery).await)?);
    };
    if endpoint.paused {
        (delivery.due, delivery.attempts) = (Some(later(&app.tables, PAUSED)), 0);
        return Ok(held(app.tables.update(&mut delivery).await.map(drop))?);
    }
    // One that has stopped each of its workers is not made for ever.
    let problem = match delivery.attempts {
        ..=ATTEMPTS => (app.send)(Call::new(&endpoint, &message)?).await.err(),
        _ => Some("its workers were stopped".to_owned()),
    };
    Ok(held(record(&app.tables, delivery, problem).await)?)
}

/// Writes the log of a call, and ends its delivery, lets it be tried again, or puts it aside: all or nothing.
async fn record(tables: &Tables, mut delivery: Stored<Delivery>, problem: Option<String>) -> table_runtime::Result<()> {
    let at: OffsetDateTime = tables.now_as();
    let (tenant, message, endpoint) = (delivery.tenant.clone(), delivery.message.clone(), delivery.endpoint);
    let has_failed = problem.is_some();
    let attempt = Attempt { tenant, at, message, endpoint, problem, until: at + KEPT };
    let logged = tables.transaction().insert(&attempt);
    if has_failed {
        let pause = Duration::from_secs(10 << delivery.attempts.min(ATTEMPTS));
        delivery.due = (delivery.attempts < ATTEMPTS).then_some(at + pause);
        logged.update(&mut delivery).commit().await?;
    } else {
        logged.delete(&delivery).commit().await?;
    }
    Ok(())
}

/// Accepts that another worker has the delivery, because the lease has ended.
fn held(written: table_runtime::Result<()>) -> table_runtime::Result<()> {
    match written {
        Err(Error::ConditionNotMet(_) | Error::NotFound(_)) => Ok(()),
        written => written,
    }
}

/// Works until the program ends: goes through the queues, from the worker's own one on, and rests when none has work.
async fn work_on(app: App, own: usize) {
    let mut idle = 0;
    for queue in (own..).map(|queue| queue % QUEUES) {
        match work(&app, queue).await {
            Ok(0) => idle += 1,
            Ok(_) => idle = 0,
            Err(error) => {
                tracing::error!(%error, queue, "a worker failed");
                idle += 1;
            }
        }
        if idle >= QUEUES {
            sleep(Duration::from_secs(1)).await;
            idle = 0;
        }
    }
}

/// Removes what has expired, and lets the relay try again what it has put aside, for instance after a long outage.
pub(crate) async fn clean_up(tables: &Tables) -> table_runtime::Result<()> {
    tables.sweep_all::<Webhooks>().await?;
    let relay = tables.relay::<Message>();
    for failed in relay.failed().await? {
        relay.retry(failed.id()).await?;
    }
    Ok(())
}

/// Sends a call to its endpoint.
async fn send(client: reqwest::Client, call: Call) -> Result<(), String> {
    let request = client.post(&call.url).header("Content-Type", "application/json");
    let request = request.header("Webhook-Id", call.id).header("Webhook-Signature", call.signature).body(call.body);
    let response = request.send().await.map_err(|error| error.without_url().to_string())?;
    if response.status().is_success() { Ok(()) } else { Err(response.status().to_string()) }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().init();
    let store = std::env::args().nth(1).unwrap_or_else(|| "webhooks.tables".to_owned());
    let tables = if store.contains('=') { Tables::connect(&store)? } else { Tables::open(&store)? };
    tables.create_all::<Webhooks>().await?;
    // A worker makes its calls side by side, so that they end long before its lease.
    drop(rustls::crypto::ring::default_provider().install_default());
    let client = reqwest::Client::builder().timeout(Duration::from_secs(10)).build()?;
    let app = App { tables, send: Arc::new(move |call| Box::pin(send(client.clone(), call))) };

    let workers: Vec<_> = (0..QUEUES).step_by(2).map(|own| tokio::spawn(work_on(app.clone(), own))).collect();
    let (of_cleaner, tables) = (app.tables.clone(), app.tables.clone());
    let cleaner = tokio::spawn(async move {
        loop {
            if let Err(error) = clean_up(&of_cleaner).await {
                tracing::error!(%error, "the clean-up failed");
            }
            sleep(Duration::from_hours(1)).await;
        }
    });
    let listener = TcpListener::bind("127.0.0.1:8080").await?;
    let stop = async { signal::ctrl_c().await.unwrap_or_default() };
    let mut served = Ok(());
    let serving = async {
        served = axum::serve(listener, service(app)).with_graceful_shutdown(stop).await;
    };
    let relay = tables.relay::<Message>().deliver(async |event| distribute(&tables, &event).await);
    relay.until(serving).await?;
    // To stop a worker does no harm: its deliveries are due again when its lease ends.
    workers.iter().chain([&cleaner]).for_each(tokio::task::JoinHandle::abort);
    Ok(served?)
}
