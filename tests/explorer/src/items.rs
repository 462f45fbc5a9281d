//! Entities that differ only in their indexes, and the guarantees that each of them gives its readers.

use std::{fmt, iter, marker::PhantomData};

use anyhow::{Context, Result, ensure};
use futures_util::{FutureExt, future::LocalBoxFuture};
use table_runtime::{
    ETag, Error, Stored, TableEntity, Tables, Transaction,
    backend::{BackendExt, Reach},
    bulk::BulkProgress,
    jobs::{Backfilled, Finding, Repaired},
    layout::{Holds, LayoutInfo, Scope},
};

use crate::plain::Plain;

/// The fields of an item without its partition, which is always `a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fields {
    /// The row key.
    pub id: u32,
    /// The value of the index, or its first element.
    pub value: u32,
    /// The value of the second index, or the second element of the index, if there is one.
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

    /// Returns the change of an item to these values, with one more like.
    pub fn change_to(value: u32, other: u32) -> Change {
        Box::new(move |fields| Self { value, other, likes: fields.likes + 1, ..fields })
    }
}

/// The change of an item.
pub type Change = Box<dyn FnMut(Fields) -> Fields + Send>;

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
    /// A patch of the likes, in any version. Nothing if items [cannot be patched](ItemKind::is_patched).
    Patch(u32),
    /// A deletion of an item that is read first.
    Delete(u32),
}

/// The answer of the store to an operation.
pub type Answer<'a, T> = LocalBoxFuture<'a, table_runtime::Result<T>>;

/// A kind of item, which is an entity with one index or several. It has no type parameter, so the code of a search is
/// compiled once, and not for each entity.
pub trait ItemKind: Sync {
    /// Returns the layouts of the entity.
    fn layouts(&self) -> &'static [LayoutInfo];

    /// Returns true if an item can be patched, so if no index copies the whole item.
    fn is_patched(&self) -> bool;

    /// Creates the tables and the records of the entity.
    fn create<'a>(&self, tables: &'a Tables) -> Answer<'a, ()>;

    /// Reads the item with this key.
    fn get<'a>(&self, tables: &'a Tables, id: u32) -> Answer<'a, Option<Box<dyn Read>>>;

    /// Reads all items in the order of their keys.
    fn all<'a>(&self, tables: &'a Tables) -> Answer<'a, Vec<Fields>>;

    /// Finds the items with a value by the `index`th index, counted from 1, in the order of their keys.
    fn find<'a>(&self, tables: &'a Tables, index: usize, value: u32) -> Answer<'a, Vec<Fields>>;

    /// Finds the items with a value that is not less than `from` by the `index`th index, in the order of their keys; `None` if
    /// the index has no query of a range.
    fn find_from<'a>(&self, tables: &'a Tables, index: usize, from: u32) -> Answer<'a, Option<Vec<Fields>>>;

    /// Inserts an item.
    fn insert<'a>(&self, tables: &'a Tables, fields: Fields) -> Answer<'a, ()>;

    /// Inserts or replaces an item.
    fn upsert<'a>(&self, tables: &'a Tables, fields: Fields) -> Answer<'a, ()>;

    /// Inserts or merges an item.
    fn merge<'a>(&self, tables: &'a Tables, fields: Fields) -> Answer<'a, ()>;

    /// Inserts the items in bulk.
    fn insert_all<'a>(&self, tables: &'a Tables, items: [Fields; 2]) -> Answer<'a, BulkProgress>;

    /// Inserts or replaces the items in bulk.
    fn upsert_all<'a>(&self, tables: &'a Tables, items: [Fields; 2]) -> Answer<'a, BulkProgress>;

    /// Sets the likes. Does nothing if items [cannot be patched](Self::is_patched).
    fn patch<'a>(&self, tables: &'a Tables, id: u32, likes: u32) -> Answer<'a, ()>;

    /// Sets the likes of the item in this version. Does nothing if items [cannot be patched](Self::is_patched).
    fn patch_if<'a>(&self, tables: &'a Tables, id: u32, etag: &'a ETag, likes: u32) -> Answer<'a, ()>;

    /// Reads the item with this key, changes it and writes it back. Returns false if there is no such item.
    fn modify<'a>(&self, tables: &'a Tables, id: u32, change: Change) -> Answer<'a, bool>;

    /// Reads the item with the key of `new`, changes it and writes it back, or inserts `new` if there is none.
    fn modify_or_insert<'a>(&self, tables: &'a Tables, new: Fields, change: Change) -> Answer<'a, ()>;

    /// Inserts `new`, unless there is an item with its key. Returns the item that is stored, and true if it is the new one.
    fn get_or_insert<'a>(&self, tables: &'a Tables, new: Fields) -> Answer<'a, (Fields, bool)>;

    /// Removes the item with this key.
    fn remove<'a>(&self, tables: &'a Tables, id: u32) -> Answer<'a, bool>;

    /// Removes the items with these keys in bulk.
    fn remove_all<'a>(&self, tables: &'a Tables, ids: [u32; 2]) -> Answer<'a, ()>;

    /// Reads the items with these keys and removes them in bulk as they were read.
    fn remove_read<'a>(&self, tables: &'a Tables, ids: [u32; 2]) -> Answer<'a, ()>;

    /// Writes in one transaction. Returns false, and writes nothing, if a write changes an item that does not exist.
    fn transact<'a>(&self, tables: &'a Tables, writes: [Write; 2]) -> Answer<'a, bool>;

    /// Inserts an item with a struct that has none of the indexes.
    fn insert_bare<'a>(&self, tables: &'a Tables, fields: Fields) -> Answer<'a, ()>;

    /// Changes the note of an item with a struct that has none of the indexes. Returns false if it finds no such item.
    fn note_bare<'a>(&self, tables: &'a Tables, id: u32, note: u32) -> Answer<'a, bool>;

    /// Sets a property of the item that only another program knows.
    fn set_extra<'a>(&self, tables: &'a Tables, id: u32) -> Answer<'a, ()>;

    /// Checks whether the item has the property that only another program knows.
    fn has_extra<'a>(&self, tables: &'a Tables, id: u32) -> Answer<'a, bool>;

    /// Repairs the rows of the entity.
    fn repair<'a>(&self, tables: &'a Tables) -> Answer<'a, Repaired>;

    /// Returns what a verification of the entity finds.
    fn verify<'a>(&self, tables: &'a Tables) -> Answer<'a, Vec<Finding>>;

    /// Builds an index.
    fn backfill<'a>(&self, tables: &'a Tables, index: &'static str, pages: usize) -> Answer<'a, Backfilled>;
}

