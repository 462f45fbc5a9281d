use table_runtime::{Result, Tables};

fn tables() -> Result<Tables> {
    Tables::open("blog.tables")
}

fn main() {}
