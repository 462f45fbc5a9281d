//! Entities that differ in their indexes alone, and what readers may rely on of any of them.

use std::{collections::BTreeMap, fmt};

use anyhow::{Context, Result, ensure};
use table_runtime::{Holds, LayoutInfo, Scope, Stored, TableEntity, Tables};

use crate::plain::Plain;

/// The fields of an item but for its partition, `a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fields {
    /// The row key.
    pub id: u32,
    /// What the index is on.
    pub value: u32,
    /// What the second index is on, if there is one.
    pub other: u32,
    /// What an `include` holds.
    pub note: u32,
    /// What no index depends on, but for a copy.
    pub likes: u32,
}

impl Fields {
    /// An item of this key and values.
    pub const fn new(id: u32, value: u32, other: u32) -> Self {
        Self { id, value, other, note: 0, likes: 0 }
    }
}

/// The values that items have in the tests.
pub const VALUES: std::ops::Range<u32> = 1..5;

/// An entity with one index, or two.
pub trait Item: TableEntity + Clone + fmt::Debug + 'static {
    /// Whether an item can be patched: not if an index copies all of it.
    const IS_PATCHED: bool;

    /// The item with these fields.
    fn new(fields: Fields) -> Self;

    /// Its fields.
    fn fields(&self) -> Fields;

    /// Reads the item of this key.
    fn get(tables: &Tables, id: u32) -> impl Future<Output = table_runtime::Result<Option<Stored<Self>>>>;

    /// All items, by their keys.
    fn all(tables: &Tables) -> impl Future<Output = table_runtime::Result<Vec<Fields>>>;

    /// The items that the `index`th index, counted from 1, gives for a value, by their keys.
    fn find(tables: &Tables, index: usize, value: u32) -> impl Future<Output = table_runtime::Result<Vec<Fields>>>;

    /// Sets the likes; without effect where an item cannot be patched.
    fn patch(tables: &Tables, id: u32, likes: u32) -> impl Future<Output = table_runtime::Result<()>>;

    /// Removes the item of this key.
    fn remove(tables: &Tables, id: u32) -> impl Future<Output = table_runtime::Result<bool>>;
}

