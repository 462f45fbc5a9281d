use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

impl Post {
    fn key(&self) -> u32 {
        self.id
    }
}

fn main() {}
