//! The expansion of `#[derive(TableEntity)]`, from the model alone.

pub(crate) mod checks;
mod columns;
mod context;
mod docs;
mod example;
mod field;
mod generics;
mod implementation;
mod indexes;
mod nested;
mod queries;
mod types;

use proc_macro2::TokenStream;
use quote::quote;

use self::context::Context;
pub(crate) use self::nested::nested;
use crate::{hygiene::no_lints, model::Entity};

/// Returns everything that `#[derive(TableEntity)]` generates.
pub(crate) fn entity(entity: &Entity) -> TokenStream {
    let context = Context::new(entity);
    let columns = columns::definition(&context);
    let queries = queries::queries(&context);
    let columns_impls = columns::implementations(&context);
    let implementation = implementation::table_entity(&context);
    let markers = implementation::markers(&context);
    let (check_info, check_from) = (implementation::check_info(&context), implementation::check_from(&context));
    let times = implementation::check_times(&context);
    let prefixes = implementation::check_options_of_fields(&context);
    let paths = indexes::check_paths(&context);
    let checks = checks::of_entity(&context);
    let (no_lints, alias) = (no_lints(), entity.runtime.alias());
    quote! {
        #columns
        #no_lints
        const _: () = {
            #alias
            #checks
            #queries
            #columns_impls
            #markers
            #check_info
            #check_from
            #times
            #prefixes
            #paths
            #implementation
        };
    }
}
