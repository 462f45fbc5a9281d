//! Entities that expire: `#[table(expires = field)]`.

use std::time::{Duration, SystemTime};

use anyhow::Result;
use table_runtime::{
    EntityGroup, Error, Stored, TableEntity, Tables, Transaction, Value,
    backend::{Action, IfMatch},
    row::{Properties, ValueRef},
};
use tests::stores::Store;

use super::fixtures::{Doubting, Id, Session, at, check_found, clocked};
use crate::fixtures::findings;

crate::conformance! {
    no_read_finds_an_entity_from_its_time_on
    rows_of_the_partition_hold_the_time
    the_service_compares_the_time_where_it_can
    an_insert_takes_the_place_of_an_expired_entity
    writes_of_an_expired_entity_find_none
    a_merge_keeps_nothing_of_an_expired_entity
    an_expired_entity_frees_its_unique_values
    a_renewal_excludes_a_take_over
    bulk_inserts_take_the_places_of_expired_entities
    a_transaction_inserts_over_expired_entities
    a_transaction_takes_values_of_expired_entities_that_are_no_members
    groups_hide_each_member_by_its_own_time
    a_time_of_another_type_is_an_error
    requests_do_not_grow
    a_take_over_costs_a_few_requests
    two_programs_disagree_only_about_what_is_visible
    delete_all_leaves_expired_entities
    a_page_after_a_cursor_has_room_for_the_time
    a_row_that_is_two_versions_old_is_found_everywhere
    a_time_that_a_conversion_computes_hides_nothing
    an_insert_makes_way_of_a_pending_row_that_it_cannot_read
    an_insert_over_a_row_that_it_cannot_replace_ends_at_once
    what_has_expired_by_a_doubtful_time_alone_is_kept
}

async fn no_read_finds_an_entity_from_its_time_on(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Session>().await?;
    let sessions = [(1, Some(10)), (2, Some(20)), (3, None), (4, Some(15)), (5, Some(20))];
    tables.insert_all(sessions.map(|(id, until)| Session::new(id, until))).await?;
    check_found(&tables, 1..6, &[1, 2, 3, 4, 5]).await?;
    time.set(at(10) - Duration::from_nanos(100));
    check_found(&tables, 1..6, &[1, 2, 3, 4, 5]).await?;
    time.set(at(10));
    check_found(&tables, 1..6, &[2, 3, 4, 5]).await?;
    time.set(at(19));
    check_found(&tables, 1..6, &[2, 3, 5]).await?;
    time.set(at(20));
    check_found(&tables, 1..6, &[3]).await?;
    // Another program, whose clock is behind, still finds them.
    let (behind, _, _) = clocked(store);
    check_found(&behind, 1..6, &[1, 2, 3, 4, 5]).await?;
    assert_eq!(findings::<Session>(store).await?, []);
    Ok(())
}

/// Entity of which every row has the time.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Tokens", expires = until)]
struct Token {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(purpose, same_partition)]
    purpose: String,
    #[index(secret, unique)]
    secret: String,
    note: String,
    until: SystemTime,
}

fn token(id: u32, secret: &str, until: u64) -> Token {
    let (purpose, note) = ("reset".to_owned(), "n".to_owned());
    Token { user: "ada".into(), id, purpose, secret: secret.into(), note, until: at(until) }
}

async fn rows_of_the_partition_hold_the_time(store: &Store) -> Result<()> {
    let (tables, _, _) = clocked(store);
    tables.create::<Token>().await?;
    tables.insert(&token(1, "s", 10)).await?;
    let rows = store.rows("Tokens").await?;
    let keys: Vec<_> = rows.iter().map(|row| (&*row.row_key, row.properties.get("Until").is_some())).collect();
    assert_eq!(keys, [("id-0000000001", true), ("purpose-reset 0000000001", true)]);
    // The row of another partition can be older than a renewal, so it does not hold the time.
    let claims = store.rows("TokensBySecret").await?;
    assert_eq!(claims[0].properties.get("Until"), None);
    // A renewal moves no row, and changes those that hold the time.
    let mut stored = Token::key("ada", 1).get(&tables).await?.expect("the token");
    stored.until = at(99);
    tables.update(&mut stored).await?;
    for row in store.rows("Tokens").await? {
        let until = row.properties.get("Until").map(ValueRef::to_value);
        assert_eq!(until, Some(Value::DateTime(table_runtime::Ticks::from_system(at(99)).expect("a time"))));
    }
    assert_eq!(findings::<Token>(store).await?, []);
    Ok(())
}

