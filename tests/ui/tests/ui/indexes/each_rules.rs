use table_runtime::TableEntity;

#[derive(TableEntity)]
#[index(pair, partition(each(tags)), row(each(others, lowercase)))]
#[index(unescaped, partition(author), row(each(tags, raw)))]
#[index(with_title, partition(author), row(each(labels)), include(title))]
#[index(hashed, partition(each(tags, hash = 16)))]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    #[index(listed, each, same_partition, list)]
    #[index(letter, each, first = 1, same_partition, unique)]
    #[property(json)]
    tags: Vec<String>,
    #[property(json)]
    others: Vec<String>,
    #[property(json, large)]
    labels: Vec<String>,
    #[index(absent, each, same_partition)]
    #[property(skip)]
    skipped: Vec<String>,
}

fn main() {}
