//! All mistakes of one input, each at its own place.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// The mistakes found so far.
#[derive(Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    /// Whether none was found.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// A mistake at one place.
    pub(crate) fn at(&mut self, place: Span, message: impl Display) {
        self.push(syn::Error::new(place, message));
    }

    /// A mistake that all of these tokens make.
    pub(crate) fn on(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// A mistake that syn found.
    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// A `compile_error!` for each; nothing if there are none.
    pub(crate) fn into_tokens(self) -> TokenStream {
        self.0.map(syn::Error::into_compile_error).unwrap_or_default()
    }
}
