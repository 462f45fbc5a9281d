use table_runtime::Property;

struct Cents(u32);

impl Property for Cents {
    fn to_property(&self) -> u32 {
        self.0
    }
}

fn main() {}
