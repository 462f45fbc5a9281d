//! Customers with an address, a way to pay, a limit and a photo: structs, an enum with data, decimals and long values.
//!
//! Each field of a struct is a property of its own, so that filters, patches, projections and indexes can name it.
//!
//! | `PartitionKey` | `RowKey` | `Name` | `Address_City` | `Address_Street` | `Payment` | `Payment_Card_Last4` | `Limit` |
//! |---|---|---|---|---|---|---|---|
//! | `acme` | `0000000001` | `Ada` | `Bonn` | `Markt 1` | `Card` | 4242 | 150000 |
//! | `acme` | `0000000002` | `Grace` | `Berlin` | `Hof 3` | `Invoice` | | 9950 |
//!
//! `Payment_Invoice` of the second row holds the address to which invoices go. A photo of more than 64 KiB continues in
//! `Photo_2`, and `Photo_Parts` has the number of its parts.

use anyhow::Result;
use rust_decimal::Decimal;
use table_runtime::{Projection, Property, TableEntity, Tables};

#[derive(Property, Clone, Debug, PartialEq)]
struct Address {
    city: String,
    street: String,
}

#[derive(Property, Clone, Debug, PartialEq)]
enum Payment {
    Card {
        last4: u16,
    },
    Invoice(String),
    /// A way to pay that this program does not know yet.
    #[property(other)]
    Other(String),
}

#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Customers")]
#[index(city, partition(tenant), row(address.city(lowercase)))]
struct Customer {
    #[partition_key]
    tenant: String,
    #[row_key]
    id: u32,
    name: String,
    address: Address,
    payment: Payment,
    #[property(scale = 2)]
    limit: Decimal,
    #[property(large)]
    photo: Vec<u8>,
}

/// The line of a list.
#[derive(Projection)]
#[projection(of = Customer)]
struct Line<'a> {
    name: &'a str,
    #[projection(path = address.city)]
    city: &'a str,
    #[projection(path = payment.card.last4)]
    last4: Option<u16>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let tables = Tables::in_memory()?;
    tables.create::<Customer>().await?;
    let customer = |id, name: &str, city: &str, street: &str, payment, cents| Customer {
        tenant: "acme".to_owned(),
        id,
        name: name.to_owned(),
        address: Address { city: city.to_owned(), street: street.to_owned() },
        payment,
        limit: Decimal::new(cents, 2),
        photo: Vec::new(),
    };
    let invoice = Payment::Invoice("books@example.com".to_owned());
    tables.insert(&customer(1, "Ada", "Bonn", "Markt 1", Payment::Card { last4: 4242 }, 150_000)).await?;
    tables.insert(&customer(2, "Grace", "Berlin", "Hof 3", invoice, 9950)).await?;

    // Up to 960,000 bytes.
    tables.patch(Customer::key("acme", 1), |c| c.photo.set(vec![7; 100_000])).await?;
    let found = Customer::key("acme", 1).get(&tables).await?;
    println!("a photo of {} bytes", found.map_or(0, |found| found.photo.len()));

    // Filters name parts.
    let by_card = Customer::by_key("acme").filter(|c| c.payment.is_card().and(c.limit.ge(Decimal::ONE_HUNDRED)));
    println!("{}", by_card.explain());
    for found in by_card.all(&tables).await? {
        println!("pays by card: {}", found.name);
    }

    // A patch sets a part. The city is in an index, so `modify` changes it, and the index row with it.
    tables.patch(Customer::key("acme", 1), |c| [c.address.street.set("Markt 2")]).await?;
    tables.modify(Customer::key("acme", 1), |c| c.address.city = String::from("Bonn-Beuel")).await?;
    for found in Customer::by_city("acme").starts_with("bonn").all(&tables).await? {
        println!("in Bonn: {}, {}", found.address.street, found.address.city);
    }

    // Another variant leaves no property of the old one behind.
    tables.modify(Customer::key("acme", 1), |c| c.payment = Payment::Other("Voucher".to_owned())).await?;
    let print = |Line { name, city, last4 }: Line<'_>| println!("{name} in {city}, card {last4:?}");
    Customer::by_key("acme").select::<Line<'_>>().for_each(&tables, print).await?;
    Ok(())
}
