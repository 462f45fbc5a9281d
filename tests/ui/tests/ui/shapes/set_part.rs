use table_runtime::{Property, Result, TableEntity, Tables};

#[derive(Property)]
struct Geo {
    lat: f64,
}

#[derive(TableEntity)]
struct Customer {
    #[partition_key]
    #[row_key]
    id: u32,
    geo: Option<Geo>,
}

async fn run(tables: &Tables) -> Result<()> {
    tables.patch(Customer::key(1), |customer| [customer.geo.lat.set(1.0)]).await?;
    Ok(())
}

fn main() {}
