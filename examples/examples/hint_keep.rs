//! A web service that keeps hints for passwords: rows that expire, a bin, unique values, and mails that are not lost.
//!
//! ```sh
//! cargo run -p examples --features hint_keep --example hint_keep -- --folder hints
//! curl -i localhost:8080/registrations -H 'Content-Type: application/json' -d '{"email":"ada@x.org"}'
//! ```
//!
//! A new user gets a token by mail and sets a password with it. A forgotten password is reset in the same way. A user
//! has accounts, such as that of a shop, and an account has hints for its password, the newest first.
//!
//! The user and the token are in one partition, so one transaction writes both, although the address of the user is unique
//! in all partitions: a new user always has a token, and a token that was used has set the password.
//!
//! The same transaction records an event of the token, and a relay sends the mail from it. So a process that ends at any
//! moment loses no mail, and sends none for a user that was not written. A mail may be sent twice, with the same id and
//! the same token: the secret in it is computed from the row of the token and a key, which the processes of a service have
//! in the variable `HINT_KEEP_KEY`.
//!
//! | table | `PartitionKey` | `RowKey` | other properties | readers see it until |
//! |---|---|---|---|---|
//! | `Users` | the id | `user` | `Email`, `Password`: a salted hash, `Until` | `Until`, which is absent once there is a password |
//! | `UsersByEmail` | the address, lower case | | `IndexedEntityId`, `WriteId` | its user expires |
//! | `Users` | the user's id | `token` | `Id`, `Until`, `EventAt` | `Until`, or its use |
//! | `Users` | the user's id | `~~event-Token {time}_{id}` | the token's, `EventChange` | never: a relay delivers and deletes it |
//! | `Sessions` | the user's id | a hash | `Until` | `Until`, which each request sets, or a new password |
//! | `Accounts` | the user's id | `id-{id}` | `Name`, `Hint`: the latest, `Deleted` | `Deleted` is set, then only in the bin |
//! | `Accounts` | the user's id | `name-{name, lower case}` | `IndexedEntityId`, `Deleted` | as its account |
//! | `Accounts` | the user's id | `hint-{account}_{reversed time}_{id}` | `Text` | its account is deleted |
//!
//! No code here compares times or asks whether an account is in the bin: `expires` and `soft_delete` apply to each read
//! and each write. A registration that nobody completes frees its address in time. The name of an account in the bin
//! stays taken, so that `restore` cannot fail on it. A public service also limits how often a client may log in.

use std::{convert::Infallible, env, fs, path::PathBuf, sync::Arc, time::Duration};

use argon2::{Argon2, PasswordHash, PasswordHasher as _, PasswordVerifier as _};
use axum::{
    Json, Router,
    extract::{FromRequestParts, Path, Query, State},
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse, Response, Result},
    routing::{delete, get, post},
};
use clap::Parser;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use table_runtime::{
    BoxedRows, Error, Guid, Stored, TableEntity, Tables, Transaction, axum::IfMatch, events::Event, key::ToTick as _,
};
use time::OffsetDateTime;
use tokio::{net::TcpListener, signal, task::spawn_blocking, time::interval};
use uuid::Uuid;

/// Time for which an address is reserved for a user without a password.
pub(crate) const REGISTRATION: Duration = Duration::from_hours(24);
/// Time for which a token to reset a password is valid.
pub(crate) const RESET: Duration = Duration::from_hours(1);
/// Time after the last request at which a session ends.
pub(crate) const SESSION: Duration = Duration::from_mins(30);
/// Number of hints that are deleted in one transaction. It has room for 100 rows, of which an account takes two.
const HINTS_AT_ONCE: usize = 90;

/// A user. One who has set no password yet expires, and so frees the address.
#[derive(TableEntity)]
#[table(name = "Users", row = "user", expires = until)]
pub(crate) struct User {
    #[partition_key]
    id: Uuid,
    #[index(email, lowercase, unique)]
    email: String,
    password: Option<String>,
    until: Option<OffsetDateTime>,
}

