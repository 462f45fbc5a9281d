//! Properties that the struct does not know: an old and a new version of a program write the same rows in turn.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use table_runtime::{
    Error, Point, Stored, TableEntity, Tables, Ticks, Value,
    backend::{Action, BackendExt, BoxFuture, IfMatch},
    row::{Properties, ValueRef},
};
use tests::stores::{Kind, Store};
use time::macros::datetime;

use crate::fixtures::findings;

crate::conformance! {
    versions_without_a_kind_lose_nothing
    versions_with_a_kind_and_a_write_id_lose_nothing
    versions_with_a_same_partition_index_lose_nothing
    versions_with_a_unique_same_partition_index_lose_nothing
    versions_with_a_same_partition_include_lose_nothing
    versions_with_a_same_partition_copy_lose_nothing
    versions_with_a_list_lose_nothing
    versions_with_a_same_table_index_lose_nothing
    versions_with_a_cross_partition_index_lose_nothing
    versions_with_a_unique_cross_partition_index_lose_nothing
    versions_with_a_cross_partition_include_lose_nothing
    versions_with_a_cross_partition_copy_lose_nothing
    every_way_of_reading_keeps_unknown_properties
    upsert_and_insert_remove_unknown_properties
    a_merge_keeps_unknown_properties_and_removes_what_is_none
    a_merge_of_another_kind_is_refused
    a_merge_into_a_slice_creates_it
    jobs_keep_unknown_properties
    unknown_properties_are_no_difference_of_a_copy
    an_unknown_property_that_cannot_be_written_fails_the_update
    denied_properties_are_an_error_of_every_read
}

/// One of the two versions of an entity. Each has a property that the other one does not know.
trait Version: TableEntity + Clone + PartialEq + std::fmt::Debug {
    fn new(value: &str, own: Option<&str>) -> Self;
    fn point() -> Point<Self>;
    /// Returns the number of entities that the index finds; `None` if there is no index.
    fn found<'t>(tables: &'t Tables, value: &'t str) -> BoxFuture<'t, table_runtime::Result<Option<usize>>>;
    /// Updates the entity in a transaction. Returns false if it cannot take part in one.
    fn update_in_transaction<'t>(
        tables: &'t Tables,
        stored: &'t mut Stored<Self>,
    ) -> BoxFuture<'t, table_runtime::Result<bool>>;
    /// Merges the entity in a transaction. Returns false if it cannot take part in one.
    fn merge_in_transaction<'t>(tables: &'t Tables, entity: &'t Self) -> BoxFuture<'t, table_runtime::Result<bool>>;
}

/// Whether rows of an index are copies, which hold only what their last writer knew.
const COPIES: bool = true;
const NO_COPIES: bool = false;

