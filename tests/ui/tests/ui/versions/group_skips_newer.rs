use table_runtime::{EntityGroup, TableEntity};

#[derive(TableEntity)]
#[table(name = "Orders", skip_newer)]
struct Order {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Orders")]
struct Item {
    #[partition_key]
    user: String,
    #[row_key]
    order: u32,
    #[row_key]
    id: u32,
}

#[derive(EntityGroup)]
enum Basket {
    Order(Order),
    Item(Item),
}

fn main() {}
