//! Recorded layouts: a program that would not find the stored rows is refused.

use anyhow::{Result, ensure};
use table_runtime::{Error, TableEntity, backend::BackendExt};
use tests::stores::{Kind, Store};
use time::OffsetDateTime;

crate::conformance! {
    a_key_with_another_layout_is_refused
    a_renamed_struct_with_another_layout_is_refused
    an_index_with_another_layout_is_refused
    renaming_a_field_keeps_the_layout
    renaming_a_struct_keeps_the_layout
    properties_can_be_added_and_removed
    programs_that_start_together_record_one_layout
    a_refused_layout_is_not_recorded
    the_layout_of_a_deleted_table_may_change
    table_names_are_case_insensitive
}

/// Entities as they were declared first.
mod first {
    use super::{OffsetDateTime, TableEntity};

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(name = "Posts")]
    pub(super) struct Post {
        #[partition_key(hash = 16)]
        pub author: String,
        #[row_key]
        pub number: u32,
        #[row_key]
        pub title: String,
        pub note: String,
    }

    #[derive(TableEntity, Clone, Debug, PartialEq)]
    #[table(slice = month(at))]
    pub(super) struct Log {
        #[partition_key]
        pub source: String,
        #[row_key(time)]
        pub at: OffsetDateTime,
        #[row_key]
        pub number: u32,
    }
}

/// Declares later versions of the structs.
macro_rules! later {
    ($($name:ident { $($item:tt)* })*) => {$(
        mod $name {
            #[allow(unused_imports)]
            use super::{OffsetDateTime, TableEntity};

            #[derive(TableEntity, Clone, Debug, PartialEq)]
            $($item)*
        }
    )*};
}

later! {
    more_buckets {
        #[table(name = "Posts")]
        pub(super) struct Post {
            #[partition_key(hash = 32)]
            pub author: String,
            #[row_key]
            pub number: u32,
            #[row_key]
            pub title: String,
            pub note: String,
        }
    }
    no_buckets {
        #[table(name = "Posts")]
        pub(super) struct Post {
            #[partition_key]
            pub author: String,
            #[row_key]
            pub number: u32,
            #[row_key]
            pub title: String,
            pub note: String,
        }
    }
    wider {
        #[table(name = "Posts")]
        pub(super) struct Post {
            #[partition_key(hash = 16)]
            pub author: String,
            #[row_key]
            pub number: u64,
            #[row_key]
            pub title: String,
            pub note: String,
        }
    }
    folded {
        #[table(name = "Posts")]
        pub(super) struct Post {
            #[partition_key(hash = 16)]
            pub author: String,
            #[row_key]
            pub number: u32,
            #[row_key(lowercase)]
            pub title: String,
            pub note: String,
        }
    }
    turned {
        #[table(name = "Posts")]
        pub(super) struct Post {
            #[partition_key(hash = 16)]
            pub author: String,
            #[row_key]
            pub title: String,
            #[row_key]
            pub number: u32,
            pub note: String,
        }
    }
    shorter {
        #[table(name = "Posts")]
        pub(super) struct Post {
            #[partition_key(hash = 16)]
            pub author: String,
            #[row_key]
            pub number: u32,
            pub title: String,
            pub note: String,
        }
    }
    another_field {
        #[table(name = "Posts")]
        pub(super) struct Post {
            #[partition_key(hash = 16)]
            pub author: String,
            #[row_key]
            pub number: u32,
            #[row_key]
            pub note: String,
            pub title: String,
        }
    }
    separated {
        #[table(name = "Posts", separator = "+")]
        pub(super) struct Post {
            #[partition_key(hash = 16)]
            pub author: String,
            #[row_key]
            pub number: u32,
            #[row_key]
            pub title: String,
            pub note: String,
        }
    }
    of_a_kind {
        #[table(name = "Posts", kind)]
        pub(super) struct Post {
            #[partition_key(hash = 16)]
            pub author: String,
            #[row_key]
            pub number: u32,
            #[row_key]
            pub title: String,
            pub note: String,
        }
    }
    prefixed {
        #[table(name = "Posts")]
        pub(super) struct Post {
            #[partition_key(hash = 16)]
            pub author: String,
            #[row_key(prefix = "n-")]
            pub number: u32,
            #[row_key]
            pub title: String,
            pub note: String,
        }
    }
    // The first index in the entity's partition gives the entity's own rows a prefix.
    indexed {
        #[table(name = "Posts")]
        pub(super) struct Post {
            #[partition_key(hash = 16)]
            pub author: String,
            #[row_key]
            pub number: u32,
            #[row_key]
            pub title: String,
            #[index(note, same_table)]
            pub note: String,
        }
    }
    other_slices {
        #[table(slice = day(at))]
        pub(super) struct Log {
            #[partition_key]
            pub source: String,
            #[row_key(time)]
            pub at: OffsetDateTime,
            #[row_key]
            pub number: u32,
        }
    }
    other_order {
        #[table(slice = month(at))]
        pub(super) struct Log {
            #[partition_key]
            pub source: String,
            #[row_key(reverse_time)]
            pub at: OffsetDateTime,
            #[row_key]
            pub number: u32,
        }
    }
    by_another_name {
        #[table(name = "Posts")]
        pub(super) struct Article {
            #[partition_key(hash = 32)]
            pub author: String,
            #[row_key]
            pub number: u32,
            #[row_key]
            pub title: String,
            pub note: String,
        }
    }
    renamed {
        #[table(name = "Posts")]
        pub(super) struct Post {
            #[partition_key(hash = 16)]
            #[property(rename = "Author")]
            pub writer: String,
            #[row_key]
            pub n: u32,
            #[row_key]
            pub headline: String,
            pub note: String,
        }
    }
    other_properties {
        #[table(name = "Posts", write_id)]
        pub(super) struct Post {
            #[partition_key(hash = 16)]
            pub author: String,
            #[row_key]
            #[property]
            pub number: u32,
            #[row_key]
            pub title: String,
            pub likes: Option<i64>,
        }
    }
}

