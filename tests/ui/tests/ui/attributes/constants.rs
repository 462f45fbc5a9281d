use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(partition = "author", row = "id", prefix = "dev")]
struct Post {
    author: String,
    id: u32,
    #[property(was = "Heading")]
    title: String,
    #[property(precision = 2)]
    price: f64,
    #[property(references = "Makers")]
    maker: u32,
}

#[derive(TableEntity)]
#[table(partition = hash(id, 16), expires = until, after = 3600)]
#[index(joined, same_partition, row(joined: reverse_time))]
#[index(late, same_partition, row(joined, reverse_time))]
#[index(months, same_partition, row(month(joined)))]
#[index(all, partition(), row(joined))]
struct User {
    #[row_key(reverse, name)]
    id: u32,
    #[index(sku, unique(shop))]
    sku: String,
    joined: std::time::SystemTime,
    until: std::time::SystemTime,
}

#[derive(TableEntity)]
#[table(version = 2, from = Parcel)]
struct Parcel {
    #[partition_key]
    depot: String,
    #[row_key]
    id: u32,
}

fn queries() {
    let _ = Post::key("ada", 1);
    let _ = User::by_joined(std::time::SystemTime::now());
}

fn main() {}
