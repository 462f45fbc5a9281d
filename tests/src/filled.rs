//! Many entities whose indexes are built late, for the `filler` and its tests.

use std::{path::Path, sync::Arc};

use table_runtime::{
    Result, TableEntity, Tables,
    backend::{Action, BackendExt, EmbeddedBackend, Group, Operation},
    row::{Properties, ValueRef},
};

/// Number of entities in a partition.
const GROUP: u32 = 1000;
/// Number of values of the index that is not unique.
pub const CITIES: u32 = 97;

/// Entity with two indexes that a backfill builds in different ways.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Filled")]
pub struct Filled {
    /// Group of a thousand numbers.
    #[partition_key]
    pub group: u32,
    /// Number of the entity.
    #[row_key]
    pub number: u32,
    /// Unique name.
    #[index(name, same_partition, unique)]
    pub name: String,
    /// One of [`CITIES`].
    #[index(city)]
    pub city: u32,
}

/// The same entity with one more index: a cross-partition unique one.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Filled", entity = "Filled")]
pub struct Handled {
    /// Group of a thousand numbers.
    #[partition_key]
    pub group: u32,
    /// Number of the entity.
    #[row_key]
    pub number: u32,
    /// Unique name.
    #[index(name, same_partition, unique)]
    #[index(handle, unique)]
    pub name: String,
    /// One of [`CITIES`].
    #[index(city)]
    pub city: u32,
}

impl Filled {
    /// Returns the entity of a number.
    pub fn new(number: u32) -> Self {
        Self { group: number / GROUP, number, name: name(number), city: number % CITIES }
    }
}

fn name(number: u32) -> String {
    format!("the name of {number}")
}

/// Creates a store with `count` entities without index rows, as written by a program that does not know the indexes.
///
/// # Errors
/// The store refuses a write.
pub async fn load(path: &Path, count: u32) -> Result<()> {
    let backend = Arc::new(EmbeddedBackend::open(path)?);
    backend.create_table("Filled").await?;
    let numbers: Vec<_> = (0..count).collect();
    let mut loads = tokio::task::JoinSet::new();
    for numbers in numbers.chunks(100).map(<[u32]>::to_vec) {
        let backend = backend.clone();
        loads.spawn(async move { backend.execute_group(&group(&numbers)).await });
    }
    for loaded in loads.join_all().await {
        loaded?;
    }
    Tables::new(backend).create::<Filled>().await
}

/// Returns a transaction that inserts numbers of one group.
fn group(numbers: &[u32]) -> Group {
    let operation = |number: &u32| {
        let mut properties = Properties::default();
        properties.push("Name", ValueRef::String(&name(*number)));
        properties.push("City", ValueRef::Int64((number % CITIES).into()));
        Operation { row_key: format!("number-{number:010}"), action: Action::Insert(properties) }
    };
    let partition_key = format!("{:010}", numbers.first().map_or(0, |number| number / GROUP));
    Group { table: "Filled".into(), partition_key, operations: numbers.iter().map(operation).collect() }
}
