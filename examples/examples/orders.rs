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

use std::{convert::Infallible, env, time::Duration};

use axum::{
    Json, Router,
    body::Body,
    extract::{DefaultBodyLimit, Path, Query, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde::{Deserialize, Serialize};
use table_runtime::{
    BoxedRows, ETag, EntityGroup, Error, PageOf, Result, Stored, TableEntity, Tables, Transaction, WithETag,
    key::ToTick as _,
};
use time::OffsetDateTime;
use tokio::{net::TcpListener, signal, time::interval};
use uuid::Uuid;

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
#[table(name = "Orders")]
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

/// The rows of an order: itself, and then its lines.
#[derive(EntityGroup)]
enum Row {
    Order(Stored<Order>),
    Line(Line),
}

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
        .with_state(tables)
}

/// Creates the tables. Programs of all versions call it when they begin.
pub(crate) async fn create(tables: &Tables) -> Result<()> {
    tables.create::<Customer>().and::<Order>().and::<Line>().await
}

/// An answer for what went wrong.
#[derive(Debug)]
struct Failure(StatusCode, String);

type Answer<T> = std::result::Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        if error.status() >= 500 {
            tracing::error!(%error, "a request failed"); // with rows, which the client does not see
        }
        let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self(status, error.public_message().into_owned())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (self.0, Json(serde_json::json!({ "error": self.1 }))).into_response()
    }
}

fn missing() -> Failure {
    Failure(StatusCode::NOT_FOUND, "it does not exist".to_owned())
}

fn with_etag(status: StatusCode, etag: &ETag, body: impl Serialize) -> Response {
    (status, [(header::ETAG, etag.to_string())], Json(body)).into_response()
}

/// Returns the version that a client has seen.
fn if_match(headers: &HeaderMap) -> Answer<ETag> {
    let header = headers.get(header::IF_MATCH).and_then(|header| header.to_str().ok());
    let header = header.ok_or_else(|| Failure(StatusCode::PRECONDITION_REQUIRED, "If-Match is missing".to_owned()))?;
    header
        .parse()
        .map_err(|error: table_runtime::error::ParseETagError| Failure(StatusCode::BAD_REQUEST, error.to_string()))
}

async fn add_customer(
    State(tables): State<Tables>,
    Path(tenant): Path<String>,
    Json(customer): Json<Customer>,
) -> Answer<Response> {
    let customer = Customer { tenant, ..customer };
    let etag = tables.insert(&customer).await?;
    Ok(with_etag(StatusCode::CREATED, &etag, customer))
}

async fn get_customer(State(tables): State<Tables>, Path((tenant, id)): Path<(String, Uuid)>) -> Answer<Response> {
    let customer = Customer::key(&tenant, id).get(&tables).await?.ok_or_else(missing)?;
    Ok(with_etag(StatusCode::OK, Stored::etag(&customer), &customer))
}

async fn change_customer(
    State(tables): State<Tables>,
    Path((tenant, id)): Path<(String, Uuid)>,
    headers: HeaderMap,
    Json(customer): Json<Customer>,
) -> Answer<Response> {
    let mut stored = Stored::new(Customer { tenant, id, ..customer }, if_match(&headers)?);
    let etag = tables.update(&mut stored).await?;
    Ok(with_etag(StatusCode::OK, &etag, &stored))
}

