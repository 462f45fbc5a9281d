use table_runtime::{KeyPart, Property};

#[derive(KeyPart)]
struct Pair(u32, u32);

#[derive(Property)]
struct Named {
    value: u32,
}

fn main() {}
