//! Groups: all operations or none.

use table_store::{
    Properties, ValueRef,
    backend::{Action, BackendExt, IfMatch},
};

use super::{
    contract,
    expect::{Checked, Outcome, contents, expect},
    table::{PARTITION, Table, both, conditional, number, owned},
};

contract! { "groups":
    a_group_applies_each_operation
    a_group_returns_the_etags_in_its_order
    a_failed_group_writes_nothing
    a_failed_group_names_the_operation_that_failed
    a_failed_condition_in_a_group_writes_nothing
    a_missing_row_in_a_group_is_not_inserted
    the_first_operation_that_fails_is_named
    a_group_may_follow_a_failed_one
    a_group_has_up_to_a_hundred_operations
    a_group_may_have_three_mebibytes
    a_group_may_have_keys_of_all_kinds
    a_group_writes_its_partition_only
}

async fn a_group_applies_each_operation(table: &Table<'_>) -> Checked {
    for row_key in ["deleted", "deleted_any", "merged", "replaced", "upserted"] {
        table.write(row_key, Action::Insert(both(1, "x"))).await?;
    }
    let etag = table.row("deleted").await?.etag;
    let merged = table.row("merged").await?.etag;
    table
        .execute([
            ("upserted", Action::Upsert(number(2))),
            ("inserted", Action::Insert(number(2))),
            ("deleted", Action::Delete(IfMatch::ETag(etag))),
            ("merged", Action::Merge(number(2), IfMatch::ETag(merged))),
            ("replaced", Action::Replace(number(2), IfMatch::Any)),
            ("deleted_any", Action::Delete(IfMatch::Any)),
            ("new", Action::Upsert(number(2))),
        ])
        .await?;
    for row_key in ["deleted", "deleted_any"] {
        expect(format!("the row `{row_key}`"), table.get(row_key).await?, None)?;
    }
    for row_key in ["inserted", "new", "replaced", "upserted"] {
        let found = table.contents(row_key).await?;
        expect(format!("the row `{row_key}`"), found, Some(contents(&number(2))))?;
    }
    expect("the row `merged`", table.contents("merged").await?, Some(contents(&both(2, "x"))))
}

async fn a_group_returns_the_etags_in_its_order(table: &Table<'_>) -> Checked {
    table.fill(&[("p", "a"), ("p", "b")]).await?;
    let etags = table
        .execute([
            ("d", Action::Insert(number(2))),
            ("a", Action::Delete(IfMatch::Any)),
            ("c", Action::Upsert(number(2))),
            ("b", Action::Merge(number(2), IfMatch::Any)),
        ])
        .await?;
    let (d, c, b) = (table.row("d").await?.etag, table.row("c").await?.etag, table.row("b").await?.etag);
    expect("the ETags", etags, vec![Some(d), None, Some(c), Some(b)])
}

async fn a_failed_group_writes_nothing(table: &Table<'_>) -> Checked {
    table.fill(&[("p", "deleted"), ("p", "replaced"), ("p", "taken")]).await?;
    let before = table.rows(&table.scan()).await?;
    for at in 0..4 {
        let mut operations = vec![
            ("deleted", Action::Delete(IfMatch::Any)),
            ("new", Action::Insert(number(9))),
            ("replaced", Action::Replace(number(9), IfMatch::Any)),
        ];
        operations.insert(at, ("taken", Action::Insert(number(9))));
        let outcome = Outcome::of(table.execute(operations).await);
        let what = format!("a group whose operation {at} fails");
        expect(&what, outcome, Outcome::AlreadyExists(table.id(PARTITION, "taken")))?;
        expect(format!("the rows after {what}"), table.rows(&table.scan()).await?, before.clone())?;
    }
    Ok(())
}

async fn a_failed_group_names_the_operation_that_failed(table: &Table<'_>) -> Checked {
    table.write("taken", Action::Insert(number(1))).await?;
    for at in [0, 1, 9, 10] {
        let mut names: Vec<_> = (0..10).map(|n| format!("r{n}")).collect();
        names.insert(at, "taken".to_owned());
        let outcome = Outcome::of(table.execute(names.into_iter().map(|name| (name, Action::Insert(number(2))))).await);
        let expected = Outcome::AlreadyExists(table.id(PARTITION, "taken"));
        expect(format!("a group whose operation {at} fails"), outcome, expected)?;
    }
    Ok(())
}

async fn a_failed_condition_in_a_group_writes_nothing(table: &Table<'_>) -> Checked {
    let old = table.put("r", Action::Insert(number(1))).await?;
    table.write("r", Action::Upsert(number(2))).await?;
    for action in conditional(&IfMatch::ETag(old)) {
        let name = action.name();
        let outcome = Outcome::of(table.execute([("other", Action::Upsert(number(3))), ("r", action)]).await);
        expect(name, outcome, Outcome::ConditionNotMet(table.id(PARTITION, "r")))?;
        expect("the row of the other operation", table.get("other").await?, None)?;
        expect("the row", table.contents("r").await?, Some(contents(&number(2))))?;
    }
    Ok(())
}

