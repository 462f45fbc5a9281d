//! Tables: created once, listed by name, deleted with their rows.

use table_store::{
    Error,
    backend::{Action, BackendExt, IfMatch},
};

use super::{
    contract,
    expect::{Checked, Outcome, ensure, expect},
    table::{PARTITION, Table, conditional, number, owned},
};

contract! { "tables":
    a_table_is_created_once
    a_deleted_table_does_not_exist
    a_table_that_is_created_again_is_empty
    a_missing_table_is_not_deleted
    a_table_name_has_no_case
    tables_are_listed_by_prefix_in_order
    no_table_is_listed_for_a_prefix_that_none_has
    tables_have_rows_of_their_own
    a_read_of_a_missing_table_names_it
    a_write_to_a_missing_table_names_it
}

async fn a_table_is_created_once(table: &Table<'_>) -> Checked {
    let new = Table::missing(table.backend)?;
    let first = table.backend.create_table(&new.name).await?;
    let second = table.backend.create_table(&new.name).await?;
    new.delete().await?;
    expect("whether a new table was created", first, true)?;
    expect("whether an existing table was created", second, false)
}

async fn a_deleted_table_does_not_exist(table: &Table<'_>) -> Checked {
    table.write("r", Action::Insert(number(1))).await?;
    expect("whether the table was deleted", table.backend.delete_table(&table.name).await?, true)?;
    let missing = Outcome::TableNotFound(table.name.clone());
    expect("a read of a deleted table", Outcome::of(table.get("r").await), missing.clone())?;
    expect("a scan of a deleted table", Outcome::of(table.backend.query(&table.scan(), None).await), missing)?;
    expect("the deleted table in the list", table.backend.list_tables(&table.name).await?, Vec::new())
}

async fn a_table_that_is_created_again_is_empty(table: &Table<'_>) -> Checked {
    table.write("r", Action::Insert(number(1))).await?;
    table.delete().await?;
    match table.backend.create_table(&table.name).await {
        // The service keeps the name for a while.
        Err(Error::TableBeingDeleted(_)) => return Ok(()),
        created => expect("whether the table was created", created?, true)?,
    }
    expect("the rows of the new table", table.row_keys(&table.scan()).await?, Vec::new())
}

async fn a_missing_table_is_not_deleted(table: &Table<'_>) -> Checked {
    let missing = Table::missing(table.backend)?;
    expect("whether a missing table was deleted", table.backend.delete_table(&missing.name).await?, false)
}

async fn a_table_name_has_no_case(table: &Table<'_>) -> Checked {
    let upper = Table { name: table.name.to_ascii_uppercase(), ..*table };
    expect("whether the name was free in upper case", table.backend.create_table(&upper.name).await?, false)?;
    table.write("r", Action::Insert(number(1))).await?;
    expect("the rows by the name in upper case", upper.row_keys(&upper.scan()).await?, owned(&["r"]))
}

async fn tables_are_listed_by_prefix_in_order(table: &Table<'_>) -> Checked {
    let base = Table::missing(table.backend)?.name;
    let names = ["201006", "201007", "z"].map(|end| format!("{base}{end}"));
    for name in names.iter().rev() {
        table.backend.create_table(name).await?;
    }
    let all = table.backend.list_tables(&base).await;
    let some = table.backend.list_tables(&format!("{base}2010")).await;
    let everything = table.backend.list_tables("").await;
    for name in &names {
        table.backend.delete_table(name).await?;
    }
    expect("the tables of a prefix", all?, names.to_vec())?;
    expect("the tables of a longer prefix", some?, names[..2].to_vec())?;
    let everything = everything?;
    ensure(
        names.iter().chain([&table.name]).all(|name| everything.contains(name)),
        format!("the list of all tables: expected {names:?} in it, found {everything:?}"),
    )
}

async fn no_table_is_listed_for_a_prefix_that_none_has(table: &Table<'_>) -> Checked {
    let missing = Table::missing(table.backend)?;
    expect("the tables of a prefix that none has", table.backend.list_tables(&missing.name).await?, Vec::new())
}

async fn tables_have_rows_of_their_own(table: &Table<'_>) -> Checked {
    let other = Table::create(table.backend).await?;
    table.write("r", Action::Insert(number(1))).await?;
    other.write("r", Action::Insert(number(2))).await?;
    other.write("r", Action::Delete(IfMatch::Any)).await?;
    let found = other.get("r").await;
    other.delete().await?;
    expect("the row that was deleted in the other table", found?, None)?;
    expect("the row in this table", table.row("r").await?.properties, number(1))
}

async fn a_read_of_a_missing_table_names_it(table: &Table<'_>) -> Checked {
    let missing = Table::missing(table.backend)?;
    let (backend, name, scan) = (missing.backend, &missing.name, missing.scan());
    let expected = Outcome::TableNotFound(name.clone());
    expect("get", Outcome::of(backend.get(name, PARTITION, "r", None).await), expected.clone())?;
    expect("query", Outcome::of(backend.query(&scan, None).await), expected.clone())?;
    let get_with = backend.get_with(name, PARTITION, "r", None, &mut |_| Ok(())).await;
    expect("get_with", Outcome::of(get_with), expected.clone())?;
    expect("query_with", Outcome::of(backend.query_with(&scan, None, &mut |_| Ok(())).await), expected)
}

async fn a_write_to_a_missing_table_names_it(table: &Table<'_>) -> Checked {
    let missing = Table::missing(table.backend)?;
    let expected = Outcome::TableNotFound(missing.name.clone());
    let [replace, merge, delete] = conditional(&IfMatch::Any);
    for action in [Action::Insert(number(1)), Action::Upsert(number(1)), replace, merge, delete] {
        let name = action.name();
        expect(name, missing.outcome("r", action.clone()).await, expected.clone())?;
        let group = [("other", Action::Insert(number(1))), ("r", action)];
        let outcome = Outcome::of(missing.execute(group).await);
        expect(format!("{name} in a transaction"), outcome, expected.clone())?;
    }
    Ok(())
}
