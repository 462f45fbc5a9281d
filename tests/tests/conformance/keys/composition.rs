//! Composite row keys: a parent's key followed by the child's.

use anyhow::Result;
use table_runtime::TableEntity;
use tests::stores::Store;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::fixtures::at;

crate::conformance! {
    eq_on_the_parent_returns_exactly_its_children
    children_of_the_newest_parents_come_first
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
