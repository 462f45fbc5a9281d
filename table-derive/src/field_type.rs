//! The type of a field.

use std::ops::Deref;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::{Type, spanned::Spanned as _};

use crate::hygiene::located;

/// Type of a field.
pub(crate) struct FieldType {
    ty: Type,
    span: Span,
    /// The type, all of it at its beginning: an error about the type is then one error, wherever the type is used.
    tokens: TokenStream,
}

impl FieldType {
    pub(crate) fn new(ty: &Type) -> Self {
        Self::at(ty.clone(), ty.span())
    }

    /// Returns a type at a place that is not its own.
    pub(crate) fn at(ty: Type, span: Span) -> Self {
        let tokens = located(ty.to_token_stream(), span);
        Self { ty, span, tokens }
    }

    /// Returns the type as it is declared, for errors about it.
    pub(crate) const fn declared(&self) -> &Type {
        &self.ty
    }

    /// Returns the span of the whole type. The compiler takes long to compute it, and most of the generated code has it.
    pub(crate) const fn span(&self) -> Span {
        self.span
    }
}

impl Deref for FieldType {
    type Target = Type;

    fn deref(&self) -> &Type {
        &self.ty
    }
}

impl ToTokens for FieldType {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(self.tokens.clone());
    }
}
