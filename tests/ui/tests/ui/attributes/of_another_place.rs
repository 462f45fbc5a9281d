use table_runtime::{EntityGroup, Property, TableEntity};

#[derive(TableEntity)]
#[table(partition(tenant, project))]
struct Task {
    tenant: String,
    project: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Notes", kind)]
struct Note {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(name = "Notes", kind)]
struct Comment {
    #[partition_key]
    author: String,
    #[row_key]
    note: u32,
    #[row_key]
    id: u32,
}

fn main() {}
