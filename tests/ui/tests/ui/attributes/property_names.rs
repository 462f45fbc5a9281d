use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(kind, write_id)]
struct Post {
    #[partition_key]
    #[row_key]
    id: u32,
    timestamp: u32,
    entity_type: String,
    write_id: String,
    title: String,
    #[property(rename = "Title")]
    heading: String,
    #[property(rename = "two words")]
    body: String,
}

#[derive(TableEntity)]
#[table(rename_all = "kebab-case")]
struct Kebab {
    #[partition_key]
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(rename_all = "pascal")]
struct Pascal {
    #[partition_key]
    #[row_key]
    id: u32,
}

fn main() {}
