//! A case for each row of the table in `docs/catalog.md`.

use std::{cell::RefCell, collections::BTreeSet, time::Duration};

use table_derive::{Property, TableEntity};
use table_model::TableEntity;
use table_store::{Error, Result, backend::BackendExt};

use super::{
    CatalogChange,
    decide::{CatalogCase, Decision},
};
use crate::client::{
    pacing,
    tables::{KEY, Record, State, Tables},
};

thread_local! {
    /// What was decided since the last program began, and in the whole test.
    static DECIDED: RefCell<[BTreeSet<String>; 2]> = const { RefCell::new([const { BTreeSet::new() }; 2]) };
}

/// Notes that a case was decided, for the test that runs on this thread.
pub(super) fn note(case: &CatalogCase<'_>, decision: &Decision) {
    let [case, decision] = [format!("{case:?}"), format!("{decision:?}")];
    let [case, decision] = [&case, &decision].map(|shown| shown.split(|letter: char| !letter.is_alphanumeric()).next());
    let noted = [case, decision].map(Option::unwrap_or_default).join(" ");
    DECIDED.with_borrow_mut(|decided| {
        for decided in decided {
            decided.insert(noted.clone());
        }
    });
}

/// Declares structs, each in a module of its own, with the row key and the fields after it.
macro_rules! structs {
    ($($module:ident: $name:ident [$($table:tt)*] #[$key:meta] { $($(#[$meta:meta])* $field:ident: $type:ty),* })*) => {$(
        mod $module {
            #[allow(unused_imports)]
            use super::*;

            #[derive(TableEntity, Clone)]
            #[table(crate = crate, $($table)*)]
            #[allow(dead_code, reason = "only stored")]
            pub(super) struct $name {
                #[partition_key]
                pub(super) group: String,
                #[$key]
                pub(super) id: u32,
                $($(#[$meta])* pub(super) $field: $type,)*
            }
        }
    )*};
}

structs! {
    plain: Item [name = "Items"] #[row_key(prefix = "id-")] { name: String }
    renamed: Thing [name = "Items", was = "Item"] #[row_key(prefix = "id-")] { name: String }
    padded: Item [name = "Items"] #[row_key(prefix = "id-", pad = 4)] { name: String }
    number: Item [name = "Items"] #[row_key(prefix = "id-")] { name: f64 }
    alike: Other [name = "Items"] #[row_key(prefix = "id-")] { name: String }
    elsewhere: Item [name = "Elsewhere"] #[row_key(prefix = "id-")] { name: String }
    one_kind: Item [name = "Items", kind = "One"] #[row_key(prefix = "id-")] { name: String }
    two_kind: Item [name = "Items", kind = "Two"] #[row_key(prefix = "id-")] { name: String }
    names: Name [name = "Items"] #[row_key(prefix = "name-")] {}
    required: Item [name = "Items"] #[row_key(prefix = "id-")] { name: String, size: u32 }
    second: Item [name = "Items", version = 2, from = super::required::Item] #[row_key(prefix = "id-")] { name: String }
    placed: Item [name = "Items"] #[row_key(prefix = "id-")] { place: Option<Place> }
    floored: Item [name = "Items"] #[row_key(prefix = "id-")] { place: Option<Floor> }
    here: Item [name = "Items"] #[row_key(prefix = "id-")] { #[index(name, same_partition)] name: String }
    recorded: Item [name = "Items", events] #[row_key(prefix = "id-")] { name: String }
    expiring: Item [name = "Items", expires = until] #[row_key(prefix = "id-")] {
        #[index(name, same_partition)] name: String, until: Option<std::time::SystemTime>
    }
    indexed: Item [name = "Items"] #[row_key(prefix = "id-")] { #[index(name, prefix = "item-")] name: String }
    folded: Item [name = "Items"] #[row_key(prefix = "id-")] {
        #[index(name, prefix = "item-", lowercase)] name: String
    }
    zero: Item [name = "Items"] #[row_key(prefix = "id-")] {
        name: String, #[index(size)] #[property(default)] size: u32
    }
    seven: Item [name = "Items"] #[row_key(prefix = "id-")] {
        name: String, #[index(size)] #[property(default)] size: Seven
    }
    guest: Guest [name = "Guests"] #[row_key] {
        #[index(name, table = "ItemsByName", prefix = "guest-")] name: String
    }
}

