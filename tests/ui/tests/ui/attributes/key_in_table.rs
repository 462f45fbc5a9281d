use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "Posts")]
struct Post {
    #[table(partition_key)]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

fn main() {
    let _ = Post::key("Marcus", 1);
}
