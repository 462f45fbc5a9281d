use table_runtime::TableEntity;

#[derive(TableEntity)]
#[index(status, same_partition, row(status, number(reverse)))]
struct Order {
    #[partition_key]
    shop: String,
    #[row_key(reverse)]
    number: u32,
    status: String,
}

fn main() {}
