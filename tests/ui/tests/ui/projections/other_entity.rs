use table_runtime::{Projection, TableEntity};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
    #[property(skip)]
    cached: bool,
}

#[derive(TableEntity)]
struct User {
    #[partition_key]
    #[row_key]
    name: String,
}

#[derive(Projection)]
#[projection(of = Post)]
struct Headline {
    title: String,
}

fn main() {
    let _ = User::by_key().select::<Headline>();
    let _ = Post::key("Marcus", 1).select::<User>();
}
