//! Races: many writers that want one value.

use std::{
    future::{Future, IntoFuture},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use futures_util::future::join;
use table_runtime::{
    Error, Stored, TableEntity, Tables,
    backend::{
        Action, Backend, BoxFuture, Continuation, Description, Group, IfMatch, Operation, Reach, ReadRequest, Reader,
        StoreView, TableRequest, Written,
    },
    row::{Properties, RowId},
    testing::{Fault, Faulty, PartitionReach, Scheduled},
};
use tests::{
    driven::{Next, drive},
    stores::{Kind, Store},
};
use tokio::task::JoinSet;

use crate::fixtures::findings;

crate::conformance! {
    one_of_many_inserts_gets_a_name_unique_in_its_partition
    one_of_many_inserts_gets_a_name_unique_across_partitions
    one_of_many_inserts_gets_two_values_unique_across_partitions
    one_of_many_updates_gets_a_name
    a_name_passes_from_entity_to_entity
    a_list_takes_concurrent_inserts
    the_error_of_a_lost_race_names_the_entity
    a_pending_insert_that_arrives_after_its_repetition_makes_no_twins
    a_release_that_arrives_after_the_second_try_of_a_bulk_write_releases_nothing
    the_loser_of_a_race_is_told_what_happened
    an_abandoned_insert_that_is_patched_makes_way_too
    an_insert_that_meets_an_abandoned_one_takes_its_place
}

/// Number of tasks that want each name.
const TASKS: u32 = 64;

fn rounds(store: &Store) -> u32 {
    match store.kind {
        Kind::Memory => 1000,
        Kind::Plain => 100,
        Kind::Disk => 25,
        Kind::Azurite | Kind::Sdk | Kind::Live => 4,
    }
}

/// Entity with a name that is unique in its partition.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Seats")]
struct Seat {
    #[partition_key]
    hall: u8,
    #[row_key]
    number: u32,
    #[index(name, lowercase, same_partition, unique)]
    name: String,
}

/// Entity with a name that is unique across partitions.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Guests", row = "guest")]
struct Guest {
    #[partition_key]
    number: u32,
    #[index(name, lowercase, unique)]
    name: String,
}

/// Entity with two values that are unique across partitions.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Members", row = "member")]
struct Member {
    #[partition_key]
    number: u32,
    #[index(name, lowercase, unique)]
    name: String,
    #[index(email, same_table, unique)]
    email: String,
}

/// Runs the tasks of a round at once. Returns how many succeeded and checks the errors of the others.
async fn race<F>(tasks: impl Iterator<Item = F>) -> Result<usize>
where
    F: Future<Output = table_runtime::Result<()>> + Send + 'static,
{
    let mut winners = 0;
    for result in tasks.collect::<JoinSet<_>>().join_all().await {
        match result {
            Ok(()) => winners += 1,
            Err(Error::UniqueViolation(violation)) => ensure!(violation.owner != violation.row, "{violation}"),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(winners)
}

async fn insert<E: TableEntity>(tables: Tables, entity: E) -> table_runtime::Result<()> {
    tables.insert(&entity).await.map(drop)
}

async fn one_of_many_inserts_gets_a_name_unique_in_its_partition(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Seat>().await?;
    for round in 0..rounds(store) {
        let seat = |task| Seat { hall: 1, number: round * TASKS + task, name: format!("{round}") };
        let winners = race((0..TASKS).map(|task| insert(tables.clone(), seat(task)))).await?;
        ensure!(winners == 1, "round {round}: {winners} winners");
        ensure!(Seat::by_name(1).eq(&format!("{round}")).exists(tables).await?, "round {round}");
    }
    ensure!(Seat::by_key(1).count(tables).await? == rounds(store) as usize);
    ensure!(findings::<Seat>(store).await?.is_empty());
    Ok(())
}

async fn one_of_many_inserts_gets_a_name_unique_across_partitions(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Guest>().await?;
    for round in 0..rounds(store) {
        let guest = |task| Guest { number: round * TASKS + task, name: format!("{round}") };
        let winners = race((0..TASKS).map(|task| insert(tables.clone(), guest(task)))).await?;
        ensure!(winners == 1, "round {round}: {winners} winners");
        ensure!(Guest::by_name(&format!("{round}")).exists(tables).await?, "round {round}");
    }
    // Failed inserts have left no entity and no index row.
    ensure!(store.rows("Guests").await?.len() == rounds(store) as usize);
    ensure!(store.rows("GuestsByName").await?.len() == rounds(store) as usize);
    ensure!(findings::<Guest>(store).await?.is_empty());
    Ok(())
}

async fn one_of_many_inserts_gets_two_values_unique_across_partitions(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Member>().await?;
    let rounds = (rounds(store) / 10).max(2);
    for round in 0..rounds {
        let member =
            |task| Member { number: round * TASKS + task, name: format!("{round}"), email: format!("{round}@x") };
        let winners = race((0..TASKS).map(|task| insert(tables.clone(), member(task)))).await?;
        ensure!(winners == 1, "round {round}: {winners} winners");
        let by_name = Member::by_name(&format!("{round}")).get(tables).await?;
        let by_email = Member::by_email(&format!("{round}@x")).get(tables).await?;
        ensure!(by_name.is_some() && by_name == by_email, "round {round}: {by_name:?}, {by_email:?}");
    }
    ensure!(store.rows("Members").await?.len() == 2 * rounds as usize);
    ensure!(store.rows("MembersByName").await?.len() == rounds as usize);
    ensure!(findings::<Member>(store).await?.is_empty());
    Ok(())
}

async fn one_of_many_updates_gets_a_name(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Guest>().await?;
    for number in 0..TASKS {
        tables.insert(&Guest { number, name: format!("guest {number}") }).await?;
    }
    let rounds = (rounds(store) / 10).max(2);
    for round in 0..rounds {
        let change = |number| {
            let tables = tables.clone();
            async move {
                let Some(mut guest) = Guest::key(number).get(&tables).await? else { return Ok(()) };
                guest.name = format!("{round}");
                // Another writer may give the entity a new version. The owner of the name is not changed.
                match tables.update(&mut guest).await {
                    Err(Error::ConditionNotMet(_)) => tables.upsert(&Guest { number, name: format!("{round}") }).await,
                    updated => updated,
                }
                .map(drop)
            }
        };
        let winners = race((0..TASKS).map(change)).await?;
        ensure!(winners == 1, "round {round}: {winners} winners");
        let guests = guests(tables).await?;
        let named = guests.iter().filter(|guest| guest.name == format!("{round}")).count();
        ensure!(guests.len() == TASKS as usize && named == 1, "round {round}: {named}");
    }
    ensure!(store.rows("GuestsByName").await?.len() == TASKS as usize);
    ensure!(findings::<Guest>(store).await?.is_empty());
    Ok(())
}

async fn guests(tables: &Tables) -> Result<Vec<Guest>> {
    let found = tables.get_many((0..TASKS).map(Guest::key)).await?;
    Ok(found.into_iter().flatten().map(table_runtime::Stored::into_inner).collect())
}

/// Each task inserts a guest with the name and removes it at once; the others retry.
async fn a_name_passes_from_entity_to_entity(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Guest>().await?;
    let (tasks, times) = if store.kind == Kind::Memory { (16, 20) } else { (4, 3) };
    let take_turns = |number| {
        let tables = tables.clone();
        async move {
            let mut had = 0;
            while had < times {
                match tables.insert(&Guest { number, name: "the".into() }).await {
                    Ok(_) => {
                        let found = Guest::by_name("the").get(&tables).await?;
                        ensure!(found.is_some_and(|found| found.number == number), "{number} has the name");
                        ensure!(tables.remove(Guest::key(number)).await?, "{number} was inserted");
                        had += 1;
                    }
                    Err(Error::UniqueViolation(_)) => tokio::task::yield_now().await,
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(())
        }
    };
    for ended in (0..tasks).map(take_turns).collect::<JoinSet<_>>().join_all().await {
        ended?;
    }
    ensure!(store.rows("Guests").await?.is_empty());
    ensure!(findings::<Guest>(store).await?.is_empty(), "{:?}", findings::<Guest>(store).await?);
    Ok(())
}

/// Entity with a list.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Listed")]
struct Listed {
    #[partition_key]
    shelf: u8,
    #[row_key]
    number: u32,
    #[index(tag, same_partition, list)]
    tag: String,
}

async fn a_list_takes_concurrent_inserts(store: &Store) -> Result<()> {
    const WRITERS: u32 = 16;
    let tables = &store.tables;
    tables.create::<Listed>().await?;
    let each = if store.kind == Kind::Memory { 25 } else { 3 };
    let write = |writer| {
        let tables = tables.clone();
        async move {
            for number in 0..each {
                let number = writer * each + number;
                tables.insert(&Listed { shelf: 1, number, tag: "tag".into() }).await?;
                if number % 5 == 4 {
                    tables.remove(Listed::key(1, number)).await?;
                }
            }
            Ok::<_, Error>(())
        }
    };
    for written in (0..WRITERS).map(write).collect::<JoinSet<_>>().join_all().await {
        written?;
    }
    let listed = Listed::by_tag(1).eq("tag").all(tables).await?;
    let expected: Vec<_> = (0..WRITERS * each).filter(|number| number % 5 != 4).collect();
    let numbers: Vec<_> = listed.iter().map(|listed| listed.number).collect();
    ensure!(numbers == expected, "{numbers:?}");
    ensure!(findings::<Listed>(store).await?.is_empty());
    Ok(())
}

/// Store in which each insert of an index row finds an existing row, which is deleted again before it can be read.
#[derive(Debug)]
struct Contested<B>(B);

impl<B: Backend> Backend for Contested<B> {
    fn describe(&self) -> Description<'_> {
        Description { reach: Reach::Partition, ..self.0.describe() }
    }

    fn tables<'a>(&'a self, request: TableRequest<'a>) -> BoxFuture<'a, table_runtime::Result<Vec<String>>> {
        self.0.tables(request)
    }

    fn read<'a>(
        &'a self,
        request: ReadRequest<'a>,
        reader: Reader<'a>,
    ) -> BoxFuture<'a, table_runtime::Result<Option<Continuation>>> {
        self.0.read(request, reader)
    }

    fn execute<'a>(&'a self, groups: &'a [Group]) -> BoxFuture<'a, Written> {
        match groups {
            [Group { table, partition_key, operations }] if table == "GuestsByName" => match &**operations {
                [Operation { row_key, action: Action::Insert(_) }] => {
                    let (partition_key, row_key) = (partition_key.clone(), row_key.clone());
                    let row = RowId { table: table.to_string(), partition_key, row_key };
                    Box::pin(async move { Err(Error::AlreadyExists(row.into()).into()) })
                }
                _ => self.0.execute(groups),
            },
            _ => self.0.execute(groups),
        }
    }

    fn view(&self, _: StoreView) -> table_runtime::Result<Option<Arc<dyn Backend>>> {
        Ok(None)
    }
}

/// The first request of an insert is carried out late: after its repetition, and after another writer has deleted what that
/// wrote, but before that one takes over the claim.
async fn a_pending_insert_that_arrives_after_its_repetition_makes_no_twins(store: &Store) -> Result<()> {
    for (round, in_bulk) in [(0, false), (10, true)] {
        let backend = PartitionReach(store.backend.clone());
        Tables::new(backend.clone()).create::<Guest>().await?;
        let (scheduled, schedule) = Scheduled::new(backend.clone());
        let slow = Tables::new(scheduled);
        let (scheduled, other_schedule) = Scheduled::new(backend.clone());
        let fast = Tables::new(scheduled);
        let guest = |number: u32| Guest { number: round + number, name: format!("the {round}") };
        let insert = async {
            if in_bulk {
                let Err(Error::Bulk(error)) = slow.insert_all([guest(1)]).await else { bail!("it has the value") };
                return Ok(format!("{:?}", error.failures[0].error));
            }
            Ok(format!("{:?}", slow.insert(&guest(1)).await.expect_err("it has the value")))
        };
        let other = guest(2);
        let mut writes = 0;
        let told = drive(&schedule, insert, async |request| {
            writes += usize::from(request.is_write());
            match writes {
                // The pending insert.
                1 if request.is_write() => return Next::Lose,
                // The pending insert again, the claim, and then the commit.
                4 if request.is_write() => {
                    let taken = drive(&other_schedule, fast.upsert(&other), async |request| {
                        if request.to_string().starts_with("update of GuestsByName") {
                            let late = schedule.grant(0).expect("the first request");
                            late.send(&backend, &()).await;
                        }
                        Next::Grant
                    });
                    taken.await.expect("it ends").expect("the value is free");
                }
                _ => {}
            }
            Next::Grant
        })
        .await??;
        ensure!(told.contains("UniqueViolation"), "in bulk: {in_bulk}, {told}");
        let tables = store.again();
        let named = Guest::by_name(&other.name).get(&tables).await?;
        ensure!(named.is_some_and(|named| named.number == other.number), "the fast one has the name");
        ensure!(!Guest::key(guest(1).number).exists(&tables).await?, "two guests have the name");
    }
    let repaired = store.again().repair::<Guest>().await?;
    ensure!(repaired.left.is_empty(), "{repaired:?}");
    ensure!(findings::<Guest>(store).await?.is_empty());
    Ok(())
}

/// An entity of a bulk write wants two values, one of which another one is leaving. Its first try takes the other value and
/// gives it back. That request is carried out after its second try, which has taken the value again.
async fn a_release_that_arrives_after_the_second_try_of_a_bulk_write_releases_nothing(store: &Store) -> Result<()> {
    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(name = "Accounts")]
    struct Account {
        #[partition_key]
        team: u32,
        #[row_key]
        id: u32,
        #[index(name, unique)]
        name: String,
        #[index(email, unique)]
        email: String,
    }

    let backend = PartitionReach(store.backend.clone());
    let (failing, faults) = Faulty::new(backend.clone());
    let (tables, crashing) = (Tables::new(backend.clone()), Tables::new(failing));
    tables.create::<Account>().await?;
    let account = |id, name: &str, email: &str| Account { team: 1, id, name: name.into(), email: email.into() };
    tables.insert(&account(2, "two", "wanted")).await?;
    // The other one takes a value that a crashed writer has claimed, so it commits after the first try.
    faults.arm_write(Fault::StopsBefore, 3);
    ensure!(crashing.insert(&account(3, "three", "left")).await.is_err(), "it crashes before its commit");
    let (scheduled, schedule) = Scheduled::new(backend.clone());
    let slow = Tables::new(scheduled);
    let mut is_lost = false;
    let bulk = slow.upsert_all([account(1, "one", "wanted"), account(2, "two", "left")]).into_future();
    let written = drive(&schedule, bulk, async |request| {
        if is_lost || !request.to_string().starts_with("delete of AccountsByName") {
            return Next::Grant;
        }
        is_lost = true;
        Next::Lose
    })
    .await??;
    ensure!(is_lost && written.written == 2, "{written:?}");
    schedule.grant(0).context("the release")?.send(&backend, &()).await;
    let found = Account::by_name("one").get(&store.again()).await?;
    ensure!(found.is_some_and(|found| found.email == "wanted"), "it has the name");
    Ok(())
}

/// Somebody patches the row of an abandoned insert again and again, so that each look shows another version.
async fn an_abandoned_insert_that_is_patched_makes_way_too(store: &Store) -> Result<()> {
    let backend = PartitionReach(store.backend.clone());
    let (failing, faults) = Faulty::new(backend.clone());
    let (tables, crashing) = (Tables::new(backend.clone()), Tables::new(failing));
    tables.create::<Guest>().await?;
    for (abandoned, wanted) in [(1, 1), (2, 5)] {
        let guest = |number| Guest { number, name: format!("of {abandoned}") };
        faults.arm_write(Fault::StopsBefore, 2);
        ensure!(crashing.insert(&guest(abandoned)).await.is_err(), "it crashes before its commit");
        faults.disarm();
        let (scheduled, schedule) = Scheduled::new(backend.clone());
        let patched = format!("get of Guests(PartitionKey='{abandoned:010}'");
        let keys = (&*format!("{abandoned:010}"), "guest");
        drive(&schedule, Tables::new(scheduled).insert(&guest(wanted)), async |request| {
            if request.to_string().starts_with(&patched) {
                // The row may be gone.
                let _ = store.write("Guests", keys, Action::Merge(Properties::default(), IfMatch::Any)).await;
            }
            Next::Grant
        })
        .await??;
        ensure!(Guest::by_name(&guest(wanted).name).exists(&tables).await?, "{abandoned}");
    }
    Ok(())
}

/// Two inserts of one key, and two of one value, at the same time: each loser is told which of them it lost.
async fn the_loser_of_a_race_is_told_what_happened(store: &Store) -> Result<()> {
    // Without the steps of the service, there is nothing to abort.
    let tables = Tables::new(PartitionReach(store.backend.clone()));
    tables.create::<Guest>().await?;
    let rounds = if store.kind.is_service() { 10 } else { 50 };
    for round in 0..rounds {
        let guest = |number: u32, name: &str| Guest { number: 10 * round + number, name: format!("{name} {round}") };
        let (one, other) = (guest(1, "the key"), guest(1, "the key, otherwise"));
        match join(tables.insert(&one), tables.insert(&other)).await {
            (Ok(_), Err(Error::AlreadyExists(_))) | (Err(Error::AlreadyExists(_)), Ok(_)) => {}
            told => bail!("round {round}, one key: {told:?}"),
        }
        let (one, other) = (guest(2, "the value"), guest(3, "the value"));
        match join(tables.insert(&one), tables.insert(&other)).await {
            (Ok(_), Err(Error::UniqueViolation(_))) | (Err(Error::UniqueViolation(_)), Ok(_)) => {}
            told => bail!("round {round}, one value: {told:?}"),
        }
    }
    ensure!(findings::<Guest>(store).await?.is_empty());
    Ok(())
}

/// A writer that crashed has left its pending insert and its claim. Whoever wants the key or the value waits once.
async fn an_insert_that_meets_an_abandoned_one_takes_its_place(store: &Store) -> Result<()> {
    let backend = PartitionReach(store.backend.clone());
    let (failing, faults) = Faulty::new(backend.clone());
    let (tables, crashing) = (Tables::new(backend), Tables::new(failing));
    tables.create::<Guest>().await?;
    for (round, wanted) in
        [(0, Guest { number: 1, name: "of 0".into() }), (1, Guest { number: 5, name: "of 1".into() })]
    {
        faults.arm_write(Fault::StopsBefore, 2);
        let abandoned = Guest { number: round + 1, name: format!("of {round}") };
        ensure!(crashing.insert(&abandoned).await.is_err(), "it crashes before its commit");
        faults.disarm();
        let clock = store.backend.describe().clock;
        let begun = clock.monotonic();
        tables.insert(&wanted).await?;
        ensure!(clock.monotonic() >= begun + Duration::from_millis(20), "it gives the other writer time");
        ensure!(Guest::by_name(&wanted.name).exists(&tables).await?, "{wanted:?}");
    }
    ensure!(findings::<Guest>(store).await?.is_empty(), "{:?}", findings::<Guest>(store).await?);
    Ok(())
}

async fn the_error_of_a_lost_race_names_the_entity(store: &Store) -> Result<()> {
    store.tables.create::<Guest>().await?;
    let guest = |number: u32| Guest { number, name: format!("guest {number}") };
    let etag = store.tables.insert(&guest(1)).await?;
    let contested = Tables::new(Contested(store.backend.clone()));
    match contested.insert(&guest(2)).await {
        Err(Error::Aborted(row)) => assert_eq!((&*row.table, &*row.partition_key), ("Guests", "0000000002")),
        other => panic!("{other:?}"),
    }
    let mut stored = Stored::new(guest(1), etag);
    stored.name = "another guest".into();
    match contested.update(&mut stored).await {
        Err(Error::ConditionNotMet(row)) => assert_eq!((&*row.table, &*row.partition_key), ("Guests", "0000000001")),
        other => panic!("{other:?}"),
    }
    assert_eq!(findings::<Guest>(store).await?, []);
    Ok(())
}
