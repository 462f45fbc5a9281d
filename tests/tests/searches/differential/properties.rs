//! Programs of writes and queries of an entity with a property of every type.

use std::{collections::BTreeMap, iter};

use anyhow::Result;
use table_runtime::{ETag, Error, Rows, Stored, TableEntity, Tables, Transaction, types::Opened};
use tests::{
    anything::{Anything, Key, Lent, Literal, Narrow, Part, Query, Source},
    random::Random,
    stores::Store,
};

use super::{Answers, Program, error_text};

/// The entity as another program knows it.
#[derive(TableEntity)]
#[table(name = "Anything")]
#[allow(clippy::struct_field_names, reason = "the property has this name")]
struct More {
    #[partition_key]
    area: String,
    #[row_key]
    name: String,
    more: i32,
}

/// Program of such writes and queries.
pub(crate) struct Properties<const ON_AZURITE: bool> {
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
enum Step {
    One(Write),
    Transaction(Vec<Write>),
    InsertAll(Vec<Anything>),
    UpsertAll(Vec<Anything>),
    RemoveAll(Vec<Key>),
    /// Changes the entity with the key of this one to it, except for one field that depends on the stored entity.
    Modify(Anything),
    ModifyOrInsert(Anything),
    GetOrInsert(Anything),
    Get(Key),
    GetMany(Vec<Key>),
    Query(Query, How),
    /// Reads the page after the last one.
    Next,
}

#[derive(Clone, Debug)]
enum Write {
    Insert(Anything),
    Upsert(Anything),
    Merge(Anything),
    /// Another program sets a property that the entity does not know.
    More(Key, i32),
    Update(Anything, Version),
    Patch(Key, Vec<Literal>),
    /// Patches a version of the entity with the key of this one.
    PatchIf(Anything, Vec<Literal>, Version),
    Delete(Anything, Version),
    Remove(Key),
}

#[derive(Clone, Copy, Debug)]
enum Version {
    /// Version of the stored row.
    Now,
    /// Version of the last read.
    Last,
    /// Version of the first read.
    First,
    /// Version that no row has.
    Other,
}

#[derive(Clone, Copy, Debug)]
enum How {
    All,
    First,
    Count,
    Select,
    ForEach,
    Page(usize),
}

impl<const ON_AZURITE: bool> Program for Properties<ON_AZURITE> {
    fn new(random: &mut Random) -> Self {
        // Azurite orders GUIDs in its own way.
        let mut source = Source::new(random, !ON_AZURITE);
        let mut keys: Vec<_> = (0..12).map(|_| source.key()).collect();
        keys.sort_unstable();
        keys.dedup();
        let first = Step::UpsertAll(keys.into_iter().map(|key| source.entity(key)).collect());
        let others = (0..60).map(|_| step(&mut source));
        Self { steps: iter::once(first).chain(others).collect() }
    }

    fn steps(&self) -> Vec<String> {
        self.steps.iter().map(|step| format!("{step:?}")).collect()
    }

    async fn run(&self, store: &Store) -> Result<Answers> {
        store.tables.create::<Anything>().await?;
        let mut state = State { tables: store.tables.clone(), read: BTreeMap::new(), page: None };
        let mut answers = Answers::new();
        for step in &self.steps {
            answers.push(state.step(step).await.unwrap_or_else(|error| error_text::describe(&error)));
        }
        Ok(answers)
    }
}

fn write(source: &mut Source<'_>, key: Key) -> Write {
    let versions = [Version::Now, Version::Now, Version::Now, Version::Last, Version::First, Version::Other];
    let version = *source.random.pick(&versions);
    let sets = |source: &mut Source<'_>| {
        let count = source.random.below(3);
        let mut set = || {
            let is_required = source.random.chance(30);
            source.literal(is_required, true)
        };
        (0..count).map(|_| set()).collect()
    };
    match source.random.below(20) {
        0..3 => Write::Insert(source.entity(key)),
        3..6 => Write::Upsert(source.entity(key)),
        6..9 => Write::Update(source.entity(key), version),
        9..12 => Write::Patch(key, sets(source)),
        12..14 => Write::PatchIf(source.entity(key), sets(source), version),
        14 => Write::Delete(source.entity(key), version),
        16..18 => Write::Merge(source.entity(key)),
        18..20 => Write::More(key, i32::from(source.random.byte(255))),
        _ => Write::Remove(key),
    }
}

