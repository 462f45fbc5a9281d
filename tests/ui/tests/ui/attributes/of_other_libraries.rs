use table_runtime::TableEntity;

#[derive(TableEntity)]
struct Key0 {
    #[partition_key]
    author: String,
    #[row_key(auto)]
    id: u32,
}

#[derive(TableEntity)]
struct Key1 {
    #[partition_key]
    author: String,
    #[row_key(uuid)]
    id: u32,
}

#[derive(TableEntity)]
struct Key2 {
    #[partition_key]
    author: String,
    #[row_key(text)]
    id: u32,
}

#[derive(TableEntity)]
struct Key3 {
    #[partition_key]
    author: String,
    #[row_key(with = "f")]
    id: u32,
}

#[derive(TableEntity)]
struct Key4 {
    #[partition_key]
    author: String,
    #[row_key(map = "f")]
    id: u32,
}

#[derive(TableEntity)]
struct Key5 {
    #[partition_key]
    author: String,
    #[row_key(generated)]
    id: u32,
}

#[derive(TableEntity)]
struct Properties {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[property(int64)]
    p0: u32,
    #[property(integer)]
    p1: u32,
    #[property(max_length = 100)]
    p2: u32,
    #[property(since = 2)]
    p3: u32,
    #[property(tag = "kind")]
    p4: u32,
    #[property(auto_increment)]
    p5: u32,
    #[property(with = "f")]
    p6: u32,
    #[property(alias = "Old")]
    p7: u32,
}

fn main() {}
