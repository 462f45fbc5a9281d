use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "Users")]
struct User {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(name, table = "Names", list)]
    #[index(names, same_partition, list, unique)]
    name: String,
    #[index(email, table = "Logins", unique, copy)]
    email: String,
    #[index(city, copy, include(email))]
    city: String,
    #[index(street, include(id))]
    street: String,
    #[index(hash, first = 6, same_partition, unique)]
    hash: String,
    #[index(raw_hash, raw, same_table)]
    other_hash: String,
}

#[derive(TableEntity)]
#[table(name = "Users")]
struct Cached {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(name, copy)]
    name: String,
    #[index(cached, same_partition)]
    #[property(skip)]
    cached: String,
}

#[derive(TableEntity)]
struct Named {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(name, include(emial))]
    name: String,
    #[index(phone, unique, rename(name = "Name"))]
    phone: String,
    #[index(email, unique)]
    email: String,
}

fn main() {}