/// An item that was read.
pub trait Read {
    /// Returns its fields.
    fn fields(&self) -> Fields;

    /// Returns its version.
    fn etag(&self) -> &ETag;

    /// Updates it to these fields.
    fn update(self: Box<Self>, tables: &Tables, fields: Fields) -> Answer<'_, ()>;

    /// Updates it to these fields through a `Stored::new`, for which the stored values are unknown.
    fn update_rewrapped(self: Box<Self>, tables: &Tables, fields: Fields) -> Answer<'_, ()>;

    /// Deletes it.
    fn delete(self: Box<Self>, tables: &Tables) -> Answer<'_, ()>;
}

impl<I: Item> Read for Stored<I> {
    fn fields(&self) -> Fields {
        I::fields(self)
    }

    fn etag(&self) -> &ETag {
        Stored::etag(self)
    }

    fn update(mut self: Box<Self>, tables: &Tables, fields: Fields) -> Answer<'_, ()> {
        **self = I::new(fields);
        async move { tables.update(&mut *self).await.map(drop) }.boxed_local()
    }

    fn update_rewrapped(self: Box<Self>, tables: &Tables, fields: Fields) -> Answer<'_, ()> {
        let rewrapped = Stored::new(I::clone(&self), Stored::etag(&self).clone());
        Box::new(rewrapped).update(tables, fields)
    }

    fn delete(self: Box<Self>, tables: &Tables) -> Answer<'_, ()> {
        async move { tables.delete(&*self).await }.boxed_local()
    }
}

/// The kind of the items of a type.
struct KindOf<I>(PhantomData<fn() -> I>);

