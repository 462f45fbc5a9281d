use table_runtime::Entity;

#[derive(Entity)]
struct Post {
    author: String,
}

fn main() {}
