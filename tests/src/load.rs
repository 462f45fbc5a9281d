//! What the `loader` writes, and how its tests read it.

use table_runtime::TableEntity;

/// A row of the `loader`.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Loaded")]
pub struct Loaded {
    /// The task that wrote it.
    #[partition_key]
    pub task: u32,
    /// Its number among the task's.
    #[row_key]
    pub number: u32,
    /// A text of some length.
    pub text: String,
}

impl Loaded {
    /// The row of this number, as it is inserted.
    pub fn new(task: u32, number: u32) -> Self {
        Self { task, number, text: format!("{number} of {task}").repeat(10) }
    }
}
