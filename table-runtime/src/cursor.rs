//! Cursors.

/// A text is not a cursor of this query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseCursorError {
    /// It is no cursor, or it was cut or changed.
    #[error("the cursor is damaged")]
    Damaged,
    /// It is a cursor of another query, or of this query over another layout.
    #[error("the cursor is of another query")]
    OtherQuery,
}
