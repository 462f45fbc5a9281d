//! Comparisons of a struct, and of an enum with data, and misspelt parts.

use table_runtime::{Property, TableEntity};

#[derive(Property)]
struct Address {
    city: String,
}

#[derive(Property)]
enum Payment {
    Card { last4: u16 },
    Cash,
}

#[derive(TableEntity)]
struct Customer {
    #[partition_key]
    tenant: String,
    #[row_key]
    id: u32,
    address: Address,
    payment: Payment,
}

fn main() {
    let _ = Customer::by_key("acme").filter(|c| c.address.citty.eq("Bonn"));
    let _ = Customer::by_key("acme").filter(|c| c.payment.is_cart());
    let _ = Customer::by_key("acme").filter(|c| c.payment.eq("Card"));
}