async fn the_service_compares_the_time_where_it_can(store: &Store) -> Result<()> {
    let explain = Token::by_key("ada").explain();
    assert_eq!(explain.filter(), "PartitionKey eq 'ada' and RowKey ge 'id-' and RowKey lt 'id.' and (Until gt {now})");
    assert!(explain.reads_more_than_it_returns());
    // A missing property would compare as false.
    assert!(!Session::by_key("t").explain().filter().contains("Until"), "{}", Session::by_key("t").explain());
    // The 16th comparison is left away, and the answer is the same.
    let (tables, time, _) = clocked(store);
    tables.create::<Token>().await?;
    tables.insert_all([token(1, "a", 10), token(2, "b", 30)]).await?;
    time.set(at(20));
    let many = Token::by_key("ada").filter(|token| {
        let is = |id: u32| token.note.eq(if id == 1 { "n" } else { "x" });
        (2..13).fold(is(1), |filter, id| filter.or(is(id)))
    });
    assert_eq!(many.all(&tables).await?.len(), 1);
    assert_eq!(Token::by_key("ada").count(&tables).await?, 1);
    // The condition is not a part of the cursor, which continues at another time.
    tables.insert_all([token(3, "c", 30), token(4, "d", 60)]).await?;
    let page = Token::by_key("ada").page(&tables, 1, None).await?;
    assert_eq!(page.entities[0].id, 2);
    time.set(at(40));
    let page = Token::by_key("ada").page(&tables, 1, page.next.as_deref()).await?;
    assert_eq!(page.entities[0].id, 4);
    Ok(())
}

async fn an_insert_takes_the_place_of_an_expired_entity(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Session>().await?;
    tables.insert(&Session::new(1, Some(10))).await?;
    // A property that the struct does not know belongs to the entity that has expired.
    let mut more = Properties::default();
    more.push("Unknown", ValueRef::Int32(1));
    store.write("Sessions", ("t", "id-0000000001"), Action::Merge(more, IfMatch::Any)).await?;

    let again = Session { note: "again".into(), name: "Other".into(), ..Session::new(1, Some(50)) };
    let error = tables.insert(&again).await.expect_err("it is visible");
    assert!(
        matches!(&error, Error::AlreadyExists(row) if row.row_key == "id-0000000001" && !row.is_in_bin()),
        "{error}"
    );
    time.set(at(10));
    tables.insert(&again).await?;
    assert_eq!(Session::key("t", 1).get(&tables).await?.as_deref(), Some(&again));
    assert!(Session::by_name("t").eq("Name1").get(&tables).await?.is_none());
    assert_eq!(Session::by_name("t").eq("OTHER").get(&tables).await?.as_deref(), Some(&again));
    assert_eq!(Session::by_elsewhere("Other").all(&tables).await?.len(), 1);
    assert_eq!(Session::by_elsewhere("Name1").count_unchecked(&tables).await?, 0);
    let rows = store.rows("Sessions").await?;
    let own = rows.iter().find(|row| row.row_key == "id-0000000001").expect("its row");
    assert_eq!(own.properties.get("Unknown"), None);
    assert_eq!(findings::<Session>(store).await?, []);
    Ok(())
}

async fn writes_of_an_expired_entity_find_none(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Session>().await?;
    tables.insert_all([Session::new(1, Some(10)), Session::new(2, Some(10))]).await?;
    let mut first = Session::key("t", 1).get(&tables).await?.expect("visible");
    let second = Session::key("t", 2).get(&tables).await?.expect("visible");
    let made = Stored::new(Session::new(1, Some(90)), Stored::etag(&first).clone());
    time.set(at(10));
    // The time that was loaded counts, not the new one.
    first.until = Some(at(90));
    assert!(matches!(tables.update(&mut first).await, Err(Error::NotFound(_))));
    let mut made = made;
    assert!(matches!(tables.update(&mut made).await, Err(Error::NotFound(_))));
    assert!(matches!(tables.delete(&second).await, Err(Error::NotFound(_))));
    assert!(tables.modify(Session::key("t", 1), |session| session.until = None).await?.is_none());
    // Nothing has changed, also for a program whose clock is behind.
    let (behind, _, _) = clocked(store);
    assert_eq!(Session::key("t", 1).get(&behind).await?.as_deref(), Some(&Session::new(1, Some(10))));

    let renewed = Session::new(1, Some(60));
    let stored = tables.modify_or_insert(&renewed, |_| panic!("there is none")).await?;
    assert_eq!(*stored, renewed);
    // A write that asks for no entity needs none.
    tables.upsert(&Session::new(2, Some(60))).await?;
    check_found(&tables, 1..3, &[1, 2]).await?;
    time.set(at(60));
    assert!(tables.remove(Session::key("t", 2)).await?, "its row was there");
    assert_eq!(findings::<Session>(store).await?, []);
    Ok(())
}

