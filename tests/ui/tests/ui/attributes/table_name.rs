use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "blog_posts")]
struct Post {
    #[partition_key]
    #[row_key]
    id: u32,
}

fn main() {}
