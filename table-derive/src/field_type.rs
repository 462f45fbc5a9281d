//! The type of a field.

use std::{fmt::Display, ops::Deref};

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::{GenericArgument, PathArguments, Type, spanned::Spanned as _};

use crate::{
    hygiene::{at, located, with_self},
    runtime::Runtime,
};

/// Type of a field.
pub(crate) struct FieldType {
    ty: Type,
    span: Span,
    /// The type, all of it at its beginning: an error about the type is then one error, wherever the type is used.
    tokens: TokenStream,
    /// The type as generated code names it: unknown if the constant that checks it does not compile.
    checked: Option<Checked>,
}

struct Checked {
    /// The name of the constant, which is one of the type with the field.
    constant: Ident,
    /// The constant's path.
    path: TokenStream,
    /// The name of the type in the block of generated code. The compiler takes long for each constant in a type, and an alias
    /// has it once.
    alias: Ident,
}

impl FieldType {
    pub(crate) fn new(ty: &Type) -> Self {
        Self::at(ty.clone(), ty.span())
    }

    /// Returns a type at a place that is not its own.
    pub(crate) fn at(ty: Type, span: Span) -> Self {
        let tokens = located(ty.to_token_stream(), span);
        Self { ty, span, tokens, checked: None }
    }

    /// Lets a constant of the type `of`, which has the field, check the field's type. An error about that type is then the only one,
    /// wherever generated functions and columns have it. Types that are certain to be parts of keys and properties need no check.
    pub(crate) fn check_in(&mut self, of: &Ident, name: impl Display) {
        if is_certain(&self.ty) {
            return;
        }
        // Outside of the type, `Self` is another one.
        self.tokens = with_self(std::mem::take(&mut self.tokens), of);
        let (span, of) = (self.span, at(of, self.span));
        let (name, place) = (name.to_string(), Span::call_site().located_at(span));
        let constant = format_ident!("__VALID_{name}", span = place);
        let alias = format_ident!("__Field{name}", span = place);
        let path = quote_spanned!(span=> #of::#constant);
        self.checked = Some(Checked { constant, path, alias });
    }

    fn valid(&self, path: &TokenStream, runtime: &Runtime) -> TokenStream {
        let (t, tokens) = (runtime.at(self.span), &self.tokens);
        quote_spanned!(self.span=> #t::Valid<#tokens, { #path }>)
    }

    /// Returns the name of the constant that checks the type, and the type itself.
    pub(crate) fn check(&self) -> Option<(&Ident, &TokenStream)> {
        self.checked.as_ref().map(|checked| (&checked.constant, &self.tokens))
    }

    /// Returns the declaration of the alias, for the block of generated code.
    pub(crate) fn alias(&self, runtime: &Runtime) -> Option<TokenStream> {
        let Checked { path, alias, .. } = self.checked.as_ref()?;
        let valid = self.valid(path, runtime);
        Some(quote_spanned!(self.span=> type #alias = #valid;))
    }

    /// Returns the type for a place in that block, which has the alias of the runtime, or outside of it.
    pub(crate) fn at_place(&self, runtime: &Runtime) -> TokenStream {
        match (&self.checked, runtime) {
            (Some(checked), Runtime::Crate(_)) => self.valid(&checked.path, runtime),
            _ => self.to_token_stream(),
        }
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
        match &self.checked {
            Some(checked) => checked.alias.to_tokens(tokens),
            None => tokens.extend(self.tokens.clone()),
        }
    }
}

/// Returns true for a type of the language that is a part of keys and a property, and for an `Option` of one.
fn is_certain(ty: &Type) -> bool {
    const CERTAIN: [&str; 11] = ["String", "bool", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "SystemTime"];
    let Type::Path(path) = ty else { return false };
    if path.path.get_ident().is_some_and(|ident| CERTAIN.iter().any(|certain| ident == certain)) {
        return true;
    }
    match path.path.segments.last() {
        Some(last) if last.ident == "Option" => match &last.arguments {
            PathArguments::AngleBracketed(inner) => match inner.args.first() {
                Some(GenericArgument::Type(inner)) => is_certain(inner),
                _ => false,
            },
            _ => false,
        },
        _ => false,
    }
}
