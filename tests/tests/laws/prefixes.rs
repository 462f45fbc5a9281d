//! The tables of tenants: whatever the prefixes and the names, no two tenants have one table.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proptest::prelude::*;
use table_runtime::{Result as Answer, Tables, backend::InMemoryBackend, testing::conformance};
use table_store::unstable::client::Client;
use tests::plain::Plain;

/// A tenant: its prefix in parts, each given to a call of `with_prefix`. Some are no prefixes.
fn tenant() -> impl Strategy<Value = Vec<String>> {
    let part = prop_oneof![12 => "([abAB]{1,2}[12]{1,2}){1,2}", 1 => "[ab1]{0,3}"];
    prop::collection::vec(part, 1..3)
}

/// The name of a table, which often begins like a prefix.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![1 => "[ab]{3,4}", 2 => "[abAB]{1,2}[12]{1,2}[ab12]{1,4}"]
}

fn handle(store: &Plain, tenant: &[String]) -> Tables {
    tenant.iter().fold(store.tables(), |tables, part| tables.with_prefix(part))
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

/// The row keys of each of a tenant's tables, whose names are in lower case.
type Rows = BTreeMap<String, BTreeSet<String>>;

/// Returns all rows of a tenant.
fn dumped(tables: &Tables) -> Result<Rows, String> {
    let mut lines = Vec::new();
    run(async { tables.dump(&mut lines).await }).map_err(|error| error.to_string())?;
    let lines = String::from_utf8(lines).expect("JSON");
    let rows = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("a row"));
    let text = |row: &serde_json::Value, name: &str| row[name].as_str().map(str::to_owned);
    let mut found = Rows::new();
    for row in rows {
        // Some lines are no rows.
        if let (Some(table), Some(row_key)) = (text(&row, "@table"), text(&row, "RowKey")) {
            found.entry(table.to_lowercase()).or_default().insert(row_key);
        }
    }
    Ok(found)
}

tests::depth::laws! {
    256;

    fn tenants_share_no_table(tables in prop::collection::vec((tenant(), name()), 1..12)) {
        let store = Plain::default();
        // What each tenant has written, by its prefix in lower case.
        let mut written: BTreeMap<String, (Vec<String>, Rows)> = BTreeMap::new();
        for (number, (tenant, name)) in tables.iter().enumerate() {
            let line = format!(r#"{{"@table":"{name}","PartitionKey":"p","RowKey":"{number}"}}
{{"@rows":1}}"#);
            let loaded = run(async { handle(&store, tenant).load(line.as_bytes()).await });
            if loaded.is_ok() {
                let key = tenant.concat().to_lowercase();
                let (_, rows) = written.entry(key).or_insert_with(|| (tenant.clone(), Rows::new()));
                rows.entry(name.to_lowercase()).or_default().insert(number.to_string());
            } else {
                // Whoever cannot write there cannot read either.
                let is_prefix = dumped(&handle(&store, tenant)).is_ok();
                let is_own = !name.trim_start_matches(|c: char| c.is_ascii_alphabetic())
                    .trim_start_matches(|c: char| c.is_ascii_digit())
                    .starts_with(|c: char| c.is_ascii_alphabetic());
                prop_assert!(!(is_prefix && is_own), "{tenant:?} with {name} was refused");
            }
        }
        for (tenant, rows) in written.values() {
            let found = dumped(&handle(&store, tenant));
            prop_assert_eq!(found.as_ref().ok(), Some(rows), "{:?}: {:?}", tenant, tables);
        }
    }
}

const PREFIX: &str = "tenant7";

#[tokio::test]
async fn a_prefix_changes_nothing_but_the_names_in_errors() -> Answer<()> {
    let store = Client::new(Arc::new(InMemoryBackend::new()?));
    let checked = conformance::check(async || store.with_prefix(PREFIX)).await;
    let failures = checked.expect_err("errors have the whole names of tables");
    for (name, failure) in failures.iter() {
        let text = failure.to_string().replace(PREFIX, "");
        let values = text.split_once(": expected ").and_then(|(_, values)| values.split_once(", found "));
        assert!(values.is_some_and(|(expected, found)| expected == found), "{name}: {failure}");
    }
    Ok(())
}
