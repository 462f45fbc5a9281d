//! Transactions that span partitions and tables. A backend whose transactions span one partition has none.

use table_store::{
    ETag,
    backend::{Action, BackendExt, FailedGroup, IfMatch, Reach},
};

use super::{
    contract,
    expect::{Checked, Failure, Outcome, contents, expect},
    table::{Table, number},
};

contract! { "spanning":
    a_transaction_may_span_partitions_and_tables
    a_spanning_transaction_that_fails_writes_nothing
    a_spanning_transaction_names_the_group_that_failed
    a_spanning_transaction_on_a_missing_table_writes_nothing
}

/// Returns true if the transactions of the backend span one partition.
fn spans_a_partition(table: &Table<'_>) -> bool {
    table.backend.describe().reach == Reach::Partition
}

/// Returns the position of the group that failed, and the outcome.
fn failure(result: Result<Vec<Option<ETag>>, FailedGroup>) -> (usize, Outcome) {
    match result {
        Ok(etags) => (0, Outcome::of(Ok(etags))),
        Err(FailedGroup { group, error }) => (group, Outcome::of::<()>(Err(error))),
    }
}

/// Runs a case with a second table.
async fn with_other(table: &Table<'_>, case: impl AsyncFnOnce(&Table<'_>) -> Checked) -> Checked {
    let other = Table::create(table.backend).await?;
    let checked = case(&other).await;
    other.delete().await?;
    checked
}

async fn a_transaction_may_span_partitions_and_tables(table: &Table<'_>) -> Checked {
    if spans_a_partition(table) {
        return Ok(());
    }
    with_other(table, async |other| {
        table.fill(&[("p", "deleted"), ("q", "merged")]).await?;
        let groups = [
            table.group("p", [("deleted", Action::Delete(IfMatch::Any)), ("new", Action::Insert(number(2)))]),
            other.group("p", [("new", Action::Upsert(number(3)))]),
            table.group("q", [("merged", Action::Merge(number(4), IfMatch::Any))]),
        ];
        let etags = table.backend.execute(&groups).await.map_err(|failed| Failure::from(failed.error))?;
        let mut expected = vec![None];
        for (table, partition_key, row_key, left) in
            [(table, "p", "new", 2), (other, "p", "new", 3), (table, "q", "merged", 4)]
        {
            let row = table.backend.get(&table.name, partition_key, row_key, None).await?;
            let what = format!("the row `{row_key}` of the partition `{partition_key}`");
            let found = row.as_ref().map(|row| contents(row.properties.as_ref()));
            expect(what, found, Some(contents(&number(left))))?;
            expected.push(row.map(|row| row.etag));
        }
        expect("the row that was deleted", table.get("deleted").await?, None)?;
        expect("the ETags, in the order of the groups", etags, expected)
    })
    .await
}

async fn a_spanning_transaction_that_fails_writes_nothing(table: &Table<'_>) -> Checked {
    if spans_a_partition(table) {
        return Ok(());
    }
    with_other(table, async |other| {
        table.fill(&[("p", "deleted"), ("q", "taken")]).await?;
        let before = table.rows(&table.scan()).await?;
        for at in 0..3 {
            let mut groups = vec![
                table.group("p", [("deleted", Action::Delete(IfMatch::Any)), ("new", Action::Insert(number(2)))]),
                other.group("p", [("new", Action::Insert(number(3)))]),
            ];
            groups.insert(at, table.group("q", [("taken", Action::Insert(number(4)))]));
            let expected = (at, Outcome::AlreadyExists(table.id("q", "taken")));
            let what = format!("a transaction whose group {at} fails");
            expect(&what, failure(table.backend.execute(&groups).await), expected)?;
            expect(format!("the rows after {what}"), table.rows(&table.scan()).await?, before.clone())?;
            expect(format!("the rows of the other table after {what}"), other.rows(&other.scan()).await?, Vec::new())?;
        }
        Ok(())
    })
    .await
}

async fn a_spanning_transaction_names_the_group_that_failed(table: &Table<'_>) -> Checked {
    if spans_a_partition(table) {
        return Ok(());
    }
    with_other(table, async |other| {
        // The same keys in two tables.
        table.fill(&[("p", "r")]).await?;
        let old = table.row("r").await?.etag;
        other.fill(&[("p", "r")]).await?;
        let groups = [
            table.group("p", [("r", Action::Upsert(number(2)))]),
            other.group("p", [("r", Action::Replace(number(2), IfMatch::ETag(old)))]),
        ];
        let expected = (1, Outcome::ConditionNotMet(other.id("p", "r")));
        expect("a condition of the second group", failure(table.backend.execute(&groups).await), expected)?;
        let groups = [
            other.group("p", [("missing", Action::Delete(IfMatch::Any))]),
            table.group("p", [("missing", Action::Delete(IfMatch::Any))]),
        ];
        let expected = (0, Outcome::NotFound(other.id("p", "missing")));
        expect("the first of two groups that fail", failure(table.backend.execute(&groups).await), expected)
    })
    .await
}

async fn a_spanning_transaction_on_a_missing_table_writes_nothing(table: &Table<'_>) -> Checked {
    if spans_a_partition(table) {
        return Ok(());
    }
    let missing = Table::missing(table.backend)?;
    let groups = [
        table.group("p", [("new", Action::Insert(number(1)))]),
        missing.group("p", [("new", Action::Insert(number(1)))]),
    ];
    let expected = (1, Outcome::TableNotFound(missing.name.clone()));
    expect("a transaction on a missing table", failure(table.backend.execute(&groups).await), expected)?;
    expect("the row of the other group", table.get("new").await?, None)
}
