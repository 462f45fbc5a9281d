//! Entities that differ only in their indexes, and the guarantees that each of them gives its readers.

use std::{collections::BTreeMap, fmt};

use anyhow::{Context, Result, ensure};
use table_runtime::{
    ETag, Error, Holds, LayoutInfo, Scope, Stored, TableEntity, Tables,
    backend::{Backend, Reach},
};

use crate::plain::Plain;

/// The fields of an item without its partition, which is always `a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fields {
    /// The row key.
    pub id: u32,
    /// The value of the index.
    pub value: u32,
    /// The value of the second index, if there is one.
    pub other: u32,
    /// The property that an `include` holds.
    pub note: u32,
    /// A property that only copies hold.
    pub likes: u32,
}

impl Fields {
    /// Returns an item with this key and these values.
    pub const fn new(id: u32, value: u32, other: u32) -> Self {
        Self { id, value, other, note: 0, likes: 0 }
    }
}

/// The values that items have in the tests.
pub const VALUES: std::ops::Range<u32> = 1..5;

/// A write of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// An insert of a new item.
    Insert(Fields),
    /// An upsert of an item.
    Upsert(Fields),
    /// An update of both values of an item that is read first.
    Update(u32, u32, u32),
    /// An update of the note of an item that is read first.
    Note(u32, u32),
    /// A deletion of an item that is read first.
    Delete(u32),
}

/// An entity with one index, or two.
pub trait Item: TableEntity + Clone + fmt::Debug + 'static {
    /// True if an item can be patched, so if no index copies the whole item.
    const IS_PATCHED: bool;
    /// True if items can be written in transactions.
    const HAS_TRANSACTIONS: bool;

    /// Returns the item with these fields.
    fn new(fields: Fields) -> Self;

    /// Returns the fields.
    fn fields(&self) -> Fields;

    /// Reads the item with this key.
    fn get(tables: &Tables, id: u32) -> impl Future<Output = table_runtime::Result<Option<Stored<Self>>>>;

    /// Reads all items in the order of their keys.
    fn all(tables: &Tables) -> impl Future<Output = table_runtime::Result<Vec<Fields>>>;

    /// Finds the items with a value by the `index`th index, counted from 1, in the order of their keys.
    fn find(tables: &Tables, index: usize, value: u32) -> impl Future<Output = table_runtime::Result<Vec<Fields>>>;

    /// Sets the likes. Does nothing if items [cannot be patched](Self::IS_PATCHED).
    fn patch(tables: &Tables, id: u32, likes: u32) -> impl Future<Output = table_runtime::Result<()>>;

    /// Sets the likes of the item in this version. Does nothing if items [cannot be patched](Self::IS_PATCHED).
    fn patch_if(tables: &Tables, id: u32, etag: &ETag, likes: u32) -> impl Future<Output = table_runtime::Result<()>>;

    /// Reads the item with this key, changes it and writes it back.
    fn modify(
        tables: &Tables,
        id: u32,
        change: impl FnMut(&mut Self) + Send,
    ) -> impl Future<Output = table_runtime::Result<Option<Stored<Self>>>>;

    /// Removes the item with this key.
    fn remove(tables: &Tables, id: u32) -> impl Future<Output = table_runtime::Result<bool>>;

    /// Removes the items with these keys in bulk.
    fn remove_all(tables: &Tables, ids: [u32; 2]) -> impl Future<Output = table_runtime::Result<()>>;

    /// Writes in one transaction. Returns false, and writes nothing, if a write changes an item that does not exist, or if
    /// items [have no transactions](Self::HAS_TRANSACTIONS).
    fn transact(tables: &Tables, writes: [Write; 2]) -> impl Future<Output = table_runtime::Result<bool>>;

    /// Inserts an item with a struct that has none of the indexes.
    fn insert_bare(tables: &Tables, fields: Fields) -> impl Future<Output = table_runtime::Result<()>>;

    /// Changes the note of an item with a struct that has none of the indexes. Returns false if it finds no such item.
    fn note_bare(tables: &Tables, id: u32, note: u32) -> impl Future<Output = table_runtime::Result<bool>>;

    /// Sets a property of the item that only another program knows.
    fn set_extra(tables: &Tables, id: u32) -> impl Future<Output = table_runtime::Result<()>>;

    /// Checks whether the item has the property that only another program knows.
    fn has_extra(tables: &Tables, id: u32) -> impl Future<Output = table_runtime::Result<bool>>;
}