async fn delete_customer(State(tables): State<Tables>, Path((tenant, id)): Path<(String, Uuid)>) -> Answer<StatusCode> {
    if tables.remove(Customer::key(&tenant, id)).await? { Ok(StatusCode::NO_CONTENT) } else { Err(missing()) }
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

/// Returns a page in which each entity has its ETag, for `If-Match`.
fn page<T: Serialize>(page: &PageOf<Stored<T>>) -> Response {
    let page: PageOf<WithETag<'_, T>> = page.with_etags();
    Json(page).into_response()
}

async fn find_customers(
    State(tables): State<Tables>,
    Path(tenant): Path<String>,
    Query(search): Query<Search>,
) -> Answer<Response> {
    let customers = search.customers(&tenant).page(&tables, search.size(), search.cursor.as_deref()).await?;
    Ok(page(&customers))
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
) -> Answer<Json<Imported>> {
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
) -> Answer<Response> {
    if !Customer::key(&tenant, customer).exists(&tables).await? {
        return Err(Failure(StatusCode::UNPROCESSABLE_ENTITY, "there is no such customer".to_owned()));
    }
    let total = |sum: i64, line: &Line| sum.checked_add(line.cents.checked_mul(line.quantity.into())?);
    let cents = lines.iter().try_fold(0, total);
    let cents = cents.ok_or_else(|| Failure(StatusCode::UNPROCESSABLE_ENTITY, "the total is too large".to_owned()))?;
    loop {
        let placed = OffsetDateTime::now_utc().to_tick();
        let number = u64::try_from(placed.unix_timestamp_nanos() / 1000).unwrap_or_default();
        let order = Order { tenant: tenant.clone(), number, customer, placed, cents, is_paid: false };
        let numbered = lines.iter().cloned().zip(1..);
        let lines: Vec<_> =
            numbered.map(|(line, at)| Line { tenant: tenant.clone(), order: number, number: at, ..line }).collect();
        let transaction = lines.iter().fold(tables.transaction().insert(&order), Transaction::insert);
        match transaction.commit().await {
            Ok(etags) => {
                let etag = etags.into_iter().next().flatten().ok_or_else(missing)?;
                return Ok(with_etag(StatusCode::CREATED, &etag, WholeOrder { order, lines }));
            }
            // Another order of the tenant was placed in the same microsecond.
            Err(Error::AlreadyExists(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

async fn get_order(State(tables): State<Tables>, Path((tenant, number)): Path<(String, u64)>) -> Answer<Response> {
    let (mut order, mut lines) = (None, Vec::new());
    for row in Row::by_key(&tenant).eq(number).all(&tables).await? {
        match row {
            Row::Order(stored) => order = Some(stored),
            Row::Line(line) => lines.push(line),
        }
    }
    let stored = order.ok_or_else(missing)?;
    let etag = Stored::etag(&stored).clone();
    Ok(with_etag(StatusCode::OK, &etag, WholeOrder { order: Stored::into_inner(stored), lines }))
}

async fn pay_order(
    State(tables): State<Tables>,
    Path((tenant, number)): Path<(String, u64)>,
    headers: HeaderMap,
) -> Answer<Response> {
    let etag = if_match(&headers)?;
    let etag = tables.patch_if(Order::key(&tenant, number), &etag, |order| order.is_paid.set(true)).await?;
    Ok((StatusCode::NO_CONTENT, [(header::ETAG, etag.to_string())]).into_response())
}

async fn list_orders(
    State(tables): State<Tables>,
    Path(tenant): Path<String>,
    Query(search): Query<Search>,
) -> Answer<Response> {
    let orders = Order::by_key(&tenant).page(&tables, search.size(), search.cursor.as_deref()).await?;
    Ok(page(&orders))
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

/// Deletes everything of a tenant. It can be repeated if it fails.
async fn delete_tenant(State(tables): State<Tables>, Path(tenant): Path<String>) -> Answer<Json<serde_json::Value>> {
    let lines = Line::by_key(&tenant).delete_all(&tables).await?.written;
    let orders = Order::by_key(&tenant).delete_all(&tables).await?.written;
    let customers = Customer::by_key(&tenant).delete_all(&tables).await?.written;
    Ok(Json(serde_json::json!({ "customers": customers, "orders": orders, "lines": lines })))
}

/// Repairs what crashes of other programs left, again and again.
pub(crate) async fn repair(tables: Tables, pause: Duration) -> Infallible {
    let mut times = interval(pause);
    loop {
        times.tick().await;
        match tables.repair::<Customer>().await {
            Ok(repaired) if repaired.fixed.is_empty() && repaired.left.is_empty() => {}
            Ok(repaired) => tracing::warn!(fixed = repaired.fixed.len(), left = ?repaired.left, "repaired"),
            Err(error) => tracing::error!(%error, "the repair failed"),
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
    axum::serve(listener, service(tables)).with_graceful_shutdown(stop).await?;
    // To stop a repair does no harm: the next one completes it.
    background.abort();
    Ok(())
}

/// Opens the store in a file, or the account of a connection string.
fn open(store: &str) -> Result<Tables> {
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
