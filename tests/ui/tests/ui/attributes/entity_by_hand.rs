use table_runtime::TableEntity;

struct Post {
    author: String,
}

impl TableEntity for Post {
    fn partition_key(&self) -> &str {
        &self.author
    }
}

fn main() {}
