use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(separator = "-")]
struct Dash {
    #[partition_key]
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(separator = "/")]
struct Slash {
    #[partition_key]
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(separator = "::")]
struct Long {
    #[partition_key]
    #[row_key]
    id: u32,
}

fn main() {}
