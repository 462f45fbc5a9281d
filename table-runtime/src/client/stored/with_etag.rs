//! Stored entities that serialize with their ETags.

use table_store::ETag;

use super::Stored;

/// A stored entity that serializes with its ETag: see [`Stored::with_etag`].
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct WithETag<'a, T> {
    #[serde(flatten)]
    entity: &'a T,
    etag: &'a ETag,
}

impl<T> Stored<T> {
    /// Returns the entity in a form that serializes with its fields and one more, `etag`. By itself, a `Stored`
    /// serializes as the entity alone.
    ///
    /// The client of a web service sends the text back in `If-Match`, and the service parses it as an [`ETag`]. An entity
    /// that serializes as something else than a struct or a map, or that has a field `etag`, cannot be serialized so.
    ///
    /// ```
    /// use serde::Serialize;
    /// use table_runtime::{ETag, Stored, TableEntity};
    ///
    /// #[derive(TableEntity, Serialize)]
    /// struct Post {
    ///     #[partition_key]
    ///     author: String,
    ///     #[row_key]
    ///     number: u32,
    /// }
    ///
    /// let etag: ETag = "\"7\"".parse()?;
    /// let post = Stored::new(Post { author: "Marcus".into(), number: 1 }, etag);
    /// let json = serde_json::to_string(&Stored::with_etag(&post))?;
    /// assert_eq!(json, r#"{"author":"Marcus","number":1,"etag":"\"7\""}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn with_etag(this: &Self) -> WithETag<'_, T> {
        WithETag { entity: &this.parts.0, etag: &this.parts.1.etag }
    }
}
