//! Operations as `tracing` sees them: one span and one event for each, on every backend.

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use anyhow::Result;
use futures_util::StreamExt;
use table_runtime::{
    Error, TableEntity, Tables,
    backend::{Action, IfMatch},
    row::{Properties, ValueRef},
};
use tests::{
    stores::{Kind, Store},
    traced::with_subscriber,
};
use tracing::{
    Level, Subscriber,
    field::{Field, Visit},
    span,
};
use tracing_subscriber::{
    filter::LevelFilter,
    layer::{Context, Layer, SubscriberExt},
    registry::LookupSpan,
};

crate::conformance! {
    each_operation_is_one_span_with_its_numbers
    the_parts_of_an_operation_belong_to_it
    errors_and_dropped_futures_are_outcomes
    rows_that_cannot_be_read_are_counted
    slow_and_retried_operations_are_at_the_level_info
    nothing_of_a_row_is_traced
    each_call_of_a_consumer_is_a_span
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Pets", allow_scan)]
struct Pet {
    #[partition_key]
    owner: String,
    #[row_key]
    number: u32,
    #[index(name, same_partition)]
    name: String,
    age: u32,
}

fn pet(number: u32) -> Pet {
    Pet { owner: "Marcus".into(), number, name: format!("secret{number}"), age: number }
}

type Fields = BTreeMap<&'static str, String>;

/// The events and the spans of operations, and the text of everything that the crate traces.
#[derive(Clone, Default)]
struct Traced(Arc<Mutex<(Vec<(Level, Fields)>, BTreeMap<u64, Fields>)>>, Arc<Mutex<String>>);

impl Traced {
    fn lock(&self) -> MutexGuard<'_, (Vec<(Level, Fields)>, BTreeMap<u64, Fields>)> {
        self.0.lock().expect("no panic")
    }

    /// Keeps the text of an event or a span.
    fn keep(&self, target: &str, fields: &Fields) {
        if target.starts_with("table_runtime") {
            writeln!(self.1.lock().expect("no panic"), "{target} {fields:?}").expect("a string takes it");
        }
    }

    /// Returns the events since the last call, and checks that each has a span with the same numbers.
    fn take(&self) -> Vec<(Level, Fields)> {
        let (events, spans) = std::mem::take(&mut *self.lock());
        assert_eq!(events.len(), spans.len(), "{spans:?}");
        for ((_, event), span) in events.iter().zip(spans.values()) {
            for name in [
                "db.operation.name",
                "table.requests",
                "table.rows_read",
                "table.rows_unreadable",
                "table.outcome",
                "error.type",
            ] {
                assert_eq!(event.get(name), span.get(name), "{name} of {span:?}");
            }
            let (verb, table) = (&event["db.operation.name"], &event["db.collection.name"]);
            assert_eq!(span["otel.name"], format!("{verb} {table}").trim_end());
            assert_eq!(span["otel.kind"], "client");
        }
        events
    }

    /// Returns the only event since the last call.
    fn one(&self) -> Fields {
        let mut events = self.take();
        assert_eq!(events.len(), 1, "{events:?}");
        events.remove(0).1
    }
}

struct Visitor<'a>(&'a mut Fields);

impl Visit for Visitor<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Traced {
    fn on_new_span(&self, attributes: &span::Attributes<'_>, id: &span::Id, _: Context<'_, S>) {
        let mut fields = Fields::new();
        attributes.record(&mut Visitor(&mut fields));
        self.keep(attributes.metadata().target(), &fields);
        if attributes.metadata().name() == "table operation" {
            self.lock().1.insert(id.into_u64(), fields);
        }
    }

    fn on_record(&self, id: &span::Id, values: &span::Record<'_>, _: Context<'_, S>) {
        if let Some(fields) = self.lock().1.get_mut(&id.into_u64()) {
            values.record(&mut Visitor(fields));
        }
    }

    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::new();
        event.record(&mut Visitor(&mut fields));
        self.keep(event.metadata().target(), &fields);
        if fields.contains_key("db.operation.name") {
            self.lock().0.push((*event.metadata().level(), fields));
        }
    }
}

/// Runs a future whose traces are kept.
async fn traced<T>(traced: &Traced, level: LevelFilter, future: impl Future<Output = T>) -> T {
    with_subscriber(future, tracing_subscriber::registry().with(level).with(traced.clone())).await
}

async fn pets(store: &Store) -> Result<&Tables> {
    store.tables.create::<Pet>().await?;
    store.tables.insert_all((0..10).map(pet)).await?;
    Ok(&store.tables)
}

/// Checks the fields of an event.
fn is(event: &Fields, expected: &[(&str, &str)]) {
    for (name, value) in expected {
        assert_eq!(event.get(name).map(String::as_str), Some(*value), "{name} of {event:?}");
    }
}

