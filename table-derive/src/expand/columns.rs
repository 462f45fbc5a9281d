//! The struct of an entity's columns.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{GenericParam, spanned::Spanned as _};

use super::{Context, docs, implementation::read_part, local, strategy_type};
use crate::model::{Mode, Source, Storage, Strategy};

/// The struct, which stands beside the entity: its users see it.
pub(super) fn definition(context: &Context<'_>) -> TokenStream {
    let Context { entity, columns, .. } = context;
    let (visibility, generics, ident) = (&entity.visibility, &entity.generics, &entity.ident);
    let (_, arguments, clause) = generics.split_for_impl();
    let t = context.runtime.here();
    let fields = entity.fields.iter().enumerate().filter_map(|(at, field)| {
        let (name, ty, visibility, docs) = (&field.ident, &field.ty, &field.visibility, &field.docs);
        let fact = match (entity.mode(at), &field.storage) {
            (Mode::InKey, _) => docs::key_column(entity, at),
            (Mode::Free | Mode::Indexed, Storage::Property { name, .. }) => docs::property_column(&name.value),
            _ => return None,
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
    let unused = unused(context).map(|ty| quote!(#[doc(hidden)] __entity: #ty));
    quote! {
        #[doc = #documentation]
        #[allow(dead_code, deprecated, clippy::type_complexity)]
        #visibility struct #columns #generics #clause { #(#fields,)* #unused }
    }
}

/// The column's mode, and how it is stored where it is.
fn column(context: &Context<'_>, at: usize) -> TokenStream {
    let t = context.runtime.here();
    let field = &context.entity.fields[at];
    let mode = match context.entity.mode(at) {
        Mode::InKey => return quote!(#t::InKey),
        Mode::Indexed => quote!(#t::Indexed),
        Mode::Free | Mode::Skipped => quote!(#t::Free),
    };
    match &field.storage {
        Storage::Property { strategy: Strategy::Native, default: None, .. } | Storage::Skipped(_) => mode,
        Storage::Property { strategy, default, .. } => {
            let strategy = strategy_type(*strategy, default.is_some(), &field.ty, &context.runtime);
            quote!(#mode, #strategy)
        }
    }
}

/// Where no column mentions the entity's parameters, a marker does.
fn unused(context: &Context<'_>) -> Option<TokenStream> {
    let entity = context.entity;
    let types = entity.generics.params.iter().any(|parameter| matches!(parameter, GenericParam::Type(_)));
    let columns = (0..entity.fields.len()).any(|at| entity.mode(at) != Mode::Skipped);
    let ident = &entity.ident;
    let (_, arguments, _) = entity.generics.split_for_impl();
    (types && !columns).then(|| quote!(::core::marker::PhantomData<fn() -> #ident #arguments>))
}

/// `Clone` and `Copy` without bounds on the parameters.
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

/// The value of `COLUMNS`.
pub(super) fn value(context: &Context<'_>) -> TokenStream {
    let t = context.runtime.here();
    let Context { entity, columns, .. } = context;
    let fields = entity.fields.iter().enumerate().filter_map(|(at, field)| {
        let (ident, ty) = (&field.ident, &field.ty);
        let (name, load) = match (entity.mode(at), &field.storage) {
            (Mode::InKey, _) => ("", key_reader(context, at)),
            (Mode::Free | Mode::Indexed, Storage::Property { name, strategy, default, .. }) => {
                let strategy = strategy_type(*strategy, default.is_some(), ty, &context.runtime);
                let t = context.runtime.at(ty.span());
                (name.value.as_str(), quote_spanned!(ty.span()=> <#strategy as #t::Store<#ty>>::load))
            }
            _ => return None,
        };
        Some(quote!(#ident: #t::Column::new(#name, #load)))
    });
    let fields: Vec<_> = fields.collect();
    let unused = unused(context).map(|_| quote!(__entity: ::core::marker::PhantomData));
    quote!(#columns { #(#fields,)* #unused })
}

/// Reads a field from the key that holds it.
fn key_reader(context: &Context<'_>, at: usize) -> TokenStream {
    let entity = context.entity;
    let (method, key, number) = match entity.source(at) {
        Source::Partition(number) => ("partition_key", &entity.partition, number),
        Source::Row(number) => ("row_key", &entity.row, number),
        Source::Property | Source::Nothing => unreachable!("its mode says that a key holds it"),
    };
    let (row, reader, value) = (local("row"), local(method), local("value"));
    let method = Ident::new(method, Span::call_site());
    let parts = &key.parts[..=number];
    let reads = parts.iter().enumerate().map(|(place, part)| {
        let last = place + 1 == key.parts.len();
        if place < number {
            let fits = context.fits(part);
            quote_spanned!(part.span=> #fits::skip::<#last>(&mut #reader)?;)
        } else {
            let read = read_part(context, part, last, &reader);
            quote!(let #value = #read;)
        }
    });
    quote! {
        |_, #row| {
            let mut #reader = #row.#method()?;
            #(#reads)*
            ::core::result::Result::Ok(#value)
        }
    }
}
