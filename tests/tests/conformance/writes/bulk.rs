//! Bulk writes: many entities at once.

#![allow(clippy::duplicated_attributes, reason = "indexes of one struct share options")]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::Result;
use futures_util::{StreamExt, TryStreamExt, stream};
use table_runtime::{Error, Stored, TableEntity, Tables, error::RowNow};
use tests::stores::{Kind, Store};
use tokio::{sync::watch, time::timeout};

use crate::fixtures::{Member, failed, member};

crate::conformance! {
    transactions_are_packed_by_partition
    a_failed_entity_does_not_fail_others
    entities_may_be_passed_by_reference
    existing_rows_of_a_transaction_are_found_by_one_query
    rows_far_apart_are_read_one_by_one
    ten_thousand_failures_end_a_bulk_write
    upserts_of_one_row_are_applied_in_order
    removals_skip_missing_rows
    an_error_of_the_store_ends_a_bulk_write_and_gives_the_position_to_resume_from
    endless_input_is_consumed_as_it_is_written
    entities_are_written_while_the_input_pauses
    a_lost_answer_is_unknown_for_each_entity_and_nothing_is_sent_again
    bulk_writes_maintain_indexes_in_the_partition
    bulk_writes_maintain_cross_partition_indexes
    each_step_of_many_entities_is_one_transaction
    index_rows_in_partitions_of_their_own_take_a_request_each
    a_conflict_costs_the_other_entities_few_requests
    a_value_can_move_between_entities_of_a_bulk_write
    bulk_writes_with_cross_partition_indexes_survive_lost_answers
    large_entities_are_packed_into_small_transactions
    a_bulk_write_that_tried_everything_has_not_ended_early
    errors_of_a_source_are_failures_of_their_positions
    a_query_is_the_source_of_a_bulk_write
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Readings")]
struct Reading {
    #[partition_key]
    sensor: String,
    #[row_key]
    number: u32,
    value: i64,
}

fn reading(number: u32) -> Reading {
    Reading { sensor: format!("s{}", number % 3), number, value: 1 }
}

async fn transactions_are_packed_by_partition(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Reading>().await?;
    store.probe.requests();
    let reports = Arc::new(Mutex::new(Vec::new()));
    let shared = reports.clone();
    let done = tables
        .insert_all((0..750).map(reading))
        .progress(move |progress| shared.lock().expect("no panic").push(progress.written))
        .await?;
    assert_eq!((done.read, done.written, done.failed), (750, 750, 0));
    // Each of three partitions takes two full transactions and a half-full one.
    assert_eq!(store.probe.requests(), 9);
    let reports = reports.lock().expect("no panic").clone();
    assert_eq!((reports.len(), reports.last()), (9, Some(&750)));
    assert!(reports.is_sorted());
    for sensor in ["s0", "s1", "s2"] {
        assert_eq!(Reading::by_key(sensor).count(tables).await?, 250);
    }
    Ok(())
}

async fn a_failed_entity_does_not_fail_others(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Reading>().await?;
    tables.insert(&reading(30)).await?;
    let too_long = Reading { sensor: "x".repeat(513), ..reading(0) };
    let input = (0..100).map(reading).chain([too_long, reading(100), reading(5)]);
    let error = failed(tables.insert_all(input).await);
    assert_eq!((error.progress.read, error.progress.written, error.progress.failed), (103, 100, 3));
    let failures: Vec<_> = error.failures.iter().map(|failure| (failure.position, &*failure.error)).collect();
    assert!(matches!(failures[0], (30, Error::AlreadyExists(row)) if row.row_key == "0000000030"), "{failures:?}");
    assert!(matches!(failures[1], (100, Error::Key(_))), "{failures:?}");
    // The input has this reading twice.
    assert!(matches!(failures[2], (102, Error::AlreadyExists(_))), "{failures:?}");
    assert_eq!((error.resume_from, error.ended_early), (103, false));
    let text = error.to_string();
    assert!(text.starts_with("3 of 103 entities were not written; the first: "), "{text}");
    assert!(text.ends_with("Readings(PartitionKey='s0',RowKey='0000000030') already exists"), "{text}");
    Ok(())
}

async fn entities_may_be_passed_by_reference(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Reading>().await?;
    let readings: Vec<_> = (0..9).map(reading).collect();
    tables.insert_all(&readings[..3]).await?;
    tables.insert_all(readings[3..6].iter()).await?;
    tables.insert_all_from(stream::iter(&readings[6..])).await?;
    let stored = Reading::by_key("s1").all(tables).await?;
    tables.upsert_all(stored.iter().map(|stored| &**stored)).await?;
    tables.upsert_all(&readings).await?;
    let first = Reading::by_key("s0").all(tables).await?;
    assert_eq!(first.iter().map(|stored| (**stored).clone()).collect::<Vec<_>>(), [0, 3, 6].map(reading));
    Ok(())
}

async fn existing_rows_of_a_transaction_are_found_by_one_query(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Reading>().await?;
    tables.insert_all((0..300).filter(|number| number % 2 == 0).map(reading)).await?;
    store.probe.requests();
    let error = failed(tables.insert_all((0..300).map(reading)).await);
    assert_eq!((error.progress.written, error.failures.len()), (150, 150));
    let is_it = |number: usize, error: &Error| matches!(error, Error::AlreadyExists(row) if row.row_key == format!("{number:010}"));
    for (failure, number) in error.failures.iter().zip((0..300).step_by(2)) {
        assert_eq!(failure.position, number);
        assert!(is_it(number, &failure.error), "{failure:?}");
    }
    // Each of three partitions takes a transaction, a query for existing rows, and a transaction of the others.
    assert_eq!(store.probe.requests(), 9);
    let error = failed(tables.insert_all((0..300).map(reading)).await);
    assert_eq!((error.progress.written, error.failures.len()), (0, 300));
    assert_eq!(store.probe.requests(), 6);
    Ok(())
}

async fn rows_far_apart_are_read_one_by_one(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Reading>().await?;
    let of_one = |number: u32| Reading { sensor: "s".into(), ..reading(number) };
    tables.insert_all((0..2_500).map(of_one)).await?;
    let apart = || [0, 1_500, 2_000, 3_000, 2_499, 4_000].map(of_one);
    store.probe.requests();
    let error = failed(tables.insert_all(apart()).await);
    let failed: Vec<_> = error.failures.iter().map(|failure| failure.position).collect();
    assert_eq!((error.progress.written, failed), (2, vec![0, 1, 2, 4]));
    // One query covers a thousand rows. All rows beyond it are read one by one.
    assert_eq!(store.probe.requests(), 8);
    let done = tables.remove_all(apart().map(|of| Reading::key(&of.sensor, of.number))).await?;
    assert_eq!((done.written, done.missing), (6, 0));
    let done = tables.remove_all([0, 2_400].map(|number| Reading::key("s", number))).await?;
    assert_eq!((done.written, done.missing), (1, 1));
    Ok(())
}

async fn ten_thousand_failures_end_a_bulk_write(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Reading>().await?;
    // The keys are too long, so every entity fails.
    let input = |count: u32| (0..count).map(|number| Reading { sensor: "x".repeat(513), ..reading(number) });
    let error = failed(tables.insert_all(input(9_999)).await);
    assert_eq!((error.progress.read, error.failures.len(), error.ended_early), (9_999, 9_999, false));
    let error = failed(tables.insert_all(input(20_000)).await);
    assert_eq!((error.progress.read, error.failures.len(), error.ended_early), (10_000, 10_000, true));
    assert_eq!(error.resume_from, 10_000);
    let text = error.to_string();
    let expected = "10000 of 10000 entities were not written, and the rest of the input was not tried; the first: ";
    assert!(text.starts_with(expected), "{text}");
    Ok(())
}

async fn upserts_of_one_row_are_applied_in_order(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Reading>().await?;
    for value in [1, 2] {
        let input = (0..300).chain(0..300).enumerate();
        // The first 300 entities have other values, which the second 300 overwrite.
        let input = input.map(|(at, number)| Reading { value: value + i64::from(at < 300) * 10, ..reading(number) });
        let done = tables.upsert_all(input).await?;
        assert_eq!(done.written, 600);
        for sensor in ["s0", "s1", "s2"] {
            let all = Reading::by_key(sensor).all(tables).await?;
            assert_eq!(all.len(), 100);
            assert!(all.iter().all(|reading| reading.value == value));
        }
    }
    Ok(())
}

async fn removals_skip_missing_rows(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Reading>().await?;
    tables.insert_all((0..90).map(reading)).await?;
    tables.remove(Reading::key("s0", 30)).await?;
    let keys: Vec<_> = (0..60).map(reading).map(|reading| Reading::key(&reading.sensor, reading.number)).collect();
    let done = tables.remove_all(keys).await?;
    assert_eq!((done.read, done.written, done.missing), (60, 59, 1));
    for sensor in ["s0", "s1", "s2"] {
        assert_eq!(Reading::by_key(sensor).count(tables).await?, 10);
    }
    // Missing rows cost one query for each transaction.
    store.probe.requests();
    let done = tables.remove_all((0..60).map(|number| Reading::key(&format!("s{}", number % 3), number))).await?;
    assert_eq!((done.written, done.missing), (0, 60));
    assert_eq!(store.probe.requests(), 6);
    tables.create::<Member>().await?;
    tables.insert_all((0..20).map(numbered)).await?;
    let done = tables.remove_all((0..40).map(|id| Member::key("chess", id))).await?;
    assert_eq!((done.written, done.missing), (20, 20));
    assert_eq!(tables.verify::<Member>().all().await?, []);
    assert_eq!(Member::by_joined("chess").count(tables).await?, 0);
    Ok(())
}

async fn an_error_of_the_store_ends_a_bulk_write_and_gives_the_position_to_resume_from(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let error = failed(tables.insert_all((0..100_000).map(reading)).side_by_side(2).await);
    assert!(error.failures.iter().all(|failure| matches!(&*failure.error, Error::TableNotFound(_))));
    assert!(error.progress.read < 5_000, "{:?}", error.progress);
    assert_eq!((error.resume_from, error.progress.written, error.ended_early), (0, 0, true));
    tables.create::<Reading>().await?;
    tables.upsert_all((0..300).skip(error.resume_from).map(reading)).await?;
    assert_eq!(Reading::by_key("s0").count(tables).await?, 100);
    Ok(())
}

async fn endless_input_is_consumed_as_it_is_written(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Reading>().await?;
    // Each reading has its own partition, so no transaction gets full.
    let endless = stream::iter(0_u32..).map(|number| Reading { sensor: number.to_string(), ..reading(number) });
    let written = Arc::new(Mutex::new(0));
    let shared = written.clone();
    let load = tables.insert_all_from(endless).progress(move |progress| {
        assert!(progress.read < 25_000 + progress.written, "{progress:?}");
        // If too many entities wait, many are sent at once: searching all of them for each new entity would be slow.
        assert!(progress.written > 100 || progress.read == 20_001, "{progress:?}");
        *shared.lock().expect("no panic") = progress.written;
    });
    let mut load = load.into_future();
    let enough = futures_util::future::poll_fn(|context| {
        if *written.lock().expect("no panic") > 100 {
            return std::task::Poll::Ready(());
        }
        assert!(load.as_mut().poll(context).is_pending());
        if *written.lock().expect("no panic") > 100 { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    });
    enough.await;
    Ok(())
}

async fn entities_are_written_while_the_input_pauses(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Reading>().await?;
    store.probe.requests();
    let (sender, receiver) = watch::channel(0);
    // The input gives 30 entities and pauses until they are written. It never gives enough for a full transaction.
    let input = stream::iter([0, 30, 60]).then(move |from| {
        let mut receiver = receiver.clone();
        async move {
            let _ = receiver.wait_for(|written| *written == from as usize).await;
            stream::iter((from..from + 30).map(reading))
        }
    });
    let load = tables.insert_all_from(input.flatten()).progress(move |progress| {
        sender.send_replace(progress.written);
    });
    let done = timeout(Duration::from_mins(2), load.into_future()).await??;
    assert_eq!(done.written, 90);
    // Waiting entities were still sent by partition.
    assert_eq!(store.probe.requests(), 9);
    Ok(())
}

async fn a_lost_answer_is_unknown_for_each_entity_and_nothing_is_sent_again(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Reading>().await?;
    // Whether it was applied or not, only a read shows it.
    store.probe.apply_and_lose();
    let error = failed(tables.upsert_all((0..30).map(reading)).side_by_side(1).await);
    assert_eq!((error.progress.written, error.failures.len()), (20, 10));
    for failure in &error.failures {
        let Error::OutcomeUnknown(unknown) = &*failure.error else { panic!("{failure:?}") };
        assert_eq!(Some(&unknown.row), failure.row.as_ref());
        assert!(matches!(unknown.now, RowNow::Present(_)), "{unknown}");
    }
    store.probe.lose();
    let error = failed(tables.upsert_all((30..60).map(reading)).side_by_side(1).await);
    assert_eq!((error.progress.written, error.failures.len()), (20, 10));
    assert!(
        error
            .failures
            .iter()
            .all(|failure| matches!(&*failure.error, Error::OutcomeUnknown(unknown) if unknown.now == RowNow::Absent))
    );
    assert_eq!(Reading::by_key("s0").count(tables).await?, 10);
    // The outcome of an insert stays unknown.
    store.probe.apply_and_lose();
    let error = failed(tables.insert_all((60..63).map(reading)).side_by_side(1).await);
    assert_eq!(error.failures.len(), 1);
    assert!(matches!(&*error.failures[0].error, Error::OutcomeUnknown(_)));
    // A removal is not repeated either: by then, another writer may have inserted the entity again.
    store.probe.apply_and_lose();
    let removed = failed(tables.remove_all((0..1).map(|_| Reading::key("s1", 1))).await);
    assert!(matches!(&*removed.failures[0].error, Error::OutcomeUnknown(unknown) if unknown.now == RowNow::Absent));
    // The reading may or may not be stored, so a program that resumes writes it again.
    assert_eq!(error.resume_from, error.failures[0].position);
    Ok(())
}

fn numbered(id: u32) -> Member {
    member(id, &format!("N{id}"))
}

async fn bulk_writes_maintain_indexes_in_the_partition(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Member>().await?;
    let input = (0..100).map(numbered).chain([member(200, "n7")]);
    let error = failed(tables.insert_all(input).await);
    assert!(matches!(&*error.failures[0].error, Error::UniqueViolation(taken) if taken.value == "n7"));
    assert_eq!((error.failures.len(), error.failures[0].position, error.progress.written), (1, 100, 100));
    let renamed = (0..100).map(|id| Member { town: "Bonn".into(), ..member(id, &format!("M{id}")) });
    tables.upsert_all(renamed).await?;
    assert_eq!(Member::by_name("chess").eq("N1").get(tables).await?, None);
    assert_eq!(Member::by_town("chess").eq("Bonn").count(tables).await?, 100);
    tables.remove_all((0..50).map(|id| Member::key("chess", id))).await?;
    assert_eq!(Member::by_joined("chess").eq(2010).count(tables).await?, 50);
    assert_eq!(tables.verify::<Member>().all().await?, []);
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Users")]
struct User {
    #[partition_key]
    id: u32,
    #[row_key]
    kind: u8,
    #[index(email, lowercase, unique)]
    email: String,
}

async fn bulk_writes_maintain_cross_partition_indexes(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<User>().await?;
    let user = |id: u32| User { id, kind: 0, email: format!("u{}@x.org", id % 25) };
    let error = failed(tables.insert_all((0..30).map(user)).await);
    assert_eq!((error.progress.written, error.failures.len()), (25, 5));
    assert!(error.failures.iter().all(|failure| matches!(&*failure.error, Error::UniqueViolation(_))));
    tables.remove_all((0..30).map(|id| User::key(id, 0))).await?;
    tables.upsert_all((5..30).map(user)).await?;
    assert_eq!(User::by_email("U3@x.org").get(tables).await?.map(|user| user.id), Some(28));
    assert_eq!(tables.verify::<User>().all().await?, []);
    Ok(())
}

/// An entity whose index rows are in few partitions.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Tickets")]
#[index(seat, partition(hall), row(seat), unique)]
#[index(guest, partition(hall), row(guest(lowercase)), include(price))]
struct Ticket {
    #[partition_key]
    concert: u32,
    #[row_key]
    number: u32,
    hall: String,
    seat: u32,
    guest: String,
    price: i64,
}

fn ticket(number: u32) -> Ticket {
    let (concert, seat) = (number / 100, number);
    Ticket { concert, number, hall: "Beethoven".into(), seat, guest: format!("Guest {seat}"), price: 20 }
}

async fn each_step_of_many_entities_is_one_transaction(store: &Store) -> Result<()> {
    const TICKETS: u32 = 300;
    let tables = &store.tables;
    tables.create::<Ticket>().await?;
    let moved = |number| Ticket { seat: number + TICKETS, guest: "Ada".into(), ..ticket(number) };
    store.probe.requests();
    let check = |what: &str, limit: usize| {
        let requests = store.probe.requests();
        assert!(requests * 100 <= limit * TICKETS as usize, "{what}: {requests} requests for {TICKETS} entities");
    };
    tables.insert_all((0..TICKETS).map(ticket)).await?;
    check("insert_all", 5);
    if !store.spans_partitions() {
        tables.remove_all((0..TICKETS).map(|number| Ticket::key(number / 100, number))).await?;
        check("remove_all", 10);
        tables.upsert_all((0..TICKETS).map(ticket)).await?;
        check("upsert_all of new entities", 10);
        tables.upsert_all((0..TICKETS).map(moved)).await?;
        check("upsert_all of entities whose index rows move", 10);
        assert_eq!(Ticket::by_seat("Beethoven").eq(7).get(tables).await?, None);
        assert_eq!(Ticket::by_guest("Beethoven").eq("ada").count(tables).await?, TICKETS as usize);
    }
    assert_eq!(tables.verify::<Ticket>().all().await?, []);
    Ok(())
}

/// An entity whose index rows are each in a partition of their own.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Visitors")]
struct Visitor {
    #[partition_key]
    hall: u32,
    #[row_key]
    number: u32,
    #[index(email, unique)]
    email: String,
    #[index(phone)]
    phone: String,
}

async fn index_rows_in_partitions_of_their_own_take_a_request_each(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Visitor>().await?;
    store.probe.requests();
    let visitor = |number| Visitor { hall: 1, number, email: format!("{number}@x.org"), phone: format!("{number}") };
    tables.insert_all((0..100).map(visitor)).await?;
    // One transaction writes the pending inserts, and one commits them. If the answers come one after another, the
    // entities of the last 16 requests in flight may each be committed by itself.
    let (least, most) = match store.kind {
        _ if store.spans_partitions() => (1, 1),
        Kind::Plain => (202, 202),
        _ => (202, 202 + 16),
    };
    let requests = store.probe.requests();
    assert!((least..=most).contains(&requests), "{requests} requests");
    assert_eq!(tables.verify::<Visitor>().all().await?, []);
    Ok(())
}

async fn a_conflict_costs_the_other_entities_few_requests(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Ticket>().await?;
    tables.insert(&ticket(30)).await?;
    tables.insert(&Ticket { number: 999, seat: 60, ..ticket(999) }).await?;
    store.probe.requests();
    let error = failed(tables.insert_all((0..100).map(ticket)).await);
    let requests = store.probe.requests();
    let positions: Vec<_> = error.failures.iter().map(|failure| failure.position).collect();
    assert_eq!((positions, error.progress.written), (vec![30, 60], 98));
    assert!(matches!(&*error.failures[0].error, Error::AlreadyExists(_)), "{error}");
    assert!(matches!(&*error.failures[1].error, Error::UniqueViolation(_)), "{error}");
    assert!(requests <= 25, "{requests} requests");
    assert_eq!(Ticket::by_seat("Beethoven").count(tables).await?, 100);
    assert_eq!(tables.verify::<Ticket>().all().await?, []);
    Ok(())
}

async fn a_value_can_move_between_entities_of_a_bulk_write(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Ticket>().await?;
    tables.insert_all((0..4).map(ticket)).await?;
    // Each takes the seat that the next one leaves.
    tables.upsert_all((0..4).map(|number| Ticket { seat: number + 1, ..ticket(number) })).await?;
    let seats = Ticket::by_seat("Beethoven").all(tables).await?;
    assert_eq!(
        seats.iter().map(|ticket| (ticket.seat, ticket.number)).collect::<Vec<_>>(),
        [(1, 0), (2, 1), (3, 2), (4, 3)]
    );
    // And back, and forth in the other order: each takes the seat that the one before it leaves.
    tables.upsert_all((0..4).map(ticket)).await?;
    tables.upsert_all((0..4).rev().map(|number| Ticket { seat: number + 1, ..ticket(number) })).await?;
    let seats = Ticket::by_seat("Beethoven").all(tables).await?;
    assert!(seats.iter().all(|ticket| ticket.seat == ticket.number + 1), "{seats:?}");
    // Two entities of one bulk write that want one value: the first one gets it.
    let error = failed(tables.insert_all([8, 9].map(|number| Ticket { seat: 77, ..ticket(number) })).await);
    assert_eq!(error.failures.iter().map(|failure| failure.position).collect::<Vec<_>>(), [1]);
    assert!(matches!(&*error.failures[0].error, Error::UniqueViolation(_)), "{error}");
    assert_eq!(tables.verify::<Ticket>().all().await?, []);
    Ok(())
}

async fn bulk_writes_with_cross_partition_indexes_survive_lost_answers(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Ticket>().await?;
    for (at, lose) in [true, false].into_iter().enumerate() {
        let first = u32::try_from(at)? * 100;
        if lose {
            store.probe.apply_and_lose();
        } else {
            store.probe.lose();
        }
        let written = tables.insert_all((first..first + 50).map(ticket)).await;
        // An insert that is one transaction is not repeated, because nothing tells whether it was applied.
        assert_eq!(written.is_err(), store.spans_partitions(), "{written:?}");
        tables.upsert_all((first..first + 50).map(ticket)).await?;
        assert_eq!(Ticket::by_key(first / 100).count(tables).await?, 50);
    }
    assert_eq!(Ticket::by_seat("Beethoven").count(tables).await?, 100);
    assert_eq!(tables.verify::<Ticket>().all().await?, []);
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Blobs")]
struct Blob {
    #[partition_key]
    bucket: String,
    #[row_key]
    number: u32,
    text: String,
    bytes: Vec<u8>,
}

async fn large_entities_are_packed_into_small_transactions(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Blob>().await?;
    let blob = |number| Blob { bucket: "b".into(), number, text: "é\u{1}".repeat(15_000), bytes: vec![7; 60_000] };
    tables.insert_all((0..60).map(blob)).await?;
    assert_eq!(Blob::by_key("b").count(tables).await?, 60);
    assert_eq!(Blob::key("b", 59).get(tables).await?.as_deref(), Some(&blob(59)));
    Ok(())
}

async fn a_bulk_write_that_tried_everything_has_not_ended_early(store: &Store) -> Result<()> {
    // Without its table, every write fails.
    let error = failed(store.tables.insert_all([reading(1)]).await);
    assert_eq!((error.ended_early, error.progress.read, error.failures.len()), (false, 1, 1));
    let error = failed(store.tables.insert_all((0..100).map(reading)).await);
    assert_eq!((error.ended_early, error.progress.read, error.failures.len()), (false, 100, 100));
    // An entity with a cross-partition index is sent, and may have failed, before the next one is taken from the input.
    let indexed = User { id: 1, kind: 0, email: String::new() };
    let error = failed(store.tables.insert_all([indexed]).await);
    assert_eq!((error.ended_early, error.progress.read, error.failures.len()), (false, 1, 1));
    let error = failed(store.tables.insert_all((0..1_000).map(reading)).side_by_side(1).await);
    assert!(error.ended_early && error.progress.read < 1_000, "{error:?}");
    Ok(())
}

async fn errors_of_a_source_are_failures_of_their_positions(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Reading>().await?;
    let lines = ["3", "", "6", "x", "9"].map(|line| line.parse().map(reading));
    for verb in [Tables::try_insert_all_from::<Reading, _>, Tables::try_upsert_all_from::<Reading, _>] {
        let error = failed(verb(tables, stream::iter(lines.clone())).await);
        assert_eq!((error.progress.read, error.progress.failed), (5, 2));
        let failures: Vec<_> = error.failures.iter().map(|failure| (failure.position, &*failure.error)).collect();
        assert!(matches!(failures[..], [(1, Error::Source(_)), (3, Error::Source(_))]), "{failures:?}");
        let text = failures[1].1.to_string();
        assert_eq!(text, "the source of the entities has an error: invalid digit found in string");
        assert_eq!((error.resume_from, error.ended_early), (5, false));
        let found = Reading::by_key("s0").all(tables).await?;
        assert_eq!(found.iter().map(|found| found.number).collect::<Vec<_>>(), [3, 6, 9]);
        tables.remove_all(found.iter().map(|found| Reading::key("s0", found.number))).await?;
    }
    let keys = [Ok(Reading::key("s0", 3)), Err("no key")];
    let error = failed(tables.try_remove_all_from(stream::iter(keys)).await);
    assert_eq!((error.progress.missing, error.progress.failed, error.failures[0].position), (1, 1, 1));
    Ok(())
}

async fn a_query_is_the_source_of_a_bulk_write(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Reading>().await?;
    tables.insert_all((0..30).map(reading)).await?;
    let doubled =
        Reading::by_key("s1").stream(tables).map_ok(|found| Reading { value: 2, ..Stored::into_inner(found) });
    assert_eq!(tables.try_upsert_all_from(doubled).await?.written, 10);
    let read = Reading::by_key("s1").all(tables).await?;
    assert!(read.len() == 10 && read.iter().all(|found| found.value == 2), "{read:?}");
    let keys = Reading::by_key("s1").stream(tables).map_ok(|found| Reading::key("s1", found.number));
    assert_eq!(tables.try_remove_all_from(keys).await?.written, 10);
    assert_eq!(Reading::by_key("s1").count(tables).await?, 0);

    // An error of this crate stays what it is.
    let missing = stream::iter([Err::<Reading, _>(Error::TableNotFound("Gone".to_owned().into()))]);
    let error = failed(tables.try_insert_all_from(missing).await);
    assert!(matches!(&*error.failures[0].error, Error::TableNotFound(table) if table == "Gone"), "{error}");
    Ok(())
}