/// The token with which a user may set a password. It is in the user's partition. A user has one at most: the latest.
///
/// A mail is due whenever a token is written, so its events are the list of the mails that are to be sent.
#[derive(TableEntity)]
#[table(name = "Users", row = "token", expires = until, events(copy))]
pub(crate) struct Token {
    #[partition_key]
    user: Uuid,
    /// The secret is computed from it. It is no secret itself: nobody computes it without the key of the service.
    id: Uuid,
    until: OffsetDateTime,
}

/// A session. Those of a user are a partition, so that one query finds them all.
#[derive(TableEntity)]
#[table(name = "Sessions", expires = until)]
pub(crate) struct Session {
    #[partition_key]
    user: Uuid,
    #[row_key]
    hash: String,
    until: OffsetDateTime,
}

/// An account of a user, with its latest hint.
#[derive(TableEntity, Serialize)]
#[table(name = "Accounts", soft_delete = deleted)]
pub(crate) struct Account {
    #[partition_key]
    #[serde(skip)]
    user: Uuid,
    #[row_key]
    id: Uuid,
    #[index(name, lowercase, same_partition, unique)]
    name: String,
    hint: Option<String>,
    #[serde(with = "time::serde::rfc3339::option")]
    deleted: Option<OffsetDateTime>,
}

/// A hint, in the table and the partition of its account, so that both are written in one transaction.
#[derive(TableEntity, Serialize)]
#[table(name = "Accounts")]
pub(crate) struct Hint {
    #[partition_key]
    #[serde(skip)]
    user: Uuid,
    #[row_key(prefix = "hint-")]
    #[serde(skip)]
    account: Uuid,
    #[row_key(reverse_time)] // the newest first
    #[serde(with = "time::serde::rfc3339")]
    at: OffsetDateTime,
    #[row_key] // a tie-break
    id: Uuid,
    text: String,
}

/// What a request needs.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) tables: Tables,
    /// Clock of the times that are stored: that of the store, which compares them with the present.
    pub(crate) now: Arc<dyn Fn() -> OffsetDateTime + Send + Sync>,
    /// Sends a mail. If it fails, it is called again with the same mail.
    pub(crate) mail: Arc<dyn Fn(Mail) -> anyhow::Result<()> + Send + Sync>,
    /// Key of the secrets of tokens.
    pub(crate) key: Hmac<Sha256>,
    pub(crate) argon2: Argon2<'static>,
}

/// A mail with a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mail {
    /// The id of the event, the same each time the mail is sent. A mail service takes it as an idempotency key: it sends
    /// one mail for each id.
    pub(crate) id: Guid,
    pub(crate) to: String,
    pub(crate) token: String,
}

/// The entities of the service.
type Entities = (User, Token, Session, Account, Hint);

/// Returns the service.
pub(crate) fn service(app: App) -> Router {
    Router::new()
        .route("/registrations", post(register))
        .route("/resets", post(ask_for_reset))
        .route("/password", post(set_password))
        .route("/sessions", post(log_in))
        .route("/session", delete(log_out))
        .route("/accounts", get(list_accounts).post(add_account))
        .route("/accounts/{id}", get(get_account).put(rename_account).delete(put_into_bin))
        .route("/accounts/{id}/hints", get(list_hints).post(add_hint))
        .route("/bin", get(list_bin))
        .route("/bin/{id}", delete(delete_account))
        .route("/bin/{id}/restore", post(restore_account))
        .with_state(app)
}

/// Creates the tables. Programs of all versions call it when they begin.
pub(crate) async fn create(tables: &Tables) -> table_runtime::Result<()> {
    tables.create_all::<Entities>().await
}

/// Removes the rows of entities that have expired, and returns their number. The repair removes what a crash has left
/// of a registration.
pub(crate) async fn clean_up(tables: &Tables) -> table_runtime::Result<usize> {
    tables.repair::<User>().await?;
    Ok(tables.sweep_all::<Entities>().await?.iter().map(|(_, swept)| swept.removed).sum())
}

