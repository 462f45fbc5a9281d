use serde::Deserialize;
use table_runtime::{Error, PageOf, Result, Stored, TableEntity, Tables};
use time::OffsetDateTime;

struct StatusCode;

/// As in axum.
trait IntoResponse: Sized {
    fn into_response(self) {}
}

trait Parts {}

impl Parts for StatusCode {}

impl<S: Parts, T> IntoResponse for (S, T) {}

#[derive(TableEntity, Clone, Debug)]
struct Entry {
    #[partition_key]
    tenant: String,
    #[row_key(reverse_time)]
    at: OffsetDateTime,
    #[row_key]
    user: String,
    #[index(title, lowercase, same_partition, copy)]
    title: String,
}

#[derive(Deserialize)]
struct Listing {
    page: PageOf<Stored<Entry>>,
}

fn answer(error: Error) {
    (error.status(), error.public_message().into_owned()).into_response()
}

async fn run(tables: &Tables, user: &str) -> Result<()> {
    Entry::by_key("acme").eq(user).all(tables).await?;
    Entry::by_key("acme").eq(42).first(tables).await?;
    Entry::by_key("acme").filter(Entry::FIELDS.title().eq("Keys")).all(tables).await?;
    Entry::by_key("acme").filter(|entry| entry.title.and(entry.title.eq("Keys"))).all(tables).await?;
    let page = Entry::by_title("acme").page(tables, 20, None).await?;
    println!("{:?}", page.with_etags());
    Ok(())
}

fn main() {}
