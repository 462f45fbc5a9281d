use table_runtime::TableEntity;

#[derive(TableEntity)]
enum Shape {
    Circle,
}

#[derive(TableEntity)]
union Bits {
    bits: u32,
}

#[derive(TableEntity)]
struct Pair(String, u32);

#[derive(TableEntity)]
struct Nothing;

#[derive(TableEntity)]
struct Borrowed<'a> {
    #[partition_key]
    author: &'a str,
    #[row_key]
    id: u32,
}

fn main() {}