/// Checks that a program with the entity is refused, with these words in the error.
async fn is_refused<E: TableEntity>(store: &Store, table: &str, words: &[&str]) -> Result<()> {
    let (name, tables) = (std::any::type_name::<E>(), store.again());
    let Err(Error::LayoutChanged(error)) = tables.create::<E>().await else { panic!("{name} does not fit") };
    assert_eq!((error.table.as_str(), error.layout), (table, "key"), "{name}");
    let text = error.to_string();
    for words in words.iter().chain([&"the primary key", &table]) {
        ensure!(text.contains(words), "{name}: no `{words}` in: {text}");
    }
    Ok(())
}

async fn a_key_with_another_layout_is_refused(store: &Store) -> Result<()> {
    store.tables.create::<first::Post>().await?;
    store.tables.create::<first::Log>().await?;
    let log = first::Log { source: "a".into(), at: OffsetDateTime::UNIX_EPOCH, number: 1 };
    store.tables.insert(&log).await?;
    is_refused::<more_buckets::Post>(store, "Posts", &["hash = 16", "hash = 32"]).await?;
    is_refused::<no_buckets::Post>(store, "Posts", &["hash = 16", "plain"]).await?;
    is_refused::<wider::Post>(store, "Posts", &["u32", "u64"]).await?;
    is_refused::<folded::Post>(store, "Posts", &["plain", "lowercase"]).await?;
    is_refused::<turned::Post>(store, "Posts", &["number", "title"]).await?;
    is_refused::<shorter::Post>(store, "Posts", &["the row key's second part", "is gone"]).await?;
    is_refused::<another_field::Post>(store, "Posts", &["title", "note"]).await?;
    is_refused::<separated::Post>(store, "Posts", &["separator"]).await?;
    is_refused::<of_a_kind::Post>(store, "Posts", &["kind"]).await?;
    is_refused::<prefixed::Post>(store, "Posts", &["the prefix of the row key", "n-"]).await?;
    is_refused::<indexed::Post>(store, "Posts", &["the prefix of the row key", "number-"]).await?;
    is_refused::<other_slices::Log>(store, "Log", &["month", "day"]).await?;
    is_refused::<other_order::Log>(store, "Log", &["time", "reverse_time"]).await?;
    // A program with the recorded layouts still works.
    store.again().create::<first::Post>().await?;
    store.again().create::<first::Log>().await?;
    Ok(())
}