async fn each_operation_is_one_span_with_its_numbers(store: &Store) -> Result<()> {
    let (tables, seen) = (pets(store).await?, Traced::default());
    let system = if store.kind.is_service() { "azure.tables" } else { "redb" };
    let run = async || {
        let marcus = || Pet::by_key("Marcus");
        Pet::key("Marcus", 3).get(tables).await?;
        let event = seen.one();
        is(&event, &[("db.operation.name", "get"), ("db.collection.name", "Pets"), ("table.entity", "Pet")]);
        is(&event, &[("table.cost", "point"), ("table.requests", "1"), ("table.rows_read", "1")]);
        is(&event, &[("db.response.returned_rows", "1"), ("table.retries", "0"), ("table.outcome", "ok")]);
        if store.kind != Kind::Plain {
            is(&event, &[("db.system.name", system)]);
        }
        marcus().filter(|pet| pet.age.ge(8)).all(tables).await?;
        is(&seen.one(), &[("table.cost", "partition scan"), ("db.response.returned_rows", "2")]);
        marcus().count(tables).await?;
        is(&seen.one(), &[("db.operation.name", "count"), ("table.requests", "1"), ("table.rows_read", "10")]);
        Pet::by_name("Marcus").take(3).all(tables).await?;
        is(&seen.one(), &[("table.cost", "lookups"), ("table.requests", "4"), ("table.rows_read", "6")]);
        marcus().take(2).stream(tables).try_collect::<Vec<_>>().await?;
        is(&seen.one(), &[("db.operation.name", "stream"), ("db.response.returned_rows", "2")]);
        marcus().boxed().first(tables).await?;
        is(&seen.one(), &[("db.operation.name", "first"), ("db.response.returned_rows", "1")]);
        marcus().for_each(tables, drop).await?;
        is(&seen.one(), &[("db.operation.name", "for_each"), ("db.response.returned_rows", "10")]);
        marcus().page(tables, 4, None).await?;
        is(&seen.one(), &[("db.operation.name", "page"), ("db.response.returned_rows", "4")]);
        Pet::key("Marcus", 99).exists(tables).await?;
        is(&seen.one(), &[("db.operation.name", "exists"), ("db.response.returned_rows", "0")]);
        tables.get_many((0..3).map(|number| Pet::key("Marcus", number))).await?;
        is(&seen.one(), &[("db.operation.name", "get_many"), ("table.requests", "3")]);
        tables.insert(&pet(20)).await?;
        is(&seen.one(), &[("db.operation.name", "insert"), ("table.requests", "1"), ("table.rows_read", "0")]);
        tables.patch(Pet::key("Marcus", 20), |pet| pet.age.set(4)).await?;
        is(&seen.one(), &[("db.operation.name", "patch"), ("table.requests", "1")]);
        tables.remove(Pet::key("Marcus", 20)).await?;
        is(&seen.one(), &[("db.operation.name", "remove"), ("table.requests", "2"), ("table.rows_read", "1")]);
        tables.transaction().insert(&pet(30)).insert(&pet(31)).commit().await?;
        is(&seen.one(), &[("db.operation.name", "transaction"), ("table.requests", "1")]);
        tables.create::<Pet>().await?;
        is(&seen.one(), &[("db.operation.name", "create"), ("table.outcome", "ok")]);
        assert_eq!(tables.verify::<Pet>().await?.findings, []);
        is(&seen.one(), &[("db.operation.name", "verify"), ("table.rows_read", "24")]);
        tables.repair::<Pet>().await?;
        is(&seen.one(), &[("db.operation.name", "repair"), ("table.rows_read", "24")]);
        anyhow::Ok(())
    };
    traced(&seen, LevelFilter::DEBUG, run()).await
}

async fn the_parts_of_an_operation_belong_to_it(store: &Store) -> Result<()> {
    let (tables, seen) = (pets(store).await?, Traced::default());
    let run = async || {
        tables.modify(Pet::key("Marcus", 1), |pet| pet.age += 1).await?;
        is(&seen.one(), &[("db.operation.name", "modify"), ("table.requests", "2"), ("table.rows_read", "1")]);
        Pet::by_key("Marcus").take(5).delete_all(tables).await?;
        is(&seen.one(), &[("db.operation.name", "delete_all"), ("table.requests", "2"), ("table.rows_read", "5")]);
        tables.insert_all((0..5).map(pet)).await?;
        is(&seen.one(), &[("db.operation.name", "insert_all"), ("table.requests", "1")]);
        anyhow::Ok(())
    };
    traced(&seen, LevelFilter::DEBUG, run()).await
}

async fn rows_that_cannot_be_read_are_counted(store: &Store) -> Result<()> {
    let (tables, seen) = (pets(store).await?, Traced::default());
    let mut no_number = Properties::default();
    no_number.push("Age", ValueRef::String("old"));
    for row in store.rows("Pets").await?.iter().filter(|row| row.row_key.ends_with('3') || row.row_key.ends_with('4')) {
        let change = Action::Merge(no_number.clone(), IfMatch::Any);
        store.write("Pets", (&row.partition_key, &row.row_key), change).await?;
    }
    let run = async || {
        let numbers = [("table.rows_unreadable", "2"), ("db.response.returned_rows", "8"), ("table.outcome", "ok")];
        let query = || Pet::by_key("Marcus");
        query().skip_unreadable(drop).all(tables).await?;
        is(&seen.one(), &numbers);
        let errors = query().stream(tables).filter(|pet| std::future::ready(pet.is_err())).count().await;
        assert_eq!(errors, 2);
        is(&seen.one(), &numbers);
        assert!(query().all(tables).await.is_err());
        is(&seen.one(), &[("table.rows_unreadable", "0"), ("table.outcome", "error"), ("error.type", "Property")]);
        anyhow::Ok(())
    };
    traced(&seen, LevelFilter::DEBUG, run()).await
}

