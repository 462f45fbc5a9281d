use table_runtime::{Property, TableEntity};

#[derive(TableEntity)]
#[table(name = "Settings", partition_key = "all")]
struct Setting {
    #[row_key]
    name: String,
    #[not_mapped]
    cache: Cache,
    #[property(scale = 2)]
    price: f64,
    #[NotMapped]
    other: Cache,
    category: Option<Category>,
}

#[derive(Property)]
struct Category {
    name: String,
    parent: Option<Box<Category>>,
}

#[derive(Default)]
struct Cache;

fn main() {}
