//! `key`, `by_key`, a `by_NAME` for each index, and `scan`.

use super::{
    Context, at,
    docs::{self, Way},
    local,
};
use crate::{
    encoding::Encoding,
    model::{Holds, Index, Layout, Part},
};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};

/// The entity's associated functions.
pub(super) fn queries(context: &Context<'_>) -> TokenStream {
    let entity = context.entity;
    let ident = &entity.ident;
    let (parameters, arguments, _) = entity.generics.split_for_impl();
    let bounds = &context.bounds;
    let (key, scan) = (key(context), scan(context));
    let mut names: Vec<&str> = Vec::new();
    let by = entity.layouts().filter_map(|layout| {
        // Of two indexes with one name, which is refused, the first one stays.
        let first = !names.contains(&layout.name());
        names.push(layout.name());
        first.then(|| by(context, layout))
    });
    let by: Vec<_> = by.collect();
    quote! {
        #[allow(dead_code, deprecated, private_interfaces, clippy::type_complexity, clippy::too_many_arguments)]
        impl #parameters #ident #arguments #bounds {
            #key
            #(#by)*
            #scan
        }
    }
}

/// A point: every part has its value.
fn key(context: &Context<'_>) -> TokenStream {
    let entity = context.entity;
    let t = context.runtime.here();
    let (layout, row) = (entity.primary(), &entity.row.parts);
    let arguments = arguments(layout.partition.parts.iter().chain(row));
    let opening = opening(context, layout, layout.partition.parts.len());
    let query = local("query");
    let row = row.iter().enumerate().map(|(place, part)| {
        let (fits, field) = (context.fits(part), &entity.fields[part.field].ident);
        let last = place + 1 == row.len();
        quote_spanned!(part.span=> let #query = #fits::open_row::<Self, #last>(#field, #query);)
    });
    let body = quote!(#opening #(#row)* #query.point());
    let place = entity.row.parts.first().or(entity.partition.parts.first());
    let documentation = docs::key(entity);
    function(context, "key", place, &documentation, &arguments, &quote!(#t::Point<Self>), &body)
}

/// `by_NAME`: a partition, or what leads to one.
fn by(context: &Context<'_>, layout: Layout<'_>) -> TokenStream {
    let t = context.runtime.here();
    let (partition, row) = (&layout.partition.parts, &layout.row.parts);
    let (way, encoding) = way(context, layout);
    let opened = match way {
        Way::Opened => partition.len(),
        Way::ByRow | Way::Spread(_) | Way::FanOut(_) => partition.len() - 1,
    };
    // What is read once the partition is known: the rows, or pointers and the entities of each.
    let holds = layout.index.map(Index::holds);
    let (to, after) = match holds {
        None | Some(Holds::Copy) => (quote!(#t::cost::Range), None),
        Some(Holds::Pointer | Holds::Include | Holds::List) => {
            (quote!(#t::cost::Lookups), Some(quote!(, #t::cost::Lookups)))
        }
    };
    let access = match way {
        Way::Opened => to,
        Way::ByRow => quote!(#t::Unopened<#encoding #after>),
        Way::Spread(buckets) => {
            let count = Literal::usize_unsuffixed(buckets);
            quote!(#t::Spread<#count, #encoding #after>)
        }
        Way::FanOut(buckets) => {
            let count = Literal::usize_unsuffixed(buckets);
            quote!(#t::cost::FanOut<#count>)
        }
    };
    let view = if holds == Some(Holds::Copy) { quote!(#t::Copied<Self>) } else { quote!(Self) };
    let end = match layout.index.map(|index| index.unique) {
        None => quote!(Primary),
        Some(Some(_)) => quote!(Unique),
        Some(None) => quote!(Done),
    };
    let arguments = arguments(&partition[..opened]);
    let opening = opening(context, layout, opened);
    let query = local("query");
    let (returned, body) = match (way, row.is_empty(), layout.index) {
        // The one row of the one partition.
        (Way::Opened, true, None) => (quote!(#t::Point<Self>), quote!(#opening #query.point())),
        (Way::Opened, true, Some(Index { unique: Some(_), .. })) => {
            (quote!(#t::Point<#view, #t::Lookup>), quote!(#opening #query.point()))
        }
        // One row of each partition.
        (_, true, _) => (quote!(#t::Rows<#view, #t::Done, #access>), quote!(#opening #query.rows())),
        (_, false, _) => {
            let parts = parts(context, row, &quote!(#t::#end));
            // A field that is no key part is so said where its type stands.
            let own = row.iter().find(|part| part.sparse);
            let place = own.map_or_else(Span::call_site, |part| context.place(part));
            let t = context.runtime.at(place);
            let returned = quote_spanned!(place=> #t::Rows<#view, #parts, #access>);
            (returned, quote!(#opening #query.rows()))
        }
    };
    let own = layout.index.and_then(|index| index.values().next());
    let place = own.or(partition.first()).or(row.first());
    let documentation = docs::by(context.entity, layout, &partition[..opened], way);
    let name = format!("by_{}", layout.name());
    function(context, &name, place, &documentation, &arguments, &returned, &body)
}

/// How a layout's partitions are reached, and the encoding from which they follow.
fn way(context: &Context<'_>, layout: Layout<'_>) -> (Way, Option<TokenStream>) {
    let Some(last) = layout.partition.parts.last() else { return (Way::Opened, None) };
    let row_leads = layout.leading().is_some();
    let way = match &last.encoding {
        Encoding::Hash(buckets, _) if row_leads => Way::Spread(*buckets),
        Encoding::Hash(buckets, _) => Way::FanOut(*buckets),
        _ if row_leads => Way::ByRow,
        _ => Way::Opened,
    };
    (way, Some(context.part(last).1))
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
    arguments: &[&Part],
    returned: &TokenStream,
    body: &TokenStream,
) -> TokenStream {
    let field = place.map_or(&context.entity.ident, |part| &context.entity.fields[part.field].ident);
    // Source and go-to-definition lead to the field.
    let place = field.span().resolved_at(Span::call_site());
    let name = Ident::new(name, place);
    let visibility = &context.entity.visibility;
    let parameters = arguments.iter().map(|part| {
        let (ident, (ty, _), place) =
            (&context.entity.fields[part.field].ident, context.part(part), context.place(part));
        let t = context.runtime.at(place);
        let argument = quote_spanned!(place=> #t::Arg<'_, #ty>);
        quote!(#ident: #argument)
    });
    let values = arguments.iter().map(|part| {
        let (field, (ty, _), place) =
            (&context.entity.fields[part.field].ident, context.part(part), context.place(part));
        let (ident, t) = (at(field, place), context.runtime.at(place));
        let value = quote_spanned!(place=> <#ty as #t::KeyPart>::arg_value);
        quote_spanned!(place=> let #ident = #value(#ident);)
    });
    quote_spanned! {place=>
        #[doc = #documentation]
        #[inline]
        #visibility fn #name(#(#parameters),*) -> #returned {
            #(#values)*
            #body
        }
    }
}

/// The first parts of the partition key.
fn opening(context: &Context<'_>, layout: Layout<'_>, count: usize) -> TokenStream {
    let t = context.runtime.here();
    let (query, number) = (local("query"), Literal::usize_unsuffixed(layout.number));
    let partition = &layout.partition.parts;
    let parts = partition[..count].iter().enumerate().map(|(place, part)| {
        let (fits, field) = (context.fits(part), &context.entity.fields[part.field].ident);
        let last = place + 1 == partition.len();
        quote_spanned!(part.span=> let #query = #fits::open_partition::<Self, #last>(#field, #query);)
    });
    quote! {
        let #query = #t::Opening::<Self>::new(#number);
        #(#parts)*
    }
}

/// The parts whose fields are arguments: each field once.
fn arguments<'a>(parts: impl IntoIterator<Item = &'a Part>) -> Vec<&'a Part> {
    let mut arguments: Vec<&Part> = Vec::new();
    for part in parts {
        if arguments.iter().all(|before| before.field != part.field) {
            arguments.push(part);
        }
    }
    arguments
}

/// The parts of a row key as one type: `(Part<A, …>, (Part<B, …>, end))`.
pub(super) fn parts(context: &Context<'_>, parts: &[Part], end: &TokenStream) -> TokenStream {
    let t = context.runtime.here();
    parts.iter().rev().fold(end.clone(), |rest, part| {
        let (ty, encoding) = context.part(part);
        quote!((#t::Part<#ty, #encoding>, #rest))
    })
}
