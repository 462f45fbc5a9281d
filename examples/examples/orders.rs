//! A web service for the orders of a shop with many tenants.
//!
//! ```sh
//! cargo run -p examples --features orders --example orders -- orders.tables
//! curl -i localhost:8080/acme/customers -H 'Content-Type: application/json' -d '{"name":"Ada","email":"ada@x.org"}'
//! ```
//!
//! The argument is the file of an embedded store, or the connection string of an account. A tenant's
//! customers are a partition, in which an e-mail address is unique and names can be searched. An order and its lines
//! are rows of one partition, written in one transaction, the newest order first.
//!
//! The transaction also records an event of the order. A relay keeps the revenue of each day from the events, so that a
//! report reads one row for each day, and no request waits for it:
//!
//! ```sh
//! curl localhost:8080/acme/revenue
//! ```
//!
//! | table | `PartitionKey` | `RowKey` | other properties |
//! |---|---|---|---|
//! | `Revenues` | the tenant | `day-{reversed day}` | `Orders`, `Cents` |
//! | `Revenues` | the tenant | `order-{number}` | `Cents`, as they are in the revenue, `At`: the time of the event, `Until` |

use std::{convert::Infallible, env, time::Duration};

use anyhow::Context as _;
use axum::{
    Json, Router,
    body::Body,
    extract::{DefaultBodyLimit, Path, Query, State},
    http::{StatusCode, header},
    response::{IntoResponse as _, Response, Result},
    routing::{get, post},
};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde::{Deserialize, Serialize, Serializer};
use table_runtime::{
    BoxedRows, EntityGroup, Error, Stored, TableEntity, Tables,
    axum::IfMatch,
    events::{Event, EventChange},
};
use time::{Date, OffsetDateTime, UtcOffset};
use tokio::{net::TcpListener, signal, time::interval};
use uuid::Uuid;

/// Time for which it is known that an order was deleted. Its older events, also those that were put aside, have to be
/// delivered before.
pub(crate) const REMEMBERED: Duration = Duration::from_hours(30 * 24);

#[derive(TableEntity, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[table(name = "Customers")]
pub(crate) struct Customer {
    #[partition_key]
    #[serde(skip)]
    pub(crate) tenant: String,
    #[row_key]
    #[serde(default = "Uuid::new_v4")]
    pub(crate) id: Uuid,
    #[index(name, lowercase, same_partition)]
    pub(crate) name: String,
    #[index(email, lowercase, same_partition, unique)]
    pub(crate) email: String,
}

#[derive(TableEntity, Serialize, Clone, Debug, PartialEq)]
#[table(name = "Orders", events(copy))]
pub(crate) struct Order {
    #[partition_key]
    #[serde(skip)]
    pub(crate) tenant: String,
    #[row_key(reverse)] // the newest first
    pub(crate) number: u64,
    pub(crate) customer: Uuid,
    #[serde(with = "time::serde::rfc3339")]
    pub(crate) placed: OffsetDateTime,
    pub(crate) cents: i64,
    pub(crate) is_paid: bool,
}

#[derive(TableEntity, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[table(name = "Orders")]
pub(crate) struct Line {
    #[partition_key]
    #[serde(skip)]
    pub(crate) tenant: String,
    #[row_key(reverse)]
    #[serde(skip)]
    pub(crate) order: u64,
    #[row_key]
    #[serde(skip)]
    pub(crate) number: u16,
    pub(crate) article: String,
    pub(crate) quantity: u32,
    pub(crate) cents: i64,
}

/// The revenue of a tenant on a day: what the paid orders of the day cost.
#[derive(TableEntity, Serialize, Clone, Debug, PartialEq)]
#[table(name = "Revenues")]
pub(crate) struct Revenue {
    #[partition_key]
    #[serde(skip)]
    pub(crate) tenant: String,
    #[row_key(reverse, prefix = "day-")] // the newest first
    #[serde(serialize_with = "as_text")]
    pub(crate) day: Date,
    pub(crate) orders: u32,
    pub(crate) cents: i64,
}