macro_rules! patch {
    (patched $tables:ident $id:ident $likes:ident) => {
        $tables.patch(Item::key("a", $id), |item| [item.likes.set($likes)]).await.map(drop)
    };
    (copied $tables:ident $id:ident $likes:ident) => {{
        let _ = ($tables, $id, $likes);
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

macro_rules! found {
    (one, $query:expr, $tables:ident) => {
        $query.get($tables).await?.into_iter()
    };
    (rows, $query:expr, $tables:ident) => {
        $query.all($tables).await?.into_iter()
    };
}

macro_rules! items {
    ($($doc:literal $name:ident $patched:ident { $([$($index:tt)+] $how:ident $query:expr;)+ })+) => {$(
        #[doc = $doc]
        pub mod $name {
            use table_runtime::{Result, Stored, TableEntity, Tables};

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
                /// What the index is on.
                pub value: u32,
                /// What the second index is on, if there is one.
                pub other: u32,
                /// What an `include` holds.
                pub note: u32,
                /// What no index depends on, but for a copy.
                pub likes: u32,
            }

            impl super::Item for Item {
                const IS_PATCHED: bool = is_patched!($patched);

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

                async fn remove(tables: &Tables, id: u32) -> Result<bool> {
                    tables.remove(Item::key("a", id)).await
                }
            }
        }
    )+};
}

items! {
    "Pointers in the entity's partition."
    pointer_in_partition patched {
        [value, same_partition] rows |value: u32| Item::by_value("a").eq(value);
    }
    "Unique pointers in the entity's partition."
    unique_in_partition patched {
        [value, same_partition, unique] one |value: u32| Item::by_value("a").eq(value);
    }
    "Copies in the entity's partition."
    copy_in_partition copied {
        [value, same_partition, copy] rows |value: u32| Item::by_value("a").eq(value);
    }
    "Unique copies in the entity's partition."
    unique_copy_in_partition copied {
        [value, same_partition, unique, copy] one |value: u32| Item::by_value("a").eq(value);
    }
    "Pointers with a property in the entity's partition."
    include_in_partition patched {
        [value, same_partition, include(note)] rows |value: u32| Item::by_value("a").eq(value);
    }
    "Lists in the entity's partition."
    list_in_partition patched {
        [value, same_partition, list] rows |value: u32| Item::by_value("a").eq(value);
    }
    "Two unique indexes in the entity's partition."
    two_in_partition patched {
        [value, same_partition, unique] one |value: u32| Item::by_value("a").eq(value);
        [other, same_partition, unique] one |other: u32| Item::by_other("a").eq(other);
    }
    "Pointers in the entity's table."
    pointer_in_table patched {
        [value, same_table] rows |value: u32| Item::by_value(value);
    }
    "Unique pointers in the entity's table."
    unique_in_table patched {
        [value, same_table, unique] one |value: u32| Item::by_value(value);
    }
    "Copies in the entity's table."
    copy_in_table copied {
        [value, same_table, copy] rows |value: u32| Item::by_value(value);
    }
    "Pointers with a property in the entity's table."
    include_in_table patched {
        [value, same_table, include(note)] rows |value: u32| Item::by_value(value);
    }
    "Unique pointers with a property in the entity's table."
    unique_include_in_table patched {
        [value, same_table, unique, include(note)] one |value: u32| Item::by_value(value);
    }
    "Two unique indexes in the entity's table."
    two_in_table patched {
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
    "A unique index and a list in the entity's partition, a unique index and an include elsewhere."
    mixed_one patched {
        [value, same_partition, unique] one |value: u32| Item::by_value("a").eq(value);
        [other, unique] one |other: u32| Item::by_other(other);
        [listed, row(value), same_partition, list] rows |value: u32| Item::by_listed("a").eq(value);
        [noted, partition(value), include(note)] rows |value: u32| Item::by_noted(value);
    }
    "A unique index and copies elsewhere, copies and a list in the entity's partition."
    mixed_two copied {
        [value, unique] one |value: u32| Item::by_value(value);
        [copied, partition(value), copy] rows |value: u32| Item::by_copied(value);
        [here, row(value), same_partition, copy] rows |value: u32| Item::by_here("a").eq(value);
        [listed, row(value), same_partition, list] rows |value: u32| Item::by_listed("a").eq(value);
    }
    "A unique index in the entity's partition, and one elsewhere."
    mixed_three patched {
        [value, same_partition, unique] one |value: u32| Item::by_value("a").eq(value);
        [other, unique] one |other: u32| Item::by_other(other);
    }
    "Two unique indexes in tables of their own."
    two_elsewhere patched {
        [value, unique] one |value: u32| Item::by_value(value);
        [other, unique] one |other: u32| Item::by_other(other);
    }
}

/// The value that a layout is on.
fn value(layout: &LayoutInfo, fields: &Fields) -> u32 {
    if layout.name == "other" { fields.other } else { fields.value }
}

/// Whether the rows of a layout may be behind.
fn lags(layout: &LayoutInfo) -> bool {
    layout.index.as_ref().is_some_and(|index| index.scope == Scope::Elsewhere && index.holds == Holds::Copy)
}

/// Whether a unique index is on this value of both.
pub fn clashes<I: Item>(one: &Fields, other: &Fields) -> bool {
    let unique = |layout: &LayoutInfo| layout.index.as_ref().is_some_and(|index| index.unique);
    one.id != other.id && I::LAYOUTS.iter().any(|layout| unique(layout) && value(layout, one) == value(layout, other))
}

/// Checks what readers may rely on in every state, and gives what they see: no two items share a unique value, each
/// is found by each index, and an index gives no item that does not have the value. Copies elsewhere may be behind.
pub async fn promised<I: Item>(tables: &Tables) -> Result<Vec<Fields>> {
    looked_at::<I>(tables, |layout| !lags(layout)).await
}

async fn looked_at<I: Item>(tables: &Tables, is_exact: fn(&LayoutInfo) -> bool) -> Result<Vec<Fields>> {
    let all = I::all(tables).await?;
    for (at, one) in all.iter().enumerate() {
        for other in &all[at + 1..] {
            ensure!(!clashes::<I>(one, other), "{one:?} and {other:?} share a unique value");
        }
    }
    for (at, layout) in I::LAYOUTS.iter().enumerate().skip(1).filter(|(_, layout)| is_exact(layout)) {
        for wanted in VALUES {
            let having: Vec<_> = all.iter().copied().filter(|fields| value(layout, fields) == wanted).collect();
            let found = I::find(tables, at, wanted).await?;
            ensure!(found == having, "by `{}` of {wanted}: {found:?} instead of {having:?}", layout.name);
        }
    }
    Ok(all)
}

/// Repairs the store and checks that nothing is wrong with it any more, and that readers see what they saw.
pub async fn mended<I: Item>(tables: &Tables, seen: &[Fields]) -> Result<()> {
    let repaired = tables.repair::<I>().await.context("repair")?;
    ensure!(repaired.left.is_empty(), "the repair left {:?}", repaired.left);
    sound::<I>(tables, seen).await.with_context(|| format!("after a repair that mended {:?}", repaired.mended))
}

/// Checks that nothing is wrong with the store, and that readers see these items.
pub async fn sound<I: Item>(tables: &Tables, seen: &[Fields]) -> Result<()> {
    let findings = tables.verify::<I>().all().await?;
    ensure!(findings.is_empty(), "{findings:?}");
    let all = looked_at::<I>(tables, |_| true).await?;
    ensure!(all == seen, "readers see {all:?} instead of {seen:?}");
    Ok(())
}

/// A plain store with these items.
pub async fn store<I: Item>(items: &[Fields]) -> Result<Plain> {
    let store = Plain::default();
    let tables = store.tables();
    tables.create::<I>().await?;
    for fields in items {
        tables.insert(&I::new(*fields)).await?;
    }
    Ok(store)
}

/// What readers and repairs go by: the rows without the names of versions and write ids. Of two stores that are alike
/// in this, what holds of one holds of the other.
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
