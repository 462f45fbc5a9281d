use table_runtime::TableEntity;

#[derive(TableEntity)]
struct User {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(name, same_partition, same_table)]
    name: String,
}

#[derive(TableEntity)]
#[table(name = "UsersOfTheEntireOrganisationWithAllOfItsSubsidiaries")]
struct Long {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(last_changed)]
    last_changed: u32,
    #[index(name, table = "user-names")]
    name: String,
}

fn main() {}
