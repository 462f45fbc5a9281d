//! The expansion of `#[derive(TableEntity)]`, from the model alone.

mod columns;
mod context;
mod docs;
mod field;
mod generics;
mod implementation;
mod indexes;
mod queries;
mod types;

use proc_macro2::TokenStream;
use quote::quote;

use self::context::Context;
use crate::model::Entity;

/// Returns everything that `#[derive(TableEntity)]` generates.
pub(crate) fn entity(entity: &Entity) -> TokenStream {
    let context = Context::new(entity);
    let columns = columns::definition(&context);
    let queries = queries::queries(&context);
    let columns_impls = columns::implementations(&context);
    let implementation = implementation::table_entity(&context);
    let markers = implementation::markers(&context);
    let check_from = implementation::check_from(&context);
    quote! {
        #columns
        #queries
        const _: () = {
            #columns_impls
            #markers
            #check_from
            #implementation
        };
    }
}
