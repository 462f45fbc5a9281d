//! Identifiers and spans of generated code.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::quote;

/// Returns the name of a local variable, which cannot collide with the name of a field.
pub(crate) fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// Returns the identifier with the location of the span. The compiler reports an error about a call at a location only
/// if all tokens of the call have that location.
pub(crate) fn at(ident: &Ident, span: Span) -> Ident {
    let mut ident = ident.clone();
    ident.set_span(ident.span().located_at(span));
    ident
}

/// Returns `self` with the location of the span. Its hygiene is that of the derive, because a field may come from
/// another macro, in which `self` does not resolve.
pub(crate) fn this(span: Span) -> Ident {
    Ident::new("self", Span::call_site().located_at(span))
}

/// Returns the tokens at the place of a span. Each keeps its own hygiene.
pub(crate) fn located(tokens: TokenStream, place: Span) -> TokenStream {
    let locate = |token: TokenTree| match token {
        TokenTree::Group(group) => {
            let mut located = Group::new(group.delimiter(), located(group.stream(), place));
            located.set_span(group.span().located_at(place));
            located.into()
        }
        mut token => {
            token.set_span(token.span().located_at(place));
            token
        }
    };
    tokens.into_iter().map(locate).collect()
}

/// Returns the tokens of a type with the name of a type in place of `Self`.
pub(crate) fn with_self(tokens: TokenStream, name: &Ident) -> TokenStream {
    let name_in = |token: TokenTree| match token {
        TokenTree::Group(group) => {
            let mut named = Group::new(group.delimiter(), with_self(group.stream(), name));
            named.set_span(group.span());
            named.into()
        }
        TokenTree::Ident(ident) if ident == "Self" => at(name, ident.span()).into(),
        token => token,
    };
    tokens.into_iter().map(name_in).collect()
}

/// Returns true if one of the identifiers in the tokens is meant.
pub(crate) fn has_ident(tokens: TokenStream, is_meant: &dyn Fn(&Ident) -> bool) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => has_ident(group.stream(), is_meant),
        TokenTree::Ident(ident) => is_meant(&ident),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// Returns the attribute of every generated item: no lint is about generated code.
pub(crate) fn no_lints() -> TokenStream {
    quote!(#[allow(
        dead_code,
        deprecated,
        non_snake_case,
        private_interfaces,
        unused_qualifications,
        clippy::all,
        clippy::pedantic,
        clippy::nursery,
        clippy::restriction
    )])
}