impl<I: Item> ItemKind for KindOf<I> {
    fn layouts(&self) -> &'static [LayoutInfo] {
        I::INFO.layouts
    }

    fn is_patched(&self) -> bool {
        I::IS_PATCHED
    }

    fn create<'a>(&self, tables: &'a Tables) -> Answer<'a, ()> {
        async move { tables.create::<I>().await }.boxed_local()
    }

    fn get<'a>(&self, tables: &'a Tables, id: u32) -> Answer<'a, Option<Box<dyn Read>>> {
        async move { Ok(I::get(tables, id).await?.map(|stored| Box::new(stored) as Box<dyn Read>)) }.boxed_local()
    }

    fn all<'a>(&self, tables: &'a Tables) -> Answer<'a, Vec<Fields>> {
        I::all(tables).boxed_local()
    }

    fn find<'a>(&self, tables: &'a Tables, index: usize, value: u32) -> Answer<'a, Vec<Fields>> {
        I::find(tables, index, value).boxed_local()
    }

    fn find_from<'a>(&self, tables: &'a Tables, index: usize, from: u32) -> Answer<'a, Option<Vec<Fields>>> {
        I::find_from(tables, index, from).boxed_local()
    }

    fn insert<'a>(&self, tables: &'a Tables, fields: Fields) -> Answer<'a, ()> {
        async move { tables.insert(&I::new(fields)).await.map(drop) }.boxed_local()
    }

    fn upsert<'a>(&self, tables: &'a Tables, fields: Fields) -> Answer<'a, ()> {
        async move { tables.upsert(&I::new(fields)).await.map(drop) }.boxed_local()
    }

    fn merge<'a>(&self, tables: &'a Tables, fields: Fields) -> Answer<'a, ()> {
        async move { tables.merge(&I::new(fields)).await.map(drop) }.boxed_local()
    }

    fn insert_all<'a>(&self, tables: &'a Tables, items: [Fields; 2]) -> Answer<'a, BulkProgress> {
        async move { tables.insert_all(items.map(I::new)).await }.boxed_local()
    }

    fn upsert_all<'a>(&self, tables: &'a Tables, items: [Fields; 2]) -> Answer<'a, BulkProgress> {
        async move { tables.upsert_all(items.map(I::new)).await }.boxed_local()
    }

    fn patch<'a>(&self, tables: &'a Tables, id: u32, likes: u32) -> Answer<'a, ()> {
        I::patch(tables, id, likes).boxed_local()
    }

    fn patch_if<'a>(&self, tables: &'a Tables, id: u32, etag: &'a ETag, likes: u32) -> Answer<'a, ()> {
        I::patch_if(tables, id, etag, likes).boxed_local()
    }

    fn modify<'a>(&self, tables: &'a Tables, id: u32, mut change: Change) -> Answer<'a, bool> {
        async move {
            let modified = I::modify(tables, id, move |item| *item = I::new(change(item.fields()))).await?;
            Ok(modified.is_some())
        }
        .boxed_local()
    }

    fn modify_or_insert<'a>(&self, tables: &'a Tables, new: Fields, mut change: Change) -> Answer<'a, ()> {
        async move {
            let change = move |item: &mut I| *item = I::new(change(item.fields()));
            tables.modify_or_insert(&I::new(new), change).await.map(drop)
        }
        .boxed_local()
    }

    fn get_or_insert<'a>(&self, tables: &'a Tables, new: Fields) -> Answer<'a, (Fields, bool)> {
        async move {
            let (stored, is_new) = tables.get_or_insert(&I::new(new)).await?;
            Ok((I::fields(&stored), is_new))
        }
        .boxed_local()
    }

    fn remove<'a>(&self, tables: &'a Tables, id: u32) -> Answer<'a, bool> {
        I::remove(tables, id).boxed_local()
    }

    fn remove_all<'a>(&self, tables: &'a Tables, ids: [u32; 2]) -> Answer<'a, ()> {
        I::remove_all(tables, ids).boxed_local()
    }

    fn remove_read<'a>(&self, tables: &'a Tables, ids: [u32; 2]) -> Answer<'a, ()> {
        async move {
            let mut read = Vec::new();
            for id in ids {
                read.extend(I::get(tables, id).await?);
            }
            tables.remove_all(&read).await.map(drop)
        }
        .boxed_local()
    }

    fn transact<'a>(&self, tables: &'a Tables, writes: [Write; 2]) -> Answer<'a, bool> {
        async move {
            let mut read = Vec::new();
            for write in writes {
                let (Write::Update(id, ..) | Write::Note(id, _) | Write::Delete(id)) = write else {
                    read.push(None);
                    continue;
                };
                let Some(mut stored) = I::get(tables, id).await? else { return Ok(false) };
                let fields = I::fields(&stored);
                match write {
                    Write::Update(_, value, other) => *stored = I::new(Fields { value, other, note: value, ..fields }),
                    Write::Note(_, note) => *stored = I::new(Fields { note, ..fields }),
                    _ => {}
                }
                read.push(Some(stored));
            }
            let mut transaction = tables.transaction();
            for (write, stored) in writes.into_iter().zip(&mut read) {
                transaction = match (write, stored) {
                    (Write::Insert(fields), _) => transaction.insert(&I::new(fields)),
                    (Write::Upsert(fields), _) => transaction.upsert(&I::new(fields)),
                    (Write::Delete(_), Some(stored)) => transaction.delete(stored),
                    (Write::Patch(id), _) => I::patched(transaction, id),
                    (_, Some(stored)) => transaction.update(stored),
                    (_, None) => transaction,
                };
            }
            transaction.commit().await.map(|_| true)
        }
        .boxed_local()
    }

    fn insert_bare<'a>(&self, tables: &'a Tables, fields: Fields) -> Answer<'a, ()> {
        I::BARE.insert_bare(tables, fields)
    }

    fn note_bare<'a>(&self, tables: &'a Tables, id: u32, note: u32) -> Answer<'a, bool> {
        I::BARE.note_bare(tables, id, note)
    }

    fn set_extra<'a>(&self, tables: &'a Tables, id: u32) -> Answer<'a, ()> {
        I::BARE.set_extra(tables, id)
    }

    fn has_extra<'a>(&self, tables: &'a Tables, id: u32) -> Answer<'a, bool> {
        I::BARE.has_extra(tables, id)
    }

    fn repair<'a>(&self, tables: &'a Tables) -> Answer<'a, Repaired> {
        async move { tables.repair::<I>().await }.boxed_local()
    }

    fn verify<'a>(&self, tables: &'a Tables) -> Answer<'a, Vec<Finding>> {
        async move { tables.verify::<I>().all().await }.boxed_local()
    }

    fn backfill<'a>(&self, tables: &'a Tables, index: &'static str, pages: usize) -> Answer<'a, Backfilled> {
        async move { tables.backfill::<I>(index).side_by_side(pages).await }.boxed_local()
    }
}

