use table_runtime::TableEntity;

#[derive(TableEntity)]
#[index(city, partition(city(hash = 16)), row(city(lowercase)))]
#[index(mail, partition(mail(hash = 16)), row(mail(lowercase)), unique)]
struct Person {
    #[partition_key]
    id: u32,
    #[row_key]
    number: u32,
    city: String,
    #[index(address, hash = 16, lowercase)]
    mail: String,
}

#[derive(TableEntity)]
struct Member {
    #[partition_key(hash = 16)]
    id: u32,
    #[row_key]
    number: u32,
    #[index(name, lowercase, same_partition, unique)]
    name: String,
}

#[derive(TableEntity)]
struct User {
    #[partition_key(hash = 16)]
    #[index(name, lowercase, same_partition, unique)]
    name: String,
    #[row_key]
    id: u32,
}

fn main() {}
