//! Writes of single rows, with and without a condition.

use table_store::{
    ETag, Error, Properties, ValueRef,
    backend::{Action, IfMatch},
};

use super::{
    contract,
    expect::{Checked, Outcome, Seen, contents, ensure, expect},
    table::{Table, both, conditional, number, owned, text},
};

contract! { "writes":
    an_insert_writes_a_new_row
    an_insert_of_an_existing_row_changes_nothing
    an_upsert_writes_a_new_row
    an_upsert_replaces_the_whole_row
    a_replace_leaves_no_old_property
    a_replace_with_the_current_etag_is_applied
    a_replace_with_an_old_etag_changes_nothing
    a_replace_of_a_missing_row_writes_nothing
    a_merge_keeps_the_other_properties
    a_merge_may_change_the_type_of_a_property
    a_merge_of_nothing_keeps_the_row
    a_merge_with_the_current_etag_is_applied
    a_merge_with_an_old_etag_changes_nothing
    a_merge_of_a_missing_row_writes_nothing
    a_merge_that_would_leave_too_many_properties_changes_nothing
    a_delete_removes_the_row
    a_delete_with_the_current_etag_is_applied
    a_delete_with_an_old_etag_changes_nothing
    a_delete_of_a_missing_row_is_an_error
    a_row_may_be_inserted_again_after_its_deletion
    a_row_may_have_no_properties
    a_write_changes_no_other_row
}

async fn an_insert_writes_a_new_row(table: &Table<'_>) -> Checked {
    table.write("r", Action::Insert(both(1, "x"))).await?;
    expect("the row", table.contents("r").await?, Some(contents(&both(1, "x"))))
}

async fn an_insert_of_an_existing_row_changes_nothing(table: &Table<'_>) -> Checked {
    table.write("r", Action::Insert(number(1))).await?;
    let before = Seen::from(&table.row("r").await?);
    let outcome = table.outcome("r", Action::Insert(text("x"))).await;
    expect("the second insert", outcome, Outcome::AlreadyExists(table.id("p", "r")))?;
    expect("the row after it", Seen::from(&table.row("r").await?), before)
}

async fn an_upsert_writes_a_new_row(table: &Table<'_>) -> Checked {
    table.write("r", Action::Upsert(both(1, "x"))).await?;
    expect("the row", table.contents("r").await?, Some(contents(&both(1, "x"))))
}

async fn an_upsert_replaces_the_whole_row(table: &Table<'_>) -> Checked {
    table.write("r", Action::Insert(both(1, "x"))).await?;
    table.write("r", Action::Upsert(number(2))).await?;
    expect("the row", table.contents("r").await?, Some(contents(&number(2))))
}

async fn a_replace_leaves_no_old_property(table: &Table<'_>) -> Checked {
    table.write("r", Action::Insert(both(1, "x"))).await?;
    table.write("r", Action::Replace(number(2), IfMatch::Any)).await?;
    expect("the row", table.contents("r").await?, Some(contents(&number(2))))
}

async fn a_replace_with_the_current_etag_is_applied(table: &Table<'_>) -> Checked {
    let etag = table.put("r", Action::Insert(both(1, "x"))).await?;
    table.write("r", Action::Replace(number(2), IfMatch::ETag(etag))).await?;
    expect("the row", table.contents("r").await?, Some(contents(&number(2))))
}

async fn a_replace_with_an_old_etag_changes_nothing(table: &Table<'_>) -> Checked {
    changes_nothing(table, |old| Action::Replace(text("x"), IfMatch::ETag(old))).await
}

async fn a_replace_of_a_missing_row_writes_nothing(table: &Table<'_>) -> Checked {
    writes_nothing(table, |condition| Action::Replace(number(2), condition)).await
}

async fn a_merge_keeps_the_other_properties(table: &Table<'_>) -> Checked {
    table.write("r", Action::Insert(both(1, "x"))).await?;
    let mut changes = number(2);
    changes.push("New", ValueRef::Boolean(true));
    table.write("r", Action::Merge(changes, IfMatch::Any)).await?;
    let mut expected = both(2, "x");
    expected.push("New", ValueRef::Boolean(true));
    expect("the row", table.contents("r").await?, Some(contents(&expected)))
}

async fn a_merge_may_change_the_type_of_a_property(table: &Table<'_>) -> Checked {
    table.write("r", Action::Insert(both(1, "x"))).await?;
    let mut changes = Properties::default();
    changes.push("Number", ValueRef::String("one"));
    table.write("r", Action::Merge(changes, IfMatch::Any)).await?;
    let mut expected = text("x");
    expected.push("Number", ValueRef::String("one"));
    expect("the row", table.contents("r").await?, Some(contents(&expected)))
}

async fn a_merge_of_nothing_keeps_the_row(table: &Table<'_>) -> Checked {
    table.write("r", Action::Insert(both(1, "x"))).await?;
    table.write("r", Action::Merge(Properties::default(), IfMatch::Any)).await?;
    expect("the row", table.contents("r").await?, Some(contents(&both(1, "x"))))
}

async fn a_merge_with_the_current_etag_is_applied(table: &Table<'_>) -> Checked {
    let etag = table.put("r", Action::Insert(both(1, "x"))).await?;
    table.write("r", Action::Merge(number(2), IfMatch::ETag(etag))).await?;
    expect("the row", table.contents("r").await?, Some(contents(&both(2, "x"))))
}