/// An answer for what went wrong that is no error of the store.
type Failure = (StatusCode, Json<serde_json::Value>);

fn failure(status: StatusCode, text: &str) -> Failure {
    (status, Json(serde_json::json!({ "error": text })))
}

fn missing() -> Failure {
    failure(StatusCode::NOT_FOUND, "it does not exist")
}

/// Answer for a token that is unknown, was used, or has expired.
fn no_token() -> Failure {
    failure(StatusCode::NOT_FOUND, "the token is not valid")
}

/// Returns an entity that was read, if the client has seen this version. A write of it fails if it changes until then.
fn as_seen<T>(read: Option<Stored<T>>, IfMatch(seen): &IfMatch) -> Result<Stored<T>, Failure> {
    let stored = read.ok_or_else(missing)?;
    let is_seen = Stored::etag(&stored) == seen;
    is_seen.then_some(stored).ok_or_else(|| failure(StatusCode::PRECONDITION_FAILED, "it has changed meanwhile"))
}

/// A text that the service gives to a user: `{user}.{secret}`. Only a hash of the secret is stored, and of a token not
/// even that, so that no reader of the tables can use it. The secret is random, so its hash needs no salt.
struct Secret {
    user: Uuid,
    hash: String,
}

impl Secret {
    /// Returns a new secret of the user, and its text.
    fn new(user: Uuid) -> (Self, String) {
        Self::with_text(user, Uuid::new_v4())
    }

    /// Returns the secret of a token, and its text.
    ///
    /// It is not stored, but computed: the relay must know it, and a mail that is sent again must have the same one.
    fn of_token(token: &Token, mut key: Hmac<Sha256>) -> (Self, String) {
        key.update(token.user.as_bytes());
        key.update(token.id.as_bytes());
        let mut secret = [0; 16];
        secret.iter_mut().zip(key.finalize().into_bytes()).for_each(|(to, byte)| *to = byte);
        Self::with_text(token.user, Uuid::from_bytes(secret))
    }

    fn with_text(user: Uuid, secret: Uuid) -> (Self, String) {
        (Self { user, hash: Self::hash(secret) }, format!("{}.{}", user.simple(), secret.simple()))
    }

    fn parse(text: &str) -> Option<Self> {
        let (user, secret) = text.split_once('.')?;
        Some(Self { user: user.parse().ok()?, hash: Self::hash(secret.parse().ok()?) })
    }

    fn hash(secret: Uuid) -> String {
        let hex: Vec<_> = Sha256::digest(secret.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        hex.concat()
    }
}

/// The user of a request with a session, which each request prolongs.
struct SignedIn {
    app: App,
    user: Uuid,
    session: String,
}

impl FromRequestParts<App> for SignedIn {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Response> {
        let no_session = || failure(StatusCode::UNAUTHORIZED, "log in first");
        let header = parts.headers.get(header::AUTHORIZATION).and_then(|header| header.to_str().ok());
        let secret = header.and_then(|header| Secret::parse(header.strip_prefix("Bearer ")?));
        let secret = secret.ok_or_else(|| no_session().into_response())?;
        let until = (app.now)() + SESSION;
        let prolong = |session: &mut Session| session.until = until;
        let session = app.tables.modify(Session::key(secret.user, &secret.hash), prolong).await;
        session.map_err(IntoResponse::into_response)?.ok_or_else(|| no_session().into_response())?;
        Ok(Self { app: app.clone(), user: secret.user, session: secret.hash })
    }
}

/// Runs what takes the processor for long.
async fn blocking<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    Ok(spawn_blocking(run).await.map_err(|_| failure(StatusCode::INTERNAL_SERVER_ERROR, "the service has an error"))?)
}

#[derive(Deserialize)]
struct Address {
    email: String,
}