/// What the revenue has of an order, in the partition of the revenue, so that both are written in one transaction.
#[derive(TableEntity)]
#[table(name = "Revenues", expires = until)]
pub(crate) struct Counted {
    #[partition_key]
    tenant: String,
    #[row_key(prefix = "order-")]
    order: u64,
    /// `None` for an order that is not paid, or was deleted.
    cents: Option<i64>,
    /// The time of the event that was counted last.
    at: OffsetDateTime,
    /// Set once the order was deleted.
    until: Option<OffsetDateTime>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn as_text<S: Serializer>(day: &Date, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_str(day)
}

/// The rows of an order: itself, and then its lines.
#[derive(EntityGroup)]
enum Row {
    Order(Stored<Order>),
    Line(Line),
}

/// The entities of the service.
type Shop = (Customer, Order, Line, Revenue, Counted);

/// Returns the service.
pub(crate) fn service(tables: Tables) -> Router {
    Router::new()
        .route("/{tenant}", axum::routing::delete(delete_tenant))
        .route("/{tenant}/customers", get(find_customers).post(add_customer))
        .route("/{tenant}/customers/import", post(import_customers).layer(DefaultBodyLimit::max(64 << 20)))
        .route("/{tenant}/customers/{id}", get(get_customer).put(change_customer).delete(delete_customer))
        .route("/{tenant}/orders", get(list_orders).post(place_order))
        .route("/{tenant}/orders/export", get(export_orders))
        .route("/{tenant}/orders/{number}", get(get_order))
        .route("/{tenant}/orders/{number}/pay", post(pay_order))
        .route("/{tenant}/revenue", get(list_revenue))
        .with_state(tables)
}

/// Creates the tables. Programs of all versions call it when they begin.
pub(crate) async fn create(tables: &Tables) -> table_runtime::Result<()> {
    tables.create_all::<Shop>().await
}

/// An answer for what went wrong that is no error of the store.
fn failure(status: StatusCode, message: &str) -> (StatusCode, Json<serde_json::Value>) {
    (status, Json(serde_json::json!({ "error": message })))
}

fn missing() -> (StatusCode, Json<serde_json::Value>) {
    failure(StatusCode::NOT_FOUND, "it does not exist")
}

async fn add_customer(
    State(tables): State<Tables>,
    Path(tenant): Path<String>,
    Json(customer): Json<Customer>,
) -> Result<Response> {
    let customer = Customer { tenant, ..customer };
    let etag = tables.insert(&customer).await?;
    Ok((StatusCode::CREATED, etag, Json(customer)).into_response())
}

async fn get_customer(
    State(tables): State<Tables>,
    Path((tenant, id)): Path<(String, Uuid)>,
) -> Result<Stored<Customer>> {
    Ok(Customer::key(&tenant, id).get(&tables).await?.ok_or_else(missing)?)
}

async fn change_customer(
    State(tables): State<Tables>,
    Path((tenant, id)): Path<(String, Uuid)>,
    IfMatch(seen): IfMatch,
    Json(customer): Json<Customer>,
) -> Result<Stored<Customer>> {
    let mut stored = Stored::new(Customer { tenant, id, ..customer }, seen);
    tables.update(&mut stored).await?;
    Ok(stored)
}

async fn delete_customer(State(tables): State<Tables>, Path((tenant, id)): Path<(String, Uuid)>) -> Result<StatusCode> {
    if tables.remove(Customer::key(&tenant, id)).await? { Ok(StatusCode::NO_CONTENT) } else { Err(missing().into()) }
}

#[derive(Deserialize)]
struct Search {
    name: Option<String>,
    email: Option<String>,
    cursor: Option<String>,
    size: Option<usize>,
}

impl Search {
    /// Returns the query for customers that fits the search.
    fn customers(&self, tenant: &str) -> BoxedRows<Stored<Customer>> {
        match (&self.email, &self.name) {
            (Some(email), _) => Customer::by_email(tenant).eq(email).boxed(),
            (None, Some(name)) => Customer::by_name(tenant).starts_with(name).boxed(),
            (None, None) => Customer::by_key(tenant).boxed(),
        }
    }

