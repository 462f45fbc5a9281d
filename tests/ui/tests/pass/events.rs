//! Events of every kind of struct.

#![allow(dead_code)]

use std::time::SystemTime;

use table_runtime::{EntityGroup, Result, TableEntity, Tables};

#[derive(TableEntity)]
#[table(name = "Orders", kind, events(copy), version = 2, from = OrderV1, write_id)]
#[index(total, partition(shop, total), unique)]
pub struct Order {
    #[partition_key]
    pub shop: String,
    #[row_key(reverse)]
    pub r#number: u32,
    #[index(customer, same_partition)]
    pub customer: String,
    pub total: i64,
}

#[derive(TableEntity)]
#[table(name = "Orders", kind = "Order")]
pub struct OrderV1 {
    #[partition_key]
    pub shop: String,
    #[row_key(reverse, prefix = "number-")]
    pub number: u32,
    pub customer: String,
}

impl From<OrderV1> for Order {
    fn from(OrderV1 { shop, number, customer }: OrderV1) -> Self {
        Self { shop, number, customer, total: 0 }
    }
}

/// The only entity of a partition: its key has nothing that leads to it.
#[derive(TableEntity)]
#[table(row = "state", events)]
struct State<T>
where
    T: table_runtime::Property,
{
    #[partition_key]
    job: String,
    value: T,
}

/// A raw text after a prefix is no key of an event.
#[derive(TableEntity)]
#[table(name = "Logs", slice = day(at), events)]
struct Log {
    #[partition_key]
    source: String,
    #[row_key(time)]
    at: SystemTime,
    #[row_key(raw)]
    id: String,
}

#[derive(TableEntity)]
#[table(name = "Trips", events)]
struct Trip {
    #[partition_key]
    user: u32,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Trips", events(copy))]
struct Leg {
    #[partition_key]
    user: u32,
    #[row_key]
    id: u32,
    #[row_key]
    leg: u32,
    to: String,
}

#[derive(EntityGroup)]
enum Journey {
    Trip(Trip),
    Leg(Leg),
}

async fn run(tables: &Tables) -> Result<()> {
    tables.create::<Order>().and::<State<u32>>().and::<Log>().and::<Trip>().and::<Leg>().await?;
    tables.require_events::<Order>().await?;
    tables.require_events::<State<u32>>().await
}

fn main() {}