#[derive(Property, Clone, Debug, PartialEq)]
#[table(crate = crate)]
struct Place {
    zip: u32,
}

#[derive(Property, Clone, Debug, PartialEq)]
#[table(crate = crate)]
struct Floor {
    zip: u32,
    floor: u32,
}

/// A number whose default is 7.
#[derive(Property, crate::KeyPart, Clone, Copy)]
#[table(crate = crate)]
struct Seven(u32);

impl Default for Seven {
    fn default() -> Self {
        Self(7)
    }
}

impl From<required::Item> for second::Item {
    fn from(required::Item { group, id, name, .. }: required::Item) -> Self {
        Self { group, id, name }
    }
}

impl From<plain::Item> for elsewhere::Item {
    fn from(plain::Item { group, id, name }: plain::Item) -> Self {
        Self { group, id, name }
    }
}

impl From<elsewhere::Item> for plain::Item {
    fn from(elsewhere::Item { group, id, name }: elsewhere::Item) -> Self {
        Self { group, id, name }
    }
}

fn item() -> plain::Item {
    plain::Item { group: "a".into(), id: 1, name: "b".into() }
}

/// Checks that these cases were decided, such as `NewEntity Record`.
#[track_caller]
fn has_decided(expected: &[&str]) {
    DECIDED.with_borrow(|[decided, _]| {
        for expected in expected {
            assert!(decided.contains(*expected), "no {expected} in {decided:?}");
        }
    });
}

/// A store in which programs begin.
struct Store(Tables);

impl Store {
    fn new() -> Result<Self> {
        Ok(Self(Tables::in_memory()?.with_lease(Duration::from_millis(10))))
    }

    /// Returns a store in which a program has begun.
    async fn with<E: TableEntity>() -> Result<Self> {
        let store = Self::new()?;
        store.0.create::<E>().await?;
        Ok(store)
    }

    /// Begins a program, and checks that these cases were decided.
    async fn accepts<E: TableEntity>(&self, expected: &[&str]) -> Result<()> {
        DECIDED.with_borrow_mut(|[decided, _]| decided.clear());
        self.0.create::<E>().await?;
        has_decided(expected);
        Ok(())
    }

    /// Begins a program that is refused in this case.
    async fn refuses<E: TableEntity>(&self, case: &str) -> Error {
        DECIDED.with_borrow_mut(|[decided, _]| decided.clear());
        let error = self.0.create::<E>().await.expect_err("a refusal");
        has_decided(&[&format!("{case} Refuse")]);
        error
    }

    /// Changes the record of a layout.
    async fn plant(&self, name: &str, change: impl Fn(&mut Record)) -> Result<()> {
        let catalog = self.0.catalog().await?;
        let mut record = catalog.records.iter().find(|record| record.name == name).expect("a record").to_stored();
        change(&mut record);
        let change = CatalogChange { updated: vec![record], ..CatalogChange::default() };
        self.0.change_catalog(&catalog, change, &mut pacing::delays()).await.map(drop)
    }

    async fn set_state(&self, name: &str, state: State) -> Result<()> {
        self.plant(name, |record| record.state = state).await
    }

    async fn delete_tables(&self, tables: &[&str]) -> Result<()> {
        for table in tables {
            assert!(self.0.backend().delete_table(table).await?, "{table}");
        }
        Ok(())
    }
}

async fn entities() -> Result<()> {
    let store = Store::new()?;
    store.accepts::<plain::Item>(&["NewEntity Record"]).await?;
    store.accepts::<plain::Item>(&["SameEntity Accept"]).await?;
    store.refuses::<padded::Item>("OtherKey").await;
    store.refuses::<number::Item>("OtherType").await;
    store.refuses::<alike::Other>("NotToldApart").await;
    store.refuses::<elsewhere::Item>("OtherTable").await;
    store.accepts::<renamed::Thing>(&["OtherName Accept"]).await?;
    let store = Store::with::<one_kind::Item>().await?;
    store.refuses::<two_kind::Item>("OtherKind").await;
    let store = Store::with::<here::Item>().await?;
    store.refuses::<names::Name>("RowsCollide").await;
    let store = Store::with::<plain::Item>().await?;
    store.plant(KEY, |record| record.layout = "{".into()).await?;
    let error = store.refuses::<plain::Item>("UnreadableKey").await;
    assert!(error.to_string().contains("damaged"), "{error}");
    Ok(())
}

