use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(partition = "{author}")]
struct Post {
    author: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(row = "{author}-{id}", partition = "all")]
struct Note {
    author: String,
    id: u32,
}

fn queries() {
    let _ = Post::by_key("ada");
    let _ = Note::key("ada", 1);
}

fn main() {}
