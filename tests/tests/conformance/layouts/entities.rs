//! Identity of entities in the catalog: renamed structs, entities that share a table, types of properties.

use std::any::type_name;

use anyhow::{Result, ensure};
use futures_util::future::join_all;
use table_runtime::{Error, TableEntity, Tables};
use tests::stores::Store;

crate::conformance! {
    a_renamed_struct_needs_its_earlier_name
    a_renamed_struct_with_another_key_is_refused_with_and_without_its_earlier_name
    an_older_program_runs_beside_one_with_a_renamed_struct
    a_pinned_name_survives_the_name_of_the_struct
    entities_of_one_key_shape_are_refused_in_one_table
    entities_are_told_apart_by_kind_prefix_and_shape
    programs_that_begin_at_once_record_layouts_that_fit
    a_property_of_another_type_is_refused
    a_wider_number_runs_beside_the_narrower_one
    a_renamed_property_of_an_indexed_field_is_refused
    another_predicate_of_an_index_is_refused
    an_index_of_an_entity_that_was_recorded_without_it_is_built
}

/// Declares structs, each in a module of its own.
macro_rules! versions {
    ($($module:ident { $($item:item)* })*) => {$(
        mod $module {
            #[allow(unused_imports)]
            use table_runtime::TableEntity;

            $($item)*
        }
    )*};
}

versions! {
    person {
        #[derive(TableEntity, Clone, Debug, PartialEq)]
        #[table(name = "People")]
        pub(super) struct Person {
            #[partition_key]
            pub team: String,
            #[row_key]
            pub id: u32,
            pub email: Option<String>,
        }
    }
    member {
        #[derive(TableEntity, Clone, Debug, PartialEq)]
        #[table(name = "People")]
        pub(super) struct Member {
            #[partition_key]
            pub team: String,
            #[row_key]
            pub id: u32,
            pub email: Option<String>,
        }
    }
    member_was_person {
        #[derive(TableEntity, Clone, Debug, PartialEq)]
        #[table(name = "People", was = "Person")]
        pub(super) struct Member {
            #[partition_key]
            pub team: String,
            #[row_key]
            pub id: u32,
            pub email: Option<String>,
        }
    }
    indexed_member {
        #[derive(TableEntity, Clone, Debug, PartialEq)]
        #[table(name = "People")]
        pub(super) struct Member {
            #[partition_key]
            pub team: String,
            #[row_key]
            pub id: u32,
            #[index(email, same_partition)]
            pub email: Option<String>,
        }
    }
    hashed_member {
        #[derive(TableEntity, Clone, Debug, PartialEq)]
        #[table(name = "People")]
        pub(super) struct Member {
            #[partition_key(hash = 4)]
            pub team: String,
            #[row_key]
            pub id: u32,
            pub email: Option<String>,
        }
    }
    hashed_member_was_person {
        #[derive(TableEntity, Clone, Debug, PartialEq)]
        #[table(name = "People", was = "Person")]
        pub(super) struct Member {
            #[partition_key(hash = 4)]
            pub team: String,
            #[row_key]
            pub id: u32,
            pub email: Option<String>,
        }
    }
    pinned {
        #[derive(TableEntity, Clone, Debug, PartialEq)]
        #[table(name = "People", entity = "Person")]
        pub(super) struct TeamMember {
            #[partition_key]
            pub team: String,
            #[row_key]
            pub id: u32,
            pub email: Option<String>,
        }
    }
}

fn person(id: u32) -> person::Person {
    person::Person { team: "a".into(), id, email: None }
}

/// Checks that a program is refused because its layout has changed, with these words.
async fn check_refused<E: TableEntity>(tables: &Tables, words: &[&str]) -> Result<()> {
    let name = type_name::<E>();
    let Err(Error::LayoutChanged(error)) = tables.create::<E>().await else { panic!("{name} does not fit") };
    let text = error.to_string();
    for words in words {
        ensure!(text.contains(words), "{name}: no `{words}` in: {text}");
    }
    Ok(())
}

async fn insert_people(store: &Store, count: u32) -> Result<()> {
    store.tables.create::<person::Person>().await?;
    let people: Vec<_> = (0..count).map(person).collect();
    store.tables.insert_all(&people).await?;
    Ok(())
}

