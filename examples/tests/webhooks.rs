//! The example `webhooks`, a service with a work queue, in memory: requests, faults and workers side by side.

#[path = "../examples/webhooks.rs"]
#[allow(dead_code, reason = "the program has a `main`, and opens its store itself")]
mod example;

use std::{
    cell::RefCell,
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use anyhow::{Context as _, Result, ensure};
use axum::{
    body::{Body, to_bytes},
    http::{Request, header},
};
use futures_util::future::{join_all, try_join_all};
use serde_json::{Value, json};
use table_runtime::{
    Tables,
    backend::InMemoryBackend,
    testing::{Clocked, PartitionReach, Run, TestTime, for_each_fault},
};
use tower::ServiceExt as _;

use example::{
    ATTEMPTS, App, Attempt, Call, Delivery, LEASE, MESSAGES, Message, PAUSED, QUEUES, Webhooks, distribute, work,
};

/// A transaction is one partition, as in an account.
type Store = Clocked<PartitionReach<InMemoryBackend>>;
/// The calls that were made.
type Calls = Arc<Mutex<Vec<Call>>>;

async fn store() -> Result<(Store, TestTime)> {
    let start = SystemTime::UNIX_EPOCH + Duration::from_hours(500_000);
    let (store, time) = Clocked::new(PartitionReach(InMemoryBackend::new()?), start);
    let store = store.skip_pauses();
    Tables::new(store.clone()).create_all::<Webhooks>().await?;
    Ok((store, time))
}

/// Returns the service of these tables, and the calls that it makes. Those of an URL with `down` fail.
fn app(tables: Tables) -> (App, Calls) {
    let calls = Calls::default();
    let made = Arc::clone(&calls);
    let send = move |call: Call| {
        let result = if call.url.contains("down") { Err("no connection".to_owned()) } else { Ok(()) };
        made.lock().expect("no panic").push(call);
        Box::pin(async { result }) as _
    };
    (App { tables, send: Arc::new(send) }, calls)
}

/// Sends a request. Returns the status, the ETag and the body of the answer.
async fn send(app: &App, method: &str, path: &str, seen: Option<&str>, body: Value) -> Result<(u16, String, Value)> {
    let mut request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, "application/json");
    if let Some(seen) = seen {
        request = request.header(header::IF_MATCH, seen);
    }
    let answer = example::service(app.clone()).oneshot(request.body(Body::from(body.to_string()))?).await?;
    let etag = answer.headers().get(header::ETAG).map(header::HeaderValue::to_str).transpose()?.unwrap_or_default();
    let (status, etag) = (answer.status().as_u16(), etag.to_owned());
    let body = to_bytes(answer.into_body(), 1 << 20).await?;
    Ok((status, etag, if body.is_empty() { Value::Null } else { serde_json::from_slice(&body)? }))
}

async fn add_endpoint(app: &App, url: &str) -> Result<(String, String)> {
    let (status, etag, body) = send(app, "POST", "/acme/endpoints", None, json!({ "url": url })).await?;
    ensure!(status == 201, "{body}");
    Ok((body["id"].as_str().context("an id")?.to_owned(), etag))
}

async fn publish(app: &App, id: &str) -> Result<u16> {
    Ok(send(app, "POST", "/acme/messages", None, json!({ "id": id, "body": { "text": id } })).await?.0)
}

/// Delivers the events of new messages, and makes the calls of all queues that are due.
async fn run(app: &App) -> Result<usize> {
    app.tables.relay::<Message>().deliver_once(async |event| distribute(&app.tables, &event).await).await?;
    let mut done = 0;
    for queue in 0..QUEUES {
        done += work(app, queue).await?;
    }
    Ok(done)
}

#[tokio::test]
async fn a_message_is_accepted_once_and_sent_to_each_endpoint() -> Result<()> {
    let (store, time) = store().await?;
    let (app, calls) = app(Tables::new(store));
    let (id, etag) = add_endpoint(&app, "http://one").await?;
    add_endpoint(&app, "http://two").await?;
    assert_eq!(send(&app, "POST", "/acme/endpoints", None, json!({ "url": "http://one" })).await?.0, 409);
    assert_eq!((publish(&app, "m1").await?, publish(&app, "m1").await?), (202, 200));
    let other = send(&app, "POST", "/acme/messages", None, json!({ "id": "m1", "body": 7 })).await?;
    assert_eq!((other.0, other.2), (409, json!({ "error": "another message has this id" })));
    assert_eq!((run(&app).await?, run(&app).await?), (2, 0));
    let urls: Vec<_> = calls.lock().expect("no panic").iter().map(|call| call.url.clone()).collect();
    assert_eq!(urls, ["http://one", "http://two"]);
    let (_, _, attempts) = send(&app, "GET", "/acme/attempts", None, Value::Null).await?;
    assert_eq!(attempts["entities"].as_array().map(Vec::len), Some(2), "{attempts}");

    // An endpoint is paused in the version that was read.
    let path = format!("/acme/endpoints/{id}");
    let pause =
        async |seen| Ok::<_, anyhow::Error>(send(&app, "PATCH", &path, seen, json!({ "paused": true })).await?.0);
    assert_eq!([pause(None).await?, pause(Some(&*etag)).await?, pause(Some(&*etag)).await?], [428, 204, 412]);
    publish(&app, "m2").await?;
    run(&app).await?;
    assert_eq!(calls.lock().expect("no panic").len(), 3);
    // It gets what was published meanwhile.
    let (_, _, list) = send(&app, "GET", "/acme/endpoints", None, Value::Null).await?;
    let etag =
        list["entities"].as_array().context("a list")?.iter().find(|it| it["id"] == *id).context("it")?["etag"].clone();
    assert_eq!(send(&app, "PATCH", &path, etag.as_str(), json!({ "paused": false })).await?.0, 204);
    time.advance(PAUSED);
    run(&app).await?;
    assert_eq!(calls.lock().expect("no panic").last().map(|call| (&*call.url, &*call.id)), Some(("http://one", "m2")));
    Ok(())
}

