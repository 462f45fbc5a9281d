use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "Old")]
struct TabledV1 {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "New", version = 2, from = TabledV1)]
struct Tabled {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

impl From<TabledV1> for Tabled {
    fn from(_: TabledV1) -> Self {
        unimplemented!()
    }
}

fn main() {}
