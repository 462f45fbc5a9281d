//! The entity's query functions: `key`, `by_key`, a `by_NAME` for each index, `by_partitions` and `scan`.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};

use super::{context::Context, docs};
use crate::{
    hygiene::{at, local},
    model::{Access, Content, Index, Layout, Part},
};

/// Returns the entity's associated functions.
pub(super) fn queries(context: &Context<'_>) -> TokenStream {
    let entity = context.entity;
    let ident = &entity.ident;
    let (parameters, arguments, _) = entity.generics.split_for_impl();
    let bounds = &context.bounds;
    let (key, partitions, scan) = (key(context), by_partitions(context), scan(context));
    let by = entity.layouts().map(|layout| by(context, layout));
    quote! {
        impl #parameters #ident #arguments #bounds {
            #key
            #(#by)*
            #partitions
            #scan
        }
    }
}

/// Query function that is to be generated.
struct Function<'a> {
    name: &'a str,
    documentation: &'a str,
    /// The part with the field to which go-to-definition leads; `None` for the struct.
    origin: Option<&'a Part>,
    /// The parts whose values are the arguments.
    arguments: &'a [&'a Part],
    returned: TokenStream,
    body: TokenStream,
}

/// Returns `key`, which takes a value for every part of the primary key.
fn key(context: &Context<'_>) -> TokenStream {
    let entity = context.entity;
    let t = context.runtime.here();
    let (layout, row) = (entity.primary(), &entity.row.parts);
    let opening = opening(context, layout, layout.partition.parts.len());
    let query = local("query");
    let narrowing = row.iter().enumerate().map(|(position, part)| {
        let (fits, field) = (context.fits(part), &entity.fields[part.field].ident);
        let is_last = position + 1 == row.len();
        quote_spanned!(part.span=> #fits::push_row(#field, &mut #query, #is_last);)
    });
    let body = quote!(#opening #(#narrowing)* #query.point());
    let function = Function {
        name: &entity.functions.name("key"),
        documentation: &docs::key(entity),
        origin: entity.row.parts.first().or(entity.partition.parts.first()),
        arguments: &arguments(layout.partition.parts.iter().chain(row)),
        returned: quote!(#t::Point<Self>),
        body,
    };
    function.expand(context)
}

/// Returns `by_NAME`, which opens a partition, or all partitions that the row key can determine.
fn by(context: &Context<'_>, layout: Layout<'_>) -> TokenStream {
    let t = context.runtime.here();
    let (partition, row) = (&layout.partition.parts, &layout.row.parts);
    let access = layout.access();
    let opened = match access {
        Access::Opened => partition.as_slice(),
        Access::Derived | Access::Spread(_) | Access::FanOut(_) => &partition[..partition.len() - 1],
    };
    let view =
        if layout.index.map(Index::content) == Some(Content::Copy) { quote!(#t::Copied<Self>) } else { quote!(Self) };
    let end = match layout.index.map(|index| index.unique) {
        None => quote!(Primary),
        Some(Some(_)) => quote!(Unique),
        Some(None) => quote!(Done),
    };
    let cost = cost(context, layout, access);
    let opening = opening(context, layout, opened.len());
    let query = local("query");
    let is_point = matches!(access, Access::Opened) && row.is_empty();
    let (returned, body) = match layout.index {
        None if is_point => (quote!(#t::Point<Self>), quote!(#opening #query.point())),
        Some(Index { unique: Some(_), .. }) if is_point => {
            (quote!(#t::Point<#view, #t::Lookup>), quote!(#opening #query.point()))
        }
        // There is at most one row in each partition, so there is nothing to narrow.
        _ if row.is_empty() => (quote!(#t::Rows<#view, #t::Done, #cost>), quote!(#opening #query.rows())),
        _ => {
            let parts = context.part_list(row, &quote!(#t::#end));
            // The compiler reports a field that cannot be a key part at the field's type.
            let value = row.iter().find(|part| part.is_index_value);
            let span = value.map_or_else(Span::call_site, |part| context.type_span(part));
            let t = context.runtime.at(span);
            let returned = quote_spanned!(span=> #t::Rows<#view, #parts, #cost>);
            (returned, quote!(#opening #query.rows()))
        }
    };
    let value = layout.index.and_then(|index| index.values().next());
    let function = Function {
        name: &match layout.index {
            Some(index) => format!("by_{}", index.name.value),
            None => context.entity.functions.name("by_key"),
        },
        documentation: &docs::by(context.entity, layout, opened, access),
        origin: value.or(partition.first()).or(row.first()),
        arguments: &arguments(opened),
        returned,
        body,
    };
    function.expand(context)
}

/// Returns the type of a query's cost before it is narrowed.
fn cost(context: &Context<'_>, layout: Layout<'_>, access: Access) -> TokenStream {
    let t = context.runtime.here();
    // A pointer needs one more read for each entity.
    let (opened, lookups) = match layout.index.map(Index::content) {
        None | Some(Content::Copy) => (quote!(#t::cost::Range), None),
        Some(Content::Pointer | Content::Include | Content::List) => {
            (quote!(#t::cost::Lookups), Some(quote!(, #t::cost::Lookups)))
        }
    };
    let encoding = layout.partition.parts.last().map(|last| context.part_encoding(last));
    match access {
        Access::Opened => opened,
        Access::Derived => quote!(#t::Unopened<#encoding #lookups>),
        Access::Spread(buckets) => {
            let count = Literal::usize_unsuffixed(buckets);
            quote!(#t::Spread<#count, #encoding #lookups>)
        }
        Access::FanOut(buckets) => {
            let count = Literal::usize_unsuffixed(buckets);
            quote!(#t::cost::FanOut<#count>)
        }
    }
}

/// Returns `by_partitions`, if the first field of the partition key may have an order.
fn by_partitions(context: &Context<'_>) -> Option<TokenStream> {
    let entity = context.entity;
    let layout = entity.primary();
    let parts = &layout.partition.parts;
    let first = parts.first().filter(|_| matches!(layout.access(), Access::Opened))?;
    let t = context.runtime.here();
    let (documentation, visibility) = (docs::by_partitions(entity), &entity.visibility);
    let name = Ident::new(&entity.functions.name("by_partitions"), Span::call_site());
    let (ty, parts) = (context.part_type(first), context.part_list(parts, &quote!(())));
    Some(quote! {
        #[doc = #documentation]
        #[inline]
        #visibility fn #name<'range>(
            range: impl #t::Bounds<#t::Arg<'range, #ty>>,
        ) -> #t::Rows<Self, #t::Done, #t::cost::PartitionRange>
        where
            for<'allowed> #parts: #t::PartitionOrder<Value = #ty>,
        {
            #t::QueryBuilder::<Self>::new(0).partitions::<#parts>(range)
        }
    })
}

/// Returns `scan`, under `allow_scan`. The trait's function of the same name has the message about the missing attribute.
fn scan(context: &Context<'_>) -> Option<TokenStream> {
    let entity = context.entity;
    let t = context.runtime.here();
    let (documentation, visibility) = (docs::scan(entity), &entity.visibility);
    let name = Ident::new(&entity.functions.name("scan"), Span::call_site());
    entity.allow_scan.then(|| {
        quote! {
            #[doc = #documentation]
            #[inline]
            #visibility fn #name() -> #t::Rows<Self, #t::Done, #t::cost::TableScan> {
                <Self as #t::TableEntity>::scan()
            }
        }
    })
}

impl Function<'_> {
    fn expand(&self, context: &Context<'_>) -> TokenStream {
        let Self { name, documentation, origin, arguments, returned, body } = self;
        let entity = context.entity;
        let origin = origin.map_or(&entity.ident, |part| &entity.fields[part.field].ident);
        let span = origin.span().resolved_at(Span::call_site());
        let name = Ident::new(name, span);
        let visibility = &entity.visibility;
        let parameters = arguments.iter().map(|part| {
            let (ident, ty) = (&entity.fields[part.field].ident, context.part_type(part));
            let type_span = context.type_span(part);
            let t = context.runtime.at(type_span);
            let argument = quote_spanned!(type_span=> #t::Arg<'_, #ty>);
            quote!(#ident: #argument)
        });
        let values = arguments.iter().map(|part| {
            let (field, ty) = (&entity.fields[part.field].ident, context.part_type(part));
            let type_span = context.type_span(part);
            let (ident, t) = (at(field, type_span), context.runtime.at(type_span));
            let value = quote_spanned!(type_span=> <#ty as #t::KeyPart>::arg_value);
            quote_spanned!(type_span=> let #ident = #value(#ident);)
        });
        quote_spanned! {span=>
            #[doc = #documentation]
            #[inline]
            #visibility fn #name(#(#parameters),*) -> #returned {
                #(#values)*
                #body
            }
        }
    }
}

/// Returns the statements that begin a query with the first parts of the partition key.
fn opening(context: &Context<'_>, layout: Layout<'_>, count: usize) -> TokenStream {
    let t = context.runtime.here();
    let (query, number) = (local("query"), Literal::usize_unsuffixed(layout.number));
    let partition = &layout.partition.parts;
    let parts = partition[..count].iter().enumerate().map(|(position, part)| {
        let (fits, field) = (context.fits(part), &context.entity.fields[part.field].ident);
        let is_last = position + 1 == partition.len();
        quote_spanned!(part.span=> #fits::push_partition(#field, &mut #query, #is_last);)
    });
    quote! {
        #[allow(unused_mut)]
        let mut #query = #t::QueryBuilder::<Self>::new(#number);
        #(#parts)*
    }
}

/// Returns the parts whose fields are arguments, each field once.
fn arguments<'a>(parts: impl IntoIterator<Item = &'a Part>) -> Vec<&'a Part> {
    let mut arguments: Vec<&Part> = Vec::new();
    for part in parts {
        if arguments.iter().all(|before| before.field != part.field) {
            arguments.push(part);
        }
    }
    arguments
}
