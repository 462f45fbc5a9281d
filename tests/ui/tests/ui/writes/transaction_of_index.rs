use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity)]
struct Login {
    #[partition_key]
    user: String,
    #[row_key]
    id: u32,
    #[index(email, unique)]
    email: String,
}

async fn run(tables: &Tables, login: Login) -> Result<()> {
    tables.transaction().insert(&login).commit().await?;
    Ok(())
}

fn main() {}
