use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "Posts", kind)]
struct KindedV1 {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Posts", kind, version = 2, from = KindedV1)]
struct Kinded {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

impl From<KindedV1> for Kinded {
    fn from(_: KindedV1) -> Self {
        unimplemented!()
    }
}

fn main() {}
