//! Deletion of what a query finds, and of entities that were read.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::SystemTime,
};

use anyhow::{Context, Result};
use futures_util::stream;
use table_runtime::{
    Error, Stored, TableEntity, Tables,
    backend::{
        Action, Backend, BoxFuture, Continuation, Description, Group, IfMatch, ReadRequest, Reader, StoreView,
        TableRequest, Written,
    },
    row::{Properties, ValueRef},
};
use tests::{isolated::Isolated, stores::Store};

use crate::fixtures::failed;

crate::conformance! {
    what_a_query_finds_is_deleted_with_its_index_rows
    a_partition_is_deleted_in_transactions
    a_dry_run_counts_what_would_be_deleted
    take_limits_a_deletion
    a_filter_or_an_index_chooses_what_is_deleted
    an_entity_that_changed_is_deleted_by_its_key_and_kept_by_a_filter
    an_entity_that_was_restored_is_not_deleted_with_the_bin
    an_entity_that_is_gone_counts_as_missing
    entities_that_were_read_are_removed_without_another_read
    entities_that_changed_since_they_were_read_are_removed_with_their_present_index_rows
    the_key_of_a_stored_entity_is_that_of_its_row
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Members")]
struct Member {
    #[partition_key]
    club: String,
    #[row_key]
    number: u32,
    #[index(email, lowercase, unique)]
    email: Option<String>,
    #[index(name, same_partition)]
    name: String,
    #[index(city, table = "MembersByCity")]
    city: String,
    fee: u32,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Events")]
struct Event {
    #[partition_key]
    day: String,
    #[row_key]
    number: u32,
    text: String,
}

fn member(club: &str, number: u32) -> Member {
    Member {
        club: club.into(),
        number,
        email: (!number.is_multiple_of(4)).then(|| format!("{club}{number}@x.org")),
        name: format!("n{}", number % 3),
        city: format!("c{}", number % 2),
        fee: number,
    }
}

async fn members(store: &Store, count: u32) -> Result<&Tables> {
    let tables = &store.tables;
    tables.create::<Member>().await?;
    for club in ["a", "b"] {
        tables.insert_all((0..count).map(|number| member(club, number))).await?;
    }
    Ok(tables)
}

async fn rows(store: &Store) -> Result<usize> {
    let mut rows = 0;
    for table in ["Members", "MembersByEmail", "MembersByCity"] {
        rows += store.rows(table).await?.len();
    }
    Ok(rows)
}

async fn what_a_query_finds_is_deleted_with_its_index_rows(store: &Store) -> Result<()> {
    let tables = members(store, 8).await?;
    let before = rows(store).await?;
    let reports = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&reports);
    let delete = Member::by_key("a").delete_all(tables);
    let done = delete.progress(move |progress| shared.lock().expect("no panic").push(progress.written)).await?;
    assert_eq!((done.read, done.written, done.missing, done.failed), (8, 8, 0, 0));
    assert_eq!(reports.lock().expect("no panic").last(), Some(&8));
    assert_eq!(Member::by_key("a").count(tables).await?, 0);
    assert_eq!(rows(store).await? * 2, before);
    assert_eq!(tables.verify::<Member>().await?.findings, []);
    // The values of the unique index are free.
    tables.insert(&Member { email: member("a", 1).email, ..member("c", 1) }).await?;
    // To delete nothing is no error.
    assert_eq!(Member::by_key("a").delete_all(tables).await?.written, 0);
    Ok(())
}

async fn a_partition_is_deleted_in_transactions(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Event>().await?;
    let event = |number| Event { day: "monday".into(), number, text: String::new() };
    tables.insert_all((0..250).map(event)).await?;
    store.probe.requests();
    assert_eq!(Event::by_key("monday").delete_all(tables).await?.written, 250);
    // A page, and three transactions.
    assert_eq!(store.probe.requests(), 4);
    assert_eq!(Event::by_key("monday").count(tables).await?, 0);
    Ok(())
}

async fn a_dry_run_counts_what_would_be_deleted(store: &Store) -> Result<()> {
    let tables = members(store, 8).await?;
    let before = rows(store).await?;
    store.probe.requests();
    let (mut last, dear) = (0, Member::by_key("a").filter(|member| member.fee.ge(6)));
    let done = dear.delete_all(tables).dry_run().progress(|progress| last = progress.read).await?;
    assert_eq!(last, 2, "the end is reported");
    assert_eq!((done.read, done.written, done.missing, done.failed), (2, 0, 0, 0));
    assert_eq!(store.probe.requests(), 1);
    let queries = (Member::by_key("a"), Member::by_city("c1").take(3));
    assert_eq!(tables.delete_all(queries).dry_run().side_by_side(2).await?.read, 8 + 3);
    assert_eq!(rows(store).await?, before);
    // A row that cannot be read is a failure, as it is of the deletion.
    let mut fee = Properties::default();
    fee.push("Fee", ValueRef::String("much"));
    let first = store.rows("Members").await?.into_iter().find(|row| row.properties.get("Fee").is_some());
    let row = first.context("an entity")?;
    let damage = Action::Merge(fee, IfMatch::Any);
    store.write("Members", (&row.partition_key, &row.row_key), damage).await?;
    let progress = failed(Member::by_key("a").delete_all(tables).dry_run().await).progress;
    assert_eq!((progress.read, progress.written, progress.failed), (8, 0, 1));
    Ok(())
}

async fn take_limits_a_deletion(store: &Store) -> Result<()> {
    let tables = members(store, 8).await?;
    assert_eq!(Member::by_key("a").take(3).delete_all(tables).await?.written, 3);
    let left = Member::by_key("a").all(tables).await?;
    assert_eq!(left.iter().map(|member| member.number).collect::<Vec<_>>(), [3, 4, 5, 6, 7]);
    Ok(())
}

async fn a_filter_or_an_index_chooses_what_is_deleted(store: &Store) -> Result<()> {
    let tables = members(store, 8).await?;
    let dear = Member::by_key("a").filter(|member| member.fee.ge(6));
    assert_eq!(dear.delete_all(tables).await?.written, 2);
    assert_eq!(Member::by_name("b").eq("n1").delete_all(tables).await?.written, 3);
    assert_eq!(Member::by_city("c1").delete_all(tables).await?.written, 3 + 2);
    let left: Vec<_> = Member::by_key("a").all(tables).await?.iter().map(|member| member.number).collect();
    assert_eq!(left, [0, 2, 4]);
    let left: Vec<_> = Member::by_key("b").all(tables).await?.iter().map(|member| member.number).collect();
    assert_eq!(left, [0, 2, 6]);
    assert_eq!(tables.verify::<Member>().await?.findings, []);
    Ok(())
}

/// A change that another writer makes before the first deletion.
type Change = Box<dyn Fn(Tables) -> BoxFuture<'static, table_runtime::Result<()>> + Send + Sync>;

/// Store in which another writer is faster than the first deletion of entities.
struct Overtaken {
    store: Isolated,
    /// Locked until the change is made, so that all deletions wait for it.
    change: tokio::sync::Mutex<Option<Change>>,
}

impl fmt::Debug for Overtaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

impl Overtaken {
    async fn overtake(&self, groups: &[Group]) -> table_runtime::Result<()> {
        let is_of_entities = |group: &Group| group.table == "Members" || group.table == "Notes";
        let deletes = |group: &Group| {
            is_of_entities(group) && group.operations.iter().any(|it| matches!(it.action, Action::Delete(_)))
        };
        if groups.iter().any(deletes) {
            let mut change = self.change.lock().await;
            if let Some(make) = change.take() {
                make(Tables::new(self.store.clone())).await?;
            }
        }
        Ok(())
    }
}

impl Backend for Overtaken {
    fn describe(&self) -> Description<'_> {
        self.store.describe()
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, table_runtime::Result<Vec<String>>> {
        self.store.tables(request)
    }

    fn read<'a>(
        &'a self,
        request: ReadRequest<'a>,
        reader: Reader<'a>,
    ) -> BoxFuture<'a, table_runtime::Result<Option<Continuation>>> {
        self.store.read(request, reader)
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        Box::pin(async move {
            self.overtake(groups).await?;
            self.store.execute(groups).await
        })
    }

    fn view(&self, _: StoreView) -> table_runtime::Result<Option<Arc<dyn Backend>>> {
        Ok(None)
    }
}