async fn places() -> Result<()> {
    let store = Store::with::<plain::Item>().await?;
    store.0.insert(&item()).await?;
    store.0.create::<elsewhere::Item>().for_migration().await?;
    has_decided(&["NewPlace Ask", "NewPlace Record"]);
    assert!(matches!(store.refuses::<elsewhere::Item>("Migrating").await, Error::EntityMigrating { .. }));
    store.0.migrate::<plain::Item, elsewhere::Item>().await?;
    has_decided(&["Migrating Accept"]);
    assert!(matches!(store.refuses::<plain::Item>("Moved").await, Error::EntityMoved { .. }));
    store.0.migrate::<elsewhere::Item, plain::Item>().await.expect_err("the old rows are there");
    has_decided(&["OldRows Refuse"]);
    store.0.drop_moved::<plain::Item>().await?;
    store.0.migrate::<elsewhere::Item, plain::Item>().await?;
    has_decided(&["LeftPlace Forget"]);
    let store = Store::with::<plain::Item>().await?;
    store
        .plant(KEY, |record| {
            let mut facts = record.facts();
            facts.dropping.insert("items".to_owned());
            record.set_facts(&facts);
        })
        .await?;
    assert!(matches!(store.refuses::<plain::Item>("TableBeingDeleted").await, Error::TableBeingDeleted(_)));
    let store = Store::with::<plain::Item>().await?;
    store.0.backend().create_table("Elsewhere").await?;
    let row = elsewhere::Item::from(item());
    store.0.insert(&row).await?;
    store.0.migrate::<plain::Item, elsewhere::Item>().await.expect_err("the new place has a row");
    has_decided(&["NewPlace Refuse"]);
    // The rows in the way may be those of another entity's index, which nobody should delete.
    let store = Store::with::<here::Item>().await?;
    store.0.insert(&here::Item { group: "a".into(), id: 1, name: "b".into() }).await?;
    let collides = store.0.create::<names::Name>().for_migration().await;
    assert!(matches!(collides, Err(Error::RowsCollide(_))), "{collides:?}");
    Ok(())
}

async fn rows() -> Result<()> {
    let store = Store::with::<plain::Item>().await?;
    store.accepts::<required::Item>(&["OtherVersion Ask", "Required Accept"]).await?;
    let store = Store::with::<plain::Item>().await?;
    store.0.insert(&item()).await?;
    store.refuses::<required::Item>("Required").await;
    store.refuses::<second::Item>("OtherVersion").await;
    let store = Store::with::<placed::Item>().await?;
    store.accepts::<floored::Item>(&["RequiredInside Ask", "RequiredInside Accept"]).await?;
    let store = Store::with::<placed::Item>().await?;
    store.0.insert(&placed::Item { group: "a".into(), id: 1, place: Some(Place { zip: 1 }) }).await?;
    store.refuses::<floored::Item>("RequiredInside").await;
    Ok(())
}

async fn times() -> Result<()> {
    let store = Store::with::<here::Item>().await?;
    store.accepts::<expiring::Item>(&["OtherTimes Restart"]).await?;
    store.refuses::<here::Item>("LacksTimes").await;
    store.set_state("name", State::Ready).await?;
    store.0.create::<here::Item>().forget_lifecycle().await?;
    has_decided(&["LacksTimes Accept", "OtherTimes Leave"]);
    // Another program that forgets the times has ended while it waited.
    let store = Store::with::<expiring::Item>().await?;
    store.set_state("name", State::Leaving).await?;
    store.0.create::<here::Item>().forget_lifecycle().await?;
    has_decided(&["OtherTimes Wait"]);
    Ok(())
}

async fn events() -> Result<()> {
    let store = Store::with::<plain::Item>().await?;
    store.accepts::<recorded::Item>(&["SameEntity Accept"]).await?;
    store.accepts::<plain::Item>(&["SameEntity Accept"]).await?;
    store.0.require_events::<recorded::Item>().await?;
    store.refuses::<plain::Item>("LacksEvents").await;
    store.accepts::<recorded::Item>(&["SameEntity Accept"]).await
}