fn step(source: &mut Source<'_>) -> Step {
    let key = source.key();
    let choice = source.random.below(100);
    let many = |source: &mut Source<'_>, count: usize| {
        let area = key.0.clone();
        // A transaction refuses writes to another partition, which some of these are.
        let keys = (0..count).map(|_| match source.key() {
            (area, name) if source.random.chance(3) => (area, name),
            (_, name) => (area.clone(), name),
        });
        let mut keys: Vec<_> = keys.collect();
        // It also refuses two writes to one row.
        if source.random.chance(85) {
            keys.sort_unstable();
            keys.dedup();
            source.random.shuffle(&mut keys);
        }
        keys
    };
    match choice {
        0..29 => Step::One(write(source, key)),
        29..32 => Step::Modify(source.entity(key)),
        32..35 => Step::ModifyOrInsert(source.entity(key)),
        35..38 => Step::GetOrInsert(source.entity(key)),
        38..49 => {
            let count = 1 + source.random.below(4);
            let keys = many(source, count);
            Step::Transaction(keys.into_iter().map(|key| write(source, key)).collect())
        }
        49..60 => {
            let count = source.random.below(6);
            let mut keys = many(source, count);
            keys.sort_unstable();
            keys.dedup();
            let kind = source.random.below(5);
            let mut entities = || keys.iter().cloned().map(|key| source.entity(key)).collect();
            match kind {
                0..2 => Step::InsertAll(entities()),
                2..4 => Step::UpsertAll(entities()),
                _ => Step::RemoveAll(keys),
            }
        }
        60..65 => Step::Get(key),
        65..68 => Step::GetMany(many(source, 3)),
        68..76 => Step::Next,
        _ => {
            let how =
                [How::All, How::First, How::Count, How::Select, How::ForEach, How::Page(1), How::Page(2), How::Page(5)];
            let (mut query, how) = (source.query(), *source.random.pick(&how));
            // Only a query without a filter continues its pages after other steps.
            if matches!(how, How::Page(_)) && source.random.chance(70) {
                query.filter = None;
            }
            Step::Query(query, how)
        }
    }
}

/// Store with the versions that were read from it.
struct State {
    tables: Tables,
    read: BTreeMap<Key, Vec<Stored<Anything>>>,
    page: Option<(Query, usize, String)>,
}

/// Runs `$run!` with the rows of a query, whose type depends on the query.
macro_rules! with_rows {
    ($query:expr, |$rows:ident| $run:expr) => {{
        let query: &Query = $query;
        macro_rules! filtered {
            ($given:expr) => {{
                let given = $given;
                match &query.filter {
                    None => {
                        let $rows = given;
                        $run
                    }
                    Some(condition) => {
                        let $rows = given.filter(|columns| condition.filter(columns));
                        $run
                    }
                }
            }};
        }
        match &query.narrow {
            Narrow::Scan => filtered!(Anything::scan()),
            Narrow::All => filtered!(Anything::by_key(&query.area)),
            Narrow::Prefix(prefix) => filtered!(Anything::by_key(&query.area).starts_with(prefix)),
            Narrow::Range(from, to) => {
                let bounds = (from.as_ref().map(|it| &**it), to.as_ref().map(|it| &**it));
                filtered!(Anything::by_key(&query.area).range(bounds))
            }
        }
    }};
}

