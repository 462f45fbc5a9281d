//! Types that `Property` cannot be derived for.

use table_runtime::Property;

#[derive(Property)]
struct Pair(u32, String);

#[derive(Property)]
enum Payment {
    Card(u16, String),
    Cash,
}

#[derive(Property)]
struct Of<T> {
    value: T,
}

#[derive(Property)]
struct Nothing {
    #[property(skip)]
    nothing: u32,
}

#[derive(Property)]
struct Keyed {
    #[row_key]
    id: u32,
    #[index(name)]
    name: String,
}

#[derive(Property)]
enum Variants {
    None,
    One(u32),
    #[property(rename = "One")]
    Two(u32),
    #[property(other)]
    Unit,
}

#[derive(Property)]
enum Commas {
    #[property(rename = "a, b")]
    A(u32),
}

#[derive(Property)]
enum Names {
    A(u32),
    #[property(other)]
    Other(u32),
}

struct Plain;

#[derive(Property)]
struct Outer {
    inner: Plain,
}

fn main() {}
