use table_runtime::TableEntity;

#[derive(TableEntity)]
#[index(by_title, partition(shelf), row(title), include(summary), when(text, is_long))]
struct Novel {
    #[partition_key]
    #[property(large)]
    author: String,
    #[row_key]
    id: u32,
    shelf: String,
    #[property(large)]
    title: String,
    #[property(large)]
    summary: String,
    #[property(large)]
    text: String,
    #[index(note)]
    #[property(large)]
    note: String,
}

fn is_long(text: &String) -> bool {
    text.len() > 100_000
}

fn main() {}