/// The entity of a [`ItemKind`]: what depends on its type.
trait Item: TableEntity + Clone + fmt::Debug + 'static {
    const IS_PATCHED: bool;
    /// The same items in another program.
    const BARE: &'static dyn Bare;

    fn new(fields: Fields) -> Self;

    fn fields(&self) -> Fields;

    fn get(tables: &Tables, id: u32) -> impl Future<Output = table_runtime::Result<Option<Stored<Self>>>>;

    fn all(tables: &Tables) -> impl Future<Output = table_runtime::Result<Vec<Fields>>>;

    fn find(tables: &Tables, index: usize, value: u32) -> impl Future<Output = table_runtime::Result<Vec<Fields>>>;

    fn find_from(
        tables: &Tables,
        index: usize,
        from: u32,
    ) -> impl Future<Output = table_runtime::Result<Option<Vec<Fields>>>>;

    fn patch(tables: &Tables, id: u32, likes: u32) -> impl Future<Output = table_runtime::Result<()>>;

    fn patch_if(tables: &Tables, id: u32, etag: &ETag, likes: u32) -> impl Future<Output = table_runtime::Result<()>>;

    /// Adds a patch of the likes, if items can be patched.
    fn patched(transaction: Transaction<'_>, id: u32) -> Transaction<'_>;

    fn modify(
        tables: &Tables,
        id: u32,
        change: impl FnMut(&mut Self) + Send,
    ) -> impl Future<Output = table_runtime::Result<Option<Stored<Self>>>>;

    fn remove(tables: &Tables, id: u32) -> impl Future<Output = table_runtime::Result<bool>>;

    fn remove_all(tables: &Tables, ids: [u32; 2]) -> impl Future<Output = table_runtime::Result<()>>;
}

/// Items in a program whose struct has none of the indexes and one more property.
trait Bare: Sync {
    fn insert_bare<'a>(&self, tables: &'a Tables, fields: Fields) -> Answer<'a, ()>;

    fn note_bare<'a>(&self, tables: &'a Tables, id: u32, note: u32) -> Answer<'a, bool>;

    fn set_extra<'a>(&self, tables: &'a Tables, id: u32) -> Answer<'a, ()>;

    fn has_extra<'a>(&self, tables: &'a Tables, id: u32) -> Answer<'a, bool>;
}