async fn a_merge_keeps_nothing_of_an_expired_entity(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Token>().await?;
    for (id, until) in [(1, 10), (2, 90)] {
        tables.insert(&token(id, &format!("s{id}"), until)).await?;
        let mut more = Properties::default();
        more.push("Unknown", ValueRef::Int32(1));
        let row_key = format!("id-{id:010}");
        store.write("Tokens", ("ada", &row_key), Action::Merge(more, IfMatch::Any)).await?;
    }
    time.set(at(10));
    for id in [1, 2] {
        tables.merge(&token(id, &format!("s{id}"), 99)).await?;
    }
    let rows = store.rows("Tokens").await?;
    let own = rows.iter().filter(|row| row.row_key.starts_with("id-"));
    let kept: Vec<_> = own.map(|row| row.properties.get("Unknown").is_some()).collect();
    assert_eq!(kept, [false, true]);
    Ok(())
}

async fn an_expired_entity_frees_its_unique_values(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Session>().await?;
    tables.insert(&Session::new(1, Some(10))).await?;
    let taker = |id, name: &str, email: &str| Session {
        name: name.into(),
        email: Some(email.into()),
        ..Session::new(id, None)
    };
    for other in [taker(2, "NAME1", "two@x.org"), taker(3, "Three", "MAIL1@x.org")] {
        assert!(matches!(tables.insert(&other).await, Err(Error::UniqueViolation(violation)) if !violation.in_bin));
    }
    time.set(at(10));
    // The name is in the partition, and the address in another one. The first of the two deletes the owner.
    tables.insert(&taker(2, "NAME1", "two@x.org")).await?;
    assert!(store.rows("Sessions").await?.iter().all(|row| row.row_key != "id-0000000001"), "its owner is gone");
    tables.insert(&Session::new(4, Some(20))).await?;
    time.set(at(20));
    let mut third = Session::key("t", 2).get(&tables).await?.expect("the second");
    third.email = Some("mail4@x.org".into());
    tables.update(&mut third).await?;
    assert_eq!(Session::by_email("MAIL4@x.org").get(&tables).await?.expect("it has the address").id, 2);
    // No row of an entity that was in the way is left.
    for table in ["Sessions", "SessionsByElsewhere", "SessionsByEmail", "SessionCopies", "SessionTags"] {
        for row in store.rows(table).await? {
            assert!(!format!("{row:?}").contains("0000000004"), "{table}: {row:?}");
        }
    }
    assert_eq!(findings::<Session>(store).await?, []);
    Ok(())
}

async fn a_renewal_excludes_a_take_over(store: &Store) -> Result<()> {
    // The clock of the first program is behind, and it renews the session meanwhile.
    let (behind, _, _) = clocked(store);
    let (ahead, time, _) = clocked(store);
    behind.create::<Session>().await?;
    behind.insert(&Session::new(1, Some(10))).await?;
    let mut stored = Session::key("t", 1).get(&behind).await?.expect("visible");
    time.set(at(10));
    assert!(Session::key("t", 1).get(&ahead).await?.is_none());
    stored.until = Some(at(99));
    behind.update(&mut stored).await?;
    let other = Session { name: "name1".into(), ..Session::new(2, None) };
    assert!(matches!(ahead.insert(&other).await, Err(Error::UniqueViolation(_))));
    assert!(matches!(ahead.insert(&Session::new(1, None)).await, Err(Error::AlreadyExists(_))));
    assert_eq!(ahead.sweep::<Session>().await?.removed, 0);
    check_found(&ahead, 1..2, &[1]).await
}

