use table_runtime::{Property, TableEntity};

#[derive(Property)]
struct Address {
    city: String,
}

fn is_public(state: &u32) -> bool {
    *state == 1
}

#[derive(TableEntity)]
#[index(best, same_partition, row(-likes))]
#[index(city, same_partition, row(address::city))]
#[index(newest, partition("all"), row(likes))]
#[index(public, same_partition, row(likes), when(is_public, state))]
#[index(town, same_partition, row(each(addresses.city)))]
#[index(domain, same_partition, row(title), map = domain_of)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
    state: u32,
    address: Address,
    #[property(json)]
    addresses: Vec<u32>,
    #[index(by_title, same_partition)]
    title: String,
    #[index(kind, same_partition)]
    #[index(lowercase)]
    kind: String,
    #[index(tag, each, same_partition)]
    tag: String,
}

fn queries() {
    let _ = Post::by_best("ada").range(1..5);
    let _ = Post::by_city("ada").eq("Bonn");
    let _ = Post::by_title("ada").eq("Keys");
    let _ = Post::by_tag("ada").eq("rust");
}

fn main() {}
