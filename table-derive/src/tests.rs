//! Tests of the derives: the generated code, its hygiene, and the error messages.

mod examples;
mod expansions;
mod group_rules;
mod hygiene;
mod index_rules;
mod refused;
mod rules;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::DeriveInput;

/// Formats the code.
fn pretty(code: TokenStream) -> String {
    prettyplease::unparse(&syn::parse2(code).expect("the expansion is items"))
}

/// Returns the messages of each `compile_error!`.
fn messages(expand: fn(&DeriveInput) -> TokenStream, input: &DeriveInput) -> Vec<String> {
    fn collect(code: TokenStream, messages: &mut Vec<String>) {
        for token in code {
            if let TokenTree::Group(group) = token {
                match syn::parse2::<syn::LitStr>(group.stream()) {
                    Ok(message) if group.delimiter() == Delimiter::Brace => messages.push(message.value()),
                    _ => collect(group.stream(), messages),
                }
            }
        }
    }
    let code = expand(input);
    assert!(syn::parse2::<syn::File>(code.clone()).is_ok(), "the expansion is items: {code}");
    let mut messages = Vec::new();
    collect(code, &mut messages);
    messages
}
