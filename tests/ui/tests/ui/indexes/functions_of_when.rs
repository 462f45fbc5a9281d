use table_runtime::{KeyPart, Property, Result, TableEntity, Tables};

#[derive(KeyPart, Property, PartialEq)]
enum Role {
    Admin,
    Guest,
}

fn has_url(url: Option<&str>) -> bool {
    url.is_some()
}

#[derive(TableEntity)]
#[index(admins, same_partition, row(role), when(role, Role::Admin))]
#[index(linked, same_partition, row(name), when(url, has_url))]
struct User {
    #[partition_key]
    team: String,
    #[row_key]
    id: u32,
    role: Role,
    name: String,
    url: Option<String>,
}

fn main() {}
