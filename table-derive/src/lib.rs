//! The derives of `table-runtime`, which re-exports them.
//!
//! Each reads its attributes into a model, checks the model and expands it. Every mistake is reported, at its own
//! place; the code is written even so, as far as it can be, so that one mistake does not bring others.

mod attributes;
mod case;
mod check;
mod encoding;
mod errors;
mod expand;
mod fallback;
mod generics;
mod key_part;
mod model;
mod property;
#[cfg(test)]
mod tests;
mod wrapper;

use proc_macro2::TokenStream;
use syn::{DeriveInput, parse_macro_input};

use crate::{errors::Errors, model::Entity, wrapper::Wrapper};

/// Makes a struct a table's row.
#[proc_macro_derive(TableEntity, attributes(table, partition_key, row_key, property))]
pub fn derive_table_entity(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    table_entity(&parse_macro_input!(input)).into()
}

/// Makes a newtype or an enum of unit variants a part of keys.
#[proc_macro_derive(KeyPart, attributes(table, property))]
pub fn derive_key_part(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    key_part(&parse_macro_input!(input)).into()
}

/// Makes a newtype or an enum of unit variants a property.
#[proc_macro_derive(Property, attributes(table, property))]
pub fn derive_property(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    property(&parse_macro_input!(input)).into()
}

fn table_entity(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let entity = Entity::read(input, &mut errors);
    if let Some(entity) = entity.as_ref().filter(|_| errors.is_empty()) {
        check::check(entity, &mut errors);
    }
    let code = entity.map_or_else(|| fallback::table_entity(input), |entity| expand::entity(&entity));
    with_errors(errors, code)
}

fn key_part(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let code = match Wrapper::read(input, "KeyPart", &mut errors) {
        Some(wrapper) => key_part::expand(&wrapper),
        None => fallback::key_part(input),
    };
    with_errors(errors, code)
}

fn property(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let code = match Wrapper::read(input, "Property", &mut errors) {
        Some(wrapper) => property::expand(&wrapper),
        None => fallback::property(input),
    };
    with_errors(errors, code)
}

fn with_errors(errors: Errors, code: TokenStream) -> TokenStream {
    let mut tokens = errors.into_tokens();
    tokens.extend(code);
    tokens
}