async fn a_renamed_struct_needs_its_earlier_name(store: &Store) -> Result<()> {
    insert_people(store, 250).await?;
    check_refused::<member::Member>(&store.again(), &["`Member` is not recorded", "was = \"Person\"", "kind"]).await?;
    let tables = store.again();
    tables.create::<member_was_person::Member>().await?;
    assert_eq!(member_was_person::Member::by_key("a").count(&tables).await?, 250);
    // Once recorded, the new name needs no attribute.
    store.again().create::<member::Member>().await?;
    Ok(())
}

async fn a_renamed_struct_with_another_key_is_refused_with_and_without_its_earlier_name(store: &Store) -> Result<()> {
    insert_people(store, 250).await?;
    check_refused::<indexed_member::Member>(&store.again(), &["`Member` is not recorded", "`Person`"]).await?;
    check_refused::<hashed_member::Member>(&store.again(), &["`Member` is not recorded", "hash = 4"]).await?;
    let words = ["the primary key of Person", "hash = 4", "migrate"];
    check_refused::<hashed_member_was_person::Member>(&store.again(), &words).await?;
    // The refused programs have recorded nothing.
    store.again().create::<person::Person>().await?;
    check_refused::<member::Member>(&store.again(), &[]).await
}

async fn an_older_program_runs_beside_one_with_a_renamed_struct(store: &Store) -> Result<()> {
    insert_people(store, 1).await?;
    let (older, newer) = (store.again(), store.again());
    for _ in 0..2 {
        newer.create::<member_was_person::Member>().await?;
        older.create::<person::Person>().await?;
    }
    older.insert(&person(1)).await?;
    newer.insert(&member_was_person::Member { team: "a".into(), id: 2, email: None }).await?;
    assert_eq!(person::Person::by_key("a").count(&older).await?, 3);
    assert_eq!(member_was_person::Member::by_key("a").count(&newer).await?, 3);
    Ok(())
}

async fn a_pinned_name_survives_the_name_of_the_struct(store: &Store) -> Result<()> {
    insert_people(store, 3).await?;
    let tables = store.again();
    tables.create::<pinned::TeamMember>().await?;
    assert_eq!(pinned::TeamMember::by_key("a").count(&tables).await?, 3);
    store.again().create::<person::Person>().await?;
    Ok(())
}

versions! {
    alike {
        #[derive(TableEntity)]
        #[table(name = "Shared")]
        pub(super) struct Aaa {
            #[partition_key]
            pub group: String,
            #[row_key]
            pub id: u32,
        }

        #[derive(TableEntity)]
        #[table(name = "shared")]
        pub(super) struct Bbb {
            #[partition_key]
            pub owner: String,
            #[row_key]
            pub number: u32,
        }

        #[derive(TableEntity)]
        #[table(name = "Shared", kind)]
        pub(super) struct OfKind {
            #[partition_key]
            pub group: String,
            #[row_key]
            pub id: u32,
        }
    }
    apart {
        #[derive(TableEntity)]
        #[table(name = "Shared", kind)]
        pub(super) struct Ccc {
            #[partition_key]
            pub group: String,
            #[row_key]
            pub id: u32,
        }

        #[derive(TableEntity)]
        #[table(name = "Shared", kind)]
        pub(super) struct Ddd {
            #[partition_key]
            pub group: String,
            #[row_key]
            pub id: u32,
        }

        #[derive(TableEntity)]
        #[table(name = "Prefixed")]
        pub(super) struct Eee {
            #[partition_key]
            pub group: String,
            #[row_key(prefix = "e-")]
            pub name: String,
        }

        #[derive(TableEntity)]
        #[table(name = "Prefixed")]
        pub(super) struct Fff {
            #[partition_key]
            pub group: String,
            #[row_key(prefix = "f-")]
            pub name: String,
        }

        #[derive(TableEntity)]
        #[table(name = "Shapes")]
        pub(super) struct Master {
            #[partition_key]
            pub group: String,
            #[row_key]
            pub id: u32,
        }

        #[derive(TableEntity)]
        #[table(name = "Shapes")]
        pub(super) struct Item {
            #[partition_key]
            pub group: String,
            #[row_key]
            pub id: u32,
            #[row_key]
            pub number: u32,
        }
    }
}

