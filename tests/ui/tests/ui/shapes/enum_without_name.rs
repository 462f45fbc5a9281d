use table_runtime::{Property, TableEntity};

#[derive(Property)]
enum Payment {
    Card { last4: u16 },
    Cash,
}

#[derive(TableEntity)]
struct Tag {
    #[partition_key]
    #[row_key]
    id: u32,
    #[property(prefix = "")]
    payment: Payment,
}

fn main() {}
