use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(rename_all = "kebab-case")]
struct Kebab {
    #[partition_key]
    #[row_key]
    id: u32,
}

fn main() {}
