use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(nam = "Posts", alow_scan)]
struct Post {
    #[partition_key(lowercas)]
    author: String,
    #[row_key(reverse_tim)]
    posted: std::time::SystemTime,
    #[property(renam = "Heading")]
    title: String,
    #[property(lowercase)]
    slug: String,
    #[property(colour)]
    body: String,
}

fn main() {}
