use table_runtime::Property;

#[derive(Property)]
struct Views(u64);

fn main() {}
