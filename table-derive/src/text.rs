//! String literals of attributes.

use proc_macro2::Span;
use syn::LitStr;

/// A string and the span at which errors about it are reported.
#[derive(Clone)]
pub(crate) struct Text {
    pub(crate) value: String,
    pub(crate) span: Span,
}

impl From<&LitStr> for Text {
    fn from(literal: &LitStr) -> Self {
        Self { value: literal.value(), span: literal.span() }
    }
}
