use table_runtime::{Query, TableEntity, cost};

#[derive(TableEntity)]
struct Event {
    #[partition_key(hash = 16)]
    id: u32,
    #[row_key]
    name: String,
}

fn cheap(_: impl Query<Cost: cost::AtMost<cost::Range>>) {}

fn main() {
    cheap(Event::key(1, "start"));
    cheap(Event::by_key());
}
