use std::time::SystemTime;

use table_runtime::TableEntity;

/// The entity `Word` of the table `Words`, as the catalog records it.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Words")]
#[index(letter, partition(text(first = 1, lowercase)), row(day(time)), prefix = "l-")]
pub struct Word {
    #[partition_key(first = 2, lowercase)]
    #[row_key(lowercase)]
    #[property]
    pub text: String,
    #[row_key(reverse)]
    #[property]
    pub rank: i16,
    pub day: SystemTime,
}
