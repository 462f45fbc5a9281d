//! What the caller of a write is told after each answer to its commit: the table in `docs/index-protocol.md`, run through
//! single writes, transactions and bulk writes, on a store in steps and on one that commits in one transaction.

use std::{fs, path::Path, sync::Arc};

use anyhow::{Context, Result, ensure};
use table_runtime::{
    Error, Guid, Point, Stored, TableEntity, Tables, Transaction,
    backend::{Action, BackendExt, Group, IfMatch, Operation, Reach},
    bulk::BulkProgress,
    row::ValueRef,
    testing::{Fault, Faults, Faulty, Request, Schedule, Scheduled},
};
use tests::{
    driven::{Next, drive},
    plain::Plain,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Insert,
    Update,
    Modify,
    Upsert,
    Merge,
    Patch,
    Delete,
    Remove,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entrance {
    Single,
    Transaction(Companions),
    Bulk,
}

/// What a transaction writes besides the entity. All of it is applied, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Companions {
    None,
    Inserted,
    Changed,
}

/// Ids of these entities, and the value of the second one before the transaction.
const INSERTED: u32 = 8;
const CHANGED: u32 = 9;
const UNCHANGED: &str = "c0";

/// Event that decides the answer to a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    None,
    Fault(Fault),
    /// The answer comes after the lease; true if the catalog cannot be read then.
    Late(bool),
    /// Another writer is faster.
    Inserted,
    Changed,
    Deleted,
    /// A pending insert is stored before the write begins.
    Pending,
    /// Another entity has the value before the write begins.
    Taken,
}

impl Verb {
    const ALL: [Self; 8] =
        [Self::Insert, Self::Update, Self::Modify, Self::Upsert, Self::Merge, Self::Patch, Self::Delete, Self::Remove];

    const fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Modify => "modify",
            Self::Upsert => "upsert",
            Self::Merge => "merge",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::Remove => "remove",
        }
    }

    const fn has(self, entrance: Entrance) -> bool {
        match entrance {
            Entrance::Single => true,
            Entrance::Transaction(_) => !matches!(self, Self::Modify),
            Entrance::Bulk => matches!(self, Self::Insert | Self::Upsert | Self::Delete | Self::Remove),
        }
    }
}

/// Rows of the table: the beginning of the first cell, the event, and whether the entity has a write id.
const ROWS: [(&str, Event, bool); 12] = [
    ("carried out", Event::None, false),
    ("refused: throttled until the retries end, or any other error of the store", Event::Fault(Fault::Refused), false),
    ("lost, carried out", Event::Fault(Fault::AnswerLost), false),
    ("lost, carried out, the entity has `#[table(write_id)]`", Event::Fault(Fault::AnswerLost), true),
    ("lost, not carried out", Event::Fault(Fault::RequestLost), false),
    ("carried out after the lease, which is renewed", Event::Late(false), false),
    ("carried out after the lease, which cannot be renewed", Event::Late(true), false),
    ("another writer has inserted the entity", Event::Inserted, false),
    ("another writer has changed the entity", Event::Changed, false),
    ("another writer has deleted the entity", Event::Deleted, false),
    ("a pending insert of another writer is in its place", Event::Pending, false),
    ("the value belongs to another entity", Event::Taken, false),
];

const CARRIED_OUT: Event = Event::Fault(Fault::AnswerLost);
const NOT_CARRIED_OUT: Event = Event::Fault(Fault::RequestLost);

/// True if an entity was written or deleted, false if there was none.
type Told = std::result::Result<bool, Arc<Error>>;

/// Value that an entity has before a write, and value that the write gives it.
const OLD: &str = "a";
const NEW: &str = "b";