/// Reserves an address and lets a token be sent to it. If the mail is lost on its way, the address is free in time.
async fn register(State(app): State<App>, Json(Address { email }): Json<Address>) -> Result<StatusCode> {
    if !email.contains('@') {
        return Err(failure(StatusCode::UNPROCESSABLE_ENTITY, "it is no address").into());
    }
    let until = (app.now)() + REGISTRATION;
    let user = User { id: Uuid::new_v4(), email, password: None, until: Some(until) };
    let token = Token { user: user.id, id: Uuid::new_v4(), until };
    // The transaction also has the event of the token. A mail that is sent here would be lost if the process ended before.
    app.tables.transaction().insert(&user).insert(&token).commit().await?;
    Ok(StatusCode::ACCEPTED)
}

/// Lets a token be sent to the address of a user. The answer for an unknown address is the same.
async fn ask_for_reset(State(app): State<App>, Json(Address { email }): Json<Address>) -> Result<StatusCode> {
    if let Some(user) = User::by_email(&email).get(&app.tables).await? {
        app.tables.upsert(&Token { user: user.id, id: Uuid::new_v4(), until: (app.now)() + RESET }).await?;
    }
    Ok(StatusCode::ACCEPTED)
}

/// Sends the token of an event to its user, unless it was used or replaced, or has expired.
///
/// The relay delivers an event again if this fails, or if the process ends before the event is deleted.
pub(crate) async fn send_token(app: &App, event: &Event<Token>) -> anyhow::Result<()> {
    let is_written = |token: &Stored<Token>| event.entity().is_some_and(|written| written.id == token.id);
    let Some(token) = event.key().get(&app.tables).await?.filter(is_written) else { return Ok(()) };
    let Some(user) = User::key(token.user).get(&app.tables).await? else { return Ok(()) };
    let (_, text) = Secret::of_token(&token, app.key.clone());
    (app.mail)(Mail { id: event.id(), to: Stored::into_inner(user).email, token: text })
}

#[derive(Deserialize)]
struct NewPassword {
    token: String,
    password: String,
}

