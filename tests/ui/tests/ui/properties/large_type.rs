use table_runtime::Property;

#[derive(Property)]
struct Address {
    street: String,
    #[property(large)]
    number: u16,
}

fn main() {}
