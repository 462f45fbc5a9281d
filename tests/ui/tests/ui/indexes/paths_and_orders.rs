use table_runtime::{Property, TableEntity};

#[derive(Property)]
struct Address {
    city: String,
}

#[derive(Property)]
enum Payment {
    Card { last4: u16 },
    Cash,
}

#[derive(TableEntity)]
#[index(popular, same_partition, row(likes desc))]
#[index(posted, same_partition, row(likes.reverse))]
#[index(shown, same_partition, row(likes), when(!draft))]
#[index(wide, same_partition, row(likes), include(address.city))]
#[index(card, same_partition, row(payment.card.last4))]
#[index(hashed, partition(hash = 16))]
#[index(lower, same_partition, row(lower(title)))]
#[index(address.city, same_partition)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
    draft: bool,
    title: String,
    address: Address,
    payment: Payment,
    #[index(tag, each(lowercase), same_partition)]
    #[property(json)]
    tags: Vec<String>,
}

fn queries() {
    let _ = Post::by_popular("ada").range(1..5);
    let _ = Post::by_posted("ada").range(1..5);
    let _ = Post::by_card("ada").range(1..5);
    let _ = Post::by_tag("ada").eq("rust");
}

fn main() {}
