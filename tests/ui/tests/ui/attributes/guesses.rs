//! Keys and attributes that newcomers write.

use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "Posts", version = 2, try_from = PostV1)]
#[table(tenant = "acme", optimistic_lock, renamed_from = "Articles")]
struct Post {
    #[partition_key("all")]
    author: String,
    #[row_key(format = "{:08}")]
    id: u32,
    #[partition_key(month)]
    month: u32,
    #[index(title, starts_with)]
    title: String,
    #[index(city, nullable)]
    city: Option<String>,
    #[property(etag)]
    etag: String,
    #[property(counter)]
    likes: u32,
    #[property(timestamp)]
    updated: u64,
}

#[derive(TableEntity)]
#[entity(table = "Users")]
#[version(2, from = UserV1)]
#[index(gsi1, pk(city), sk(created))]
struct User {
    #[partition]
    #[row]
    id: u32,
    #[column(name = "Mail")]
    email: String,
    #[created_at]
    created: u64,
    #[secondary_index]
    city: String,
}

fn main() {}
