use table_runtime::TableEntity;

#[derive(TableEntity)]
#[index(nam, same_partition)]
#[index(full, partition(name, emial(lowercase)))]
struct User {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(unique)]
    name: String,
    #[index(email, lowercas)]
    #[index]
    email: String,
}

#[derive(TableEntity)]
struct Twice {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(name, same_partition)]
    #[index(name, table = "Names")]
    name: String,
    #[index(key, same_partition)]
    email: String,
}

fn main() {
    let _ = Twice::by_name("Marcus").eq("x");
}
