use table_runtime::TableEntity;

#[derive(TableEntity)]
#[table(partition = "a/b", row = "50%")]
struct Settings {
    value: String,
}

fn main() {}
