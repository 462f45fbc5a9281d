//! Sequences of writes, none of which crashes or races, after each of which every index says what its entities say.

#![allow(clippy::duplicated_attributes, reason = "indexes of one struct share options")]

use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use table_runtime::{
    BulkError, ETag, Error, Finding, Guid, Projection, Properties, Row, RowId, Stored, TableEntity, Tables, ValueRef,
    backend::{Action, Backend, BoxFuture, Continuation, Group, Page, Scan},
};
use tests::stores::Store;

use crate::index_writes::findings;

crate::conformance! {
    a_transaction_leaves_a_kept_value_to_its_owner
    a_bulk_write_fails_whoever_wants_a_taken_value
    a_row_of_another_entity_stays_while_an_index_is_built
    entities_that_share_a_row_are_removed_together
    a_program_without_the_index_sees_no_pending_insert
    a_lost_race_names_the_entity
    values_that_differ_from_themselves_settle
    every_slice_is_verified
    a_bulk_write_that_tried_everything_has_not_ended_early
    lists_that_overflow_are_written_or_refused_whole
}

/// A member with a unique index of each content.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Members")]
struct Member {
    #[partition_key]
    club: String,
    #[row_key]
    id: u32,
    #[index(name, lowercase, same_partition, unique)]
    name: String,
    #[index(mail, same_partition, unique, include(note))]
    mail: String,
    #[index(badge, same_partition, unique, copy)]
    badge: u32,
    note: String,
}

/// The same member, by a program from before the indexes.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Members")]
struct OldMember {
    #[partition_key]
    club: String,
    #[row_key(prefix = "id-")]
    id: u32,
    name: String,
    mail: String,
    badge: u32,
    note: String,
}

fn member(id: u32) -> Member {
    let (name, mail, note) = (format!("Name {id}"), format!("{id}@x.org"), "old".to_owned());
    Member { club: "chess".into(), id, name, mail, badge: 100 + id, note }
}

fn noted(member: &Member) -> Member {
    Member { note: "new".into(), ..member.clone() }
}

