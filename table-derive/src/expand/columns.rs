//! The struct of an entity's columns.

use proc_macro2::{Literal, TokenStream};
use quote::{quote, quote_spanned};
use syn::GenericParam;

use super::{context::Context, docs, types::strategy_type};
use crate::{
    hygiene::no_lints,
    model::{Mode, Source, Strategy},
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
        let column = column(context, at);
        let gap = (!docs.is_empty()).then(|| quote!(#[doc = ""]));
        Some(quote_spanned! {ty.span()=>
            #[doc = #fact]
            #gap
            #(#docs)*
            #visibility #name: #t::Column<#ident #arguments, #ty, #column>
        })
    });
    let (documentation, no_lints) = (docs::columns(entity), no_lints());
    let fields: Vec<_> = fields.collect();
    let marker = parameter_marker(context).map(|ty| quote!(#[doc(hidden)] __entity: #ty));
    quote! {
        #[doc = #documentation]
        #no_lints
        #visibility struct #columns #generics #clause { #(#fields,)* #marker }
    }
}

/// Returns the arguments of a column's type: its mode, and its strategy unless that is the default.
fn column(context: &Context<'_>, at: usize) -> TokenStream {
    let t = context.entity.runtime.here();
    let mode = match context.entity.mode(at) {
        Mode::InKey => return quote!(#t::InKey),
        Mode::Indexed => quote!(#t::Indexed),
        Mode::Free | Mode::Skipped => quote!(#t::Free),
    };
    match context.entity.property(at) {
        Some(property) if !matches!(property.strategy, Strategy::Native) || property.default.is_some() => {
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
    quote! {
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