async fn a_merge_with_an_old_etag_changes_nothing(table: &Table<'_>) -> Checked {
    changes_nothing(table, |old| Action::Merge(text("x"), IfMatch::ETag(old))).await
}

async fn a_merge_of_a_missing_row_writes_nothing(table: &Table<'_>) -> Checked {
    writes_nothing(table, |condition| Action::Merge(number(2), condition)).await
}

async fn a_merge_that_would_leave_too_many_properties_changes_nothing(table: &Table<'_>) -> Checked {
    let many = |first: usize| {
        let mut properties = Properties::default();
        (first..first + 200).for_each(|n| properties.push(&format!("P{n}"), ValueRef::Boolean(true)));
        properties
    };
    table.write("r", Action::Insert(many(0))).await?;
    // No caller can check this before: it depends on the row.
    let result = table.write("r", Action::Merge(many(200), IfMatch::Any)).await;
    ensure(
        matches!(result, Err(Error::Limit(_) | Error::Service(_))),
        format!("a merge that would leave 400 properties: expected Error::Limit or Service, found {result:?}"),
    )?;
    expect("the row after it", table.contents("r").await?, Some(contents(&many(0))))
}

async fn a_delete_removes_the_row(table: &Table<'_>) -> Checked {
    table.write("r", Action::Insert(number(1))).await?;
    table.write("r", Action::Delete(IfMatch::Any)).await?;
    expect("the row", table.get("r").await?, None)?;
    expect("a scan", table.row_keys(&table.scan()).await?, Vec::new())
}

async fn a_delete_with_the_current_etag_is_applied(table: &Table<'_>) -> Checked {
    let etag = table.put("r", Action::Insert(number(1))).await?;
    table.write("r", Action::Delete(IfMatch::ETag(etag))).await?;
    expect("the row", table.get("r").await?, None)
}

async fn a_delete_with_an_old_etag_changes_nothing(table: &Table<'_>) -> Checked {
    changes_nothing(table, |old| Action::Delete(IfMatch::ETag(old))).await
}

async fn a_delete_of_a_missing_row_is_an_error(table: &Table<'_>) -> Checked {
    writes_nothing(table, Action::Delete).await
}

async fn a_row_may_be_inserted_again_after_its_deletion(table: &Table<'_>) -> Checked {
    let old = table.put("r", Action::Insert(number(1))).await?;
    table.write("r", Action::Delete(IfMatch::Any)).await?;
    table.write("r", Action::Insert(number(2))).await?;
    for action in conditional(&IfMatch::ETag(old)) {
        let what = format!("{} with the ETag of the deleted row", action.name());
        expect(what, table.outcome("r", action).await, Outcome::ConditionNotMet(table.id("p", "r")))?;
    }
    expect("the new row", table.contents("r").await?, Some(contents(&number(2))))
}

async fn a_row_may_have_no_properties(table: &Table<'_>) -> Checked {
    table.write("r", Action::Insert(Properties::default())).await?;
    expect("the row", table.contents("r").await?, Some(contents(&Properties::default())))?;
    expect("a scan", table.row_keys(&table.scan()).await?, owned(&["r"]))
}

async fn a_write_changes_no_other_row(table: &Table<'_>) -> Checked {
    table.fill(&[("p", "r"), ("p", "s"), ("q", "r")]).await?;
    let others = async || {
        let rows = table.rows(&table.scan()).await?;
        let is_other = |seen: &Seen| seen.keys != ("p".to_owned(), "r".to_owned());
        Ok::<_, super::Failure>(rows.iter().map(Seen::from).filter(is_other).collect::<Vec<_>>())
    };
    let before = others().await?;
    let [replace, merge, delete] = conditional(&IfMatch::Any);
    for action in [Action::Upsert(number(9)), replace, merge, delete, Action::Insert(number(9))] {
        let name = action.name();
        table.write("r", action).await?;
        expect(format!("the other rows after {name}"), others().await?, before.clone())?;
    }
    Ok(())
}

/// Checks that a write with an old ETag is refused and changes nothing.
async fn changes_nothing(table: &Table<'_>, action: impl Fn(ETag) -> Action) -> Checked {
    let old = table.put("r", Action::Insert(number(1))).await?;
    table.write("r", Action::Replace(number(2), IfMatch::ETag(old.clone()))).await?;
    let before = Seen::from(&table.row("r").await?);
    let outcome = table.outcome("r", action(old)).await;
    expect("the write with an old ETag", outcome, Outcome::ConditionNotMet(table.id("p", "r")))?;
    let after = table.get("r").await?;
    expect("the row after it", after.as_ref().map(Seen::from), Some(before))
}

/// Checks that a write to a missing row is refused and writes nothing.
async fn writes_nothing(table: &Table<'_>, action: impl Fn(IfMatch) -> Action) -> Checked {
    let other = table.put("other", Action::Insert(number(1))).await?;
    for condition in [IfMatch::Any, IfMatch::ETag(other)] {
        let what = format!("the write to a missing row with {condition:?}");
        let outcome = table.outcome("r", action(condition)).await;
        expect(what, outcome, Outcome::NotFound(table.id("p", "r")))?;
        expect("the row after it", table.get("r").await?, None)?;
    }
    Ok(())
}
