use table_runtime::Tables;

#[derive(Entity)]
struct Post {
    title: String,
}

fn main() {}
