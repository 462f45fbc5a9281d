//! Derives that generate nothing, with the attributes of other libraries, so that no test depends on these.

use proc_macro::TokenStream;

/// `Model` of toasty, without `table` and `index`, which belong to `TableEntity`.
#[proc_macro_derive(
    Model,
    attributes(
        key, auto, default, update, column, unique, has_many, has_one, belongs_to, serialize, version, deferred,
        document
    )
)]
pub fn model(_: TokenStream) -> TokenStream {
    TokenStream::new()
}

/// `FromRow` of sqlx.
#[proc_macro_derive(FromRow, attributes(sqlx))]
pub fn from_row(_: TokenStream) -> TokenStream {
    TokenStream::new()
}

/// `Queryable` of diesel.
#[proc_macro_derive(Queryable, attributes(diesel))]
pub fn queryable(_: TokenStream) -> TokenStream {
    TokenStream::new()
}
