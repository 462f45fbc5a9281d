//! The struct of an entity's columns.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::GenericParam;

use super::{
    context::Context,
    docs,
    field::{load, read_part, skip_part},
    types::strategy_type,
};
use crate::{
    hygiene::local,
    model::{Mode, Source, Strategy},
};

/// Returns the struct. It is beside the entity, because its users name it.
pub(super) fn definition(context: &Context<'_>) -> TokenStream {
    let Context { entity, columns, .. } = context;
    let (visibility, generics, ident) = (&entity.visibility, &entity.generics, &entity.ident);
    let (_, arguments, clause) = generics.split_for_impl();
    let t = context.runtime.here();
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
    let documentation = docs::columns(entity);
    let fields: Vec<_> = fields.collect();
    let marker = parameter_marker(context).map(|ty| quote!(#[doc(hidden)] __entity: #ty));
    quote! {
        #[doc = #documentation]
        #[allow(dead_code, deprecated, clippy::type_complexity)]
        #visibility struct #columns #generics #clause { #(#fields,)* #marker }
    }
}

/// Returns the arguments of a column's type: its mode, and its strategy unless that is the default.
fn column(context: &Context<'_>, at: usize) -> TokenStream {
    let t = context.runtime.here();
    let mode = match context.entity.mode(at) {
        Mode::InKey => return quote!(#t::InKey),
        Mode::Indexed => quote!(#t::Indexed),
        Mode::Free | Mode::Skipped => quote!(#t::Free),
    };
    match context.entity.property(at) {
        Some(property) if !matches!(property.strategy, Strategy::Native) || property.default.is_some() => {
            let strategy = strategy_type(property, &context.entity.fields[at].ty, context.runtime);
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
    let t = context.runtime.here();
    let Context { entity, columns, .. } = context;
    let fields = entity.fields.iter().enumerate().filter_map(|(at, field)| {
        let ident = &field.ident;
        let (name, load) = match entity.property(at) {
            Some(property) => (property.name.value.as_str(), load(context, field, property)),
            None if entity.mode(at) == Mode::InKey => ("", key_reader(context, at)),
            None => return None,
        };
        Some(quote!(#ident: #t::Column::new(#name, #load)))
    });
    let fields: Vec<_> = fields.collect();
    let marker = parameter_marker(context).map(|_| quote!(__entity: ::core::marker::PhantomData));
    quote!(#columns { #(#fields,)* #marker })
}

/// Returns a closure that reads a field from the key that contains it.
fn key_reader(context: &Context<'_>, at: usize) -> TokenStream {
    let entity = context.entity;
    let (method, key, number) = match entity.source(at) {
        Source::Partition(number) => ("partition_key", &entity.partition, number),
        Source::Row(number) => ("row_key", &entity.row, number),
        Source::Property | Source::Skipped => unreachable!("a field with `Mode::InKey` is read from a key"),
    };
    let (row, reader, value) = (local("row"), local(method), local("value"));
    let method = Ident::new(method, Span::call_site());
    let parts = &key.parts[..=number];
    let reads = parts.iter().enumerate().map(|(position, part)| {
        let is_last = position + 1 == key.parts.len();
        if position < number {
            skip_part(context, part, is_last, &reader)
        } else {
            let read = read_part(context, part, is_last, &reader);
            quote!(let #value = #read;)
        }
    });
    quote! {
        |_, #row| {
            let mut #reader = #row.#method(&Self::LAYOUTS[0])?;
            #(#reads)*
            ::core::result::Result::Ok(#value)
        }
    }
}
