//! What a patch cannot set: an indexed part, a part of an `Option` or of an enum, and a struct as a whole.

use table_runtime::{Property, TableEntity, Tables};

#[derive(Property, Clone)]
struct Geo {
    lat: f64,
    lon: f64,
}

#[derive(Property, Clone)]
struct Address {
    city: String,
    street: String,
    geo: Option<Geo>,
}

#[derive(Property, Clone)]
enum Payment {
    Card { last4: u16 },
    Cash,
}

#[derive(TableEntity)]
#[index(city, same_partition, row(address.city))]
struct Customer {
    #[partition_key]
    #[row_key]
    id: u32,
    address: Address,
    other: Address,
    payment: Payment,
}

fn main() {}

async fn patches(tables: &Tables, address: Address) -> table_runtime::Result<()> {
    tables.patch(Customer::key(1), |c| [c.address.street.set("x"), c.other.city.set("x")]).await?;
    tables.patch(Customer::key(1), |c| [c.address.city.set("x")]).await?;
    tables.patch(Customer::key(1), |c| [c.other.geo.lat.set(1.0)]).await?;
    tables.patch(Customer::key(1), |c| [c.payment.card.last4.set(1)]).await?;
    tables.patch(Customer::key(1), |c| [c.other.set(address)]).await?;
    Ok(())
}
