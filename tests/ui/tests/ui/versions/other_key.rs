use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "Posts")]
struct KeyedV1 {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Posts", version = 2, from = KeyedV1)]
struct Keyed {
    #[partition_key]
    author: String,
    #[row_key]
    id: u64,
}

impl From<KeyedV1> for Keyed {
    fn from(_: KeyedV1) -> Self {
        unimplemented!()
    }
}

fn main() {}