macro_rules! bare_items {
    ($($name:ident $(($prefix:literal))? $(of $elements:ident)?;)+) => {$(
        mod $name {
            use futures_util::FutureExt;
            use table_runtime::{TableEntity, Tables};

            use super::{Answer, Fields};

            #[derive(TableEntity, Clone, Debug, PartialEq)]
            #[table(name = "Items")]
            struct Item {
                #[partition_key]
                group: String,
                #[row_key $((prefix = $prefix))?]
                id: u32,
                value: u32,
                other: u32,
                note: u32,
                likes: u32,
                $(
                    #[property(json)]
                    $elements: Vec<u32>,
                )?
                extra: Option<u32>,
            }

            pub(super) struct Bare;

            impl super::Bare for Bare {
                fn insert_bare<'a>(&self, tables: &'a Tables, fields: Fields) -> Answer<'a, ()> {
                    let Fields { id, value, other, note, likes } = fields;
                    let group = "a".to_owned();
                    $(let $elements = vec![value, other];)?
                    let item = Item { group, id, value, other, note, likes, $($elements,)? extra: None };
                    async move { tables.insert(&item).await.map(drop) }.boxed_local()
                }

                fn note_bare<'a>(&self, tables: &'a Tables, id: u32, note: u32) -> Answer<'a, bool> {
                    async move {
                        let Some(mut item) = Item::key("a", id).get(tables).await? else { return Ok(false) };
                        item.note = note;
                        tables.update(&mut item).await.map(|_| true)
                    }
                    .boxed_local()
                }

                fn set_extra<'a>(&self, tables: &'a Tables, id: u32) -> Answer<'a, ()> {
                    async move { tables.patch(Item::key("a", id), |item| [item.extra.set(1)]).await.map(drop) }
                        .boxed_local()
                }

                fn has_extra<'a>(&self, tables: &'a Tables, id: u32) -> Answer<'a, bool> {
                    async move { Ok(Item::key("a", id).get(tables).await?.is_some_and(|item| item.extra.is_some())) }
                        .boxed_local()
                }
            }
        }
    )+};
}

bare_items! {
    without_prefix;
    with_prefix ("id-");
    without_prefix_of_elements of elements;
    with_prefix_of_elements ("id-") of elements;
}

