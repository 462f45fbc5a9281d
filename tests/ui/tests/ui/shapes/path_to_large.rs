use table_runtime::{Property, TableEntity};

#[derive(Property)]
struct Page {
    #[property(large)]
    body: String,
}

#[derive(TableEntity)]
#[index(body, same_partition, row(page.body))]
struct Long {
    #[partition_key]
    #[row_key]
    id: u32,
    page: Page,
}

fn main() {}
