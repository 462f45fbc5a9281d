#[derive(KeyPart)]
struct Sku(String);

#[derive(Property)]
enum State {
    Open,
    Done,
}

fn main() {}
