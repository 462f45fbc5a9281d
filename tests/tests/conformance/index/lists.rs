//! Indexes whose rows hold lists of ids.

#![allow(clippy::duplicated_attributes, reason = "indexes of one struct share options")]

use std::sync::Mutex;

use anyhow::{Context, Result};
use table_runtime::{
    Error, TableEntity, Tables,
    backend::{Action, BackendExt, Group, IfMatch, Operation},
    row::{Properties, ValueRef},
};
use tests::stores::Store;

use super::{
    fixtures::{Person, insert_people},
    planted::{Employee, Meddling, employee, group, ids, list, plant, put_entity, put_list, upsert},
};
use crate::fixtures::findings;

crate::conformance! {
    a_page_may_end_within_a_list
    all_rows_of_a_long_list_are_read
    a_list_that_changes_while_it_is_read_is_read_again
    overflowing_lists_are_written_completely_or_not_at_all
    a_list_with_a_missing_row_can_be_written
}

async fn a_page_may_end_within_a_list(store: &Store) -> Result<()> {
    plant(store, 11..=15).await?;
    let (tables, query) = (&store.tables, || Employee::by_book("Sales"));
    let jones = Employee { last_name: "Young".to_owned(), ..employee(3) };
    put_entity(store, &jones, None).await?;
    put_list(store, "book-young", &[3], None).await?;
    let page = query().page(tables, 2, None).await?;
    assert_eq!(ids(&page.entities), [11, 12]);
    // An entity already returned leaves the list. One is added before the cursor and one after it.
    for id in [10, 16] {
        put_entity(store, &employee(id), None).await?;
    }
    put_list(store, "book-smith", &[10, 11, 13, 14, 15, 16], None).await?;
    let page = query().page(tables, 3, page.next.as_deref()).await?;
    assert_eq!(ids(&page.entities), [13, 14, 15]);
    let page = query().page(tables, 3, page.next.as_deref()).await?;
    assert_eq!((ids(&page.entities), page.next), (vec![16, 3], None));
    Ok(())
}

async fn all_rows_of_a_long_list_are_read(store: &Store) -> Result<()> {
    plant(store, 11..=15).await?;
    let (tables, query) = (&store.tables, || Employee::by_book("Sales"));
    put_list(store, "book-smith", &[11, 12], Some(3)).await?;
    put_list(store, "~2~book-smith", &[13], None).await?;
    put_list(store, "~3~book-smith", &[14, 15], None).await?;
    store.probe.requests();
    assert_eq!(ids(&query().all(tables).await?), [11, 12, 13, 14, 15]);
    // It reads a page, the two further rows, the first row again, and the entities.
    assert_eq!(store.probe.requests(), 1 + 2 + 1 + 5);
    assert_eq!(query().count_unchecked(tables).await?, 5);
    assert_eq!(store.probe.requests(), 1 + 2 + 1);
    let page = query().page(tables, 3, None).await?;
    assert_eq!(ids(&page.entities), [11, 12, 13]);
    let page = query().page(tables, 3, page.next.as_deref()).await?;
    assert_eq!((ids(&page.entities), page.next), (vec![14, 15], None));

    let delete = Action::Delete(IfMatch::Any);
    store.backend.execute_group(&group("Employees", ("Sales", "~2~book-smith"), delete)).await?;
    let error = query().all(tables).await.expect_err("a row is missing");
    assert!(error.to_string().contains("`IndexedRows`: expected as many rows of the list"), "{error}");
    Ok(())
}

async fn a_list_that_changes_while_it_is_read_is_read_again(store: &Store) -> Result<()> {
    plant(store, 11..=14).await?;
    put_list(store, "book-smith", &[12, 13], Some(2)).await?;
    put_list(store, "~2~book-smith", &[14], None).await?;
    // An id is added, and another moves to the next row. The two rows are thus read in different states.
    let writes = vec![
        group("Employees", ("Sales", "book-smith"), upsert(list(&[11, 12], Some(2)))),
        group("Employees", ("Sales", "~2~book-smith"), upsert(list(&[13, 14], None))),
    ];
    let meddling = Meddling { inner: store.backend.clone(), row_key: "~2~book-smith", writes: Mutex::new(writes) };
    let tables = Tables::new(meddling);
    assert_eq!(ids(&Employee::by_book("Sales").all(&tables).await?), [11, 12, 13, 14]);
    Ok(())
}

/// Declares a word that is in several lists.
macro_rules! listed {
    ($name:ident: $($list:ident)+) => {
        #[derive(TableEntity, Clone, Debug, PartialEq)]
        #[table(name = "Words")]
        struct $name {
            #[partition_key]
            language: String,
            #[row_key]
            id: String,
            $(
                #[index($list, same_partition, list)]
                $list: u8,
            )+
        }

        impl $name {
            fn new(id: String, value: u8) -> Self {
                Self { language: "de".into(), id, $($list: value),+ }
            }
        }
    };
}