async fn errors_and_dropped_futures_are_outcomes(store: &Store) -> Result<()> {
    let (tables, seen) = (pets(store).await?, Traced::default());
    let run = async || {
        assert!(matches!(tables.insert(&pet(1)).await, Err(Error::AlreadyExists(_))));
        is(&seen.one(), &[("table.outcome", "error"), ("error.type", "AlreadyExists")]);
        drop(tables.insert(&pet(50)));
        is(&seen.one(), &[("table.outcome", "cancelled"), ("table.requests", "0")]);
        // A stream that is not read to its end has done its work.
        let mut stream = Pet::by_key("Marcus").stream(tables);
        stream.next().await.expect("a pet")?;
        drop(stream);
        is(&seen.one(), &[("table.outcome", "ok")]);
        anyhow::Ok(())
    };
    traced(&seen, LevelFilter::DEBUG, run()).await
}

async fn slow_and_retried_operations_are_at_the_level_info(store: &Store) -> Result<()> {
    let (tables, seen) = (pets(store).await?.with_slow_after(Duration::from_hours(1)), Traced::default());
    let run = async || {
        Pet::key("Marcus", 1).get(&tables).await?;
        assert_eq!(seen.take()[0].0, Level::DEBUG);
        // Another writer is faster once.
        let mut stored = Pet::key("Marcus", 1).get(&tables).await?.expect("it exists");
        seen.take();
        let mut first = true;
        tables
            .modify(Pet::key("Marcus", 1), |pet| {
                if std::mem::take(&mut first) {
                    stored.age = 70;
                    futures_util::FutureExt::now_or_never(tables.update(&mut stored));
                }
                pet.age += 1;
            })
            .await?;
        // On a service, the update of the other writer has not ended, so there was nothing to try again.
        if matches!(store.kind, Kind::Plain) {
            let (level, event) = seen.take().pop().expect("the operation");
            is(&event, &[("db.operation.name", "modify"), ("table.retries", "1")]);
            assert_eq!(level, Level::INFO);
        }
        anyhow::Ok(())
    };
    traced(&seen, LevelFilter::DEBUG, run()).await?;

    let (slow, seen) = (tables.with_slow_after(Duration::ZERO), Traced::default());
    let run = async || {
        Pet::key("Marcus", 1).get(&slow).await?;
        let (events, spans) = std::mem::take(&mut *seen.lock());
        assert_eq!((events.len(), spans.len()), (1, 0), "spans are at the level debug");
        assert_eq!(events[0].0, Level::INFO);
        anyhow::Ok(())
    };
    traced(&seen, LevelFilter::INFO, run()).await
}

async fn nothing_of_a_row_is_traced(store: &Store) -> Result<()> {
    let (tables, seen) = (pets(store).await?, Traced::default());
    let run = async || {
        Pet::key("Marcus", 1).get(tables).await?;
        Pet::by_name("Marcus").eq("secret3").all(tables).await?;
        let _ = tables.insert(&pet(1)).await;
        assert_eq!(seen.take().len(), 3);
        let text = std::mem::take(&mut *seen.1.lock().expect("no panic"));
        assert!(text.lines().count() >= 6 && !text.contains("Marcus") && !text.contains("secret"), "{text}");
        anyhow::Ok(())
    };
    traced(&seen, LevelFilter::TRACE, run()).await
}

#[derive(TableEntity)]
#[table(name = "Sales", events(copy))]
struct Sale {
    #[partition_key]
    shop: String,
    #[row_key]
    number: u32,
}

async fn each_call_of_a_consumer_is_a_span(store: &Store) -> Result<()> {
    let (tables, kept, ids) = (store.again(), Traced::default(), Mutex::new(Vec::new()));
    tables.create::<Sale>().await?;
    for number in 1..=2 {
        tables.insert(&Sale { shop: "secret".into(), number }).await?;
    }
    let relay = tables.relay::<Sale>();
    let delivery = relay.deliver_once(async |event| {
        let name = tracing::Span::current().metadata().map(tracing::Metadata::name);
        ids.lock().expect("no panic").push((event.id().to_string(), name));
        Ok::<_, std::io::Error>(())
    });
    assert_eq!(traced(&kept, LevelFilter::DEBUG, delivery).await?.delivered, 2);
    let text = kept.1.lock().expect("no panic").clone();
    for (id, name) in ids.into_inner()? {
        assert_eq!(name, Some("event delivery"));
        let span = text.lines().find(|line| line.contains(&id)).expect("the span of the event");
        assert!(span.starts_with("table_runtime::relay ") && span.contains(r#""table.entity": "Sale""#), "{span}");
    }
    assert!(!text.contains("secret"), "{text}");
    Ok(())
}
