//! `key`, `by_key` and `scan`.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::{
    Context, at,
    docs::{self, Way},
    local,
};
use crate::{
    encoding::Encoding,
    model::{Field, Part},
};

/// The entity's associated functions.
pub(super) fn queries(context: &Context<'_>) -> TokenStream {
    let entity = context.entity;
    let ident = &entity.ident;
    let (parameters, arguments, _) = entity.generics.split_for_impl();
    let bounds = &context.bounds;
    let (key, by_key, scan) = (key(context), by_key(context), scan(context));
    quote! {
        #[allow(dead_code, deprecated, private_interfaces, clippy::type_complexity, clippy::too_many_arguments)]
        impl #parameters #ident #arguments #bounds {
            #key
            #by_key
            #scan
        }
    }
}

/// A point: every part has its value.
fn key(context: &Context<'_>) -> TokenStream {
    let entity = context.entity;
    let t = context.runtime.here();
    let (partition, row) = (&entity.partition.parts, &entity.row.parts);
    let fields = fields_of(context, partition.iter().chain(row));
    let opening = opening(context, partition, partition.len());
    let query = local("query");
    let row = row.iter().enumerate().map(|(place, part)| {
        let (fits, field) = (context.fits(part), &entity.fields[part.field].ident);
        let last = place + 1 == row.len();
        quote_spanned!(part.span=> let #query = #fits::open_row::<Self, #last>(#field, #query);)
    });
    let body = quote!(#opening #(#row)* #query.point());
    let place = entity.row.parts.first().or(partition.first());
    let documentation = docs::key(entity);
    function(context, "key", place, &documentation, &fields, &quote!(#t::Point<Self>), &body)
}

/// A partition, or what leads to one.
fn by_key(context: &Context<'_>) -> TokenStream {
    let entity = context.entity;
    let t = context.runtime.here();
    let partition = &entity.partition.parts;
    let last = partition.last();
    let row_leads = last.is_some_and(|last| entity.row.parts.first().is_some_and(|first| first.field == last.field));
    let (way, access) = match last.map(|part| (&part.encoding, context.part(part).1)) {
        Some((Encoding::Hash(buckets, _), encoding)) => {
            let count = Literal::usize_unsuffixed(*buckets);
            if row_leads {
                (Way::Spread, quote!(#t::Spread<#count, #encoding>))
            } else {
                (Way::FanOut(*buckets), quote!(#t::cost::FanOut<#count>))
            }
        }
        Some((_, encoding)) if row_leads => (Way::ByRow, quote!(#t::Unopened<#encoding>)),
        _ => (Way::Opened, quote!(#t::cost::Range)),
    };
    let opened = match way {
        Way::Opened => partition.len(),
        Way::ByRow | Way::Spread | Way::FanOut(_) => partition.len() - 1,
    };
    let fields = fields_of(context, &partition[..opened]);
    let opening = opening(context, partition, opened);
    let query = local("query");
    let (returned, body) = match (way, entity.row.parts.is_empty()) {
        // The constant row of the one partition.
        (Way::Opened, true) => (quote!(#t::Point<Self>), quote!(#opening #query.point())),
        // The constant rows of all hash partitions.
        (_, true) => (quote!(#t::Rows<Self, #t::Done, #access>), quote!(#opening #query.rows())),
        (_, false) => {
            let parts = row_parts(context);
            (quote!(#t::Rows<Self, #parts, #access>), quote!(#opening #query.rows()))
        }
    };
    let place = partition.first().or(entity.row.parts.first());
    let documentation = docs::by_key(entity, &partition[..opened], way);
    function(context, "by_key", place, &documentation, &fields, &returned, &body)
}

/// Always there, so that a call without leave says what to write.
fn scan(context: &Context<'_>) -> TokenStream {
    let t = context.runtime.here();
    let documentation = docs::scan(context.entity);
    let visibility = &context.entity.visibility;
    quote! {
        #[doc = #documentation]
        #[inline]
        #visibility fn scan() -> #t::Rows<Self, #t::Done, #t::cost::TableScan>
        where
            for<'allowed> Self: #t::AllowScan,
        {
            #t::Opening::<Self>::new(0).rows()
        }
    }
}

fn function(
    context: &Context<'_>,
    name: &str,
    place: Option<&Part>,
    documentation: &str,
    fields: &[&Field],
    returned: &TokenStream,
    body: &TokenStream,
) -> TokenStream {
    let field = place.map_or(&context.entity.ident, |part| &context.entity.fields[part.field].ident);
    // Source and go-to-definition lead to the field.
    let place = field.span().resolved_at(Span::call_site());
    let name = Ident::new(name, place);
    let visibility = &context.entity.visibility;
    let arguments = fields.iter().map(|field| {
        let (ident, ty) = (&field.ident, &field.ty);
        let t = context.runtime.at(ty.span());
        let argument = quote_spanned!(ty.span()=> #t::Arg<'_, #ty>);
        quote!(#ident: #argument)
    });
    let values = fields.iter().map(|field| {
        let (ident, ty) = (at(&field.ident, field.ty.span()), &field.ty);
        let t = context.runtime.at(ty.span());
        let value = quote_spanned!(ty.span()=> <#ty as #t::KeyPart>::arg_value);
        quote_spanned!(ty.span()=> let #ident = #value(#ident);)
    });
    quote_spanned! {place=>
        #[doc = #documentation]
        #[inline]
        #visibility fn #name(#(#arguments),*) -> #returned {
            #(#values)*
            #body
        }
    }
}

/// The first parts of the partition key.
fn opening(context: &Context<'_>, partition: &[Part], count: usize) -> TokenStream {
    let t = context.runtime.here();
    let query = local("query");
    let parts = partition[..count].iter().enumerate().map(|(place, part)| {
        let (fits, field) = (context.fits(part), &context.entity.fields[part.field].ident);
        let last = place + 1 == partition.len();
        quote_spanned!(part.span=> let #query = #fits::open_partition::<Self, #last>(#field, #query);)
    });
    quote! {
        let #query = #t::Opening::<Self>::new(0);
        #(#parts)*
    }
}

/// The fields of the parts, each once.
fn fields_of<'a>(context: &Context<'a>, parts: impl IntoIterator<Item = &'a Part>) -> Vec<&'a Field> {
    let mut fields: Vec<usize> = Vec::new();
    for part in parts {
        if !fields.contains(&part.field) {
            fields.push(part.field);
        }
    }
    fields.into_iter().map(|field| &context.entity.fields[field]).collect()
}

/// The parts of the row key as one type.
pub(super) fn row_parts(context: &Context<'_>) -> TokenStream {
    let t = context.runtime.here();
    parts(context, &context.entity.row.parts, &quote!(#t::Primary))
}

/// `(Part<A, …>, (Part<B, …>, end))`
pub(super) fn parts(context: &Context<'_>, parts: &[Part], end: &TokenStream) -> TokenStream {
    let t = context.runtime.here();
    parts.iter().rev().fold(end.clone(), |rest, part| {
        let (ty, encoding) = context.part(part);
        quote!((#t::Part<#ty, #encoding>, #rest))
    })
}
