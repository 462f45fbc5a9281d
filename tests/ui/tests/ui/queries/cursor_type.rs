use table_runtime::Cursor;

fn main() {}
