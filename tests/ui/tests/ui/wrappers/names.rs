use table_runtime::{KeyPart, Property};

#[derive(KeyPart)]
enum Nothing {}

#[derive(Property)]
enum Shape {
    Circle(u32),
    Square,
}

#[derive(KeyPart, Property)]
#[table(rename_all = "snake")]
enum Colour {
    Red,
    #[property(renam = "verde")]
    Green,
    #[property(rename = "Red")]
    Blue,
}

fn main() {}