async fn bulk_inserts_take_the_places_of_expired_entities(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Session>().await?;
    tables.create::<Token>().await?;
    let until = |id: u32| if id.is_multiple_of(2) { 10 } else { 90 };
    tables.insert_all((0..20).map(|id| Session::new(id, Some(until(id))))).await?;
    tables.insert_all((0..20).map(|id| token(id, &format!("s{id}"), until(id)))).await?;
    time.set(at(10));
    let again = (0..30).map(|id| Session { note: "again".into(), ..Session::new(id, Some(95)) });
    let Err(Error::Bulk(failed)) = tables.insert_all(again).await else { panic!("half of them are visible") };
    assert_eq!((failed.progress.written, failed.progress.failed), (20, 10));
    assert!(failed.failures.iter().all(|failure| matches!(&*failure.error, Error::AlreadyExists(_))), "{failed:?}");
    assert!(failed.failures.iter().all(|failure| !failure.position.is_multiple_of(2)));
    let Err(Error::Bulk(failed)) = tables.insert_all((0..30).map(|id| token(id, &format!("s{id}"), 95))).await else {
        panic!("half of them are visible")
    };
    assert_eq!((failed.progress.written, failed.progress.failed), (20, 10));
    // An upsert asks for no entity.
    assert_eq!(tables.upsert_all((0..30).map(|id| token(id, &format!("s{id}"), 99))).await?.written, 30);
    assert_eq!(Token::by_key("ada").count(&tables).await?, 30);
    assert_eq!(Session::by_key("t").count(&tables).await?, 30);
    assert_eq!(findings::<Session>(store).await?, []);
    assert_eq!(findings::<Token>(store).await?, []);
    Ok(())
}

/// Entity whose rows are all in one partition.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Holds", expires = until)]
struct Hold {
    #[partition_key]
    cart: String,
    #[row_key]
    id: u32,
    #[index(seat, same_partition, unique)]
    seat: String,
    until: Option<SystemTime>,
}

fn hold(id: u32, seat: &str, until: u64) -> Hold {
    Hold { cart: "c".into(), id, seat: seat.into(), until: Some(at(until)) }
}

