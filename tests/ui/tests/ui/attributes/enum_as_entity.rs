use table_runtime::TableEntity;

#[derive(TableEntity)]
enum Shape {
    Circle,
}

fn main() {}