/// Member 2 with one of the values of member 1: of each index in turn.
fn rivals() -> [(&'static str, Member); 3] {
    let (one, two) = (member(1), member(2));
    [
        ("name", Member { name: one.name.to_uppercase(), ..two.clone() }),
        ("mail", Member { mail: one.mail, ..two.clone() }),
        ("badge", Member { badge: one.badge, ..two }),
    ]
}

async fn read(tables: &Tables, id: u32) -> Result<Stored<Member>> {
    Member::key("chess", id).get(tables).await?.with_context(|| format!("there is no member {id}"))
}

/// Checks that each index leads to each of these members, and to no other.
async fn is_true(store: &Store, members: &[Member]) -> Result<()> {
    let tables = &store.tables;
    assert_eq!(findings::<Member>(store).await?, []);
    let all = Member::by_key("chess").all(tables).await?;
    assert_eq!(all.iter().map(|member| &**member).collect::<Vec<_>>(), members.iter().collect::<Vec<_>>());
    for member in members {
        let found = Member::by_name("chess").eq(&member.name).get(tables).await?;
        assert_eq!(found.as_deref(), Some(member));
        let found = Member::by_mail("chess").eq(&member.mail).get(tables).await?;
        assert_eq!(found.as_deref(), Some(member));
        let found = Member::by_badge("chess").eq(member.badge).get(tables).await?;
        assert_eq!(found.as_deref(), Some(member));
    }
    Ok(())
}

/// Checks that the value of member 1 was refused to member 2.
fn is_refused(error: &Error, index: &str) {
    let Error::UniqueViolation(violation) = error else { panic!("{index}: {error}") };
    assert_eq!((violation.index, violation.entity.row_key.as_str()), (index, "id-0000000002"));
    assert_eq!(violation.owner.row_key, "id-0000000001");
}

async fn a_transaction_leaves_a_kept_value_to_its_owner(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Member>().await?;
    tables.insert(&member(1)).await?;
    for (index, rival) in rivals() {
        let mut one = read(tables, 1).await?;
        one.note = "new".into();
        let refused = tables.transaction().update(&mut one).insert(&rival).commit().await;
        is_refused(&refused.expect_err(index), index);
        let mut one = read(tables, 1).await?;
        one.note = "new".into();
        let refused = tables.transaction().insert(&rival).update(&mut one).commit().await;
        is_refused(&refused.expect_err(index), index);
        let refused = tables.transaction().upsert(&noted(&member(1))).upsert(&rival).commit().await;
        is_refused(&refused.expect_err(index), index);
        is_true(store, &[member(1)]).await?;
    }
    tables.insert(&member(2)).await?;
    for (index, rival) in rivals() {
        let (mut one, mut two) = (read(tables, 1).await?, read(tables, 2).await?);
        (one.note, *two) = ("new".into(), rival);
        let refused = tables.transaction().update(&mut one).update(&mut two).commit().await;
        is_refused(&refused.expect_err(index), index);
        is_true(store, &[member(1), member(2)]).await?;
    }
    Ok(())
}

fn failed<T: std::fmt::Debug>(result: table_runtime::Result<T>) -> BulkError {
    match result {
        Err(Error::Bulk(error)) => *error,
        other => panic!("{other:?}"),
    }
}

async fn a_bulk_write_fails_whoever_wants_a_taken_value(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Member>().await?;
    for (index, rival) in rivals() {
        for is_first in [true, false] {
            tables.upsert(&member(1)).await?;
            let changed = noted(&member(1));
            let input = if is_first { [changed.clone(), rival.clone()] } else { [rival.clone(), changed.clone()] };
            let error = failed(tables.upsert_all(input).await);
            let [failure] = &*error.failures else { panic!("{index}: {error:?}") };
            assert_eq!(failure.position, usize::from(is_first));
            is_refused(&failure.error, index);
            is_true(store, &[changed]).await?;
        }
    }
    Ok(())
}

/// A store with member 1 from before the indexes, and member 2, which has since taken one of its values.
async fn shared(store: &Store, rival: &Member) -> Result<()> {
    store.tables.create::<OldMember>().await?;
    let Member { club, id, name, mail, badge, note } = member(1);
    store.tables.insert(&OldMember { club, id, name, mail, badge, note }).await?;
    store.tables.create::<Member>().await?;
    store.tables.insert(rival).await?;
    Ok(())
}

/// Builds the indexes and deletes what a case has left.
async fn is_built(store: &Store, members: &[Member]) -> Result<()> {
    for index in ["name", "mail", "badge"] {
        let filled = store.tables.backfill::<Member>(index).await?;
        assert!(filled.ready && filled.conflicts.is_empty(), "{index}: {filled:?}");
    }
    is_true(store, members).await?;
    store.clean().await?;
    Ok(())
}

async fn a_row_of_another_entity_stays_while_an_index_is_built(store: &Store) -> Result<()> {
    let tables = &store.again();
    let renamed = Member { id: 1, ..member(7) };
    for (_, rival) in rivals() {
        shared(store, &rival).await?;
        let mut one = read(tables, 1).await?;
        one.note = "new".into();
        tables.update(&mut one).await?;
        *one = renamed.clone();
        tables.update(&mut one).await?;
        is_built(store, &[renamed.clone(), rival.clone()]).await?;

        shared(store, &rival).await?;
        tables.upsert(&noted(&member(1))).await?;
        tables.upsert(&renamed).await?;
        is_built(store, &[renamed.clone(), rival.clone()]).await?;

        shared(store, &rival).await?;
        tables.upsert_all([noted(&member(1)), noted(&rival)]).await?;
        tables.transaction().upsert(&renamed).upsert(&noted(&rival)).commit().await?;
        is_built(store, &[renamed.clone(), noted(&rival)]).await?;

        shared(store, &rival).await?;
        tables.delete(&read(tables, 1).await?).await?;
        is_built(store, std::slice::from_ref(&rival)).await?;

        shared(store, &rival).await?;
        let two = read(tables, 2).await?;
        tables.transaction().remove(Member::key("chess", 1)).delete(&two).insert(&noted(&rival)).commit().await?;
        is_built(store, &[noted(&rival)]).await?;
    }
    Ok(())
}

async fn entities_that_share_a_row_are_removed_together(store: &Store) -> Result<()> {
    for (index, rival) in rivals() {
        shared(store, &rival).await?;
        let filled = store.tables.backfill::<Member>(index).await?;
        assert!(!filled.ready && filled.conflicts.len() == 1, "{filled:?}");
        let removed = store.tables.remove_all([1, 2].map(|id| Member::key("chess", id))).await?;
        assert_eq!(removed.written, 2);
        is_built(store, &[]).await?;
    }
    Ok(())
}

/// A user with a unique address.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Users")]
struct User {
    #[partition_key]
    group: String,
    #[row_key]
    id: u32,
    #[index(email, lowercase, unique)]
    email: String,
    note: String,
}

/// The same user, by a program that does not know the index.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Users")]
struct PlainUser {
    #[partition_key]
    group: String,
    #[row_key]
    id: u32,
    email: String,
    note: String,
}

#[derive(Projection, Debug, PartialEq)]
#[projection(of = PlainUser)]
struct Address {
    email: String,
}

async fn a_program_without_the_index_sees_no_pending_insert(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<User>().await?;
    let mut properties = Properties::default();
    properties.push("Email", ValueRef::String("a@x.org"));
    properties.push("Note", ValueRef::String(""));
    properties.push("IndexPending", ValueRef::Guid(Guid::from_bytes([7; 16])));
    store.write("Users", ("a", "0000000001"), Action::Insert(properties)).await?;

    let key = || PlainUser::key("a", 1);
    assert_eq!(key().get(tables).await?, None);
    assert!(!key().exists(tables).await?);
    assert_eq!(key().select::<Address>().get(tables).await?, None);
    assert!(PlainUser::by_key("a").all(tables).await?.is_empty());
    assert_eq!(PlainUser::by_key("a").select::<Address>().all(tables).await?, []);
    assert_eq!(PlainUser::by_key("a").count(tables).await?, 0);
    assert_eq!(PlainUser::by_key("a").filter(|user| user.note.eq("")).count(tables).await?, 0);
    // What nobody sees is in nobody's way.
    let user = PlainUser { group: "a".into(), id: 1, email: "b@x.org".into(), note: "new".into() };
    tables.insert(&user).await?;
    assert_eq!(key().get(tables).await?.as_deref(), Some(&user));
    assert!(matches!(tables.insert(&user).await, Err(Error::AlreadyExists(_))));
    Ok(())
}

/// A store at whose claims another writer is always faster, and gone again when they are looked at.
#[derive(Debug)]
struct Outrun<B>(B);

impl<B: Backend> Backend for Outrun<B> {
    fn create_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, table_runtime::Result<bool>> {
        self.0.create_table(table)
    }

    fn delete_table<'a>(&'a self, table: &'a str) -> BoxFuture<'a, table_runtime::Result<bool>> {
        self.0.delete_table(table)
    }

    fn list_tables<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, table_runtime::Result<Vec<String>>> {
        self.0.list_tables(prefix)
    }

    fn get<'a>(
        &'a self,
        table: &'a str,
        partition_key: &'a str,
        row_key: &'a str,
        select: Option<&'a [&'static str]>,
    ) -> BoxFuture<'a, table_runtime::Result<Option<Row>>> {
        self.0.get(table, partition_key, row_key, select)
    }

    fn query<'a>(
        &'a self,
        scan: &'a Scan,
        from: Option<&'a Continuation>,
    ) -> BoxFuture<'a, table_runtime::Result<Page>> {
        self.0.query(scan, from)
    }

    fn execute<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, table_runtime::Result<Vec<Option<ETag>>>> {
        match &*group.operations {
            [claim] if group.table == "UsersByEmail" && matches!(claim.action, Action::Insert(_)) => {
                let (partition_key, row_key) = (group.partition_key.clone(), claim.row_key.clone());
                let row = RowId { table: group.table.to_string(), partition_key, row_key };
                Box::pin(async move { Err(Error::AlreadyExists(Box::new(row))) })
            }
            _ => self.0.execute(group),
        }
    }
}