impl State {
    async fn step(&mut self, step: &Step) -> Result<String, Error> {
        let tables = self.tables.clone();
        Ok(match step {
            Step::One(write) => self.one(&tables, write).await?,
            Step::Transaction(writes) => self.transaction(&tables, writes).await?,
            Step::InsertAll(entities) => format!("{:?}", tables.insert_all(entities).await?),
            Step::UpsertAll(entities) => format!("{:?}", tables.upsert_all(entities).await?),
            Step::RemoveAll(keys) => {
                let keys: Vec<_> = keys.iter().map(|(area, name)| Anything::key(area, name)).collect();
                format!("{:?}", tables.remove_all(keys).await?)
            }
            Step::Modify(entity) => {
                let key = Anything::key(&entity.area, &entity.name);
                format!("{:?}", tables.modify(key, changed(entity)).await?.as_deref())
            }
            Step::ModifyOrInsert(entity) => format!("{:?}", *tables.modify_or_insert(entity, changed(entity)).await?),
            Step::GetOrInsert(entity) => {
                let (stored, is_new) = tables.get_or_insert(entity).await?;
                let answer = format!("{:?} {is_new}", *stored);
                let key = (entity.area.clone(), entity.name.clone());
                self.read.entry(key).or_default().push(stored);
                answer
            }
            Step::Get(key) => {
                let stored = Anything::key(&key.0, &key.1).get(&tables).await?;
                let exists = Anything::key(&key.0, &key.1).exists(&tables).await?;
                let answer = format!("{:?} {exists}", stored.as_deref());
                self.read.entry(key.clone()).or_default().extend(stored);
                answer
            }
            Step::GetMany(keys) => {
                let found = tables.get_many(keys.iter().map(|(area, name)| Anything::key(area, name))).await?;
                format!("{:?}", found.iter().map(Option::as_deref).collect::<Vec<_>>())
            }
            Step::Query(query, How::Page(size)) => self.next(&tables, query, *size, None).await?,
            Step::Query(query, how) => with_rows!(query, |rows| read(rows, query.take, *how, &tables).await)?,
            Step::Next => match self.page.take() {
                Some((query, size, cursor)) => self.next(&tables, &query, size, Some(&cursor)).await?,
                None => "no page".to_owned(),
            },
        })
    }

    async fn next(
        &mut self,
        tables: &Tables,
        query: &Query,
        size: usize,
        cursor: Option<&str>,
    ) -> Result<String, Error> {
        let mut next = cursor.map(str::to_owned);
        let mut answer = Vec::new();
        loop {
            let (found, then) = with_rows!(query, |rows| page(rows, query.take, size, next.as_deref(), tables).await)?;
            answer.extend(found);
            next = then;
            // With a filter, a store may return a cursor although no further row matches. So all pages are read at once
            // and compared together.
            if query.filter.is_none() || next.is_none() {
                break;
            }
        }
        if query.filter.is_none() {
            answer.push(format!("then {next:?}"));
        }
        self.page = next.map(|next| (query.clone(), size, next));
        Ok(answer.join(", "))
    }

    /// Returns the changed entity with the ETag of a version.
    async fn stored(&mut self, entity: &Anything, version: Version) -> Result<Stored<Anything>, Error> {
        let read = self.read.entry((entity.area.clone(), entity.name.clone())).or_default();
        if matches!(version, Version::Now) {
            read.extend(Anything::key(&entity.area, &entity.name).get(&self.tables).await?);
        }
        let stored = match version {
            Version::Now | Version::Last => read.last(),
            Version::First => read.first(),
            Version::Other => None,
        };
        let Some(stored) = stored else {
            let etag = "W/\"datetime'2010-05-28T00%3A00%3A00.0000001Z'\"".parse::<ETag>();
            return Ok(Stored::new(entity.clone(), etag.expect("an ETag")));
        };
        let mut stored = stored.clone();
        *stored = entity.clone();
        Ok(stored)
    }

    async fn one(&mut self, tables: &Tables, write: &Write) -> Result<String, Error> {
        match write {
            Write::Insert(entity) => tables.insert(entity).await.map(drop)?,
            Write::Upsert(entity) => tables.upsert(entity).await.map(drop)?,
            Write::Merge(entity) => tables.merge(entity).await.map(drop)?,
            Write::More((area, name), more) => {
                tables.patch(More::key(area, name), |row| [row.more.set(*more)]).await?;
            }
            Write::Update(entity, version) => {
                let mut stored = self.stored(entity, *version).await?;
                tables.update(&mut stored).await?;
                // The entity can be updated again.
                tables.update(&mut stored).await?;
            }
            Write::Patch((area, name), sets) => {
                let key = Anything::key(area, name);
                tables.patch(key, |row| sets.iter().map(|set| set.set(row)).collect::<Vec<_>>()).await?;
            }
            Write::PatchIf(entity, sets, version) => {
                let (key, stored) = (Anything::key(&entity.area, &entity.name), self.stored(entity, *version).await?);
                let sets = |row| sets.iter().map(|set| set.set(row)).collect::<Vec<_>>();
                tables.patch_if(key, Stored::etag(&stored), sets).await?;
            }
            Write::Delete(entity, version) => tables.delete(self.stored(entity, *version).await?).await?,
            Write::Remove((area, name)) => {
                return Ok(format!("removed {}", tables.remove(Anything::key(area, name)).await?));
            }
        }
        Ok("done".to_owned())
    }

