//! Composite row keys: a parent's key followed by the child's.

use std::ops::Bound;

use anyhow::Result;
use table_runtime::{Stored, TableEntity};
use tests::stores::Store;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::fixtures::at;

crate::conformance! {
    eq_on_the_parent_returns_exactly_its_children
    children_of_the_newest_parents_come_first
    children_of_the_newest_ids_come_first
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Children")]
struct Child {
    #[partition_key]
    user: String,
    #[row_key]
    parent: String,
    #[row_key]
    id: String,
}

/// Ids with delimiters and escapes, and ids that are prefixes of others.
const IDS: [&str; 15] =
    ["", " ", "!", "_", "a", "a ", "a b", "a!", "a_", "a_b", "ab", "a~", "~", "!20", "a\u{FFFF}\u{10000}"];

async fn eq_on_the_parent_returns_exactly_its_children(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Child>().await?;
    for parent in IDS {
        for id in IDS {
            tables.insert(&Child { user: "u".into(), parent: parent.into(), id: id.into() }).await?;
        }
    }
    for parent in IDS {
        let mut found = Child::by_key("u").eq(parent).all(tables).await?;
        assert!(found.iter().all(|child| child.parent == parent), "{parent:?}: {found:?}");
        found.sort_by(|left, right| left.id.cmp(&right.id));
        let mut ids = IDS;
        ids.sort_unstable();
        assert_eq!(found.iter().map(|child| child.id.as_str()).collect::<Vec<_>>(), ids, "{parent:?}");
        for id in IDS {
            assert!(Child::by_key("u").eq(parent).eq(id).exists(tables).await?, "{parent:?} {id:?}");
        }
    }
    Ok(())
}

/// Item in a table of its own.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Receipts")]
struct Receipt {
    #[partition_key]
    user: String,
    #[row_key(reverse_time)]
    filed: OffsetDateTime,
    #[row_key]
    expense: Uuid,
    #[row_key]
    number: u32,
}

async fn children_of_the_newest_parents_come_first(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Receipt>().await?;
    for number in [2, 3, 1] {
        for expense in [1, 2, 3] {
            let id = Uuid::from_u128(expense.into());
            tables.insert(&Receipt { user: "u".into(), filed: at(expense), expense: id, number }).await?;
        }
    }
    let found = Receipt::by_key("u").all(tables).await?;
    let expected = [3, 2, 1].into_iter().flat_map(|expense| [1, 2, 3].map(|number| (at(expense), number)));
    assert!(found.iter().map(|receipt| (receipt.filed, receipt.number)).eq(expected), "{found:?}");
    let one = Receipt::by_key("u").eq(at(2)).eq(Uuid::from_u128(2)).all(tables).await?;
    assert!(one.len() == 3 && one.iter().all(|receipt| receipt.filed == at(2)));
    assert_eq!(Receipt::by_key("u").eq(at(2)).eq(Uuid::nil()).count(tables).await?, 0);
    Ok(())
}

/// Part of a message. Ids of version 7 begin with a time.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Messages")]
#[index(answers, same_partition, row(answer_to(reverse)))]
struct Message {
    #[partition_key]
    user: String,
    #[row_key(reverse)]
    id: Uuid,
    #[row_key]
    part: u8,
    answer_to: Uuid,
}

fn sent(millisecond: u64) -> Uuid {
    uuid::Builder::from_unix_timestamp_millis(millisecond, &[7; 10]).into_uuid()
}

/// Checks that the messages were sent at these times, in this order, with two parts each.
fn assert_sent(messages: &[Stored<Message>], times: &[u64]) {
    let expected = times.iter().flat_map(|time| [1, 2].map(|part| (sent(*time), part)));
    assert!(messages.iter().map(|message| (message.id, message.part)).eq(expected), "{times:?}: {messages:?}");
}

async fn children_of_the_newest_ids_come_first(store: &Store) -> Result<()> {
    let tables = &store.tables;
    tables.create::<Message>().await?;
    for part in [2, 1] {
        for time in [2, 3, 1] {
            tables.insert(&Message { user: "u".into(), id: sent(time), part, answer_to: sent(4 - time) }).await?;
        }
    }
    let query = || Message::by_key("u");
    assert_sent(&query().all(tables).await?, &[3, 2, 1]);
    assert_sent(&query().take(4).all(tables).await?, &[3, 2]);
    assert_sent(&query().eq(sent(2)).all(tables).await?, &[2]);
    assert_sent(&query().range(sent(1)..sent(3)).all(tables).await?, &[2, 1]);
    assert_sent(&query().range(sent(2)..).all(tables).await?, &[3, 2]);
    assert_sent(&query().range(..=sent(2)).all(tables).await?, &[2, 1]);
    assert_sent(&query().range((Bound::Excluded(sent(1)), Bound::Included(sent(3)))).all(tables).await?, &[3, 2]);
    assert_sent(&query().range(Uuid::nil()..=Uuid::max()).all(tables).await?, &[3, 2, 1]);
    assert_sent(&query().range(sent(3)..sent(1)).all(tables).await?, &[]);

    let page = query().range(sent(1)..).page(tables, 4, None).await?;
    assert_sent(&page.entities, &[3, 2]);
    let rest = query().range(sent(1)..).page(tables, 4, page.next.as_deref()).await?;
    assert_sent(&rest.entities, &[1]);

    assert_eq!(Message::key("u", sent(3), 2).get(tables).await?.map(|message| message.answer_to), Some(sent(1)));
    let answers = || Message::by_answers("u");
    assert_sent(&answers().all(tables).await?, &[1, 2, 3]);
    assert_sent(&answers().eq(sent(3)).all(tables).await?, &[1]);
    assert_sent(&answers().range(sent(2)..).all(tables).await?, &[1, 2]);
    Ok(())
}
