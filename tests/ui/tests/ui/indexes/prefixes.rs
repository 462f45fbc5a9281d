use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(name = "Users")]
struct User {
    #[partition_key]
    user: String,
    #[row_key]
    #[index(id, same_table)]
    id: u32,
    #[index(name, same_partition, prefix = "n-")]
    #[index(nickname, same_partition, prefix = "n-i-")]
    name: String,
    #[index(email, table = "Logins", unique)]
    email: String,
    #[index(phone, table = "Logins", unique)]
    phone: String,
    #[index(city, table = "Users")]
    city: String,
}

#[derive(TableEntity)]
#[table(name = "Users", row = "name-of-user")]
struct Name {
    #[partition_key]
    user: String,
    #[index(name, same_partition)]
    name: String,
}

fn main() {}