/// Returns a handle to the store on which another writer changes the member 1 of a club before the first deletion.
fn overtaken(store: &Store, club: &'static str) -> Tables {
    let change = move |tables: Tables| -> BoxFuture<'static, table_runtime::Result<()>> {
        Box::pin(async move {
            let change = |member: &mut Member| {
                member.fee = 9;
                "other".clone_into(&mut member.name);
                member.email = Some(format!("other@{club}.org"));
            };
            tables.modify(Member::key(club, 1), change).await.map(drop)
        })
    };
    overtaken_by(store, change)
}

/// Returns a handle to the store on which another writer makes this change before the first deletion.
fn overtaken_by(
    store: &Store,
    change: impl Fn(Tables) -> BoxFuture<'static, table_runtime::Result<()>> + Send + Sync + 'static,
) -> Tables {
    Tables::new(Overtaken { store: store.backend.clone(), change: tokio::sync::Mutex::new(Some(Box::new(change))) })
}

/// Entity with a bin.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Notes", soft_delete = deleted)]
struct Note {
    #[partition_key]
    club: String,
    #[row_key]
    id: u32,
    deleted: Option<SystemTime>,
}

async fn an_entity_that_was_restored_is_not_deleted_with_the_bin(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Note>().await?;
    tables.insert_all((1..4).map(|id| Note { club: "a".into(), id, deleted: None })).await?;
    for id in [1, 2] {
        assert!(tables.soft_delete(Note::key("a", id)).await?);
    }
    let restore = |tables: Tables| -> BoxFuture<'static, table_runtime::Result<()>> {
        Box::pin(async move { tables.restore(Note::key("a", 1)).await.map(drop) })
    };
    let error = failed(Note::by_key("a").only_deleted().delete_all(&overtaken_by(store, restore)).await);
    assert_eq!((error.progress.written, error.failures.len()), (1, 1));
    assert!(matches!(&*error.failures[0].error, Error::ConditionNotMet(_)), "{error}");
    assert_eq!(Note::by_key("a").count(tables).await?, 2);
    Ok(())
}