macro_rules! patch {
    (patched $tables:ident $id:ident $likes:ident) => {
        $tables.patch(Item::key("a", $id), |item| [item.likes.set($likes)]).await.map(drop)
    };
    (patched $tables:ident $id:ident $etag:ident $likes:ident) => {
        $tables.patch_if(Item::key("a", $id), $etag, |item| [item.likes.set($likes)]).await.map(drop)
    };
    (copied $tables:ident $id:ident $likes:ident) => {{
        let _ = ($tables, $id, $likes);
        Ok(())
    }};
    (copied $tables:ident $id:ident $etag:ident $likes:ident) => {{
        let _ = ($tables, $id, $etag, $likes);
        Ok(())
    }};
}

macro_rules! is_patched {
    (patched) => {
        true
    };
    (copied) => {
        false
    };
}

macro_rules! has_transactions {
    (here) => {
        true
    };
    (apart) => {
        false
    };
}

macro_rules! transact {
    (here $tables:ident $writes:ident) => {{
        let mut read = Vec::new();
        for write in $writes {
            let (super::Write::Update(id, ..) | super::Write::Note(id, _) | super::Write::Delete(id)) = write else {
                read.push(None);
                continue;
            };
            let Some(mut stored) = <Item as super::Item>::get($tables, id).await? else { return Ok(false) };
            let fields = super::Item::fields(&*stored);
            match write {
                super::Write::Update(_, value, other) => {
                    *stored = super::Item::new(Fields { value, other, note: value, ..fields });
                }
                super::Write::Note(_, note) => *stored = super::Item::new(Fields { note, ..fields }),
                _ => {}
            }
            read.push(Some(stored));
        }
        let mut transaction = $tables.transaction();
        for (write, stored) in $writes.into_iter().zip(&mut read) {
            transaction = match (write, stored) {
                (super::Write::Insert(fields), _) => transaction.insert(&<Item as super::Item>::new(fields)),
                (super::Write::Upsert(fields), _) => transaction.upsert(&<Item as super::Item>::new(fields)),
                (super::Write::Delete(_), Some(stored)) => transaction.delete(stored),
                (_, Some(stored)) => transaction.update(stored),
                (_, None) => transaction,
            };
        }
        transaction.commit().await.map(|_| true)
    }};
    (apart $tables:ident $writes:ident) => {{
        let _ = ($tables, $writes);
        Ok(false)
    }};
}

macro_rules! found {
    (one, $query:expr, $tables:ident) => {
        $query.get($tables).await?.into_iter()
    };
    (rows, $query:expr, $tables:ident) => {
        $query.all($tables).await?.into_iter()
    };
}

