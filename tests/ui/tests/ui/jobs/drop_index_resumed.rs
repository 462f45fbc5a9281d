use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
pub struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    #[index(title)]
    title: String,
}

pub async fn go_on(tables: &Tables, cursor: &str) -> Result<()> {
    tables.drop_index::<Post>("old").resume_from(cursor)?;
    Ok(())
}

fn main() {}
