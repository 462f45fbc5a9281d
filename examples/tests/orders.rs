//! The revenue that the example `orders` keeps by a relay, in memory. Its requests are tested in the package `tests`.

#[path = "../examples/orders.rs"]
#[allow(clippy::duplicate_mod, dead_code, reason = "the program has a `main`; another test has it too")]
mod example;

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use anyhow::{Context as _, Result, ensure};
use axum::{
    body::{Body, to_bytes},
    http::{Method, Request, StatusCode, header},
};
use serde_json::{Value, json};
use table_runtime::{
    Tables,
    backend::{BackendExt as _, InMemoryBackend, Scan},
    events::{Delivered, Event, EventChange},
    testing::{Clocked, PartitionReach, Run, TestTime, for_each_fault},
};
use time::{Date, OffsetDateTime};
use tokio::{
    net::TcpListener,
    sync::oneshot,
    time::{sleep, timeout},
};
use tower::ServiceExt as _;
use uuid::Uuid;

use example::{Counted, Order, REMEMBERED, Revenue};

const TENANTS: [&str; 2] = ["acme", "umbrella"];
const DAY: Duration = Duration::from_hours(24);

/// A store in which a transaction is one partition, as in an account. Pauses take no time.
type Store = Clocked<PartitionReach<Arc<InMemoryBackend>>>;

async fn empty() -> Result<(Store, TestTime)> {
    let start = SystemTime::UNIX_EPOCH + Duration::from_hours(500_000);
    let (store, time) = Clocked::new(PartitionReach(Arc::new(InMemoryBackend::new()?)), start);
    let store = store.skip_pauses();
    example::create(&Tables::new(store.clone())).await?;
    Ok((store, time))
}

/// Order of a tenant on a day, counted from an arbitrary one.
fn order(tenant: &str, number: u64, day: u64, cents: i64) -> Result<Order> {
    let placed = OffsetDateTime::from_unix_timestamp(1_800_000_000)? + DAY * day.try_into()?;
    Ok(Order { tenant: tenant.to_owned(), number, customer: Uuid::nil(), placed, cents, is_paid: false })
}

async fn pay(tables: &Tables, tenant: &str, number: u64) -> Result<()> {
    tables.modify(Order::key(tenant, number), |order| order.is_paid = true).await?.context("an order")?;
    Ok(())
}

/// Writes orders of two tenants and three days. Some are paid, changed or deleted.
async fn write_orders(tables: &Tables) -> Result<()> {
    for tenant in TENANTS {
        for number in 0..6 {
            tables.insert(&order(tenant, number, number / 2, 100 << number)?).await?;
        }
    }
    for number in [0, 1, 2, 4] {
        pay(tables, "acme", number).await?;
    }
    pay(tables, "umbrella", 3).await?;
    tables.modify(Order::key("acme", 1), |order| order.cents -= 30).await?;
    for number in [2, 5] {
        tables.remove(Order::key("acme", number)).await?;
    }
    Ok(())
}

/// Counts the events that are left, as the service does in the background.
async fn count(tables: &Tables) -> Result<Delivered> {
    Ok(tables.relay().deliver_once(async |event| example::count(tables, &event).await).await?)
}

type Days = BTreeMap<Date, (u32, i64)>;

/// Returns the number of paid orders of each day, and what they cost, as a relay has counted it.
async fn counted(tables: &Tables, tenant: &str) -> Result<Days> {
    let days = Revenue::by_key(tenant).all(tables).await?;
    Ok(days.into_iter().map(|revenue| (revenue.day, (revenue.orders, revenue.cents))).collect())
}

/// Returns the same, computed from the orders.
async fn computed(tables: &Tables, tenant: &str) -> Result<Days> {
    let mut days = Days::new();
    for order in Order::by_key(tenant).all(tables).await?.into_iter().filter(|order| order.is_paid) {
        let (orders, cents) = days.entry(order.placed.date()).or_default();
        (*orders, *cents) = (*orders + 1, *cents + order.cents);
    }
    Ok(days)
}

/// Checks that the revenue of each tenant is that of its orders.
async fn check(tables: &Tables) -> Result<()> {
    for tenant in TENANTS {
        let (counted, computed) = (counted(tables, tenant).await?, computed(tables, tenant).await?);
        ensure!(counted == computed, "{tenant}: counted {counted:?}, computed {computed:?}");
    }
    Ok(())
}

