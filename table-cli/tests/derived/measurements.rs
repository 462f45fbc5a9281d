use std::time::SystemTime;

use table_runtime::{Guid, TableEntity};

/// A row of the table `Measurements`, inferred from 2 rows.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Measurements")]
pub struct Measurement {
    #[partition_key]
    pub partition: Guid,
    #[row_key(reverse_time)]
    pub row: SystemTime,
    pub value: f64,
    pub unit: Option<String>,
    pub type_: String,
    #[property(rename = "ID")]
    pub id: i64,
    #[property(rename = "rawData")]
    pub raw_data: Option<Vec<u8>>,
    pub probe: Option<Guid>,
    pub checked: Option<SystemTime>,
    pub ok: Option<bool>,
}
