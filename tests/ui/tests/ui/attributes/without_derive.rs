#[table(name = "Posts")]
struct Post {
    author: String,
}

fn main() {}