    async fn transaction(&mut self, tables: &Tables, writes: &[Write]) -> Result<String, Error> {
        let mut stored = Vec::new();
        for write in writes {
            stored.push(match write {
                Write::Update(entity, version)
                | Write::PatchIf(entity, _, version)
                | Write::Delete(entity, version) => Some(self.stored(entity, *version).await?),
                _ => None,
            });
        }
        let mut transaction: Transaction<'_> = tables.transaction();
        for (write, stored) in writes.iter().zip(&mut stored) {
            transaction = match (write, stored) {
                (Write::Update(..), Some(stored)) => transaction.update(stored),
                (Write::Delete(..), Some(stored)) => transaction.delete(stored),
                (Write::Insert(entity), _) => transaction.insert(entity),
                (Write::Upsert(entity), _) => transaction.upsert(entity),
                (Write::Merge(entity), _) => transaction.merge(entity),
                (Write::More((area, name), more), _) => {
                    transaction.patch(More::key(area, name), |row| [row.more.set(*more)])
                }
                (Write::Patch((area, name), sets), _) => transaction
                    .patch(Anything::key(area, name), |row| sets.iter().map(|set| set.set(row)).collect::<Vec<_>>()),
                (Write::PatchIf(entity, sets, _), Some(stored)) => {
                    let key = Anything::key(&entity.area, &entity.name);
                    let sets = |row| sets.iter().map(|set| set.set(row)).collect::<Vec<_>>();
                    transaction.patch_if(key, Stored::etag(stored), sets)
                }
                (Write::Remove((area, name)), _) => transaction.remove(Anything::key(area, name)),
                (Write::Update(..) | Write::PatchIf(..) | Write::Delete(..), None) => transaction,
            };
        }
        let etags = transaction.commit().await?;
        Ok(format!("{:?}", etags.iter().map(Option::is_some).collect::<Vec<_>>()))
    }
}

/// Returns the change to an entity, except for a number that depends on the stored entity.
fn changed(to: &Anything) -> impl FnMut(&mut Anything) + Send {
    move |entity| *entity = Anything { int: entity.int.wrapping_add(1), ..to.clone() }
}

fn taken<P, A>(rows: Rows<Anything, P, A>, take: Option<usize>) -> Rows<Anything, P, A> {
    match take {
        Some(take) => rows.take(take),
        None => rows,
    }
}

async fn read<P, A: Opened>(
    rows: Rows<Anything, P, A>,
    take: Option<usize>,
    how: How,
    tables: &Tables,
) -> Result<String, Error> {
    let rows = taken(rows, take);
    Ok(match how {
        How::First => format!("{:?}", rows.first(tables).await?.as_deref()),
        How::Count => format!("{}", rows.count(tables).await?),
        How::Select => format!("{:?}", rows.select::<Part>().all(tables).await?),
        How::ForEach => {
            let mut found = Vec::new();
            rows.select::<Lent<'_>>().for_each(tables, |lent| found.push(format!("{lent:?}"))).await?;
            found.join("\n")
        }
        How::All | How::Page(_) => format!("{:?}", plain(&rows.all(tables).await?)),
    })
}

async fn page<P, A: Opened>(
    rows: Rows<Anything, P, A>,
    take: Option<usize>,
    size: usize,
    cursor: Option<&str>,
    tables: &Tables,
) -> Result<(Vec<String>, Option<String>), Error> {
    let page = taken(rows, take).page(tables, size, cursor).await?;
    Ok((plain(&page.entities).iter().map(|entity| format!("{entity:?}")).collect(), page.next))
}

fn plain(found: &[Stored<Anything>]) -> Vec<&Anything> {
    found.iter().map(|stored| &**stored).collect()
}
