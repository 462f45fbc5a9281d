use table_runtime::{TableEntity, Tables};

#[derive(TableEntity)]
struct Employee {
    #[partition_key]
    department: String,
    #[row_key(first = 2)]
    last_name: String,
    #[row_key]
    id: u32,
}

async fn employees(tables: &Tables) {
    let _ = Employee::by_key("Sales").range("A".."F").all(tables).await;
}

fn main() {}
