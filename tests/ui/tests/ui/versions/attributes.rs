use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(version = 1, skip_newer = true)]
struct First {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(version = "2", from = "First")]
struct Quoted {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(from = First, deny_unknown = true)]
struct Unnumbered {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(version = 2)]
struct Named {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    entity_version: u32,
}

fn main() {}
