//! Typed filters and their costs.
//!
//! A filter uses the struct's fields and is checked by the compiler. It drops rows after the store has read them:
//! narrowing the key makes a query cheap, a filter only makes its result smaller. The cost class is part of a query's
//! type, so a function can refuse queries that are too expensive.
//!
//! | `PartitionKey` | `RowKey` | Name | Cents | Discount | Retired |
//! |---|---|---|---|---|---|
//! | `Tools` | `hammer-1` | `Claw hammer` | 1999 | 0.1 | false |

use anyhow::Result;
use table_runtime::{
    Query, Stored, TableEntity, Tables,
    cost::{AtMost, Range},
};

#[derive(TableEntity, Debug)]
#[table(name = "Products", allow_scan)]
struct Product {
    #[partition_key]
    shelf: String,
    #[row_key]
    sku: String,
    name: String,
    cents: i64,
    /// Discount. No property is stored for `None`.
    discount: Option<f64>,
    retired: bool,
}

/// Accepts queries that are cheap enough for a web page: points and ranges of keys, but no scans.
fn cheap<Q: Query<Cost: AtMost<Range>>>(query: Q) -> Q {
    println!("cheap: {}", query.explain());
    query
}

#[tokio::main]
async fn main() -> Result<()> {
    let tables = Tables::in_memory()?;
    tables.create::<Product>().await?;
    for (shelf, sku, name, cents, discount, retired) in [
        ("Tools", "hammer-1", "Claw hammer", 1_999, Some(0.1), false),
        ("Tools", "hammer-2", "Sledgehammer", 4_999, None, false),
        ("Tools", "saw-1", "Hand saw", 1_499, None, true),
        ("Tools", "saw-2", "Circular saw", 12_999, Some(0.25), false),
        ("Paint", "red-1", "Signal red", 899, None, false),
    ] {
        let (shelf, sku, name) = (shelf.to_owned(), sku.to_owned(), name.to_owned());
        tables.insert(&Product { shelf, sku, name, cents, discount, retired }).await?;
    }

    // Both queries are cheap enough for a web page. With a filter, the query would be a partition scan, so `cheap`
    // would not compile.
    let hammers = cheap(Product::by_key("Tools").starts_with("hammer-")).all(&tables).await?;
    assert_eq!(skus(&hammers), ["hammer-1", "hammer-2"]);
    assert!(cheap(Product::key("Paint", "red-1")).exists(&tables).await?);

    // `and`, `or` and `!` combine conditions on the rows within the narrowed key.
    let offers = Product::by_key("Tools").filter(|product| {
        let small = product.cents.lt(2_000);
        let reduced = product.discount.ge(0.2);
        small.or(reduced).and(!product.retired.eq(true))
    });
    println!("{}", offers.explain());
    assert_eq!(skus(&offers.all(&tables).await?), ["hammer-1", "saw-2"]);

    // A row without the property matches no comparison with it, not even `ne`: for the store, a missing discount is not
    // a different discount. `!` is the opposite comparison, which such a row does not match either.
    let other = Product::by_key("Tools").filter(|product| product.discount.ne(0.1)).all(&tables).await?;
    assert_eq!(skus(&other), ["saw-2"]);

    // A table scan must be requested explicitly, and the struct must allow it.
    let expensive = Product::scan().filter(|product| product.cents.gt(4_000));
    println!("{}", expensive.explain());
    assert_eq!(expensive.count(&tables).await?, 2);

    // A patch sets some properties and keeps the rest, with one request and without reading the row.
    tables.patch(Product::key("Tools", "saw-1"), |saw| [saw.cents.set(999), saw.discount.set(0.5)]).await?;
    let reduced = Product::by_key("Tools").filter(|product| product.discount.ge(0.5)).all(&tables).await?;
    assert_eq!((&*reduced[0].name, reduced[0].cents, reduced[0].retired), ("Hand saw", 999, true));
    println!("{} is down to {} cents", reduced[0].name, reduced[0].cents);
    Ok(())
}

fn skus(products: &[Stored<Product>]) -> Vec<&str> {
    products.iter().map(|product| &*product.sku).collect()
}