async fn entities_of_one_key_shape_are_refused_in_one_table(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<alike::Aaa>().await?;
    let words = ["`Bbb` is not recorded", "those of `Aaa`", "#[table(kind)]", "prefix"];
    check_refused::<alike::Bbb>(tables, &words).await?;
    // A struct without a kind would read the rows of one with a kind.
    check_refused::<alike::OfKind>(&store.again(), &["those of `Aaa`"]).await?;
    Ok(())
}

async fn entities_are_told_apart_by_kind_prefix_and_shape(store: &Store) -> Result<()> {
    use apart::{Ccc, Ddd, Eee, Fff, Item, Master};
    for tables in [store.tables.clone(), store.again()] {
        tables.create::<Ccc>().await?;
        tables.create::<Ddd>().await?;
        tables.create::<Eee>().await?;
        tables.create::<Fff>().await?;
        tables.create::<Master>().await?;
        tables.create::<Item>().await?;
    }
    let (tables, group) = (&store.tables, || "a".to_owned());
    tables.insert(&Ccc { group: group(), id: 1 }).await?;
    tables.insert(&Ddd { group: group(), id: 2 }).await?;
    tables.insert(&Eee { group: group(), name: "e-".into() }).await?;
    tables.insert(&Fff { group: group(), name: "e-".into() }).await?;
    tables.insert(&Master { group: group(), id: 1 }).await?;
    tables.insert(&Item { group: group(), id: 1, number: 1 }).await?;
    assert_eq!((Ccc::by_key("a").count(tables).await?, Ddd::by_key("a").count(tables).await?), (1, 1));
    assert_eq!((Eee::by_key("a").count(tables).await?, Fff::by_key("a").count(tables).await?), (1, 1));
    assert_eq!((Master::by_key("a").count(tables).await?, Item::by_key("a").count(tables).await?), (1, 1));
    Ok(())
}