#[tokio::test]
async fn a_call_that_fails_is_made_again_and_then_put_aside() -> Result<()> {
    let (store, time) = store().await?;
    let (app, calls) = app(Tables::new(store));
    let (endpoint, _) = add_endpoint(&app, "http://down").await?;
    publish(&app, "m1").await?;
    for _ in 0..ATTEMPTS {
        assert_eq!((run(&app).await?, run(&app).await?), (1, 0));
        time.advance(Duration::from_hours(1));
    }
    assert_eq!(run(&app).await?, 0);
    let (_, _, aside) = send(&app, "GET", "/acme/aside", None, Value::Null).await?;
    assert_eq!(aside["entities"][0]["attempts"], ATTEMPTS);
    let path = format!("/acme/aside/m1/{endpoint}");
    assert_eq!(send(&app, "POST", &path, None, Value::Null).await?.0, 200);
    assert_eq!(run(&app).await?, 1);
    assert_eq!(calls.lock().expect("no panic").len(), 7);
    Ok(())
}

#[tokio::test]
async fn a_tenant_publishes_a_limited_number_of_messages() -> Result<()> {
    let (app, _) = app(Tables::new(store().await?.0));
    let ids: Vec<_> = (0..MESSAGES + 5).map(|id| format!("m{id}")).collect();
    let answers = try_join_all(ids.iter().map(|id| publish(&app, id))).await?;
    assert_eq!(answers.iter().filter(|status| **status == 429).count(), 5);
    assert_eq!((publish(&app, "m0").await?, publish(&app, "more").await?), (200, 429), "a repetition is no new one");
    let (_, _, usage) = send(&app, "GET", "/acme/usage", None, Value::Null).await?;
    assert_eq!((&usage["entities"][0]["messages"], &usage["entities"][0]["refused"]), (&json!(MESSAGES), &json!(6)));
    Ok(())
}

#[tokio::test]
async fn workers_share_the_queues() -> Result<()> {
    let (app, calls) = app(Tables::new(store().await?.0));
    add_endpoint(&app, "http://one").await?;
    let ids: Vec<_> = (0..200).map(|id| format!("m{id}")).collect();
    try_join_all(ids.iter().map(|id| publish(&app, id))).await?;
    app.tables.relay::<Message>().deliver_once(async |event| distribute(&app.tables, &event).await).await?;
    while join_all((0..4 * QUEUES).map(|worker| work(&app, worker % QUEUES)))
        .await
        .into_iter()
        .sum::<Result<usize>>()?
        > 0
    {}
    let mut calls: Vec<_> = calls.lock().expect("no panic").iter().map(|call| call.id.clone()).collect();
    calls.sort_by_key(|id| id[1..].parse::<u32>().ok());
    assert_eq!(calls, ids);
    Ok(())
}

#[tokio::test]
async fn a_fault_at_any_request_loses_no_call() -> Result<()> {
    let (time, calls) = (RefCell::new(None), RefCell::new(Calls::default()));
    let made = async || {
        let (store, its_time) = store().await?;
        let (app, _) = app(Tables::new(store.clone()));
        add_endpoint(&app, "http://one").await?;
        add_endpoint(&app, "http://down").await?;
        *time.borrow_mut() = Some(its_time);
        Ok(store)
    };
    let program = async |tables: Tables| {
        let (app, its_calls) = app(tables);
        *calls.borrow_mut() = its_calls;
        let status = publish(&app, "m1").await?;
        // If it fails, the next process does what is left.
        drop(run(&app).await);
        Ok::<_, anyhow::Error>(status)
    };
    let check = async |done: Run<Store, Result<u16>>| {
        let (app, later) = app(done.tables.clone());
        for _ in 0..2 * ATTEMPTS {
            time.borrow().as_ref().context("a store")?.advance(LEASE + Duration::from_hours(1));
            run(&app).await?;
        }
        let mut counts = BTreeMap::<String, u32>::new();
        for call in calls.borrow().lock().expect("no panic").iter().chain(&*later.lock().expect("no panic")) {
            *counts.entry(call.url.clone()).or_default() += 1;
        }
        let (one, down) = (counts.get("http://one").copied(), counts.get("http://down").copied());
        let is_accepted = done.result? == 202;
        // A fault after the lease costs an attempt.
        ensure!(!is_accepted || one.is_some_and(|one| one >= 1) && down >= Some(ATTEMPTS - 1), "{counts:?}");
        ensure!(one <= Some(2) && down <= Some(ATTEMPTS + 1), "{counts:?}");
        ensure!(Delivery::by_key().count(&app.tables).await? == usize::from(down.is_some()), "a delivery is left");
        let log = Attempt::by_key().eq("acme").plain().all(&app.tables).await?;
        ensure!(log.iter().filter(|it| it.problem.is_none()).count() == usize::from(one.is_some()), "the log is wrong");
        let verified = app.tables.verify_all::<Webhooks>().await?;
        ensure!(verified.iter().all(|(_, it)| it.findings.is_empty()), "{verified:?}");
        Ok(())
    };
    let failed = for_each_fault(made, program, check).await?;
    assert!(failed > 100, "{failed}");
    Ok(())
}
