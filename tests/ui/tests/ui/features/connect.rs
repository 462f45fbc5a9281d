use table_runtime::{Result, Tables};

fn tables() -> Result<Tables> {
    Tables::connect("UseDevelopmentStorage=true")
}

fn main() {}
