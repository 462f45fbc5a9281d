use table_runtime::{Query, TableEntity, cost};

#[derive(TableEntity)]
struct Event {
    #[partition_key]
    day: u32,
    #[row_key]
    name: String,
    size: u32,
}

fn cheap(_: impl Query<Cost: cost::AtMost<cost::Range>>) {}

fn main() {
    cheap(Event::key(1, "start"));
    cheap(Event::by_key(1));
    cheap(Event::by_key(1).filter(|event| event.size.gt(10)));
}
