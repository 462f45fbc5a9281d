use table_runtime::{KeyPart, Property};

#[derive(KeyPart)]
enum Nothing {}

#[derive(Property)]
enum Shape {
    Circle(u32),
    Square,
}

fn main() {}
