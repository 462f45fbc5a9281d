//! The expressions that read and write one field.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;

use super::{context::Context, types::strategy_type};
use crate::{
    hygiene::{local, this},
    model::{Field, Part, Property, Strategy, is_option},
    runtime::Runtime,
};

/// Returns the value of a `Result`, or returns its error from the function. The operator `?` does the same, but its traits
/// cost the compiler much more.
pub(super) fn or_return(span: Span, result: &TokenStream) -> TokenStream {
    let (t, value, error) = (Runtime::Alias.at(span), local("value"), local("error"));
    quote_spanned! {span=>
        match #result {
            #t::Ok(#value) => #value,
            #t::Err(#error) => return #t::Err(#error),
        }
    }
}

/// Returns the statement that returns the error of a `Result<(), _>` from the function.
pub(super) fn if_failed_return(span: Span, result: &TokenStream) -> TokenStream {
    let (t, error) = (Runtime::Alias.at(span), local("error"));
    quote_spanned! {span=>
        if let #t::Err(#error) = #result {
            return #t::Err(#error);
        }
    }
}

/// Returns the value of the next part of a key.
pub(super) fn read_part(context: &Context<'_>, part: &Part, is_last: bool, reader: &Ident) -> TokenStream {
    let fits = context.fits(part);
    or_return(part.span, &quote_spanned!(part.span=> #fits::field(&mut #reader, #is_last)))
}

/// Returns the statement that skips the next part of a key.
pub(super) fn skip_part(context: &Context<'_>, part: &Part, is_last: bool, reader: &Ident) -> TokenStream {
    let fits = context.fits(part);
    if_failed_return(part.span, &quote_spanned!(part.span=> #fits::skip(&mut #reader, #is_last)))
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
    if_failed_return(
        ty.span(),
        &quote_spanned!(ty.span()=> <#strategy as #t::Store<#ty>>::store(&#this.#ident, #name, #properties)),
    )
}

/// Returns the constant that checks that a value of a field with `default` is always stored as something.
fn check_default(runtime: &Runtime, field: &Field, property: &Property) -> Option<TokenStream> {
    let (ty, span) = (&field.ty, property.default?);
    let t = runtime.at(span);
    // The default of an `Option` is `None`, which is nothing. JSON is checked when it is written.
    let is_checked = matches!(property.strategy, Strategy::Native) && !is_option(ty);
    is_checked.then(|| quote_spanned!(span=> const _: () = #t::nested::check_default::<#ty>();))
}

/// Returns the constants that check that the options of a field fit its type.
pub(super) fn check_options(runtime: &Runtime, field: &Field, property: &Property) -> TokenStream {
    let checks = [check_prefix(runtime, field, property), check_default(runtime, field, property)];
    checks.into_iter().flatten().collect()
}

/// Returns the constant that checks that a field with `prefix` is stored as several properties, and one with `large` as text
/// or bytes.
fn check_prefix(runtime: &Runtime, field: &Field, property: &Property) -> Option<TokenStream> {
    let ty = &field.ty;
    if let Some(span) = property.large {
        let (strategy, t) = (strategy_type(property, ty, runtime), runtime.at(span));
        return Some(quote_spanned!(span=> const _: () = #t::large::check(<#strategy as #t::Store<#ty>>::TYPE);));
    }
    let span = property.prefix?;
    let (strategy, t) = (strategy_type(property, ty, runtime), runtime.at(span));
    Some(quote_spanned!(span=> const _: () = #t::nested::check_prefix(<#strategy as #t::Store<#ty>>::PARTS);))
}

/// Returns the description of a field's property.
pub(super) fn property_info(runtime: &Runtime, field: &Field, property: &Property) -> TokenStream {
    let ty = &field.ty;
    let strategy = strategy_type(property, ty, runtime);
    let t = runtime.at(ty.span());
    let (field, name) = (&field.name, &property.name.value);
    let is_native = matches!(property.strategy, Strategy::Native);
    quote_spanned!(ty.span()=> #t::PropertyInfo {
        field: #field,
        name: #name,
        is_native: #is_native,
        ..<#strategy as #t::Store<#ty>>::INFO
    })
}