async fn a_renamed_struct_with_another_layout_is_refused(store: &Store) -> Result<()> {
    store.tables.create::<first::Post>().await?;
    is_refused::<by_another_name::Article>(store, "Posts", &["hash = 16", "hash = 32"]).await
}

mod indexed_first {
    use super::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "Cities")]
    pub(super) struct City {
        #[partition_key]
        pub land: String,
        #[row_key]
        pub number: u32,
        #[index(name, lowercase)]
        pub name: String,
        pub note: String,
        pub people: i64,
    }
}

/// Declares structs with different indexes of one name.
macro_rules! index {
    ($($name:ident [$($index:tt)*])*) => {$(
        mod $name {
            use super::TableEntity;

            #[derive(TableEntity)]
            #[table(name = "Cities")]
            #[index($($index)*)]
            pub(super) struct City {
                #[partition_key]
                pub land: String,
                #[row_key]
                pub number: u32,
                pub name: String,
                pub note: String,
                pub people: i64,
            }

            #[allow(dead_code)]
            pub(super) fn is_named(name: &str) -> bool {
                !name.is_empty()
            }
        }
    )*};
}

index! {
    index_upper [name, uppercase]
    index_unique [name, lowercase, unique]
    index_copy [name, lowercase, copy]
    index_include [name, lowercase, include(note)]
    index_when [name, lowercase, when(name, self::is_named)]
    index_row [name, partition(name(lowercase)), row(people)]
    index_prefix [name, lowercase, prefix = "c-"]
}

async fn an_index_with_another_layout_is_refused(store: &Store) -> Result<()> {
    async fn is_refused<E: TableEntity>(store: &Store, words: &str) -> Result<()> {
        let name = std::any::type_name::<E>();
        let Err(Error::LayoutChanged(error)) = store.again().create::<E>().await else { panic!("{name} does not fit") };
        assert_eq!((error.table.as_str(), error.layout), ("Cities", "name"), "{name}");
        let text = error.to_string();
        ensure!(text.contains(words) && text.contains("another name"), "{name}: no `{words}` in: {text}");
        Ok(())
    }
    store.tables.create::<indexed_first::City>().await?;
    is_refused::<index_upper::City>(store, "uppercase").await?;
    is_refused::<index_unique::City>(store, "unique").await?;
    is_refused::<index_copy::City>(store, "copy").await?;
    is_refused::<index_include::City>(store, "include").await?;
    is_refused::<index_when::City>(store, "predicate").await?;
    is_refused::<index_row::City>(store, "people").await?;
    is_refused::<index_prefix::City>(store, "c-").await?;
    store.again().create::<indexed_first::City>().await?;
    Ok(())
}

async fn renaming_a_field_keeps_the_layout(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<first::Post>().await?;
    let post = first::Post { author: "Marcus".into(), number: 1, title: "a".into(), note: "b".into() };
    tables.insert(&post).await?;
    tables.create::<renamed::Post>().await?;
    let found = renamed::Post::key("Marcus", 1, "a").get(tables).await?;
    assert_eq!(found.map(|post| post.note.clone()).as_deref(), Some("b"));
    Ok(())
}

