use std::time::SystemTime;

use table_runtime::{Guid, KeyPart, Property, TableEntity};

/// The entity `Purchase` of the table `Orders`, as the catalog records it.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Orders", expires = until, soft_delete = deleted)]
#[index(day, partition(number(hash = 4)), row(placed(time), kind), table = "OrdersOfDays", include(length, size))]
pub struct Purchase {
    #[partition_key(first = 2, lowercase)]
    #[row_key(lowercase, prefix = "order-")]
    #[property(rename = "customer")]
    pub customer: String,
    #[row_key(pad = 12)]
    #[property(rename = "number")]
    pub number: u64,
    #[property(rename = "address_City")]
    #[index(address_city, lowercase, same_partition)]
    pub address_city: String,
    #[property(rename = "address_Street")]
    pub address_street: Option<String>,
    #[property(rename = "billing_City")]
    pub billing_city: Option<String>,
    #[property(rename = "billing_Street")]
    pub billing_street: Option<String>,
    #[property(rename = "deleted")]
    pub deleted: Option<SystemTime>,
    #[property(rename = "kind")]
    #[index(kind, same_partition, list)]
    pub kind: u8,
    #[property(rename = "length")]
    pub length: std::time::Duration,
    #[property(large, rename = "note")]
    pub note: String,
    #[property(rename = "placed")]
    #[index(placed, reverse_time, same_table, copy)]
    pub placed: SystemTime,
    #[property(rename = "sizeInBytes")]
    pub size: Option<u64>,
    #[property(rename = "status")]
    #[index(state, table = "OrdersByStatus")]
    pub status: Status,
    #[property(json, rename = "tags")]
    #[index(tag, each, lowercase)]
    pub tags: Vec<String>,
    #[property(rename = "token")]
    #[index(token, unique, rename(customer = "Owner"))]
    pub token: Option<Guid>,
    #[property(rename = "until")]
    pub until: Option<SystemTime>,
    #[property(rename = "weight")]
    pub weight: f32,
}

/// The variants in the rows; the program's enum may have more.
#[derive(KeyPart, Property, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Open,
}