async fn a_lost_race_names_the_entity(store: &Store) -> Result<()> {
    store.tables.create::<User>().await?;
    let user = |id: u32| User { group: "a".into(), id, email: format!("{id}@x.org"), note: String::new() };
    let etag = store.tables.insert(&user(1)).await?;
    let outrun = Tables::new(Outrun(store.backend.clone()));
    match outrun.insert(&user(2)).await {
        Err(Error::Aborted(row)) => assert_eq!((row.table.as_str(), row.row_key.as_str()), ("Users", "0000000002")),
        other => panic!("{other:?}"),
    }
    let mut stored = Stored::new(user(1), etag);
    stored.email = "other@x.org".into();
    match outrun.update(&mut stored).await {
        Err(Error::ConditionNotMet(row)) => {
            assert_eq!((row.table.as_str(), row.row_key.as_str()), ("Users", "0000000001"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(findings::<User>(store).await?, []);
    Ok(())
}

/// A measurement whose index rows hold a number.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Measurements")]
struct Measurement {
    #[partition_key]
    sensor: String,
    #[row_key]
    number: u32,
    #[index(here, same_partition, include(value))]
    #[index(apart, include(value))]
    #[index(copied, copy)]
    unit: String,
    value: f64,
    other: f32,
}

async fn values_that_differ_from_themselves_settle(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Measurement>().await?;
    for (number, value) in [(1, f64::NAN), (2, -f64::NAN), (3, f64::INFINITY), (4, -0.0), (5, 0.1)] {
        #[allow(clippy::cast_possible_truncation, reason = "any value does")]
        let other = value as f32;
        let measurement = Measurement { sensor: "s".into(), number, unit: "m".into(), value, other };
        tables.insert(&measurement).await?;
    }
    assert_eq!(findings::<Measurement>(store).await?, []);
    let repaired = tables.repair::<Measurement>().await?;
    assert_eq!((repaired.fixed, repaired.left), (vec![], vec![]));
    Ok(())
}

/// A log with a table for each month.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(slice = month(at))]
struct Log {
    #[partition_key]
    machine: String,
    #[row_key(time)]
    at: SystemTime,
    text: String,
}

async fn every_slice_is_verified(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Log>().await?;
    assert_eq!(findings::<Log>(store).await?, []);
    let day = |number: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * number);
    for number in 0..90 {
        tables.insert(&Log { machine: "a".into(), at: day(number), text: String::new() }).await?;
    }
    assert_eq!(findings::<Log>(store).await?, []);
    let repaired = tables.repair::<Log>().await?;
    assert_eq!((repaired.entities, repaired.left), (90, vec![]));

    store.write("Log197002", ("a", "of somebody else"), Action::Insert(Properties::default())).await?;
    let found = findings::<Log>(store).await?;
    let [Finding::Foreign { index: None, row, .. }] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((row.table.as_str(), row.row_key.as_str()), ("Log197002", "of somebody else"));
    // It goes on in the slice in which it was.
    let mut cursors = Vec::new();
    let mut verify = tables.verify::<Log>();
    while let Some(found) = futures_util::StreamExt::next(&mut verify).await {
        cursors.push((found?, verify.cursor().map(str::to_owned)));
    }
    let (_, Some(cursor)) = &cursors[0] else { panic!("{cursors:?}") };
    assert_eq!(tables.verify::<Log>().from(cursor)?.all().await?.len(), 1);
    let last = verify.cursor().context("it has ended")?;
    assert_eq!(tables.verify::<Log>().from(last)?.all().await?, []);
    assert_eq!(tables.repair::<Log>().from(cursor)?.await?.entities, 90 - 31 + 1);
    Ok(())
}

async fn a_bulk_write_that_tried_everything_has_not_ended_early(store: &Store) -> Result<()> {
    // Without its table, no write goes through.
    let user = |id: u32| PlainUser { group: "a".into(), id, email: String::new(), note: String::new() };
    let error = failed(store.tables.insert_all([user(1)]).await);
    assert_eq!((error.ended_early, error.progress.read, error.failures.len()), (false, 1, 1));
    let error = failed(store.tables.insert_all((0..100).map(user)).await);
    assert_eq!((error.ended_early, error.progress.read, error.failures.len()), (false, 100, 100));
    // An entity with rows elsewhere is sent, and may have failed, before the input is asked for another one.
    let indexed = User { group: "a".into(), id: 1, email: String::new(), note: String::new() };
    let error = failed(store.tables.insert_all([indexed]).await);
    assert_eq!((error.ended_early, error.progress.read, error.failures.len()), (false, 1, 1));
    let error = failed(store.tables.insert_all((0..1_000).map(user)).side_by_side(1).await);
    assert!(error.ended_early && error.progress.read < 1_000, "{error:?}");
    Ok(())
}

/// A word in several lists.
macro_rules! listed {
    ($name:ident: $($list:ident)+) => {
        #[derive(TableEntity, Clone, Debug, PartialEq)]
        #[table(name = "Words")]
        struct $name {
            #[partition_key]
            language: String,
            #[row_key]
            id: String,
            $(
                #[index($list, same_partition, list)]
                $list: u8,
            )+
        }

        impl $name {
            fn new(id: String, value: u8) -> Self {
                Self { language: "de".into(), id, $($list: value),+ }
            }
        }
    };
}

listed! { Word: only }
listed! { Listed:
    a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 c0 c1 c2 c3 c4 c5 c6 c7 c8 c9 d0 d1 d2 d3 d4 d5 d6 d7
    d8 d9 e0 e1 e2 e3 e4 e5 e6 e7 e8
}

async fn lists_that_overflow_are_written_or_refused_whole(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Word>().await?;
    // As long as ids can be: 512 units with the prefix, so that 63 of them fill a row.
    let id = |number: u32| format!("{number:0509}");
    tables.insert_all((0..200).map(|number| Word::new(id(number), 1))).await?;
    assert_eq!(Word::by_only("de").eq(1).count(tables).await?, 200);
    tables.upsert_all((0..150).map(|number| Word::new(id(number), 2))).await?;
    assert_eq!(Word::by_only("de").eq(1).count(tables).await?, 50);
    assert_eq!(Word::by_only("de").eq(2).count(tables).await?, 150);
    assert_eq!(findings::<Word>(store).await?, []);
    store.clean().await?;

    // 49 lists, each of which has room for one more id.
    tables.create::<Listed>().await?;
    let full: Vec<_> = (0..62).map(|number| format!("id-{}", id(number))).collect();
    let text = serde_json::to_string(&full)?;
    for row_key in &full {
        let mut properties = Properties::default();
        Listed::LAYOUTS[1..].iter().for_each(|list| properties.push(&list.name.to_uppercase(), ValueRef::Int32(1)));
        store.write("Words", ("de", row_key), Action::Insert(properties)).await?;
    }
    for layout in &Listed::LAYOUTS[1..] {
        let mut properties = Properties::default();
        properties.push("IndexedEntities", ValueRef::String(&text));
        let row_key = format!("{}-001", layout.name);
        store.write("Words", ("de", &row_key), Action::Insert(properties)).await?;
    }
    assert_eq!(Listed::by_e8("de").eq(1).count(tables).await?, 62);
    // One entity more makes a second row of each, which is 99 operations with its own.
    tables.insert(&Listed::new(id(62), 1)).await?;
    tables.insert(&Listed::new(id(63), 1)).await?;
    let rows = store.rows("Words").await?;
    assert_eq!(rows.iter().filter(|row| row.row_key.starts_with("~2~")).count(), 49);
    // An entity in the first row that leaves them all changes that row of each, and writes the lists of its new value.
    let mut first = Listed::key("de", &full[0][3..]).get(tables).await?.context("it was inserted")?;
    *first = Listed::new(id(0), 2);
    tables.update(&mut first).await?;
    assert_eq!(findings::<Listed>(store).await?, []);
    // One in the second row changes both, which is more than a transaction takes.
    let rows = store.rows("Words").await?;
    let mut last = Listed::key("de", &*id(63)).get(tables).await?.context("it was inserted")?;
    *last = Listed::new(id(63), 2);
    let Err(Error::Limit(limit)) = tables.update(&mut last).await else { panic!("it is too much") };
    assert_eq!((limit.table.as_str(), limit.limit), ("Words", "100 operations, those on index rows included"));
    assert_eq!(store.rows("Words").await?, rows);
    assert_eq!(findings::<Listed>(store).await?, []);
    Ok(())
}
