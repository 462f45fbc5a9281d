use table_runtime::TableEntity;

#[derive(TableEntity)]
#[index(inside, partition(author), row(tags(each)))]
#[index(half, partition(each(tags)), row(tags))]
#[index(alone, partition(author), row(each))]
#[index(unknown, partition(author), row(each(tag)))]
#[index(option, partition(author), row(each(tags, lowercas)))]
struct Post {
    #[partition_key]
    author: String,
    #[row_key(each)]
    id: u32,
    #[index(value, each = "tag", same_partition)]
    #[index(many, multi, same_partition)]
    #[property(json)]
    tags: Vec<String>,
    #[index(each, same_partition)]
    #[property(json)]
    others: Vec<String>,
}

fn main() {}