trait Account: TableEntity + Clone {
    const IN_STEPS: bool;
    fn new(id: u32, value: &str) -> Self;
    fn value(&self) -> &str;
    fn set(&mut self, value: &str);
    fn at(id: u32) -> Point<Self>;
    async fn patch(tables: &Tables) -> table_runtime::Result<()>;
    fn patched(transaction: Transaction<'_>) -> Transaction<'_>;
    async fn delete_all(tables: &Tables) -> table_runtime::Result<BulkProgress>;
}

macro_rules! account {
    ($name:ident, [$(#[$attribute:meta])*], [$(#[$index:meta])*], in_steps: $in_steps:literal) => {
        #[derive(TableEntity, Clone, Debug)]
        $(#[$attribute])*
        struct $name {
            #[partition_key]
            team: String,
            #[row_key]
            id: u32,
            $(#[$index])*
            value: String,
            likes: u32,
        }

        impl Account for $name {
            const IN_STEPS: bool = $in_steps;

            fn new(id: u32, value: &str) -> Self {
                Self { team: "t".into(), id, value: value.into(), likes: 0 }
            }

            fn value(&self) -> &str {
                &self.value
            }

            fn set(&mut self, value: &str) {
                self.value = value.into();
            }

            fn at(id: u32) -> Point<Self> {
                Self::key("t", id)
            }

            async fn patch(tables: &Tables) -> table_runtime::Result<()> {
                tables.patch(Self::at(1), |account| [account.likes.set(5)]).await.map(drop)
            }

            fn patched(transaction: Transaction<'_>) -> Transaction<'_> {
                transaction.patch(Self::at(1), |account| [account.likes.set(5)])
            }

            async fn delete_all(tables: &Tables) -> table_runtime::Result<BulkProgress> {
                // A query with a filter deletes the versions that it has read.
                Self::by_key("t").filter(|account| account.likes.le(3)).take(1).delete_all(tables).await
            }
        }
    };
}

account!(Elsewhere, [], [#[index(value, unique)]], in_steps: true);
account!(ElsewhereWithId, [#[table(write_id)]], [#[index(value, unique)]], in_steps: true);
account!(Beside, [], [#[index(value, unique, same_partition)]], in_steps: false);
account!(BesideWithId, [#[table(write_id)]], [#[index(value, unique, same_partition)]], in_steps: false);

/// Writes the entity in a transaction, after these other entities.
async fn transact<E: Account>(
    tables: &Tables,
    verb: Verb,
    mut stored: Option<Stored<E>>,
    companions: Companions,
) -> table_runtime::Result<()> {
    let (new, inserted) = (E::new(1, NEW), E::new(INSERTED, "c1"));
    let mut changed = match companions {
        Companions::None | Companions::Inserted => None,
        Companions::Changed => E::at(CHANGED).get(tables).await?,
    };
    if let Some(stored) = &mut stored {
        stored.set(NEW);
    }
    let transaction = tables.transaction();
    let transaction = match (companions, &mut changed) {
        (Companions::Inserted, _) => transaction.insert(&inserted),
        (_, Some(changed)) => {
            changed.set("c2");
            transaction.update(changed)
        }
        _ => transaction,
    };
    let transaction = match (verb, &mut stored) {
        (Verb::Insert, _) => transaction.insert(&new),
        (Verb::Upsert, _) => transaction.upsert(&new),
        (Verb::Merge, _) => transaction.merge(&new),
        (Verb::Patch, _) => E::patched(transaction),
        (Verb::Remove, _) => transaction.remove(E::at(1)),
        (Verb::Update, Some(stored)) => transaction.update(stored),
        (Verb::Delete, Some(stored)) => transaction.delete(&*stored),
        (verb, _) => unreachable!("{verb:?}"),
    };
    transaction.commit().await.map(drop)
}

async fn write<E: Account>(tables: &Tables, entrance: Entrance, verb: Verb, stored: Option<Stored<E>>) -> Told {
    let (told, new) = (Arc::new, E::new(1, NEW));
    match (entrance, verb) {
        (Entrance::Transaction(companions), verb) => {
            transact(tables, verb, stored, companions).await.map(|()| true).map_err(told)
        }
        (Entrance::Bulk, Verb::Insert) => told_in_bulk(tables.insert_all([new]).await),
        (Entrance::Bulk, Verb::Upsert) => told_in_bulk(tables.upsert_all([new]).await),
        (Entrance::Bulk, Verb::Delete) => told_in_bulk(E::delete_all(tables).await),
        (Entrance::Bulk, _) => told_in_bulk(tables.remove_all([E::at(1)]).await),
        (_, Verb::Insert) => tables.insert(&new).await.map(|_| true).map_err(told),
        (_, Verb::Upsert) => tables.upsert(&new).await.map(|_| true).map_err(told),
        (_, Verb::Merge) => tables.merge(&new).await.map(|_| true).map_err(told),
        (_, Verb::Modify) => {
            let modified = tables.modify(E::at(1), |account| account.set(NEW)).await;
            modified.map(|stored| stored.is_some()).map_err(told)
        }
        (_, Verb::Patch) => E::patch(tables).await.map(|()| true).map_err(told),
        (_, Verb::Remove) => tables.remove(E::at(1)).await.map_err(told),
        (_, Verb::Update | Verb::Delete) => {
            let mut stored = stored.expect("it was read before");
            if verb == Verb::Delete {
                return tables.delete(&stored).await.map(|()| true).map_err(told);
            }
            stored.set(NEW);
            tables.update(&mut stored).await.map(|_| true).map_err(told)
        }
    }
}

fn told_in_bulk(result: table_runtime::Result<BulkProgress>) -> Told {
    match result {
        Ok(progress) => Ok(progress.written == 1),
        Err(Error::Bulk(error)) => Err(error.failures[0].error.clone()),
        Err(error) => Err(Arc::new(error)),
    }
}

fn name(told: &Told) -> &'static str {
    match told {
        Ok(true) => "done",
        Ok(false) => "absent",
        Err(error) => match &**error {
            Error::OutcomeUnknown(_) => "unknown",
            Error::AlreadyExists(_) => "AlreadyExists",
            Error::ConditionNotMet(_) => "ConditionNotMet",
            Error::NotFound(_) => "NotFound",
            Error::Aborted(_) => "Aborted",
            Error::UniqueViolation(_) => "UniqueViolation",
            _ => "refused",
        },
    }
}

/// A store with a handle whose requests wait, and one whose requests do not.
struct Run {
    direct: Tables,
    tables: Tables,
    store: Plain,
    schedule: Schedule,
    faults: Faults,
}

impl Run {
    fn new(reach: Reach) -> Self {
        let store = Plain::default().with_reach(reach);
        let (backend, faults) = Faulty::new(store.clone());
        let (scheduled, schedule) = Scheduled::new(backend);
        Self { direct: store.tables(), tables: Tables::new(scheduled), store, schedule, faults }
    }

    async fn seen<E: Account>(&self) -> Result<Option<String>> {
        self.value_of::<E>(1).await
    }

    async fn value_of<E: Account>(&self, id: u32) -> Result<Option<String>> {
        Ok(E::at(id).get(&self.direct).await?.map(|stored| stored.value().to_owned()))
    }

    /// Checks that the companions of the entity were written if `is_done`, and not otherwise; `None` if nobody knows.
    async fn is_whole<E: Account>(&self, companions: Companions, is_done: Option<bool>) -> Result<()> {
        let inserted = self.value_of::<E>(INSERTED).await?;
        let changed = self.value_of::<E>(CHANGED).await?;
        let was_written = match companions {
            Companions::None => return Ok(()),
            Companions::Inserted => inserted.is_some(),
            Companions::Changed => changed.as_deref() != Some(UNCHANGED),
        };
        ensure!(is_done.is_none_or(|is_done| is_done == was_written), "{companions:?}: {inserted:?}, {changed:?}");
        Ok(())
    }

    /// Stores the start of a run. Returns the entity that is written, if it exists.
    async fn begin<E: Account>(&self, event: Event, entrance: Entrance, verb: Verb) -> Result<Option<Stored<E>>> {
        drive(&self.schedule, self.tables.create::<E>(), async |_| Next::Grant).await??;
        if event == Event::Pending || verb != Verb::Insert && event != Event::Inserted {
            self.direct.insert(&E::new(1, OLD)).await?;
        }
        let stored = E::at(1).get(&self.direct).await?;
        if entrance == Entrance::Transaction(Companions::Changed) {
            self.direct.insert(&E::new(CHANGED, UNCHANGED)).await?;
        }
        if event == Event::Taken {
            self.direct.insert(&E::new(2, NEW)).await?;
        }
        if event == Event::Pending {
            self.store_pending(&E::INFO.layouts[0].table).await?;
        }
        Ok(stored)
    }

    /// Stores a pending insert in the place of the entity, as a writer does that found no entity.
    async fn store_pending(&self, table: &'static str) -> Result<()> {
        let mut rows = self.store.rows().into_iter();
        let (_, row) = rows.find(|(name, row)| name == table && is_own(&row.row_key)).context("a row")?;
        let mut properties = row.properties;
        properties.set("IndexPending", ValueRef::Guid(Guid::from_bytes([7; 16])));
        for action in [Action::Delete(IfMatch::Any), Action::Insert(properties)] {
            let operations = vec![Operation { row_key: row.row_key.clone(), action }];
            let group = Group { table: table.into(), partition_key: row.partition_key.clone(), operations };
            self.store.execute_group(&group).await?;
        }
        Ok(())
    }

    /// Lets the event happen at the moment at which the commit is on its way.
    async fn happen<E: Account>(&self, event: Event) {
        let happened = match event {
            Event::None | Event::Pending | Event::Taken => Ok(()),
            Event::Fault(fault) => {
                self.faults.arm_write(fault, 0);
                Ok(())
            }
            Event::Late(without_catalog) => {
                self.faults.arm_late(0, without_catalog);
                Ok(())
            }
            Event::Inserted => self.direct.insert(&E::new(1, "c")).await.map(drop),
            Event::Changed => self.direct.modify(E::at(1), |account| account.set("c")).await.map(drop),
            Event::Deleted => self.direct.remove(E::at(1)).await.map(drop),
        };
        happened.expect("nothing is in the way of the other writer");
    }
}

/// Checks whether a row is that of the entity which is written.
fn is_own(row_key: &str) -> bool {
    row_key.ends_with("0000000001")
}

/// Checks whether a request is the commit of the entity's write.
fn is_commit(table: &str, request: &Request) -> bool {
    let Request::Execute(groups) = request else { return false };
    let operations = groups.iter().filter(|group| group.table == table).flat_map(|group| &group.operations);
    operations.filter(|operation| is_own(&operation.row_key)).any(|operation| match &operation.action {
        Action::Insert(properties) => properties.get("IndexPending").is_none(),
        Action::Merge(properties, _) => !properties.is_empty(),
        _ => true,
    })
}

/// Runs one cell through one entrance. Returns what the caller is told.
async fn told<E: Account>(reach: Reach, event: Event, entrance: Entrance, verb: Verb) -> Result<&'static str> {
    let run = Run::new(reach);
    let stored = run.begin::<E>(event, entrance, verb).await?;
    let (mut has_happened, mut before) = (false, run.seen::<E>().await?);
    let told = drive(&run.schedule, write(&run.tables, entrance, verb, stored), async |request| {
        if !has_happened && is_commit(&E::INFO.layouts[0].table, request) {
            has_happened = true;
            run.happen::<E>(event).await;
            before = run.seen::<E>().await.expect("the store answers");
        }
        Next::Grant
    })
    .await?;
    run.faults.disarm();
    let after = run.seen::<E>().await?;
    if let Entrance::Transaction(companions) = entrance {
        let is_done = (name(&told) != "unknown").then_some(told.is_ok());
        run.is_whole::<E>(companions, is_done).await?;
    }
    let deletes = matches!(verb, Verb::Delete | Verb::Remove);
    match name(&told) {
        "unknown" => {}
        "done" if verb == Verb::Patch => ensure!(after == before || event == Event::Pending, "{before:?}, {after:?}"),
        "done" => ensure!(after.as_deref() == (!deletes).then_some(NEW), "done, and readers see {after:?}"),
        name => ensure!(after == before, "{name}, and readers saw {before:?} and see {after:?}"),
    }
    Ok(name(&told))
}

/// Runs one cell through every entrance, and compares it with the table.
async fn check<E: Account>(reach: Reach, event: Event, verb: Verb, cell: &str, has_id: bool) -> Result<()> {
    let is_in_steps = E::IN_STEPS && reach == Reach::Partition;
    let cell = match cell.split_once("; in steps: ") {
        Some((_, in_steps)) if is_in_steps => in_steps,
        Some((cell, _)) => cell,
        None => cell,
    };
    let transactions = [Companions::None, Companions::Inserted, Companions::Changed].map(Entrance::Transaction);
    for entrance in [Entrance::Single, Entrance::Bulk].into_iter().chain(transactions) {
        if !verb.has(entrance) {
            continue;
        }
        let expected = match (entrance, cell) {
            (Entrance::Bulk, "NotFound") => "absent",
            // The query finds no entity to delete.
            (Entrance::Bulk, _) if event == Event::Pending && verb == Verb::Delete => "absent",
            (Entrance::Transaction(_), "absent") => "NotFound",
            // Only in steps does a commit that was not carried out follow a pending insert, which shows it.
            (Entrance::Transaction(Companions::Inserted), "unknown") if is_in_steps && event == NOT_CARRIED_OUT => {
                "done"
            }
            // One row proves the whole transaction.
            (Entrance::Transaction(companions), "unknown")
                if companions != Companions::None && event == CARRIED_OUT && has_id =>
            {
                "done"
            }
            (_, cell) => cell,
        };
        let case = || format!("{event:?}, {entrance:?} {verb:?} of {}, {reach:?}", E::INFO.layouts[0].table);
        let told = told::<E>(reach, event, entrance, verb).await.with_context(case)?;
        ensure!(told == expected, "{}: told {told:?}, documented {expected:?}", case());
    }
    Ok(())
}

#[tokio::test]
async fn each_caller_is_told_what_the_table_says() -> Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/index-protocol.md");
    let document = fs::read_to_string(path)?;
    let (_, table) = document.split_once("<!-- answers: begin -->").context("the beginning of the table")?;
    let (table, _) = table.split_once("<!-- answers: end -->").context("the end of the table")?;
    let lines = table.lines().filter_map(|line| line.trim().strip_prefix('|')?.strip_suffix('|'));
    let mut lines = lines.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    let verbs = lines.next().context("the names of the verbs")?;
    ensure!(verbs[1..].iter().eq(Verb::ALL.map(Verb::name).iter()), "{verbs:?}");
    let rows: Vec<_> = lines.skip(1).collect();
    ensure!(rows.iter().map(|row| row[0]).eq(ROWS.map(|(title, ..)| title)), "the first column has other answers");
    for (row, (_, event, has_id)) in rows.iter().zip(ROWS) {
        for (verb, cell) in Verb::ALL.into_iter().zip(&row[1..]).filter(|(_, cell)| !cell.is_empty()) {
            for reach in [Reach::Partition, Reach::Store] {
                if has_id {
                    check::<ElsewhereWithId>(reach, event, verb, cell, has_id).await?;
                    check::<BesideWithId>(reach, event, verb, cell, has_id).await?;
                } else {
                    check::<Elsewhere>(reach, event, verb, cell, has_id).await?;
                    check::<Beside>(reach, event, verb, cell, has_id).await?;
                }
            }
        }
    }
    Ok(())
}
