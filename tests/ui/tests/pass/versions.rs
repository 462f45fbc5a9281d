//! Versions of an entity, read by `From` and by `TryFrom`, also of a generic struct and in another module.

use table_runtime::{Property, TableEntity, Tables};

mod old {
    use table_runtime::TableEntity;

    #[derive(TableEntity)]
    #[table(name = "Posts", deny_unknown)]
    pub struct Post {
        #[partition_key]
        pub author: String,
        #[row_key]
        pub number: u32,
        pub title: String,
    }
}

#[derive(TableEntity)]
#[table(name = "Posts", version = 2, from = old::Post)]
struct PostV2 {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: u32,
}

#[derive(TableEntity)]
#[table(name = "Posts", version = 7, from = self::PostV2, skip_newer, deny_unknown)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    likes: i64,
}

impl TryFrom<old::Post> for PostV2 {
    type Error = std::num::ParseIntError;

    fn try_from(post: old::Post) -> Result<Self, Self::Error> {
        Ok(Self { author: post.author, id: post.number, likes: post.title.parse()? })
    }
}

impl From<PostV2> for Post {
    fn from(post: PostV2) -> Self {
        Self { author: post.author, id: post.id, likes: post.likes.into() }
    }
}

#[derive(TableEntity)]
#[table(name = "Boxes", version = 2, from = BoxV1::<T>)]
struct Boxed<T: Property + Send + Sync + 'static> {
    #[partition_key]
    shelf: u32,
    #[row_key]
    number: u32,
    content: Option<String>,
    other: T,
}

#[derive(TableEntity)]
#[table(name = "Boxes")]
struct BoxV1<T: Property + Send + Sync + 'static> {
    #[partition_key]
    shelf: u32,
    #[row_key]
    number: u32,
    content: T,
}

impl<T: Property + Send + Sync + 'static> From<BoxV1<T>> for Boxed<T> {
    fn from(BoxV1 { shelf, number, content }: BoxV1<T>) -> Self {
        Self { shelf, number, content: None, other: content }
    }
}

#[derive(TableEntity)]
#[table(name = "Notes", version = 2)]
struct Note {
    #[partition_key]
    of: String,
    #[row_key]
    id: u32,
    lines: i32,
}

async fn _used(tables: &Tables) -> table_runtime::Result<()> {
    Post::by_key("Marcus").all(tables).await?;
    Boxed::<i32>::by_key(1).all(tables).await?;
    // Without `from`, every row that is read has the version.
    Note::by_key("x").filter(|note| note.lines.eq(1)).all(tables).await?;
    tables.patch(Note::key("x", 1), |note| note.lines.set(1)).await?;
    Ok(())
}

pub(crate) fn main() {
    assert_eq!(Post::layout().version, 7);
}
