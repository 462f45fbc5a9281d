//! Throwaway.
use futures_util::FutureExt;
use std::time::{Duration, Instant};
use table_runtime::{
    Result, TableEntity, Tables,
    backend::EmbeddedBackend,
    testing::{Counting, PartitionReach},
};

#[derive(TableEntity, Clone, Debug)]
#[table(name = "Plain")]
struct Plain {
    #[partition_key]
    shop: u32,
    #[row_key]
    id: u32,
    email: String,
    city: String,
    name: String,
    cents: i64,
}
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Customers")]
struct Customer {
    #[partition_key]
    shop: u32,
    #[row_key]
    id: u32,
    #[index(email, lowercase, unique)]
    email: String,
    #[index(city)]
    city: String,
    name: String,
    cents: i64,
}

fn customer(n: u32) -> Customer {
    Customer {
        shop: n / 1000,
        id: n,
        email: format!("customer{n}@example.com"),
        city: format!("City {}", n % 500),
        name: format!("Customer {n}"),
        cents: 5,
    }
}
fn plain(n: u32) -> Plain {
    let c = customer(n);
    Plain { shop: c.shop, id: c.id, email: c.email, city: c.city, name: c.name, cents: 5 }
}

fn rate(name: &str, n: u32, took: Duration) {
    println!("{name}: {:.0}/s ({took:.2?})", f64::from(n) / took.as_secs_f64());
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let n = 100_000;
    if std::env::var_os("PROFILE").is_some() {
        let tables = Tables::in_memory()?;
        tables.create::<Customer>().await?;
        tables.insert_all((0..20_000).map(customer)).await?;
        return Ok(());
    }
    let dir = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    for round in 0..2 {
        let _ = std::fs::remove_file(dir.join("bulk.tables"));
        let tables = Tables::open(dir.join("bulk.tables"))?;
        tables.create::<Plain>().await?;
        tables.create::<Customer>().await?;
        let begun = Instant::now();
        tables.insert_all((0..n).map(plain)).await?;
        rate("plain", n, begun.elapsed());
        let begun = Instant::now();
        tables.insert_all((0..n).map(customer)).await?;
        rate("two indexes", n, begun.elapsed());
        for side in [16, 100, 4000] {
            tables.remove_all((0..n).map(|n| Customer::key(n / 1000, n))).await?;
            let begun = Instant::now();
            tables.insert_all((0..n).map(customer)).side_by_side(side).await?;
            rate(&format!("two indexes, {side}"), n, begun.elapsed());
        }
        let begun = Instant::now();
        for i in 0..200 {
            tables.insert(&plain(n + i)).await?;
        }
        rate("single plain", 200, begun.elapsed());
        let begun = Instant::now();
        for i in 0..200 {
            tables.insert(&customer(n + i)).await?;
        }
        rate("single two indexes", 200, begun.elapsed());
        drop(tables);
        let _ = std::fs::remove_file(dir.join("bulk.tables"));
        let (backend, requests) = Counting::new(PartitionReach(EmbeddedBackend::open(dir.join("bulk.tables"))?));
        let tables = Tables::new(backend);
        tables.create::<Customer>().await?;
        requests.take();
        let begun = Instant::now();
        tables.insert_all((0..n / 4).map(customer)).await?;
        rate("two indexes in steps", n / 4, begun.elapsed());
        println!("{:?} {round}", requests.take());
    }
    let _ = async {}.now_or_never();
    Ok(())
}
