use table_runtime::{Query, Result, Stored, TableEntity, Tables};

trait Repository<T: TableEntity> {
    async fn find(&self, key: T::Key) -> Result<Option<Stored<T>>>;
}

async fn list<T: TableEntity>(tables: &Tables, query: Query<T>) -> Result<Vec<Stored<T>>> {
    query.all(tables).await
}

fn queries<T>() -> impl Query<T> {}

fn main() {}
