//! Programs whose lints are about the user's own code alone.
#![deny(warnings, clippy::pedantic, clippy::shadow_unrelated, clippy::shadow_reuse, clippy::ref_option)]

use std::borrow::Cow;

use table_runtime::{Projection, Result, TableEntity, Tables};

#[derive(TableEntity)]
#[allow(non_snake_case)]
#[index(newest(partition(Title), row(id), copy))]
#[index(liked(partition(Likes), row(id), copy, when(Title, is_named)))]
#[allow(dead_code)]
struct Post {
    #[partition_key]
    PartitionKey: String,
    #[row_key]
    id: u32,
    Title: String,
    Likes: i64,
    Url: Option<Cow<'static, str>>,
}

const fn is_named(title: &str) -> bool {
    !title.is_empty()
}

#[derive(TableEntity)]
#[deprecated]
#[allow(dead_code)]
struct OldPost {
    #[partition_key]
    author: Cow<'static, str>,
    #[row_key]
    id: u32,
    title: String,
}

#[allow(deprecated)]
mod headlines {
    use super::{OldPost, Projection};

    #[derive(Projection)]
    #[projection(of = OldPost)]
    #[allow(dead_code)]
    pub(super) struct Headline {
        title: String,
    }
}

/// The type has a function `key` and a function `scan` of its own.
#[derive(TableEntity)]
#[table(rename(key = "point"))]
#[allow(dead_code)]
struct Named {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
}

impl Named {
    fn key(&self) -> u32 {
        self.id
    }

    fn scan() -> u32 {
        1
    }
}

async fn filtered(tables: &Tables, by_url: bool) -> Result<usize> {
    let posts = Post::by_key("Marcus").filter(|post| if by_url { post.Url.eq("x") } else { post.Likes.ge(1) });
    posts.count(tables).await
}

pub(crate) fn main() {
    let named = Named { author: "Marcus".to_owned(), id: 1 };
    assert_eq!((named.key(), Named::scan()), (1, 1));
    assert_eq!(Named::point("Marcus", 1).explain().row_key(), Some("0000000001"));
    let _ = filtered;
}