async fn indexes() -> Result<()> {
    let store = Store::new()?;
    store.accepts::<indexed::Item>(&["NewIndexOfNewEntity Record"]).await?;
    store.accepts::<indexed::Item>(&["SameIndex Accept"]).await?;
    store.refuses::<folded::Item>("OtherIndex").await;
    store.set_state("name", State::Gone).await?;
    assert!(matches!(store.refuses::<indexed::Item>("IndexDropped").await, Error::IndexDropped { .. }));
    store.accepts::<plain::Item>(&["LacksGone Accept"]).await?;
    store.plant("name", |record| record.layout = record.layout.replace("\"holds\"", "\"keeps\"")).await?;
    store.refuses::<indexed::Item>("UnreadableIndex").await;
    let store = Store::with::<plain::Item>().await?;
    store.0.backend().create_table("ItemsByName").await?;
    store.accepts::<indexed::Item>(&["NewIndex Record"]).await?;
    let store = Store::with::<zero::Item>().await?;
    store.refuses::<seven::Item>("OtherDefault").await;
    // Tables without records.
    let store = Store::new()?;
    for table in ["Items", "ItemsByName"] {
        store.0.backend().create_table(table).await?;
    }
    store.accepts::<indexed::Item>(&["NewIndexOfNewEntity Ask"]).await
}

async fn missing_indexes() -> Result<()> {
    let store = Store::with::<indexed::Item>().await?;
    store.refuses::<plain::Item>("LacksReady").await;
    store.0.create::<plain::Item>().demote_missing_indexes().await?;
    has_decided(&["LacksReady Leave", "LacksLeaving Restart"]);
    store.accepts::<plain::Item>(&["LacksBuilding Restart"]).await?;
    store.set_state("name", State::Leaving).await?;
    store.accepts::<plain::Item>(&["LacksLeaving Wait"]).await
}

async fn deleted_tables() -> Result<()> {
    let store = Store::with::<indexed::Item>().await?;
    store.delete_tables(&["Items", "ItemsByName"]).await?;
    store.accepts::<indexed::Item>(&["BothTablesGone Record", "RowsGoneButFits Accept"]).await?;
    store.0.insert(&indexed::Item { group: "a".into(), id: 1, name: "b".into() }).await?;
    store.delete_tables(&["ItemsByName"]).await?;
    store.accepts::<indexed::Item>(&["IndexTableGone Ask", "IndexTableGone Record"]).await?;
    store.set_state("name", State::Ready).await?;
    store.delete_tables(&["Items"]).await?;
    store.accepts::<indexed::Item>(&["EntityTableGone Record"]).await?;
    store.delete_tables(&["Items", "ItemsByName"]).await?;
    store.accepts::<padded::Item>(&["RowsGone Forget"]).await?;
    // Two entities have indexes in one table.
    let store = Store::with::<indexed::Item>().await?;
    store.0.create::<guest::Guest>().await?;
    store.delete_tables(&["ItemsByName"]).await?;
    store.accepts::<guest::Guest>(&["OthersTableGone Record"]).await
}

/// Returns the names in the first column of the documented table.
fn documented() -> BTreeSet<String> {
    let text = include_str!("../../../../docs/catalog.md");
    let (_, table) = text.split_once("| case | found in the catalog | `create` |\n|---|---|---|\n").expect("the table");
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    rows.filter_map(|line| line.strip_prefix("| `")?.split('`').next()).map(str::to_owned).collect()
}

#[tokio::test]
async fn every_documented_case_happens() -> Result<()> {
    entities().await?;
    places().await?;
    rows().await?;
    times().await?;
    events().await?;
    indexes().await?;
    missing_indexes().await?;
    deleted_tables().await?;
    let case = |decided: &String| decided.split(' ').next().unwrap_or_default().to_owned();
    let decided: BTreeSet<_> = DECIDED.with_borrow(|[_, decided]| decided.iter().map(case).collect());
    assert_eq!(decided, documented());
    let source = include_str!("decide.rs");
    let (_, cases) = source.split_once("pub enum CatalogCase<'a> {\n").expect("the cases");
    let (cases, _) = cases.split_once("\n}\n").expect("their end");
    let cases =
        cases.lines().filter_map(|line| line.strip_prefix("    ")).filter(|line| line.starts_with(char::is_uppercase));
    let cases: BTreeSet<_> =
        cases.map(|line| line.split([',', '(', ' ']).next().unwrap_or_default().to_owned()).collect();
    assert_eq!(cases, documented(), "a case without a row, or a row without a case");
    Ok(())
}