/// Sets a password with a token: the first one, which activates the user, or another one. It ends the user's sessions.
async fn set_password(State(app): State<App>, Json(new): Json<NewPassword>) -> Result<StatusCode> {
    if new.password.chars().count() < 8 {
        return Err(failure(StatusCode::UNPROCESSABLE_ENTITY, "a password has 8 characters at least").into());
    }
    let secret = Secret::parse(&new.token).ok_or_else(no_token)?;
    let token = Token::key(secret.user)
        .get(&app.tables)
        .await?
        .filter(|token| Secret::of_token(token, app.key.clone()).0.hash == secret.hash);
    let token = token.ok_or_else(no_token)?;
    let mut user = User::key(secret.user).get(&app.tables).await?.ok_or_else(no_token)?;
    let argon2 = app.argon2.clone();
    let hash = blocking(move || argon2.hash_password(new.password.as_bytes()).map(|hash| hash.to_string())).await?;
    let hash = hash.map_err(|_| failure(StatusCode::INTERNAL_SERVER_ERROR, "the service has an error"))?;
    (user.password, user.until) = (Some(hash), None);
    // Of two requests with one token, one sets its password.
    match app.tables.transaction().delete(&token).update(&mut user).commit().await {
        Err(Error::NotFound(_) | Error::ConditionNotMet(_)) => return Err(no_token().into()),
        committed => committed?,
    };
    Session::by_key(secret.user).delete_all(&app.tables).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
struct Credentials {
    email: String,
    password: String,
}

async fn log_in(State(app): State<App>, Json(given): Json<Credentials>) -> Result<Response> {
    let (found, argon2) = (User::by_email(&given.email).get(&app.tables).await?, app.argon2.clone());
    let user = blocking(move || {
        let hash = found.as_ref().and_then(|user| PasswordHash::new(user.password.as_deref()?).ok());
        let Some(hash) = hash else {
            // It takes as long, so that the time does not tell which addresses are known.
            argon2.hash_password(given.password.as_bytes()).ok()?;
            return None;
        };
        argon2.verify_password(given.password.as_bytes(), &hash).ok()?;
        found.as_ref().map(|user| user.id)
    });
    let user = user.await?.ok_or_else(|| failure(StatusCode::UNAUTHORIZED, "the address or the password is wrong"))?;
    let (Secret { hash, .. }, token) = Secret::new(user);
    app.tables.insert(&Session { user, hash, until: (app.now)() + SESSION }).await?;
    Ok((StatusCode::CREATED, Json(serde_json::json!({ "token": token }))).into_response())
}

async fn log_out(me: SignedIn) -> Result<StatusCode> {
    me.app.tables.remove(Session::key(me.user, &me.session)).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
struct Paging {
    cursor: Option<String>,
    size: Option<usize>,
}

/// Returns a page in which each entity has its ETag, for `If-Match`.
async fn page<T: TableEntity + Serialize>(app: &App, at: &Paging, rows: BoxedRows<Stored<T>>) -> Result<Response> {
    let page = rows.page(&app.tables, at.size.unwrap_or(20).clamp(1, 100), at.cursor.as_deref()).await?;
    Ok(page.with_etags().into_response())
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

async fn add_account(me: SignedIn, Json(Name { name }): Json<Name>) -> Result<Response> {
    let account = Account { user: me.user, id: Uuid::new_v4(), name, hint: None, deleted: None };
    let etag = me.app.tables.insert(&account).await?;
    Ok((StatusCode::CREATED, etag, Json(account)).into_response())
}

/// Lists the accounts by name.
async fn list_accounts(me: SignedIn, Query(at): Query<Paging>) -> Result<Response> {
    page(&me.app, &at, Account::by_name(me.user).boxed()).await
}

async fn get_account(me: SignedIn, Path(id): Path<Uuid>) -> Result<Stored<Account>> {
    let account = Account::key(me.user, id).get(&me.app.tables).await?;
    Ok(account.ok_or_else(missing)?)
}

async fn rename_account(me: SignedIn, id: Path<Uuid>, seen: IfMatch, new: Json<Name>) -> Result<Stored<Account>> {
    let mut account = as_seen(Account::key(me.user, *id).get(&me.app.tables).await?, &seen)?;
    account.name.clone_from(&new.name);
    me.app.tables.update(&mut account).await?;
    Ok(account)
}

/// Puts an account into the bin. The answer has its new ETag.
async fn put_into_bin(me: SignedIn, Path(id): Path<Uuid>, seen: IfMatch) -> Result<Stored<Account>> {
    let mut account = as_seen(Account::key(me.user, id).get(&me.app.tables).await?, &seen)?;
    me.app.tables.soft_delete(&mut account).await?;
    Ok(account)
}

async fn list_bin(me: SignedIn, Query(at): Query<Paging>) -> Result<Response> {
    page(&me.app, &at, Account::by_name(me.user).only_deleted().boxed()).await
}

async fn restore_account(me: SignedIn, Path(id): Path<Uuid>) -> Result<Stored<Account>> {
    let account = me.app.tables.restore(Account::key(me.user, id)).await?;
    Ok(account.ok_or_else(missing)?)
}

/// Deletes an account in the bin for good, with its hints. Each transaction contains the account, so none succeeds if
/// it was restored meanwhile, and a crash leaves no hint without its account. A client can repeat the request.
async fn delete_account(me: SignedIn, Path(id): Path<Uuid>, seen: IfMatch) -> Result<StatusCode> {
    let tables = &me.app.tables;
    let mut account = as_seen(Account::key(me.user, id).only_deleted().get(tables).await?, &seen)?;
    let hints = Hint::by_key(me.user).eq(id).all(tables).await?;
    let (newest, older) = hints.split_at(hints.len().min(HINTS_AT_ONCE));
    // The oldest first, so that the account has its latest hint until the end.
    for hints in older.rchunks(HINTS_AT_ONCE) {
        hints.iter().fold(tables.transaction(), Transaction::delete).update(&mut account).commit().await?;
    }
    newest.iter().fold(tables.transaction(), Transaction::delete).delete(&account).commit().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists the hints of an account, the newest first.
async fn list_hints(me: SignedIn, Path(id): Path<Uuid>, Query(at): Query<Paging>) -> Result<Response> {
    Account::key(me.user, id).get(&me.app.tables).await?.ok_or_else(missing)?;
    page(&me.app, &at, Hint::by_key(me.user).eq(id).boxed()).await
}

#[derive(Deserialize)]
struct NewHint {
    text: String,
}

/// Adds a hint, and sets it as the latest one of its account, or does neither.
async fn add_hint(me: SignedIn, Path(id): Path<Uuid>, Json(NewHint { text }): Json<NewHint>) -> Result<Response> {
    let tables = &me.app.tables;
    loop {
        let mut account = Account::key(me.user, id).get(tables).await?.ok_or_else(missing)?;
        account.hint = Some(text.clone());
        // The time is later than the read, so the hint that is written last is the newest.
        let at = (me.app.now)().to_tick();
        let hint = Hint { user: me.user, account: id, at, id: Uuid::new_v4(), text: text.clone() };
        match tables.transaction().update(&mut account).insert(&hint).commit().await {
            Ok(etags) => {
                let etag = etags.into_iter().last().flatten();
                return Ok((StatusCode::CREATED, etag, Json(hint)).into_response());
            }
            // Another request has changed the account meanwhile.
            Err(Error::ConditionNotMet(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Cleans up again and again.
async fn clean_up_often(tables: Tables, pause: Duration) -> Infallible {
    let mut times = interval(pause);
    loop {
        times.tick().await;
        match clean_up(&tables).await {
            Ok(removed) => tracing::info!(removed, "cleaned up"),
            Err(error) => tracing::error!(%error, "the cleaning failed"),
        }
    }
}

/// Keeps hints for passwords.
#[derive(Parser)]
struct Options {
    /// Folder of the embedded store, which is in memory otherwise.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Connection string of an account, instead of the embedded store.
    #[arg(long, conflicts_with = "folder")]
    connection: Option<String>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().init();
    let tables = match Options::parse() {
        Options { connection: Some(connection), .. } => Tables::connect(&connection)?,
        Options { folder: Some(folder), .. } => {
            fs::create_dir_all(&folder)?;
            Tables::open(folder.join("hint_keep.tables"))?
        }
        _ => Tables::in_memory()?,
    };
    create(&tables).await?;
    tokio::spawn(clean_up_often(tables.clone(), Duration::from_hours(1)));
    let listener = TcpListener::bind("127.0.0.1:8080").await?;
    tracing::info!(address = %listener.local_addr()?, "listening");
    // The terminal stands for the mail.
    let mail = Arc::new(|Mail { id, to, token }| {
        println!("mail {id} to {to}: {token}");
        Ok(())
    });
    // Without the variable, the tokens that were sent are valid until the program ends.
    let key = env::var("HINT_KEEP_KEY").unwrap_or_else(|_| format!("{}{}", Uuid::new_v4(), Uuid::new_v4()));
    let key = Hmac::new_from_slice(key.as_bytes())?;
    let clock = tables.clone();
    let app = App { tables, now: Arc::new(move || clock.now().into()), mail, key, argon2: Argon2::default() };
    let stop = async { signal::ctrl_c().await.unwrap_or_default() };
    let mut served = Ok(());
    let serving = async {
        served = axum::serve(listener, service(app.clone())).with_graceful_shutdown(stop).await;
    };
    // What is written as the service ends is sent when it begins again.
    app.tables.relay().deliver(async |event| send_token(&app, &event).await).until(serving).await?;
    Ok(served?)
}
