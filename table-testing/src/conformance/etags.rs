//! ETags: new with each write, and the same wherever a row is read.

use table_store::{
    ETag, Properties,
    backend::{Action, IfMatch},
};

use super::{
    contract,
    expect::{Checked, Failure, Outcome, ensure, expect, some},
    table::{Table, conditional, number},
};

contract! { "etags":
    each_write_returns_the_etag_of_the_row
    a_delete_returns_no_etag
    each_write_changes_the_etag
    a_refused_write_keeps_the_etag
    a_read_keeps_the_etag
    an_etag_matches_once
    an_etag_that_was_text_matches
    the_etag_of_another_row_does_not_match
}

/// Writes that leave a row, the first of which creates it.
fn writes() -> [Action; 6] {
    [
        Action::Insert(number(1)),
        Action::Upsert(number(1)),
        Action::Replace(number(1), IfMatch::Any),
        Action::Merge(number(1), IfMatch::Any),
        Action::Merge(Properties::default(), IfMatch::Any),
        Action::Upsert(number(1)),
    ]
}

async fn each_write_returns_the_etag_of_the_row(table: &Table<'_>) -> Checked {
    for action in writes() {
        let name = action.name();
        let etag = table.put("r", action).await?;
        expect(format!("the ETag of the row after {name}"), table.row("r").await?.etag, etag.clone())?;
        let rows = table.rows(&table.scan()).await?;
        expect(format!("the ETag in a scan after {name}"), rows.into_iter().map(|row| row.etag).collect(), vec![etag])?;
    }
    Ok(())
}

async fn a_delete_returns_no_etag(table: &Table<'_>) -> Checked {
    table.write("r", Action::Insert(number(1))).await?;
    expect("the answer", table.execute([("r", Action::Delete(IfMatch::Any))]).await?, vec![None])
}

async fn each_write_changes_the_etag(table: &Table<'_>) -> Checked {
    let mut etags: Vec<ETag> = Vec::new();
    for action in writes() {
        let name = action.name();
        let etag = table.put("r", action).await?;
        let is_new = !etags.contains(&etag);
        ensure(is_new, format!("the ETag of {name}: expected one that the row never had, found {etag}"))?;
        etags.push(etag);
    }
    Ok(())
}

async fn a_refused_write_keeps_the_etag(table: &Table<'_>) -> Checked {
    let old = table.put("r", Action::Insert(number(1))).await?;
    let etag = table.put("r", Action::Upsert(number(2))).await?;
    let refused = conditional(&IfMatch::ETag(old)).into_iter().chain([Action::Insert(number(3))]);
    for action in refused {
        let what = format!("the ETag after a refused {}", action.name());
        let outcome = table.outcome("r", action).await;
        ensure(outcome != Outcome::Success, "a write that should fail: expected an error, found success")?;
        expect(what, &table.row("r").await?.etag, &etag)?;
    }
    Ok(())
}

async fn a_read_keeps_the_etag(table: &Table<'_>) -> Checked {
    let etag = table.put("r", Action::Insert(number(1))).await?;
    for _ in 0..2 {
        expect("the ETag", &table.row("r").await?.etag, &etag)?;
        table.rows(&table.scan()).await?;
    }
    Ok(())
}

async fn an_etag_matches_once(table: &Table<'_>) -> Checked {
    let etag = table.put("r", Action::Insert(number(1))).await?;
    let replace = |n| Action::Replace(number(n), IfMatch::ETag(etag.clone()));
    expect("the first replace", table.outcome("r", replace(2)).await, Outcome::Success)?;
    let second = table.outcome("r", replace(3)).await;
    expect("the second replace", second, Outcome::ConditionNotMet(table.id("p", "r")))?;
    expect("the row", table.row("r").await?.properties, number(2))
}

async fn an_etag_that_was_text_matches(table: &Table<'_>) -> Checked {
    let etag = table.put("r", Action::Insert(number(1))).await?;
    let parsed = etag.to_string().parse::<ETag>();
    let parsed = parsed.map_err(|error| Failure::new(format!("the text of the ETag, {etag}: {error}")))?;
    expect("the ETag that was text", &parsed, &etag)?;
    let outcome = table.outcome("r", Action::Replace(number(2), IfMatch::ETag(parsed))).await;
    expect("a replace with it", outcome, Outcome::Success)
}

async fn the_etag_of_another_row_does_not_match(table: &Table<'_>) -> Checked {
    table.write("r", Action::Insert(number(1))).await?;
    let other = some("the ETag", table.write("s", Action::Insert(number(1))).await?)?;
    for action in conditional(&IfMatch::ETag(other)) {
        let name = action.name();
        expect(name, table.outcome("r", action).await, Outcome::ConditionNotMet(table.id("p", "r")))?;
    }
    Ok(())
}