async fn an_entity_that_changed_is_deleted_by_its_key_and_kept_by_a_filter(store: &Store) -> Result<()> {
    let tables = members(store, 3).await?;
    let done = Member::by_key("a").delete_all(&overtaken(store, "a")).await?;
    assert_eq!((done.written, done.missing), (3, 0));
    assert_eq!(Member::by_key("a").count(tables).await?, 0);
    assert_eq!(Member::by_email("other@a.org").get(tables).await?, None);

    let low = Member::by_key("b").filter(|member| member.fee.le(1));
    let error = failed(low.delete_all(&overtaken(store, "b")).await);
    assert_eq!((error.progress.written, error.failures.len()), (1, 1));
    assert!(matches!(&*error.failures[0].error, Error::ConditionNotMet(_)), "{error}");
    let left = Member::by_key("b").all(tables).await?;
    assert_eq!(left.iter().map(|member| (member.number, member.fee)).collect::<Vec<_>>(), [(1, 9), (2, 2)]);
    assert_eq!(tables.verify::<Member>().await?.findings, []);
    Ok(())
}

async fn an_entity_that_is_gone_counts_as_missing(store: &Store) -> Result<()> {
    let tables = members(store, 3).await?;
    let read = Member::by_key("a").all(tables).await?;
    tables.remove(Member::key("a", 1)).await?;
    let done = tables.remove_all(read).await?;
    assert_eq!((done.written, done.missing), (2, 1));
    Ok(())
}

async fn entities_that_were_read_are_removed_without_another_read(store: &Store) -> Result<()> {
    #[derive(TableEntity)]
    #[table(name = "Guests")]
    struct Guest {
        #[partition_key]
        house: String,
        #[row_key]
        number: u32,
        #[index(name, same_partition)]
        name: String,
    }
    let tables = &store.tables;
    tables.create::<Guest>().await?;
    let guest = |number| Guest { house: "h".into(), number, name: format!("n{number}") };
    tables.insert_all((0..60).map(guest)).await?;
    let read = Guest::by_key("h").all(tables).await?;
    store.probe.requests();
    assert_eq!(tables.remove_all(&read).await?.written, 60);
    let requests = store.probe.requests();
    assert!(requests <= 5, "{requests} requests");
    assert_eq!(tables.verify::<Guest>().await?.findings, []);
    Ok(())
}

async fn entities_that_changed_since_they_were_read_are_removed_with_their_present_index_rows(
    store: &Store,
) -> Result<()> {
    let tables = members(store, 4).await?;
    let read = Member::by_key("a").all(tables).await?;
    tables
        .modify(Member::key("a", 1), |member| {
            member.email = Some("new@x.org".to_owned());
            "elsewhere".clone_into(&mut member.city);
        })
        .await?;
    assert_eq!(tables.remove_all(&read).await?.written, 4);
    assert_eq!(Member::by_email("new@x.org").get(tables).await?, None);
    assert_eq!(tables.verify::<Member>().await?.findings, []);
    // One stream may have an error.
    let read = Member::by_key("b").all(tables).await?;
    let items = read.into_iter().map(Ok).chain([Err("the line is broken")]);
    let error = failed(tables.try_remove_all_from(stream::iter(items)).await);
    assert_eq!((error.progress.written, error.failures[0].position), (4, 4));
    assert!(matches!(*error.failures[0].error, Error::Source(_)));
    Ok(())
}

async fn the_key_of_a_stored_entity_is_that_of_its_row(store: &Store) -> Result<()> {
    let tables = members(store, 2).await?;
    let mut stored = Member::key("a", 1).get(tables).await?.expect("it exists");
    stored.number = 7;
    let again = Stored::key(&stored).get(tables).await?.expect("its row");
    assert_eq!(again.number, 1);
    assert!(tables.remove(Stored::key(&stored)).await?);
    Ok(())
}