macro_rules! versions {
    ($($case:ident $module:ident [$($table:tt)*] [$(#[$index:meta])*] $reach:ident $copies:ident
        $(|$tables:ident, $value:ident| $found:expr)?;)+) => {$(
        mod $module {
            use super::{BoxFuture, Point, Stored, TableEntity, Tables, Version};

            #[derive(TableEntity, Clone, Debug, PartialEq)]
            #[table(name = "Versions" $($table)*)]
            pub(super) struct Old {
                #[partition_key]
                group: String,
                #[row_key]
                id: u32,
                $(#[$index])*
                value: String,
                size: u32,
                gone: Option<String>,
            }

            #[derive(TableEntity, Clone, Debug, PartialEq)]
            #[table(name = "Versions" $($table)*)]
            pub(super) struct New {
                #[partition_key]
                group: String,
                #[row_key]
                id: u32,
                added: Option<String>,
                $(#[$index])*
                value: String,
                size: u32,
            }

            versions!(@version Old gone $reach $(|$tables, $value| $found)?);
            versions!(@version New added $reach $(|$tables, $value| $found)?);
        }

        async fn $case(store: &Store) -> Result<()> {
            take_turns::<$module::Old, $module::New>(store, $copies).await
        }
    )+};
    (@version $name:ident $own:ident $reach:ident $(|$tables:ident, $value:ident| $found:expr)?) => {
        impl Version for $name {
            fn new(value: &str, own: Option<&str>) -> Self {
                let size = u32::try_from(value.len()).expect("a short text");
                Self { group: "a".into(), id: 1, value: value.into(), size, $own: own.map(Into::into) }
            }

            fn point() -> Point<Self> {
                Self::key("a", 1)
            }

            fn found<'t>(tables: &'t Tables, value: &'t str) -> BoxFuture<'t, table_runtime::Result<Option<usize>>> {
                let _ = (tables, value);
                $({
                    type Entity = $name;
                    let ($tables, $value) = (tables, value);
                    return Box::pin(async move { Ok(Some($found)) });
                })?
                #[allow(unreachable_code, reason = "if there is an index")]
                Box::pin(async { Ok(None) })
            }

            versions!(@transactions $reach);
        }
    };
    (@transactions here) => {
        fn update_in_transaction<'t>(
            tables: &'t Tables,
            stored: &'t mut Stored<Self>,
        ) -> BoxFuture<'t, table_runtime::Result<bool>> {
            Box::pin(async move { tables.transaction().update(stored).commit().await.map(|_| true) })
        }

        fn merge_in_transaction<'t>(
            tables: &'t Tables,
            entity: &'t Self,
        ) -> BoxFuture<'t, table_runtime::Result<bool>> {
            Box::pin(async move { tables.transaction().merge(entity).commit().await.map(|_| true) })
        }
    };
    (@transactions apart) => {
        fn update_in_transaction<'t>(
            _: &'t Tables,
            _: &'t mut Stored<Self>,
        ) -> BoxFuture<'t, table_runtime::Result<bool>> {
            Box::pin(async { Ok(false) })
        }

        fn merge_in_transaction<'t>(_: &'t Tables, _: &'t Self) -> BoxFuture<'t, table_runtime::Result<bool>> {
            Box::pin(async { Ok(false) })
        }
    };
}

