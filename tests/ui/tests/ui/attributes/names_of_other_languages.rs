use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Shop {
    #[partition_key]
    city: String,
    #[row_key]
    number: u32,
    #[index(byOwner, same_partition)]
    owner: String,
}

fn main() {}
