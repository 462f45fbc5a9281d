//! Rows of the `loader`, for the program and for its tests.

use table_runtime::TableEntity;

/// Row of the `loader`.
#[derive(TableEntity, Clone, Debug, PartialEq)]
#[table(name = "Loaded")]
pub struct Loaded {
    /// Task that wrote the row.
    #[partition_key]
    pub task: u32,
    /// Number among the rows of the task.
    #[row_key]
    pub number: u32,
    /// Text of some length.
    pub text: String,
}

impl Loaded {
    /// Returns the row of this number as it is inserted.
    pub fn new(task: u32, number: u32) -> Self {
        Self { task, number, text: format!("{number} of {task}").repeat(10) }
    }
}
