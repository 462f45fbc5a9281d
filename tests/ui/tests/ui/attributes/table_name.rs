use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "blog_posts")]
struct Post {
    #[partition_key]
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
struct Ab {
    #[partition_key]
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "tablelayouts")]
#[index(name, table = "TableLayouts")]
struct Layout {
    #[partition_key]
    #[row_key]
    id: u32,
    name: String,
}

#[derive(TableEntity)]
#[table(name = "TableLayouts", slice = month(at))]
struct Log {
    #[partition_key]
    #[row_key(time)]
    at: std::time::SystemTime,
}

fn main() {}
