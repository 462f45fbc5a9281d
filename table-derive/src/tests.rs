//! Tests of the derives: the generated code, its hygiene, and the error messages.

mod examples;
mod expansions;
mod group_rules;
mod hygiene;
mod index_rules;
mod rules;

use proc_macro2::TokenStream;
use syn::DeriveInput;

/// Formats the code.
fn pretty(code: TokenStream) -> String {
    prettyplease::unparse(&syn::parse2(code).expect("the expansion is items"))
}

/// Returns the messages of each `compile_error!`.
fn messages(expand: fn(&DeriveInput) -> TokenStream, input: &DeriveInput) -> Vec<String> {
    let file: syn::File = syn::parse2(expand(input)).expect("the expansion is items");
    let message = |item: syn::Item| match item {
        syn::Item::Macro(item) => item.mac.parse_body::<syn::LitStr>().ok().map(|message| message.value()),
        _ => None,
    };
    file.items.into_iter().filter_map(message).collect()
}