async fn properties_can_be_added_and_removed(store: &Store) -> Result<()> {
    store.tables.create::<first::Post>().await?;
    store.again().create::<other_properties::Post>().await?;
    store.again().create::<first::Post>().await?;
    Ok(())
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Rooms", entity = "Room")]
struct Room {
    #[partition_key]
    house: String,
    #[row_key(prefix = "number-")]
    number: u32,
    name: String,
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Rooms", entity = "Room")]
struct NamedRoom {
    #[partition_key]
    house: String,
    #[row_key]
    number: u32,
    #[index(name, same_partition)]
    name: String,
}

/// The same entity with another name.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Rooms", was = "Room")]
struct Chamber {
    #[partition_key]
    house: String,
    #[row_key]
    number: u32,
    #[index(name, same_partition)]
    name: String,
}

async fn renaming_a_struct_keeps_the_layout(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Room>().await?;
    tables.insert(&Room { house: "a".into(), number: 1, name: "x".into() }).await?;
    tables.create::<NamedRoom>().await?;
    // The index has the same state under another name: building first, ready later.
    for tables in [store.tables.clone(), store.again()] {
        tables.create::<Chamber>().await?;
        let refused = Chamber::by_name("a").eq("x").count(&tables).await;
        assert!(matches!(refused, Err(Error::IndexBuilding { .. })), "{refused:?}");
    }
    assert!(tables.backfill::<Chamber>("name").await?.ready);
    assert_eq!(Chamber::by_name("a").eq("x").count(&store.again()).await?, 1);
    Ok(())
}

async fn programs_that_start_together_record_one_layout(store: &Store) -> Result<()> {
    let programs = (0..16).map(|_| {
        let tables = store.again();
        async move { tables.create::<NamedRoom>().await }
    });
    for created in futures_util::future::join_all(programs).await {
        created?;
    }
    let rows = store.rows("TableLayouts").await?;
    let keys: Vec<_> = rows.iter().map(|row| (&*row.partition_key, &*row.row_key)).collect();
    let expected = ["!", "rooms rooms Room key", "rooms rooms Room name"];
    assert_eq!(keys, expected.map(|row_key| ("layouts", row_key)));
    Ok(())
}

async fn a_refused_layout_is_not_recorded(store: &Store) -> Result<()> {
    store.tables.create::<first::Post>().await?;
    let before = store.rows("TableLayouts").await?;
    is_refused::<indexed::Post>(store, "Posts", &[]).await?;
    assert_eq!(store.rows("TableLayouts").await?, before);
    Ok(())
}

async fn the_layout_of_a_deleted_table_may_change(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<first::Post>().await?;
    tables.create::<first::Log>().await?;
    let log = first::Log { source: "a".into(), at: OffsetDateTime::UNIX_EPOCH, number: 1 };
    tables.insert(&log).await?;
    tables.create::<Room>().await?;
    tables.insert(&Room { house: "a".into(), number: 1, name: "x".into() }).await?;
    tables.create::<NamedRoom>().await?;
    for table in ["Posts", "Log197001", "Rooms"] {
        store.backend.delete_table(table).await?;
    }
    if store.kind == Kind::Live {
        // The service takes a minute to delete a table.
        return Ok(());
    }
    store.again().create::<more_buckets::Post>().await?;
    store.again().create::<other_slices::Log>().await?;
    is_refused::<first::Post>(store, "Posts", &["hash = 32"]).await?;
    // The table was deleted, so its index needs no backfill either.
    let tables = store.again();
    tables.create::<NamedRoom>().await?;
    assert_eq!(NamedRoom::by_name("a").count(&tables).await?, 0);
    assert_eq!(NamedRoom::by_name("a").count(&store.again()).await?, 0);
    Ok(())
}

#[derive(TableEntity)]
#[table(name = "posts")]
struct Post {
    #[partition_key(hash = 32)]
    author: String,
    #[row_key]
    number: u32,
    #[row_key]
    title: String,
    note: String,
}

async fn table_names_are_case_insensitive(store: &Store) -> Result<()> {
    store.tables.create::<first::Post>().await?;
    is_refused::<Post>(store, "posts", &["hash = 16", "hash = 32"]).await
}
