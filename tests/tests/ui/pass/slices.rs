#![deny(missing_docs)]
//! Tables by year, month and day.

use std::time::SystemTime;

use table_runtime::{KeyPart, Rows, Sliced, TableEntity, Tables};

/// A moment.
#[derive(KeyPart, Clone, Copy)]
pub struct Moment(SystemTime);

/// A line.
#[derive(TableEntity)]
#[table(name = "Log", slice = month(at))]
pub struct Line {
    #[partition_key]
    machine: String,
    #[row_key(reverse_time)]
    at: SystemTime,
}

/// By a time of an own type, before a hash.
#[derive(TableEntity)]
#[table(slice = year(r#in), separator = "_", kind)]
pub struct Yearly {
    #[partition_key]
    r#in: Moment,
    #[partition_key(hash = 4)]
    #[row_key]
    id: u32,
}

/// By a time that is stored as a property too, of a generic entity.
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

fn main() {
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
