//! The struct of an entity's columns.

mod parts;

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::GenericParam;

use super::{context::Context, docs, types::strategy_type};
use crate::{
    hygiene::no_lints,
    model::{Mode, Property, Source},
};

/// Returns the struct. It is beside the entity, because its users name it.
pub(super) fn definition(context: &Context<'_>) -> TokenStream {
    let Context { entity, columns, .. } = context;
    let (visibility, generics, ident) = (&entity.visibility, &entity.generics, &entity.ident);
    let (_, arguments, clause) = generics.split_for_impl();
    let t = entity.runtime.here();
    let fields = entity.fields.iter().enumerate().filter_map(|(at, field)| {
        let (name, ty, visibility, docs) = (&field.ident, &field.ty, &field.visibility, &field.docs);
        let fact = match entity.property(at) {
            Some(property) => docs::property_column(&property.name.value),
            None if entity.mode(at) == Mode::InKey => docs::key_column(entity, at),
            None => return None,
        };
        // A field that only the key holds is no property.
        let number = entity.property(at).map_or(0, |_| entity.number(at));
        let (number, column) = (Literal::usize_unsuffixed(number), column(context, at));
        let gap = (!docs.is_empty()).then(|| quote!(#[doc = ""]));
        let parts = parts::of_field(context, at).map(|parts| parts.name(context).to_token_stream());
        let column = parts.unwrap_or_else(|| {
            let (span, ty) = (ty.span(), ty.at_place(&entity.runtime));
            quote_spanned!(span=> #t::Column<#ident #arguments, #ty, #number, #column>)
        });
        Some(quote! {
            #[doc = #fact]
            #gap
            #(#docs)*
            #visibility #name: #column
        })
    });
    let (documentation, no_lints) = (docs::columns(entity), no_lints());
    let fields: Vec<_> = fields.collect();
    let marker = parameter_marker(context).map(|ty| quote!(#[doc(hidden)] __entity: #ty));
    let parts = (0..entity.fields.len()).filter_map(|at| parts::of_field(context, at));
    let parts = parts.map(|parts| parts.definition(context));
    quote! {
        #[doc = #documentation]
        #no_lints
        #visibility struct #columns #generics #clause { #(#fields,)* #marker }
        #(#parts)*
    }
}

/// Returns the arguments of a column's type: its mode, and its strategy unless that is the default.
fn column(context: &Context<'_>, at: usize) -> TokenStream {
    let t = context.entity.runtime.here();
    let is_generic = !context.entity.generics.params.is_empty();
    let mode = match context.entity.mode(at) {
        Mode::InKey => return quote!(#t::InKey),
        // Of a generic entity, all parts of the field count as indexed.
        Mode::Free if is_generic && !context.entity.indexed_parts(at).is_empty() => quote!(#t::Indexed),
        Mode::Indexed => quote!(#t::Indexed),
        Mode::Free | Mode::Skipped => quote!(#t::Free),
    };
    let is_word = context.entity.property(at).is_some_and(Property::is_filter_word);
    let mode = if is_word { quote!(#t::Unfiltered<#mode>) } else { mode };
    match context.entity.property(at) {
        Some(property) if !property.is_plain() => {
            let strategy = strategy_type(property, &context.entity.fields[at].ty, &context.entity.runtime);
            quote!(#mode, #strategy)
        }
        _ => mode,
    }
}

/// Returns the type of a marker that uses the entity's parameters, if no column does.
fn parameter_marker(context: &Context<'_>) -> Option<TokenStream> {
    let entity = context.entity;
    let has_types = entity.generics.params.iter().any(|parameter| matches!(parameter, GenericParam::Type(_)));
    let has_columns = (0..entity.fields.len()).any(|at| entity.mode(at) != Mode::Skipped);
    let ident = &entity.ident;
    let (_, arguments, _) = entity.generics.split_for_impl();
    (has_types && !has_columns).then(|| quote!(::core::marker::PhantomData<fn() -> #ident #arguments>))
}

/// Returns `Clone` and `Copy` without bounds on the parameters.
pub(super) fn implementations(context: &Context<'_>) -> TokenStream {
    let Context { entity, columns, .. } = context;
    let (parameters, arguments, clause) = entity.generics.split_for_impl();
    let parts = (0..entity.fields.len()).filter_map(|at| parts::of_field(context, at));
    let parts = parts.map(|parts| parts.implementations(context));
    quote! {
        #(#parts)*
        #[automatically_derived]
        impl #parameters ::core::clone::Clone for #columns #arguments #clause {
            #[inline]
            fn clone(&self) -> Self {
                *self
            }
        }
        #[automatically_derived]
        impl #parameters ::core::marker::Copy for #columns #arguments #clause {}
    }
}

/// Returns the value of `COLUMNS`.
pub(super) fn value(context: &Context<'_>) -> TokenStream {
    let Context { entity, columns, .. } = context;
    let fields = entity.fields.iter().enumerate().filter_map(|(at, field)| {
        let ident = &field.ident;
        let column = match entity.property(at) {
            Some(_) if parts::of_field(context, at).is_some() => {
                let t = context.runtime.here();
                quote!(*#t::Fresh::NEW)
            }
            Some(property) => {
                let (name, ty) = (&property.name.value, &field.ty);
                let strategy = strategy_type(property, ty, context.runtime);
                let t = context.runtime.at(ty.span());
                quote_spanned!(ty.span()=> #t::property_column(#name, <#strategy as #t::Store<#ty>>::LOAD))
            }
            None if entity.mode(at) == Mode::InKey => key_column(context, at),
            None => return None,
        };
        Some(quote!(#ident: #column))
    });
    let fields: Vec<_> = fields.collect();
    let marker = parameter_marker(context).map(|_| quote!(__entity: ::core::marker::PhantomData));
    quote!(#columns { #(#fields,)* #marker })
}

/// Returns the column of a field that is read from the key that contains it.
fn key_column(context: &Context<'_>, at: usize) -> TokenStream {
    let entity = context.entity;
    let number = match entity.source(at) {
        Source::Partition(number) => number,
        Source::Row(number) => entity.partition.parts.len() + number,
        Source::Property | Source::Skipped => unreachable!("a field with `Mode::InKey` is read from a key"),
    };
    let part = entity.key_part(number);
    let (t, fits, number) = (context.runtime.here(), context.fits(part), Literal::usize_unsuffixed(number));
    let read = quote_spanned!(part.span=> #fits::field);
    quote!(#t::key_column(#number, #read))
}
