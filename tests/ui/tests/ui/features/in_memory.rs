use table_runtime::{Result, Tables};

fn tables() -> Result<Tables> {
    Tables::in_memory()
}

fn main() {}
