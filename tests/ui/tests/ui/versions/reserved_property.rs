use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "Posts")]
struct NamedV1 {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    entity_version: u32,
}

#[derive(TableEntity)]
#[table(name = "Posts", version = 2, from = NamedV1)]
struct Named {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

impl From<NamedV1> for Named {
    fn from(_: NamedV1) -> Self {
        unimplemented!()
    }
}

fn main() {}
