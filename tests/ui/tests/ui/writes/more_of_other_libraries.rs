use table_runtime::{Result, TableEntity, Tables};

#[derive(TableEntity, Clone, Debug)]
#[table(name = "Posts")]
pub struct Post {
    #[partition_key]
    pub author: String,
    #[row_key]
    pub number: u32,
    #[index(title, lowercase, same_partition)]
    pub title: String,
    pub likes: u32,
    pub published: bool,
    pub body: Option<String>,
}

async fn run(tables: &Tables, post: &Post) -> Result<()> {
    tables.insert_or_replace(post).await?;
    tables.save_all([post]).await?;
    tables.count::<Post>().await?;
    tables.drop_table("Posts").await?;
    tables.begin_transaction().await?;
    tables.transaction().insert(post).execute(tables).await?;
    tables.transaction().insert(post).send().await?;
    tables.transaction().put(post).commit().await?;
    tables.transaction().delete_all([post]).commit().await?;
    tables.insert_all([post.clone()]).batch_size(100).await?;
    tables.insert_all([post.clone()]).concurrency(8).await?;
    tables.insert_all([post.clone()]).commit().await?;
    Tables::from_connection_string("UseDevelopmentStorage=true")?;
    Ok(())
}

fn main() {}