async fn programs_that_begin_at_once_record_layouts_that_fit(store: &Store) -> Result<()> {
    let programs = (0..8).map(|_| async {
        let (plain, hashed) = (store.again(), store.again());
        tokio::join!(plain.create::<alike::Aaa>(), hashed.create::<alike::OfKind>())
    });
    let (mut plain, mut of_kind) = (0, 0);
    for (one, other) in join_all(programs).await {
        for (created, count) in [(one, &mut plain), (other, &mut of_kind)] {
            match created {
                Ok(()) => *count += 1,
                Err(Error::LayoutChanged(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    ensure!((plain, of_kind) == (8, 0) || (plain, of_kind) == (0, 8), "{plain} and {of_kind} programs were accepted");
    Ok(())
}

versions! {
    text_likes {
        #[derive(TableEntity)]
        #[table(name = "Notes")]
        pub(super) struct Note {
            #[partition_key]
            pub author: String,
            #[row_key]
            pub id: u32,
            pub likes: String,
        }
    }
    likes {
        #[derive(TableEntity, Debug, PartialEq)]
        #[table(name = "Notes")]
        pub(super) struct Note {
            #[partition_key]
            pub author: String,
            #[row_key]
            pub id: u32,
            pub likes: i32,
        }
    }
    wide_likes {
        #[derive(TableEntity, Debug, PartialEq)]
        #[table(name = "Notes")]
        pub(super) struct Note {
            #[partition_key]
            pub author: String,
            #[row_key]
            pub id: u32,
            pub likes: i64,
        }
    }
}

async fn a_property_of_another_type_is_refused(store: &Store) -> Result<()> {
    store.tables.create::<likes::Note>().await?;
    let words = ["`Likes`", "Edm.Int32", "Edm.String", "version"];
    check_refused::<text_likes::Note>(&store.again(), &words).await?;
    store.again().create::<likes::Note>().await?;
    Ok(())
}

async fn a_wider_number_runs_beside_the_narrower_one(store: &Store) -> Result<()> {
    let (older, newer) = (store.again(), store.again());
    for _ in 0..2 {
        older.create::<likes::Note>().await?;
        newer.create::<wide_likes::Note>().await?;
    }
    older.insert(&likes::Note { author: "a".into(), id: 1, likes: 7 }).await?;
    newer.insert(&wide_likes::Note { author: "a".into(), id: 2, likes: 8 }).await?;
    assert_eq!(wide_likes::Note::key("a", 1).get(&newer).await?.map(|note| note.likes), Some(7));
    assert_eq!(likes::Note::key("a", 2).get(&older).await?.map(|note| note.likes), Some(8));
    Ok(())
}

versions! {
    mail {
        #[derive(TableEntity, Clone, Debug, PartialEq)]
        #[table(name = "Users")]
        pub(super) struct User {
            #[partition_key]
            pub team: String,
            #[row_key]
            pub id: u32,
            #[index(email, unique)]
            pub email: Option<String>,
        }
    }
    renamed_property {
        #[derive(TableEntity, Clone, Debug, PartialEq)]
        #[table(name = "Users")]
        pub(super) struct User {
            #[partition_key]
            pub team: String,
            #[row_key]
            pub id: u32,
            #[index(email, unique)]
            pub address: Option<String>,
        }
    }
    renamed_field {
        #[derive(TableEntity, Clone, Debug, PartialEq)]
        #[table(name = "Users")]
        pub(super) struct User {
            #[partition_key]
            pub team: String,
            #[row_key]
            pub id: u32,
            #[index(email, unique)]
            #[property(rename = "Email")]
            pub address: Option<String>,
        }
    }
}

async fn a_renamed_property_of_an_indexed_field_is_refused(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<mail::User>().await?;
    tables.insert(&mail::User { team: "a".into(), id: 1, email: Some("a@x.org".into()) }).await?;
    check_refused::<renamed_property::User>(&store.again(), &["the index `email`", "Email", "Address"]).await?;
    let tables = store.again();
    tables.create::<renamed_field::User>().await?;
    assert!(renamed_field::User::by_email("a@x.org").exists(&tables).await?);
    Ok(())
}

/// Declares structs with different predicates of one index.
macro_rules! predicates {
    ($($module:ident [$($when:tt)*])*) => {$(
        mod $module {
            use table_runtime::TableEntity;

            #[derive(TableEntity)]
            #[table(name = "Tasks")]
            #[index(title $($when)*)]
            pub(super) struct Task {
                #[partition_key]
                pub list: String,
                #[row_key]
                pub id: u32,
                pub title: String,
                pub note: String,
            }

            #[allow(dead_code)]
            impl Task {
                fn is_named(title: &str) -> bool {
                    !title.is_empty()
                }

                fn is_long(title: &str) -> bool {
                    title.len() > 10
                }
            }
        }
    )*};
}

predicates! {
    all_tasks []
    named_tasks [, when(title, Task::is_named)]
    long_tasks [, when(title, Task::is_long)]
    noted_tasks [, when(note, Task::is_named)]
}

async fn another_predicate_of_an_index_is_refused(store: &Store) -> Result<()> {
    store.tables.create::<named_tasks::Task>().await?;
    check_refused::<long_tasks::Task>(&store.again(), &["the index `title`", "is_named", "is_long"]).await?;
    check_refused::<noted_tasks::Task>(&store.again(), &["the index `title`", "Title", "Note"]).await?;
    check_refused::<all_tasks::Task>(&store.again(), &["the index `title`", "is_named"]).await?;
    store.again().create::<named_tasks::Task>().await?;
    Ok(())
}

/// An older program may be writing to the empty table, so a new index is not ready at once.
async fn an_index_of_an_entity_that_was_recorded_without_it_is_built(store: &Store) -> Result<()> {
    #[derive(TableEntity)]
    #[table(name = "Users")]
    struct User {
        #[partition_key]
        team: String,
        #[row_key]
        id: u32,
        email: Option<String>,
    }
    let (older, newer) = (store.again(), store.again());
    older.create::<User>().await?;
    newer.create::<mail::User>().await?;
    older.insert(&User { team: "a".into(), id: 1, email: Some("a@x.org".into()) }).await?;
    let refused = mail::User::by_email("a@x.org").get(&newer).await;
    assert!(matches!(refused, Err(Error::IndexBuilding { .. })), "{refused:?}");
    assert!(newer.backfill::<mail::User>("email").await?.ready);
    assert!(mail::User::by_email("a@x.org").exists(&newer).await?);
    Ok(())
}
