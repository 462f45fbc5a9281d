use table_runtime::TableEntity;

#[derive(TableEntity)]
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[property(skip)]
    cache: std::cell::Cell<u32>,
}

fn main() {}
