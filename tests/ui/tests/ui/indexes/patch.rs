use table_runtime::{TableEntity, Tables};

#[derive(TableEntity)]
struct User {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(name, same_partition, include(city), when(left, is_there))]
    name: String,
    city: String,
    left: bool,
    likes: u32,
}

#[derive(TableEntity)]
struct Copied {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(name, table = "Names", copy)]
    name: String,
    likes: u32,
}

fn is_there(left: &bool) -> bool {
    !left
}

async fn patch(tables: &Tables) {
    let _ = tables.patch(User::key("Marcus", 7), |user| [user.likes.set(5)]).await;
    let _ = tables.patch(User::key("Marcus", 7), |user| [user.name.set("x")]).await;
    let _ = tables.patch(User::key("Marcus", 7), |user| [user.city.set("x")]).await;
    let _ = tables.patch(User::key("Marcus", 7), |user| [user.left.set(true)]).await;
    let _ = tables.patch(Copied::key("Marcus", 7), |copied| [copied.likes.set(5)]).await;
}

fn main() {}
