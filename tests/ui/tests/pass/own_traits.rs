//! A program's own traits and entities have functions whose names this crate answers with a hint. They come first.

use table_runtime::{Error, Projection, Result, Rows, Stored, TableEntity, Tables, types};

#[derive(TableEntity, Debug, PartialEq)]
pub struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    number: u32,
    title: String,
}

impl Post {
    /// A function that a `Stored` is asked for too.
    fn update(&mut self, title: &str) {
        self.title = title.to_owned();
    }
}

#[derive(Projection)]
#[projection(of = Post)]
pub struct Title {
    pub title: String,
}

/// A repository.
trait Posts {
    async fn find(&self, number: u32) -> Result<Option<Stored<Post>>>;
    async fn save(&self, post: &Post) -> Result<()>;
}

impl Posts for Tables {
    async fn find(&self, number: u32) -> Result<Option<Stored<Post>>> {
        Post::key("Marcus", number).get(self).await
    }

    async fn save(&self, post: &Post) -> Result<()> {
        self.upsert(post).await?;
        Ok(())
    }
}

/// An error as an answer.
trait Answer {
    fn is_conflict(&self) -> bool;
}

impl Answer for Error {
    fn is_conflict(&self) -> bool {
        self.status() == 409
    }
}

/// More ways to narrow a query.
trait Paginate: Sized {
    fn limit(self, count: usize) -> Self;
}

impl<V, P, A> Paginate for Rows<V, P, A> {
    fn limit(self, count: usize) -> Self {
        self.take(count)
    }
}

pub struct App {
    tables: Tables,
}

pub async fn run(app: App, post: Post) -> Result<Vec<Title>> {
    app.tables.save(&post).await?;
    let (borrowed, owned) = (&app.tables, app.tables.clone());
    if let Some(mut stored) = borrowed.find(3).await?.or(owned.find(4).await?) {
        stored.update("Keys");
        borrowed.update(&mut stored).await?;
    }
    if app.tables.insert(&post).await.is_err_and(|error| error.is_conflict()) {
        Post::by_key("Marcus").limit(1).count(&app.tables).await?;
    }
    titles::<Title>(&app.tables).await
}

/// A function of any projection.
async fn titles<P: Projection<Post, Item = P> + types::OwnedView>(tables: &Tables) -> Result<Vec<P>> {
    Post::by_key("Marcus").select::<P>().all(tables).await
}
