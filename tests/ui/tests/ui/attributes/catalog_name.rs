use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(entity = "")]
struct Empty {
    #[partition_key]
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(entity = "Person", kind)]
struct OfAKind {
    #[partition_key]
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(was = "")]
struct OfNothing {
    #[partition_key]
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(was = "Same")]
struct Same {
    #[partition_key]
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(was = "Person", entity = "Person")]
struct Human {
    #[partition_key]
    #[row_key]
    id: u32,
}

#[derive(TableEntity)]
#[table(was = "Person", kind = "Person")]
struct KindOfPerson {
    #[partition_key]
    #[row_key]
    id: u32,
}

fn main() {}
