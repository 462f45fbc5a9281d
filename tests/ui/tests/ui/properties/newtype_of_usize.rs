use table_runtime::Property;

#[derive(Property)]
struct Views(usize);

fn main() {}