#[tokio::test]
async fn the_revenue_is_that_of_the_paid_orders() -> Result<()> {
    let (store, _) = empty().await?;
    let tables = Tables::new(store);
    write_orders(&tables).await?;
    assert_eq!(count(&tables).await?.delivered, 12 + 5 + 1 + 2);
    check(&tables).await?;
    let acme: Vec<_> = counted(&tables, "acme").await?.into_values().collect();
    assert_eq!(acme, [(2, 100 + 200 - 30), (1, 1600)], "the second day had an order, which was deleted");
    // Each event in turn leaves the revenue right.
    for number in [5, 3] {
        pay(&tables, "umbrella", number).await?;
        count(&tables).await?;
        check(&tables).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_crash_at_any_request_counts_no_event_twice_and_forgets_none() -> Result<()> {
    let (left, delivered_twice) = (Cell::new(0), Cell::new(0));
    let delivered = Mutex::new(BTreeSet::new());
    let written = async || {
        let (store, _) = empty().await?;
        write_orders(&Tables::new(store.clone())).await?;
        delivered.lock().expect("no panic").clear();
        Ok(store)
    };
    let program = async |tables: Tables| {
        let consumer = async |event: Event<Order>| {
            example::count(&tables, &event).await?;
            delivered.lock().expect("no panic").insert(event.id());
            Ok::<_, anyhow::Error>(())
        };
        tables.relay().deliver_once(consumer).await
    };
    let check = async |run: Run<Store, table_runtime::Result<Delivered>>| {
        // The next process counts what the first one has left.
        let consumer = async |event: Event<Order>| {
            let is_again = delivered.lock().expect("no panic").contains(&event.id());
            delivered_twice.set(delivered_twice.get() + usize::from(is_again));
            example::count(&run.tables, &event).await
        };
        let done = run.tables.relay().deliver_once(consumer).await?;
        ensure!((done.failed, done.waiting) == (0, 0), "{done:?}");
        left.set(left.get() + done.delivered);
        check(&run.tables).await?;
        ensure!(count(&run.tables).await? == Delivered::default(), "an event is left");
        Ok(())
    };
    let failed = for_each_fault(written, program, check).await?;
    // Each event takes two reads and a write.
    assert!(failed > 5 * 3 * 20, "{failed}");
    assert!(delivered_twice.get() > 0, "no crash kept an event that was counted");
    assert!(left.get() > delivered_twice.get(), "no crash left an event that was not counted");
    Ok(())
}

#[tokio::test]
async fn an_event_whose_consumer_fails_after_its_write_is_counted_once() -> Result<()> {
    let (store, _) = empty().await?;
    let tables = Tables::new(store);
    write_orders(&tables).await?;
    let failures = Mutex::new(BTreeSet::new());
    let consumer = async |event: Event<Order>| {
        example::count(&tables, &event).await?;
        ensure!(!failures.lock().expect("no panic").insert(event.id()), "the first time");
        Ok(())
    };
    let done = tables.relay().deliver_once(consumer).await?;
    assert_eq!((done.delivered, failures.lock().expect("no panic").len()), (20, 20));
    check(&tables).await
}

#[tokio::test]
async fn an_event_that_is_delivered_late_does_not_undo_a_later_one() -> Result<()> {
    let (store, _) = empty().await?;
    let tables = Tables::new(store);
    write_orders(&tables).await?;
    // The payments are put aside, and what follows them is delivered before they are: prices and deletions.
    let first = async |event: Event<Order>| {
        let order = event.entity().context("a copy")?;
        ensure!(event.change() != EventChange::Updated || order.cents % 100 != 0, "no connection");
        example::count(&tables, &event).await
    };
    let done = tables.relay().attempts(1).deliver_once(first).await?;
    assert_eq!((done.delivered, done.failed), (15, 5));
    let acme: Vec<_> = counted(&tables, "acme").await?.into_values().collect();
    assert_eq!(acme, [(1, 170)]);

    let relay = tables.relay::<Order>();
    for event in relay.failed().await? {
        assert!(relay.retry(event.id()).await?);
    }
    assert_eq!(count(&tables).await?.delivered, 5);
    check(&tables).await?;
    assert_eq!(tables.relay::<Order>().failed().await?.len(), 0);
    Ok(())
}

#[tokio::test]
async fn a_relay_that_does_not_know_that_another_one_took_over_changes_nothing() -> Result<()> {
    // The payments of two orders of a day, on which another order is counted or none is.
    for is_first in [true, false] {
        let events = RefCell::new(Vec::new());
        let paid = async || {
            let (store, _) = empty().await?;
            let tables = Tables::new(store.clone());
            for number in 0..3 {
                let is_paid = number == 2 && !is_first;
                tables.insert(&Order { is_paid, ..order("acme", number, 0, 100 << number)? }).await?;
            }
            count(&tables).await?;
            for number in 0..2 {
                pay(&tables, "acme", number).await?;
            }
            events.borrow_mut().clear();
            let keep = async |event: Event<Order>| {
                events.borrow_mut().push(Rc::new(event));
                anyhow::Ok(())
            };
            assert_eq!(tables.relay().deliver_once(keep).await?.delivered, 2);
            Ok(store)
        };
        let event = |number: usize| Rc::clone(&events.borrow()[number]);
        let slow = async |tables: Tables| example::count(&tables, &event(0)).await;
        // The other relay delivers the same event first, or has a later one only.
        for numbers in [0..2, 1..2] {
            let other = async |tables: Tables| {
                for number in numbers.clone() {
                    example::count(&tables, &event(number)).await?;
                }
                Ok(())
            };
            let refused = Cell::new(0);
            let checked = async |run: Run<Store, Result<()>>| {
                if let Some(other) = run.other {
                    other?;
                    refused.set(refused.get() + usize::from(run.result.is_err()));
                }
                for number in 0..2 {
                    example::count(&run.tables, &event(number)).await?;
                }
                check(&run.tables).await
            };
            for_each_fault(paid, slow, checked).beside(other).await?;
            assert!(refused.get() > 0, "no transaction was refused");
        }
    }
    Ok(())
}

/// Sends a request. Returns the body of the answer.
async fn send(tables: &Tables, method: Method, path: &str, body: Value) -> Result<(StatusCode, Value)> {
    let request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, "application/json");
    let response = example::service(tables.clone()).oneshot(request.body(Body::from(body.to_string()))?).await?;
    let status = response.status();
    let body = to_bytes(response.into_body(), usize::MAX).await?;
    Ok((status, serde_json::from_slice(&body)?))
}

#[tokio::test]
async fn the_revenue_of_a_tenant_is_deleted_with_it() -> Result<()> {
    let (store, time) = empty().await?;
    let tables = Tables::new(store.clone());
    write_orders(&tables).await?;
    count(&tables).await?;
    let (status, page) = send(&tables, Method::GET, "/acme/revenue?size=1", Value::Null).await?;
    let newest = json!({ "day": "2027-01-17", "orders": 1, "cents": 1600, "etag": page["entities"][0]["etag"] });
    assert_eq!((status, &page["entities"]), (StatusCode::OK, &json!([newest])));
    let next = page["next"].as_str().context("a cursor")?;
    let (_, page) = send(&tables, Method::GET, &format!("/acme/revenue?cursor={next}"), Value::Null).await?;
    assert_eq!((&page["entities"][0]["day"], &page["entities"][0]["cents"]), (&json!("2027-01-15"), &json!(270)));

    let (_, deleted) = send(&tables, Method::DELETE, "/acme", Value::Null).await?;
    assert_eq!(deleted, json!({ "customers": 0, "orders": 4, "lines": 0 }));
    assert_eq!(count(&tables).await?.delivered, 4);
    check(&tables).await?;
    let (_, page) = send(&tables, Method::GET, "/acme/revenue", Value::Null).await?;
    assert_eq!(page["entities"], json!([]));
    // What was counted of each order goes later.
    time.advance(REMEMBERED);
    assert_eq!(tables.sweep::<Counted>().await?.removed, 6);
    for table in ["Orders", "Revenues"] {
        let rows = store.query(&Scan::all(table), None).await?;
        assert!(rows.rows.iter().all(|row| row.partition_key == "umbrella"), "{table}");
    }
    Ok(())
}

#[tokio::test]
async fn the_service_counts_while_it_runs() -> Result<()> {
    let tables = Tables::in_memory()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let served = tokio::spawn(example::serve(tables.clone(), listener, async { stopped.await.unwrap_or_default() }));
    example::create(&tables).await?;
    tables.insert(&order("acme", 1, 0, 100)?).await?;
    pay(&tables, "acme", 1).await?;
    let paid = async {
        while counted(&tables, "acme").await?.is_empty() {
            sleep(Duration::from_millis(5)).await;
        }
        anyhow::Ok(())
    };
    timeout(Duration::from_secs(30), paid).await??;
    check(&tables).await?;
    drop(stop);
    timeout(Duration::from_secs(30), served).await??
}