macro_rules! bare {
    () => {
        &super::without_prefix::Bare
    };
    ($prefix:literal) => {
        &super::with_prefix::Bare
    };
    (of $elements:ident) => {
        &super::without_prefix_of_elements::Bare
    };
    ($prefix:literal of $elements:ident) => {
        &super::with_prefix_of_elements::Bare
    };
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

macro_rules! patched {
    (patched $transaction:ident $id:ident) => {
        $transaction.patch(Item::key("a", $id), |item| [item.likes.set(4)])
    };
    (copied $transaction:ident $id:ident) => {{
        let _ = $id;
        $transaction
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

macro_rules! found {
    (one, $query:expr, $tables:ident) => {
        $query.get($tables).await?.into_iter()
    };
    (rows, $query:expr, $tables:ident) => {
        $query.all($tables).await?.into_iter()
    };
}

macro_rules! items {
    ($($doc:literal $name:ident $patched:ident $(($prefix:literal))? $(of $elements:ident)? {
        $([$($index:tt)+] $how:ident $query:expr $(, from $range:expr)?;)+
    })+) => {$(
        #[doc = $doc]
        pub mod $name {
            use std::marker::PhantomData;

            use table_runtime::{ETag, Result, Stored, TableEntity, Tables, Transaction};

            use super::Fields;

            #[doc = $doc]
            pub static KIND: &dyn super::ItemKind = &super::KindOf::<Item>(PhantomData);

            #[derive(TableEntity, Clone, Debug, PartialEq)]
            #[table(name = "Items")]
            $(#[index($($index)+)])+
            struct Item {
                #[partition_key]
                group: String,
                #[row_key]
                id: u32,
                value: u32,
                other: u32,
                note: u32,
                likes: u32,
                $(
                    #[property(json)]
                    $elements: Vec<u32>,
                )?
            }

            impl super::Item for Item {
                const IS_PATCHED: bool = is_patched!($patched);
                const BARE: &'static dyn super::Bare = bare!($($prefix)? $(of $elements)?);

                fn new(fields: Fields) -> Self {
                    let Fields { id, value, other, note, likes } = fields;
                    let group = "a".to_owned();
                    $(let $elements = vec![value, other];)?
                    Self { group, id, value, other, note, likes $(, $elements)? }
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

                async fn find_from(tables: &Tables, index: usize, from: u32) -> Result<Option<Vec<Fields>>> {
                    let mut nth = 0;
                    let mut found = None::<Vec<_>>;
                    $(
                        nth += 1;
                        $(if nth == index {
                            let query = $range;
                            let items = found!(rows, query(from), tables);
                            found = Some(items.map(|item| super::Item::fields(&*item)).collect());
                        })?
                    )+
                    let _ = (tables, index, from, nth);
                    if let Some(found) = &mut found {
                        found.sort_unstable();
                    }
                    Ok(found)
                }

                async fn patch(tables: &Tables, id: u32, likes: u32) -> Result<()> {
                    patch!($patched tables id likes)
                }

                async fn patch_if(tables: &Tables, id: u32, etag: &ETag, likes: u32) -> Result<()> {
                    patch!($patched tables id etag likes)
                }

                fn patched(transaction: Transaction<'_>, id: u32) -> Transaction<'_> {
                    patched!($patched transaction id)
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
            }
        }
    )+};
}

items! {
    "Pointers in the entity's partition."
    pointer_in_partition patched ("id-") {
        [value, same_partition] rows |value: u32| Item::by_value("a").eq(value);
    }
    "Unique pointers in the entity's partition."
    unique_in_partition patched ("id-") {
        [value, same_partition, unique] one |value: u32| Item::by_value("a").eq(value);
    }
    "Copies in the entity's partition."
    copy_in_partition copied ("id-") {
        [value, same_partition, copy] rows |value: u32| Item::by_value("a").eq(value);
    }
    "Unique copies in the entity's partition."
    unique_copy_in_partition copied ("id-") {
        [value, same_partition, unique, copy] one |value: u32| Item::by_value("a").eq(value);
    }
    "Pointers with a property in the entity's partition."
    include_in_partition patched ("id-") {
        [value, same_partition, include(note)] rows |value: u32| Item::by_value("a").eq(value);
    }
    "Unique pointers with a property in the entity's partition."
    unique_include_in_partition patched ("id-") {
        [value, same_partition, unique, include(note)] one |value: u32| Item::by_value("a").eq(value);
    }
    "Lists in the entity's partition."
    list_in_partition patched ("id-") {
        [value, same_partition, list] rows |value: u32| Item::by_value("a").eq(value);
    }
    "Two unique indexes in the entity's partition."
    two_in_partition patched ("id-") {
        [value, same_partition, unique] one |value: u32| Item::by_value("a").eq(value);
        [other, same_partition, unique] one |other: u32| Item::by_other("a").eq(other);
    }
    "Pointers in the entity's table."
    pointer_in_table patched ("id-") {
        [value, same_table] rows |value: u32| Item::by_value(value);
    }
    "Unique pointers in the entity's table."
    unique_in_table patched ("id-") {
        [value, same_table, unique] one |value: u32| Item::by_value(value);
    }
    "Copies in the entity's table."
    copy_in_table copied ("id-") {
        [value, same_table, copy] rows |value: u32| Item::by_value(value);
    }
    "Pointers with a property in the entity's table."
    include_in_table patched ("id-") {
        [value, same_table, include(note)] rows |value: u32| Item::by_value(value);
    }
    "Unique pointers with a property in the entity's table."
    unique_include_in_table patched ("id-") {
        [value, same_table, unique, include(note)] one |value: u32| Item::by_value(value);
    }
    "Two unique indexes in the entity's table."
    two_in_table patched ("id-") {
        [value, same_table, unique] one |value: u32| Item::by_value(value);
        [other, same_table, unique] one |other: u32| Item::by_other(other);
    }
    "Pointers in a table of their own."
    pointer_elsewhere patched {
        [value] rows |value: u32| Item::by_value(value);
    }
    "Unique pointers in a table of their own."
    unique_elsewhere patched {
        [value, unique] one |value: u32| Item::by_value(value);
    }
    "Copies in a table of their own."
    copy_elsewhere copied {
        [value, copy] rows |value: u32| Item::by_value(value);
    }
    "Pointers with a property in a table of their own."
    include_elsewhere patched {
        [value, include(note)] rows |value: u32| Item::by_value(value);
    }
    "Unique pointers with a property in a table of their own."
    unique_include_elsewhere patched {
        [value, unique, include(note)] one |value: u32| Item::by_value(value);
    }
    "A unique index and a list in the entity's partition, a cross-partition unique index and include."
    mixed_one patched ("id-") {
        [value, same_partition, unique] one |value: u32| Item::by_value("a").eq(value);
        [other, unique] one |other: u32| Item::by_other(other);
        [listed, row(value), same_partition, list] rows |value: u32| Item::by_listed("a").eq(value);
        [noted, partition(value), include(note)] rows |value: u32| Item::by_noted(value);
    }
    "A cross-partition unique index and cross-partition copies, copies and a list in the entity's partition."
    mixed_two copied ("id-") {
        [value, unique] one |value: u32| Item::by_value(value);
        [copied, partition(value), copy] rows |value: u32| Item::by_copied(value);
        [here, row(value), same_partition, copy] rows |value: u32| Item::by_here("a").eq(value);
        [listed, row(value), same_partition, list] rows |value: u32| Item::by_listed("a").eq(value);
    }
    "A unique index in the entity's partition, and a cross-partition one."
    mixed_three patched ("id-") {
        [value, same_partition, unique] one |value: u32| Item::by_value("a").eq(value);
        [other, unique] one |other: u32| Item::by_other(other);
    }
    "Two unique indexes in tables of their own."
    two_elsewhere patched {
        [value, unique] one |value: u32| Item::by_value(value);
        [other, unique] one |other: u32| Item::by_other(other);
    }
    "Pointers of each element in the entity's partition."
    elements_in_partition patched ("id-") of elements {
        [element, same_partition, row(each(elements))] rows |value: u32| Item::by_element("a").eq(value),
            from |value: u32| Item::by_element("a").range(value..);
    }
    "Unique pointers of each element in the entity's partition."
    unique_elements_in_partition patched ("id-") of elements {
        [element, same_partition, row(each(elements)), unique] one |value: u32| Item::by_element("a").eq(value),
            from |value: u32| Item::by_element("a").range(value..);
    }
    "Pointers of each element in one partition of another table."
    elements_elsewhere patched of elements {
        [element, partition(group), row(each(elements))] rows |value: u32| Item::by_element("a").eq(value),
            from |value: u32| Item::by_element("a").range(value..);
    }
    "Unique pointers of each element in a table of their own."
    unique_elements_elsewhere patched of elements {
        [element, partition(each(elements)), unique] one |value: u32| Item::by_element(value);
    }
    "Pointers of each element with a property in one partition of another table."
    include_elements_elsewhere patched of elements {
        [element, partition(group), row(each(elements)), include(note)] rows
            |value: u32| Item::by_element("a").eq(value), from |value: u32| Item::by_element("a").range(value..);
    }
    "Copies of each element in one partition of another table."
    copy_elements_elsewhere copied of elements {
        [element, partition(group), row(each(elements)), copy] rows |value: u32| Item::by_element("a").eq(value),
            from |value: u32| Item::by_element("a").range(value..);
    }
}

/// Returns the values of an item that a layout indexes, each once.
fn values(layout: &LayoutInfo, fields: &Fields) -> impl Iterator<Item = u32> {
    let Fields { value, other, .. } = *fields;
    let (first, second) = match &*layout.name {
        "element" => (value, (other != value).then_some(other)),
        "other" => (other, None),
        _ => (value, None),
    };
    iter::once(first).chain(second)
}

/// Checks whether items have a row for each element.
pub fn has_elements(kind: &dyn ItemKind) -> bool {
    kind.layouts().iter().any(|layout| layout.name == "element")
}

/// Checks whether all rows of an item are in one partition, so that one request writes them.
pub fn is_in_one_partition(kind: &dyn ItemKind) -> bool {
    let is_elsewhere =
        |layout: &LayoutInfo| layout.index.as_ref().is_some_and(|index| index.scope == Scope::CrossPartition);
    !kind.layouts().iter().any(is_elsewhere)
}

/// Returns the items with a value that `is_wanted`, in the order of their keys.
pub fn having(layout: &LayoutInfo, items: &[Fields], is_wanted: impl Fn(u32) -> bool) -> Vec<Fields> {
    items.iter().copied().filter(|fields| values(layout, fields).any(&is_wanted)).collect()
}

/// Checks whether the rows of a layout may be out of date.
fn lags(layout: &LayoutInfo) -> bool {
    layout.index.as_ref().is_some_and(|index| index.scope == Scope::CrossPartition && index.holds == Holds::Copy)
}

/// Returns the unique values of an item, each with the name of its index.
fn unique_values<'a>(kind: &'a dyn ItemKind, fields: &'a Fields) -> impl Iterator<Item = (&'static str, u32)> + 'a {
    let unique = kind.layouts().iter().filter(|layout| layout.index.as_ref().is_some_and(|index| index.unique));
    unique.flat_map(move |layout| values(layout, fields).map(move |value| (&*layout.name, value)))
}

/// Checks whether a unique index refuses one of these items because of the other.
pub fn clashes(kind: &dyn ItemKind, one: &Fields, other: &Fields) -> bool {
    let is_shared = |wanted| unique_values(kind, other).any(|owned| owned == wanted);
    one.id != other.id && unique_values(kind, one).any(is_shared)
}

/// Checks whether a transaction would pass a unique value of another partition to `new` from another of its items.
pub fn takes(kind: &dyn ItemKind, new: &Fields, other: &Fields) -> bool {
    let is_elsewhere = |layout: &&LayoutInfo| {
        layout.index.as_ref().is_some_and(|index| index.unique && index.scope == Scope::CrossPartition)
    };
    let mut elsewhere = kind.layouts().iter().filter(is_elsewhere);
    new.id != other.id
        && elsewhere.any(|layout| values(layout, new).any(|new| values(layout, other).any(|had| had == new)))
}

/// Checks the guarantees that readers have in every state, and returns the items that they see: no two items share a
/// unique value, each index finds each item, and no index finds an item that does not have the value. Cross-partition
/// copies may be out of date.
pub async fn promised(kind: &dyn ItemKind, tables: &Tables) -> Result<Vec<Fields>> {
    looked_at(kind, tables, |layout| !lags(layout)).await
}

async fn looked_at(kind: &dyn ItemKind, tables: &Tables, is_exact: fn(&LayoutInfo) -> bool) -> Result<Vec<Fields>> {
    let all = kind.all(tables).await?;
    let is_ready = ready(kind, tables).await?;
    for (at, one) in all.iter().enumerate() {
        for other in &all[at + 1..] {
            // Before an index is built, old items may share a value.
            ensure!(!is_ready || !clashes(kind, one, other), "{one:?} and {other:?} share a unique value");
        }
    }
    for (at, layout) in kind.layouts().iter().enumerate().skip(1).filter(|(_, layout)| is_exact(layout)) {
        for wanted in VALUES {
            let expected = having(layout, &all, |value| value == wanted);
            let found = match kind.find(tables, at, wanted).await {
                Err(Error::IndexBuilding { .. }) => break,
                found => found?,
            };
            ensure!(found == expected, "by `{}` of {wanted}: {found:?} instead of {expected:?}", layout.name);
            let Some(found) = kind.find_from(tables, at, wanted).await? else { continue };
            let expected = having(layout, &all, |value| value >= wanted);
            ensure!(found == expected, "by `{}` from {wanted}: {found:?} instead of {expected:?}", layout.name);
        }
    }
    Ok(all)
}

/// Checks whether every index is built.
pub async fn ready(kind: &dyn ItemKind, tables: &Tables) -> Result<bool> {
    for at in 1..kind.layouts().len() {
        match kind.find(tables, at, VALUES.start).await {
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
pub async fn fill(kind: &dyn ItemKind, tables: &Tables, pages: usize) -> Result<bool> {
    let mut is_ready = true;
    for layout in &kind.layouts()[1..] {
        let filled = kind.backfill(tables, &layout.name, pages).await?;
        ensure!(filled.ready == filled.conflicts.is_empty(), "{filled:?}");
        is_ready &= filled.ready;
    }
    Ok(is_ready)
}

/// Repairs the store. Checks that no error is left and that readers see the same items as before.
pub async fn fixed(kind: &dyn ItemKind, tables: &Tables, seen: &[Fields]) -> Result<()> {
    let repaired = kind.repair(tables).await.context("repair")?;
    ensure!(repaired.left.is_empty(), "the repair left {:?}", repaired.left);
    sound(kind, tables, seen).await.with_context(|| format!("after a repair that fixed {:?}", repaired.fixed))
}

/// Checks that the store has no error and that readers see these items.
pub async fn sound(kind: &dyn ItemKind, tables: &Tables, seen: &[Fields]) -> Result<()> {
    let findings = kind.verify(tables).await?;
    ensure!(findings.is_empty(), "{findings:?}");
    let all = looked_at(kind, tables, |_| true).await?;
    ensure!(all == seen, "readers see {all:?} instead of {seen:?}");
    Ok(())
}

/// Returns a plain store with these items, whose transactions have this reach.
pub async fn store(kind: &dyn ItemKind, reach: Reach, items: &[Fields]) -> Result<Plain> {
    let store = Plain::default().with_reach(reach);
    let tables = store.tables();
    kind.create(&tables).await?;
    for fields in items {
        kind.insert(&tables, *fields).await?;
    }
    Ok(store)
}

/// Returns such a store with indexes that are not built yet.
pub async fn old_store(kind: &dyn ItemKind, reach: Reach, items: &[Fields]) -> Result<Plain> {
    let store = Plain::default().with_reach(reach);
    let tables = store.tables();
    store.create_table(&kind.layouts()[0].table).await?;
    for fields in items {
        kind.insert_bare(&tables, *fields).await?;
    }
    kind.create(&tables).await?;
    Ok(store)
}

/// Returns hashes of all that readers and repairs depend on: the rows without the values of versions and write ids. Two stores
/// with the same contents are sound or damaged in the same way.
pub fn contents(store: &Plain) -> Vec<u64> {
    let mut contents = Vec::new();
    store.for_each_seal(|seal| contents.push(seal.without_names()));
    contents
}