async fn a_transaction_inserts_over_expired_entities(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Hold>().await?;
    tables.insert_all([hold(1, "a", 10), hold(2, "b", 10), hold(3, "c", 90)]).await?;
    let mut first = Hold::key("c", 1).get(&tables).await?.expect("visible");
    time.set(at(10));
    first.until = None;
    let refused = tables.transaction().update(&mut first).commit().await;
    assert!(matches!(refused, Err(Error::NotFound(_))), "{refused:?}");
    // One takes a key, one takes a value, one is new.
    tables.transaction().insert(&hold(1, "x", 50)).insert(&hold(4, "b", 50)).insert(&hold(5, "e", 50)).commit().await?;
    let ids: Vec<_> = Hold::by_key("c").all(&tables).await?.iter().map(|hold| (hold.id, hold.seat.clone())).collect();
    let expected = [(1, "x"), (3, "c"), (4, "b"), (5, "e")].map(|(id, seat)| (id, seat.to_owned()));
    assert_eq!(ids, expected);
    let refused = tables.transaction().insert(&hold(6, "f", 50)).insert(&hold(3, "g", 50)).commit().await;
    assert!(matches!(refused, Err(Error::AlreadyExists(_))), "{refused:?}");
    assert_eq!(findings::<Hold>(store).await?, []);
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Orders", expires = until)]
struct Order {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    until: SystemTime,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Orders", soft_delete = deleted)]
struct Line {
    #[partition_key]
    user: String,
    #[row_key]
    order: u32,
    #[row_key]
    id: u32,
    deleted: Option<SystemTime>,
}

#[derive(EntityGroup, Debug, PartialEq)]
enum Cart {
    Order(Order),
    Line(Line),
}

async fn groups_hide_each_member_by_its_own_time(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Order>().and::<Line>().await?;
    let line = |order, id| Line { user: "ada".into(), order, id, deleted: None };
    for id in [1, 2] {
        tables.insert(&Order { user: "ada".into(), id, until: at(10 * u64::from(id)) }).await?;
        tables.insert_all([line(id, 1), line(id, 2)]).await?;
    }
    tables.soft_delete(Line::key("ada", 1, 2)).await?;
    let found = async |query: table_runtime::Rows<Cart, _>| -> Result<Vec<String>> {
        let name = |cart: &Cart| match cart {
            Cart::Order(order) => format!("{}", order.id),
            Cart::Line(line) => format!("{}.{}", line.order, line.id),
        };
        Ok(query.all(&tables).await?.iter().map(name).collect())
    };
    assert_eq!(found(Cart::by_key("ada")).await?, ["1", "1.1", "2", "2.1", "2.2"]);
    assert_eq!(Cart::by_key("ada").count(&tables).await?, 5);
    time.set(at(10));
    // The items of a master that has expired are entities of their own.
    assert_eq!(found(Cart::by_key("ada")).await?, ["1.1", "2", "2.1", "2.2"]);
    assert_eq!(Cart::by_key("ada").count(&tables).await?, 4);
    assert_eq!(found(Cart::by_key("ada").with_deleted()).await?, ["1.1", "1.2", "2", "2.1", "2.2"]);
    assert_eq!(found(Cart::by_key("ada").only_deleted()).await?, ["1.2"]);
    Ok(())
}

async fn a_time_of_another_type_is_an_error(store: &Store) -> Result<()> {
    let (tables, _, _) = clocked(store);
    tables.create::<Hold>().await?;
    tables.insert(&hold(1, "a", 10)).await?;
    let mut text = Properties::default();
    text.push("Until", ValueRef::String("tomorrow"));
    store.write("Holds", ("c", "id-0000000001"), Action::Merge(text, IfMatch::Any)).await?;
    let error = Hold::key("c", 1).exists(&tables).await.expect_err("it is no time");
    assert!(matches!(&error, Error::Property(problem) if problem.property == "Until"), "{error}");
    assert!(Hold::by_key("c").all(&tables).await.is_err());
    // The row is in the way of an insert, whatever it is.
    assert!(matches!(tables.insert(&hold(1, "b", 10)).await, Err(Error::AlreadyExists(_))));
    Ok(())
}

/// The same entity as [`Hold`], which never expires.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Bookings")]
struct Booking {
    #[partition_key]
    cart: String,
    #[row_key]
    id: u32,
    #[index(seat, same_partition, unique)]
    seat: String,
    until: Option<SystemTime>,
}

async fn requests_do_not_grow(store: &Store) -> Result<()> {
    let (tables, time, requests) = clocked(store);
    tables.create::<Hold>().and::<Booking>().await?;
    let seat = |id, seat: &str| Booking { cart: "c".into(), id, seat: seat.into(), until: Some(at(90)) };
    macro_rules! same {
        ($one:expr, $other:expr) => {{
            requests.take();
            let _ = $one;
            let one = requests.take().total();
            let _ = $other;
            assert_eq!(requests.take().total(), one, "{}", stringify!($one));
        }};
    }
    same!(tables.insert(&hold(1, "a", 90)).await?, tables.insert(&seat(1, "a")).await?);
    same!(tables.insert(&hold(1, "b", 90)).await.is_err(), tables.insert(&seat(1, "b")).await.is_err());
    same!(tables.insert(&hold(2, "a", 90)).await.is_err(), tables.insert(&seat(2, "a")).await.is_err());
    same!(Hold::key("c", 1).get(&tables).await?, Booking::key("c", 1).get(&tables).await?);
    same!(Hold::by_seat("c").eq("a").get(&tables).await?, Booking::by_seat("c").eq("a").get(&tables).await?);
    same!(Hold::by_key("c").count(&tables).await?, Booking::by_key("c").count(&tables).await?);
    same!(
        tables.modify(Hold::key("c", 1), |hold| hold.until = Some(at(95))).await?,
        tables.modify(Booking::key("c", 1), |seat| seat.until = Some(at(95))).await?
    );
    same!(tables.upsert(&hold(1, "z", 90)).await?, tables.upsert(&seat(1, "z")).await?);
    // An insert over an expired row takes a read and a second transaction more.
    time.set(at(90));
    requests.take();
    tables.insert(&hold(1, "y", 99)).await?;
    let counts = requests.take();
    assert_eq!((counts.executes, counts.gets), (2, 1));
    Ok(())
}

/// Entity with a unique value in another partition.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Passes", expires = until)]
struct Pass {
    #[partition_key]
    id: u32,
    #[row_key]
    number: u32,
    #[index(code, unique)]
    code: String,
    until: SystemTime,
}

async fn a_transaction_takes_values_of_expired_entities_that_are_no_members(store: &Store) -> Result<()> {
    let (tables, time, requests) = clocked(store);
    tables.create::<Pass>().await?;
    let pass = |number, code: &str, until| Pass { id: 1, number, code: code.into(), until: at(until) };
    let old: Vec<_> = (0..20).map(|number| pass(number, &format!("old{number}"), 10)).collect();
    tables.insert_all(&old).await?;
    time.set(at(10));
    // The value of an expired member does not pass to another one, in whatever order.
    let (over, heir) = (pass(1, "new", 90), pass(50, "old1", 90));
    for transaction in
        [tables.transaction().insert(&over).insert(&heir), tables.transaction().insert(&heir).insert(&over)]
    {
        let refused = transaction.commit().await;
        let Err(Error::UniqueViolation(violation)) = refused else { panic!("{refused:?}") };
        let keys = [&violation.entity, &violation.owner].map(|row| row.row_key.as_str());
        assert_eq!(keys, ["0000000050", "0000000001"]);
    }
    assert_eq!(Pass::by_key(1).count(&tables).await?, 0);
    assert!(Pass::by_code("new").get(&tables).await?.is_none());
    // An insert in the place of a row that the transaction deletes has nothing in its way.
    let (kept, again) = (pass(60, "kept", 90), pass(60, "again", 90));
    tables.insert(&kept).await?;
    let inserts = [pass(7, "y7", 90), pass(8, "y8", 90), pass(9, "y9", 90)];
    let transaction = tables.transaction().remove(Pass::key(1, 60)).insert(&again);
    inserts.iter().fold(transaction, Transaction::insert).commit().await?;
    assert_eq!(Pass::by_code("again").get(&tables).await?.map(|pass| pass.number), Some(60));
    assert_eq!(Pass::by_key(1).count(&tables).await?, 4);
    let numbers = [7, 8, 9, 60].map(|number| Pass::key(1, number));
    tables.remove_all(numbers).await?;
    tables.insert_all((7..10).map(|number| pass(number, &format!("old{number}"), 5))).await?;
    // That of another expired entity does, and all others are replaced.
    let new: Vec<_> =
        (1..20).map(|number| pass(number, &format!("new{number}"), 90)).chain([pass(50, "old0", 90)]).collect();
    requests.take();
    new.iter().fold(tables.transaction(), Transaction::insert).commit().await?;
    let counts = requests.take();
    let count = counts.executes + counts.gets + counts.queries;
    assert!(count < 8 * new.len(), "{count} requests, and not the square of {}", new.len());
    assert_eq!(Pass::by_key(1).count(&tables).await?, new.len());
    assert_eq!(Pass::by_code("old0").get(&tables).await?.map(|pass| pass.number), Some(50));
    assert_eq!(findings::<Pass>(store).await?, []);
    Ok(())
}

/// The guide has these numbers.
async fn a_take_over_costs_a_few_requests(store: &Store) -> Result<()> {
    let (tables, time, requests) = clocked(store);
    tables.create::<Hold>().and::<Pass>().await?;
    let pass = |id, until| Pass { id, number: 0, code: "x".into(), until: at(until) };
    tables.insert_all([hold(1, "a", 10), hold(2, "b", 10)]).await?;
    tables.insert(&pass(1, 10)).await?;
    time.set(at(10));
    requests.take();
    tables.insert(&hold(1, "a", 20)).await?;
    assert_eq!(requests.take().total(), 3, "an insert over an expired row");
    tables.insert(&hold(3, "b", 20)).await?;
    assert_eq!(requests.take().total(), 5, "a value in the partition");
    time.set(at(20));
    requests.take();
    tables.insert_all([hold(1, "a", 30), hold(3, "b", 30)]).await?;
    assert_eq!(requests.take().total(), 5, "a bulk insert over expired rows");
    tables.insert(&pass(2, 30)).await?;
    let expected = if store.spans_partitions() { 5 } else { 9 };
    assert_eq!(requests.take().total(), expected, "a value in another partition");
    Ok(())
}

async fn two_programs_disagree_only_about_what_is_visible(store: &Store) -> Result<()> {
    let (behind, _, _) = clocked(store);
    let (ahead, time, _) = clocked(store);
    behind.create::<Session>().await?;
    behind.insert_all([Session::new(1, Some(10)), Session::new(2, Some(40))]).await?;
    time.set(at(20));
    check_found(&behind, 1..3, &[1, 2]).await?;
    check_found(&ahead, 1..3, &[2]).await?;
    // The program whose clock is ahead may delete the entity. Then it is gone for both.
    assert_eq!(ahead.sweep::<Session>().await?.removed, 1);
    check_found(&behind, 1..3, &[2]).await?;
    assert_eq!(findings::<Session>(store).await?, []);
    Ok(())
}

async fn delete_all_leaves_expired_entities(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Session>().await?;
    tables.insert_all([Session::new(1, Some(10)), Session::new(2, None)]).await?;
    time.set(at(10));
    assert_eq!(Session::by_key("t").delete_all(&tables).await?.written, 1);
    assert_eq!(Session::by_key("t").select::<Id>().count(&tables).await?, 0);
    let rows = store.rows("Sessions").await?;
    assert!(rows.iter().any(|row| row.row_key == "id-0000000001"), "a sweep removes it");
    Ok(())
}

/// A cursor adds a comparison to the query of a whole partition. The test's store refuses a query with more than 15.
async fn a_page_after_a_cursor_has_room_for_the_time(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<Pass>().await?;
    let pass = |number| {
        let (code, until) = (format!("c{number}"), at(if number == 4 { 10 } else { 90 }));
        Pass { id: 1, number, code, until }
    };
    tables.insert_all((1..7).map(pass)).await?;
    time.set(at(20));
    for comparisons in 11..14 {
        let query = || {
            Pass::by_key(1).filter(|pass| (1..comparisons).fold(pass.code.ne("x"), |all, _| all.and(pass.code.ne("x"))))
        };
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let page = query().page(&tables, 2, cursor.as_deref()).await?;
            found.extend(page.iter().map(|pass| pass.number));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, [1, 2, 3, 5, 6], "{comparisons} comparisons");
    }
    Ok(())
}

/// The first version of a lease has no time.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Leases", kind = "Lease", allow_scan)]
struct FirstLease {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Leases", kind = "Lease", version = 2, from = FirstLease, allow_scan)]
struct SecondLease {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    until: SystemTime,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Leases", kind = "Lease", version = 3, from = SecondLease, expires = until, allow_scan)]
struct Lease {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    until: SystemTime,
    note: String,
}

impl From<FirstLease> for SecondLease {
    fn from(FirstLease { user, id }: FirstLease) -> Self {
        // It has passed for every clock of these tests.
        Self { user, id, until: SystemTime::UNIX_EPOCH }
    }
}

impl From<SecondLease> for Lease {
    fn from(SecondLease { user, id, until }: SecondLease) -> Self {
        Self { user, id, until, note: String::new() }
    }
}

async fn a_row_that_is_two_versions_old_is_found_everywhere(store: &Store) -> Result<()> {
    let (tables, time, _) = clocked(store);
    tables.create::<FirstLease>().await?;
    tables.insert(&FirstLease { user: "ada".into(), id: 1 }).await?;
    tables.create::<SecondLease>().await?;
    tables.insert(&SecondLease { user: "ada".into(), id: 2, until: at(10) }).await?;
    tables.create::<Lease>().await?;
    tables.insert(&Lease { user: "ada".into(), id: 3, until: at(90), note: String::new() }).await?;
    time.set(at(10));
    let ids = |found: Vec<Stored<Lease>>| found.iter().map(|lease| lease.id).collect::<Vec<_>>();
    assert_eq!(ids(Lease::by_key("ada").all(&tables).await?), [1, 3]);
    assert_eq!(ids(Lease::scan().all(&tables).await?), [1, 3]);
    assert_eq!(Lease::by_key("ada").count(&tables).await?, 2);
    for (id, is_there) in [(1, true), (2, false), (3, true)] {
        assert_eq!(Lease::key("ada", id).get(&tables).await?.is_some(), is_there, "{id}");
    }
    Ok(())
}

async fn a_time_that_a_conversion_computes_hides_nothing(store: &Store) -> Result<()> {
    let (tables, _, _) = clocked(store);
    tables.create::<FirstLease>().await?;
    tables.insert_all((1..4).map(|id| FirstLease { user: "ada".into(), id })).await?;
    tables.create::<SecondLease>().await?;
    tables.create::<Lease>().await?;
    // Who sees it can change it.
    let mut first = Lease::key("ada", 1).get(&tables).await?.expect("visible");
    first.note = "changed".into();
    first.until = at(50);
    tables.update(&mut first).await?;
    let second = Lease::key("ada", 2).get(&tables).await?.expect("visible");
    tables.delete(&second).await?;
    let third = tables.modify(Lease::key("ada", 3), |lease| lease.until = at(50)).await?;
    assert_eq!(third.expect("visible").until, at(50));
    // From the update on, the time is stored.
    first.until = at(0);
    tables.update(&mut first).await?;
    assert!(matches!(tables.update(&mut first).await, Err(Error::NotFound(_))));
    assert_eq!(tables.sweep::<Lease>().await?.removed, 1);
    Ok(())
}

/// Writes a row of the third version, as another program has it.
async fn write_newer(store: &Store, id: u32, until: u64, is_pending: bool) -> Result<()> {
    let mut newer = Properties::default();
    newer.push("EntityType", ValueRef::String("Lease"));
    newer.push("EntityVersion", ValueRef::Int32(4));
    newer.push("Until", ValueRef::DateTime(table_runtime::Ticks::from_system(at(until)).expect("a time")));
    if is_pending {
        newer.push("IndexPending", ValueRef::Guid(table_runtime::Guid::default()));
    }
    Ok(store.write("Leases", ("ada", &format!("{id:010}")), Action::Insert(newer)).await?)
}

async fn an_insert_makes_way_of_a_pending_row_that_it_cannot_read(store: &Store) -> Result<()> {
    let (tables, _, _) = clocked(store);
    tables.create::<Lease>().await?;
    write_newer(store, 1, 90, true).await?;
    let lease = |id| Lease { user: "ada".into(), id, until: at(50), note: String::new() };
    tables.insert(&lease(1)).await?;
    write_newer(store, 2, 90, true).await?;
    tables.insert_all([lease(2)]).await?;
    assert_eq!(Lease::by_key("ada").count(&tables).await?, 2);
    Ok(())
}

async fn an_insert_over_a_row_that_it_cannot_replace_ends_at_once(store: &Store) -> Result<()> {
    let (tables, _, requests) = clocked(store);
    tables.create::<Lease>().await?;
    write_newer(store, 1, 0, false).await?;
    let lease = |id| Lease { user: "ada".into(), id, until: at(50), note: String::new() };
    requests.take();
    assert!(matches!(tables.insert(&lease(1)).await, Err(Error::AlreadyExists(_))));
    let Err(Error::Bulk(error)) = tables.insert_all([lease(1), lease(2)]).await else { panic!("the row is there") };
    assert!(matches!(*error.failures[0].error, Error::AlreadyExists(_)), "{error}");
    assert_eq!(error.progress.written, 1);
    let counts = requests.take();
    assert!(counts.total() < 14, "{counts:?}");
    Ok(())
}

async fn what_has_expired_by_a_doubtful_time_alone_is_kept(store: &Store) -> Result<()> {
    let (sure, _, _) = clocked(store);
    sure.create::<Session>().await?;
    let sessions = [(1, Some(10)), (2, Some(20)), (3, None)];
    sure.insert_all(sessions.map(|(id, until)| Session::new(id, until))).await?;
    let doubting = |earliest| {
        let inner = std::sync::Arc::new(store.backend.clone());
        Tables::new(Doubting { inner, wall: at(100), earliest: at(earliest) })
    };
    check_found(&doubting(15), 1..4, &[2, 3]).await?;
    let tables = doubting(5);
    check_found(&tables, 1..4, &[1, 2, 3]).await?;

    // Nobody takes its place or its values, and no sweep removes it.
    let exists = |error: Error| matches!(error, Error::AlreadyExists(_));
    assert!(tables.insert(&Session::new(1, Some(500))).await.is_err_and(exists));
    let failed = tables.insert_all([Session::new(2, None)]).await.expect_err("it is there");
    assert!(matches!(failed, Error::Bulk(_)), "{failed}");
    let named = Session { name: "Name1".into(), ..Session::new(4, None) };
    let addressed = Session { email: Some("mail1@x.org".into()), ..Session::new(4, None) };
    for taker in [named, addressed] {
        assert!(matches!(tables.insert(&taker).await, Err(Error::UniqueViolation(_))));
    }
    assert_eq!(tables.sweep::<Session>().await?.removed, 0);
    let inventory = tables.inventory().await?;
    let swept = inventory.sweep(&tables, &inventory.entities[0]).await?;
    assert_eq!((swept.found, swept.removed), (0, 0));
    let mut first = Session::key("t", 1).get(&tables).await?.expect("it is found");
    first.note = "changed".into();
    tables.update(&mut first).await?;
    assert!(tables.modify(Session::key("t", 2), |session| session.note = "changed".into()).await?.is_some());
    let mut more = Properties::default();
    more.push("Unknown", ValueRef::Int32(1));
    store.write("Sessions", ("t", "id-0000000001"), Action::Merge(more, IfMatch::Any)).await?;
    tables.merge(&Session::new(1, Some(10))).await?;
    let rows = store.rows("Sessions").await?;
    let own = rows.iter().find(|row| row.row_key == "id-0000000001").expect("its row");
    assert_eq!(own.properties.get("Unknown"), Some(ValueRef::Int32(1)), "a merge goes on from it");
    assert!(tables.remove(Session::key("t", 2)).await?);

    // The filter of the service has the same time.
    sure.create::<Token>().await?;
    sure.insert(&token(1, "a", 10)).await?;
    assert_eq!(Token::by_key("ada").all(&tables).await?.len(), 1);
    assert_eq!(Token::by_purpose("ada").eq("reset").count(&tables).await?, 1);
    tables.patch(Token::key("ada", 1), |token| token.note.set("patched")).await?;

    // A time that is stored is not the earliest one.
    assert!(tables.soft_delete(Session::key("t", 3)).await?);
    let deleted = Session::key("t", 3).with_deleted().get(&tables).await?.expect("it is in the bin");
    assert_eq!(deleted.deleted, Some(at(100)));
    assert_eq!(findings::<Session>(store).await?, []);
    Ok(())
}