    fn size(&self) -> usize {
        self.size.unwrap_or(20).clamp(1, 100)
    }
}

async fn find_customers(
    State(tables): State<Tables>,
    Path(tenant): Path<String>,
    Query(search): Query<Search>,
) -> Result<Response> {
    let customers = search.customers(&tenant).page(&tables, search.size(), search.cursor.as_deref()).await?;
    Ok(customers.with_etags().into_response())
}

#[derive(Serialize)]
struct Imported {
    written: usize,
    failures: Vec<ImportFailure>,
}

#[derive(Serialize)]
struct ImportFailure {
    line: usize,
    error: String,
}

/// Writes the customers of a CSV file with the columns `name` and `email`.
async fn import_customers(
    State(tables): State<Tables>,
    Path(tenant): Path<String>,
    csv: String,
) -> Result<Json<Imported>> {
    let customers = csv::Reader::from_reader(csv.as_bytes()).into_deserialize::<Customer>();
    let customers = customers.map(|customer| customer.map(|customer| Customer { tenant: tenant.clone(), ..customer }));
    let progress = |progress: &table_runtime::bulk::BulkProgress| tracing::info!(progress.written, "importing");
    match tables.try_insert_all_from(stream::iter(customers)).progress(progress).await {
        Ok(done) => Ok(Json(Imported { written: done.written, failures: Vec::new() })),
        Err(Error::Bulk(error)) if !error.ended_early => {
            // The first line has the names of the columns.
            let failure = |failure: &table_runtime::error::BulkFailure| ImportFailure {
                line: failure.position + 2,
                error: failure.error.public_message().into_owned(),
            };
            let failures = error.failures.iter().map(failure).collect();
            Ok(Json(Imported { written: error.progress.written, failures }))
        }
        Err(error) => Err(error.into()),
    }
}

#[derive(Deserialize)]
struct NewOrder {
    customer: Uuid,
    lines: Vec<Line>,
}

/// An order with its lines, as the service returns it.
#[derive(Serialize)]
struct WholeOrder {
    #[serde(flatten)]
    order: Order,
    lines: Vec<Line>,
}

async fn place_order(
    State(tables): State<Tables>,
    Path(tenant): Path<String>,
    Json(NewOrder { customer, lines }): Json<NewOrder>,
) -> Result<Response> {
    if !Customer::key(&tenant, customer).exists(&tables).await? {
        return Err(failure(StatusCode::UNPROCESSABLE_ENTITY, "there is no such customer").into());
    }
    let total = |sum: i64, line: &Line| sum.checked_add(line.cents.checked_mul(line.quantity.into())?);
    let cents = lines.iter().try_fold(0, total);
    let cents = cents.ok_or_else(|| failure(StatusCode::UNPROCESSABLE_ENTITY, "the total is too large"))?;
    loop {
        let placed: OffsetDateTime = tables.now_as();
        let number = u64::try_from(placed.unix_timestamp_nanos() / 1000).unwrap_or_default();
        let order = Order { tenant: tenant.clone(), number, customer, placed, cents, is_paid: false };
        let numbered = lines.iter().cloned().zip(1..);
        let lines: Vec<_> =
            numbered.map(|(line, at)| Line { tenant: tenant.clone(), order: number, number: at, ..line }).collect();
        match tables.transaction().insert(&order).insert_all(&lines).commit().await {
            Ok(etags) => {
                let etag = etags.into_iter().next().flatten();
                return Ok((StatusCode::CREATED, etag, Json(WholeOrder { order, lines })).into_response());
            }
            // Another order of the tenant was placed in the same microsecond.
            Err(Error::AlreadyExists(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

async fn get_order(State(tables): State<Tables>, Path((tenant, number)): Path<(String, u64)>) -> Result<Response> {
    let (mut order, mut lines) = (None, Vec::new());
    for row in Row::by_key(&tenant).eq(number).all(&tables).await? {
        match row {
            Row::Order(stored) => order = Some(stored),
            Row::Line(line) => lines.push(line),
        }
    }
    let stored = order.ok_or_else(missing)?;
    let etag = Stored::etag(&stored).clone();
    Ok((etag, Json(WholeOrder { order: Stored::into_inner(stored), lines })).into_response())
}

async fn pay_order(
    State(tables): State<Tables>,
    Path((tenant, number)): Path<(String, u64)>,
    IfMatch(seen): IfMatch,
) -> Result<Response> {
    let etag = tables.patch_if(Order::key(&tenant, number), &seen, |order| order.is_paid.set(true)).await?;
    Ok((StatusCode::NO_CONTENT, etag).into_response())
}

async fn list_orders(
    State(tables): State<Tables>,
    Path(tenant): Path<String>,
    Query(search): Query<Search>,
) -> Result<Response> {
    let orders = Order::by_key(&tenant).page(&tables, search.size(), search.cursor.as_deref()).await?;
    Ok(orders.with_etags().into_response())
}

/// Returns every order as a line of JSON. The orders are read while the client reads the answer.
async fn export_orders(State(tables): State<Tables>, Path(tenant): Path<String>) -> Response {
    let lines = Order::by_key(&tenant).stream(&tables).map(|order| match order {
        Ok(order) => Ok(serde_json::to_string(&order)? + "\n"),
        Err(error) => {
            tracing::error!(%error, "an export ended early");
            Err(anyhow::Error::from(error))
        }
    });
    ([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines.into_stream())).into_response()
}

/// Returns the revenue of each day with paid orders, the newest first.
async fn list_revenue(
    State(tables): State<Tables>,
    Path(tenant): Path<String>,
    Query(search): Query<Search>,
) -> Result<Response> {
    let days = Revenue::by_key(&tenant).page(&tables, search.size(), search.cursor.as_deref()).await?;
    Ok(days.with_etags().into_response())
}

/// Counts an order in the revenue of its day, as it was written.
///
/// The relay delivers an event again if this fails, or if the process ends before the event is deleted. Another process may
/// then have counted later events of the order. So the transaction also notes what it has counted of the order, with the
/// time of the event, and an event that is not later than the last one changes nothing.
pub(crate) async fn count(tables: &Tables, event: &Event<Order>) -> anyhow::Result<()> {
    let order = event.entity().context("an event without a copy")?;
    let (tenant, number, at) = (&order.tenant, order.number, OffsetDateTime::from(event.at()));
    let mut counted = Counted::key(tenant, number).get(tables).await?;
    if counted.as_ref().is_some_and(|counted| counted.at >= at) {
        return Ok(());
    }
    let is_deleted = event.change() == EventChange::Deleted;
    let before = counted.as_ref().and_then(|counted| counted.cents);
    let now = (order.is_paid && !is_deleted).then_some(order.cents);
    // No request changes when an order was placed, so it stays in the revenue of one day.
    let day = order.placed.to_offset(UtcOffset::UTC).date();
    let mut stored = Revenue::key(tenant, day).get(tables).await?;
    let (orders, cents) = stored.as_ref().map_or((0, 0), |revenue| (revenue.orders, revenue.cents));
    let orders = (orders + u32::from(now.is_some())).checked_sub(u32::from(before.is_some()));
    let cents = cents.checked_sub(before.unwrap_or(0)).and_then(|cents| cents.checked_add(now.unwrap_or(0)));
    let (orders, cents) = orders.zip(cents).context("the revenue of the day is out of range")?;
    let revenue = Revenue { tenant: tenant.clone(), day, orders, cents };
    let until = is_deleted.then(|| at + REMEMBERED);
    let noted = Counted { tenant: tenant.clone(), order: number, cents: now, at, until };

    // The commit fails if another relay has written one of the rows since it was read here.
    let mut transaction = tables.transaction();
    transaction = match &mut counted {
        None => transaction.insert(&noted),
        Some(counted) => {
            **counted = noted;
            transaction.update(counted)
        }
    };
    transaction = match &mut stored {
        None if orders == 0 => transaction,
        None => transaction.insert(&revenue),
        Some(stored) if orders == 0 => transaction.delete(&*stored),
        Some(stored) => {
            **stored = revenue;
            transaction.update(stored)
        }
    };
    transaction.commit().await?;
    Ok(())
}

/// Deletes everything of a tenant. It can be repeated if it fails. The relay deletes the revenue with the orders.
async fn delete_tenant(State(tables): State<Tables>, Path(tenant): Path<String>) -> Result<Json<serde_json::Value>> {
    let lines = Line::by_key(&tenant).delete_all(&tables).await?.written;
    let orders = Order::by_key(&tenant).delete_all(&tables).await?.written;
    let customers = Customer::by_key(&tenant).delete_all(&tables).await?.written;
    Ok(Json(serde_json::json!({ "customers": customers, "orders": orders, "lines": lines })))
}

/// Repairs what crashes of other programs left, and forgets orders that were deleted, again and again.
pub(crate) async fn repair(tables: Tables, pause: Duration) -> Infallible {
    let mut times = interval(pause);
    loop {
        times.tick().await;
        match tables.repair::<Customer>().await {
            Ok(repaired) if repaired.fixed.is_empty() && repaired.left.is_empty() => {}
            Ok(repaired) => tracing::warn!(fixed = repaired.fixed.len(), left = ?repaired.left, "repaired"),
            Err(error) => tracing::error!(%error, "the repair failed"),
        }
        if let Err(error) = tables.sweep::<Counted>().await {
            tracing::error!(%error, "the sweep failed");
        }
    }
}

/// Serves until `stop` ends; requests that are under way are answered.
pub(crate) async fn serve(
    tables: Tables,
    listener: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    create(&tables).await?;
    let background = tokio::spawn(repair(tables.clone(), Duration::from_hours(1)));
    let mut served = Ok(());
    let serving = async {
        served = axum::serve(listener, service(tables.clone())).with_graceful_shutdown(stop).await;
    };
    let counting = tables.clone();
    let relay = tables.relay::<Order>().deliver(async move |event| count(&counting, &event).await);
    // What is written as the service ends is counted when it begins again.
    relay.until(serving).await?;
    // To stop a repair does no harm: the next one completes it.
    background.abort();
    Ok(served?)
}

/// Opens the store in a file, or the account of a connection string.
fn open(store: &str) -> table_runtime::Result<Tables> {
    if store.contains('=') { Tables::connect(store) } else { Tables::open(store) }
}

/// Waits until a user or the system asks the program to stop.
async fn asked_to_stop() {
    #[cfg(unix)]
    let terminated = async {
        match signal::unix::signal(signal::unix::SignalKind::terminate()) {
            Ok(mut terminate) => terminate.recv().await.unwrap_or(()),
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminated = std::future::pending::<()>();
    tokio::select! {
        _ = signal::ctrl_c() => {}
        () = terminated => {}
    }
    tracing::info!("stopping");
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().init();
    let store = env::args().nth(1).unwrap_or_else(|| "orders.tables".to_owned());
    let listener = TcpListener::bind("127.0.0.1:8080").await?;
    tracing::info!(address = %listener.local_addr()?, "listening");
    serve(open(&store)?, listener, asked_to_stop()).await
}
