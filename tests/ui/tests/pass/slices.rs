#![deny(missing_docs)]
//! Entities with one table for each year, month and day.

use std::time::SystemTime;

use table_runtime::{KeyPart, Rows, TableEntity, Tables, slices::Sliced};

/// Newtype of a time.
#[derive(KeyPart, Clone, Copy)]
pub struct Moment(SystemTime);

/// Entity with one table for each month.
#[derive(TableEntity)]
#[table(name = "Log", slice = month(at))]
pub struct Line {
    #[partition_key]
    machine: String,
    #[row_key(reverse_time)]
    at: SystemTime,
}

/// Entity with a newtype of a time as the slice's field, before a hash.
#[derive(TableEntity)]
#[table(slice = year(r#in), separator = "_", kind)]
pub struct Yearly {
    #[partition_key]
    r#in: Moment,
    #[partition_key(hash = 4)]
    #[row_key]
    id: u32,
}

/// Generic entity with a time that is also a property.
#[derive(TableEntity)]
#[table(slice = day(at), write_id, allow_scan)]
pub struct Daily<T: Clone> {
    #[partition_key]
    #[property]
    at: SystemTime,
    #[row_key]
    of: T,
}

fn sliced<T: Sliced>() {}

pub(crate) fn main() {
    sliced::<Line>();
    sliced::<Yearly>();
    sliced::<Daily<u32>>();
    let _: Rows<Line> = Line::by_key("a").range(SystemTime::UNIX_EPOCH..);
    let _ = |tables: Tables| async move {
        let _ = tables.drop_slices::<Line>(..SystemTime::UNIX_EPOCH).await;
        let _ = tables.drop_slices::<Yearly>(..Moment(SystemTime::UNIX_EPOCH)).await;
        let _ = tables.slices::<Daily<u32>>().await;
    };
}
