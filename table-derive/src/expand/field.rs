//! The expressions that read and write one field.

use proc_macro2::{Ident, TokenStream};
use quote::quote_spanned;

use super::{context::Context, types::strategy_type};
use crate::{
    hygiene::{local, this},
    model::{Field, Part, Property},
};

/// Returns the value of the next part of a key.
pub(super) fn read_part(context: &Context<'_>, part: &Part, is_last: bool, reader: &Ident) -> TokenStream {
    let (fits, ty, type_span) = (context.fits(part), context.part_type(part), context.type_span(part));
    let t = context.runtime.at(type_span);
    let read = quote_spanned!(part.span=> #fits::part::<#is_last>(&mut #reader)?);
    let value = quote_spanned!(type_span=> <#ty as #t::KeyPart>::from_key(#read));
    quote_spanned!(type_span=> #t::KeyReader::value(#value, #reader)?)
}

/// Returns the statement that skips the next part of a key.
pub(super) fn skip_part(context: &Context<'_>, part: &Part, is_last: bool, reader: &Ident) -> TokenStream {
    let fits = context.fits(part);
    quote_spanned!(part.span=> #fits::skip::<#is_last>(&mut #reader)?;)
}

/// Returns the path of the function that reads a property.
pub(super) fn load(context: &Context<'_>, field: &Field, property: &Property) -> TokenStream {
    let ty = &field.ty;
    let strategy = strategy_type(property, ty, context.runtime);
    let t = context.runtime.at(ty.span());
    quote_spanned!(ty.span()=> <#strategy as #t::Store<#ty>>::load)
}

/// Returns the statement that writes a field as its property.
pub(super) fn store(context: &Context<'_>, field: &Field, property: &Property) -> TokenStream {
    let properties = local("properties");
    let (ident, ty, name) = (&field.ident, &field.ty, &property.name.value);
    let strategy = strategy_type(property, ty, context.runtime);
    let (t, this) = (context.runtime.at(ty.span()), this(ty.span()));
    quote_spanned!(ty.span()=> <#strategy as #t::Store<#ty>>::store(&#this.#ident, #name, #properties)?;)
}

/// Returns the type of a field's property.
pub(super) fn property_type(context: &Context<'_>, field: &Field, property: &Property) -> TokenStream {
    let ty = &field.ty;
    let strategy = strategy_type(property, ty, context.runtime);
    let t = context.runtime.at(ty.span());
    quote_spanned!(ty.span()=> <#strategy as #t::Store<#ty>>::TYPE)
}