async fn a_missing_row_in_a_group_is_not_inserted(table: &Table<'_>) -> Checked {
    let other = table.put("there", Action::Insert(number(1))).await?;
    for condition in [IfMatch::Any, IfMatch::ETag(other)] {
        for action in conditional(&condition) {
            let name = action.name();
            let outcome = Outcome::of(table.execute([("other", Action::Upsert(number(3))), ("r", action)]).await);
            expect(name, outcome, Outcome::NotFound(table.id(PARTITION, "r")))?;
            expect("the rows after it", table.row_keys(&table.scan()).await?, owned(&["there"]))?;
        }
    }
    Ok(())
}

async fn the_first_operation_that_fails_is_named(table: &Table<'_>) -> Checked {
    table.write("b", Action::Insert(number(1))).await?;
    // The order of the operations counts, not the order of the keys.
    let group = [
        ("c", Action::Insert(number(2))),
        ("z", Action::Delete(IfMatch::Any)),
        ("b", Action::Insert(number(2))),
        ("a", Action::Replace(number(2), IfMatch::Any)),
    ];
    let outcome = Outcome::of(table.execute(group).await);
    expect("a group with three operations that fail", outcome, Outcome::NotFound(table.id(PARTITION, "z")))
}

async fn a_group_may_follow_a_failed_one(table: &Table<'_>) -> Checked {
    let update = || [("a", Action::Insert(number(1))), ("b", Action::Replace(number(1), IfMatch::Any))];
    let outcome = Outcome::of(table.execute(update()).await);
    expect("a group without its row", outcome, Outcome::NotFound(table.id(PARTITION, "b")))?;
    table.write("b", Action::Insert(number(0))).await?;
    expect("the same group with its row", Outcome::of(table.execute(update()).await), Outcome::Success)?;
    expect("the rows", table.row_keys(&table.scan()).await?, owned(&["a", "b"]))
}

async fn a_group_has_up_to_a_hundred_operations(table: &Table<'_>) -> Checked {
    let names: Vec<_> = (0..100).map(|n| format!("r{n:03}")).collect();
    let operations = names.iter().map(|name| (name.clone(), Action::Insert(number(1))));
    let etags = table.execute(operations).await?;
    expect("the number of ETags", etags.iter().flatten().count(), 100)?;
    expect("the rows", table.row_keys(&table.scan()).await?, names)
}

async fn a_group_may_have_three_mebibytes(table: &Table<'_>) -> Checked {
    // In base64, four bytes are written for three.
    let bytes = vec![0xA5; 60 * 1024];
    let mut properties = Properties::default();
    properties.push("Bytes", ValueRef::Binary(&bytes));
    let operations = (0..38).map(|n| (format!("r{n:02}"), Action::Insert(properties.clone())));
    table.execute(operations).await?;
    let rows = table.rows(&table.scan()).await?;
    expect("the number of rows", rows.len(), 38)?;
    expect("whether all rows are whole", rows.iter().all(|row| row.properties == properties), true)
}

async fn a_group_may_have_keys_of_all_kinds(table: &Table<'_>) -> Checked {
    const KEYS: [&str; 10] = ["", " ", "%41", "''", "(a)", "a&b=c", "a'b", "a+b", "~-._", "ä€𝄞"];
    const PARTITION: &str = "it's 50%+ä";
    let write = async |action: fn() -> Action| {
        let group = table.group(PARTITION, KEYS.map(|key| (key, action())));
        table.backend.execute_group(&group).await
    };
    write(|| Action::Insert(number(1))).await?;
    write(|| Action::Merge(number(2), IfMatch::Any)).await?;
    for key in KEYS {
        let row = table.backend.get(&table.name, PARTITION, key, None).await?;
        expect(format!("the row {key:?}"), row.map(|row| row.properties), Some(number(2)))?;
    }
    write(|| Action::Upsert(number(3))).await?;
    expect("the rows", table.row_keys(&table.scan()).await?, owned(&KEYS))?;
    write(|| Action::Delete(IfMatch::Any)).await?;
    expect("the rows after their deletion", table.row_keys(&table.scan()).await?, Vec::new())
}

async fn a_group_writes_its_partition_only(table: &Table<'_>) -> Checked {
    table.fill(&[("p", "a"), ("q", "a"), ("q", "b")]).await?;
    table.execute([("a", Action::Delete(IfMatch::Any)), ("b", Action::Insert(number(9)))]).await?;
    let pair = |partition_key: &str, row_key: &str| (partition_key.to_owned(), row_key.to_owned());
    expect("the rows", table.keys(&table.scan()).await?, vec![pair("p", "b"), pair("q", "a"), pair("q", "b")])
}