listed! { Word: only }
listed! { Listed:
    a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 c0 c1 c2 c3 c4 c5 c6 c7 c8 c9 d0 d1 d2 d3 d4 d5 d6 d7
    d8 d9 e0 e1 e2 e3 e4 e5 e6 e7 e8
}

async fn overflowing_lists_are_written_completely_or_not_at_all(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Word>().await?;
    // The longest ids: 512 units with the prefix. 63 of them fill a row.
    let id = |number: u32| format!("{number:0509}");
    tables.insert_all((0..200).map(|number| Word::new(id(number), 1))).await?;
    assert_eq!(Word::by_only("de").eq(1).count(tables).await?, 200);
    tables.upsert_all((0..150).map(|number| Word::new(id(number), 2))).await?;
    assert_eq!(Word::by_only("de").eq(1).count(tables).await?, 50);
    assert_eq!(Word::by_only("de").eq(2).count(tables).await?, 150);
    assert_eq!(findings::<Word>(store).await?, []);
    store.clean().await?;

    // There are 49 lists, each with room for one more id.
    tables.create::<Listed>().await?;
    let full: Vec<_> = (0..62).map(|number| format!("id-{}", id(number))).collect();
    let text = serde_json::to_string(&full)?;
    for row_key in &full {
        let mut properties = Properties::default();
        Listed::INFO.layouts[1..]
            .iter()
            .for_each(|list| properties.push(&list.name.to_uppercase(), ValueRef::Int32(1)));
        store.write("Words", ("de", row_key), Action::Insert(properties)).await?;
    }
    for layout in &Listed::INFO.layouts[1..] {
        let mut properties = Properties::default();
        properties.push("IndexedEntities", ValueRef::String(&text));
        let row_key = format!("{}-001", layout.name);
        store.write("Words", ("de", &row_key), Action::Insert(properties)).await?;
    }
    assert_eq!(Listed::by_e8("de").eq(1).count(tables).await?, 62);
    // After that, one more entity needs a second row in each list: 99 operations with its own row.
    tables.insert(&Listed::new(id(62), 1)).await?;
    tables.insert(&Listed::new(id(63), 1)).await?;
    let rows = store.rows("Words").await?;
    assert_eq!(rows.iter().filter(|row| row.row_key.starts_with("~2~")).count(), 49);
    // An entity that moves out of each list's first row changes those rows and writes the lists of its new value.
    let mut first = Listed::key("de", &full[0][3..]).get(tables).await?.context("the word")?;
    *first = Listed::new(id(0), 2);
    tables.update(&mut first).await?;
    assert_eq!(findings::<Listed>(store).await?, []);
    // An entity that moves out of each list's second row changes both rows: more than a transaction holds.
    let rows = store.rows("Words").await?;
    let mut last = Listed::key("de", &*id(63)).get(tables).await?.context("the word")?;
    *last = Listed::new(id(63), 2);
    let Err(Error::Limit(limit)) = tables.update(&mut last).await else {
        panic!("more operations than a transaction holds")
    };
    assert_eq!((limit.table.as_str(), limit.limit), ("Words", "100 operations, those on index rows included"));
    assert_eq!(store.rows("Words").await?, rows);
    assert_eq!(findings::<Listed>(store).await?, []);
    Ok(())
}

async fn a_list_with_a_missing_row_can_be_written(store: &Store) -> Result<()> {
    let tables = &store.tables;
    let all = insert_people(store).await?;
    // Another program has deleted the second row of a list.
    let first = &all[0];
    let mut rows = Properties::default();
    rows.push("IndexedRows", ValueRef::Int32(2));
    let row_key = format!("namesakes-{}", first.last_name.to_lowercase());
    let operations = vec![Operation { row_key, action: Action::Merge(rows, IfMatch::Any) }];
    let group = Group { table: "People".into(), partition_key: first.team.clone(), operations };
    store.backend.execute_group(&group).await?;
    let mut stored = Person::key(&first.team, first.id).get(tables).await?.expect("it was inserted");
    stored.last_name = "Other".into();
    tables.update(&mut stored).await?;
    tables.repair::<Person>().await?;
    assert_eq!(findings::<Person>(store).await?, []);
    for person in &all {
        tables.remove(Person::key(&person.team, person.id)).await?;
    }
    assert_eq!(Person::by_namesakes(&first.team).count(tables).await?, 0);
    assert_eq!(findings::<Person>(store).await?, []);
    Ok(())
}