versions! {
    versions_without_a_kind_lose_nothing plain [] [] here NO_COPIES;
    versions_with_a_kind_and_a_write_id_lose_nothing kind [, kind = "Version", write_id] [] here NO_COPIES;
    versions_with_a_same_partition_index_lose_nothing pointer_here [, kind = "Version"]
        [#[index(value, same_partition)]] here NO_COPIES
        |tables, value| Entity::by_value("a").eq(value).all(tables).await?.len();
    versions_with_a_unique_same_partition_index_lose_nothing unique_here [, kind = "Version"]
        [#[index(value, same_partition, unique)]] here NO_COPIES
        |tables, value| usize::from(Entity::by_value("a").eq(value).get(tables).await?.is_some());
    versions_with_a_same_partition_include_lose_nothing include_here [, kind = "Version", write_id]
        [#[index(value, same_partition, include(size))]] here NO_COPIES
        |tables, value| Entity::by_value("a").eq(value).all(tables).await?.len();
    versions_with_a_same_partition_copy_lose_nothing copy_here [, kind = "Version"]
        [#[index(value, same_partition, copy)]] here COPIES
        |tables, value| Entity::by_value("a").eq(value).all(tables).await?.len();
    versions_with_a_list_lose_nothing list_here [, kind = "Version"]
        [#[index(value, same_partition, list)]] here NO_COPIES
        |tables, value| Entity::by_value("a").eq(value).all(tables).await?.len();
    versions_with_a_same_table_index_lose_nothing same_table [, kind = "Version"]
        [#[index(value, same_table)]] apart NO_COPIES
        |tables, value| Entity::by_value(value).all(tables).await?.len();
    versions_with_a_cross_partition_index_lose_nothing pointer_apart [, kind = "Version"]
        [#[index(value)]] apart NO_COPIES
        |tables, value| Entity::by_value(value).all(tables).await?.len();
    versions_with_a_unique_cross_partition_index_lose_nothing unique_apart [, kind = "Version", write_id]
        [#[index(value, unique)]] apart NO_COPIES
        |tables, value| usize::from(Entity::by_value(value).get(tables).await?.is_some());
    versions_with_a_cross_partition_include_lose_nothing include_apart [, kind = "Version"]
        [#[index(value, include(size))]] apart NO_COPIES
        |tables, value| Entity::by_value(value).all(tables).await?.len();
    versions_with_a_cross_partition_copy_lose_nothing copy_apart [, kind = "Version"]
        [#[index(value, copy)]] apart COPIES
        |tables, value| Entity::by_value(value).all(tables).await?.len();
}

/// Write of one of the two programs.
#[derive(Clone, Copy, Debug)]
enum Turn {
    Update,
    /// Update of an entity whose row was not read.
    Rewrapped,
    /// Two updates of one `Stored`, whose own property is cleared and then set.
    Twice,
    Merge,
    UpdateInTransaction,
    RewrappedInTransaction,
    MergeInTransaction,
}

const TURNS: [Turn; 7] = [
    Turn::Update,
    Turn::Rewrapped,
    Turn::Twice,
    Turn::Merge,
    Turn::UpdateInTransaction,
    Turn::RewrappedInTransaction,
    Turn::MergeInTransaction,
];

/// Writes the entity with new values. Returns false if that is impossible in this way.
async fn write<V: Version>(tables: &Tables, turn: Turn, value: &str, own: Option<&str>) -> Result<bool> {
    let new = V::new(value, own);
    let read = async || V::point().get(tables).await?.context("the row");
    match turn {
        Turn::Update | Turn::Rewrapped | Turn::UpdateInTransaction | Turn::RewrappedInTransaction => {
            let mut stored = read().await?;
            if matches!(turn, Turn::Rewrapped | Turn::RewrappedInTransaction) {
                stored = Stored::new(new, Stored::etag(&stored).clone());
            } else {
                *stored = new;
            }
            if matches!(turn, Turn::UpdateInTransaction | Turn::RewrappedInTransaction) {
                return Ok(V::update_in_transaction(tables, &mut stored).await?);
            }
            tables.update(&mut stored).await?;
        }
        Turn::Twice => {
            let first = read().await?;
            let mut stored = Stored::new(V::new(&format!("{value}, first"), None), Stored::etag(&first).clone());
            tables.update(&mut stored).await?;
            *stored = new;
            tables.update(&mut stored).await?;
        }
        Turn::Merge => {
            let etag = tables.merge(&new).await?;
            ensure!(*Stored::etag(&read().await?) == etag, "another version");
        }
        Turn::MergeInTransaction => return Ok(V::merge_in_transaction(tables, &new).await?),
    }
    Ok(true)
}

/// What the row has to hold.
#[derive(Debug, Default)]
struct Expected {
    value: String,
    gone: Option<String>,
    added: Option<String>,
}

impl Expected {
    /// Checks the row, what both programs read, and that their indexes have no fault.
    async fn check<O: Version, N: Version>(&self, store: &Store, has_copies: bool) -> Result<()> {
        let tables = &store.tables;
        let (old, new) = (O::point().get(tables).await?, N::point().get(tables).await?);
        ensure!(old.as_deref() == Some(&O::new(&self.value, self.gone.as_deref())), "{old:?}, not {self:?}");
        ensure!(new.as_deref() == Some(&N::new(&self.value, self.added.as_deref())), "{new:?}, not {self:?}");
        let rows = store.rows("Versions").await?;
        let row = rows.iter().find(|row| row.row_key.contains("0000000001") && row.properties.get("Size").is_some());
        let row = row.context("the entity's row")?;
        let text = |name| row.properties.get(name).map(table_runtime::row::ValueRef::to_value);
        ensure!(text("Gone") == self.gone.clone().map(Value::String), "{row:?}, not {self:?}");
        ensure!(text("Added") == self.added.clone().map(Value::String), "{row:?}, not {self:?}");
        for found in [O::found(tables, &self.value).await?, N::found(tables, &self.value).await?] {
            ensure!(found.is_none_or(|found| found == 1), "the index finds {found:?}");
        }
        // A copy that the one program wrote lacks what the other one knows.
        if !has_copies {
            ensure!(
                findings::<O>(store).await?.is_empty() && findings::<N>(store).await?.is_empty(),
                "there are findings"
            );
        }
        Ok(())
    }
}

/// Runs the writes of both programs in every order.
async fn take_turns<O: Version, N: Version>(store: &Store, has_copies: bool) -> Result<()> {
    let tables = &store.tables;
    tables.create::<N>().await?;
    let length = if matches!(store.kind, Kind::Memory | Kind::Plain) { 2 } else { 1 };
    let count = (TURNS.len() * 2).pow(length);
    for number in 0..count {
        tables.upsert(&O::new("first", None)).await?;
        let mut expected = Expected { value: "first".into(), ..Expected::default() };
        let mut rest = number;
        // At last, each program writes once more what the other one has to keep.
        let mut turns: Vec<_> = (0..length)
            .map(|_| {
                let turn = rest % (TURNS.len() * 2);
                rest /= TURNS.len() * 2;
                (TURNS[turn / 2], turn.is_multiple_of(2))
            })
            .collect();
        let last = turns.last().map_or(Turn::Update, |(turn, _)| *turn);
        turns.extend([(Turn::Update, true), (Turn::Update, false), (last, true), (last, false)]);
        for (at, (turn, is_old)) in turns.iter().enumerate() {
            let (value, own) = (format!("{number} {at}"), format!("own {number} {at}"));
            let own = (at % 4 != 3).then_some(own);
            let wrote = if *is_old {
                write::<O>(tables, *turn, &value, own.as_deref()).await
            } else {
                write::<N>(tables, *turn, &value, own.as_deref()).await
            };
            if wrote.with_context(|| format!("{at} of {turns:?}"))? {
                expected.value = value;
                *(if *is_old { &mut expected.gone } else { &mut expected.added }) = own;
            }
        }
        expected.check::<O, N>(store, has_copies).await.with_context(|| format!("after {turns:?}"))?;
    }
    Ok(())
}

/// The row as this program knows it.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Parcels", allow_scan)]
struct Parcel {
    #[partition_key]
    depot: String,
    #[row_key]
    number: u32,
    #[index(label, same_partition, unique)]
    #[index(labels, same_partition, list)]
    #[index(tag, copy)]
    label: String,
    #[index(city)]
    city: String,
    note: Option<String>,
}

fn parcel(number: u32) -> Parcel {
    Parcel { depot: "d".into(), number, label: format!("l{number}"), city: "Bonn".into(), note: Some("n".into()) }
}

/// A property of each type, as another program may write them.
fn foreign() -> Properties {
    let mut properties = Properties::default();
    properties.push("Text", ValueRef::String("ä"));
    properties.push("Bytes", ValueRef::Binary(&[0, 255]));
    properties.push("Flag", ValueRef::Boolean(true));
    properties.push("Int", ValueRef::Int32(-1));
    properties.push("Long", ValueRef::Int64(1 << 40));
    properties.push("Double", ValueRef::Double(0.5));
    properties.push("Guid", ValueRef::Guid(table_runtime::Guid::from_bytes([7; 16])));
    properties.push("Time", ValueRef::DateTime(Ticks::UNIX_EPOCH));
    // The entity has no kind. That of another program is kept like any other property.
    properties.push("EntityType", ValueRef::String("Parcel"));
    // No attempt of an insert.
    properties.push("IndexPending", ValueRef::String("later"));
    properties
}

async fn add_foreign(store: &Store, number: u32) -> Result<()> {
    let row_key = format!("number-{number:010}");
    Ok(store.write("Parcels", ("d", &row_key), Action::Merge(foreign(), IfMatch::Any)).await?)
}

/// Returns the properties of the row that the struct does not know.
async fn unknown(store: &Store, number: u32) -> Result<BTreeMap<String, Value>> {
    let row = store.backend.get("Parcels", "d", &format!("number-{number:010}"), None).await?.context("the row")?;
    let known = ["Depot", "Number", "Label", "City", "Note"];
    let unknown = row.properties.iter().filter(|(name, _)| !known.contains(name));
    Ok(unknown.map(|(name, value)| (name.to_owned(), value.to_value())).collect())
}

fn all_foreign() -> BTreeMap<String, Value> {
    foreign().iter().map(|(name, value)| (name.to_owned(), value.to_value())).collect()
}

async fn parcels(store: &Store) -> Result<()> {
    store.tables.create::<Parcel>().await?;
    store.tables.insert(&parcel(1)).await?;
    add_foreign(store, 1).await
}

async fn every_way_of_reading_keeps_unknown_properties(store: &Store) -> Result<()> {
    let tables = &store.tables;
    parcels(store).await?;
    let key = || Parcel::key("d", 1);
    let mut read: Vec<(&str, Stored<Parcel>)> = Vec::new();
    for way in 0..9 {
        let (name, found) = match way {
            0 => ("get", key().get(tables).await?),
            1 => ("get_many", tables.get_many([key()]).await?.remove(0)),
            2 => ("all", Parcel::by_key("d").all(tables).await?.pop()),
            3 => ("first", Parcel::by_key("d").filter(|parcel| parcel.city.eq("Bonn")).first(tables).await?),
            4 => ("stream", Parcel::by_key("d").stream(tables).try_next().await?),
            5 => ("page", Parcel::by_key("d").page(tables, 1, None).await?.entities.pop()),
            6 => ("a unique index", Parcel::by_label("d").eq("l1").get(tables).await?),
            7 => ("a list", Parcel::by_labels("d").eq("l1").all(tables).await?.pop()),
            _ => ("another partition", Parcel::by_city("Bonn").all(tables).await?.pop()),
        };
        let mut found = found.context(name)?;
        found.note = Some(name.to_owned());
        tables.update(&mut found).await?;
        assert_eq!(unknown(store, 1).await?, all_foreign(), "{name}");
        read.push((name, found));
    }
    let copy = Parcel::by_tag("l1").first(tables).await?.context("a copy")?;
    let mut fetched = copy.fetch(tables).await?.context("the entity")?;
    fetched.note = None;
    tables.update(&mut fetched).await?;
    let mut scanned = Parcel::scan().all(tables).await?.pop().context("a scan")?;
    scanned.note = Some("x".into());
    tables.update(&mut scanned).await?;
    assert_eq!(unknown(store, 1).await?, all_foreign());
    // Of the earlier reads, each was outdated by the next.
    for (name, mut stale) in read {
        assert!(matches!(tables.update(&mut stale).await, Err(Error::ConditionNotMet(_))), "{name}");
    }
    // A clone carries them too.
    let mut clone = scanned.clone();
    clone.city = "Köln".into();
    tables.update(&mut clone).await?;
    assert_eq!(unknown(store, 1).await?, all_foreign());
    assert_eq!(findings::<Parcel>(store).await?, []);
    Ok(())
}

async fn upsert_and_insert_remove_unknown_properties(store: &Store) -> Result<()> {
    let tables = &store.tables;
    parcels(store).await?;
    tables.upsert(&parcel(1)).await?;
    assert_eq!(unknown(store, 1).await?, BTreeMap::new());
    add_foreign(store, 1).await?;
    tables.upsert_all([parcel(1)]).await?;
    assert_eq!(unknown(store, 1).await?, BTreeMap::new());
    add_foreign(store, 1).await?;
    assert!(tables.remove(Parcel::key("d", 1)).await?);
    tables.insert(&parcel(1)).await?;
    assert_eq!(unknown(store, 1).await?, BTreeMap::new());
    assert_eq!(findings::<Parcel>(store).await?, []);
    Ok(())
}

async fn a_merge_keeps_unknown_properties_and_removes_what_is_none(store: &Store) -> Result<()> {
    let tables = &store.tables;
    parcels(store).await?;
    for merged in [Parcel { note: None, ..parcel(1) }, Parcel { city: "Köln".into(), label: "x".into(), ..parcel(1) }]
    {
        let etag = tables.merge(&merged).await?;
        let found = Parcel::key("d", 1).get(tables).await?.context("the row")?;
        assert_eq!((&found, Stored::etag(&found)), (&Stored::new(merged, etag.clone()), &etag));
        assert_eq!(unknown(store, 1).await?, all_foreign());
    }
    tables.merge(&parcel(2)).await?;
    assert_eq!(Parcel::key("d", 2).get(tables).await?.as_deref(), Some(&parcel(2)));
    // The label belongs to another parcel.
    let error = tables.merge(&Parcel { label: "x".into(), ..parcel(2) }).await.unwrap_err();
    assert!(matches!(&error, Error::UniqueViolation(error) if error.index == "label"), "{error}");
    assert_eq!(unknown(store, 1).await?, all_foreign());
    assert_eq!(findings::<Parcel>(store).await?, []);
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Kinds", kind)]
struct Left {
    #[partition_key]
    group: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Kinds", kind)]
struct Right {
    #[partition_key]
    group: String,
    #[row_key]
    id: u32,
}

async fn a_merge_of_another_kind_is_refused(store: &Store) -> Result<()> {
    let tables = &store.tables;
    store.backend.create_table("Kinds").await?;
    tables.insert(&Left { group: "g".into(), id: 1 }).await?;
    let right = Right { group: "g".into(), id: 1 };
    assert!(matches!(tables.merge(&right).await, Err(Error::AlreadyExists(_))));
    assert!(matches!(tables.transaction().merge(&right).commit().await, Err(Error::AlreadyExists(_))));
    assert!(Left::key("g", 1).get(tables).await?.is_some());
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Lines", slice = month(at))]
struct Line {
    #[partition_key]
    of: String,
    #[row_key(time)]
    at: time::OffsetDateTime,
    text: Option<String>,
}

async fn a_merge_into_a_slice_creates_it(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let line =
        |text: Option<&str>| Line { of: "a".into(), at: datetime!(2010-05-28 09:00 UTC), text: text.map(Into::into) };
    let etag = tables.merge(&line(Some("x"))).await?;
    let rows = store.rows("Lines201005").await?;
    let mut properties = Properties::default();
    properties.push("More", ValueRef::Int32(7));
    store.write("Lines201005", ("a", &rows[0].row_key), Action::Merge(properties, IfMatch::Any)).await?;
    // The ETag is that of an earlier version.
    let mut stored = Stored::new(line(None), etag);
    assert!(matches!(tables.update(&mut stored).await, Err(Error::ConditionNotMet(_))));
    tables.merge(&line(None)).await?;
    let read = Line::by_key("a").first(tables).await?.context("the line")?;
    assert_eq!(*read, line(None));
    let mut stored = Stored::new(line(Some("y")), Stored::etag(&read).clone());
    tables.update(&mut stored).await?;
    tables.transaction().merge(&line(Some("z"))).commit().await?;
    let row = &store.rows("Lines201005").await?[0];
    assert_eq!(row.properties.get("More"), Some(ValueRef::Int32(7)));
    assert_eq!(row.properties.get("Text"), Some(ValueRef::String("z")));
    Ok(())
}

async fn jobs_keep_unknown_properties(store: &Store) -> Result<()> {
    let tables = &store.tables;
    parcels(store).await?;
    let row_keys: Vec<_> = store.rows("Parcels").await?.into_iter().map(|row| row.row_key).collect();
    for row_key in row_keys.iter().filter(|row_key| !row_key.starts_with("number-")) {
        store.write("Parcels", ("d", row_key), Action::Delete(IfMatch::Any)).await?;
    }
    assert!(tables.repair::<Parcel>().await?.left.is_empty());
    for index in ["label", "labels", "tag", "city"] {
        tables.backfill::<Parcel>(index).await?;
    }
    assert_eq!(unknown(store, 1).await?, all_foreign());
    // A writer that wants the value of another one fences that one.
    tables.insert(&parcel(2)).await?;
    assert!(tables.merge(&Parcel { label: "l1".into(), ..parcel(2) }).await.is_err());
    assert_eq!(unknown(store, 1).await?, all_foreign());
    assert_eq!(findings::<Parcel>(store).await?, []);
    Ok(())
}

async fn unknown_properties_are_no_difference_of_a_copy(store: &Store) -> Result<()> {
    let tables = &store.tables;
    parcels(store).await?;
    // A newer program copies what it knows.
    for row in store.rows("ParcelsByTag").await? {
        store.write("ParcelsByTag", (&row.partition_key, &row.row_key), Action::Merge(foreign(), IfMatch::Any)).await?;
    }
    assert_eq!(findings::<Parcel>(store).await?, []);
    assert_eq!(Parcel::by_tag("l1").first(tables).await?.as_deref(), Some(&parcel(1)));
    // A copy that differs in what the struct knows is still found.
    for row in store.rows("ParcelsByTag").await? {
        let mut properties = Properties::default();
        properties.push("City", ValueRef::String("Ulm"));
        store
            .write("ParcelsByTag", (&row.partition_key, &row.row_key), Action::Merge(properties, IfMatch::Any))
            .await?;
    }
    assert_eq!(findings::<Parcel>(store).await?.len(), 1);
    Ok(())
}

async fn an_unknown_property_that_cannot_be_written_fails_the_update(store: &Store) -> Result<()> {
    let tables = &store.tables;
    store.backend.create_table("Bare").await?;
    tables.insert(&Bare { id: "1".into(), text: None }).await?;
    // Together with what the struct adds, the row has too many properties.
    let mut properties = Properties::default();
    for number in 0..252 {
        properties.push(&format!("P{number}"), ValueRef::Int32(number));
    }
    for chunk in 0..3 {
        let some: Properties =
            properties.iter().skip(chunk * 84).take(84).map(|(name, value)| (name, value.to_value())).collect();
        store.write("Bare", ("all", "1"), Action::Merge(some, IfMatch::Any)).await?;
    }
    let mut stored = Bare::key("1").get(tables).await?.context("the row")?;
    tables.update(&mut stored).await?;
    stored.text = Some("x".into());
    let error = tables.update(&mut stored).await.expect_err("253 properties");
    assert!(matches!(&error, Error::Limit(error) if error.found.contains("253")), "{error}");
    stored.text = None;
    tables.update(&mut stored).await?;
    let row = store.backend.get("Bare", "all", "1", None).await?.context("the row")?;
    assert_eq!(row.properties.iter().count(), 252);
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Bare", partition = "all")]
struct Bare {
    #[row_key]
    id: String,
    text: Option<String>,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Parcels", deny_unknown)]
struct StrictParcel {
    #[partition_key]
    depot: String,
    #[row_key(prefix = "number-")]
    number: u32,
    label: String,
    city: String,
    note: Option<String>,
}

async fn denied_properties_are_an_error_of_every_read(store: &Store) -> Result<()> {
    let tables = &store.tables;
    store.tables.create::<Parcel>().await?;
    tables.insert(&parcel(1)).await?;
    let key = || StrictParcel::key("d", 1);
    assert!(key().get(tables).await?.is_some());
    let is_denied = |error: Error| {
        let Error::UnknownProperties(error) = &error else { panic!("{error}") };
        assert_eq!((error.row.row_key.as_str(), error.properties.len()), ("number-0000000001", 10), "{error}");
        assert!(error.to_string().contains("Text") && error.to_string().contains("deny_unknown"), "{error}");
    };
    let strict = Stored::into_inner(key().get(tables).await?.context("the row")?);
    add_foreign(store, 1).await?;
    is_denied(key().get(tables).await.expect_err("get"));
    is_denied(StrictParcel::by_key("d").range(1..=1).all(tables).await.expect_err("all"));
    is_denied(tables.merge(&strict).await.expect_err("merge"));
    let row = store.backend.get("Parcels", "d", "number-0000000001", None).await?.context("the row")?;
    is_denied(tables.update(&mut Stored::new(strict.clone(), row.etag)).await.expect_err("update"));
    // A write that does not read the row replaces it.
    tables.upsert(&strict).await?;
    assert_eq!(key().get(tables).await?.as_deref(), Some(&strict));
    Ok(())
}