macro_rules! items {
    ($($doc:literal $name:ident $patched:ident $reach:ident $(($prefix:literal))? {
        $([$($index:tt)+] $how:ident $query:expr;)+
    })+) => {$(
        #[doc = $doc]
        pub mod $name {
            use table_runtime::{ETag, Result, Stored, TableEntity, Tables};

            use super::Fields;

            #[doc = $doc]
            #[derive(TableEntity, Clone, Debug, PartialEq)]
            #[table(name = "Items")]
            $(#[index($($index)+)])+
            pub struct Item {
                /// Always `a`.
                #[partition_key]
                pub group: String,
                /// The key.
                #[row_key]
                pub id: u32,
                /// The value of the index.
                pub value: u32,
                /// The value of the second index, if there is one.
                pub other: u32,
                /// The property that an `include` holds.
                pub note: u32,
                /// A property that only copies hold.
                pub likes: u32,
            }

            /// The same items in another program, whose struct has none of the indexes and one more property.
            #[derive(TableEntity, Clone, Debug, PartialEq)]
            #[table(name = "Items")]
            struct Bare {
                #[partition_key]
                group: String,
                #[row_key $((prefix = $prefix))?]
                id: u32,
                value: u32,
                other: u32,
                note: u32,
                likes: u32,
                extra: Option<u32>,
            }

            impl super::Item for Item {
                const IS_PATCHED: bool = is_patched!($patched);
                const HAS_TRANSACTIONS: bool = has_transactions!($reach);

                fn new(fields: Fields) -> Self {
                    let Fields { id, value, other, note, likes } = fields;
                    Self { group: "a".to_owned(), id, value, other, note, likes }
                }

                fn fields(&self) -> Fields {
                    let Self { id, value, other, note, likes, .. } = *self;
                    Fields { id, value, other, note, likes }
                }

                async fn get(tables: &Tables, id: u32) -> Result<Option<Stored<Self>>> {
                    Item::key("a", id).get(tables).await
                }

                async fn all(tables: &Tables) -> Result<Vec<Fields>> {
                    let items = Item::by_key("a").all(tables).await?;
                    Ok(items.iter().map(|item| super::Item::fields(&**item)).collect())
                }

                async fn find(tables: &Tables, index: usize, value: u32) -> Result<Vec<Fields>> {
                    let mut nth = 0;
                    let mut found = Vec::new();
                    $(
                        nth += 1;
                        if nth == index {
                            let query = $query;
                            found.extend(found!($how, query(value), tables).map(|item| super::Item::fields(&*item)));
                        }
                    )+
                    found.sort_unstable();
                    Ok(found)
                }

                async fn patch(tables: &Tables, id: u32, likes: u32) -> Result<()> {
                    patch!($patched tables id likes)
                }

                async fn patch_if(tables: &Tables, id: u32, etag: &ETag, likes: u32) -> Result<()> {
                    patch!($patched tables id etag likes)
                }

                async fn modify(
                    tables: &Tables,
                    id: u32,
                    change: impl FnMut(&mut Self) + Send,
                ) -> Result<Option<Stored<Self>>> {
                    tables.modify(Item::key("a", id), change).await
                }

                async fn remove(tables: &Tables, id: u32) -> Result<bool> {
                    tables.remove(Item::key("a", id)).await
                }

                async fn remove_all(tables: &Tables, ids: [u32; 2]) -> Result<()> {
                    tables.remove_all(ids.map(|id| Item::key("a", id))).await.map(drop)
                }

                async fn transact(tables: &Tables, writes: [super::Write; 2]) -> Result<bool> {
                    transact!($reach tables writes)
                }

                async fn insert_bare(tables: &Tables, fields: Fields) -> Result<()> {
                    let Fields { id, value, other, note, likes } = fields;
                    let group = "a".to_owned();
                    tables.insert(&Bare { group, id, value, other, note, likes, extra: None }).await.map(drop)
                }

                async fn note_bare(tables: &Tables, id: u32, note: u32) -> Result<bool> {
                    let Some(mut bare) = Bare::key("a", id).get(tables).await? else { return Ok(false) };
                    bare.note = note;
                    tables.update(&mut bare).await.map(|_| true)
                }

                async fn set_extra(tables: &Tables, id: u32) -> Result<()> {
                    tables.patch(Bare::key("a", id), |item| [item.extra.set(1)]).await.map(drop)
                }

                async fn has_extra(tables: &Tables, id: u32) -> Result<bool> {
                    Ok(Bare::key("a", id).get(tables).await?.is_some_and(|bare| bare.extra.is_some()))
                }
            }
        }
    )+};
}

items! {
    "Pointers in the entity's partition."
    pointer_in_partition patched here ("id-") {
        [value, same_partition] rows |value: u32| Item::by_value("a").eq(value);
    }
    "Unique pointers in the entity's partition."
    unique_in_partition patched here ("id-") {
        [value, same_partition, unique] one |value: u32| Item::by_value("a").eq(value);
    }
    "Copies in the entity's partition."
    copy_in_partition copied here ("id-") {
        [value, same_partition, copy] rows |value: u32| Item::by_value("a").eq(value);
    }
    "Unique copies in the entity's partition."
    unique_copy_in_partition copied here ("id-") {
        [value, same_partition, unique, copy] one |value: u32| Item::by_value("a").eq(value);
    }
    "Pointers with a property in the entity's partition."
    include_in_partition patched here ("id-") {
        [value, same_partition, include(note)] rows |value: u32| Item::by_value("a").eq(value);
    }
    "Unique pointers with a property in the entity's partition."
    unique_include_in_partition patched here ("id-") {
        [value, same_partition, unique, include(note)] one |value: u32| Item::by_value("a").eq(value);
    }
    "Lists in the entity's partition."
    list_in_partition patched here ("id-") {
        [value, same_partition, list] rows |value: u32| Item::by_value("a").eq(value);
    }
    "Two unique indexes in the entity's partition."
    two_in_partition patched here ("id-") {
        [value, same_partition, unique] one |value: u32| Item::by_value("a").eq(value);
        [other, same_partition, unique] one |other: u32| Item::by_other("a").eq(other);
    }
    "Pointers in the entity's table."
    pointer_in_table patched apart ("id-") {
        [value, same_table] rows |value: u32| Item::by_value(value);
    }
    "Unique pointers in the entity's table."
    unique_in_table patched apart ("id-") {
        [value, same_table, unique] one |value: u32| Item::by_value(value);
    }
    "Copies in the entity's table."
    copy_in_table copied apart ("id-") {
        [value, same_table, copy] rows |value: u32| Item::by_value(value);
    }
    "Pointers with a property in the entity's table."
    include_in_table patched apart ("id-") {
        [value, same_table, include(note)] rows |value: u32| Item::by_value(value);
    }
    "Unique pointers with a property in the entity's table."
    unique_include_in_table patched apart ("id-") {
        [value, same_table, unique, include(note)] one |value: u32| Item::by_value(value);
    }
    "Two unique indexes in the entity's table."
    two_in_table patched apart ("id-") {
        [value, same_table, unique] one |value: u32| Item::by_value(value);
        [other, same_table, unique] one |other: u32| Item::by_other(other);
    }
    "Pointers in a table of their own."
    pointer_elsewhere patched apart {
        [value] rows |value: u32| Item::by_value(value);
    }
    "Unique pointers in a table of their own."
    unique_elsewhere patched apart {
        [value, unique] one |value: u32| Item::by_value(value);
    }
    "Copies in a table of their own."
    copy_elsewhere copied apart {
        [value, copy] rows |value: u32| Item::by_value(value);
    }
    "Pointers with a property in a table of their own."
    include_elsewhere patched apart {
        [value, include(note)] rows |value: u32| Item::by_value(value);
    }
    "Unique pointers with a property in a table of their own."
    unique_include_elsewhere patched apart {
        [value, unique, include(note)] one |value: u32| Item::by_value(value);
    }
    "A unique index and a list in the entity's partition, a cross-partition unique index and include."
    mixed_one patched apart ("id-") {
        [value, same_partition, unique] one |value: u32| Item::by_value("a").eq(value);
        [other, unique] one |other: u32| Item::by_other(other);
        [listed, row(value), same_partition, list] rows |value: u32| Item::by_listed("a").eq(value);
        [noted, partition(value), include(note)] rows |value: u32| Item::by_noted(value);
    }
    "A cross-partition unique index and cross-partition copies, copies and a list in the entity's partition."
    mixed_two copied apart ("id-") {
        [value, unique] one |value: u32| Item::by_value(value);
        [copied, partition(value), copy] rows |value: u32| Item::by_copied(value);
        [here, row(value), same_partition, copy] rows |value: u32| Item::by_here("a").eq(value);
        [listed, row(value), same_partition, list] rows |value: u32| Item::by_listed("a").eq(value);
    }
    "A unique index in the entity's partition, and a cross-partition one."
    mixed_three patched apart ("id-") {
        [value, same_partition, unique] one |value: u32| Item::by_value("a").eq(value);
        [other, unique] one |other: u32| Item::by_other(other);
    }
    "Two unique indexes in tables of their own."
    two_elsewhere patched apart {
        [value, unique] one |value: u32| Item::by_value(value);
        [other, unique] one |other: u32| Item::by_other(other);
    }
}

/// Returns the value of an item that a layout indexes.
fn value(layout: &LayoutInfo, fields: &Fields) -> u32 {
    if layout.name == "other" { fields.other } else { fields.value }
}

/// Checks whether the rows of a layout may be out of date.
fn lags(layout: &LayoutInfo) -> bool {
    layout.index.as_ref().is_some_and(|index| index.scope == Scope::CrossPartition && index.holds == Holds::Copy)
}

/// Checks whether a unique index refuses one of these items because of the other.
pub fn clashes<I: Item>(one: &Fields, other: &Fields) -> bool {
    let unique = |layout: &LayoutInfo| layout.index.as_ref().is_some_and(|index| index.unique);
    one.id != other.id && I::LAYOUTS.iter().any(|layout| unique(layout) && value(layout, one) == value(layout, other))
}

/// Checks the guarantees that readers have in every state, and returns the items that they see: no two items share a
/// unique value, each index finds each item, and no index finds an item that does not have the value. Cross-partition
/// copies may be out of date.
pub async fn promised<I: Item>(tables: &Tables) -> Result<Vec<Fields>> {
    looked_at::<I>(tables, |layout| !lags(layout)).await
}

async fn looked_at<I: Item>(tables: &Tables, is_exact: fn(&LayoutInfo) -> bool) -> Result<Vec<Fields>> {
    let all = I::all(tables).await?;
    let is_ready = ready::<I>(tables).await?;
    for (at, one) in all.iter().enumerate() {
        for other in &all[at + 1..] {
            // Before an index is built, old items may share a value.
            ensure!(!is_ready || !clashes::<I>(one, other), "{one:?} and {other:?} share a unique value");
        }
    }
    for (at, layout) in I::LAYOUTS.iter().enumerate().skip(1).filter(|(_, layout)| is_exact(layout)) {
        for wanted in VALUES {
            let having: Vec<_> = all.iter().copied().filter(|fields| value(layout, fields) == wanted).collect();
            let found = match I::find(tables, at, wanted).await {
                Err(Error::IndexBuilding { .. }) => break,
                found => found?,
            };
            ensure!(found == having, "by `{}` of {wanted}: {found:?} instead of {having:?}", layout.name);
        }
    }
    Ok(all)
}

/// Checks whether every index is built.
pub async fn ready<I: Item>(tables: &Tables) -> Result<bool> {
    for at in 1..I::LAYOUTS.len() {
        match I::find(tables, at, VALUES.start).await {
            Err(Error::IndexBuilding { .. }) => return Ok(false),
            found => drop(found?),
        }
    }
    Ok(true)
}

/// Builds every index. Returns whether all of them are ready.
///
/// # Errors
/// The errors of the store; an index that is ready although there is a conflict, or not ready although there is none.
pub async fn fill<I: Item>(tables: &Tables) -> Result<bool> {
    let mut is_ready = true;
    for layout in &I::LAYOUTS[1..] {
        let filled = tables.backfill::<I>(layout.name).await?;
        ensure!(filled.ready == filled.conflicts.is_empty(), "{filled:?}");
        is_ready &= filled.ready;
    }
    Ok(is_ready)
}

/// Repairs the store. Checks that no error is left and that readers see the same items as before.
pub async fn fixed<I: Item>(tables: &Tables, seen: &[Fields]) -> Result<()> {
    let repaired = tables.repair::<I>().await.context("repair")?;
    ensure!(repaired.left.is_empty(), "the repair left {:?}", repaired.left);
    sound::<I>(tables, seen).await.with_context(|| format!("after a repair that fixed {:?}", repaired.fixed))
}

/// Checks that the store has no error and that readers see these items.
pub async fn sound<I: Item>(tables: &Tables, seen: &[Fields]) -> Result<()> {
    let findings = tables.verify::<I>().all().await?;
    ensure!(findings.is_empty(), "{findings:?}");
    let all = looked_at::<I>(tables, |_| true).await?;
    ensure!(all == seen, "readers see {all:?} instead of {seen:?}");
    Ok(())
}

/// Returns a plain store with these items, whose transactions have this reach.
pub async fn store<I: Item>(reach: Reach, items: &[Fields]) -> Result<Plain> {
    let store = Plain::default().with_reach(reach);
    let tables = store.tables();
    tables.create::<I>().await?;
    for fields in items {
        tables.insert(&I::new(*fields)).await?;
    }
    Ok(store)
}

/// Returns such a store with indexes that are not built yet.
pub async fn old_store<I: Item>(reach: Reach, items: &[Fields]) -> Result<Plain> {
    let store = Plain::default().with_reach(reach);
    let tables = store.tables();
    store.create_table(I::LAYOUTS[0].table).await?;
    for fields in items {
        I::insert_bare(&tables, *fields).await?;
    }
    tables.create::<I>().await?;
    Ok(store)
}

/// Returns all that readers and repairs depend on: the rows without the values of versions and write ids. Two stores with
/// the same contents are sound or damaged in the same way.
pub fn contents(store: &Plain) -> String {
    use fmt::Write;

    let mut text = String::new();
    store.for_each_row(|table, row| {
        let _ = write!(text, "{table}('{}','{}')", row.partition_key, row.row_key);
        let properties: BTreeMap<_, _> = row.properties.collect();
        for (name, value) in properties {
            let _ = match name {
                "WriteId" | "IndexPending" => write!(text, " {name}"),
                _ => write!(text, " {name}={value:?}"),
            };
        }
        text.push('\n');
    });
    text
}
