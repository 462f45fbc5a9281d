use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "Posts", version = 2)]
struct SameV1 {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Posts", version = 2, from = SameV1)]
struct Same {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

impl From<SameV1> for Same {
    fn from(_: SameV1) -> Self {
        unimplemented!()
    }
}

fn main() {}
