//! Identifiers and spans of generated code.

use proc_macro2::{Ident, Span};

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
