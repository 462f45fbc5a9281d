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

async fn patches(tables: &Tables, address: Address) -> table_runtime::Result<()> {
    tables.patch(Customer::key(1), |c| [c.address.street.set("x"), c.other.city.set("x")]).await?;
    tables.patch(Customer::key(1), |c| [c.other.geo.lat.set(1.0)]).await?;
    Ok(())
}

fn main() {}
