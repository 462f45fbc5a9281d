use table_runtime::{KeyPart, Property, TableEntity};

/// The entity `Odd` of the table `Odds`, as the catalog records it.
#[derive(TableEntity, Clone, Debug)]
#[table(name = "Odds")]
pub struct Odd {
    #[row_key(prefix = "e-")]
    pub stage: Stage,
    #[partition_key(hash = 16)]
    #[row_key]
    pub id: u32,
    pub size: i32,
    #[property(json)]
    #[index(tag, each, same_table, include(tags))]
    pub tags: Vec<String>,
    #[index(r#type, uppercase)]
    pub type_: String,
    // A key field has `#[property(rename = "Identifier")]`.
}

/// The variants in the rows; the program's enum may have more.
#[derive(KeyPart, Property, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Closed,
}
