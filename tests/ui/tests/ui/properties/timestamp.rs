use table_runtime::TableEntity;
use time::OffsetDateTime;

#[derive(TableEntity)]
#[table(name = "Posts")]
pub struct Post {
    #[partition_key]
    pub partition_key: String,
    #[row_key]
    pub row_key: String,
    pub timestamp: Option<OffsetDateTime>,
    pub title: String,
}

fn main() {}
