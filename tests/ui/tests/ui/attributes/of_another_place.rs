use table_runtime::{EntityGroup, Property, TableEntity};

#[derive(TableEntity)]
#[table(default, rename_all(serialize = "camelCase"), json)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key(kind = "post")]
    id: u32,
    #[property(ts_seconds)]
    seconds: i64,
    #[property(unique)]
    title: String,
}

#[derive(TableEntity)]
#[table(partition(tenant, project))]
struct Task {
    tenant: String,
    project: String,
    #[row_key]
    id: u32,
}

#[derive(Property)]
#[property(transparent)]
struct Cents(u32);

#[derive(Property)]
struct Tags(#[property(json)] u32);

#[derive(Property)]
enum State {
    #[table(rename = "open")]
    Open,
    #[table(name = "closed")]
    Closed,
}

#[derive(Property)]
#[table(rename_all_fields = "camelCase")]
enum Payment {
    Invoice(#[property(rename = "InvoiceNumber")] String),
    Cash,
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

#[derive(EntityGroup)]
enum Notes {
    #[table(kind = "Note")]
    Note(Note),
    Comment(Comment),
}

fn main() {}
