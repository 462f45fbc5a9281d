//! The position after a row that cannot be read.

use super::Error;
use crate::{DamagedProperties, RowId};

impl Error {
    /// Returns the cursor of the page after a row that cannot be read, if the row is the first one of the page that was
    /// asked for: see `Rows::page`. `None` for every other error.
    ///
    /// ```
    /// use table_runtime::{PageOf, Result, Stored, TableEntity, Tables};
    /// # #[derive(TableEntity)]
    /// # struct Post { #[partition_key] author: String, #[row_key] number: u32 }
    ///
    /// /// Returns the next page, without the rows that cannot be read.
    /// async fn next_page(tables: &Tables, cursor: Option<&str>) -> Result<PageOf<Stored<Post>>> {
    ///     let mut cursor = cursor.map(str::to_owned);
    ///     loop {
    ///         match Post::by_key("Marcus").page(tables, 20, cursor.as_deref()).await {
    ///             Err(error) if error.cursor().is_some() => {
    ///                 eprintln!("{error}");
    ///                 cursor = error.cursor().map(str::to_owned);
    ///             }
    ///             page => return page,
    ///         }
    ///     }
    /// }
    /// ```
    pub fn cursor(&self) -> Option<&str> {
        match self {
            Self::Key(error) => error.cursor.as_deref(),
            Self::Property(error) => error.cursor.as_deref(),
            Self::UnknownProperties(error) => error.cursor.as_deref(),
            Self::Version(error) => error.cursor.as_deref(),
            Self::Damaged { cursor, .. } => cursor.as_deref(),
            _ => None,
        }
    }

    /// Returns the error of a row whose bytes are damaged.
    #[doc(hidden)]
    pub fn damaged(row: RowId, damage: DamagedProperties) -> Self {
        Self::Damaged { row: Box::new(row), damage, cursor: None }
    }

    /// Adds the cursor of the page after the row. An error that is not about the content of a row stays as it is.
    #[doc(hidden)]
    #[must_use]
    pub fn with_cursor(mut self, cursor: String) -> Self {
        let place = match &mut self {
            Self::Key(error) => &mut error.cursor,
            Self::Property(error) => &mut error.cursor,
            Self::UnknownProperties(error) => &mut error.cursor,
            Self::Version(error) => &mut error.cursor,
            Self::Damaged { cursor, .. } => cursor,
            _ => return self,
        };
        *place = Some(cursor.into());
        self
    }
}
